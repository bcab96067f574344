package schema

import (
	"os"
	"path/filepath"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/install"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	corev1alpha1 "github.com/kbind-dev/konnector/apis/core/v1alpha1"
)

// crdOption changes a CRD that crd makes.
type crdOption func(*apiextensionsv1.CustomResourceDefinition)

// crd returns a CRD of widgets with the given changes.
func crd(options ...crdOption) *apiextensionsv1.CustomResourceDefinition {
	out := &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "widgets.demo.example.org"},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: "demo.example.org",
			Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "widgets", Kind: "Widget"},
		},
	}
	for _, option := range options {
		option(out)
	}
	return out
}

// served adds a version that is served; the first of a CRD is the storage version.
func served(name string) crdOption {
	return func(crd *apiextensionsv1.CustomResourceDefinition) {
		crd.Spec.Versions = append(crd.Spec.Versions, apiextensionsv1.CustomResourceDefinitionVersion{
			Name: name, Served: true, Storage: storageVersion(crd) == "",
			Schema: &apiextensionsv1.CustomResourceValidation{
				OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
					Type:       "object",
					Properties: map[string]apiextensionsv1.JSONSchemaProps{"spec": {Type: "object", Description: "As in " + name}},
				},
			},
		})
	}
}

// unserved adds a version that isn't served; the first of a CRD is the storage version.
func unserved(name string) crdOption {
	return func(crd *apiextensionsv1.CustomResourceDefinition) {
		served(name)(crd)
		crd.Spec.Versions[len(crd.Spec.Versions)-1].Served = false
	}
}

func byWebhook(crd *apiextensionsv1.CustomResourceDefinition) {
	crd.Spec.Conversion = &apiextensionsv1.CustomResourceConversion{
		Strategy: apiextensionsv1.WebhookConverter,
		Webhook:  &apiextensionsv1.WebhookConversion{ClientConfig: &apiextensionsv1.WebhookClientConfig{CABundle: []byte("ca")}},
	}
}

func withoutSchema(crd *apiextensionsv1.CustomResourceDefinition) {
	for i := range crd.Spec.Versions {
		crd.Spec.Versions[i].Schema = nil
	}
}

// field adds a field to the schema of all versions.
func field(name string) crdOption {
	return func(crd *apiextensionsv1.CustomResourceDefinition) {
		for _, version := range crd.Spec.Versions {
			version.Schema.OpenAPIV3Schema.Properties[name] = apiextensionsv1.JSONSchemaProps{Type: "string"}
		}
	}
}

// defaulting gives the spec of all versions a default, as raw JSON.
func defaulting(raw string) crdOption {
	return func(crd *apiextensionsv1.CustomResourceDefinition) {
		for _, version := range crd.Spec.Versions {
			spec := version.Schema.OpenAPIV3Schema.Properties["spec"]
			spec.Default = &apiextensionsv1.JSON{Raw: []byte(raw)}
			version.Schema.OpenAPIV3Schema.Properties["spec"] = spec
		}
	}
}

// load returns the provider's CRD in a file of testdata.
func load(t *testing.T, name string) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "provider", name+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	out := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.UnmarshalStrict(text, out); err != nil {
		t.Fatal(err)
	}
	return out
}

// providers are the files of testdata.
var providers = []string{"widgets", "databases", "routes", "gadgets", "notes"}

var serverScheme = func() *runtime.Scheme {
	scheme := runtime.NewScheme()
	install.Install(scheme)
	return scheme
}()

// internal returns a CRD as an API server sees it: with defaults, in its own type.
func internal(t *testing.T, crd *apiextensionsv1.CustomResourceDefinition) *apiextensions.CustomResourceDefinition {
	t.Helper()
	crd = crd.DeepCopy()
	serverScheme.Default(crd)
	out := &apiextensions.CustomResourceDefinition{}
	if err := serverScheme.Convert(crd, out, nil); err != nil {
		t.Fatal(err)
	}
	return out
}

// readBack returns a CRD as it comes back from an API server that it was written to.
func readBack(t *testing.T, crd *apiextensionsv1.CustomResourceDefinition) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	out := &apiextensionsv1.CustomResourceDefinition{}
	if err := serverScheme.Convert(internal(t, crd), out, nil); err != nil {
		t.Fatal(err)
	}
	text, err := yaml.Marshal(out)
	if err != nil {
		t.Fatal(err)
	}
	out = &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.UnmarshalStrict(text, out); err != nil {
		t.Fatal(err)
	}
	return out
}

