package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"

	corev1alpha1 "github.com/kbind-dev/konnector/apis/core/v1alpha1"
	"github.com/kbind-dev/konnector/e2e/controlplane"
)

// field returns a field of an object as it is on a cluster.
func field(ctx context.Context, client dynamic.ResourceInterface, name string, path ...string) (any, error) {
	object, err := client.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	value, _, err := unstructured.NestedFieldNoCopy(object.Object, path...)
	return value, err
}

// waitField waits until a field has a value; nil waits until it is gone.
func (w *world) waitField(client dynamic.ResourceInterface, name string, want any, path ...string) {
	w.t.Helper()
	eventually(w.t, soon, name+" ."+strings.Join(path, "."), func(ctx context.Context) error {
		got, err := field(ctx, client, name, path...)
		if err != nil {
			return err
		}
		if diff := cmp.Diff(want, got); diff != "" {
			return fmt.Errorf("(-want +got):\n%s", diff)
		}
		return nil
	})
}

// waitGone waits until an object does not exist.
func (w *world) waitGone(client dynamic.ResourceInterface, name string) {
	w.t.Helper()
	eventually(w.t, soon, name+" is gone", func(ctx context.Context) error {
		_, err := client.Get(ctx, name, metav1.GetOptions{})
		return gone(err)
	})
}

// gone returns nil for the error of a get that found nothing.
func gone(err error) error {
	switch {
	case err == nil:
		return errors.New("still there")
	case apierrors.IsNotFound(err):
		return nil
	default:
		return err
	}
}

func TestRoundTrip(t *testing.T) {
	w := newWorld(t)
	w.offer(w.provider, "widgets")
	w.startKonnector()
	w.bind("acme", "widgets")
	consumer, provider := w.widgets(w.consumer), w.widgets(w.provider)

	original := w.createWidget(w.consumer, "a", map[string]any{"size": int64(3), "color": "red", "tags": []any{"x", "y"}, "options": map[string]any{"k": "v", "l": "w"}})
	w.patch(consumer, "a", `{"metadata":{"labels":{"team":"blue","app.kubernetes.io/instance":"shop"},"annotations":{"example.org/note":"hi","kubectl.kubernetes.io/last-applied-configuration":"{}"}}}`)
	w.waitField(provider, "a", map[string]any{"size": int64(3), "color": "red", "tier": "basic", "tags": []any{"x", "y"}, "options": map[string]any{"k": "v", "l": "w"}}, "spec")
	eventually(t, soon, "labels travel", func(ctx context.Context) error {
		return w.checkMarks(ctx, provider, original, map[string]string{"team": "blue"}, map[string]string{"example.org/note": "hi"})
	})

	w.run("status comes down and is replaced as a whole", func(*testing.T) {
		w.patch(provider, "a", `{"status":{"phase":"Running","map":{"x":"1","y":"2"}}}`, "status")
		w.waitField(consumer, "a", map[string]any{"phase": "Running", "map": map[string]any{"x": "1", "y": "2"}}, "status")
		w.patch(provider, "a", `{"status":{"phase":null,"map":{"x":null}}}`, "status")
		w.waitField(consumer, "a", map[string]any{"map": map[string]any{"y": "2"}}, "status")
		w.patch(consumer, "a", `{"status":{"phase":"Forged"}}`, "status")
		w.waitField(consumer, "a", map[string]any{"map": map[string]any{"y": "2"}}, "status")
		w.patch(provider, "a", `{"status":null}`, "status")
		w.waitField(consumer, "a", nil, "status")
	})

	w.run("what is removed on the consumer is removed, what others own stays", func(t *testing.T) {
		w.patch(provider, "a", `{"spec":{"assignedTo":"n1"},"metadata":{"labels":{"tier":"gold"}}}`)
		w.patch(consumer, "a", `{"spec":{"tags":["y"],"options":{"k":null},"color":null},"metadata":{"labels":{"team":null}}}`)
		w.waitField(provider, "a", map[string]any{"size": int64(3), "tier": "basic", "tags": []any{"y"}, "options": map[string]any{"l": "w"}, "assignedTo": "n1"}, "spec")
		eventually(t, soon, "labels follow", func(ctx context.Context) error {
			return w.checkMarks(ctx, provider, original, map[string]string{"tier": "gold"}, map[string]string{"example.org/note": "hi"})
		})
		w.patch(consumer, "a", `{"spec":null}`)
		w.waitField(provider, "a", map[string]any{"tier": "basic", "assignedTo": "n1"}, "spec")
	})

	w.run("drift on the provider is put back", func(t *testing.T) {
		w.patch(consumer, "a", `{"spec":{"size":5,"tags":["a"]}}`)
		w.waitField(provider, "a", int64(5), "spec", "size")
		w.patch(provider, "a", `{"spec":{"size":9,"tags":["a","b"]}}`)
		w.waitField(provider, "a", []any{"a"}, "spec", "tags")
		w.waitField(provider, "a", int64(5), "spec", "size")
		w.patch(provider, "a", `{"metadata":{"labels":{"core.kbind.io/consumer":null,"core.kbind.io/managed":null}}}`)
		eventually(t, soon, "marks are put back", func(ctx context.Context) error {
			return w.checkMarks(ctx, provider, original, map[string]string{"tier": "gold"}, map[string]string{"example.org/note": "hi"})
		})
	})

	w.run("a copy that is deleted is made again", func(t *testing.T) {
		before, err := provider.Get(t.Context(), "a", metav1.GetOptions{})
		w.must(err)
		w.must(provider.Delete(t.Context(), "a", metav1.DeleteOptions{}))
		eventually(t, soon, "another copy", func(ctx context.Context) error {
			now, err := provider.Get(ctx, "a", metav1.GetOptions{})
			if err == nil && now.GetUID() == before.GetUID() {
				err = fmt.Errorf("still the old one")
			}
			return err
		})
	})

	w.run("deleting waits for the copy to be gone", func(t *testing.T) {
		w.patch(provider, "a", `{"metadata":{"finalizers":["example.org/hold"]}}`)
		w.must(consumer.Delete(t.Context(), "a", metav1.DeleteOptions{}))
		eventually(t, soon, "the copy is being deleted", func(ctx context.Context) error {
			deleted, err := field(ctx, provider, "a", "metadata", "deletionTimestamp")
			if err == nil && deleted == nil {
				err = fmt.Errorf("it is not")
			}
			return err
		})
		always(t, time.Second, "the consumer's object waits", func(ctx context.Context) error {
			_, err := consumer.Get(ctx, "a", metav1.GetOptions{})
			return err
		})
		w.patch(provider, "a", `{"metadata":{"finalizers":null}}`)
		w.waitGone(provider, "a")
		w.waitGone(consumer, "a")
	})
}

