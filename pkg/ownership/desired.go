package ownership

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	corev1alpha1 "github.com/kbind-dev/konnector/apis/core/v1alpha1"
	"github.com/kbind-dev/konnector/pkg/instance"
)

// Desired is what the copy of a consumer object has to look like, as far as we own it.
type Desired struct {
	Labels      map[string]string
	Annotations map[string]string
	Payload     []byte

	// Hash covers labels, annotations and payload. It is among the annotations.
	Hash string
}

// Owner is who a copy is written for.
type Owner struct {
	Cluster types.UID
	Binding types.UID
	Adopted bool
}

// Render returns what the copy of a consumer object has to look like.
func Render(consumer *instance.Object, owner Owner, exclusions *Exclusions) Desired {
	desired := Desired{
		Labels:      exclusions.travelling(consumer.Labels),
		Annotations: exclusions.travelling(consumer.Annotations),
		Payload:     consumer.Payload,
	}
	desired.Labels[corev1alpha1.LabelManaged] = corev1alpha1.ValueTrue
	desired.Labels[corev1alpha1.LabelConsumer] = string(owner.Cluster)
	desired.Annotations[corev1alpha1.AnnotationConsumerClusterUID] = string(owner.Cluster)
	desired.Annotations[corev1alpha1.AnnotationConsumerObjectUID] = string(consumer.UID)
	desired.Annotations[corev1alpha1.AnnotationBindingUID] = string(owner.Binding)
	if owner.Adopted {
		desired.Annotations[corev1alpha1.AnnotationAdopted] = corev1alpha1.ValueTrue
	}
	desired.Hash = desired.hash()
	desired.Annotations[corev1alpha1.AnnotationAppliedHash] = desired.Hash
	return desired
}

// hash returns 128 bits over all that is applied, in hexadecimal.
func (d Desired) hash() string {
	digest := sha256.New()
	// Maps of strings always encode, with sorted keys; a digest takes every write.
	_ = json.NewEncoder(digest).Encode([]map[string]string{d.Labels, d.Annotations})
	_, _ = digest.Write(d.Payload)
	return hex.EncodeToString(digest.Sum(nil)[:16])
}

// Precondition makes a write on the provider fail when the object there is not the
// expected one. The zero value expects nothing.
type Precondition struct {
	UID             types.UID
	ResourceVersion string
}

// NoObject is the precondition that a name is free. No object can have this
// resourceVersion, so that an apply with it creates, or fails with a conflict: an
// object that appeared in between is never merged into.
var NoObject = Precondition{ResourceVersion: "1"}

// Body returns the document that is applied.
func (d Desired) Body(kind schema.GroupVersionKind, key types.NamespacedName, expect Precondition) ([]byte, error) {
	type metadata struct {
		Name            string            `json:"name"`
		Namespace       string            `json:"namespace,omitempty"`
		UID             types.UID         `json:"uid,omitempty"`
		ResourceVersion string            `json:"resourceVersion,omitempty"`
		Labels          map[string]string `json:"labels"`
		Annotations     map[string]string `json:"annotations"`
	}
	head, err := json.Marshal(struct {
		APIVersion string   `json:"apiVersion"`
		Kind       string   `json:"kind"`
		Metadata   metadata `json:"metadata"`
	}{kind.GroupVersion().String(), kind.Kind, metadata{
		Name: key.Name, Namespace: key.Namespace,
		UID: expect.UID, ResourceVersion: expect.ResourceVersion,
		Labels: d.Labels, Annotations: d.Annotations,
	}})
	if err != nil {
		return nil, fmt.Errorf("apply of %s: %w", key, err)
	}
	if len(d.Payload) <= len("{}") {
		return head, nil
	}
	// Both are JSON objects without common fields: the payload follows the head.
	head[len(head)-1] = ','
	return append(head, d.Payload[1:]...), nil
}
