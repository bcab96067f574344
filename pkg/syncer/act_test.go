package syncer

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	corev1alpha1 "github.com/kbind-dev/konnector/apis/core/v1alpha1"
	"github.com/kbind-dev/konnector/pkg/coverage"
	"github.com/kbind-dev/konnector/pkg/internal/fakeserver"
)

// refuse answers calls of a verb with an error.
func refuse(verb string, answer func(fakeserver.Call) error) func(fakeserver.Call) error {
	return func(call fakeserver.Call) error {
		if call.Verb == verb {
			return answer(call)
		}
		return nil
	}
}

func TestBudget(t *testing.T) {
	inWorld(t, func(w *world) {
		w.start()
		w.wrote()

		w.user("a", `{"size":1,"color":"red"}`)
		w.wrote("consumer patch", "provider apply")
		w.is(w.provider, "a", "red", "spec", "color")
		w.counts(coverage.Counts{Instances: 1, Synced: 1})

		w.edit(w.consumer, "a", spec("size", int64(2)))
		w.wrote("provider apply")
		w.is(w.provider, "a", "2", "spec", "size")

		w.status("a", map[string]any{"phase": "Ready"})
		w.wrote("consumer patch status")
		w.is(w.consumer, "a", "Ready", "status", "phase")

		time.Sleep(time.Hour)
		w.wrote()

		w.stop()
		w.start()
		w.wrote()
		w.counts(coverage.Counts{Instances: 1, Synced: 1})

		w.consumer.Delete(namespace, "a")
		w.wrote("provider delete", "consumer patch")
		if w.consumer.Get(namespace, "a") != nil || w.provider.Get(namespace, "a") != nil {
			t.Error("the object is not gone on both sides")
		}
		w.counts(coverage.Counts{})
	})
}

func TestMemoryIsEmptyAtRest(t *testing.T) {
	inWorld(t, func(w *world) {
		syncer := w.start()
		w.user("a", `{"size":1}`)
		w.status("a", map[string]any{"phase": "Ready"})
		w.edit(w.consumer, "a", spec("size", int64(2)))
		w.user("b", `{"size":1}`)
		w.consumer.Delete(namespace, "b")
		synctest.Wait()
		if entries := len(syncer.memories.entries); entries != 0 {
			t.Errorf("%d entries are left", entries)
		}
	})
}

func TestFieldRemovedByTheUserGoesAndThoseOfTheProviderStay(t *testing.T) { // UP-1
	inWorld(t, func(w *world) {
		w.start()
		w.user("a", `{"size":1,"color":"red","options":{"x":"1","y":"2"}}`)
		w.edit(w.provider, "a", spec("assignedTo", "n1"))
		w.edit(w.consumer, "a", func(object map[string]any) {
			object["spec"] = map[string]any{"size": int64(1), "options": map[string]any{"y": "2"}}
		})
		w.is(w.provider, "a", "map[assignedTo:n1 options:map[y:2] size:1]", "spec")
		w.wrote("consumer patch", "provider apply", "provider apply")
	})
}

func TestDriftIsPutBack(t *testing.T) { // I7
	inWorld(t, func(w *world) {
		w.start()
		w.user("a", `{"size":1,"color":"red"}`)
		w.wrote("consumer patch", "provider apply")
		w.edit(w.provider, "a", spec("color", "blue"))
		w.wrote("provider apply")
		w.is(w.provider, "a", "red", "spec", "color")
		uid := field(w.provider.Get(namespace, "a"), "metadata", "uid")
		w.provider.Delete(namespace, "a")
		w.wrote("provider apply")
		if again := field(w.provider.Get(namespace, "a"), "metadata", "uid"); again == "" || again == uid {
			t.Errorf("the copy was not made again: UID %q after %q", again, uid)
		}
	})
}

func TestCopyThatLostItsLabelIsFoundAndMended(t *testing.T) {
	inWorld(t, func(w *world) {
		w.start()
		w.user("a", `{"size":1}`)
		w.wrote("consumer patch", "provider apply")
		w.edit(w.provider, "a", func(object map[string]any) {
			unstructured.RemoveNestedField(object, "metadata", "labels", corev1alpha1.LabelConsumer)
		})
		w.wrote("provider apply", "provider get", "provider apply")
		w.is(w.provider, "a", string(cluster), "metadata", "labels", corev1alpha1.LabelConsumer)
	})
}

