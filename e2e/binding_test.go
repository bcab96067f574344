package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	corev1alpha1 "github.com/kbind-dev/konnector/apis/core/v1alpha1"
	"github.com/kbind-dev/konnector/e2e/controlplane"
)

func TestApplyInEveryOrder(t *testing.T) {
	w := newWorld(t)
	w.offer(w.provider, "widgets")
	w.startKonnector()
	parts := map[byte]func(name string){
		'S': func(name string) { w.applySecret(name, w.kubeconfig()) },
		'C': func(name string) { w.applyConnection(name) },
		'B': func(name string) { w.applyClusterBinding(name, name, "widgets") },
	}
	for _, order := range []string{"SCB", "SBC", "CSB", "CBS", "BSC", "BCS"} {
		w.run(order, func(*testing.T) {
			name := strings.ToLower(order)
			for i := range order {
				parts[order[i]](name)
				time.Sleep(300 * time.Millisecond) // lets the konnector see each state
			}
			w.waitReady(name)
			w.createWidget(w.consumer, name, map[string]any{"size": int64(1)})
			w.waitField(w.widgets(w.provider), name, int64(1), "spec", "size")
			w.unbind(name)
		})
	}
}

// unbind deletes Secret, Connection and ClusterBinding of one name at once, and waits
// until all are gone.
func (w *world) unbind(name string) {
	w.t.Helper()
	core := w.consumer.core.CoreV1alpha1()
	w.must(w.consumer.kube.CoreV1().Secrets(w.secretNamespace).Delete(w.t.Context(), w.name(name), metav1.DeleteOptions{}))
	w.must(core.Connections().Delete(w.t.Context(), w.name(name), metav1.DeleteOptions{}))
	w.must(core.ClusterBindings().Delete(w.t.Context(), w.name(name), metav1.DeleteOptions{}))
	eventually(w.t, soon, name+" is unbound", func(ctx context.Context) error {
		if _, err := core.ClusterBindings().Get(ctx, w.name(name), metav1.GetOptions{}); gone(err) != nil {
			return fmt.Errorf("ClusterBinding: %w", gone(err))
		}
		_, err := core.Connections().Get(ctx, w.name(name), metav1.GetOptions{})
		return gone(err)
	})
}

func TestUnbindingLeavesNothingBehind(t *testing.T) {
	w := newWorld(t)
	w.offer(w.provider, "widgets")
	w.offer(w.provider, "gadgets")
	w.startKonnector()
	w.bind("acme", "widgets", "gadgets")
	for i := range 20 {
		w.createWidget(w.consumer, fmt.Sprintf("a%d", i), map[string]any{"size": int64(i)})
	}
	kept := w.widget("kept", map[string]any{"size": int64(1)})
	kept.SetAnnotations(map[string]string{corev1alpha1.AnnotationDeletionPolicy: corev1alpha1.DeletionPolicyOrphan})
	_, err := w.widgets(w.consumer).Create(t.Context(), kept, metav1.CreateOptions{})
	w.must(err)
	w.waitField(w.widgets(w.provider), "a19", int64(19), "spec", "size")
	w.waitField(w.widgets(w.provider), "kept", int64(1), "spec", "size")

	w.unbind("acme")
	left, err := w.widgets(w.provider).List(t.Context(), metav1.ListOptions{})
	w.must(err)
	if len(left.Items) != 1 || left.Items[0].GetName() != "kept" {
		t.Fatalf("on the provider remain %d copies, want the one that is kept", len(left.Items))
	}
	if marks := kbindMarks(&left.Items[0]); len(marks) > 0 {
		t.Errorf("the kept copy still has marks: %v", marks)
	}
	for _, api := range []string{"widgets", "gadgets"} {
		eventually(t, soon, "CRD "+api+" is gone from the consumer", func(ctx context.Context) error {
			_, err := w.consumer.crds.ApiextensionsV1().CustomResourceDefinitions().Get(ctx, w.api(api), metav1.GetOptions{})
			return gone(err)
		})
	}
	leases, err := w.provider.kube.CoordinationV1().Leases(w.heartbeatNamespace()).List(t.Context(), metav1.ListOptions{})
	w.must(err)
	if len(leases.Items) > 0 {
		t.Errorf("the Lease remains on the provider: %s", leases.Items[0].Name)
	}
}

