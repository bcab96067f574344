package e2e

import (
	"context"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	corev1alpha1 "github.com/kbind-dev/konnector/apis/core/v1alpha1"
	"github.com/kbind-dev/konnector/e2e/controlplane"
)

// Time limits of what is waited for, for a loaded machine.
const (
	soon = 30 * time.Second
	late = 90 * time.Second
)

// world is a test's own part of the shared control planes.
type world struct {
	t                  *testing.T
	id                 string // unique among all tests
	group              string // of the test's APIs
	consumer, provider *cluster
	consumerUser       *controlplane.User // as whom the konnector runs
	providerUser       *controlplane.User // of the provider's kubeconfig
	secretNamespace    string
	namespace          string // for instances, on the consumer
	credentials        []string
}

var worlds atomic.Int64

// newWorld returns a world with empty clusters of its own, as far as it can see.
func newWorld(t *testing.T) *world {
	t.Helper()
	clusters := shared.all(t, "consumer", "provider")
	id := fmt.Sprintf("w%d", worlds.Add(1))
	w := &world{
		t: t, id: id, group: id + ".example.org",
		consumer: clusters[0], provider: clusters[1],
		secretNamespace: id + "-kbind", namespace: id + "-team",
	}
	w.createNamespace(w.consumer, w.secretNamespace)
	w.createNamespace(w.consumer, w.namespace)
	w.consumerUser = w.user(w.consumer, "konnector", w.consumerRules()...)
	w.providerUser = w.user(w.provider, "provider", w.providerRules()...)
	w.must(w.consumerUser.SetRulesIn(t.Context(), []string{w.secretNamespace}, rule("", "secrets", "get", "list", "watch")))
	w.must(w.providerUser.SetRulesIn(t.Context(), []string{w.heartbeatNamespace()}, rule("coordination.k8s.io", "leases", "get", "create", "update", "delete")))
	t.Cleanup(w.cleanUp)
	return w
}

// run runs a part of the test as a subtest, to which the world's helpers belong meanwhile.
func (w *world) run(name string, part func(t *testing.T)) {
	w.t.Helper()
	whole := w.t
	whole.Run(name, func(t *testing.T) {
		w.t = t
		defer func() { w.t = whole }()
		part(t)
	})
}

// heartbeatNamespace is that of the Lease on the provider, made for each world.
func (w *world) heartbeatNamespace() string { return w.id + "-heartbeat" }

// user adds a user with a name of the world's own.
func (w *world) user(where *cluster, name string, rules ...rbacv1.PolicyRule) *controlplane.User {
	w.t.Helper()
	if where != w.consumer {
		w.createNamespace(where, w.heartbeatNamespace())
	}
	user, err := where.AddUser(w.t.Context(), w.id+"-"+name, rules...)
	w.must(err)
	w.credentials = append(w.credentials, credentialsIn(user.Kubeconfig())...)
	return user
}

// credentialsIn returns what of a kubeconfig must never be shown.
func credentialsIn(kubeconfig []byte) []string {
	var found []string
	for line := range strings.Lines(string(kubeconfig)) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		if key != "client-key-data" && key != "token" {
			continue
		}
		found = append(found, strings.TrimSpace(value))
		if plain, err := base64.StdEncoding.DecodeString(strings.TrimSpace(value)); err == nil {
			found = append(found, strings.Split(string(plain), "\n")[1])
		}
	}
	return found
}

// consumerRules are what the konnector needs on the consumer, for the world's group.
func (w *world) consumerRules() []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{
		rule("core.kbind.io", "*", "get", "list", "watch", "patch"),
		rule("apiextensions.k8s.io", "customresourcedefinitions", "get", "list", "watch", "create", "update", "patch", "delete"),
		rule("", "namespaces", "get"),
		rule("", "events", "create", "patch"),
		rule(w.group, "*", "get", "list", "watch", "patch"),
	}
}

// providerRules are what the konnector needs on the provider, for the world's group.
func (w *world) providerRules() []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{
		rule("", "namespaces", "get", "create"),
		rule("apiextensions.k8s.io", "customresourcedefinitions", "list", "watch"),
		rule(w.group, "*", "get", "list", "watch", "create", "patch", "delete"),
	}
}