func TestTakenNameIsReadOnceAndHealsByItself(t *testing.T) { // I5, I6
	inWorld(t, func(w *world) {
		w.provider.Create(`{"metadata":{"namespace":"team-a","name":"a"},"spec":{"size":9}}`)
		foreign := w.provider.Get(namespace, "a")
		w.start()
		w.user("a", `{"size":1}`)
		w.wrote("consumer patch", "provider apply", "provider get", "consumer patch")
		w.tells(corev1alpha1.ReasonForeignObjectExists, "conflictPolicy: Adopt")
		w.counts(coverage.Counts{Instances: 1, Conflicting: 1})
		w.is(w.consumer, "a", corev1alpha1.ReasonForeignObjectExists, "metadata", "annotations", corev1alpha1.AnnotationConflict)
		if now := w.provider.Get(namespace, "a"); field(now, "metadata") != field(foreign, "metadata") {
			t.Errorf("the foreign object was changed: %v", now)
		}

		time.Sleep(time.Minute)
		calls := w.provider.Calls()
		if len(calls) == 0 || calls[0].Verb != "get" || len(calls) > 3 {
			t.Errorf("calls in a minute are %v, want one to three gets", calls)
		}
		w.provider.Delete(namespace, "a")
		time.Sleep(time.Minute)
		w.counts(coverage.Counts{Instances: 1, Synced: 1})
		w.is(w.consumer, "a", "", "metadata", "annotations", corev1alpha1.AnnotationConflict)
		w.is(w.provider, "a", "1", "spec", "size")
	})
}

func TestChangeOfPolicyReachesConflicts(t *testing.T) { // OW-5
	inWorld(t, func(w *world) {
		w.provider.Create(`{"metadata":{"namespace":"team-a","name":"a"},"spec":{"size":9}}`)
		syncer := w.start()
		w.user("a", `{"size":1}`)
		w.tells(corev1alpha1.ReasonForeignObjectExists)
		w.wrote("consumer patch", "provider apply", "provider get", "consumer patch")
		adopting := binding
		adopting.Policy = corev1alpha1.ConflictPolicyAdopt
		w.cover(adopting, false)
		syncer.Requeue() // as the Set does
		w.wrote("provider get", "provider apply", "consumer patch")
		w.is(w.provider, "a", "1", "spec", "size")
		w.is(w.provider, "a", "true", "metadata", "annotations", corev1alpha1.AnnotationAdopted)
		w.counts(coverage.Counts{Instances: 1, Synced: 1})
	})
}

func TestMissingNamespaceIsCreatedOnceAWriteSaysSo(t *testing.T) { // I9
	inWorld(t, func(w *world) {
		w.provider = fakeserver.New()
		w.start()
		w.user("a", `{"size":1}`)
		w.wrote("consumer patch", "provider apply", "provider create namespace", "provider apply")
		w.user("b", `{"size":1}`)
		w.wrote("consumer patch", "provider apply")
	})
}

func TestNamespaceThatMayNotBeCreatedIsDenied(t *testing.T) { // I9, I10
	inWorld(t, func(w *world) {
		w.provider = fakeserver.New()
		w.provider.Change(func() {
			w.provider.Refuse = refuse("create namespace", func(fakeserver.Call) error {
				return apierrors.NewForbidden(corev1alpha1.Resource("namespaces"), "team-a", errors.New(`User "x" cannot create resource "namespaces" in API group ""`))
			})
		})
		w.start()
		w.user("a", `{"size":1}`)
		w.wrote("consumer patch", "provider apply", "provider create namespace")
		w.tells("Denied", `create namespaces "team-a"`)
		w.counts(coverage.Counts{Instances: 1, Denied: 1})
	})
}

func TestDenialIsToldOnceAndRetriedAfterAFixedTime(t *testing.T) { // I10
	inWorld(t, func(w *world) {
		w.start()
		w.user("a", `{"size":1}`)
		w.wrote("consumer patch", "provider apply")
		w.provider.Change(func() { w.provider.Refuse = refuse("apply", fakeserver.Forbidden) })
		w.edit(w.consumer, "a", spec("size", int64(2)))
		w.wrote("provider apply")
		w.tells("Denied", `patch widgets.demo.example.org "a" in namespace "team-a"`, `Grant the verb "patch"`)
		w.counts(coverage.Counts{Instances: 1, Denied: 1})

		w.status("a", map[string]any{"phase": "Busy"})
		w.wrote("consumer patch status")
		w.counts(coverage.Counts{Instances: 1, Denied: 1})

		time.Sleep(5 * time.Minute)
		if applies := len(w.provider.Calls()); applies < 7 || applies > 11 {
			t.Errorf("%d applies in five minutes, want one in about thirty seconds", applies)
		}
		w.provider.Change(func() { w.provider.Refuse = nil })
		time.Sleep(time.Minute)
		w.wrote("provider apply")
		w.counts(coverage.Counts{Instances: 1, Synced: 1})
	})
}

