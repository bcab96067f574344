package status

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"

	corev1alpha1 "github.com/kbind-dev/konnector/apis/core/v1alpha1"
	"github.com/kbind-dev/konnector/generated/clientset/versioned/fake"
)

func connection() *corev1alpha1.Connection {
	return &corev1alpha1.Connection{
		ObjectMeta: metav1.ObjectMeta{Name: "acme", UID: "1", ResourceVersion: "7", Finalizers: []string{"example.org/other"}},
		Status: corev1alpha1.ConnectionStatus{
			RemoteClusterUID: "remote",
			ExportedAPIs:     []corev1alpha1.ExportedAPI{{Name: "widgets.example.org"}},
			ExportedAPICount: 1,
		},
	}
}

// patches returns the documents of all patches that a clientset was sent, and fails
// the test when it was sent anything else.
func patches(t *testing.T, client *fake.Clientset) (documents []map[string]any, subresources []string) {
	t.Helper()
	for _, action := range client.Actions() {
		patch, is := action.(clienttesting.PatchAction)
		if !is {
			t.Fatalf("unexpected call: %v", action)
		}
		var document map[string]any
		if err := json.Unmarshal(patch.GetPatch(), &document); err != nil {
			t.Fatal(err)
		}
		documents = append(documents, document)
		subresources = append(subresources, patch.GetSubresource())
	}
	return documents, subresources
}

func TestCommitWritesTheDifferenceAlone(t *testing.T) {
	object := connection()
	client := fake.NewClientset(object)
	after := object.Status.DeepCopy()
	after.ExportedAPIs, after.ExportedAPICount = nil, 0
	after.LocalClusterUID = "local"
	wrote, err := Commit(t.Context(), client.CoreV1alpha1().Connections(), object, &object.Status, after)
	if err != nil || !wrote {
		t.Fatalf("Commit = %v, %v", wrote, err)
	}
	documents, subresources := patches(t, client)
	want := []map[string]any{{
		"metadata": map[string]any{"uid": "1", "resourceVersion": "7"},
		"status":   map[string]any{"localClusterUID": "local", "exportedAPIs": nil, "exportedAPICount": 0.0},
	}}
	if diff := cmp.Diff(want, documents); diff != "" {
		t.Errorf("patches (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"status"}, subresources); diff != "" {
		t.Errorf("subresources (-want +got):\n%s", diff)
	}
}

func TestCommitWritesNothingWhenNothingChanged(t *testing.T) {
	object := connection()
	client := fake.NewClientset(object)
	wrote, err := Commit(t.Context(), client.CoreV1alpha1().Connections(), object, &object.Status, object.Status.DeepCopy())
	if err != nil || wrote || len(client.Actions()) > 0 {
		t.Errorf("Commit = %v, %v after %v", wrote, err, client.Actions())
	}
}

func TestCommitReturnsAConflict(t *testing.T) {
	object := connection()
	client := fake.NewClientset(object)
	client.PrependReactor("patch", "connections", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewConflict(corev1alpha1.Resource("connections"), "acme", nil)
	})
	after := object.Status.DeepCopy()
	after.LocalClusterUID = "local"
	wrote, err := Commit(t.Context(), client.CoreV1alpha1().Connections(), object, &object.Status, after)
	if wrote || !apierrors.IsConflict(err) {
		t.Errorf("Commit = %v, %v, want the conflict", wrote, err)
	}
}

func TestSetFinalizer(t *testing.T) {
	now := metav1.Now()
	const ours = corev1alpha1.FinalizerCleanup
	tests := map[string]struct {
		finalizers []string
		deleting   bool
		present    bool
		want       []any // finalizers that are written, nil for no write
	}{
		"added behind those of others":           {[]string{"a"}, false, true, []any{"a", ours}},
		"already there":                          {[]string{ours, "a"}, false, true, nil},
		"never added to what is going":           {[]string{"a"}, true, true, nil},
		"taken off, others stay":                 {[]string{"a", ours, "b"}, true, false, []any{"a", "b"}},
		"the last one taken off":                 {[]string{ours}, true, false, []any{}},
		"nothing to take off":                    {[]string{"a"}, true, false, nil},
		"twice there by mistake is there":        {[]string{ours, ours}, false, true, nil},
		"twice there by mistake goes as a whole": {[]string{ours, ours, "a"}, true, false, []any{"a"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			object := connection()
			object.Finalizers = test.finalizers
			if test.deleting {
				object.DeletionTimestamp = &now
			}
			client := fake.NewClientset(object)
			wrote, err := SetFinalizer(t.Context(), client.CoreV1alpha1().Connections(), object, ours, test.present)
			if err != nil {
				t.Fatal(err)
			}
			documents, _ := patches(t, client)
			if wrote != (test.want != nil) || len(documents) > 1 {
				t.Fatalf("wrote %v: %v", wrote, documents)
			}
			if test.want == nil {
				return
			}
			want := map[string]any{"metadata": map[string]any{"uid": "1", "resourceVersion": "7", "finalizers": test.want}}
			if diff := cmp.Diff(want, documents[0]); diff != "" {
				t.Errorf("patch (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSummaryIsTheFirstThatIsNotAsItShouldBe(t *testing.T) {
	good := True("", "Ready", "All is well.")
	negative := map[string]bool{"Denied": true}
	tests := map[string]struct {
		conditions []Condition
		want       Condition
	}{
		"all well":                    {[]Condition{True("A", "x", ""), False("Denied", "x", "")}, True("Sum", "Ready", "All is well.")},
		"one False":                   {[]Condition{True("A", "x", ""), False("B", "Broken", "b")}, False("Sum", "Broken", "b")},
		"the first counts":            {[]Condition{False("A", "First", "a"), False("B", "Second", "b")}, False("Sum", "First", "a")},
		"Unknown stays Unknown":       {[]Condition{Unknown("A", "Pending", "a")}, Unknown("Sum", "Pending", "a")},
		"a negative one that is True": {[]Condition{True("A", "x", ""), True("Denied", "Forbidden", "d")}, False("Sum", "Forbidden", "d")},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := Summarize("Sum", good, negative, test.conditions...); got != test.want {
				t.Errorf("Summarize = %+v, want %+v", got, test.want)
			}
		})
	}
}

func TestSetMovesTheTransitionTimeWithTheStatusAlone(t *testing.T) {
	then := metav1.NewTime(time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC))
	list := []metav1.Condition{{Type: "A", Status: metav1.ConditionTrue, Reason: "x", LastTransitionTime: then, ObservedGeneration: 1}}
	Set(&list, 2, True("A", "y", "other words"))
	if got := meta.FindStatusCondition(list, "A"); got.LastTransitionTime != then || got.ObservedGeneration != 2 || got.Reason != "y" {
		t.Errorf("other words moved the time or lost the generation: %+v", got)
	}
	Set(&list, 3, False("A", "z", ""))
	if got := meta.FindStatusCondition(list, "A"); !got.LastTransitionTime.After(then.Time) {
		t.Errorf("another status did not move the time: %+v", got)
	}
	if got := Get(list, "B"); got.Status != metav1.ConditionUnknown || got.Reason != "" {
		t.Errorf("a condition that was never set is %+v", got)
	}
}

func TestCountSpeaksInSingularAndPlural(t *testing.T) {
	for number, want := range map[int]string{0: "0 objects", 1: "1 object", 2: "2 objects"} {
		if got := Count(number, "object"); got != want {
			t.Errorf("Count(%d) = %q, want %q", number, got, want)
		}
	}
}