func markedBy(connection string) crdOption {
	return func(crd *apiextensionsv1.CustomResourceDefinition) { Mark(crd, connection) }
}

// established makes a CRD one that the API server serves.
func established(crd *apiextensionsv1.CustomResourceDefinition) {
	crd.UID, crd.ResourceVersion = "uid", "7"
	crd.Status.StoredVersions = []string{storageVersion(crd)}
	apihelpers.SetCRDCondition(crd, apiextensionsv1.CustomResourceDefinitionCondition{
		Type: apiextensionsv1.Established, Status: apiextensionsv1.ConditionTrue,
	})
}

func notEstablished(crd *apiextensionsv1.CustomResourceDefinition) {
	apihelpers.SetCRDCondition(crd, apiextensionsv1.CustomResourceDefinitionCondition{
		Type: apiextensionsv1.Established, Status: apiextensionsv1.ConditionFalse, Message: "not all names are accepted",
	})
}

func namesRefused(crd *apiextensionsv1.CustomResourceDefinition) {
	apihelpers.SetCRDCondition(crd, apiextensionsv1.CustomResourceDefinitionCondition{
		Type: apiextensionsv1.NamesAccepted, Status: apiextensionsv1.ConditionFalse, Message: `"wd" is already in use`,
	})
}

// stored sets the versions in which objects may be stored.
func stored(versions ...string) crdOption {
	return func(crd *apiextensionsv1.CustomResourceDefinition) { crd.Status.StoredVersions = versions }
}

func deleting(crd *apiextensionsv1.CustomResourceDefinition) {
	crd.DeletionTimestamp = &metav1.Time{}
}

func clusterScoped(crd *apiextensionsv1.CustomResourceDefinition) {
	crd.Spec.Scope = apiextensionsv1.ClusterScoped
}

func inGroup(group string) crdOption {
	return func(crd *apiextensionsv1.CustomResourceDefinition) { crd.Spec.Group = group }
}

func annotated(key, value string) crdOption {
	return func(crd *apiextensionsv1.CustomResourceDefinition) {
		metav1.SetMetaDataAnnotation(&crd.ObjectMeta, key, value)
	}
}

func labelled(key, value string) crdOption {
	return func(crd *apiextensionsv1.CustomResourceDefinition) {
		metav1.SetMetaDataLabel(&crd.ObjectMeta, key, value)
	}
}

// factOption changes facts that factsOf makes.
type factOption func(*Facts)

// factsOf returns facts of Connection acme, about an API that is offered in v1, that
// a binding lists and that isn't installed.
func factsOf(options ...factOption) Facts {
	facts := Facts{
		API:        "widgets.demo.example.org",
		Connection: "acme",
		Offered:    crd(served("v1")),
		Pull:       corev1alpha1.SchemaPullBound,
		Update:     corev1alpha1.SchemaUpdateAlways,
		OwnerAlive: true,
		Bound:      true,
	}
	for _, option := range options {
		option(&facts)
	}
	return facts
}

func offered(options ...crdOption) factOption {
	return func(facts *Facts) { facts.Offered = crd(options...) }
}

func notOffered(facts *Facts) { facts.Offered = nil }

// installed is a CRD that the API server serves; options come in their order.
func installed(options ...crdOption) factOption {
	return func(facts *Facts) { facts.Installed = crd(append(options, established)...) }
}

// pulled is the CRD that Connection acme made of what the provider offered with some
// options, as it is read back.
func pulled(options ...crdOption) factOption {
	return func(facts *Facts) {
		copied, err := Copy(crd(options...))
		if err != nil {
			panic(err)
		}
		Mark(copied, "acme")
		established(copied)
		facts.Installed = copied
	}
}

// since changes the installed CRD.
func since(options ...crdOption) factOption {
	return func(facts *Facts) {
		for _, option := range options {
			option(facts.Installed)
		}
	}
}

func pullAll(facts *Facts)     { facts.Pull = corev1alpha1.SchemaPullAll }
func pullNone(facts *Facts)    { facts.Pull = corev1alpha1.SchemaPullNone }
func once(facts *Facts)        { facts.Update = corev1alpha1.SchemaUpdateOnce }
func unbound(facts *Facts)     { facts.Bound = false }
func ownerIsGone(facts *Facts) { facts.OwnerAlive = false }
func api(name string) factOption {
	return func(facts *Facts) { facts.API = name }
}