func TestRejectedContentWaitsAndStatusFlows(t *testing.T) { // I11, UP-10
	inWorld(t, func(w *world) {
		w.start()
		w.user("a", `{"size":1}`)
		w.wrote("consumer patch", "provider apply")
		w.provider.Admit = func(object *unstructured.Unstructured) error {
			if field(object, "spec", "size") == "20" {
				return fakeserver.Invalid("size must be 10 or less")
			}
			return nil
		}
		w.edit(w.consumer, "a", spec("size", int64(20)))
		w.wrote("provider apply", "consumer patch")
		w.tells("Rejected", "size must be 10 or less")
		w.counts(coverage.Counts{Instances: 1, Rejected: 1})
		w.is(w.consumer, "a", "size must be 10 or less", "metadata", "annotations", corev1alpha1.AnnotationRejected)

		for _, phase := range []string{"A", "B", "C"} {
			w.status("a", map[string]any{"phase": phase})
			w.wrote("consumer patch status")
		}
		w.counts(coverage.Counts{Instances: 1, Rejected: 1})

		time.Sleep(10 * time.Minute)
		if applies := len(w.provider.Calls()); applies < 14 || applies > 22 {
			t.Errorf("%d applies in ten minutes, want growing pauses of up to forty seconds", applies)
		}
		w.edit(w.consumer, "a", spec("size", int64(5)))
		w.wrote("provider apply", "consumer patch")
		w.is(w.provider, "a", "5", "spec", "size")
		w.is(w.consumer, "a", "", "metadata", "annotations", corev1alpha1.AnnotationRejected)
		w.counts(coverage.Counts{Instances: 1, Synced: 1})
	})
}

func TestFieldThatTheProviderDoesNotKnowIsARejection(t *testing.T) { // SD-13
	inWorld(t, func(w *world) {
		w.start()
		w.consumer.Create(`{"metadata":{"namespace":"team-a","name":"a"},"unknown":{"x":"1"},"spec":{"size":1}}`)
		synctest.Wait()
		w.tells("Rejected", ".unknown")
		w.counts(coverage.Counts{Instances: 1, Rejected: 1})
		w.wrote("consumer patch", "provider apply", "consumer patch")
	})
}

func TestStatusThatTheConsumerRefusesDoesNotStopTheSpec(t *testing.T) { // I11
	inWorld(t, func(w *world) {
		w.start()
		w.user("a", `{"size":1}`)
		w.wrote("consumer patch", "provider apply")
		w.consumer.Change(func() {
			w.consumer.Refuse = refuse("patch status", func(fakeserver.Call) error { return fakeserver.Invalid("phase: unsupported value") })
		})
		w.status("a", map[string]any{"phase": "Odd"})
		w.tells("Rejected", "The consumer refuses", "phase: unsupported value")
		w.edit(w.consumer, "a", spec("size", int64(2)))
		w.is(w.provider, "a", "2", "spec", "size")
		w.told()
		time.Sleep(time.Minute)
		w.is(w.consumer, "a", "", "metadata", "annotations", corev1alpha1.AnnotationRejected)
	})
}

func TestDeletionWaitsForTheProvidersFinalizer(t *testing.T) { // I8
	inWorld(t, func(w *world) {
		w.start()
		w.user("a", `{"size":1}`)
		hold := func(finalizers ...any) func(map[string]any) {
			return func(object map[string]any) {
				_ = unstructured.SetNestedSlice(object, finalizers, "metadata", "finalizers")
			}
		}
		w.edit(w.provider, "a", hold("demo.example.org/backup"))
		w.wrote("consumer patch", "provider apply")
		w.consumer.Delete(namespace, "a")
		w.wrote("provider delete")
		w.status("a", map[string]any{"phase": "Leaving"})
		w.wrote("consumer patch status")
		time.Sleep(time.Hour)
		w.wrote()
		if w.consumer.Get(namespace, "a") == nil {
			t.Fatal("the object went before its copy")
		}
		w.edit(w.provider, "a", hold())
		w.wrote("consumer patch", "provider get") // its event may have told only of a lost label
		if w.consumer.Get(namespace, "a") != nil {
			t.Error("the object is still there")
		}
	})
}