func rule(group, resource string, verbs ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: []string{resource}, Verbs: verbs}
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) createNamespace(where *cluster, name string) {
	w.t.Helper()
	_, err := where.kube.CoreV1().Namespaces().Create(w.t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	if !apierrors.IsAlreadyExists(err) {
		w.must(err)
	}
}

// cleanUp removes what another test's konnector would find: it takes every finalizer
// of ours by force, since it may follow a test that failed anywhere.
func (w *world) cleanUp() {
	ctx, cancel := context.WithTimeout(context.Background(), late)
	defer cancel()
	core := w.consumer.core.CoreV1alpha1()
	drop := []byte(`{"metadata":{"finalizers":null}}`)
	mine := func(name string) bool { return strings.HasPrefix(name, w.id+"-") }
	connections, _ := core.Connections().List(ctx, metav1.ListOptions{})
	for _, each := range connections.Items {
		if mine(each.Name) {
			_ = core.Connections().Delete(ctx, each.Name, metav1.DeleteOptions{})
			_, _ = core.Connections().Patch(ctx, each.Name, "application/merge-patch+json", drop, metav1.PatchOptions{})
		}
	}
	clusterBindings, _ := core.ClusterBindings().List(ctx, metav1.ListOptions{})
	for _, each := range clusterBindings.Items {
		if mine(each.Name) {
			_ = core.ClusterBindings().Delete(ctx, each.Name, metav1.DeleteOptions{})
			_, _ = core.ClusterBindings().Patch(ctx, each.Name, "application/merge-patch+json", drop, metav1.PatchOptions{})
		}
	}
	bindings, _ := core.Bindings("").List(ctx, metav1.ListOptions{})
	for _, each := range bindings.Items {
		if mine(each.Name) {
			_ = core.Bindings(each.Namespace).Delete(ctx, each.Name, metav1.DeleteOptions{})
			_, _ = core.Bindings(each.Namespace).Patch(ctx, each.Name, "application/merge-patch+json", drop, metav1.PatchOptions{})
		}
	}
	for _, where := range []*cluster{w.consumer, w.provider} {
		w.cleanUpAPIs(ctx, where)
	}
}

// cleanUpAPIs removes the world's CRDs with all their objects.
func (w *world) cleanUpAPIs(ctx context.Context, where *cluster) {
	crds := where.crds.ApiextensionsV1().CustomResourceDefinitions()
	list, err := crds.List(ctx, metav1.ListOptions{})
	if err != nil {
		return
	}
	for _, crd := range list.Items {
		if crd.Spec.Group != w.group {
			continue
		}
		_ = crds.Delete(ctx, crd.Name, metav1.DeleteOptions{})
		resource := where.objects.Resource(schema.GroupVersionResource{Group: w.group, Version: crd.Spec.Versions[0].Name, Resource: crd.Spec.Names.Plural})
		objects, err := resource.List(ctx, metav1.ListOptions{})
		if err != nil {
			continue
		}
		for _, object := range objects.Items {
			_, _ = resource.Namespace(object.GetNamespace()).Patch(ctx, object.GetName(), "application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
		}
	}
}

// --- APIs ---

// fixture returns the CRD of a file in testdata, in the world's own group.
func (w *world) fixture(name string) *apiextensionsv1.CustomResourceDefinition {
	w.t.Helper()
	content, err := os.ReadFile(filepath.Join("testdata", name+".yaml"))
	w.must(err)
	content = []byte(strings.ReplaceAll(string(content), "demo.example.org", w.group))
	crd := &apiextensionsv1.CustomResourceDefinition{}
	w.must(yaml.UnmarshalStrict(content, crd))
	return crd
}

// offer creates a fixture's CRD on the provider, and waits until it is served.
func (w *world) offer(where *cluster, name string) {
	w.t.Helper()
	w.createCRD(where, w.fixture(name))
}

func (w *world) createCRD(where *cluster, crd *apiextensionsv1.CustomResourceDefinition) {
	w.t.Helper()
	crds := where.crds.ApiextensionsV1().CustomResourceDefinitions()
	_, err := crds.Create(w.t.Context(), crd, metav1.CreateOptions{})
	w.must(err)
	eventually(w.t, soon, "CRD "+crd.Name+" is established", func(ctx context.Context) error {
		found, err := crds.Get(ctx, crd.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		for _, condition := range found.Status.Conditions {
			if condition.Type == apiextensionsv1.Established && condition.Status == apiextensionsv1.ConditionTrue {
				return nil
			}
		}
		return fmt.Errorf("conditions: %v", found.Status.Conditions)
	})
}

// api returns <plural>.<group>.
func (w *world) api(plural string) string { return plural + "." + w.group }

func (w *world) resource(where *cluster, plural string) dynamic.NamespaceableResourceInterface {
	return where.objects.Resource(schema.GroupVersionResource{Group: w.group, Version: "v1", Resource: plural})
}

// widgets returns the client of widgets in the world's namespace.
func (w *world) widgets(where *cluster) dynamic.ResourceInterface {
	return w.resource(where, "widgets").Namespace(w.namespace)
}

// widget returns a Widget in the world's namespace.
func (w *world) widget(name string, spec map[string]any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": w.group + "/v1",
		"kind":       "Widget",
		"metadata":   map[string]any{"name": name, "namespace": w.namespace},
		"spec":       spec,
	}}
}

func (w *world) createWidget(where *cluster, name string, spec map[string]any) *unstructured.Unstructured {
	w.t.Helper()
	created, err := w.widgets(where).Create(w.t.Context(), w.widget(name, spec), metav1.CreateOptions{})
	w.must(err)
	return created
}

// patch merges a JSON document into an object.
func (w *world) patch(client dynamic.ResourceInterface, name, patch string, subresources ...string) *unstructured.Unstructured {
	w.t.Helper()
	patched, err := client.Patch(w.t.Context(), name, "application/merge-patch+json", []byte(patch), metav1.PatchOptions{FieldManager: "somebody"}, subresources...)
	w.must(err)
	return patched
}

// --- what a user applies ---

func (w *world) name(name string) string { return w.id + "-" + name }

// kubeconfig returns the provider's kubeconfig.
func (w *world) kubeconfig() []byte {
	return w.providerUser.Kubeconfig(controlplane.WithNamespace(w.heartbeatNamespace()))
}

func (w *world) secret(name string, data map[string][]byte) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.secretNamespace, Name: w.name(name)}, Data: data}
}

