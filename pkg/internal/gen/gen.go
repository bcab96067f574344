// Package gen builds instances for tests, by modifiers: a row of a table is one line.
package gen

import (
	"maps"
	"unique"

	"k8s.io/apimachinery/pkg/types"

	corev1alpha1 "github.com/kbind-dev/konnector/apis/core/v1alpha1"
	"github.com/kbind-dev/konnector/pkg/instance"
)

// Namespace is that of all instances.
const Namespace = "team-a"

// Option changes an object that is being built.
type Option func(*instance.Object)

// Widget returns an instance with a payload, as the consumer's cache holds it.
func Widget(name string, options ...Option) *instance.Object {
	object := &instance.Object{
		Namespace:       Namespace,
		Name:            name,
		UID:             types.UID("uid-" + name),
		ResourceVersion: "10",
		Generation:      1,
		Payload:         []byte(`{"spec":{"color":"red","size":1}}`),
	}
	return With(object, options...)
}

// Copy returns an instance without payload and marks, as the provider's cache holds it.
func Copy(name string, options ...Option) *instance.Object {
	object := &instance.Object{
		Namespace:       Namespace,
		Name:            name,
		UID:             types.UID("copy-" + name),
		ResourceVersion: "20",
		Generation:      1,
	}
	return With(object, options...)
}

// With returns a changed copy of an object.
func With(object *instance.Object, options ...Option) *instance.Object {
	changed := *object
	changed.Labels = maps.Clone(object.Labels)
	changed.Annotations = maps.Clone(object.Annotations)
	for _, change := range options {
		change(&changed)
	}
	return &changed
}

// UID sets the UID.
func UID(uid types.UID) Option { return func(o *instance.Object) { o.UID = uid } }

// Version sets the resourceVersion.
func Version(version string) Option { return func(o *instance.Object) { o.ResourceVersion = version } }

// Generation sets the generation.
func Generation(generation int64) Option {
	return func(o *instance.Object) { o.Generation = generation }
}

// Deleting sets a deletion timestamp.
func Deleting() Option { return func(o *instance.Object) { o.Deleting = true } }

// Finalizer adds our finalizer.
func Finalizer() Option {
	return func(o *instance.Object) { o.Finalizers = []string{corev1alpha1.FinalizerSyncer} }
}

// Payload sets what travels.
func Payload(json string) Option { return func(o *instance.Object) { o.Payload = []byte(json) } }

// Status sets the status.
func Status(json string) Option { return func(o *instance.Object) { o.Status = []byte(json) } }

// Fields sets the fields that we own.
func Fields(json string) Option {
	return func(o *instance.Object) { o.Fields = unique.Make(json) }
}

// Label sets a label.
func Label(key, value string) Option {
	return func(o *instance.Object) { o.Labels = set(o.Labels, key, value) }
}

// Annotation sets an annotation.
func Annotation(key, value string) Option {
	return func(o *instance.Object) { o.Annotations = set(o.Annotations, key, value) }
}

// Unlabel removes a label.
func Unlabel(key string) Option { return func(o *instance.Object) { delete(o.Labels, key) } }

// Unannotate removes an annotation.
func Unannotate(key string) Option { return func(o *instance.Object) { delete(o.Annotations, key) } }

// Marked sets the marks of a copy: of which cluster, object and binding it is.
func Marked(cluster, object, binding types.UID) Option {
	return func(o *instance.Object) {
		o.Labels = set(o.Labels, corev1alpha1.LabelManaged, corev1alpha1.ValueTrue)
		o.Labels = set(o.Labels, corev1alpha1.LabelConsumer, string(cluster))
		o.Annotations = set(o.Annotations, corev1alpha1.AnnotationConsumerClusterUID, string(cluster))
		o.Annotations = set(o.Annotations, corev1alpha1.AnnotationConsumerObjectUID, string(object))
		o.Annotations = set(o.Annotations, corev1alpha1.AnnotationBindingUID, string(binding))
	}
}

// Adopted marks a copy as one that existed before.
func Adopted() Option {
	return Annotation(corev1alpha1.AnnotationAdopted, corev1alpha1.ValueTrue)
}

// Orphan has the copy stay when the object goes.
func Orphan() Option {
	return Annotation(corev1alpha1.AnnotationDeletionPolicy, corev1alpha1.DeletionPolicyOrphan)
}

func set(all map[string]string, key, value string) map[string]string {
	if all == nil {
		all = map[string]string{}
	}
	all[key] = value
	return all
}