// checkMarks checks labels, annotations and owned fields of a copy: those that travel
// or belong to the provider, our marks, and nothing else.
func (w *world) checkMarks(ctx context.Context, provider dynamic.ResourceInterface, consumer *unstructured.Unstructured, labels, annotations map[string]string) error {
	found, err := provider.Get(ctx, consumer.GetName(), metav1.GetOptions{})
	if err != nil {
		return err
	}
	uid := w.uid(w.consumer)
	wantLabels := map[string]string{"core.kbind.io/managed": "true", "core.kbind.io/consumer": uid}
	for key, value := range labels {
		wantLabels[key] = value
	}
	if diff := cmp.Diff(wantLabels, found.GetLabels()); diff != "" {
		return fmt.Errorf("labels (-want +got):\n%s", diff)
	}
	binding, err := w.consumer.core.CoreV1alpha1().ClusterBindings().Get(ctx, w.name("acme"), metav1.GetOptions{})
	if err != nil {
		return err
	}
	wantAnnotations := map[string]string{
		"core.kbind.io/consumer-cluster-uid": uid,
		"core.kbind.io/consumer-object-uid":  string(consumer.GetUID()),
		"core.kbind.io/binding-uid":          string(binding.UID),
		"core.kbind.io/applied-hash":         found.GetAnnotations()["core.kbind.io/applied-hash"],
	}
	for key, value := range annotations {
		wantAnnotations[key] = value
	}
	if diff := cmp.Diff(wantAnnotations, found.GetAnnotations()); diff != "" {
		return fmt.Errorf("annotations (-want +got):\n%s", diff)
	}
	return checkManagedFields(found)
}

// checkManagedFields checks that all that we write on a provider is written by
// apply, under one name.
func checkManagedFields(copied *unstructured.Unstructured) error {
	ours := 0
	for _, entry := range copied.GetManagedFields() {
		if entry.Manager != corev1alpha1.FieldManager {
			continue
		}
		ours++
		if entry.Operation != metav1.ManagedFieldsOperationApply {
			return fmt.Errorf("managedFields: an entry of ours is by %s", entry.Operation)
		}
		var fields map[string]any
		if err := json.Unmarshal(entry.FieldsV1.GetRawBytes(), &fields); err != nil {
			return err
		}
		if _, has := fields["f:status"]; has {
			return fmt.Errorf("managedFields: we own status fields: %v", fields)
		}
	}
	if ours != 1 {
		return fmt.Errorf("managedFields: %d entries of ours, want 1", ours)
	}
	return nil
}