func TestOrphanedCopyStaysWithoutMarks(t *testing.T) { // I8
	inWorld(t, func(w *world) {
		w.start()
		w.user("a", `{"size":1}`)
		w.wrote("consumer patch", "provider apply")
		w.edit(w.consumer, "a", func(object map[string]any) {
			_ = unstructured.SetNestedField(object, corev1alpha1.DeletionPolicyOrphan, "metadata", "annotations", corev1alpha1.AnnotationDeletionPolicy)
		})
		w.wrote()
		w.consumer.Delete(namespace, "a")
		w.wrote("provider patch", "consumer patch")
		w.is(w.provider, "a", "1", "spec", "size")
		for _, part := range []string{"labels", "annotations"} {
			if marks := field(w.provider.Get(namespace, "a"), "metadata", part); strings.Contains(marks, "kbind.io") {
				t.Errorf("marks are left: %s", marks)
			}
		}
	})
}

func TestMissingAPIReleasesOnlyWhenDiscoveryConfirms(t *testing.T) { // I8, DL-1
	inWorld(t, func(w *world) {
		w.start()
		w.user("a", `{"size":1}`)
		w.wrote("consumer patch", "provider apply")
		waits := func(why string) {
			t.Helper()
			time.Sleep(time.Minute)
			if w.consumer.Get(namespace, "a") == nil {
				t.Fatalf("released on %s", why)
			}
			w.told()
		}
		w.provider.Change(func() { w.provider.Refuse = refuse("delete", fakeserver.Forbidden) })
		w.consumer.Delete(namespace, "a")
		waits("a 403")
		w.provider.Change(func() {
			w.provider.Refuse = refuse("delete", func(fakeserver.Call) error { return apierrors.NewInternalError(errors.New("etcd")) })
		})
		waits("a 500")
		w.provider.Change(func() { w.provider.Refuse = nil })
		w.provider.Change(func() { w.provider.Unserved, w.provider.Undiscoverable = true, true })
		waits("a 404 with discovery away")
		w.provider.Change(func() { w.provider.Undiscoverable = false })
		time.Sleep(time.Minute)
		if w.consumer.Get(namespace, "a") != nil {
			t.Error("not released although the API is gone for certain")
		}
	})
}

func TestDrainingDeletesCopiesAndLeavesObjects(t *testing.T) { // U1
	inWorld(t, func(w *world) {
		syncer := w.start()
		w.user("a", `{"size":1}`)
		w.wrote("consumer patch", "provider apply")
		w.cover(binding, true)
		syncer.Requeue()
		w.wrote("provider delete", "consumer patch")
		if w.provider.Get(namespace, "a") != nil || w.consumer.Get(namespace, "a") == nil {
			t.Error("want no copy, and the object")
		}
		w.is(w.consumer, "a", "[]", "metadata", "finalizers")
		w.counts(coverage.Counts{})
	})
}

func TestTerminatingObjectWithoutOurFinalizerIsNoneOfOurs(t *testing.T) { // DL-3
	inWorld(t, func(w *world) {
		w.consumer.Create(`{"metadata":{"namespace":"team-a","name":"a","finalizers":["demo.example.org/x"]},"spec":{"size":1}}`)
		w.consumer.Delete(namespace, "a")
		w.start()
		time.Sleep(time.Hour)
		w.wrote()
	})
}

func TestNewObjectWaitsForTheOldCopyToGo(t *testing.T) { // OW-3
	inWorld(t, func(w *world) {
		w.start()
		w.user("a", `{"size":1}`)
		w.edit(w.provider, "a", func(object map[string]any) {
			_ = unstructured.SetNestedSlice(object, []any{"demo.example.org/x"}, "metadata", "finalizers")
		})
		w.consumer.Delete(namespace, "a")
		synctest.Wait()
		w.edit(w.consumer, "a", func(object map[string]any) {
			unstructured.RemoveNestedField(object, "metadata", "finalizers") // an impatient admin
		})
		w.wrote("consumer patch", "provider apply", "provider delete")
		w.user("a", `{"size":2}`)
		time.Sleep(time.Hour)
		w.wrote()
		w.edit(w.provider, "a", func(object map[string]any) {
			unstructured.RemoveNestedField(object, "metadata", "finalizers")
		})
		w.wrote("consumer patch", "provider apply")
		w.is(w.provider, "a", "2", "spec", "size")
	})
}

