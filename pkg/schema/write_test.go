package schema

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	corev1alpha1 "github.com/kbind-dev/konnector/apis/core/v1alpha1"
)

func TestDecideCreatesAMarkedCopy(t *testing.T) {
	facts := factsOf(offered(served("v1"), labelled(corev1alpha1.LabelExported, "true"), annotated("a", "b"), established))
	got := Decide(facts)
	want, err := Copy(facts.Offered)
	if err != nil {
		t.Fatal(err)
	}
	Mark(want, "acme")
	if diff := cmp.Diff(want, got.Desired); diff != "" {
		t.Error(diff)
	}
	if got.Hash != Hash(want) {
		t.Errorf("hash %q, want %q", got.Hash, Hash(want))
	}
}

func TestAnUpdateKeepsWhatOthersPutOnTheInstalledCRD(t *testing.T) {
	facts := factsOf(
		offered(served("v1"), field("new"), labelled(corev1alpha1.LabelExported, "true"), annotated("provider", "x")),
		pulled(served("v1")),
		since(labelled("team", "a"), annotated("note", "b"), func(crd *apiextensionsv1.CustomResourceDefinition) {
			crd.Finalizers = []string{"example.org/keep"}
			crd.OwnerReferences = []metav1.OwnerReference{{Name: "chart"}}
			crd.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "helm"}}
		}),
	)
	before := facts.Installed.DeepCopy()
	got := Decide(facts)

	want := before.DeepCopy()
	want.ManagedFields = nil
	want.Spec = Decide(factsOf(offered(served("v1"), field("new")))).Desired.Spec
	want.Annotations[corev1alpha1.AnnotationSchemaHash] = Hash(want)
	if diff := cmp.Diff(want, got.Desired); diff != "" {
		t.Error(diff)
	}
	if got.Desired.ResourceVersion != "7" || got.Desired.UID != "uid" {
		t.Error("without resourceVersion and UID an update could overwrite another change")
	}
	if got.Hash != Hash(want) {
		t.Errorf("hash %q, want %q", got.Hash, Hash(want))
	}
	if diff := cmp.Diff(before, facts.Installed); diff != "" {
		t.Errorf("the cached object has changed:\n%s", diff)
	}
}

func TestTakingOverPutsOurMarksOn(t *testing.T) {
	for _, row := range []struct {
		name  string
		facts Facts
	}{
		{"a Connection that is gone", factsOf(ownerIsGone, installed(served("v1"), field("theirs"), markedBy("zen")))},
		{"a Connection that has let go", factsOf(installed(served("v1"), field("theirs"), markedBy("zen"), Unmark))},
		{"a CRD that had nothing but the hash", factsOf(installed(served("v1"), markedBy("zen"), Unmark, func(crd *apiextensionsv1.CustomResourceDefinition) {
			crd.Labels = nil
		}))},
	} {
		t.Run(row.name, func(t *testing.T) {
			desired := Decide(row.facts).Desired
			if owner, managed := OwnerOf(desired); owner != "acme" || !managed {
				t.Errorf("it belongs to %q, %v", owner, managed)
			}
			if recordedHash(desired) != Hash(desired) {
				t.Errorf("hash %q, want %q", recordedHash(desired), Hash(desired))
			}
		})
	}
}

func TestVerdictsCarryTheHashOfWhatIsInstalled(t *testing.T) {
	for _, row := range []struct {
		name  string
		facts Facts
	}{
		{"in sync", factsOf(pulled(served("v1")))},
		{"pinned", factsOf(once, offered(served("v1"), field("new")), pulled(served("v1")))},
		{"modified", factsOf(once, pulled(served("v1")), since(field("own")))},
		{"not exported", factsOf(notOffered, pulled(served("v1")))},
		{"of somebody else", factsOf(installed(served("v1")))},
		{"as it is", factsOf(pullNone, installed(served("v1"), field("own")))},
	} {
		t.Run(row.name, func(t *testing.T) {
			if got, want := Decide(row.facts).Hash, Hash(row.facts.Installed); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}

func TestWithoutACRDThereIsNoHash(t *testing.T) {
	for _, facts := range []Facts{factsOf(notOffered), factsOf(pullNone), factsOf(unbound)} {
		if got := Decide(facts); got.Hash != "" {
			t.Errorf("hash %q with %s", got.Hash, got.Reason)
		}
	}
}

// The way of a provider's real CRDs to the consumer and along with the provider.
func TestRealCRDsSettleAfterOneWrite(t *testing.T) {
	for _, name := range providers {
		t.Run(name, func(t *testing.T) {
			facts := factsOf(api(""), func(facts *Facts) { facts.Offered = load(t, name) })
			verdict := Decide(facts)
			if verdict.Action != Create {
				t.Fatalf("%s: %s", verdict.Action, verdict.Message)
			}
			facts.Installed = readBack(t, verdict.Desired)
			established(facts.Installed)
			if verdict = Decide(facts); verdict.Action != None || !verdict.Usable || !verdict.InSync {
				t.Fatalf("after the install: %s: %s", verdict.Action, verdict.Message)
			}

			facts.Offered.Spec.Names.Categories = append(facts.Offered.Spec.Names.Categories, "more")
			verdict = Decide(facts)
			if verdict.Action != Update || verdict.Repairs {
				t.Fatalf("after a change at the provider: %s: %s", verdict.Action, verdict.Message)
			}
			errs := validation.ValidateCustomResourceDefinitionUpdate(t.Context(), internal(t, verdict.Desired), internal(t, facts.Installed))
			if len(errs) > 0 {
				t.Fatal(errs.ToAggregate())
			}
			facts.Installed = readBack(t, verdict.Desired)
			if verdict = Decide(facts); verdict.Action != None || !verdict.Usable {
				t.Fatalf("after the update: %s: %s", verdict.Action, verdict.Message)
			}
		})
	}
}
