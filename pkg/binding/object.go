package binding

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	corev1alpha1 "github.com/kbind-dev/konnector/apis/core/v1alpha1"
	corev1alpha1client "github.com/kbind-dev/konnector/generated/clientset/versioned/typed/core/v1alpha1"
	corev1alpha1informers "github.com/kbind-dev/konnector/generated/informers/externalversions/core/v1alpha1"
	"github.com/kbind-dev/konnector/pkg/coverage"
	"github.com/kbind-dev/konnector/pkg/status"
)

// object is a ClusterBinding or a Binding: they differ in nothing but scope and client.
type object struct {
	metav1.Object
	id     coverage.BindingID
	spec   *corev1alpha1.BindingSpec
	status *corev1alpha1.BindingStatus

	commit       func(ctx context.Context, after *corev1alpha1.BindingStatus) (wrote bool, err error)
	setFinalizer func(ctx context.Context, present bool) (wrote bool, err error)
}

// store reads and writes bindings of both kinds.
type store struct {
	client    corev1alpha1client.CoreV1alpha1Interface
	clusters  corev1alpha1informers.ClusterBindingInformer
	namespace corev1alpha1informers.BindingInformer
}

// get returns a binding from the cache, nil when it does not exist.
func (s *store) get(id coverage.BindingID) (*object, error) {
	if id.IsCluster() {
		found, err := s.clusters.Lister().Get(id.Name)
		if err != nil {
			return nil, ignoreNotFound(err)
		}
		return wrap(id, s.client.ClusterBindings(), found, &found.Spec, &found.Status), nil
	}
	found, err := s.namespace.Lister().Bindings(id.Namespace).Get(id.Name)
	if err != nil {
		return nil, ignoreNotFound(err)
	}
	return wrap(id, s.client.Bindings(id.Namespace), found, &found.Spec, &found.Status), nil
}

func wrap[T any](id coverage.BindingID, client status.Patcher[T], meta metav1.Object, spec *corev1alpha1.BindingSpec, before *corev1alpha1.BindingStatus) *object {
	return &object{
		Object: meta, id: id, spec: spec, status: before,
		commit: func(ctx context.Context, after *corev1alpha1.BindingStatus) (bool, error) {
			return status.Commit(ctx, client, meta, before, after)
		},
		setFinalizer: func(ctx context.Context, present bool) (bool, error) {
			return status.SetFinalizer(ctx, client, meta, corev1alpha1.FinalizerCleanup, present)
		},
	}
}

func ignoreNotFound(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// deleting reports whether the binding is being deleted.
func (o *object) deleting() bool { return o.GetDeletionTimestamp() != nil }

// lists reports whether the spec lists an API.
func (o *object) lists(api string) bool {
	for _, each := range o.spec.APIs {
		if each.Name == api {
			return true
		}
	}
	return false
}

// bound returns the entry of an API in the status, nil when there is none.
func (o *object) bound(api string) *corev1alpha1.BoundAPI {
	for i := range o.status.BoundAPIs {
		if o.status.BoundAPIs[i].Name == api {
			return &o.status.BoundAPIs[i]
		}
	}
	return nil
}

// facts returns what syncers have to know of the binding.
func (o *object) facts() coverage.Binding {
	return coverage.Binding{
		ID:         o.id,
		UID:        o.GetUID(),
		Created:    o.GetCreationTimestamp().Time,
		Connection: o.spec.ConnectionRef.Name,
		Policy:     o.spec.ConflictPolicy,
		Orphan:     o.GetAnnotations()[corev1alpha1.AnnotationDeletionPolicy] == corev1alpha1.DeletionPolicyOrphan,
	}
}
