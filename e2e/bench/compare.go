package main

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"

	corev1alpha1 "github.com/kbind-dev/konnector/apis/core/v1alpha1"
)

// content is what has to be equal on both sides, with the size of the document.
type content struct {
	spec, status any
	bytes        int
}

// compare returns how the two sides differ, and notes the sizes of their objects.
func (b *bench) compare(ctx context.Context, api api, count int, result *Population) error {
	objects, err := contents(ctx, b.consumer, api)
	if err != nil {
		return err
	}
	copies, err := contents(ctx, b.provider, api)
	if err != nil {
		return err
	}
	if sample, has := objects[objectName(0)]; has {
		result.ObjectBytes, result.CopyBytes = sample.bytes, copies[objectName(0)].bytes
	}
	return difference(objects, copies, count)
}

// difference returns the first difference between objects and copies.
func difference(objects, copies map[string]content, count int) error {
	if len(objects) != count || len(copies) != count {
		return fmt.Errorf("there are %d objects and %d copies, want %d", len(objects), len(copies), count)
	}
	for name, object := range objects {
		found, exists := copies[name]
		switch {
		case !exists:
			return fmt.Errorf("%s has no copy", name)
		case !reflect.DeepEqual(object.spec, found.spec):
			return fmt.Errorf("%s: the spec is %v, that of the copy %v", name, object.spec, found.spec)
		case !reflect.DeepEqual(object.status, found.status):
			return fmt.Errorf("%s: the status is %v, that of the copy %v", name, object.status, found.status)
		}
	}
	return nil
}

// contents reads all objects of an API on one side, without those of other consumers.
func contents(ctx context.Context, where *cluster, api api) (map[string]content, error) {
	answer, err := where.raw.Get().AbsPath(api.path("", "")).DoRaw(ctx)
	if err != nil {
		return nil, err
	}
	var list struct {
		Items []json.RawMessage `json:"items"`
	}
	if err := json.Unmarshal(answer, &list); err != nil {
		return nil, err
	}
	found := make(map[string]content, len(list.Items))
	for _, item := range list.Items {
		var object struct {
			Metadata struct {
				Name   string            `json:"name"`
				Labels map[string]string `json:"labels"`
			} `json:"metadata"`
			Spec   any `json:"spec"`
			Status any `json:"status"`
		}
		if err := json.Unmarshal(item, &object); err != nil {
			return nil, err
		}
		if object.Metadata.Labels[corev1alpha1.LabelConsumer] != uidExample {
			found[object.Metadata.Name] = content{object.Spec, object.Status, len(item)}
		}
	}
	return found, nil
}
