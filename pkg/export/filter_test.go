package export

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"

	corev1alpha1 "github.com/kbind-dev/konnector/apis/core/v1alpha1"
)

func TestNeverExported(t *testing.T) {
	for group, want := range map[string]bool{
		"":                        true,
		"apps":                    true,
		"extensions":              true,
		"networking.k8s.io":       true,
		"apiextensions.k8s.io":    true,
		"apiregistration.k8s.io":  true,
		"custom.metrics.k8s.io":   true,
		"external.metrics.k8s.io": true,
		"kbind.io":                true,
		"core.kbind.io":           true,
		"deep.below.kbind.io":     true,
		"kcp.io":                  true,
		"tenancy.kcp.io":          true,

		"demo.example.org":          false,
		"gateway.networking.k8s.io": false,
		"snapshot.storage.k8s.io":   false,
		"x-k8s.io":                  false,
		"apps.example.org":          false,
		"notkbind.io":               false,
		"kbind.io.example.org":      false,
		"notkcp.io":                 false,
	} {
		if got := NeverExported(group); got != want {
			t.Errorf("NeverExported(%q) = %v, want %v", group, got, want)
		}
	}
}

// A group that a new release of Kubernetes brings has to be added to the list.
func TestNeverExportedKnowsEveryGroupOfKubernetes(t *testing.T) {
	for _, version := range scheme.Scheme.PrioritizedVersionsAllGroups() {
		if !NeverExported(version.Group) {
			t.Errorf("group %q is built into Kubernetes, but not in the list", version.Group)
		}
	}
}

func TestAPIOf(t *testing.T) {
	version := func(name string, served bool) apiextensionsv1.CustomResourceDefinitionVersion {
		return apiextensionsv1.CustomResourceDefinitionVersion{Name: name, Served: served}
	}
	for _, row := range []struct {
		name     string
		versions []apiextensionsv1.CustomResourceDefinitionVersion
		want     []string
	}{
		{"stable goes before beta, beta before alpha", []apiextensionsv1.CustomResourceDefinitionVersion{
			version("v1alpha1", true), version("v1", true), version("v2beta1", true),
		}, []string{"v1", "v2beta1", "v1alpha1"}},
		{"numbers count, not letters", []apiextensionsv1.CustomResourceDefinitionVersion{
			version("v2", true), version("v10", true),
		}, []string{"v10", "v2"}},
		{"a version that isn't served is left out", []apiextensionsv1.CustomResourceDefinitionVersion{
			version("v2", false), version("v1", true),
		}, []string{"v1"}},
		{"nothing served is no version", []apiextensionsv1.CustomResourceDefinitionVersion{version("v1", false)}, nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			crd := &apiextensionsv1.CustomResourceDefinition{
				ObjectMeta: metav1.ObjectMeta{Name: "widgets.demo.example.org"},
				Spec: apiextensionsv1.CustomResourceDefinitionSpec{
					Group:    "demo.example.org",
					Names:    apiextensionsv1.CustomResourceDefinitionNames{Plural: "widgets", Kind: "Widget"},
					Scope:    apiextensionsv1.NamespaceScoped,
					Versions: row.versions,
				},
			}
			want := corev1alpha1.ExportedAPI{
				Name: "widgets.demo.example.org", Group: "demo.example.org", Resource: "widgets",
				Kind: "Widget", Scope: "Namespaced", Versions: row.want,
			}
			if diff := cmp.Diff(want, APIOf(crd)); diff != "" {
				t.Error(diff)
			}
		})
	}
}