func TestStatusWithoutSubresource(t *testing.T) { // I3, ST-3
	inWorld(t, func(w *world) {
		w.consumer.StatusSubresource, w.provider.StatusSubresource = false, false
		w.start()
		w.user("a", `{"size":1}`)
		w.wrote("consumer patch", "provider apply")
		w.edit(w.provider, "a", func(object map[string]any) { object["status"] = map[string]any{"seen": int64(1)} })
		w.wrote("consumer patch")
		w.is(w.consumer, "a", "1", "status", "seen")
		w.edit(w.consumer, "a", func(object map[string]any) { delete(object, "status") })
		w.wrote("consumer patch")
		w.edit(w.provider, "a", func(object map[string]any) { delete(object, "status") })
		w.wrote("consumer patch")
		w.is(w.consumer, "a", "", "status")
	})
}

func TestFightIsGivenUp(t *testing.T) { // I7, UP-6
	inWorld(t, func(w *world) {
		w.start()
		w.user("a", `{"size":1,"color":"red"}`)
		w.wrote("consumer patch", "provider apply")
		for range 10 {
			w.edit(w.provider, "a", spec("color", "blue"))
		}
		w.wrote("provider apply", "provider apply", "provider apply", "provider apply")
		w.tells("Overruled", ".spec.color")
		w.counts(coverage.Counts{Instances: 1, Synced: 1})
		w.status("a", map[string]any{"phase": "Busy"})
		w.wrote("consumer patch status")
		time.Sleep(time.Hour)
		w.status("a", map[string]any{"phase": "Idle"})
		w.wrote("consumer patch status")

		w.edit(w.provider, "a", spec("size", int64(7))) // another field, an hour later
		w.wrote("provider apply")
		w.edit(w.provider, "a", spec("color", "blue"))
		w.wrote("provider apply")
		w.edit(w.consumer, "a", spec("size", int64(3)))
		w.wrote("provider apply")
		w.is(w.provider, "a", "3", "spec", "size")
	})
}

func TestFightBySeveralFieldsInTurnIsGivenUp(t *testing.T) {
	inWorld(t, func(w *world) {
		w.start()
		w.user("a", `{"size":1,"color":"red"}`)
		for range 10 {
			w.edit(w.provider, "a", spec("color", "blue"))
			w.edit(w.provider, "a", spec("size", int64(7)))
		}
		w.wrote("consumer patch", "provider apply", "provider apply", "provider apply", "provider apply", "provider apply")
		w.tells("Overruled")
		time.Sleep(15 * time.Minute) // the pause is over: what was changed since is put back
		w.wrote("provider apply")
		w.is(w.provider, "a", "red", "spec", "color")
	})
}

func TestValueRewrittenAtAdmissionIsToldOnce(t *testing.T) { // UP-6
	inWorld(t, func(w *world) {
		w.provider.Admit = func(object *unstructured.Unstructured) error {
			return unstructured.SetNestedField(object.Object, strings.ToLower(field(object, "spec", "color")), "spec", "color")
		}
		w.start()
		w.user("a", `{"size":1,"color":"RED"}`)
		w.wrote("consumer patch", "provider apply")
		w.tells("Overruled", ".spec.color")
		time.Sleep(time.Hour)
		w.wrote()
		w.edit(w.consumer, "a", spec("size", int64(2)))
		w.wrote("provider apply")
		w.is(w.provider, "a", "2", "spec", "size")
	})
}

func TestAdmissionThatRemovesOurMarksIsGivenUp(t *testing.T) {
	inWorld(t, func(w *world) {
		w.provider.Admit = func(object *unstructured.Unstructured) error {
			unstructured.RemoveNestedField(object.Object, "metadata", "annotations", corev1alpha1.AnnotationAppliedHash)
			return nil
		}
		w.start()
		w.user("a", `{"size":1}`)
		time.Sleep(time.Hour)
		w.wrote("consumer patch", "provider apply", "provider apply", "provider apply", "provider apply", "provider apply")
		w.told()
	})
}
