package schema

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/utils/ptr"
)

func TestHashIsTheSameAsReadBack(t *testing.T) {
	for _, name := range providers {
		t.Run(name, func(t *testing.T) {
			copied, err := Copy(load(t, name))
			if err != nil {
				t.Fatal(err)
			}
			Mark(copied, "acme")
			want := Hash(copied)
			if got := Hash(readBack(t, copied)); got != want {
				t.Errorf("read back from an API server: %s, want %s", got, want)
			}
			text, err := json.Marshal(copied)
			if err != nil {
				t.Fatal(err)
			}
			var decoded apiextensionsv1.CustomResourceDefinition
			if err := json.Unmarshal(text, &decoded); err != nil {
				t.Fatal(err)
			}
			if got := Hash(&decoded); got != want {
				t.Errorf("through JSON: %s, want %s", got, want)
			}
			apiextensionsv1.SetObjectDefaults_CustomResourceDefinition(&decoded)
			if got := Hash(&decoded); got != want {
				t.Errorf("with defaults: %s, want %s", got, want)
			}
		})
	}
}

// Hashes are kept on consumers: another one for the same CRD makes all that are
// pinned look modified.
func TestHashStaysTheSameFromReleaseToRelease(t *testing.T) {
	for name, want := range map[string]string{
		"widgets": "2e27d188a7ff6f6487c00a4bf8fb07de",
		"notes":   "0e18f3aa2fa93ccbcf86275fc1400db7",
	} {
		copied, err := Copy(load(t, name))
		if err != nil {
			t.Fatal(err)
		}
		if got := Hash(copied); got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
}

func TestHashIsShortHexadecimal(t *testing.T) {
	if got := Hash(load(t, "widgets")); !regexp.MustCompile(`^[0-9a-f]{32}$`).MatchString(got) {
		t.Errorf("got %q", got)
	}
}

func TestHashDoesNotDependOn(t *testing.T) {
	for _, row := range []struct {
		name   string
		change crdOption
	}{
		{"the order of versions", func(crd *apiextensionsv1.CustomResourceDefinition) { slices.Reverse(crd.Spec.Versions) }},
		{"the order of short names", func(crd *apiextensionsv1.CustomResourceDefinition) { slices.Reverse(crd.Spec.Names.ShortNames) }},
		{"the order of categories", func(crd *apiextensionsv1.CustomResourceDefinition) { slices.Reverse(crd.Spec.Names.Categories) }},
		{"names that the API server fills in", func(crd *apiextensionsv1.CustomResourceDefinition) {
			crd.Spec.Names.Singular, crd.Spec.Names.ListKind = "", ""
		}},
		{"the conversion that the API server fills in", func(crd *apiextensionsv1.CustomResourceDefinition) { crd.Spec.Conversion = nil }},
		{"the formatting of defaults", onSpec(func(spec *apiextensionsv1.JSONSchemaProps) {
			limits := spec.Properties["limits"]
			limits.Default = &apiextensionsv1.JSON{Raw: []byte("{ \"burst\":{\"factor\":2,\n\"enabled\":true}, \"cpu\": 15e-1 }")}
			spec.Properties["limits"] = limits
		})},
		{"an empty list in the place of none", onSpec(func(spec *apiextensionsv1.JSONSchemaProps) { spec.AllOf = []apiextensionsv1.JSONSchemaProps{} })},
		{"a default of null in the place of none", onSpec(func(spec *apiextensionsv1.JSONSchemaProps) {
			spec.Default = &apiextensionsv1.JSON{Raw: []byte("null")}
		})},
		{"labels", func(crd *apiextensionsv1.CustomResourceDefinition) { crd.Labels = map[string]string{"a": "b"} }},
		{"annotations that don't travel, marks included", func(crd *apiextensionsv1.CustomResourceDefinition) { Mark(crd, "acme") }},
		{"the status", func(crd *apiextensionsv1.CustomResourceDefinition) { crd.Status.StoredVersions = []string{"v0"} }},
		{"what the API server counts", func(crd *apiextensionsv1.CustomResourceDefinition) { crd.ResourceVersion, crd.Generation = "99", 99 }},
	} {
		t.Run(row.name, func(t *testing.T) {
			before, after := load(t, "widgets"), load(t, "widgets")
			row.change(after)
			if Hash(before) != Hash(after) {
				t.Error("the hash has changed")
			}
		})
	}
}

func TestHashDependsOn(t *testing.T) {
	for _, row := range []struct {
		name   string
		change crdOption
	}{
		{"a description", onSpec(func(spec *apiextensionsv1.JSONSchemaProps) { spec.Description = "changed" })},
		{"a field", onSpec(func(spec *apiextensionsv1.JSONSchemaProps) { delete(spec.Properties, "color") })},
		{"a default", onSpec(func(spec *apiextensionsv1.JSONSchemaProps) {
			spec.Default = &apiextensionsv1.JSON{Raw: []byte(`{"size":2}`)}
		})},
		{"a null within a default", onSpec(func(spec *apiextensionsv1.JSONSchemaProps) {
			spec.Default = &apiextensionsv1.JSON{Raw: []byte(`{"color":null}`)}
		})},
		{"a rule", onSpec(func(spec *apiextensionsv1.JSONSchemaProps) { spec.XValidations[0].Rule = "true" })},
		{"a limit", onSpec(func(spec *apiextensionsv1.JSONSchemaProps) { spec.MaxProperties = ptr.To[int64](9) })},
		{"a short name", func(crd *apiextensionsv1.CustomResourceDefinition) { crd.Spec.Names.ShortNames[0] = "other" }},
		{"a printer column", func(crd *apiextensionsv1.CustomResourceDefinition) {
			crd.Spec.Versions[2].AdditionalPrinterColumns[0].Name = "Other"
		}},
		{"the order of printer columns, which users see", func(crd *apiextensionsv1.CustomResourceDefinition) {
			slices.Reverse(crd.Spec.Versions[2].AdditionalPrinterColumns)
		}},
		{"a subresource", func(crd *apiextensionsv1.CustomResourceDefinition) { crd.Spec.Versions[2].Subresources.Scale = nil }},
		{"whether a version is served", func(crd *apiextensionsv1.CustomResourceDefinition) { crd.Spec.Versions[1].Served = false }},
		{"which version is stored", func(crd *apiextensionsv1.CustomResourceDefinition) {
			crd.Spec.Versions[1].Storage, crd.Spec.Versions[2].Storage = true, false
		}},
		{"the scope", func(crd *apiextensionsv1.CustomResourceDefinition) { crd.Spec.Scope = apiextensionsv1.ClusterScoped }},
		{"the conversion", byWebhook},
		{"an annotation that travels", func(crd *apiextensionsv1.CustomResourceDefinition) {
			crd.Annotations[apiextensionsv1.KubeAPIApprovedAnnotation] = "unapproved"
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			before, after := load(t, "widgets"), load(t, "widgets")
			row.change(after)
			if Hash(before) == Hash(after) {
				t.Error("the hash has not changed")
			}
		})
	}
}

// onSpec changes the schema of the spec in version v1 of the widgets.
func onSpec(change func(spec *apiextensionsv1.JSONSchemaProps)) crdOption {
	return func(crd *apiextensionsv1.CustomResourceDefinition) {
		root := crd.Spec.Versions[2].Schema.OpenAPIV3Schema
		spec := root.Properties["spec"]
		change(&spec)
		root.Properties["spec"] = spec
	}
}

func TestHashLeavesItsArgumentAlone(t *testing.T) {
	crd := load(t, "widgets")
	Hash(crd)
	if diff := cmp.Diff(load(t, "widgets"), crd); diff != "" {
		t.Error(diff)
	}
}

func TestHashOfWhatIsNoJSONIsEmpty(t *testing.T) {
	if got := Hash(crd(served("v1"), defaulting("{"))); got != "" {
		t.Errorf("got %q", got)
	}
}

func TestMarksDoNotGrowWithTheSchema(t *testing.T) {
	large := crd(served("v1"), field("notes"))
	large.Spec.Versions[0].Schema.OpenAPIV3Schema.Description = strings.Repeat("word ", 900<<10/5)
	Mark(large, "acme")
	size := 0
	for key, value := range large.Annotations {
		size += len(key) + len(value)
	}
	if size > 256 {
		t.Errorf("annotations of %d bytes", size)
	}
}

func BenchmarkDecideOnALargeCRD(b *testing.B) {
	provider := crd(served("v1"))
	properties := provider.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties
	for i := range 4000 {
		properties[strings.Repeat("x", i%10+1)+string(rune('a'+i%26))+strings.Repeat("y", i/260)] = apiextensionsv1.JSONSchemaProps{
			Type: "string", Description: strings.Repeat("word ", 40),
		}
	}
	installed, err := Copy(provider)
	if err != nil {
		b.Fatal(err)
	}
	Mark(installed, "acme")
	for b.Loop() {
		Decide(Facts{Connection: "acme", Offered: provider, Installed: installed, Bound: true})
	}
}
