package schema

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	"sigs.k8s.io/yaml"
)

var update = flag.Bool("update", false, "write the golden files")

func TestCopyOfRealCRDs(t *testing.T) {
	for _, name := range providers {
		t.Run(name, func(t *testing.T) {
			copied, err := Copy(load(t, name))
			if err != nil {
				t.Fatal(err)
			}
			got, err := yaml.Marshal(copied)
			if err != nil {
				t.Fatal(err)
			}
			path := filepath.Join("testdata", "copied", name+".yaml")
			if *update {
				if err := os.WriteFile(path, got, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), string(got)); diff != "" {
				t.Errorf("run the test with -update if this is as it should be:\n%s", diff)
			}
		})
	}
}

func TestCopyIsAcceptedByAnAPIServer(t *testing.T) {
	for _, name := range providers {
		t.Run(name, func(t *testing.T) {
			copied, err := Copy(load(t, name))
			if err != nil {
				t.Fatal(err)
			}
			Mark(copied, "acme")
			if errs := validation.ValidateCustomResourceDefinition(t.Context(), internal(t, copied)); len(errs) > 0 {
				t.Error(errs.ToAggregate())
			}
		})
	}
}

func TestCopyCarriesNothingOfTheProvidersAdministration(t *testing.T) {
	for _, name := range providers {
		t.Run(name, func(t *testing.T) {
			copied, err := Copy(load(t, name))
			if err != nil {
				t.Fatal(err)
			}
			text, err := yaml.Marshal(copied)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(apiextensionsv1.CustomResourceDefinitionStatus{}, copied.Status); diff != "" {
				t.Error(diff)
			}
			for _, word := range []string{
				"core.kbind.io/exported", "webhook", "caBundle", "ownerReferences", "managedFields", "finalizers",
				"uid:", "resourceVersion", "generation:", "last-applied", "preserveUnknownFields",
			} {
				if strings.Contains(string(text), word) {
					t.Errorf("the copy has %q:\n%s", word, text)
				}
			}
		})
	}
}

func TestCopySharesNothingWithTheProviders(t *testing.T) {
	for _, name := range providers {
		t.Run(name, func(t *testing.T) {
			provider := load(t, name)
			copied, err := Copy(provider)
			if err != nil {
				t.Fatal(err)
			}
			scribble(copied)
			if diff := cmp.Diff(load(t, name), provider); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// scribble changes everything in a CRD that could belong to another one as well.
func scribble(crd *apiextensionsv1.CustomResourceDefinition) {
	for key := range crd.Annotations {
		crd.Annotations[key] = "changed"
	}
	for i := range crd.Spec.Names.ShortNames {
		crd.Spec.Names.ShortNames[i] = "changed"
	}
	for _, version := range crd.Spec.Versions {
		for i := range version.AdditionalPrinterColumns {
			version.AdditionalPrinterColumns[i].Name = "changed"
		}
		for i := range version.SelectableFields {
			version.SelectableFields[i].JSONPath = "changed"
		}
		if version.Subresources != nil {
			version.Subresources.Status, version.Subresources.Scale = nil, nil
		}
		scribbleSchema(version.Schema.OpenAPIV3Schema)
	}
}

func scribbleSchema(schema *apiextensionsv1.JSONSchemaProps) {
	schema.Type = "changed"
	if schema.Default != nil {
		schema.Default.Raw[0] = '!'
	}
	for i := range schema.XValidations {
		schema.XValidations[i].Rule = "changed"
	}
	for name, property := range schema.Properties {
		scribbleSchema(&property)
		schema.Properties[name] = property
	}
	if schema.Items != nil {
		scribbleSchema(schema.Items.Schema)
	}
}

func TestCopyChoosesVersions(t *testing.T) {
	for _, row := range []struct {
		name     string
		provider *apiextensionsv1.CustomResourceDefinition
		kept     string
		want     []string // the storage version has a star
	}{
		{"without conversion all served versions are copied", crd(served("v1"), served("v2")), "", []string{"v1*", "v2"}},
		{"without conversion the provider's storage version stays that", crd(served("v1beta1"), served("v1")), "", []string{"v1beta1*", "v1"}},
		{"a version that isn't served is dropped", crd(served("v1"), unserved("v1alpha1")), "", []string{"v1*"}},
		{"the most preferred takes over from a storage version that isn't served", crd(unserved("v3"), served("v1beta1"), served("v2"), served("v1")), "", []string{"v1beta1", "v2*", "v1"}},
		{"without conversion the consumer's version is no reason to lag behind", crd(served("v2"), served("v1")), "v1", []string{"v2*", "v1"}},
		{"with a webhook only the storage version is copied", crd(byWebhook, served("v1beta1"), served("v1")), "", []string{"v1beta1*"}},
		{"with a webhook and an unserved storage version only the most preferred is copied", crd(byWebhook, unserved("v3"), served("v1"), served("v2beta1")), "", []string{"v1*"}},
		{"with a webhook the order of versions doesn't matter", crd(byWebhook, unserved("v3"), served("v2beta1"), served("v1")), "", []string{"v1*"}},
		{"with a webhook the consumer keeps its version while it is served", crd(byWebhook, served("v2"), served("v1")), "v1", []string{"v1*"}},
		{"with a webhook a kept version that isn't served any more is given up", crd(byWebhook, served("v2"), unserved("v1")), "v1", []string{"v2*"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			copied, err := copyKeeping(row.provider, row.kept)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, version := range copied.Spec.Versions {
				name := version.Name
				if version.Storage {
					name += "*"
				}
				if !version.Served {
					name += " (not served)"
				}
				got = append(got, name)
			}
			if diff := cmp.Diff(row.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestCopyRefuses(t *testing.T) {
	for _, row := range []struct {
		name     string
		provider *apiextensionsv1.CustomResourceDefinition
		want     string
	}{
		{"a CRD that serves no version", crd(unserved("v1")), "serves no version"},
		{"a CRD without versions", crd(), "serves no version"},
		{"a version without a schema", crd(served("v1"), withoutSchema), "version v1 has no schema"},
		{"a default that is no JSON", crd(served("v1"), defaulting("{")), "widgets.demo.example.org: "},
	} {
		t.Run(row.name, func(t *testing.T) {
			copied, err := Copy(row.provider)
			if err == nil || !strings.Contains(err.Error(), row.want) || copied != nil {
				t.Errorf("got %v, %v", copied, err)
			}
		})
	}
}

func TestCopyTakesNoNoticeOfAVersionThatIsNotCopied(t *testing.T) {
	provider := crd(served("v1"), unserved("v0"))
	provider.Spec.Versions[1].Schema = nil
	if _, err := Copy(provider); err != nil {
		t.Error(err)
	}
}
