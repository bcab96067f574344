package instance_test

import (
	"reflect"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/cache"

	corev1alpha1 "github.com/kbind-dev/konnector/apis/core/v1alpha1"
	"github.com/kbind-dev/konnector/pkg/instance"
)

const text = `{
	"apiVersion": "demo.example.org/v1", "kind": "Widget",
	"metadata": {
		"namespace": "team-a", "name": "a", "uid": "u", "resourceVersion": "7", "generation": 3,
		"deletionTimestamp": "2026-01-01T00:00:00Z",
		"finalizers": ["core.kbind.io/syncer", "x"],
		"labels": {"env": "dev"},
		"annotations": {"note": "x", "kubectl.kubernetes.io/last-applied-configuration": "{}"},
		"ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "p"}],
		"managedFields": [
			{"manager": "konnector", "operation": "Update", "fieldsType": "FieldsV1", "fieldsV1": {"f:wrong": {}}},
			{"manager": "konnector", "operation": "Apply", "subresource": "status", "fieldsType": "FieldsV1", "fieldsV1": {"f:wrong": {}}},
			{"manager": "kubectl", "operation": "Apply", "fieldsType": "FieldsV1", "fieldsV1": {"f:wrong": {}}},
			{"manager": "konnector", "operation": "Apply", "fieldsType": "FieldsV1", "fieldsV1": {"f:spec":{"f:size":{}}}}
		]
	},
	"spec": {"size": 1, "ratio": 1.5, "list": ["b", "a"]},
	"data": {"z": "1", "a": "2"},
	"status": {"phase": "A", "count": 2}
}`

func read(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	object := &unstructured.Unstructured{}
	if err := object.UnmarshalJSON([]byte(text)); err != nil {
		t.Fatal(err)
	}
	return object
}

func TestConvert(t *testing.T) {
	for _, row := range []struct {
		side            instance.Side
		payload, fields string
	}{
		{instance.Consumer, `{"data":{"a":"2","z":"1"},"spec":{"list":["b","a"],"ratio":1.5,"size":1}}`, ""},
		{instance.Provider, "", `{"f:spec":{"f:size":{}}}`},
	} {
		raw := read(t, text)
		before := raw.DeepCopy()
		got, err := row.side.Convert(raw)
		if err != nil {
			t.Fatal(err)
		}
		if string(got.Payload) != row.payload || got.OwnedFields() != row.fields || string(got.Status) != `{"count":2,"phase":"A"}` {
			t.Errorf("payload %s, fields %s, status %s", got.Payload, got.OwnedFields(), got.Status)
		}
		got.Payload, got.Status, got.Fields = nil, nil, (&instance.Object{}).Fields
		want := &instance.Object{
			Namespace: "team-a", Name: "a", UID: "u", ResourceVersion: "7", Generation: 3, Deleting: true,
			Finalizers:  []string{corev1alpha1.FinalizerSyncer, "x"},
			Labels:      map[string]string{"env": "dev"},
			Annotations: map[string]string{"note": "x"}, // without a second copy of the object
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("got %+v, want %+v", got, want)
		}
		if !reflect.DeepEqual(raw, before) {
			t.Error("the object given was changed")
		}
	}
}

func TestConvertOfLittle(t *testing.T) {
	for name, text := range map[string]string{
		"no status":     `{"apiVersion":"v1","kind":"X","metadata":{"name":"a"}}`,
		"a null status": `{"apiVersion":"v1","kind":"X","metadata":{"name":"a"},"status":null}`,
	} {
		for _, side := range []instance.Side{instance.Consumer, instance.Provider} {
			got, err := side.Convert(read(t, text))
			if err != nil {
				t.Fatal(err)
			}
			if got.Status != nil || got.OwnedFields() != "" || got.Deleting || got.HasFinalizer() {
				t.Errorf("%s: %+v", name, got)
			}
			if payload := string(got.Payload); side == instance.Consumer && payload != "{}" {
				t.Errorf("%s: payload %s", name, payload)
			}
		}
	}
	for _, status := range []string{`{}`, `[]`, `"text"`, `0`} { // whatever the schema allows
		got, err := instance.Provider.Convert(read(t, `{"apiVersion":"v1","kind":"X","metadata":{"name":"a"},"status":`+status+`}`))
		if err != nil || string(got.Status) != status {
			t.Errorf("status %s is kept as %s: %v", status, got.Status, err)
		}
	}
}

func TestEqualObjectsConvertToEqualBytes(t *testing.T) {
	a, errA := instance.Consumer.Convert(read(t, `{"apiVersion":"v1","kind":"X","spec":{"b":1,"a":{"d":1,"c":2}}}`))
	b, errB := instance.Consumer.Convert(read(t, `{"kind":"X","spec":{"a":{"c":2,"d":1},"b":1},"apiVersion":"v1"}`))
	if errA != nil || errB != nil || string(a.Payload) != string(b.Payload) {
		t.Errorf("%s and %s", a.Payload, b.Payload)
	}
}

func TestObjectsOfOneShapeShareTheirFields(t *testing.T) {
	a, errA := instance.Provider.Convert(read(t, text))
	b, errB := instance.Provider.Convert(read(t, text))
	if errA != nil || errB != nil || a.Fields != b.Fields {
		t.Error("the text of equal fields is kept twice")
	}
}

func TestTransform(t *testing.T) {
	transform := instance.Consumer.Transform()
	once, err := transform(read(t, text))
	if err != nil {
		t.Fatal(err)
	}
	if twice, err := transform(once); err != nil || twice != once {
		t.Errorf("a converted object becomes %v: %v", twice, err)
	}
	missed := cache.DeletedFinalStateUnknown{Key: "team-a/a", Obj: once}
	if same, err := transform(missed); err != nil || same != any(missed) {
		t.Errorf("a missed deletion becomes %v: %v", same, err)
	}
	key, err := cache.DeletionHandlingMetaNamespaceKeyFunc(once)
	if err != nil || key != "team-a/a" {
		t.Errorf("caches see it as %q: %v", key, err)
	}
}
