package syncer

import (
	"context"
	"encoding/json"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/utils/ptr"

	corev1alpha1 "github.com/kbind-dev/konnector/apis/core/v1alpha1"
	"github.com/kbind-dev/konnector/pkg/access"
	"github.com/kbind-dev/konnector/pkg/coverage"
	"github.com/kbind-dev/konnector/pkg/instance"
	"github.com/kbind-dev/konnector/pkg/ownership"
	"github.com/kbind-dev/konnector/pkg/session"
	"github.com/kbind-dev/konnector/pkg/status"
)

func (s *Syncer) consumer(namespace string) dynamic.ResourceInterface {
	return s.Client.Resource(s.target.Resource).Namespace(namespace)
}

func (s *Syncer) provider(namespace string) dynamic.ResourceInterface {
	return s.session.Dynamic.Resource(s.target.Resource).Namespace(namespace)
}

// setFinalizer adds our finalizer or takes it off, on the object as it was read.
func (s *Syncer) setFinalizer(ctx context.Context, object *instance.Object, present bool) (*instance.Object, error) {
	finalizers, changed := status.WithFinalizer(object.Finalizers, corev1alpha1.FinalizerSyncer, present)
	if !changed {
		return object, nil
	}
	return s.patchConsumer(ctx, object, map[string]any{
		"resourceVersion": object.ResourceVersion,
		"finalizers":      finalizers,
	})
}

// annotate sets the annotations that tell of a conflict or a rejection; "" removes one.
func (s *Syncer) annotate(ctx context.Context, object *instance.Object, conflict, rejected string) (*instance.Object, error) {
	value := func(text string) *string {
		if text == "" {
			return nil
		}
		return ptr.To(text)
	}
	return s.patchConsumer(ctx, object, map[string]any{
		"annotations": map[string]*string{
			corev1alpha1.AnnotationConflict: value(conflict),
			corev1alpha1.AnnotationRejected: value(rejected),
		},
	})
}

// patchConsumer changes metadata of the consumer's object, and only of that very object.
func (s *Syncer) patchConsumer(ctx context.Context, object *instance.Object, metadata map[string]any) (*instance.Object, error) {
	metadata["uid"] = object.UID
	patch, err := json.Marshal(map[string]any{"metadata": metadata})
	if err != nil {
		return nil, err
	}
	answer, err := s.consumer(object.Namespace).Patch(ctx, object.Name, types.MergePatchType, patch,
		metav1.PatchOptions{FieldManager: corev1alpha1.FieldManager})
	if err != nil {
		return nil, s.consumerError(object, "patch", err)
	}
	written, err := instance.Consumer.Convert(answer)
	if err != nil {
		return nil, err
	}
	if written.Deleting && len(written.Finalizers) == 0 {
		s.memories.change(object.Key(), func(entry *memory) { entry.consumerGone, entry.consumer = object.UID, nil })
		return written, nil
	}
	s.memories.wroteConsumer(object.Key(), written)
	return written, nil
}

// writeStatus replaces the status of the consumer's object, or removes it.
// When that fails, the object is returned as it was.
func (s *Syncer) writeStatus(ctx context.Context, object *instance.Object, wanted []byte) (*instance.Object, error) {
	patch := []map[string]any{{"op": "test", "path": "/metadata/uid", "value": object.UID}}
	if wanted == nil {
		patch = append(patch, map[string]any{"op": "remove", "path": "/status"})
	} else {
		patch = append(patch, map[string]any{"op": "add", "path": "/status", "value": json.RawMessage(wanted)})
	}
	data, err := json.Marshal(patch)
	if err != nil {
		return object, err
	}
	var subresources []string
	if s.target.StatusSubresource {
		subresources = []string{"status"}
	}
	answer, err := s.consumer(object.Namespace).Patch(ctx, object.Name, types.JSONPatchType, data,
		metav1.PatchOptions{FieldManager: corev1alpha1.FieldManager}, subresources...)
	if err != nil {
		return object, s.consumerError(object, "patch", err)
	}
	written, err := instance.Consumer.Convert(answer)
	if err != nil {
		return object, err
	}
	s.memories.wroteStatus(object.Key(), written, wanted)
	return written, nil
}

// consumerError sorts the error of a write on the consumer. An object that is gone
// needs nothing more.
func (s *Syncer) consumerError(object *instance.Object, verb string, err error) error {
	if access.Classify(err) == access.NotFound {
		s.memories.change(object.Key(), func(entry *memory) { entry.consumerGone, entry.consumer = object.UID, nil })
		return errDecideAnew
	}
	return callError{side: "consumer", action: s.action(verb, object.Key()), err: err}
}

// look reads what the provider has under the name.
func (s *Syncer) look(ctx context.Context, key types.NamespacedName) (*look, error) {
	target := s.Mapper.ToProvider(key)
	answer, err := s.provider(target.Namespace).Get(ctx, target.Name, metav1.GetOptions{})
	switch access.Classify(err) {
	case "":
		found, err := instance.Provider.Convert(answer)
		return &look{found: found}, err
	case access.NotFound:
		return &look{}, nil
	case access.ResourceMissing:
		if s.resourceGone(ctx) {
			return &look{}, nil
		}
	default:
	}
	return nil, callError{side: "provider", action: s.action("get", target), err: err}
}

