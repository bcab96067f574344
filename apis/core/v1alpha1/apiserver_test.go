package v1alpha1_test

import (
	"os"
	"path/filepath"
	"testing"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"sigs.k8s.io/yaml"
)

// apiServer does with the objects of one CRD what an API server does: prune, set
// defaults, and validate by schema, list types and CEL rules, in this order and by
// the same functions.
type apiServer struct {
	structural *structuralschema.Structural
	schema     validation.SchemaValidator
	rules      *cel.Validator
}

type object = map[string]any

func newAPIServer(t *testing.T, crd *apiextensions.CustomResourceDefinition) *apiServer {
	t.Helper()
	schema, err := apiextensions.GetSchemaForVersion(crd, "v1alpha1")
	if err != nil {
		t.Fatal(err)
	}
	structural, err := structuralschema.NewStructural(schema.OpenAPIV3Schema)
	if err != nil {
		t.Fatal(err)
	}
	validator, _, err := validation.NewSchemaValidator(schema.OpenAPIV3Schema)
	if err != nil {
		t.Fatal(err)
	}
	return &apiServer{
		structural: structural,
		schema:     validator,
		rules:      cel.NewValidator(structural, true, celconfig.PerCallLimit),
	}
}

// create returns the object as it is read back, or why it is refused.
func (s *apiServer) create(t *testing.T, sent object) (object, field.ErrorList) {
	t.Helper()
	stored := s.decode(sent)
	delete(stored, "status") // as for every CRD with a status subresource
	errs := validation.ValidateCustomResource(nil, stored, s.schema)
	errs = append(errs, listtype.ValidateListSetsAndMaps(nil, s.structural, stored)...)
	if len(errs) == 0 {
		errs, _ = s.rules.Validate(t.Context(), nil, s.structural, stored, nil, celconfig.RuntimeCELCostBudget)
	}
	return s.decode(stored), errs
}

// update returns why a merge patch of spec is refused; only status changes when
// the patch goes to the status subresource.
func (s *apiServer) update(t *testing.T, old object, patch string, toStatus bool) (object, field.ErrorList) {
	t.Helper()
	sent := s.decode(merge(t, old, patch))
	stored := runtime.DeepCopyJSON(old)
	for key, value := range sent {
		if (key == "status") == toStatus {
			stored[key] = value
		}
	}
	errs := validation.ValidateCustomResourceUpdate(nil, stored, old, s.schema)
	errs = append(errs, listtype.ValidateListSetsAndMaps(nil, s.structural, stored)...)
	if len(errs) == 0 {
		errs, _ = s.rules.Validate(t.Context(), nil, s.structural, stored, old, celconfig.RuntimeCELCostBudget)
	}
	return stored, errs
}

// decode prunes and defaults a copy.
func (s *apiServer) decode(sent object) object {
	decoded := runtime.DeepCopyJSON(sent)
	pruning.Prune(decoded, s.structural, true)
	defaulting.PruneNonNullableNullsWithoutDefaults(decoded, s.structural)
	defaulting.Default(decoded, s.structural)
	return decoded
}

func merge(t *testing.T, old object, patch string) object {
	t.Helper()
	before, err := json.Marshal(old)
	if err != nil {
		t.Fatal(err)
	}
	change, err := yaml.YAMLToJSON([]byte(patch))
	if err != nil {
		t.Fatal(err)
	}
	after, err := jsonpatch.MergePatch(before, change)
	if err != nil {
		t.Fatal(err)
	}
	return parse(t, string(after))
}

// parse reads YAML as an API server does, with whole numbers as int64.
func parse(t *testing.T, text string) object {
	t.Helper()
	content, err := yaml.YAMLToJSONStrict([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	var parsed object
	if err := json.Unmarshal(content, &parsed); err != nil {
		t.Fatal(err)
	}
	return parsed
}

// loadCRD returns manifests/crd/core.kbind.io_<plural>.yaml as an API server has it
// right after it was created.
func loadCRD(t *testing.T, plural string) *apiextensions.CustomResourceDefinition {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("..", "..", "..", "manifests", "crd", "core.kbind.io_"+plural+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var file apiextensionsv1.CustomResourceDefinition
	if err := yaml.UnmarshalStrict(content, &file); err != nil {
		t.Fatal(err)
	}
	apiextensionsv1.SetDefaults_CustomResourceDefinition(&file)
	apiextensionsv1.SetDefaults_CustomResourceDefinitionSpec(&file.Spec)
	var crd apiextensions.CustomResourceDefinition
	if err := apiextensionsv1.Convert_v1_CustomResourceDefinition_To_apiextensions_CustomResourceDefinition(&file, &crd, nil); err != nil {
		t.Fatal(err)
	}
	crd.Status.StoredVersions = []string{"v1alpha1"}
	return &crd
}
