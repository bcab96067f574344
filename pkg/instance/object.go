package instance

import (
	"slices"
	"unique"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	corev1alpha1 "github.com/kbind-dev/konnector/apis/core/v1alpha1"
)

// Object is one custom resource as the caches hold it. It is shared by all who
// read a cache, and never changed.
type Object struct {
	Namespace       string
	Name            string
	UID             types.UID
	ResourceVersion string
	Generation      int64

	// Deleting says that the object has a deletion timestamp.
	Deleting    bool
	Finalizers  []string
	Labels      map[string]string
	Annotations map[string]string

	// Payload is the canonical JSON object of every top-level field but apiVersion,
	// kind, metadata and status. Only objects of the consumer have it.
	Payload []byte

	// Status is the canonical JSON of the status, nil when there is none.
	Status []byte

	// Fields are the fields that our field manager owns by apply, in the form of
	// metadata.managedFields. Only objects of the provider have it. Objects of one
	// shape own the same fields, so the text is kept once for all of them.
	Fields unique.Handle[string]
}

// Key returns the namespace and name.
func (o *Object) Key() types.NamespacedName {
	return types.NamespacedName{Namespace: o.Namespace, Name: o.Name}
}

// HasFinalizer reports whether our finalizer is on the object.
func (o *Object) HasFinalizer() bool {
	return slices.Contains(o.Finalizers, corev1alpha1.FinalizerSyncer)
}

// OwnedFields returns the JSON of the fields that we own, "" when we own none.
func (o *Object) OwnedFields() string {
	if o.Fields == (unique.Handle[string]{}) {
		return ""
	}
	return o.Fields.Value()
}

// GetObjectMeta returns the metadata that caches and their handlers ask for.
// It makes Object a [metav1.ObjectMetaAccessor].
func (o *Object) GetObjectMeta() metav1.Object {
	return &metav1.ObjectMeta{
		Namespace:       o.Namespace,
		Name:            o.Name,
		UID:             o.UID,
		ResourceVersion: o.ResourceVersion,
		Generation:      o.Generation,
		Labels:          o.Labels,
		Annotations:     o.Annotations,
		Finalizers:      o.Finalizers,
	}
}