// uid returns the UID by which a cluster is known.
func (w *world) uid(where *cluster) string {
	w.t.Helper()
	namespace, err := where.kube.CoreV1().Namespaces().Get(w.t.Context(), metav1.NamespaceSystem, metav1.GetOptions{})
	w.must(err)
	return string(namespace.UID)
}

func TestObservedGenerationTellsTheTruth(t *testing.T) {
	w := newWorld(t)
	w.offer(w.provider, "widgets")
	w.startKonnector()
	w.bind("acme", "widgets")
	consumer, provider := w.widgets(w.consumer), w.widgets(w.provider)
	w.createWidget(w.consumer, "a", map[string]any{"size": int64(1)})
	for size := 2; size <= 5; size++ {
		w.patch(consumer, "a", fmt.Sprintf(`{"spec":{"size":%d}}`, size))
	}
	w.waitField(provider, "a", int64(5), "spec", "size")

	w.process(provider, "a")
	w.waitField(consumer, "a", int64(5), "status", "observedGeneration")
	w.patch(consumer, "a", `{"spec":{"size":6}}`)
	w.waitField(provider, "a", int64(6), "spec", "size")
	always(t, time.Second, "nobody has processed generation 6", func(ctx context.Context) error {
		observed, err := field(ctx, consumer, "a", "status", "observedGeneration")
		if err == nil && observed.(int64) >= 6 {
			err = fmt.Errorf("observedGeneration is %v", observed)
		}
		return err
	})
	w.process(provider, "a")
	w.waitField(consumer, "a", int64(6), "status", "observedGeneration")

	// On the provider the copy begins anew, with generation 1.
	w.must(provider.Delete(t.Context(), "a", metav1.DeleteOptions{}))
	w.waitField(provider, "a", int64(1), "metadata", "generation")
	w.process(provider, "a")
	w.waitField(consumer, "a", int64(6), "status", "observedGeneration")
	conditions, err := field(t.Context(), consumer, "a", "status", "conditions")
	w.must(err)
	if got := conditions.([]any)[0].(map[string]any)["observedGeneration"]; got != int64(6) {
		t.Errorf("the condition is about generation %v, want 6", got)
	}
}

// process does what an operator on the provider does: it takes note of the
// generation that it sees.
func (w *world) process(provider dynamic.ResourceInterface, name string) {
	w.t.Helper()
	object, err := provider.Get(w.t.Context(), name, metav1.GetOptions{})
	w.must(err)
	w.patch(provider, name, fmt.Sprintf(`{"status":{"observedGeneration":%[1]d,"conditions":[{"type":"Ready","status":"True","reason":"Done","message":"","lastTransitionTime":"2026-01-01T00:00:00Z","observedGeneration":%[1]d}]}}`, object.GetGeneration()), "status")
}

func TestKindsOfAllShapes(t *testing.T) {
	w := newWorld(t)
	for _, each := range []string{"widgets", "gadgets", "notes"} {
		w.offer(w.provider, each)
	}
	w.startKonnector()
	w.bind("acme", "widgets", "gadgets", "notes")

	w.run("cluster-scoped, with the name of a namespaced one", func(t *testing.T) {
		w.createWidget(w.consumer, "same", map[string]any{"size": int64(1)})
		gadget := &unstructured.Unstructured{Object: map[string]any{"apiVersion": w.group + "/v1", "kind": "Gadget", "metadata": map[string]any{"name": "same"}, "spec": map[string]any{"size": int64(2)}}}
		consumer, provider := w.resource(w.consumer, "gadgets"), w.resource(w.provider, "gadgets")
		_, err := consumer.Create(t.Context(), gadget, metav1.CreateOptions{})
		w.must(err)
		w.waitField(provider, "same", int64(2), "spec", "size")
		w.waitField(w.widgets(w.provider), "same", int64(1), "spec", "size")
		w.patch(provider, "same", `{"status":{"phase":"G"}}`, "status")
		w.patch(w.widgets(w.provider), "same", `{"status":{"phase":"W"}}`, "status")
		w.waitField(consumer, "same", "G", "status", "phase")
		w.waitField(w.widgets(w.consumer), "same", "W", "status", "phase")
		w.must(consumer.Delete(t.Context(), "same", metav1.DeleteOptions{}))
		w.waitGone(provider, "same")
		w.waitGone(consumer, "same")
	})

	w.run("without spec and status subresource", func(t *testing.T) {
		consumer, provider := w.resource(w.consumer, "notes").Namespace(w.namespace), w.resource(w.provider, "notes").Namespace(w.namespace)
		note := &unstructured.Unstructured{Object: map[string]any{"apiVersion": w.group + "/v1", "kind": "Note", "metadata": map[string]any{"name": "n"}, "data": map[string]any{"a": "1", "b": "2"}}}
		_, err := consumer.Create(t.Context(), note, metav1.CreateOptions{})
		w.must(err)
		w.waitField(provider, "n", map[string]any{"a": "1", "b": "2"}, "data")
		w.patch(provider, "n", `{"status":{"seen":1}}`)
		w.waitField(consumer, "n", int64(1), "status", "seen")
		w.patch(consumer, "n", `{"data":{"a":null},"status":null}`)
		w.waitField(provider, "n", map[string]any{"b": "2"}, "data")
		w.waitField(consumer, "n", int64(1), "status", "seen")
		w.waitField(provider, "n", int64(1), "status", "seen")
	})
}