// kbindMarks returns labels, annotations and finalizers of ours on an object.
func kbindMarks(object *unstructured.Unstructured) []string {
	var marks []string
	for key := range object.GetLabels() {
		if strings.Contains(key, "kbind.io") {
			marks = append(marks, key)
		}
	}
	for key := range object.GetAnnotations() {
		if strings.Contains(key, "kbind.io") {
			marks = append(marks, key)
		}
	}
	for _, finalizer := range object.GetFinalizers() {
		if strings.Contains(finalizer, "kbind.io") {
			marks = append(marks, finalizer)
		}
	}
	return marks
}

func TestTwoConnectionsToTwoProviders(t *testing.T) {
	w := newWorld(t)
	other := shared.cluster(t, "provider-b")
	w.offer(w.provider, "widgets")
	w.offer(other, "gadgets")
	otherUser := w.user(other, "provider-b", w.providerRules()...)
	w.must(otherUser.SetRulesIn(t.Context(), []string{w.heartbeatNamespace()}, rule("coordination.k8s.io", "leases", "get", "create", "update", "delete")))

	w.startKonnector()
	w.applySecret("first", w.kubeconfig())
	w.applySecret("second", otherUser.Kubeconfig(controlplane.WithNamespace(w.heartbeatNamespace())))
	for name, api := range map[string]string{"first": "widgets", "second": "gadgets"} {
		w.applyConnection(name)
		w.applyClusterBinding(name, name, api)
	}
	w.waitReady("first")
	w.waitReady("second")

	w.createWidget(w.consumer, "a", map[string]any{"size": int64(1)})
	gadget := &unstructured.Unstructured{Object: map[string]any{"apiVersion": w.group + "/v1", "kind": "Gadget", "metadata": map[string]any{"name": w.name("g")}, "spec": map[string]any{"size": int64(2)}}}
	_, err := w.resource(w.consumer, "gadgets").Create(t.Context(), gadget, metav1.CreateOptions{})
	w.must(err)
	w.waitField(w.widgets(w.provider), "a", int64(1), "spec", "size")
	w.waitField(w.resource(other, "gadgets"), w.name("g"), int64(2), "spec", "size")
	w.patch(w.widgets(w.provider), "a", `{"status":{"phase":"First"}}`, "status")
	w.patch(w.resource(other, "gadgets"), w.name("g"), `{"status":{"phase":"Second"}}`, "status")
	w.waitField(w.widgets(w.consumer), "a", "First", "status", "phase")
	w.waitField(w.resource(w.consumer, "gadgets"), w.name("g"), "Second", "status", "phase")

	first, err := w.consumer.core.CoreV1alpha1().Connections().Get(t.Context(), w.name("first"), metav1.GetOptions{})
	w.must(err)
	second, err := w.consumer.core.CoreV1alpha1().Connections().Get(t.Context(), w.name("second"), metav1.GetOptions{})
	w.must(err)
	if string(first.Status.RemoteClusterUID) != w.uid(w.provider) || string(second.Status.RemoteClusterUID) != w.uid(other) {
		t.Errorf("pinned UIDs %q and %q, want those of the two providers", first.Status.RemoteClusterUID, second.Status.RemoteClusterUID)
	}
	w.unbind("second")
}

func TestInstancesCreatedWhileTheKonnectorStarts(t *testing.T) {
	w := newWorld(t)
	w.offer(w.provider, "widgets")
	k := w.startKonnector()
	w.bind("acme", "widgets")
	k.stop()
	const count = 200
	for i := range count {
		if i == count/4 {
			w.startKonnector() // returns at once: the others are made while it starts
		}
		w.createWidget(w.consumer, fmt.Sprintf("w%03d", i), map[string]any{"size": int64(i)})
	}
	w.waitEqual(count)
}

