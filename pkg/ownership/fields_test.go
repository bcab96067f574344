package ownership_test

import (
	"encoding/json"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/managedfields"

	corev1alpha1 "github.com/kbind-dev/konnector/apis/core/v1alpha1"
	"github.com/kbind-dev/konnector/pkg/instance"
	"github.com/kbind-dev/konnector/pkg/internal/fakeserver"
	"github.com/kbind-dev/konnector/pkg/internal/gen"
	"github.com/kbind-dev/konnector/pkg/ownership"
)

// shelf holds one object as an API server does, with the code that API servers have
// for managed fields.
type shelf struct {
	t       *testing.T
	manager *managedfields.FieldManager
	live    *unstructured.Unstructured
}

func newShelf(t *testing.T) *shelf {
	live := &unstructured.Unstructured{Object: map[string]any{}}
	live.SetGroupVersionKind(fakeserver.Kind)
	live.SetName("a")
	return &shelf{t: t, manager: fakeserver.NewFieldManager(), live: live}
}

func (s *shelf) apply(desired ownership.Desired) {
	s.t.Helper()
	object := gen.Copy("a")
	body, err := desired.Body(fakeserver.Kind, object.Key(), ownership.Precondition{})
	if err != nil {
		s.t.Fatal(err)
	}
	wanted := &unstructured.Unstructured{}
	if err := wanted.UnmarshalJSON(body); err != nil {
		s.t.Fatal(err)
	}
	applied, err := s.manager.Apply(s.live, wanted, corev1alpha1.FieldManager, true)
	if err != nil {
		s.t.Fatal(err)
	}
	s.live = applied.(*unstructured.Unstructured)
}

// update changes the object as another manager.
func (s *shelf) update(change func(object map[string]any)) {
	object := s.live.DeepCopy()
	change(object.Object)
	s.live = s.manager.UpdateNoErrors(s.live, object, "controller").(*unstructured.Unstructured)
}

func (s *shelf) fields() string {
	s.t.Helper()
	copied, err := instance.Provider.Convert(s.live)
	if err != nil {
		s.t.Fatal(err)
	}
	return copied.OwnedFields()
}

const everything = `{"data":{"k":"v"},"spec":{
	"size":1,"color":"red","tags":["b","a"],"zones":["x","y"],
	"ports":[{"port":80,"name":"web"},{"port":80,"protocol":"UDP","name":"quic","mode":"fast"},{"port":443}],
	"options":{"x":"1","y":"2"},"whole":{"a":"1"},"any":{"free":{"form":[1,2]},"list":[{"a":1}]},
	"nested":{"inner":{"a":"1","b":"2"}}}}`

