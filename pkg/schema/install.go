package schema

import (
	"context"
	"encoding/json"
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensionsclient "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset/typed/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	corev1alpha1 "github.com/kbind-dev/konnector/apis/core/v1alpha1"
)

// Installer writes CRDs on the consumer.
type Installer struct {
	Client apiextensionsclient.CustomResourceDefinitionInterface
}

// Apply does what a verdict asks for, in one call, and returns the CRD as it is
// then, nil when nothing is to be done. Errors are those of the API server:
// AlreadyExists and Conflict mean that the facts are out of date. An update that
// changed nothing returns the resourceVersion that it was sent with.
func (i *Installer) Apply(ctx context.Context, verdict Verdict) (*apiextensionsv1.CustomResourceDefinition, error) {
	switch verdict.Action {
	case Create:
		return i.Client.Create(ctx, verdict.Desired, metav1.CreateOptions{FieldManager: corev1alpha1.FieldManager})
	case Update:
		return i.Client.Update(ctx, verdict.Desired, metav1.UpdateOptions{FieldManager: corev1alpha1.FieldManager})
	}
	return nil, nil
}

// Remove deletes a CRD as it was seen: one that has changed since then, or another
// one of its name, stays, and the error is a Conflict.
func Remove(ctx context.Context, client apiextensionsclient.CustomResourceDefinitionInterface, crd *apiextensionsv1.CustomResourceDefinition) error {
	return client.Delete(ctx, crd.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{
		UID:             ptr.To(crd.UID),
		ResourceVersion: ptr.To(crd.ResourceVersion),
	}})
}

// Release does on the consumer what [Unmark] does, for a CRD as it was seen, and
// returns it as it is then. A CRD that has changed since then is a Conflict.
func Release(ctx context.Context, client apiextensionsclient.CustomResourceDefinitionInterface, crd *apiextensionsv1.CustomResourceDefinition) (*apiextensionsv1.CustomResourceDefinition, error) {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid":             crd.UID,
		"resourceVersion": crd.ResourceVersion,
		"labels":          map[string]any{corev1alpha1.LabelManaged: nil},
		"annotations":     map[string]any{corev1alpha1.AnnotationConnection: nil},
	}})
	if err != nil {
		return nil, fmt.Errorf("releasing %s: %w", crd.Name, err)
	}
	return client.Patch(ctx, crd.Name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: corev1alpha1.FieldManager})
}
