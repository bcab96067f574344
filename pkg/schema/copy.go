package schema

import (
	"fmt"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/utils/ptr"
)

// travellingAnnotations are those that a consumer's API server has to see as well.
// No label travels: the exported label would make the consumer offer the API again.
var travellingAnnotations = []string{apiextensionsv1.KubeAPIApprovedAnnotation}

// Copy returns a CRD like the provider's that a consumer can serve alone, without
// marks of ours: all served versions, or only the one in use where the provider
// converts by webhook. It shares nothing with the provider's. It returns an error
// where the provider serves no version, or one of them has no schema.
func Copy(provider *apiextensionsv1.CustomResourceDefinition) (*apiextensionsv1.CustomResourceDefinition, error) {
	return copyKeeping(provider, "")
}

// copyKeeping is Copy for a consumer that has the version kept in use. Where
// versions need conversion by webhook, that one remains in use while the provider
// serves it: the consumer can't convert what it has stored in another schema.
func copyKeeping(provider *apiextensionsv1.CustomResourceDefinition, kept string) (*apiextensionsv1.CustomResourceDefinition, error) {
	inUse := versionInUse(provider, kept)
	if inUse == "" {
		return nil, fmt.Errorf("the provider serves no version of %s", provider.Name)
	}
	spec, err := copySpec(provider)
	if err != nil {
		return nil, err
	}
	out := &apiextensionsv1.CustomResourceDefinition{
		TypeMeta: metav1.TypeMeta{
			APIVersion: apiextensionsv1.SchemeGroupVersion.String(),
			Kind:       "CustomResourceDefinition",
		},
		ObjectMeta: metav1.ObjectMeta{
			Name:        provider.Name,
			Annotations: travelling(provider.Annotations),
		},
		Spec: spec,
	}
	out.Spec.Conversion = &apiextensionsv1.CustomResourceConversion{Strategy: apiextensionsv1.NoneConverter}
	out.Spec.PreserveUnknownFields = false
	out.Spec.Versions = slices.DeleteFunc(spec.Versions, func(version apiextensionsv1.CustomResourceDefinitionVersion) bool {
		return !version.Served || convertsByWebhook(provider) && version.Name != inUse
	})
	for i := range out.Spec.Versions {
		version := &out.Spec.Versions[i]
		version.Storage = version.Name == inUse
		if err := completeSchema(version, provider.Spec.PreserveUnknownFields); err != nil {
			return nil, fmt.Errorf("%s: %w", provider.Name, err)
		}
	}
	return out, nil
}

// versionInUse returns the version that the consumer stores, "" when none is served.
func versionInUse(provider *apiextensionsv1.CustomResourceDefinition, kept string) string {
	served := servedVersions(provider)
	storage := storageVersion(provider)
	switch {
	case convertsByWebhook(provider) && slices.Contains(served, kept):
		return kept
	case slices.Contains(served, storage):
		return storage
	case len(served) > 0:
		return served[0]
	}
	return ""
}

// copySpec goes through JSON: DeepCopy lets defaults and enums of both be the same.
func copySpec(provider *apiextensionsv1.CustomResourceDefinition) (apiextensionsv1.CustomResourceDefinitionSpec, error) {
	var spec apiextensionsv1.CustomResourceDefinitionSpec
	text, err := json.Marshal(provider.Spec)
	if err == nil {
		err = json.Unmarshal(text, &spec)
	}
	if err != nil {
		return spec, fmt.Errorf("%s: %w", provider.Name, err)
	}
	return spec, nil
}

// completeSchema returns an error where a version has no schema. Where the provider
// preserves unknown fields, the schema is made to say so: the field of the spec is
// left over from apiextensions v1beta1, which asked for no schema; v1 refuses to
// create a CRD that sets it.
func completeSchema(version *apiextensionsv1.CustomResourceDefinitionVersion, preserveUnknown bool) error {
	missing := version.Schema == nil || version.Schema.OpenAPIV3Schema == nil
	switch {
	case !preserveUnknown && missing:
		return fmt.Errorf("version %s has no schema", version.Name)
	case !preserveUnknown:
		return nil
	case missing:
		version.Schema = &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{}}
	}
	version.Schema.OpenAPIV3Schema.Type = "object"
	keepUnknown(version.Schema.OpenAPIV3Schema, true)
	return nil
}

// keepUnknown sets x-kubernetes-preserve-unknown-fields on a schema and on the
// objects below: at each of them pruning would begin again. Object metadata has a
// schema of its own, which takes no such mark.
func keepUnknown(schema *apiextensionsv1.JSONSchemaProps, isResource bool) {
	if schema.Type == "object" && schema.AdditionalProperties == nil {
		schema.XPreserveUnknownFields = ptr.To(true)
	}
	for name, property := range schema.Properties {
		if isResource && name == "metadata" {
			continue
		}
		keepUnknown(&property, property.XEmbeddedResource)
		schema.Properties[name] = property
	}
	if items := schema.Items; items != nil && items.Schema != nil {
		keepUnknown(items.Schema, items.Schema.XEmbeddedResource)
	}
	if values := schema.AdditionalProperties; values != nil && values.Schema != nil {
		keepUnknown(values.Schema, values.Schema.XEmbeddedResource)
	}
}

// travelling returns those annotations that travel, nil for none.
func travelling(annotations map[string]string) map[string]string {
	var out map[string]string
	for _, key := range travellingAnnotations {
		if value, has := annotations[key]; has {
			if out == nil {
				out = map[string]string{}
			}
			out[key] = value
		}
	}
	return out
}

func convertsByWebhook(crd *apiextensionsv1.CustomResourceDefinition) bool {
	return crd.Spec.Conversion != nil && crd.Spec.Conversion.Strategy == apiextensionsv1.WebhookConverter
}