// waitEqual waits until both sides have the same number of widgets with the same spec.
func (w *world) waitEqual(count int) {
	w.t.Helper()
	eventually(w.t, late, fmt.Sprintf("%d widgets are the same on both sides", count), func(ctx context.Context) error {
		specs := [2]map[string]any{{}, {}}
		for i, where := range []*cluster{w.consumer, w.provider} {
			list, err := w.widgets(where).List(ctx, metav1.ListOptions{})
			if err != nil {
				return err
			}
			if len(list.Items) != count {
				return fmt.Errorf("%s has %d", where.Name(), len(list.Items))
			}
			for _, item := range list.Items {
				specs[i][item.GetName()] = fmt.Sprint(item.Object["spec"])
			}
		}
		for name, spec := range specs[0] {
			if specs[1][name] != spec {
				return fmt.Errorf("%s: %v on the consumer, %v on the provider", name, spec, specs[1][name])
			}
		}
		return nil
	})
}

func TestKilledInTheMiddleNothingIsLost(t *testing.T) {
	w := newWorld(t)
	if w.consumer.Existing() || w.provider.Existing() {
		t.Skip("needs the audit logs of control planes that the suite starts")
	}
	w.offer(w.provider, "widgets")
	k := w.startKonnector()
	w.bind("acme", "widgets")

	const count = 120
	onProvider := w.provider.Mark()
	for i := range count {
		w.createWidget(w.consumer, fmt.Sprintf("w%03d", i), map[string]any{"size": int64(i)})
		if i == count/3 || i == 2*count/3 {
			k.kill()
			k = w.startKonnector()
		}
	}
	w.waitEqual(count)
	applies := w.countWrites(w.provider, onProvider, w.providerUser.Name)
	// Each kill may cost a call again for what was on its way: at most one per worker.
	if most := count + 1 + 2*32; applies < count || applies > most {
		t.Errorf("%d writes on the provider for %d objects and two kills, want at most %d", applies, count, most)
	}

	k.kill()
	w.must(w.widgets(w.consumer).Delete(t.Context(), "w000", metav1.DeleteOptions{}))
	w.startKonnector()
	w.waitGone(w.widgets(w.consumer), "w000")
	w.waitGone(w.widgets(w.provider), "w000")
}

func TestRestartInSyncWritesNothing(t *testing.T) {
	w := newWorld(t)
	if w.consumer.Existing() || w.provider.Existing() {
		t.Skip("needs the audit logs of control planes that the suite starts")
	}
	w.offer(w.provider, "widgets")
	k := w.startKonnector()
	w.bind("acme", "widgets")
	const count = 50
	for i := range count {
		w.createWidget(w.consumer, fmt.Sprintf("w%03d", i), map[string]any{"size": int64(i), "tags": []any{"a", "b"}, "any": map[string]any{"deep": []any{map[string]any{"x": int64(1)}}}})
	}
	w.waitEqual(count)
	for i := range count {
		w.process(w.widgets(w.provider), fmt.Sprintf("w%03d", i))
	}
	w.waitField(w.widgets(w.consumer), "w049", int64(1), "status", "observedGeneration")
	eventually(t, soon, "the counts are written", func(ctx context.Context) error {
		binding, err := w.consumer.core.CoreV1alpha1().ClusterBindings().Get(ctx, w.name("acme"), metav1.GetOptions{})
		if err == nil && (binding.Status.Synced != count || binding.Status.Instances != count) {
			err = fmt.Errorf("%d of %d synced", binding.Status.Synced, binding.Status.Instances)
		}
		return err
	})
	k.stop()

	onConsumer, onProvider := w.consumer.Mark(), w.provider.Mark()
	w.startKonnector()
	w.createWidget(w.consumer, "last", map[string]any{"size": int64(1)})
	w.waitField(w.widgets(w.provider), "last", int64(1), "spec", "size")
	time.Sleep(3 * time.Second)
	// The finalizer and the copy of the new object, and its count on the binding.
	if got := w.countWrites(w.consumer, onConsumer, w.consumerUser.Name); got > 2 {
		t.Errorf("a restart cost %d writes on the consumer, want those for the new object alone", got)
	}
	if got := w.countWrites(w.provider, onProvider, w.providerUser.Name); got != 1 {
		t.Errorf("a restart cost %d writes on the provider, want the one for the new object", got)
	}
}

// countWrites returns the number of writes of a user, and logs them when they are few.
func (w *world) countWrites(where *cluster, since controlplane.Mark, user string) int {
	w.t.Helper()
	calls, err := where.CallsSince(w.t.Context(), since)
	w.must(err)
	found := controlplane.SelectCalls(calls, writes(user))
	if len(found) < 10 {
		for _, call := range found {
			w.t.Log(call)
		}
	}
	return len(found)
}

