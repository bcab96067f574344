package ownership_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/types"

	corev1alpha1 "github.com/kbind-dev/konnector/apis/core/v1alpha1"
	"github.com/kbind-dev/konnector/pkg/instance"
	"github.com/kbind-dev/konnector/pkg/internal/gen"
	"github.com/kbind-dev/konnector/pkg/ownership"
)

const (
	cluster types.UID = "cluster"
	object  types.UID = "uid-a"
	binding types.UID = "binding"
	foreign types.UID = "foreign"
)

func TestClassify(t *testing.T) {
	marked := gen.Marked(cluster, object, binding)
	fields := gen.Fields(`{"f:spec":{}}`)
	for _, row := range []struct {
		name   string
		object *instance.Object
		want   ownership.Claim
	}{
		{"I5 the copy of this object is ours", gen.Copy("a", marked), ownership.Ours},
		{"I5 also when its binding is gone", gen.Copy("a", gen.Marked(cluster, object, "gone")), ownership.Ours},
		{"I5 also without the mark of a binding", gen.Copy("a", gen.Marked(cluster, object, "")), ownership.Ours},
		{"I5 what has no marks is unmarked", gen.Copy("a"), ownership.Unmarked},
		{"I5 also when our manager once wrote it", gen.Copy("a", fields), ownership.Unmarked},
		{"I5 the managed label alone is no mark", gen.Copy("a", gen.Label(corev1alpha1.LabelManaged, "true")), ownership.Unmarked},
		{"I5 our copy of a former object is stale", gen.Copy("a", gen.Marked(cluster, "former", binding)), ownership.Stale},
		{"I5 another cluster's is another's", gen.Copy("a", gen.Marked("other", object, binding)), ownership.Anothers},
		{"I5 a binding of another Connection that lives outweighs the object", gen.Copy("a", gen.Marked(cluster, object, foreign)), ownership.Anothers},
		{"I5 and a former object", gen.Copy("a", gen.Marked(cluster, "former", foreign)), ownership.Anothers},
		{"the label stands in for a lost annotation", gen.Copy("a", marked, gen.Unannotate(corev1alpha1.AnnotationConsumerClusterUID)), ownership.Ours},
		{"the annotation does without the label", gen.Copy("a", marked, gen.Unlabel(corev1alpha1.LabelConsumer)), ownership.Ours},
		{"the annotation outweighs a label that contradicts it", gen.Copy("a", marked, gen.Label(corev1alpha1.LabelConsumer, "other")), ownership.Ours},
		{"without the object's mark but with fields of ours it is ours", gen.Copy("a", marked, fields, gen.Unannotate(corev1alpha1.AnnotationConsumerObjectUID)), ownership.Ours},
		{"without both it is stale", gen.Copy("a", marked, gen.Unannotate(corev1alpha1.AnnotationConsumerObjectUID)), ownership.Stale},
		{"the mark of this object stands in for both", gen.Copy("a", gen.Annotation(corev1alpha1.AnnotationConsumerObjectUID, string(object))), ownership.Ours},
		{"that of another object, of whatever cluster, does not", gen.Copy("a", gen.Annotation(corev1alpha1.AnnotationConsumerObjectUID, "other")), ownership.Anothers},
	} {
		t.Run(row.name, func(t *testing.T) {
			wish := ownership.Wish{Cluster: cluster, Object: object, ForeignBinding: func(uid types.UID) bool { return uid == foreign }}
			if got := ownership.Classify(ownership.ReadMarks(row.object), wish); got != row.want {
				t.Errorf("got %s, want %s", got, row.want)
			}
		})
	}
}

func TestClassifyWithoutOtherBindings(t *testing.T) {
	marks := ownership.ReadMarks(gen.Copy("a", gen.Marked(cluster, object, foreign)))
	if got := ownership.Classify(marks, ownership.Wish{Cluster: cluster, Object: object}); got != ownership.Ours {
		t.Errorf("got %s, want Ours", got)
	}
}

func TestReadMarks(t *testing.T) {
	copied := gen.Copy("a", gen.Marked(cluster, object, binding), gen.Adopted(), gen.Fields("{}"),
		gen.Annotation(corev1alpha1.AnnotationAppliedHash, "hash"))
	want := ownership.Marks{
		Cluster: cluster, Object: object, Binding: binding, AppliedHash: "hash", Adopted: true, Labelled: true, Written: true,
	}
	if got := ownership.ReadMarks(copied); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got := (ownership.ReadMarks(gen.Copy("a"))); got != (ownership.Marks{}) {
		t.Errorf("marks of an object without any are %+v", got)
	}
	lost := ownership.ReadMarks(gen.With(copied, gen.Unlabel(corev1alpha1.LabelConsumer)))
	if lost.Labelled {
		t.Error("an object without the label counts as labelled")
	}
}

func TestMarkAnnotationsAreAllThatRenderWrites(t *testing.T) {
	exclusions, err := ownership.NewExclusions()
	if err != nil {
		t.Fatal(err)
	}
	desired := ownership.Render(gen.Widget("a"), ownership.Owner{Cluster: cluster, Binding: binding, Adopted: true}, exclusions)
	for _, each := range ownership.MarkAnnotations() {
		delete(desired.Annotations, each)
	}
	if len(desired.Annotations) != 0 {
		t.Errorf("marks that would not be taken off: %v", desired.Annotations)
	}
}

func TestIdentityMapsEveryKeyToItself(t *testing.T) {
	key := types.NamespacedName{Namespace: "n", Name: "a"}
	if (ownership.Identity{}).ToProvider(key) != key || (ownership.Identity{}).ToConsumer(key) != key {
		t.Error("another key")
	}
}
