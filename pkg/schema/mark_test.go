package schema

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	corev1alpha1 "github.com/kbind-dev/konnector/apis/core/v1alpha1"
)

func TestMarkNamesTheConnectionAndTheHash(t *testing.T) {
	marked := crd(served("v1"))
	want := Hash(marked)
	Mark(marked, "acme")
	if diff := cmp.Diff(map[string]string{"core.kbind.io/managed": "true"}, marked.Labels); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string]string{
		"core.kbind.io/connection":  "acme",
		"core.kbind.io/schema-hash": want,
	}, marked.Annotations); diff != "" {
		t.Error(diff)
	}
}

func TestUnmarkTakesOnlyTheOwnerOff(t *testing.T) {
	marked := crd(served("v1"))
	marked.Labels = map[string]string{"team": "a"}
	Mark(marked, "acme")
	Unmark(marked)
	if diff := cmp.Diff(map[string]string{"team": "a"}, marked.Labels); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string]string{"core.kbind.io/schema-hash": Hash(marked)}, marked.Annotations); diff != "" {
		t.Error(diff)
	}
}

func TestUnmarkOfACRDWithoutMarksDoesNothing(t *testing.T) {
	plain := crd(served("v1"))
	Unmark(plain)
	if diff := cmp.Diff(crd(served("v1")), plain); diff != "" {
		t.Error(diff)
	}
}

func TestOwnershipOfAnInstalledCRD(t *testing.T) {
	withoutLabel := func(crd *apiextensionsv1.CustomResourceDefinition) { delete(crd.Labels, corev1alpha1.LabelManaged) }
	withoutName := func(crd *apiextensionsv1.CustomResourceDefinition) {
		delete(crd.Annotations, corev1alpha1.AnnotationConnection)
	}
	for _, row := range []struct {
		name       string
		installed  *apiextensionsv1.CustomResourceDefinition
		ownerAlive bool
		owner      string
		want       ownership
	}{
		{"without marks it is foreign", crd(served("v1")), false, "", foreign},
		{"with our marks it is ours", crd(served("v1"), markedBy("acme")), true, "acme", ours},
		{"with our marks it is ours, even while our Connection isn't seen yet", crd(served("v1"), markedBy("acme")), false, "acme", ours},
		{"with our marks and changed by somebody it is ours", crd(served("v1"), markedBy("acme"), field("more")), true, "acme", ours},
		{"with marks of a living Connection it is another's", crd(served("v1"), markedBy("zen")), true, "zen", anothers},
		{"with marks of a Connection that is gone it is free", crd(served("v1"), markedBy("zen")), false, "zen", free},
		{"as Unmark left it, it is free", crd(served("v1"), markedBy("zen"), Unmark), false, "", free},
		{"changed after Unmark it is foreign", crd(served("v1"), markedBy("zen"), Unmark, field("more")), false, "", foreign},
		{"with its label taken off it is foreign", crd(served("v1"), markedBy("acme"), withoutLabel), true, "", foreign},
		{"with its annotation taken off it is foreign", crd(served("v1"), markedBy("acme"), withoutName), true, "", foreign},
	} {
		t.Run(row.name, func(t *testing.T) {
			owner, managed := OwnerOf(row.installed)
			if owner != row.owner || managed != (row.owner != "") {
				t.Errorf("the owner is %q, %v, want %q", owner, managed, row.owner)
			}
			if got := classify(row.installed, Hash(row.installed), "acme", row.ownerAlive); got != row.want {
				t.Errorf("got %v, want %v", got, row.want)
			}
		})
	}
}

func TestACRDWithoutAHashIsNeverFree(t *testing.T) {
	broken := crd(served("v1"), defaulting("{"))
	broken.Annotations = map[string]string{corev1alpha1.AnnotationSchemaHash: ""}
	if got := classify(broken, Hash(broken), "acme", false); got != foreign {
		t.Errorf("got %v", got)
	}
}