// resourceGone reports whether the provider is certain not to serve the API any
// more: by its discovery of the version, complete and asked just now.
func (s *Syncer) resourceGone(ctx context.Context) bool {
	version := s.target.Resource.GroupVersion().String()
	served, err := s.session.Kube.Discovery().ServerResourcesForGroupVersionWithContext(ctx, version)
	if apierrors.IsNotFound(err) {
		// The group is gone as a whole, unless an aggregated server is only away.
		groups, err := s.session.Kube.Discovery().ServerGroupsWithContext(ctx)
		if err != nil {
			return false
		}
		for _, group := range groups.Groups {
			for _, each := range group.Versions {
				if each.GroupVersion == version {
					return false
				}
			}
		}
		return true
	}
	if err != nil {
		return false
	}
	for _, resource := range served.APIResources {
		if resource.Name == s.target.Resource.Resource {
			return false
		}
	}
	return true
}

// apply writes the copy. When the name turns out to be taken, or the copy to be
// another one, it returns what is there.
func (s *Syncer) apply(ctx context.Context, c call, step Step) (*look, error) {
	target := s.Mapper.ToProvider(c.key)
	answer, err := s.applyTo(ctx, target, step)
	switch access.Classify(err) {
	case "":
	case access.Conflict:
		return s.look(ctx, c.key)
	case access.Denied:
		return nil, heldError{err, s.memories.refused(c.key, step.Desired.Hash, coverage.Denied)}
	case access.Rejected, access.Quota:
		return nil, heldError{err, s.memories.refused(c.key, step.Desired.Hash, coverage.Rejected)}
	default:
		return nil, err
	}
	written, err := instance.Provider.Convert(answer)
	if err != nil {
		return nil, err
	}
	s.memories.applied(c.key, written, step)
	if path := ownership.FirstRewritten(answer.Object, step.Desired); path != "" {
		s.tell(ctx, c.key, c.facts, eventOverruled, rewrittenMessage(path))
	} else if !step.Repair {
		s.memories.solved(c.key)
	}
	return nil, nil
}

// applyTo writes the copy, and its namespace when the answer is that it is missing.
func (s *Syncer) applyTo(ctx context.Context, target types.NamespacedName, step Step) (*unstructured.Unstructured, error) {
	body, err := step.Desired.Body(s.target.Kind, target, step.Expect)
	if err != nil {
		return nil, err
	}
	answer, err := s.applyBody(ctx, target, body)
	if access.Classify(err) == access.NamespaceMissing {
		if err := session.CreateNamespace(ctx, s.session.Kube, target.Namespace, s.Cluster); err != nil {
			return nil, callError{side: "provider", action: access.Action{Verb: "create", Resource: "namespaces", Name: target.Namespace}, err: err}
		}
		answer, err = s.applyBody(ctx, target, body)
	}
	if err != nil {
		return nil, callError{side: "provider", action: s.action("patch", target), err: err}
	}
	return answer, nil
}

func (s *Syncer) applyBody(ctx context.Context, target types.NamespacedName, body []byte) (*unstructured.Unstructured, error) {
	return s.provider(target.Namespace).Patch(ctx, target.Name, types.ApplyPatchType, body,
		metav1.PatchOptions{FieldManager: corev1alpha1.FieldManager, Force: ptr.To(true)})
}

// delete deletes the copy. While something on the provider still holds it, the
// steps that follow have to wait for the event of its end.
func (s *Syncer) delete(ctx context.Context, c call, step Step) error {
	key := c.key
	target := s.Mapper.ToProvider(key)
	gone, err := s.session.Deleter.Delete(ctx, s.target.Resource, target, step.Expect.UID)
	switch access.Classify(err) {
	case "":
		if !gone {
			if ownership.ReadMarks(c.facts.Provider).Labelled { // otherwise its end brings no event
				s.memories.change(key, func(entry *memory) { entry.Leaving = step.Expect.UID })
			}
			return errDecideAnew
		}
		s.gone(key, step.Expect.UID)
		return nil
	case access.NotFound:
		s.gone(key, step.Expect.UID)
		return nil
	case access.Conflict:
		// Another object has the name now: that copy is gone, and this one is looked at.
		s.gone(key, step.Expect.UID)
		return errDecideAnew
	case access.ResourceMissing:
		if s.resourceGone(ctx) {
			return nil
		}
	default:
	}
	return callError{side: "provider", action: s.action("delete", target), err: err}
}

// gone notes that a copy does not exist any more.
func (s *Syncer) gone(key types.NamespacedName, uid types.UID) {
	s.memories.change(key, func(entry *memory) { entry.providerGone, entry.provider = uid, nil })
}

// strip takes our marks off the copy.
func (s *Syncer) strip(ctx context.Context, key types.NamespacedName, step Step) error {
	target := s.Mapper.ToProvider(key)
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid":             step.Expect.UID,
		"resourceVersion": step.Expect.ResourceVersion,
		"labels":          nulls(corev1alpha1.LabelManaged, corev1alpha1.LabelConsumer),
		"annotations":     nulls(ownership.MarkAnnotations()...),
	}})
	if err != nil {
		return err
	}
	_, err = s.provider(target.Namespace).Patch(ctx, target.Name, types.MergePatchType, patch,
		metav1.PatchOptions{FieldManager: corev1alpha1.FieldManager})
	switch access.Classify(err) {
	case "", access.NotFound:
		s.gone(key, step.Expect.UID)
		return nil
	case access.Unreachable, access.Unauthorized:
		if step.BestEffort {
			return nil // the user has said that the provider may be gone for good
		}
	default:
	}
	return callError{side: "provider", action: s.action("patch", target), err: err}
}

func nulls(keys ...string) map[string]any {
	result := make(map[string]any, len(keys))
	for _, key := range keys {
		result[key] = nil
	}
	return result
}

// action names a call on an object of the API.
func (s *Syncer) action(verb string, key types.NamespacedName) access.Action {
	return access.Action{
		Verb: verb, Group: s.target.Resource.Group, Resource: s.target.Resource.Resource,
		Namespace: key.Namespace, Name: key.Name,
	}
}
