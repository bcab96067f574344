package main

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	corev1alpha1 "github.com/kbind-dev/konnector/apis/core/v1alpha1"
	"github.com/kbind-dev/konnector/e2e/controlplane"
)

// Namespaces of Secrets on the consumer and of Leases on the provider.
const (
	secrets    = "kbind-bench"
	heartbeats = "heartbeats"
)

// applyBundle creates Secret, Connection and ClusterBinding of one name for an API.
func (b *bench) applyBundle(ctx context.Context, name string, api api) error {
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: secrets, Name: name},
		Data:       map[string][]byte{"kubeconfig": b.providerUser.Kubeconfig(controlplane.WithNamespace(heartbeats))},
	}
	if _, err := b.consumer.kube.CoreV1().Secrets(secrets).Create(ctx, secret, metav1.CreateOptions{}); err != nil {
		return err
	}
	core := b.consumer.core.CoreV1alpha1()
	connection := &corev1alpha1.Connection{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       corev1alpha1.ConnectionSpec{KubeconfigSecretRef: corev1alpha1.SecretKeyReference{Namespace: secrets, Name: name}},
	}
	if _, err := core.Connections().Create(ctx, connection, metav1.CreateOptions{}); err != nil {
		return err
	}
	binding := &corev1alpha1.ClusterBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1alpha1.BindingSpec{
			ConnectionRef: corev1alpha1.ConnectionReference{Name: name},
			APIs:          []corev1alpha1.APIReference{{Name: plural + "." + api.group}},
		},
	}
	_, err := core.ClusterBindings().Create(ctx, binding, metav1.CreateOptions{})
	return err
}

// ready waits until a ClusterBinding is ready.
func (b *bench) ready(ctx context.Context, name string) error {
	err := until(ctx, 5*stepLimit, 10*time.Millisecond, func(ctx context.Context) (bool, error) {
		binding, err := b.consumer.core.CoreV1alpha1().ClusterBindings().Get(ctx, name, metav1.GetOptions{})
		return err == nil && meta.IsStatusConditionTrue(binding.Status.Conditions, corev1alpha1.ConditionReady), err
	})
	if err != nil {
		return fmt.Errorf("ClusterBinding %s is not ready: %w", name, err)
	}
	return nil
}

// dropBundle removes what was bound without the konnector, which does not run: its
// instances and copies stay, and the next konnector knows nothing of them.
func (b *bench) dropBundle(ctx context.Context, name string) error {
	core := b.consumer.core.CoreV1alpha1()
	drop := []byte(`{"metadata":{"finalizers":null}}`)
	if _, err := core.ClusterBindings().Patch(ctx, name, types.MergePatchType, drop, metav1.PatchOptions{}); err != nil {
		return err
	}
	if _, err := core.Connections().Patch(ctx, name, types.MergePatchType, drop, metav1.PatchOptions{}); err != nil {
		return err
	}
	if err := core.ClusterBindings().Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
		return err
	}
	if err := core.Connections().Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
		return err
	}
	return b.consumer.kube.CoreV1().Secrets(secrets).Delete(ctx, name, metav1.DeleteOptions{})
}
