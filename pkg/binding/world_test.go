package binding

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensionsfake "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset/fake"
	apiextensionsinformers "k8s.io/apiextensions-apiserver/pkg/client/informers/externalversions"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/record"
	"k8s.io/klog/v2/ktesting"

	corev1alpha1 "github.com/kbind-dev/konnector/apis/core/v1alpha1"
	"github.com/kbind-dev/konnector/generated/clientset/versioned/fake"
	informers "github.com/kbind-dev/konnector/generated/informers/externalversions"
	"github.com/kbind-dev/konnector/pkg/coverage"
	"github.com/kbind-dev/konnector/pkg/export"
)

var (
	all         = coverage.BindingID{Name: "all"}
	second      = coverage.BindingID{Name: "second"}
	inTeamA     = coverage.BindingID{Namespace: "team-a", Name: "mine"}
	ofMain      = coverage.API{Connection: "main", Name: widgets}
	widgetKind  = runtimeschema.GroupVersionKind{Group: "demo.example.org", Version: "v1", Kind: "Widget"}
	widgetsPath = runtimeschema.GroupVersionResource{Group: "demo.example.org", Version: "v1", Resource: "widgets"}
)

// world is a controller of bindings on a consumer cluster, with a provider for each
// Connection. It lives in a bubble of synctest: time passes when everything waits.
type world struct {
	t          *testing.T
	ctx        context.Context //nolint:containedctx // that of the bubble
	core       *fake.Clientset
	extensions *apiextensionsfake.Clientset
	objects    *dynamicfake.FakeDynamicClient
	providers  map[string]*apiextensionsfake.Clientset
	catalogs   *export.Catalogs
	index      *coverage.Index
	tally      *coverage.Tally
	events     *record.FakeRecorder
	*Controller

	mu      sync.Mutex
	wrote   []string
	goneOf  []string
	refuse  error // the answer to writes of CRDs
	running sync.WaitGroup
	cancel  context.CancelFunc
}

// inWorld runs a test in a bubble with the objects of a consumer cluster.
func inWorld(t *testing.T, test func(w *world), objects ...runtime.Object) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, objects...)
		defer w.stop()
		w.rest(time.Second)
		test(w)
		for len(w.events.Events) > 0 {
			t.Errorf("an Event that nobody expected: %s", <-w.events.Events)
		}
	})
}

func newWorld(t *testing.T, objects ...runtime.Object) *world {
	w := &world{
		t: t, providers: map[string]*apiextensionsfake.Clientset{},
		events: record.NewFakeRecorder(100),
	}
	var ours, crds, others []runtime.Object
	for _, object := range objects {
		switch object.(type) {
		case *apiextensionsv1.CustomResourceDefinition:
			crds = append(crds, object)
		case refusing:
			w.refuse = errRefused
		case *unstructured.Unstructured:
			others = append(others, object)
		default:
			ours = append(ours, object)
		}
	}
	w.core, w.extensions = fake.NewClientset(ours...), apiextensionsfake.NewClientset(crds...)
	w.objects = dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[runtimeschema.GroupVersionResource]string{widgetsPath: "WidgetList"}, others...)
	w.core.PrependReactor("*", "*", w.note)
	w.extensions.PrependReactor("*", "*", w.serveCRDs)
	w.extensions.PrependReactor("*", "*", w.note)
	w.start()
	return w
}

// start runs a controller as a new process does, whose memory is empty.
func (w *world) start() {
	_, ctx := ktesting.NewTestContext(w.t)
	w.ctx, w.cancel = context.WithCancel(ctx)
	w.catalogs, w.index, w.tally = export.NewCatalogs(), coverage.NewIndex(), coverage.NewTally()
	core := informers.NewSharedInformerFactory(w.core, 0)
	crds := apiextensionsinformers.NewSharedInformerFactory(w.extensions, 0)
	w.Controller = New(w.core.CoreV1alpha1(), w.extensions.ApiextensionsV1().CustomResourceDefinitions(), w.objects, w.events,
		core.Core().V1alpha1(), crds.Apiextensions().V1().CustomResourceDefinitions(), w.catalogs, w.index, w.tally)
	w.OnGone(func(connection string) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.goneOf = append(w.goneOf, connection)
	})
	core.StartWithContext(w.ctx)
	crds.StartWithContext(w.ctx)
	w.running.Go(func() {
		w.Run(w.ctx, 2)
		core.Shutdown()
		crds.Shutdown()
	})
}

func (w *world) stop() {
	w.cancel()
	w.running.Wait()
}

// rest lets time pass.
func (w *world) rest(pause time.Duration) {
	time.Sleep(pause)
	synctest.Wait()
}

