package schema

import (
	"fmt"
	"maps"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	corev1alpha1 "github.com/kbind-dev/konnector/apis/core/v1alpha1"
	"github.com/kbind-dev/konnector/pkg/export"
)

// question looks at one aspect; settled says that its verdict is the answer.
type question func(view) (verdict Verdict, settled bool)

// The order matters: whose a CRD is comes before what state it is in.
var questions = []question{
	isNeverExported, isNotOffered, isNotWanted, isMissing, isNotOurs, isOfOtherScope, isGoing,
}

// Decide returns the verdict on an API.
func Decide(facts Facts) Verdict {
	v := look(facts)
	verdict := v.answer()
	if verdict.Action == "" {
		verdict.Action = None
	}
	if verdict.Hash == "" {
		verdict.Hash = v.live
	}
	return verdict
}

func (v view) answer() Verdict {
	for _, ask := range questions {
		if verdict, settled := ask(v); settled {
			return verdict
		}
	}
	return v.serve(v.compare())
}

// isNeverExported asks about the name and about the CRD: a provider may say
// different things in them.
func isNeverExported(v view) (Verdict, bool) {
	var groups []string
	if _, group, named := strings.Cut(v.API, "."); named {
		groups = append(groups, group)
	}
	if v.Offered != nil {
		groups = append(groups, v.Offered.Spec.Group)
	}
	for _, group := range groups {
		if export.NeverExported(group) {
			return Verdict{
				Reason:  corev1alpha1.ReasonNotAllowed,
				Message: fmt.Sprintf("APIs of group %q are never bound.", group),
			}, true
		}
	}
	return Verdict{}, false
}

func isNotOffered(v view) (Verdict, bool) {
	verdict := Verdict{Reason: corev1alpha1.ReasonAPINotExported}
	switch {
	case v.Offered == nil:
		verdict.Message = "The provider doesn't export the API. Syncing waits, and nothing is deleted."
	case v.Offered.DeletionTimestamp != nil:
		verdict.Message = "The provider is deleting the API. Syncing waits."
	case len(servedVersions(v.Offered)) == 0:
		verdict.Message = "The provider serves no version of the API. Syncing waits."
	default:
		return verdict, false
	}
	return verdict, true
}

func isNotWanted(v view) (Verdict, bool) {
	return Verdict{
		InSync:  true,
		Reason:  corev1alpha1.ReasonSchemaInSync,
		Message: "Not pulled: no binding lists the API.",
	}, !v.wanted() && !v.used()
}

func isMissing(v view) (Verdict, bool) {
	switch {
	case v.Installed != nil:
		return Verdict{}, false
	case v.Pull == corev1alpha1.SchemaPullNone:
		return Verdict{
			Reason:  corev1alpha1.ReasonCRDNotFound,
			Message: "The CRD isn't installed, and by pullPolicy None the konnector doesn't install it.",
		}, true
	}
	desired, err := v.render()
	if err != nil {
		return cannotCopy(err), true
	}
	return Verdict{
		Action:  Create,
		Desired: desired,
		Version: commonVersion(desired, v.Offered),
		Hash:    recordedHash(desired),
		Reason:  corev1alpha1.ReasonCRDNotEstablished,
		Message: "The CRD is installed; the API server doesn't serve it yet.",
	}, true
}

func isNotOurs(v view) (Verdict, bool) {
	switch {
	case v.owned == anothers:
		owner, _ := OwnerOf(v.Installed)
		return Verdict{
			Reason:  corev1alpha1.ReasonClaimedByAnotherConnection,
			Message: fmt.Sprintf("The CRD belongs to Connection %q.", owner),
		}, true
	case v.owned == foreign && v.Pull != corev1alpha1.SchemaPullNone:
		return Verdict{
			Reason:  corev1alpha1.ReasonCRDNotOwned,
			Message: "A CRD of this name exists that no Connection installed; it is left alone. To use it as it is, set pullPolicy None.",
		}, true
	}
	return Verdict{}, false
}

