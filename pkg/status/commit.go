package status

import (
	"context"
	"encoding/json"
	"fmt"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Patcher is the method of a typed client that writes patches.
type Patcher[T any] interface {
	Patch(ctx context.Context, name string, kind types.PatchType, data []byte, options metav1.PatchOptions, subresources ...string) (T, error)
}

// Commit writes the difference between two states of an object's status, and
// reports whether it had to. The write fails with a conflict when the object is
// not the one that was read, by UID and resourceVersion: then the decision was made
// on an old picture and has to be made again.
func Commit[S, T any](ctx context.Context, client Patcher[T], object metav1.Object, before, after *S) (wrote bool, err error) {
	if equality.Semantic.DeepEqual(before, after) {
		return false, nil
	}
	patch, err := statusPatch(object, before, after)
	if err != nil {
		return false, fmt.Errorf("status of %s: %w", object.GetName(), err)
	}
	_, err = client.Patch(ctx, object.GetName(), types.MergePatchType, patch, metav1.PatchOptions{}, "status")
	return err == nil, err
}

// statusPatch returns a merge patch that turns the one status into the other.
// Fields that are gone become null: leaving them out would keep them.
func statusPatch[S any](object metav1.Object, before, after *S) ([]byte, error) {
	old, err := json.Marshal(map[string]any{"status": before})
	if err != nil {
		return nil, err
	}
	now, err := json.Marshal(map[string]any{
		"metadata": precondition(object),
		"status":   after,
	})
	if err != nil {
		return nil, err
	}
	return jsonpatch.CreateMergePatch(old, now)
}

// SetFinalizer adds a finalizer of an object or takes it off, and reports whether it had
// to. Others' finalizers stay. It is never added to an object that is going.
func SetFinalizer[T any](ctx context.Context, client Patcher[T], object metav1.Object, finalizer string, present bool) (wrote bool, err error) {
	finalizers, changed := WithFinalizer(object.GetFinalizers(), finalizer, present)
	if !changed || (present && object.GetDeletionTimestamp() != nil) {
		return false, nil
	}
	metadata := precondition(object)
	metadata["finalizers"] = finalizers
	patch, err := json.Marshal(map[string]any{"metadata": metadata})
	if err != nil {
		return false, err
	}
	_, err = client.Patch(ctx, object.GetName(), types.MergePatchType, patch, metav1.PatchOptions{})
	return err == nil, err
}

// WithFinalizer returns the list with or without the finalizer, and whether that
// is another list than before. The list that comes in is not changed.
func WithFinalizer(list []string, finalizer string, present bool) (result []string, changed bool) {
	result = make([]string, 0, len(list)+1)
	had := false
	for _, each := range list {
		if each == finalizer {
			had = true
			continue
		}
		result = append(result, each)
	}
	if present {
		result = append(result, finalizer)
	}
	return result, had != present
}

// precondition makes a patch fail when the object is another one or was changed.
func precondition(object metav1.Object) map[string]any {
	return map[string]any{
		"uid":             object.GetUID(),
		"resourceVersion": object.GetResourceVersion(),
	}
}
