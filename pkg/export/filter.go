package export

import (
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/version"

	corev1alpha1 "github.com/kbind-dev/konnector/apis/core/v1alpha1"
)

// builtIn are the groups that Kubernetes itself serves, on its own or through its
// usual aggregated servers. The list is exact: other groups under k8s.io, such as
// gateway.networking.k8s.io, belong to CRDs that anybody may offer.
var builtIn = sets.New(
	"",
	"admission.k8s.io",
	"admissionregistration.k8s.io",
	"apidiscovery.k8s.io",
	"apiextensions.k8s.io",
	"apiregistration.k8s.io",
	"apps",
	"audit.k8s.io",
	"authentication.k8s.io",
	"authorization.k8s.io",
	"autoscaling",
	"batch",
	"certificates.k8s.io",
	"coordination.k8s.io",
	"custom.metrics.k8s.io",
	"discovery.k8s.io",
	"events.k8s.io",
	"extensions",
	"external.metrics.k8s.io",
	"flowcontrol.apiserver.k8s.io",
	"imagepolicy.k8s.io",
	"internal.apiserver.k8s.io",
	"lifecycle.k8s.io",
	"metrics.k8s.io",
	"networking.k8s.io",
	"node.k8s.io",
	"policy",
	"rbac.authorization.k8s.io",
	"resource.k8s.io",
	"scheduling.k8s.io",
	"storage.k8s.io",
	"storagemigration.k8s.io",
)

// reserved are the groups that make kbind and kcp work, with all below them.
var reserved = []string{"kbind.io", "kcp.io"}

// NeverExported reports whether the APIs of a group stay where they are, whatever a
// provider says: those built into Kubernetes, and those of kbind and kcp.
func NeverExported(group string) bool {
	return builtIn.Has(group) || slices.ContainsFunc(reserved, func(domain string) bool {
		return group == domain || strings.HasSuffix(group, "."+domain)
	})
}

// APIOf returns what a CRD offers, with the versions that it serves, the most
// preferred first.
func APIOf(crd *apiextensionsv1.CustomResourceDefinition) corev1alpha1.ExportedAPI {
	api := corev1alpha1.ExportedAPI{
		Name:     crd.Name,
		Group:    crd.Spec.Group,
		Resource: crd.Spec.Names.Plural,
		Kind:     crd.Spec.Names.Kind,
		Scope:    string(crd.Spec.Scope),
	}
	for _, served := range crd.Spec.Versions {
		if served.Served {
			api.Versions = append(api.Versions, served.Name)
		}
	}
	slices.SortFunc(api.Versions, func(a, b string) int {
		return version.CompareKubeAwareVersionStrings(b, a)
	})
	return api
}
