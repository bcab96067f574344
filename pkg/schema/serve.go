package schema

import (
	"fmt"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	corev1alpha1 "github.com/kbind-dev/konnector/apis/core/v1alpha1"
)

// serve returns a verdict on an installed CRD together with what the API server
// makes of it: whether instances can be synced, and in which version.
func (v view) serve(verdict Verdict) Verdict {
	verdict.Version = v.version(verdict.Desired)
	verdict.Usable = isEstablished(v.Installed) && verdict.Version != ""
	switch {
	case !isEstablished(v.Installed):
		verdict.InSync = false
		verdict.Reason = corev1alpha1.ReasonCRDNotEstablished
		verdict.Message = whyNotEstablished(v.Installed)
	case verdict.Version == "":
		verdict.InSync = false
		verdict.Reason = corev1alpha1.ReasonAPINotExported
		verdict.Message += fmt.Sprintf(" The provider serves no version that the consumer serves (%s). Syncing waits.",
			strings.Join(servedVersions(v.Installed), ", "))
	}
	if names := whyNamesRefused(v.Installed); names != "" {
		verdict.Message += " Names are not accepted: " + names + "."
	}
	return verdict
}

// version returns the version in which instances are synced. During an update it is
// one that is served before and after, so that it holds if the update is refused.
func (v view) version(desired *apiextensionsv1.CustomResourceDefinition) string {
	if desired == nil {
		return commonVersion(v.Installed, v.Offered)
	}
	if lasting := commonVersion(desired, v.Installed, v.Offered); lasting != "" {
		return lasting
	}
	return commonVersion(desired, v.Offered)
}

func isEstablished(crd *apiextensionsv1.CustomResourceDefinition) bool {
	return apihelpers.IsCRDConditionTrue(crd, apiextensionsv1.Established)
}

func whyNotEstablished(crd *apiextensionsv1.CustomResourceDefinition) string {
	condition := apihelpers.FindCRDCondition(crd, apiextensionsv1.Established)
	if condition == nil || condition.Message == "" {
		return "The API server doesn't serve the CRD yet."
	}
	return fmt.Sprintf("The API server doesn't serve the CRD: %s.", condition.Message)
}

// whyNamesRefused returns the API server's words where a short name, or another
// name, belongs to another CRD. Instances can be synced all the same.
func whyNamesRefused(crd *apiextensionsv1.CustomResourceDefinition) string {
	condition := apihelpers.FindCRDCondition(crd, apiextensionsv1.NamesAccepted)
	if condition == nil || condition.Status != apiextensionsv1.ConditionFalse {
		return ""
	}
	return condition.Message
}
