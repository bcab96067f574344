package fakeserver

import (
	"encoding/json"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apimachinery/pkg/util/managedfields/managedfieldstest"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// Kind is what the server serves, as Resource. Its schema has a field of each sort
// that server-side apply treats in its own way.
var (
	Kind     = schema.GroupVersionKind{Group: "demo.example.org", Version: "v1", Kind: "Widget"}
	Resource = schema.GroupVersionResource{Group: "demo.example.org", Version: "v1", Resource: "widgets"}
)

const widget = `{
  "type": "object",
  "x-kubernetes-group-version-kind": [{"group": "demo.example.org", "version": "v1", "kind": "Widget"}],
  "properties": {
    "apiVersion": {"type": "string"},
    "kind": {"type": "string"},
    "metadata": {"type": "object", "properties": {
      "name": {"type": "string"}, "namespace": {"type": "string"}, "uid": {"type": "string"},
      "resourceVersion": {"type": "string"}, "generation": {"type": "integer"},
      "creationTimestamp": {"type": "string"}, "deletionTimestamp": {"type": "string"},
      "labels": {"type": "object", "additionalProperties": {"type": "string"}},
      "annotations": {"type": "object", "additionalProperties": {"type": "string"}},
      "managedFields": {"type": "array", "x-kubernetes-list-type": "atomic",
        "items": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
      "finalizers": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}}
    }},
    "spec": {"type": "object", "properties": {
      "size": {"type": "integer"},
      "color": {"type": "string", "nullable": true},
      "tags": {"type": "array", "items": {"type": "string"}},
      "zones": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
      "ports": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["port", "protocol"],
        "items": {"type": "object", "properties": {
          "port": {"type": "integer"}, "protocol": {"type": "string", "default": "TCP"},
          "name": {"type": "string"}, "mode": {"type": "string"}}}},
      "options": {"type": "object", "additionalProperties": {"type": "string"}},
      "whole": {"type": "object", "x-kubernetes-map-type": "atomic", "additionalProperties": {"type": "string"}},
      "any": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
      "nested": {"type": "object", "properties": {"inner": {"type": "object", "properties": {
        "a": {"type": "string"}, "b": {"type": "string"}}}}},
      "assignedTo": {"type": "string"}
    }},
    "data": {"type": "object", "additionalProperties": {"type": "string"}},
    "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}
  }
}`

// NewFieldManager returns what an API server does server-side apply with.
func NewFieldManager() *managedfields.FieldManager {
	parsed := &spec.Schema{}
	if err := json.Unmarshal([]byte(widget), parsed); err != nil {
		panic(err)
	}
	converter, err := managedfields.NewTypeConverter(map[string]*spec.Schema{"org.example.demo.v1.Widget": parsed}, false)
	if err != nil {
		panic(err)
	}
	return managedfieldstest.NewFakeFieldManager(converter, Kind)
}