func TestFirstLost(t *testing.T) { // I7
	set := func(value any, path ...string) func(map[string]any) {
		return func(object map[string]any) {
			if err := unstructured.SetNestedField(object, value, path...); err != nil {
				panic(err)
			}
		}
	}
	remove := func(path ...string) func(map[string]any) {
		return func(object map[string]any) { unstructured.RemoveNestedField(object, path...) }
	}
	ports := func(change func(ports []any) []any) func(map[string]any) {
		return func(object map[string]any) {
			list, _, _ := unstructured.NestedSlice(object, "spec", "ports")
			_ = unstructured.SetNestedSlice(object, change(list), "spec", "ports")
		}
	}
	port := func(protocol string, number int64, change func(port map[string]any)) func(map[string]any) {
		return ports(func(list []any) []any {
			for _, each := range list {
				fields := each.(map[string]any)
				own, _ := fields["protocol"].(string)
				if fields["port"] == number && (own == protocol || own == "" && protocol == "TCP") {
					change(fields)
				}
			}
			return list
		})
	}
	for _, row := range []struct {
		name    string
		payload string
		change  func(object map[string]any)
		want    string
	}{
		{"nothing was changed", everything, nil, ""},
		{"a field beside ours", everything, set("n1", "spec", "assignedTo"), ""},
		{"a status", everything, set("A", "status", "phase"), ""},
		{"a label beside ours", everything, set("x", "metadata", "labels", "tier"), ""},
		{"the same value by somebody else", everything, set("red", "spec", "color"), ""},
		{"a scalar changed", everything, set("blue", "spec", "color"), ".spec.color"},
		{"a scalar removed", everything, remove("spec", "color"), ".spec.color"},
		{"an atomic list changed", everything, set([]any{"a", "b"}, "spec", "tags"), ".spec.tags"},
		{"an item added to a set", everything, set([]any{"x", "y", "z"}, "spec", "zones"), ""},
		{"an item removed from a set", everything, set([]any{"x"}, "spec", "zones"), ".spec.zones[]"},
		{"a key added to a map", everything, set("3", "spec", "options", "z"), ""},
		{"a key of a map changed", everything, set("9", "spec", "options", "x"), ".spec.options.x"},
		{"a key of a map removed", everything, remove("spec", "options", "y"), ".spec.options.y"},
		{"all keys of a map removed", everything, remove("spec", "options"), ".spec.options"},
		{"an atomic map changed", everything, set("2", "spec", "whole", "b"), ".spec.whole"},
		{"a nested field changed", everything, set("9", "spec", "nested", "inner", "b"), ".spec.nested.inner.b"},
		{"a field without a schema changed", everything, set("9", "spec", "any", "list"), ".spec.any.list"},
		// Of a map without a schema we own that it exists as well, which looks like a whole
		// map: that all of its fields are taken does not show.
		{"all fields of a map without a schema changed", everything, set("9", "spec", "any", "free", "form"), ""},
		{"lists and maps that hold nothing", `{"spec":{"nested":{"inner":{}},"ports":[]},"data":{}}`, nil, ""},
		{"a spec of nothing but empty lists", `{"spec":{"ports":[],"zones":[]}}`, nil, ""},
		{"a field added beside one without a schema", everything, set("9", "spec", "any", "more"), ""},
		{"another top-level field", everything, set("w", "data", "k"), ".data"},
		{"a label changed", everything, set("prod", "metadata", "labels", "env"), ".metadata.labels[env]"},
		{"a mark removed", everything, remove("metadata", "labels", corev1alpha1.LabelConsumer), ".metadata.labels[" + corev1alpha1.LabelConsumer + "]"},
		{"an annotation removed", everything, remove("metadata", "annotations", corev1alpha1.AnnotationAppliedHash), ".metadata.annotations[" + corev1alpha1.AnnotationAppliedHash + "]"},
		{"all annotations removed", everything, remove("metadata", "annotations"), ".metadata.annotations[" + corev1alpha1.AnnotationAppliedHash + "]"},
		{"the whole spec removed", everything, remove("spec"), ".spec"},
		{"an item added to a list map", everything, ports(func(list []any) []any {
			return append(list, map[string]any{"port": int64(8080), "protocol": "TCP"})
		}), ""},
		{"an item removed from a list map", everything, ports(func(list []any) []any { return list[:2] }), ".spec.ports[]"},
		{"a list map in another order", everything, ports(func(list []any) []any { return []any{list[2], list[1], list[0]} }), ""},
		{"a field of an item with a defaulted key changed", everything, port("TCP", 80, func(p map[string]any) { p["name"] = "other" }), `.spec.ports[{"port":80,"protocol":"TCP"}].name`},
		{"a field of the item beside it changed", everything, port("UDP", 80, func(p map[string]any) { p["mode"] = "slow" }), `.spec.ports[{"port":80,"protocol":"UDP"}].mode`},
		{"a field added to an item", everything, port("TCP", 443, func(p map[string]any) { p["mode"] = "slow" }), ""},
		{"an empty map", `{"spec":{"options":{}}}`, nil, ""},
		{"an empty list", `{"spec":{"tags":[],"zones":[],"ports":[]}}`, nil, ""},
		{"an empty spec", `{"spec":{}}`, nil, ""},
		{"an empty map that somebody fills", `{"spec":{"options":{},"size":1}}`, set("1", "spec", "options", "x"), ""},
		{"a null", `{"spec":{"color":null,"size":1}}`, nil, ""},
		{"no payload", `{}`, nil, ""},
		{"an int and a float", `{"spec":{"any":{"n":1,"f":1.5,"t":true}}}`, nil, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			desired := render(t, gen.Widget("a", gen.Payload(row.payload), gen.Label("env", "dev")), us)
			shelf := newShelf(t)
			shelf.apply(desired)
			if row.change != nil {
				shelf.update(row.change)
			}
			got := ownership.FirstLost(shelf.fields(), desired)
			if got != row.want {
				t.Errorf("got %q, want %q; owned: %s", got, row.want, shelf.fields())
			}
			if ownership.Owns(shelf.fields(), desired) != (row.want == "") {
				t.Error("Owns does not agree")
			}
			shelf.apply(desired)
			if lost := ownership.FirstLost(shelf.fields(), desired); lost != "" {
				t.Errorf("%s is lost after another apply", lost)
			}
		})
	}
}

