package schema

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

func TestRefused(t *testing.T) {
	usable := func(version string) Verdict {
		return Verdict{Action: None, Usable: true, Version: version, Reason: "CRDRefused"}
	}
	waits := Verdict{Action: None, Reason: "CRDRefused"}
	for _, row := range []struct {
		name  string
		facts Facts
		want  Verdict
		says  string
	}{
		{"S4: the installed schema stays in use", factsOf(offered(served("v1"), field("new")), pulled(served("v1"))), usable("v1"), ""},
		{"S4: a stored version that was dropped is named with the remedy", factsOf(offered(served("v2")), pulled(served("v2"), served("v1")), since(stored("v1", "v2"))), usable("v2"), "lacks v1"},
		{"S4: without a version in common nothing is synced", factsOf(offered(served("v2")), pulled(served("v1"))), waits, "no version that the consumer serves (v1)"},
		{"S4: names that aren't accepted are told as well", factsOf(offered(served("v1"), field("new")), pulled(served("v1")), since(namesRefused)), usable("v1"), "already in use"},
		{"S4: a CRD that isn't established stays unusable", factsOf(offered(served("v1"), field("new")), pulled(served("v1")), since(notEstablished)), Verdict{Action: None, Version: "v1", Reason: "CRDRefused"}, "not all names"},
		{"S1: without an installed CRD nothing is synced", factsOf(), waits, ""},
		{"S3: a CRD that could not be taken over isn't used", factsOf(ownerIsGone, installed(served("v1"), markedBy("zen"))), waits, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			got := Refused(row.facts, Decide(row.facts), errors.New("no such luck"))
			if diff := cmp.Diff(row.want, got, cmpopts.IgnoreFields(Verdict{}, "Hash", "Message")); diff != "" {
				t.Error(diff)
			}
			for _, words := range []string{"no such luck", row.says} {
				if !strings.Contains(got.Message, words) {
					t.Errorf("the message %q lacks %q", got.Message, words)
				}
			}
			if row.facts.Installed != nil && got.Hash != Hash(row.facts.Installed) {
				t.Error("the hash is not that of what is installed")
			}
		})
	}
}

// What the API server really says, and that it says no, when a stored version is dropped.
func TestAnAPIServerRefusesToDropAStoredVersion(t *testing.T) {
	facts := factsOf(offered(served("v2")), pulled(served("v2"), served("v1")), since(stored("v1", "v2")))
	verdict := Decide(facts)
	errs := validation.ValidateCustomResourceDefinitionUpdate(t.Context(), internal(t, verdict.Desired), internal(t, facts.Installed))
	if len(errs) == 0 {
		t.Fatal("the update is accepted")
	}
	err := apierrors.NewInvalid(apiextensions.Kind("CustomResourceDefinition"), facts.API, errs)
	got := Refused(facts, verdict, err)
	if !got.Usable || got.InSync || !strings.Contains(got.Message, "status.storedVersions[0]") {
		t.Errorf("got %+v", got)
	}

	stored("v2")(facts.Installed)
	stored("v2")(verdict.Desired)
	errs = validation.ValidateCustomResourceDefinitionUpdate(t.Context(), internal(t, verdict.Desired), internal(t, facts.Installed))
	if len(errs) > 0 {
		t.Errorf("the remedy doesn't help: %v", errs.ToAggregate())
	}
}
