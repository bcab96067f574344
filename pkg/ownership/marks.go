package ownership

import (
	"k8s.io/apimachinery/pkg/types"

	corev1alpha1 "github.com/kbind-dev/konnector/apis/core/v1alpha1"
	"github.com/kbind-dev/konnector/pkg/instance"
)

// Marks are what a konnector has written on an object of the provider about whose it is.
type Marks struct {
	// Cluster is the UID of the consumer cluster, "" on an object without marks.
	Cluster types.UID
	// Object is the UID of the consumer object that the copy was made for.
	Object types.UID
	// Binding is the UID of the binding under which it was written.
	Binding types.UID
	// AppliedHash is the [Desired.Hash] of the last apply.
	AppliedHash string
	// Adopted says that the object existed before it was taken over.
	Adopted bool
	// Labelled says that provider informers can see the object.
	Labelled bool
	// Written says that our field manager owns fields of the object.
	Written bool
}

// ReadMarks returns the marks of an object of the provider. The label stands in
// for an annotation about the cluster that somebody has removed.
func ReadMarks(object *instance.Object) Marks {
	marks := Marks{
		Cluster:     types.UID(object.Annotations[corev1alpha1.AnnotationConsumerClusterUID]),
		Object:      types.UID(object.Annotations[corev1alpha1.AnnotationConsumerObjectUID]),
		Binding:     types.UID(object.Annotations[corev1alpha1.AnnotationBindingUID]),
		AppliedHash: object.Annotations[corev1alpha1.AnnotationAppliedHash],
		Adopted:     object.Annotations[corev1alpha1.AnnotationAdopted] == corev1alpha1.ValueTrue,
		Written:     object.OwnedFields() != "",
	}
	label := types.UID(object.Labels[corev1alpha1.LabelConsumer])
	if marks.Cluster == "" {
		marks.Cluster = label
	}
	marks.Labelled = label != "" && label == marks.Cluster
	return marks
}

// MarkAnnotations returns the annotations that are marks on copies.
func MarkAnnotations() []string {
	return []string{
		corev1alpha1.AnnotationConsumerClusterUID,
		corev1alpha1.AnnotationConsumerObjectUID,
		corev1alpha1.AnnotationBindingUID,
		corev1alpha1.AnnotationAppliedHash,
		corev1alpha1.AnnotationAdopted,
	}
}

// Wish is what is asked about an object of the provider: whether it can be the
// copy of this consumer object.
type Wish struct {
	// Cluster is the UID of our cluster.
	Cluster types.UID
	// Object is the UID of the consumer object.
	Object types.UID
	// ForeignBinding reports whether a UID is that of a binding that lives and
	// belongs to another Connection. It may be nil.
	ForeignBinding func(types.UID) bool
}

// Claim is the relation between an object of the provider and a wish.
type Claim string

// Claims.
const (
	// Ours is the copy of this consumer object.
	Ours Claim = "Ours"
	// Unmarked is an object that no konnector manages.
	Unmarked Claim = "Unmarked"
	// Stale is our cluster's copy of an earlier object of this name.
	Stale Claim = "Stale"
	// Anothers is the copy of another cluster, or of another Connection's binding.
	Anothers Claim = "Anothers"
)

// question looks at one aspect; settled says that its claim is the answer.
type question func(marks Marks, wish Wish) (claim Claim, settled bool)

// The order matters: a mark of somebody else outweighs everything below it.
var questions = []question{isUnmarked, isAnotherClusters, isAnotherBindings, isStale}

// Classify returns the first claim that a question settles; an object that no
// question settles is ours.
func Classify(marks Marks, wish Wish) Claim {
	for _, ask := range questions {
		if claim, settled := ask(marks, wish); settled {
			return claim
		}
	}
	return Ours
}

func isUnmarked(marks Marks, _ Wish) (Claim, bool) {
	return Unmarked, marks.Cluster == "" && marks.Object == ""
}

// isAnotherClusters compares the cluster's UID. Where somebody has removed all marks of
// it, that of the object has to be this object's: no other cluster has an object with its UID.
func isAnotherClusters(marks Marks, wish Wish) (Claim, bool) {
	if marks.Cluster == "" {
		return Anothers, marks.Object != wish.Object
	}
	return Anothers, marks.Cluster != wish.Cluster
}

func isAnotherBindings(marks Marks, wish Wish) (Claim, bool) {
	return Anothers, marks.Binding != "" && wish.ForeignBinding != nil && wish.ForeignBinding(marks.Binding)
}

// isStale compares the object's UID. Where somebody has removed that mark but our
// field manager still owns fields, the copy is taken for this object's: only we
// write under that name for this cluster.
func isStale(marks Marks, wish Wish) (Claim, bool) {
	if marks.Object == "" {
		return Stale, !marks.Written
	}
	return Stale, marks.Object != wish.Object
}