// writes are the calls of a user that change something, besides heartbeats and Events.
func writes(user string) func(controlplane.Call) bool {
	return func(call controlplane.Call) bool {
		switch call.Verb {
		case "create", "update", "patch", "delete", "deletecollection":
			return call.User == user && call.Resource != "leases" && call.Resource != "events"
		}
		return false
	}
}

func TestEachChangeCostsOneCall(t *testing.T) {
	w := newWorld(t)
	if w.consumer.Existing() || w.provider.Existing() {
		t.Skip("needs the audit logs of control planes that the suite starts")
	}
	w.offer(w.provider, "widgets")
	w.startKonnector()
	w.bind("acme", "widgets")
	consumer, provider := w.widgets(w.consumer), w.widgets(w.provider)
	w.createWidget(w.consumer, "first", map[string]any{"size": int64(1)}) // makes the namespace
	w.waitField(provider, "first", int64(1), "spec", "size")

	const count = 100
	each := func(do func(name string)) {
		for i := range count {
			do(fmt.Sprintf("w%03d", i))
		}
	}
	steps := []struct {
		name               string
		do                 func()
		consumer, provider string // what it costs per object
	}{
		{"new", func() {
			each(func(name string) { w.createWidget(w.consumer, name, map[string]any{"size": int64(1)}) })
			each(func(name string) { w.waitField(provider, name, int64(1), "spec", "size") })
		}, "patch", "patch"},
		{"spec", func() {
			each(func(name string) { w.patch(consumer, name, `{"spec":{"size":2}}`) })
			each(func(name string) { w.waitField(provider, name, int64(2), "spec", "size") })
		}, "", "patch"},
		{"status", func() {
			each(func(name string) { w.patch(provider, name, `{"status":{"phase":"Up"}}`, "status") })
			each(func(name string) { w.waitField(consumer, name, "Up", "status", "phase") })
		}, "patch", ""},
		{"delete", func() {
			each(func(name string) { w.must(consumer.Delete(t.Context(), name, metav1.DeleteOptions{})) })
			each(func(name string) { w.waitGone(consumer, name) })
		}, "patch", "delete"},
	}
	for _, step := range steps {
		onConsumer, onProvider := w.consumer.Mark(), w.provider.Mark()
		step.do()
		w.expectCalls(w.consumer, onConsumer, w.consumerUser.Name, step.name, step.consumer, count)
		w.expectCalls(w.provider, onProvider, w.providerUser.Name, step.name, step.provider, count)
	}
}

// expectCalls checks that a user has made count calls of one verb on widgets, and no other.
func (w *world) expectCalls(where *cluster, since controlplane.Mark, user, step, verb string, count int) {
	w.t.Helper()
	calls, err := where.CallsSince(w.t.Context(), since)
	w.must(err)
	verbs := map[string]int{}
	for _, call := range calls {
		if call.User == user && call.Group == w.group && call.Verb != "watch" {
			verbs[call.Verb]++
		}
	}
	want := map[string]int{}
	if verb != "" {
		want[verb] = count
	}
	if diff := cmp.Diff(want, verbs); diff != "" {
		w.t.Errorf("%s of %d objects on the %s (-want +got calls):\n%s", step, count, where.Name(), diff)
		seen := map[string]controlplane.Call{}
		for _, call := range calls {
			if call.User != user || call.Group != w.group || call.Verb == "watch" {
				continue
			}
			if first, twice := seen[call.Name]; twice || call.Verb != verb {
				w.t.Logf("one too many: %s\n       after: %s", call, first)
			}
			seen[call.Name] = call
		}
	}
}
