package instance

import (
	"encoding/json"
	"fmt"
	"unique"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	corev1alpha1 "github.com/kbind-dev/konnector/apis/core/v1alpha1"
)

// Side says which parts of an object are kept.
type Side int

// Sides.
const (
	// Consumer keeps the payload, which travels to the provider.
	Consumer Side = iota
	// Provider keeps the fields that we own there, instead of their values: an API
	// server takes a field away from its owner when somebody else changes it, so the
	// owned fields tell all that comparing values would, and need no schema.
	Provider
)

// lastApplied holds a second copy of an object, and never travels.
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// Transform returns the function that makes an informer hold [Object]s.
func (s Side) Transform() func(any) (any, error) {
	return func(object any) (any, error) {
		raw, isRaw := object.(*unstructured.Unstructured)
		if !isRaw {
			return object, nil // converted already, or the mark of a missed deletion
		}
		return s.Convert(raw)
	}
}

// Convert returns the parts of an object that are kept. The object given is not changed.
func (s Side) Convert(raw *unstructured.Unstructured) (*Object, error) {
	object := &Object{
		Namespace:       raw.GetNamespace(),
		Name:            raw.GetName(),
		UID:             raw.GetUID(),
		ResourceVersion: raw.GetResourceVersion(),
		Generation:      raw.GetGeneration(),
		Deleting:        raw.GetDeletionTimestamp() != nil,
		Finalizers:      raw.GetFinalizers(),
		Labels:          raw.GetLabels(),
		Annotations:     raw.GetAnnotations(),
	}
	delete(object.Annotations, lastApplied) // GetAnnotations returns a copy
	if status, has := raw.Object["status"]; has && status != nil {
		var err error
		if object.Status, err = json.Marshal(status); err != nil {
			return nil, fmt.Errorf("status of %s: %w", object.Key(), err)
		}
	}
	if s == Provider {
		object.Fields = ownedFields(raw.GetManagedFields())
		return object, nil
	}
	payload := make(map[string]any, len(raw.Object))
	for field, value := range raw.Object {
		switch field {
		case "apiVersion", "kind", "metadata", "status":
		default:
			payload[field] = value
		}
	}
	var err error
	if object.Payload, err = json.Marshal(payload); err != nil {
		return nil, fmt.Errorf("payload of %s: %w", object.Key(), err)
	}
	return object, nil
}

// ownedFields returns the entry of our field manager for applies.
func ownedFields(entries []metav1.ManagedFieldsEntry) unique.Handle[string] {
	for _, entry := range entries {
		ours := entry.Manager == corev1alpha1.FieldManager &&
			entry.Operation == metav1.ManagedFieldsOperationApply && entry.Subresource == ""
		if ours && entry.FieldsV1 != nil {
			return unique.Make(string(entry.FieldsV1.GetRawBytes()))
		}
	}
	return unique.Handle[string]{}
}
