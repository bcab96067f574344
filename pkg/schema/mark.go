package schema

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	corev1alpha1 "github.com/kbind-dev/konnector/apis/core/v1alpha1"
)

// Mark writes on a CRD that the Connection installed it, and the hash of what it is.
func Mark(crd *apiextensionsv1.CustomResourceDefinition, connection string) {
	metav1.SetMetaDataLabel(&crd.ObjectMeta, corev1alpha1.LabelManaged, corev1alpha1.ValueTrue)
	metav1.SetMetaDataAnnotation(&crd.ObjectMeta, corev1alpha1.AnnotationConnection, connection)
	metav1.SetMetaDataAnnotation(&crd.ObjectMeta, corev1alpha1.AnnotationSchemaHash, Hash(crd))
}

// Unmark takes the owner off a CRD that stays on the consumer. The hash remains: as
// long as nobody changes the CRD, it tells that a Connection may take it up again.
func Unmark(crd *apiextensionsv1.CustomResourceDefinition) {
	delete(crd.Labels, corev1alpha1.LabelManaged)
	delete(crd.Annotations, corev1alpha1.AnnotationConnection)
}

// OwnerOf returns the Connection that installed a CRD, and whether there is one.
// With one of the two marks missing there is none: who takes a mark off, takes the
// CRD out of our hands.
func OwnerOf(crd metav1.Object) (connection string, managed bool) {
	connection = crd.GetAnnotations()[corev1alpha1.AnnotationConnection]
	if connection == "" || crd.GetLabels()[corev1alpha1.LabelManaged] != corev1alpha1.ValueTrue {
		return "", false
	}
	return connection, true
}

// ownership is the relation between an installed CRD and a Connection.
type ownership int

const (
	// foreign is a CRD that no Connection installed.
	foreign ownership = iota
	// ours is a CRD that this Connection installed.
	ours
	// anothers is a CRD that another Connection installed, which still exists.
	anothers
	// free is a CRD whose Connection is gone or has let go of it.
	free
)

// classify returns whose an installed CRD is; live is the hash of what it is now.
func classify(installed *apiextensionsv1.CustomResourceDefinition, live, connection string, ownerAlive bool) ownership {
	owner, managed := OwnerOf(installed)
	switch {
	case managed && owner == connection:
		return ours
	case managed && ownerAlive:
		return anothers
	case managed, isReleased(installed, live):
		return free
	}
	return foreign
}

// isReleased reports whether a CRD is as Unmark left it. Someone who has changed it
// since then has made it their own.
func isReleased(installed *apiextensionsv1.CustomResourceDefinition, live string) bool {
	_, labelled := installed.Labels[corev1alpha1.LabelManaged]
	_, named := installed.Annotations[corev1alpha1.AnnotationConnection]
	return !labelled && !named && live != "" && recordedHash(installed) == live
}

func recordedHash(crd *apiextensionsv1.CustomResourceDefinition) string {
	return crd.Annotations[corev1alpha1.AnnotationSchemaHash]
}
