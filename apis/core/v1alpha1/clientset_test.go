package v1alpha1_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/tools/cache"

	corev1alpha1 "github.com/kbind-dev/konnector/apis/core/v1alpha1"
	applycorev1alpha1 "github.com/kbind-dev/konnector/generated/applyconfiguration/core/v1alpha1"
	"github.com/kbind-dev/konnector/generated/clientset/versioned"
	"github.com/kbind-dev/konnector/generated/clientset/versioned/fake"
	"github.com/kbind-dev/konnector/generated/informers/externalversions"
)

func TestFakeClientsetMergesApplies(t *testing.T) {
	client := fake.NewClientset()

	apply(t, client, "platform", clusterBinding("widgets.acme.example", "databases.acme.example"))
	got := apply(t, client, "team", clusterBinding("notes.acme.example"))
	want := []string{"widgets.acme.example", "databases.acme.example", "notes.acme.example"}
	if diff := cmp.Diff(want, apiNames(got)); diff != "" {
		t.Errorf("each applier adds its entries (-want +got):\n%s", diff)
	}

	got = apply(t, client, "platform", clusterBinding("databases.acme.example"))
	want = []string{"databases.acme.example", "notes.acme.example"}
	if diff := cmp.Diff(want, apiNames(got)); diff != "" {
		t.Errorf("what its owner leaves out goes, what another owns stays (-want +got):\n%s", diff)
	}
}

func TestFakeClientsetReportsApplyConflicts(t *testing.T) {
	client := fake.NewClientset()
	adopt := clusterBinding("widgets.acme.example")
	adopt.Spec.WithConflictPolicy(corev1alpha1.ConflictPolicyAdopt)
	apply(t, client, "platform", adopt)

	fail := clusterBinding("widgets.acme.example")
	fail.Spec.WithConflictPolicy(corev1alpha1.ConflictPolicyFail)
	_, err := client.CoreV1alpha1().ClusterBindings().Apply(t.Context(), fail, metav1.ApplyOptions{FieldManager: "team"})
	if !apierrors.IsConflict(err) {
		t.Errorf("applying another value of somebody else's field gives %v, want a conflict", err)
	}
}

func TestInformerFollowsFakeClientset(t *testing.T) {
	client := fake.NewClientset(binding("acme", "team-a"))
	factory := externalversions.NewSharedInformerFactory(client, 0)
	bindings := factory.Core().V1alpha1().Bindings()
	informer, lister := bindings.Informer(), bindings.Lister()
	added := make(chan string, 2)
	registration, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(object any) { added <- object.(*corev1alpha1.Binding).Namespace },
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(t.Context(), 30*time.Second)
	factory.StartWithContext(ctx)
	t.Cleanup(factory.Shutdown)
	t.Cleanup(stop)
	if !cache.WaitForCacheSync(ctx.Done(), registration.HasSynced) {
		t.Fatal("the informer does not fill its cache")
	}
	if _, err := lister.Bindings("team-a").Get("acme"); err != nil {
		t.Errorf("an object that was there before: %v", err)
	}

	_, err = client.CoreV1alpha1().Bindings("team-b").Create(ctx, binding("acme", "team-b"), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"team-a", "team-b"} {
		select {
		case got := <-added:
			if got != want {
				t.Errorf("the handler was told of namespace %q, want %q", got, want)
			}
		case <-ctx.Done():
			t.Fatalf("the handler was never told of the object in %s", want)
		}
	}
	all, err := lister.List(labels.Everything())
	if err != nil || len(all) != 2 {
		t.Errorf("the lister has %d objects, error %v; want both", len(all), err)
	}
	if _, err := lister.Bindings("team-c").Get("acme"); !apierrors.IsNotFound(err) {
		t.Errorf("an object that does not exist gives %v, want not found", err)
	}
}

func apply(t *testing.T, client versioned.Interface, manager string, configuration *applycorev1alpha1.ClusterBindingApplyConfiguration) *corev1alpha1.ClusterBinding {
	t.Helper()
	got, err := client.CoreV1alpha1().ClusterBindings().Apply(t.Context(), configuration, metav1.ApplyOptions{FieldManager: manager})
	if err != nil {
		t.Fatalf("apply as %s: %v", manager, err)
	}
	return got
}

func clusterBinding(apis ...string) *applycorev1alpha1.ClusterBindingApplyConfiguration {
	spec := applycorev1alpha1.BindingSpec().WithConnectionRef(applycorev1alpha1.ConnectionReference().WithName("acme"))
	for _, name := range apis {
		spec.WithAPIs(applycorev1alpha1.APIReference().WithName(name))
	}
	return applycorev1alpha1.ClusterBinding("acme").WithSpec(spec)
}

func binding(name, namespace string) *corev1alpha1.Binding {
	return &corev1alpha1.Binding{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace},
		Spec: corev1alpha1.BindingSpec{
			ConnectionRef: corev1alpha1.ConnectionReference{Name: "acme"},
			APIs:          []corev1alpha1.APIReference{{Name: "widgets.acme.example"}},
		},
	}
}

func apiNames(binding *corev1alpha1.ClusterBinding) []string {
	var names []string
	for _, api := range binding.Spec.APIs {
		names = append(names, api.Name)
	}
	return names
}