func (w *world) applySecret(name string, kubeconfig []byte) {
	w.t.Helper()
	secrets := w.consumer.kube.CoreV1().Secrets(w.secretNamespace)
	secret := w.secret(name, map[string][]byte{"kubeconfig": kubeconfig})
	_, err := secrets.Create(w.t.Context(), secret, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		_, err = secrets.Update(w.t.Context(), secret, metav1.UpdateOptions{})
	}
	w.must(err)
}

func (w *world) applyConnection(name string, change ...func(*corev1alpha1.Connection)) {
	w.t.Helper()
	connection := &corev1alpha1.Connection{
		ObjectMeta: metav1.ObjectMeta{Name: w.name(name)},
		Spec: corev1alpha1.ConnectionSpec{
			KubeconfigSecretRef: corev1alpha1.SecretKeyReference{Namespace: w.secretNamespace, Name: w.name(name)},
		},
	}
	for _, each := range change {
		each(connection)
	}
	_, err := w.consumer.core.CoreV1alpha1().Connections().Create(w.t.Context(), connection, metav1.CreateOptions{})
	w.must(err)
}

func (w *world) bindingSpec(connection string, plurals ...string) corev1alpha1.BindingSpec {
	spec := corev1alpha1.BindingSpec{ConnectionRef: corev1alpha1.ConnectionReference{Name: w.name(connection)}}
	for _, plural := range plurals {
		spec.APIs = append(spec.APIs, corev1alpha1.APIReference{Name: w.api(plural)})
	}
	return spec
}

