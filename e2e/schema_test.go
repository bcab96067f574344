package e2e

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	corev1alpha1 "github.com/kbind-dev/konnector/apis/core/v1alpha1"
)

func TestPulledCRDStandsAlone(t *testing.T) {
	w := newWorld(t)
	w.offer(w.provider, "engines")
	w.startKonnector()
	w.bind("acme", "engines")
	crds := w.consumer.crds.ApiextensionsV1().CustomResourceDefinitions()
	crd, err := crds.Get(t.Context(), w.api("engines"), metav1.GetOptions{})
	w.must(err)

	if diff := cmp.Diff(map[string]string{corev1alpha1.LabelManaged: "true"}, crd.Labels); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
	want := map[string]string{corev1alpha1.AnnotationConnection: w.name("acme"), corev1alpha1.AnnotationSchemaHash: crd.Annotations[corev1alpha1.AnnotationSchemaHash]}
	if diff := cmp.Diff(want, crd.Annotations); diff != "" {
		t.Errorf("annotations (-want +got):\n%s", diff)
	}
	if conversion := crd.Spec.Conversion; conversion != nil && (conversion.Strategy != apiextensionsv1.NoneConverter || conversion.Webhook != nil) {
		t.Errorf("conversion: %v", conversion)
	}
	if len(crd.Spec.Versions) != 1 || crd.Spec.Versions[0].Name != "v1" || !crd.Spec.Versions[0].Storage {
		t.Fatalf("versions: %v", crd.Spec.Versions)
	}
	version := crd.Spec.Versions[0]
	if version.Subresources.Scale == nil || len(version.AdditionalPrinterColumns) != 1 || len(version.Schema.OpenAPIV3Schema.Properties["spec"].XValidations) != 1 {
		t.Errorf("scale, printer columns or CEL rules are lost: %v", version)
	}
	connection, err := w.consumer.core.CoreV1alpha1().Connections().Get(t.Context(), w.name("acme"), metav1.GetOptions{})
	w.must(err)
	exported := []corev1alpha1.ExportedAPI{{Name: w.api("engines"), Group: w.group, Resource: "engines", Kind: "Engine", Scope: "Namespaced", Versions: []string{"v1", "v1alpha1"}}}
	if diff := cmp.Diff(exported, connection.Status.ExportedAPIs); diff != "" {
		t.Errorf("exportedAPIs (-want +got):\n%s", diff)
	}

	w.run("the provider's changes follow within seconds", func(t *testing.T) {
		patch := `[{"op":"add","path":"/spec/versions/1/schema/openAPIV3Schema/properties/spec/properties/power","value":{"type":"integer"}}]`
		_, err := w.provider.crds.ApiextensionsV1().CustomResourceDefinitions().Patch(t.Context(), w.api("engines"), "application/json-patch+json", []byte(patch), metav1.PatchOptions{})
		w.must(err)
		eventually(t, soon, "the field arrives", func(ctx context.Context) error {
			crd, err := crds.Get(ctx, w.api("engines"), metav1.GetOptions{})
			if err != nil {
				return err
			}
			if _, has := crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"].Properties["power"]; !has {
				return fmt.Errorf("not yet")
			}
			return nil
		})
		eventually(t, soon, "it is in sync", func(ctx context.Context) error {
			return w.bindingCondition(ctx, "acme", corev1alpha1.ConditionSchemaInSync, metav1.ConditionTrue, "")
		})
	})
}

func TestCRDThatIsNotOursIsNeverTouched(t *testing.T) {
	w := newWorld(t)
	own := w.fixture("widgets")
	own.Labels = nil
	w.createCRD(w.consumer, own)
	crds := w.consumer.crds.ApiextensionsV1().CustomResourceDefinitions()
	before, err := crds.Get(t.Context(), own.Name, metav1.GetOptions{})
	w.must(err)
	w.createWidget(w.consumer, "mine", map[string]any{"size": int64(1)})

	w.offer(w.provider, "widgets")
	w.offer(w.provider, "gadgets")
	w.startKonnector()
	w.applySecret("acme", w.kubeconfig())
	w.applyConnection("acme")
	w.applyClusterBinding("acme", "acme", "widgets", "gadgets")
	eventually(t, soon, "the entry says so, and the other API works", func(ctx context.Context) error {
		binding, err := w.consumer.core.CoreV1alpha1().ClusterBindings().Get(ctx, w.name("acme"), metav1.GetOptions{})
		if err != nil {
			return err
		}
		if len(binding.Status.BoundAPIs) != 2 {
			return fmt.Errorf("boundAPIs: %v", binding.Status.BoundAPIs)
		}
		if err := checkCondition(binding.Status.BoundAPIs[0].Conditions, 1, corev1alpha1.ConditionSchemaInSync, metav1.ConditionFalse, corev1alpha1.ReasonCRDNotOwned); err != nil {
			return err
		}
		return checkCondition(binding.Status.BoundAPIs[1].Conditions, 1, corev1alpha1.ConditionSynced, metav1.ConditionTrue, "")
	})
	w.unbind("acme")
	time.Sleep(time.Second)
	after, err := crds.Get(t.Context(), own.Name, metav1.GetOptions{})
	w.must(err)
	if after.ResourceVersion != before.ResourceVersion {
		t.Errorf("the CRD was written: %v", after.ObjectMeta)
	}
	mine, err := w.widgets(w.consumer).Get(t.Context(), "mine", metav1.GetOptions{})
	w.must(err)
	if marks := kbindMarks(mine); len(marks) > 0 {
		t.Errorf("its instance has marks: %v", marks)
	}
}
