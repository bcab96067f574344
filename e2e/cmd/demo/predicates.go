package main

import "k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

// exists is so for an object that is there.
func exists(o *unstructured.Unstructured) bool { return o != nil }

// gone is so for an object that is not.
func gone(o *unstructured.Unstructured) bool { return o == nil }

// going is so for an object whose deletion was asked for.
func going(o *unstructured.Unstructured) bool { return o == nil || o.GetDeletionTimestamp() != nil }

// has is so when the field at the path has the value; nil stands for no field.
func has(value any, path ...string) func(*unstructured.Unstructured) bool {
	return func(o *unstructured.Unstructured) bool {
		if o == nil {
			return false
		}
		found, _, err := unstructured.NestedFieldNoCopy(o.Object, path...)
		return err == nil && found == value
	}
}

// ready is so when the condition Ready is True.
func ready(o *unstructured.Unstructured) bool {
	if o == nil {
		return false
	}
	conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	for _, each := range conditions {
		condition, ok := each.(map[string]any)
		if ok && condition["type"] == "Ready" && condition["status"] == "True" {
			return true
		}
	}
	return false
}