// note records a write.
func (w *world) note(action clienttesting.Action) (bool, runtime.Object, error) {
	name := ""
	switch action := action.(type) {
	case clienttesting.CreateAction:
		accessor, err := meta.Accessor(action.GetObject())
		if err != nil {
			return true, nil, err
		}
		name = accessor.GetName()
	case clienttesting.PatchAction:
		name = action.GetName()
	case clienttesting.DeleteAction:
		name = action.GetName()
	}
	switch verb := action.GetVerb(); verb {
	case "create", "update", "patch", "delete":
		what := action.GetResource().Resource
		if action.GetSubresource() != "" {
			what += "/" + action.GetSubresource()
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		w.wrote = append(w.wrote, strings.TrimSpace(fmt.Sprintf("%s %s %s", verb, what, name)))
	}
	return false, nil, nil
}

// serveCRDs does what an API server does with CRDs that are written: it gives them an
// identity and serves them, or refuses them.
func (w *world) serveCRDs(action clienttesting.Action) (bool, runtime.Object, error) {
	w.mu.Lock()
	refuse := w.refuse
	w.mu.Unlock()
	switch action := action.(type) {
	case clienttesting.CreateAction: // an UpdateAction as well
		if refuse != nil {
			return true, nil, refuse
		}
		crd := action.GetObject().(*apiextensionsv1.CustomResourceDefinition)
		crd.UID, crd.ResourceVersion = types.UID("uid-"+crd.Name), "1"
		established(crd)
	}
	return false, nil, nil
}

// writes returns the writes since the last call that are about something, in words.
func (w *world) writes(about string) []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var found []string
	w.wrote = slices.DeleteFunc(w.wrote, func(write string) bool {
		if !strings.Contains(write, about) {
			return false
		}
		found = append(found, write)
		return true
	})
	return found
}

// wroteCRDs checks the writes of CRDs since the last call.
func (w *world) wroteCRDs(want ...string) {
	w.t.Helper()
	if diff := cmp.Diff(want, w.writes("customresourcedefinitions")); diff != "" {
		w.t.Errorf("writes of CRDs: %s", diff)
	}
}

// offer makes a provider for a Connection that exports CRDs, and has its catalog published.
func (w *world) offer(connection string, crds ...*apiextensionsv1.CustomResourceDefinition) {
	provider := apiextensionsfake.NewClientset()
	w.providers[connection] = provider
	for _, crd := range crds {
		w.export(connection, crd)
	}
	catalog := export.NewCatalog(provider, func(api string) { w.Enqueue(connection, api) })
	w.running.Go(func() { catalog.Run(w.ctx) })
	w.catalogs.Set(connection, catalog)
	w.rest(time.Second)
}

// export has a provider export one more CRD.
func (w *world) export(connection string, crd *apiextensionsv1.CustomResourceDefinition) {
	w.t.Helper()
	metav1.SetMetaDataLabel(&crd.ObjectMeta, corev1alpha1.LabelExported, corev1alpha1.ValueTrue)
	w.must(w.providers[connection].Tracker().Add(crd))
}

// sync plays the syncer: all instances of an API have been looked at.
func (w *world) syncAll(api coverage.API, binding coverage.BindingID, states ...coverage.State) {
	for i, state := range states {
		w.tally.Record(api, types.NamespacedName{Namespace: "team-a", Name: fmt.Sprint(i)}, binding, state)
	}
	w.tally.SetPhase(api, coverage.Running, w.index.Bindings(api))
	w.rest(time.Second)
}

