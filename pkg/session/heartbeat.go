package session

import (
	"context"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"

	corev1alpha1 "github.com/kbind-dev/konnector/apis/core/v1alpha1"
	"github.com/kbind-dev/konnector/pkg/access"
)

// DefaultNamespace is that of the Lease when the kubeconfig's context names none.
const DefaultNamespace = "kbind"

// duplicateMemory is how long another process on the same Lease is remembered.
const duplicateMemory = 6 * heartbeatInterval

// heartbeat renews a Lease on the provider, so that the provider's side sees that
// this consumer lives and the consumer's side that the provider answers.
type heartbeat struct {
	kube    kubernetes.Interface
	options Options
	now     func() time.Time

	lease     *coordinationv1.Lease // as last written, nil when unknown
	looked    bool                  // whether the Lease was read or made by us before
	duplicate string                // the other process on our Lease
	seen      time.Time             // when it was noticed
}

func newHeartbeat(kube kubernetes.Interface, options Options) *heartbeat {
	if options.Namespace == "" {
		options.Namespace = DefaultNamespace
	}
	return &heartbeat{kube: kube, options: options, now: time.Now}
}

// name is unique for each consumer cluster and Connection.
func (h *heartbeat) name() string {
	return "konnector-" + Fingerprint([]byte(string(h.options.ConsumerUID)+"/"+h.options.Connection))
}

func (h *heartbeat) action(verb string) access.Action {
	return access.Action{Verb: verb, Group: coordinationv1.GroupName, Resource: "leases", Namespace: h.options.Namespace, Name: h.name()}
}

// renew writes the Lease once; at rest that is one call.
func (h *heartbeat) renew(ctx context.Context) Beat {
	err := h.write(ctx)
	if apierrors.IsConflict(err) {
		// Somebody else wrote it: look who, and take it back.
		h.lease = nil
		err = h.write(ctx)
	}
	beat := Beat{Tried: true, Err: err}
	if h.duplicate != "" && h.now().Sub(h.seen) < duplicateMemory {
		beat.Duplicate = h.duplicate
	}
	return beat
}

// write updates the Lease, or finds or makes it first.
func (h *heartbeat) write(ctx context.Context) error {
	leases := h.kube.CoordinationV1().Leases(h.options.Namespace)
	if h.lease == nil {
		found, err := leases.Get(ctx, h.name(), metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return h.create(ctx)
		}
		if err != nil {
			return refused(h.action("get"), err)
		}
		h.notice(found)
		h.lease = found
	}
	wanted := h.lease.DeepCopy()
	h.fill(wanted)
	written, err := leases.Update(ctx, wanted, metav1.UpdateOptions{})
	if err != nil {
		if !apierrors.IsConflict(err) {
			h.lease = nil
		}
		return refused(h.action("update"), err)
	}
	h.lease = written
	return nil
}

// notice remembers another process that lives and renews our Lease. At the first
// look the Lease still names the process before us, which renews it no more.
func (h *heartbeat) notice(lease *coordinationv1.Lease) {
	holder := ptr.Deref(lease.Spec.HolderIdentity, "")
	if h.looked && holder != "" && holder != h.options.Instance {
		h.duplicate, h.seen = holder, h.now()
	}
	h.looked = true
}

// create makes the Lease, and its namespace when that is missing.
func (h *heartbeat) create(ctx context.Context) error {
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{
		Namespace: h.options.Namespace,
		Name:      h.name(),
		Labels: map[string]string{
			corev1alpha1.LabelManaged:  corev1alpha1.ValueTrue,
			corev1alpha1.LabelConsumer: string(h.options.ConsumerUID),
		},
		Annotations: map[string]string{corev1alpha1.AnnotationConnection: h.options.Connection},
	}}
	h.fill(lease)
	leases := h.kube.CoordinationV1().Leases(h.options.Namespace)
	written, err := leases.Create(ctx, lease, metav1.CreateOptions{FieldManager: corev1alpha1.FieldManager})
	if access.Classify(err) == access.NamespaceMissing {
		if err := CreateNamespace(ctx, h.kube, h.options.Namespace, h.options.ConsumerUID); err != nil {
			return err
		}
		written, err = leases.Create(ctx, lease, metav1.CreateOptions{FieldManager: corev1alpha1.FieldManager})
	}
	if err != nil {
		return refused(h.action("create"), err)
	}
	h.looked, h.lease = true, written
	return nil
}

// fill sets what a renewal changes.
func (h *heartbeat) fill(lease *coordinationv1.Lease) {
	now := metav1.NewMicroTime(h.now())
	if ptr.Deref(lease.Spec.HolderIdentity, "") != h.options.Instance {
		lease.Spec.HolderIdentity = ptr.To(h.options.Instance)
		lease.Spec.AcquireTime = &now
		lease.Spec.LeaseTransitions = ptr.To(ptr.Deref(lease.Spec.LeaseTransitions, 0) + 1)
	}
	lease.Spec.RenewTime = &now
	lease.Spec.LeaseDurationSeconds = ptr.To(int32(4 * heartbeatInterval / time.Second))
}

// end deletes the Lease.
func (h *heartbeat) end(ctx context.Context) error {
	err := h.kube.CoordinationV1().Leases(h.options.Namespace).Delete(ctx, h.name(), metav1.DeleteOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return refused(h.action("delete"), err)
}

// CreateNamespace creates a namespace on the provider, marked as made by the
// konnector for our cluster. One that exists is left as it is.
func CreateNamespace(ctx context.Context, kube kubernetes.Interface, name string, consumer types.UID) error {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: name,
		Labels: map[string]string{
			corev1alpha1.LabelManaged:  corev1alpha1.ValueTrue,
			corev1alpha1.LabelConsumer: string(consumer),
		},
		Annotations: map[string]string{corev1alpha1.AnnotationConsumerClusterUID: string(consumer)},
	}}
	_, err := kube.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{FieldManager: corev1alpha1.FieldManager})
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return refused(access.Action{Verb: "create", Resource: "namespaces", Name: name}, err)
}
