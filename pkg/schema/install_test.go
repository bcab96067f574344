package schema

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset/fake"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/utils/ptr"

	corev1alpha1 "github.com/kbind-dev/konnector/apis/core/v1alpha1"
)

func TestApplyMakesOneCall(t *testing.T) {
	for _, row := range []struct {
		name  string
		facts Facts
		want  []string
	}{
		{"a missing CRD is created", factsOf(), []string{"create"}},
		{"a CRD that differs is updated", factsOf(offered(served("v1"), field("new")), pulled(served("v1"))), []string{"update"}},
		{"a CRD that is as it should be is neither read nor written", factsOf(pulled(served("v1"))), nil},
		{"a CRD of somebody else is neither read nor written", factsOf(installed(served("v1"))), nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			client := fake.NewClientset()
			if row.facts.Installed != nil {
				client = fake.NewClientset(row.facts.Installed)
			}
			verdict := Decide(row.facts)
			installer := &Installer{Client: client.ApiextensionsV1().CustomResourceDefinitions()}
			got, err := installer.Apply(t.Context(), verdict)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(row.want, verbs(client)); diff != "" {
				t.Error(diff)
			}
			if verdict.Desired == nil {
				if got != nil {
					t.Errorf("got %v", got)
				}
				return
			}
			if Hash(got) != verdict.Hash {
				t.Errorf("hash %s was written, want %s", Hash(got), verdict.Hash)
			}
		})
	}
}

func TestApplyWritesUnderOurName(t *testing.T) {
	client := fake.NewClientset()
	installer := &Installer{Client: client.ApiextensionsV1().CustomResourceDefinitions()}
	if _, err := installer.Apply(t.Context(), Decide(factsOf())); err != nil {
		t.Fatal(err)
	}
	create := client.Actions()[0].(clienttesting.CreateActionImpl)
	if create.CreateOptions.FieldManager != corev1alpha1.FieldManager {
		t.Errorf("field manager %q", create.CreateOptions.FieldManager)
	}
}

func TestApplyReturnsTheErrorsOfTheAPIServer(t *testing.T) {
	resource := apiextensionsv1.Resource("customresourcedefinitions")
	for _, row := range []struct {
		name  string
		facts Facts
		err   error
		is    func(error) bool
	}{
		{"a CRD that appeared in between", factsOf(), apierrors.NewAlreadyExists(resource, "widgets.demo.example.org"), apierrors.IsAlreadyExists},
		{"a CRD that changed in between", factsOf(pulled(served("v1")), since(field("own"))), apierrors.NewConflict(resource, "widgets.demo.example.org", nil), apierrors.IsConflict},
	} {
		t.Run(row.name, func(t *testing.T) {
			client := fake.NewClientset()
			client.PrependReactor("*", "*", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, row.err })
			installer := &Installer{Client: client.ApiextensionsV1().CustomResourceDefinitions()}
			if _, err := installer.Apply(t.Context(), Decide(row.facts)); !row.is(err) {
				t.Errorf("got %v", err)
			}
			if calls := verbs(client); len(calls) != 1 {
				t.Errorf("calls: %v", calls)
			}
		})
	}
}

func TestRemoveDeletesOnlyWhatWasSeen(t *testing.T) {
	seen := factsOf(pulled(served("v1"))).Installed
	client := fake.NewClientset(seen)
	if err := Remove(t.Context(), client.ApiextensionsV1().CustomResourceDefinitions(), seen); err != nil {
		t.Fatal(err)
	}
	call := client.Actions()[0].(clienttesting.DeleteActionImpl)
	want := &metav1.Preconditions{UID: ptr.To[types.UID]("uid"), ResourceVersion: ptr.To("7")}
	if diff := cmp.Diff(want, call.DeleteOptions.Preconditions); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"delete"}, verbs(client)); diff != "" {
		t.Error(diff)
	}
}

func TestReleaseDoesWhatUnmarkDoes(t *testing.T) {
	seen := factsOf(pulled(served("v1")), since(labelled("team", "a"), annotated("note", "b"))).Installed
	client := fake.NewClientset(seen.DeepCopy())
	got, err := Release(t.Context(), client.ApiextensionsV1().CustomResourceDefinitions(), seen)
	if err != nil {
		t.Fatal(err)
	}
	want := seen.DeepCopy()
	Unmark(want)
	if diff := cmp.Diff(want.ObjectMeta, got.ObjectMeta); diff != "" {
		t.Error(diff)
	}
	if _, managed := OwnerOf(seen); !managed {
		t.Error("the object that was passed in has changed")
	}
}

func TestReleaseHasAPrecondition(t *testing.T) {
	seen := factsOf(pulled(served("v1"))).Installed
	client := fake.NewClientset(seen)
	if _, err := Release(t.Context(), client.ApiextensionsV1().CustomResourceDefinitions(), seen); err != nil {
		t.Fatal(err)
	}
	call := client.Actions()[0].(clienttesting.PatchActionImpl)
	want := `{"metadata":{"annotations":{"core.kbind.io/connection":null},"labels":{"core.kbind.io/managed":null},"resourceVersion":"7","uid":"uid"}}`
	if diff := cmp.Diff(want, string(call.Patch)); diff != "" {
		t.Error(diff)
	}
	if call.PatchType != types.MergePatchType {
		t.Errorf("a patch of type %s", call.PatchType)
	}
}

// A CRD that was let go with instances in it is taken up by the next binding, and
// can be removed with it.
func TestACRDThatWasReleasedIsTakenUpAgain(t *testing.T) {
	facts := factsOf(pulled(served("v1")))
	client := fake.NewClientset(facts.Installed.DeepCopy())
	crds := client.ApiextensionsV1().CustomResourceDefinitions()
	released, err := Release(t.Context(), crds, facts.Installed)
	if err != nil {
		t.Fatal(err)
	}
	facts.Installed = released
	taken, err := (&Installer{Client: crds}).Apply(t.Context(), Decide(facts))
	if err != nil {
		t.Fatal(err)
	}
	if owner, managed := OwnerOf(taken); owner != "acme" || !managed {
		t.Errorf("it belongs to %q, %v", owner, managed)
	}
}

func verbs(client *fake.Clientset) []string {
	var out []string
	for _, action := range client.Actions() {
		out = append(out, action.GetVerb())
	}
	return out
}