func isOfOtherScope(v view) (Verdict, bool) {
	here, there := v.Installed.Spec.Scope, v.Offered.Spec.Scope
	return Verdict{
		Reason:  corev1alpha1.ReasonScopeChanged,
		Message: fmt.Sprintf("The provider's API has scope %s, the installed one %s. Syncing waits.", there, here),
	}, here != there
}

func isGoing(v view) (Verdict, bool) {
	return Verdict{
		Draining: v.used(),
		Version:  commonVersion(v.Installed, v.Offered),
		Reason:   corev1alpha1.ReasonCRDNotEstablished,
		Message:  "The CRD on the consumer is being deleted.",
	}, v.Installed.DeletionTimestamp != nil
}

// compare returns the verdict of the policies on an installed CRD that may be used.
func (v view) compare() Verdict {
	desired, err := v.render()
	switch {
	case v.Pull == corev1alpha1.SchemaPullNone:
		return v.asItIs(desired)
	case err != nil:
		return cannotCopy(err)
	case !v.wanted():
		return inSync("Left as it is: no binding lists the API.")
	case v.Update == corev1alpha1.SchemaUpdateOnce && v.owned == ours:
		return v.pinned(desired)
	}
	return v.following(desired)
}

// asItIs is the verdict on a CRD that somebody else installs.
func (v view) asItIs(desired *apiextensionsv1.CustomResourceDefinition) Verdict {
	if desired == nil || recordedHash(desired) != v.live {
		return inSync("Used as it is, by pullPolicy None. It differs from the provider's.")
	}
	return inSync("Used as it is, by pullPolicy None.")
}

// pinned is the verdict on a CRD that stays as it was pulled first.
func (v view) pinned(desired *apiextensionsv1.CustomResourceDefinition) Verdict {
	recorded := recordedHash(v.Installed)
	switch {
	case recordedHash(desired) == v.live:
		return inSync("The consumer serves what the provider offers.")
	case recorded != "" && recorded != v.live:
		return Verdict{
			Reason:  corev1alpha1.ReasonModified,
			Message: "Somebody has changed the CRD on the consumer. By updatePolicy Once it is left like that.",
		}
	}
	return Verdict{
		InSync:  true,
		Reason:  corev1alpha1.ReasonSchemaPinned,
		Message: "The provider has changed its API. By updatePolicy Once the consumer keeps what was pulled first.",
	}
}

// following is the verdict on a CRD that is as the provider's, or becomes it.
func (v view) following(desired *apiextensionsv1.CustomResourceDefinition) Verdict {
	verdict := inSync("The consumer serves what the provider offers.")
	verdict.Hash = recordedHash(desired)
	recorded := recordedHash(v.Installed)
	if v.owned == ours && v.live == verdict.Hash && recorded == verdict.Hash {
		return verdict
	}
	verdict.Action = Update
	verdict.Desired = replace(v.Installed, desired)
	verdict.Repairs = v.owned == ours && recorded != "" && recorded != v.live
	return verdict
}

// replace returns the installed CRD with the spec, the marks and the travelling
// annotations of the desired one. What others put on it stays.
func replace(installed, desired *apiextensionsv1.CustomResourceDefinition) *apiextensionsv1.CustomResourceDefinition {
	out := installed.DeepCopy()
	out.TypeMeta = desired.TypeMeta
	out.ManagedFields = nil // the API server keeps its own
	out.Spec = desired.Spec
	for _, key := range travellingAnnotations {
		delete(out.Annotations, key)
	}
	if out.Annotations == nil {
		out.Annotations = map[string]string{}
	}
	if out.Labels == nil {
		out.Labels = map[string]string{}
	}
	maps.Copy(out.Annotations, desired.Annotations)
	maps.Copy(out.Labels, desired.Labels)
	return out
}

func inSync(message string) Verdict {
	return Verdict{InSync: true, Reason: corev1alpha1.ReasonSchemaInSync, Message: message}
}

func cannotCopy(err error) Verdict {
	return Verdict{Reason: corev1alpha1.ReasonError, Message: fmt.Sprintf("The provider's CRD can't be used: %v.", err)}
}