func TestNothingIsOwnedOfWhatCannotBeRead(t *testing.T) {
	desired := render(t, gen.Widget("a"), us)
	for _, fields := range []string{"", "x", "[]", `{}`, `{"f:metadata":1}`} {
		if ownership.Owns(fields, desired) {
			t.Errorf("%q owns everything", fields)
		}
	}
}

func TestFieldsOfAnotherManagerAreNotOurs(t *testing.T) {
	desired := render(t, gen.Widget("a"), us)
	shelf := newShelf(t)
	shelf.apply(desired)
	shelf.update(func(object map[string]any) { object["spec"] = map[string]any{"color": "blue", "size": int64(2)} })
	if lost := ownership.FirstLost(shelf.fields(), desired); lost != ".spec" {
		t.Errorf("lost is %q", lost)
	}
}

func TestFirstRewritten(t *testing.T) { // I7
	for _, row := range []struct{ name, payload, object, want string }{
		{"the same", `{"spec":{"size":1,"f":1.5,"tags":["a"]}}`, `{"spec":{"size":1,"f":1.5,"tags":["a"]}}`, ""},
		{"more fields", `{"spec":{"size":1}}`, `{"spec":{"size":1,"tier":"basic"},"status":{}}`, ""},
		{"another scalar", `{"spec":{"color":"RED","size":1}}`, `{"spec":{"color":"red","size":1}}`, ".spec.color"},
		{"a removed field", `{"spec":{"nested":{"a":"1"}}}`, `{"spec":{}}`, ".spec.nested"},
		{"a field deep inside", `{"spec":{"nested":{"a":"1"}}}`, `{"spec":{"nested":{"a":"2"}}}`, ".spec.nested.a"},
		{"another type", `{"spec":{"a":{"b":1}}}`, `{"spec":{"a":[1]}}`, ".spec.a"},
		{"a list in another order with more in it", `{"spec":{"l":[{"k":1},{"k":2}]}}`, `{"spec":{"l":[{"k":2,"d":1},{"k":1},{"k":3}]}}`, ""},
		{"an item of a list", `{"spec":{"l":[{"k":1}]}}`, `{"spec":{"l":[{"k":2}]}}`, ".spec.l"},
		{"a null", `{"spec":{"a":null}}`, `{"spec":{}}`, ""},
		{"an empty map that is gone", `{"spec":{}}`, `{}`, ""},
		{"an empty list that is gone", `{"l":[]}`, `{}`, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			object := &unstructured.Unstructured{}
			var content map[string]any
			if err := json.Unmarshal([]byte(row.object), &content); err != nil {
				t.Fatal(err)
			}
			content["apiVersion"], content["kind"] = "v1", "X"
			text, err := json.Marshal(content)
			if err != nil {
				t.Fatal(err)
			}
			if err := object.UnmarshalJSON(text); err != nil {
				t.Fatal(err)
			}
			desired := render(t, gen.Widget("a", gen.Payload(row.payload)), us)
			if got := ownership.FirstRewritten(object.Object, desired); got != row.want {
				t.Errorf("got %q, want %q", got, row.want)
			}
		})
	}
}