func (w *world) applyClusterBinding(name, connection string, plurals ...string) {
	w.t.Helper()
	binding := &corev1alpha1.ClusterBinding{ObjectMeta: metav1.ObjectMeta{Name: w.name(name)}, Spec: w.bindingSpec(connection, plurals...)}
	_, err := w.consumer.core.CoreV1alpha1().ClusterBindings().Create(w.t.Context(), binding, metav1.CreateOptions{})
	w.must(err)
}

// bind applies Secret, Connection and ClusterBinding of one name, and waits until
// the binding is ready.
func (w *world) bind(name string, plurals ...string) {
	w.t.Helper()
	w.applySecret(name, w.kubeconfig())
	w.applyConnection(name)
	w.applyClusterBinding(name, name, plurals...)
	w.waitReady(name)
}

// waitReady waits until the ClusterBinding is ready for its present generation.
func (w *world) waitReady(name string) {
	w.t.Helper()
	eventually(w.t, soon, "ClusterBinding "+name+" is ready", func(ctx context.Context) error {
		return w.bindingCondition(ctx, name, "Ready", metav1.ConditionTrue, "")
	})
}

// bindingCondition checks a condition of a ClusterBinding.
func (w *world) bindingCondition(ctx context.Context, name, conditionType string, want metav1.ConditionStatus, reason string, words ...string) error {
	binding, err := w.consumer.core.CoreV1alpha1().ClusterBindings().Get(ctx, w.name(name), metav1.GetOptions{})
	if err != nil {
		return err
	}
	return checkCondition(binding.Status.Conditions, binding.Generation, conditionType, want, reason, words...)
}

// connectionCondition checks a condition of a Connection.
func (w *world) connectionCondition(ctx context.Context, name, conditionType string, want metav1.ConditionStatus, reason string, words ...string) error {
	connection, err := w.consumer.core.CoreV1alpha1().Connections().Get(ctx, w.name(name), metav1.GetOptions{})
	if err != nil {
		return err
	}
	return checkCondition(connection.Status.Conditions, connection.Generation, conditionType, want, reason, words...)
}

// checkCondition reports how a condition differs from what is wanted: its status, its
// reason unless that is "", and the words that its message has to hold.
func checkCondition(conditions []metav1.Condition, generation int64, conditionType string, want metav1.ConditionStatus, reason string, words ...string) error {
	condition := meta.FindStatusCondition(conditions, conditionType)
	switch {
	case condition == nil:
		return fmt.Errorf("no condition %s", conditionType)
	case condition.Status != want, reason != "" && condition.Reason != reason:
		return fmt.Errorf("%s=%s/%s, want %s/%s: %s", conditionType, condition.Status, condition.Reason, want, reason, condition.Message)
	case condition.ObservedGeneration != generation:
		return fmt.Errorf("%s is about generation %d, want %d", conditionType, condition.ObservedGeneration, generation)
	}
	for _, word := range words {
		if !strings.Contains(condition.Message, word) {
			return fmt.Errorf("the message of %s lacks %q: %s", conditionType, word, condition.Message)
		}
	}
	return nil
}

// installCore applies the konnector's own CRDs on a consumer.
func installCore(where *cluster, name string) error {
	if !strings.HasPrefix(name, "consumer") {
		return nil
	}
	files, err := filepath.Glob(filepath.Join("..", "manifests", "crd", "core.*.yaml"))
	if err != nil {
		return err
	}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		crd := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.UnmarshalStrict(content, crd); err != nil {
			return err
		}
		_, err = where.crds.ApiextensionsV1().CustomResourceDefinitions().Create(context.Background(), crd, metav1.CreateOptions{})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return err
		}
	}
	return waitServed(where)
}

// waitServed waits until a consumer serves the konnector's own API.
func waitServed(where *cluster) error {
	for range 200 {
		list, err := where.kube.Discovery().ServerResourcesForGroupVersion(corev1alpha1.SchemeGroupVersion.String())
		if err == nil && len(list.APIResources) >= 6 {
			return nil
		}
		time.Sleep(100 * time.Millisecond)
	}
	return fmt.Errorf("%s is not served", corev1alpha1.SchemeGroupVersion)
}