func TestForeignObjectIsUntouched(t *testing.T) {
	w := newWorld(t)
	w.offer(w.provider, "widgets")
	w.createNamespace(w.provider, w.namespace)
	foreign := w.createWidget(w.provider, "taken", map[string]any{"size": int64(9), "color": "green"})
	w.startKonnector()
	w.bind("acme", "widgets")
	w.createWidget(w.consumer, "taken", map[string]any{"size": int64(1)})
	w.createWidget(w.consumer, "free", map[string]any{"size": int64(1)})
	w.waitField(w.widgets(w.provider), "free", int64(1), "spec", "size")
	w.waitField(w.widgets(w.consumer), "taken", map[string]any{corev1alpha1.AnnotationConflict: corev1alpha1.ReasonForeignObjectExists}, "metadata", "annotations")
	eventually(t, soon, "the binding counts the conflict", func(ctx context.Context) error {
		return w.bindingCondition(ctx, "acme", corev1alpha1.ConditionConflicts, metav1.ConditionTrue, corev1alpha1.ReasonObjectsInConflict, "1 object")
	})
	now, err := w.widgets(w.provider).Get(t.Context(), "taken", metav1.GetOptions{})
	w.must(err)
	if now.GetResourceVersion() != foreign.GetResourceVersion() {
		t.Errorf("the foreign object was written: %v", now.Object)
	}
	w.waitEvent("taken", corev1alpha1.ReasonForeignObjectExists, "Adopt")

	w.run("Adopt takes it over within seconds", func(t *testing.T) {
		_, err := w.consumer.core.CoreV1alpha1().ClusterBindings().Patch(t.Context(), w.name("acme"), "application/merge-patch+json", []byte(`{"spec":{"conflictPolicy":"Adopt"}}`), metav1.PatchOptions{})
		w.must(err)
		w.waitField(w.widgets(w.provider), "taken", int64(1), "spec", "size")
		w.waitField(w.widgets(w.consumer), "taken", nil, "metadata", "annotations")
		adopted, err := w.widgets(w.provider).Get(t.Context(), "taken", metav1.GetOptions{})
		w.must(err)
		if adopted.GetUID() != foreign.GetUID() || adopted.GetAnnotations()[corev1alpha1.AnnotationAdopted] != "true" {
			t.Errorf("want the same object, marked as adopted: %v", adopted.Object["metadata"])
		}
	})
	w.run("unbinding lets it go and keeps it", func(t *testing.T) {
		w.unbind("acme")
		left, err := w.widgets(w.provider).Get(t.Context(), "taken", metav1.GetOptions{})
		w.must(err)
		if marks := kbindMarks(left); len(marks) > 0 {
			t.Errorf("marks remain: %v", marks)
		}
		w.waitGone(w.widgets(w.provider), "free")
	})
}

func TestAnotherConsumersObjectIsNeverTouched(t *testing.T) {
	w := newWorld(t)
	w.offer(w.provider, "widgets")
	w.createNamespace(w.provider, w.namespace)
	theirs := w.widget("taken", map[string]any{"size": int64(9)})
	theirs.SetLabels(map[string]string{corev1alpha1.LabelConsumer: "another", corev1alpha1.LabelManaged: "true"})
	theirs.SetAnnotations(map[string]string{corev1alpha1.AnnotationConsumerClusterUID: "another", corev1alpha1.AnnotationConsumerObjectUID: "1"})
	created, err := w.widgets(w.provider).Create(t.Context(), theirs, metav1.CreateOptions{})
	w.must(err)
	w.startKonnector()
	w.applySecret("acme", w.kubeconfig())
	w.applyConnection("acme")
	binding := &corev1alpha1.ClusterBinding{ObjectMeta: metav1.ObjectMeta{Name: w.name("acme")}, Spec: w.bindingSpec("acme", "widgets")}
	binding.Spec.ConflictPolicy = corev1alpha1.ConflictPolicyAdopt
	_, err = w.consumer.core.CoreV1alpha1().ClusterBindings().Create(t.Context(), binding, metav1.CreateOptions{})
	w.must(err)
	w.waitReady("acme")
	w.createWidget(w.consumer, "taken", map[string]any{"size": int64(1)})
	w.waitField(w.widgets(w.consumer), "taken", map[string]any{corev1alpha1.AnnotationConflict: corev1alpha1.ReasonOwnedByAnother}, "metadata", "annotations")
	w.must(w.widgets(w.consumer).Delete(t.Context(), "taken", metav1.DeleteOptions{}))
	w.waitGone(w.widgets(w.consumer), "taken")
	now, err := w.widgets(w.provider).Get(t.Context(), "taken", metav1.GetOptions{})
	w.must(err)
	if now.GetResourceVersion() != created.GetResourceVersion() {
		t.Errorf("another consumer's object was written: %v", now.Object)
	}
}

