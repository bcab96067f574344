package main

import (
	"encoding/json"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	corev1alpha1 "github.com/kbind-dev/konnector/apis/core/v1alpha1"
)

const (
	plural = "widgets"
	// team is the namespace of all instances, on both sides.
	team = "team"
)

// api is an API group whose Widgets are measured with.
type api struct{ group string }

// path returns that of the Widgets on an API server, of one of them, or of its subresource.
func (a api) path(name, subresource string) string {
	path := "/apis/" + a.group + "/v1/namespaces/" + team + "/" + plural
	for _, part := range []string{name, subresource} {
		if part != "" {
			path += "/" + part
		}
	}
	return path
}

func (a api) resource() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: a.group, Version: "v1", Resource: plural}
}

// objectName returns the name of the instance with that number.
func objectName(number int) string { return fmt.Sprintf("widget-%06d", number) }

// specOf returns a spec of about 700 bytes that differs from object to object.
func specOf(number int) map[string]any {
	settings := map[string]string{}
	for i := range 10 {
		settings[fmt.Sprintf("setting-%02d", i)] = fmt.Sprintf("%06d-%s", number, strings.Repeat("v", 32))
	}
	return map[string]any{
		"size": number, "color": "blue", "tier": "basic",
		"tags":    []string{"bench", "of", "many", "instances"},
		"options": settings,
	}
}

// statusOf returns a status of about 300 bytes.
func statusOf(phase string) map[string]any {
	return map[string]any{
		"phase": phase,
		"map":   map[string]string{"endpoint": "https://10.0.0.1:6443", "region": "north"},
		"conditions": []map[string]any{{
			"type": "Ready", "status": "True", "reason": "AsExpected",
			"message": "The widget is turning.", "lastTransitionTime": "2026-01-01T00:00:00Z",
		}},
	}
}

// widget returns the document that a user creates, about a kilobyte as it is stored.
func (a api) widget(number int) []byte {
	return encode(map[string]any{
		"apiVersion": a.group + "/v1", "kind": "Widget",
		"metadata": map[string]any{"name": objectName(number), "namespace": team},
		"spec":     specOf(number),
	})
}

// uidExample stands for the UIDs in marks, which have the same size.
const uidExample = "01234567-89ab-cdef-0123-456789abcdef"

// applied returns what the konnector would apply for the Widget, as to its size.
func (a api) applied(number int) []byte {
	return encode(map[string]any{
		"apiVersion": a.group + "/v1", "kind": "Widget",
		"metadata": map[string]any{
			"name": objectName(number), "namespace": team, "resourceVersion": "1",
			"labels": map[string]string{
				corev1alpha1.LabelManaged:  corev1alpha1.ValueTrue,
				corev1alpha1.LabelConsumer: uidExample,
			},
			"annotations": map[string]string{
				corev1alpha1.AnnotationConsumerClusterUID: uidExample,
				corev1alpha1.AnnotationConsumerObjectUID:  uidExample,
				corev1alpha1.AnnotationBindingUID:         uidExample,
				corev1alpha1.AnnotationAppliedHash:        "0123456789abcdef0123456789abcdef",
			},
		},
		"spec": specOf(number),
	})
}

// reapplied is applied for an object that is there, with another size in its spec.
func (a api) reapplied(number, size int) []byte {
	var document map[string]any
	if err := json.Unmarshal(a.applied(number), &document); err != nil {
		panic(err) // we have encoded it
	}
	delete(document["metadata"].(map[string]any), "resourceVersion")
	document["spec"].(map[string]any)["size"] = size
	return encode(document)
}

// finalizerPatch returns the konnector's first write to a consumer object.
func finalizerPatch(object identity) []byte {
	return encode(map[string]any{"metadata": map[string]any{
		"uid": object.UID, "resourceVersion": object.ResourceVersion,
		"finalizers": []string{corev1alpha1.FinalizerSyncer},
	}})
}

// statusPatch returns the konnector's write of a status.
func statusPatch(object identity, phase string) []byte {
	return encode([]map[string]any{
		{"op": "test", "path": "/metadata/uid", "value": object.UID},
		{"op": "add", "path": "/status", "value": statusOf(phase)},
	})
}

// identity is what a patch has to name.
type identity struct {
	UID             string `json:"uid"`
	ResourceVersion string `json:"resourceVersion"`
}

func encode(value any) []byte {
	data, err := json.Marshal(value)
	if err != nil {
		panic(err) // nothing in it comes from outside
	}
	return data
}