// drain plays the syncer: an API has no instances any more.
func (w *world) drain(api coverage.API, instances int) {
	for i := range instances {
		w.tally.Drop(api, types.NamespacedName{Namespace: "team-a", Name: fmt.Sprint(i)})
	}
	w.rest(10 * time.Second)
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// status returns what a binding says.
func (w *world) status(id coverage.BindingID) *corev1alpha1.BindingStatus {
	w.t.Helper()
	if id.IsCluster() {
		found, err := w.core.CoreV1alpha1().ClusterBindings().Get(w.ctx, id.Name, metav1.GetOptions{})
		w.must(err)
		return &found.Status
	}
	found, err := w.core.CoreV1alpha1().Bindings(id.Namespace).Get(w.ctx, id.Name, metav1.GetOptions{})
	w.must(err)
	return &found.Status
}

// says checks status and reason of a binding's condition.
func (w *world) says(id coverage.BindingID, conditionType, want string) {
	w.t.Helper()
	if got := text(w.status(id).Conditions, conditionType); !strings.HasPrefix(got, want+":") {
		w.t.Errorf("%s of %s is %s, want %s", conditionType, id, got, want)
	}
}

// change changes a ClusterBinding as a user does.
func (w *world) change(id coverage.BindingID, change func(*corev1alpha1.ClusterBinding)) {
	w.t.Helper()
	binding, err := w.core.CoreV1alpha1().ClusterBindings().Get(w.ctx, id.Name, metav1.GetOptions{})
	w.must(err)
	change(binding)
	binding.Generation++
	_, err = w.core.CoreV1alpha1().ClusterBindings().Update(w.ctx, binding, metav1.UpdateOptions{})
	w.must(err)
	w.rest(10 * time.Millisecond)
}

// list sets the APIs of a ClusterBinding.
func (w *world) list(id coverage.BindingID, apis ...string) {
	w.t.Helper()
	w.change(id, func(binding *corev1alpha1.ClusterBinding) { binding.Spec = specOf("main", apis...) })
}

// delete marks a binding as an API server does.
func (w *world) delete(id coverage.BindingID) {
	w.t.Helper()
	now := metav1.Now()
	if id.IsCluster() {
		w.change(id, func(binding *corev1alpha1.ClusterBinding) { binding.DeletionTimestamp = &now })
		return
	}
	binding, err := w.core.CoreV1alpha1().Bindings(id.Namespace).Get(w.ctx, id.Name, metav1.GetOptions{})
	w.must(err)
	binding.DeletionTimestamp = &now
	_, err = w.core.CoreV1alpha1().Bindings(id.Namespace).Update(w.ctx, binding, metav1.UpdateOptions{})
	w.must(err)
	w.rest(10 * time.Millisecond)
}

// released reports whether our finalizer is off; then the API server removes the binding.
func (w *world) released(id coverage.BindingID) bool {
	w.t.Helper()
	binding, err := w.store.get(id)
	w.must(err)
	if binding == nil || len(binding.GetFinalizers()) > 0 {
		return binding == nil
	}
	resource := "clusterbindings"
	if !id.IsCluster() {
		resource = "bindings"
	}
	w.must(w.core.Tracker().Delete(corev1alpha1.SchemeGroupVersion.WithResource(resource), id.Namespace, id.Name))
	w.rest(10 * time.Millisecond)
	return true
}

func specOf(connection string, apis ...string) corev1alpha1.BindingSpec {
	spec := corev1alpha1.BindingSpec{ConnectionRef: corev1alpha1.ConnectionReference{Name: connection}}
	for _, api := range apis {
		spec.APIs = append(spec.APIs, corev1alpha1.APIReference{Name: api})
	}
	return spec
}

// clusterBinding returns a ClusterBinding to the Connection "main".
func clusterBinding(id coverage.BindingID, apis ...string) *corev1alpha1.ClusterBinding {
	return &corev1alpha1.ClusterBinding{
		ObjectMeta: metav1.ObjectMeta{Name: id.Name, UID: types.UID("uid-" + id.Name), Generation: 1, ResourceVersion: "1"},
		Spec:       specOf("main", apis...),
		Status:     corev1alpha1.BindingStatus{ObservedGeneration: -1},
	}
}

// binding returns a Binding to the Connection "main".
func binding(id coverage.BindingID, apis ...string) *corev1alpha1.Binding {
	return &corev1alpha1.Binding{
		ObjectMeta: metav1.ObjectMeta{Namespace: id.Namespace, Name: id.Name, UID: types.UID("uid-" + id.Name), Generation: 1, ResourceVersion: "1"},
		Spec:       specOf("main", apis...),
		Status:     corev1alpha1.BindingStatus{ObservedGeneration: -1},
	}
}

// widget returns an instance on the consumer.
func widget(namespace, name string) *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(widgetKind)
	object.SetNamespace(namespace)
	object.SetName(name)
	return object
}

var errRefused = apierrors.NewInvalid(apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition").GroupKind(), widgets, nil)

// refusing, among the objects of a world, is an API server that refuses CRDs from the start.
type refusing struct{ runtime.Object }

// edit changes the CRD of widgets as another user of the consumer does.
func (w *world) edit(change func(*apiextensionsv1.CustomResourceDefinition)) {
	w.t.Helper()
	found, err := w.extensions.ApiextensionsV1().CustomResourceDefinitions().Get(w.ctx, widgets, metav1.GetOptions{})
	w.must(err)
	change(found)
	w.must(w.extensions.Tracker().Update(apiextensionsv1.SchemeGroupVersion.WithResource("customresourcedefinitions"), found, ""))
	w.rest(10 * time.Millisecond)
}

// refuseCRDs has the API server answer writes of CRDs with an error, or take them.
func (w *world) refuseCRDs(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.refuse = err
}
