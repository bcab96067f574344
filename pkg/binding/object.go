package binding

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

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
	client     corev1alpha1client.CoreV1alpha1Interface
	clusters   corev1alpha1informers.ClusterBindingInformer
	namespaced corev1alpha1informers.BindingInformer
}

// byConnection is the name of the index of bindings by the Connection that they name.
const byConnection = "connection"

func newStore(client corev1alpha1client.CoreV1alpha1Interface, informers corev1alpha1informers.Interface) *store {
	made := &store{client: client, clusters: informers.ClusterBindings(), namespaced: informers.Bindings()}
	for _, informer := range made.informers() {
		// It fails only for an informer that has ended.
		_ = informer.AddIndexers(cache.Indexers{byConnection: func(object any) ([]string, error) {
			return []string{connectionOf(object)}, nil
		}})
	}
	return made
}

func (s *store) informers() []cache.SharedIndexInformer {
	return []cache.SharedIndexInformer{s.clusters.Informer(), s.namespaced.Informer()}
}

// connectionOf returns the name of the Connection that a binding from an informer names.
func connectionOf(object any) string {
	if last, gone := object.(cache.DeletedFinalStateUnknown); gone {
		object = last.Obj
	}
	switch binding := object.(type) {
	case *corev1alpha1.ClusterBinding:
		return binding.Spec.ConnectionRef.Name
	case *corev1alpha1.Binding:
		return binding.Spec.ConnectionRef.Name
	}
	return ""
}

// using returns the bindings that name a Connection.
func (s *store) using(connection string) []coverage.BindingID {
	var ids []coverage.BindingID
	for _, informer := range s.informers() {
		keys, err := informer.GetIndexer().IndexKeys(byConnection, connection)
		if err == nil { // it fails only for an index that does not exist
			ids = append(ids, idsOf(keys)...)
		}
	}
	return ids
}

// all returns all bindings.
func (s *store) all() []coverage.BindingID {
	var ids []coverage.BindingID
	for _, informer := range s.informers() {
		ids = append(ids, idsOf(informer.GetStore().ListKeys())...)
	}
	return ids
}

func idsOf(keys []string) []coverage.BindingID {
	ids := make([]coverage.BindingID, 0, len(keys))
	for _, key := range keys {
		if name, err := cache.ParseObjectName(key); err == nil {
			ids = append(ids, coverage.BindingID{Namespace: name.Namespace, Name: name.Name})
		}
	}
	return ids
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
	found, err := s.namespaced.Lister().Bindings(id.Namespace).Get(id.Name)
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