// waitEvent waits for an Event on a widget, with words in its message.
func (w *world) waitEvent(name, reason string, words ...string) {
	w.t.Helper()
	eventually(w.t, soon, "Event "+reason+" on "+name, func(ctx context.Context) error {
		list, err := w.consumer.kube.CoreV1().Events(w.namespace).List(ctx, metav1.ListOptions{FieldSelector: "involvedObject.name=" + name})
		if err != nil {
			return err
		}
		var seen []string
		for _, event := range list.Items {
			seen = append(seen, event.Reason+": "+event.Message)
			if event.Reason != reason {
				continue
			}
			missing := ""
			for _, word := range words {
				if !strings.Contains(event.Message, word) {
					missing = word
				}
			}
			if missing == "" {
				return nil
			}
		}
		return fmt.Errorf("Events: %q, want the words %q", seen, words)
	})
}

func TestNamespacesOnTheProvider(t *testing.T) {
	w := newWorld(t)
	if w.provider.Existing() {
		t.Skip("needs the audit logs of control planes that the suite starts")
	}
	w.offer(w.provider, "widgets")
	w.startKonnector()
	w.bind("acme", "widgets")

	w.run("one that is missing is made, once, and marked", func(t *testing.T) {
		since := w.provider.Mark()
		for i := range 5 {
			w.createWidget(w.consumer, fmt.Sprintf("a%d", i), map[string]any{"size": int64(1)})
			w.waitField(w.widgets(w.provider), fmt.Sprintf("a%d", i), int64(1), "spec", "size")
		}
		namespace, err := w.provider.kube.CoreV1().Namespaces().Get(t.Context(), w.namespace, metav1.GetOptions{})
		w.must(err)
		if namespace.Labels[corev1alpha1.LabelConsumer] != w.uid(w.consumer) {
			t.Errorf("labels of the namespace: %v", namespace.Labels)
		}
		calls, err := w.provider.CallsSince(t.Context(), since)
		w.must(err)
		made := controlplane.CountCalls(calls, func(call controlplane.Call) bool {
			return call.User == w.providerUser.Name && call.Resource == "namespaces" && call.Verb == "create"
		})
		if made != 1 {
			t.Errorf("%d calls to create namespaces, want 1", made)
		}
	})

	w.run("what is forbidden is named, and heals", func(t *testing.T) {
		rules := w.providerRules()
		rules[0].Verbs = []string{"get"}
		w.must(w.providerUser.SetRules(t.Context(), rules...))
		w.namespace = w.id + "-other"
		w.createNamespace(w.consumer, w.namespace)
		w.createWidget(w.consumer, "b", map[string]any{"size": int64(1)})
		w.waitEvent("b", "Denied", "create namespaces", w.namespace)
		eventually(t, soon, "the binding names it", func(ctx context.Context) error {
			return w.bindingCondition(ctx, "acme", corev1alpha1.ConditionPermissionDenied, metav1.ConditionTrue, corev1alpha1.ReasonForbidden, "create namespaces")
		})
		w.must(w.providerUser.SetRules(t.Context(), w.providerRules()...))
		eventually(t, late, "granted access heals it", func(ctx context.Context) error {
			return w.bindingCondition(ctx, "acme", corev1alpha1.ConditionPermissionDenied, metav1.ConditionFalse, "")
		})
		w.waitField(w.widgets(w.provider), "b", int64(1), "spec", "size")
	})
}
