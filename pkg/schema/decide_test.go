package schema

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	corev1alpha1 "github.com/kbind-dev/konnector/apis/core/v1alpha1"
)

func TestDecide(t *testing.T) {
	var (
		inSync      = Verdict{Action: None, Usable: true, Version: "v1", InSync: true, Reason: "SchemaInSync"}
		follows     = Verdict{Action: Update, Usable: true, Version: "v1", InSync: true, Reason: "SchemaInSync"}
		repairs     = Verdict{Action: Update, Usable: true, Version: "v1", InSync: true, Reason: "SchemaInSync", Repairs: true}
		creates     = Verdict{Action: Create, Version: "v1", Reason: "CRDNotEstablished"}
		notNeeded   = Verdict{Action: None, InSync: true, Reason: "SchemaInSync"}
		isPinned    = Verdict{Action: None, Usable: true, Version: "v1", InSync: true, Reason: "SchemaPinned"}
		modified    = Verdict{Action: None, Usable: true, Version: "v1", Reason: "Modified"}
		going       = Verdict{Action: None, Draining: true, Version: "v1", Reason: "CRDNotEstablished"}
		starting    = Verdict{Action: None, Version: "v1", Reason: "CRDNotEstablished"}
		because     = func(reason string) Verdict { return Verdict{Action: None, Reason: reason} }
		in          = func(version string, v Verdict) Verdict { v.Version = version; return v }
		approved    = annotated(apiextensionsv1.KubeAPIApprovedAnnotation, "yes")
		withoutHash = annotated(corev1alpha1.AnnotationSchemaHash, "")
	)
	for _, row := range []struct {
		name  string
		facts Facts
		want  Verdict
		says  string
	}{
		{"C7: an API of kbind is never bound", factsOf(offered(inGroup("core.kbind.io"), served("v1"))), because("NotAllowed"), `"core.kbind.io"`},
		{"C7: a built-in API is never bound, even where the CRD is missing", factsOf(api("deployments.apps"), notOffered), because("NotAllowed"), `"apps"`},
		{"C7: an installed API of kbind is left alone", factsOf(offered(inGroup("core.kbind.io"), served("v1")), installed(inGroup("core.kbind.io"), served("v1"), markedBy("acme"))), because("NotAllowed"), ""},
		{"C7: a name that hides the group of the CRD doesn't help", factsOf(offered(inGroup("apps"), served("v1"))), because("NotAllowed"), `"apps"`},
		{"C7: a CRD that hides the group of the name doesn't help", factsOf(api("connections.core.kbind.io")), because("NotAllowed"), `"core.kbind.io"`},
		{"C7: without a name the CRD alone counts", factsOf(api(""), pulled(served("v1"))), inSync, ""},

		{"C12: an API that isn't exported waits", factsOf(notOffered), because("APINotExported"), "nothing is deleted"},
		{"C12: an API that is no longer exported waits", factsOf(notOffered, pulled(served("v1"))), because("APINotExported"), "nothing is deleted"},
		{"C12: an API that the provider deletes waits", factsOf(offered(served("v1"), deleting), pulled(served("v1"))), because("APINotExported"), "is deleting"},
		{"C12: an API that the provider serves in no version waits", factsOf(offered(), pulled(served("v1"))), because("APINotExported"), "no version"},

		{"Bound: an API that a binding lists is installed", factsOf(), creates, "doesn't serve it yet"},
		{"Bound: an API that no binding lists is not installed", factsOf(unbound), notNeeded, "no binding"},
		{"Bound: a CRD of somebody else is no fault while no binding lists the API", factsOf(unbound, installed(served("v1"))), notNeeded, "no binding"},
		{"Bound: a free CRD is not taken over while no binding lists the API", factsOf(unbound, ownerIsGone, installed(served("v1"), markedBy("zen"))), notNeeded, "no binding"},
		{"Bound: a CRD of ours that no binding lists any more is usable for draining, and not updated", factsOf(unbound, offered(served("v1"), field("new")), pulled(served("v1"))), inSync, "Left as it is"},
		{"All: an API is installed without a binding", factsOf(pullAll, unbound), creates, ""},
		{"All: a CRD follows without a binding", factsOf(pullAll, unbound, offered(served("v1"), field("new")), pulled(served("v1"))), follows, ""},
		{"Once: the first pull installs", factsOf(once), creates, ""},
		{"S1: a CRD that can't be copied is reported", factsOf(offered(served("v1"), withoutSchema)), because("Error"), "no schema"},
		{"S1: a CRD that can't be copied leaves the installed one in use", factsOf(offered(served("v1"), withoutSchema), pulled(served("v1"))), Verdict{Action: None, Usable: true, Version: "v1", Reason: "Error"}, "no schema"},

		{"S3: None with a missing CRD waits", factsOf(pullNone), because("CRDNotFound"), "pullPolicy None"},
		{"S3: None with a missing CRD and no binding is no fault", factsOf(pullNone, unbound), notNeeded, ""},
		{"S3: None uses a CRD as it is", factsOf(pullNone, installed(served("v1"))), inSync, "as it is"},
		{"S3: None uses a CRD that differs, and says so", factsOf(pullNone, installed(served("v1"), field("own"))), inSync, "differs"},
		{"S3: None compares with nothing what can't be copied", factsOf(pullNone, offered(served("v1"), withoutSchema), installed(served("v1"))), inSync, "differs"},
		{"S3: None doesn't update a CRD that was pulled before", factsOf(pullNone, offered(served("v1"), field("new")), pulled(served("v1"))), inSync, "differs"},
		{"S3: None uses a free CRD without taking it over", factsOf(pullNone, ownerIsGone, installed(served("v1"), markedBy("zen"))), inSync, ""},
		{"S3: None doesn't use a CRD of another Connection", factsOf(pullNone, installed(served("v1"), markedBy("zen"))), because("ClaimedByAnotherConnection"), `"zen"`},
		{"S3: None goes on draining when no binding lists the API any more", factsOf(pullNone, unbound, installed(served("v1"))), inSync, ""},

		{"S3: a CRD that no Connection installed is left alone", factsOf(installed(served("v1"))), because("CRDNotOwned"), "left alone"},
		{"S3: a CRD that no Connection installed is left alone under Once", factsOf(once, installed(served("v1"))), because("CRDNotOwned"), ""},
		{"S3: a CRD whose marks were taken off is left alone", factsOf(installed(served("v1"), markedBy("acme"), Unmark, field("own"))), because("CRDNotOwned"), ""},
		{"S3: a CRD of a living Connection is left alone", factsOf(installed(served("v1"), markedBy("zen"))), because("ClaimedByAnotherConnection"), `"zen"`},
		{"S3: a CRD of somebody else that is being deleted is still somebody else's", factsOf(installed(served("v1"), deleting)), because("CRDNotOwned"), ""},
		{"S3: a CRD of a Connection that is gone is taken over", factsOf(ownerIsGone, installed(served("v1"), markedBy("zen"))), follows, ""},
		{"S3: taking over is a first pull under Once as well", factsOf(once, ownerIsGone, installed(served("v1"), markedBy("zen"))), follows, ""},
		{"S3: a CRD that was let go is taken up again", factsOf(installed(served("v1"), markedBy("acme"), Unmark)), follows, ""},
		{"S3: a CRD that another Connection let go is taken over", factsOf(installed(served("v1"), field("theirs"), markedBy("zen"), Unmark)), follows, ""},

		{"S4: another scope stops syncing", factsOf(offered(clusterScoped, served("v1")), pulled(served("v1"))), because("ScopeChanged"), "scope Cluster, the installed one Namespaced"},
		{"S4: another scope stops syncing under None", factsOf(pullNone, offered(clusterScoped, served("v1")), installed(served("v1"))), because("ScopeChanged"), ""},
		{"S4: another scope hinders taking over", factsOf(ownerIsGone, offered(clusterScoped, served("v1")), installed(served("v1"), markedBy("zen"))), because("ScopeChanged"), ""},

		{"S4: Always leaves what is equal", factsOf(pulled(served("v1"))), inSync, "serves what the provider offers"},
		{"S4: Always follows the provider", factsOf(offered(served("v1"), field("new")), pulled(served("v1"))), follows, ""},
		{"S4: Always puts back what somebody changed", factsOf(pulled(served("v1")), since(field("own"))), repairs, ""},
		{"S4: Always puts back what somebody removed", factsOf(offered(served("v1"), field("color")), pulled(served("v1"), field("color")), since(func(crd *apiextensionsv1.CustomResourceDefinition) {
			delete(crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties, "color")
		})), repairs, ""},
		{"S4: Always writes a hash down that was taken off", factsOf(pulled(served("v1")), since(withoutHash)), follows, ""},
		{"S4: Always puts a travelling annotation back", factsOf(offered(served("v1"), approved), pulled(served("v1"), approved), since(annotated(apiextensionsv1.KubeAPIApprovedAnnotation, "no"))), repairs, ""},
		{"S4: Always takes a travelling annotation off that the provider hasn't", factsOf(pulled(served("v1")), since(approved)), repairs, ""},
		{"S4: Always doesn't mind annotations and labels of others", factsOf(pulled(served("v1")), since(annotated("a", "b"), labelled("c", "d"))), inSync, ""},

		{"S4: Once leaves what is equal", factsOf(once, pulled(served("v1"))), inSync, "serves what the provider offers"},
		{"S4: Once stays where the provider goes on", factsOf(once, offered(served("v1"), field("new")), pulled(served("v1"))), isPinned, "updatePolicy Once"},
		{"S4: Once leaves what somebody changed", factsOf(once, pulled(served("v1")), since(field("own"))), modified, "Somebody has changed"},
		{"S4: Once leaves what somebody changed while the provider goes on", factsOf(once, offered(served("v1"), field("new")), pulled(served("v1")), since(field("own"))), modified, ""},
		{"S4: Once is in sync where somebody changed it to what the provider has", factsOf(once, offered(served("v1"), field("new")), pulled(served("v1")), since(field("new"))), inSync, ""},
		{"S4: Once can't tell a change without a recorded hash", factsOf(once, offered(served("v1"), field("new")), pulled(served("v1")), since(withoutHash)), isPinned, ""},
		{"S4: Once with no version in common waits", factsOf(once, offered(served("v2")), pulled(served("v1"))), because("APINotExported"), "no version that the consumer serves (v1)"},

		{"a CRD that isn't established isn't usable", factsOf(pulled(served("v1")), since(notEstablished)), starting, "not all names are accepted"},
		{"a CRD that isn't established says why", factsOf(pulled(served("v1")), since(notEstablished, namesRefused)), starting, `"wd" is already in use`},
		{"a CRD without conditions isn't usable yet", factsOf(pulled(served("v1")), since(func(crd *apiextensionsv1.CustomResourceDefinition) { crd.Status.Conditions = nil })), starting, "yet"},
		{"a CRD that isn't established follows all the same", factsOf(offered(served("v1"), field("new")), pulled(served("v1")), since(notEstablished)), Verdict{Action: Update, Version: "v1", Reason: "CRDNotEstablished"}, ""},
		{"names that aren't accepted are told and stop nothing", factsOf(pulled(served("v1")), since(namesRefused)), inSync, `Names are not accepted: "wd" is already in use.`},
		{"names that aren't accepted are told with None", factsOf(pullNone, installed(served("v1"), namesRefused)), inSync, `"wd" is already in use`},
		{"a CRD that is being deleted drains", factsOf(pulled(served("v1")), since(deleting)), going, "being deleted"},
		{"a CRD that is being deleted is not updated", factsOf(offered(served("v1"), field("new")), pulled(served("v1")), since(deleting)), going, ""},
		{"a CRD that is being deleted drains with None", factsOf(pullNone, installed(served("v1"), deleting)), going, ""},
		{"a free CRD that is being deleted is not taken over", factsOf(ownerIsGone, installed(served("v1"), markedBy("zen"), deleting)), starting, ""},

		{"versions: the consumer's storage version, where the provider serves it", factsOf(pullNone, offered(served("v2"), served("v1")), installed(served("v1"), served("v2"))), inSync, ""},
		{"versions: else the most preferred in common", factsOf(pullNone, offered(served("v1beta1"), served("v2")), installed(served("v3"), served("v1beta1"), served("v2"))), in("v2", inSync), ""},
		{"versions: the provider's new storage version, once both serve it", factsOf(offered(served("v2"), served("v1")), pulled(served("v2"), served("v1"))), in("v2", inSync), ""},
		{"versions: during an update one that is served before and after", factsOf(offered(served("v2"), served("v1")), pulled(served("v1"))), follows, ""},
		{"versions: an update that drops a stored version is tried, in a version that stays", factsOf(offered(served("v2")), pulled(served("v2"), served("v1")), since(stored("v1", "v2"))), in("v2", follows), ""},
		{"versions: an update to entirely other versions counts on these", factsOf(offered(served("v2")), pulled(served("v1"))), in("v2", follows), ""},
		{"versions: with a webhook the installed one stays in use", factsOf(offered(byWebhook, served("v2"), served("v1")), pulled(byWebhook, served("v1"), served("v2"))), inSync, ""},
		{"versions: with a webhook their order at the provider changes nothing", factsOf(offered(byWebhook, unserved("v3"), served("v2"), served("v1")), pulled(byWebhook, unserved("v3"), served("v1"), served("v2"))), in("v2", inSync), ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			got := Decide(row.facts)
			if diff := cmp.Diff(row.want, got, cmpopts.IgnoreFields(Verdict{}, "Desired", "Hash", "Message")); diff != "" {
				t.Errorf("%s\nmessage: %s", diff, got.Message)
			}
			if !strings.Contains(got.Message, row.says) || !strings.HasSuffix(got.Message, ".") {
				t.Errorf("the message %q should be a sentence with %q", got.Message, row.says)
			}
			if (got.Desired != nil) != (got.Action != None) {
				t.Errorf("%s with %v to write", got.Action, got.Desired)
			}
			if got.Desired != nil && Decide(after(row.facts, got)).Action != None {
				t.Error("what was written would be written again")
			}
		})
	}
}

// after returns the facts that follow once the API server did what a verdict asks for.
func after(facts Facts, verdict Verdict) Facts {
	facts.Installed = verdict.Desired.DeepCopy()
	established(facts.Installed)
	return facts
}
