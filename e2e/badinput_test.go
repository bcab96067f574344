package e2e

import (
	"context"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	corev1alpha1 "github.com/kbind-dev/konnector/apis/core/v1alpha1"
	"github.com/kbind-dev/konnector/e2e/controlplane"
)

func TestBadSecretsAreReportedAndHeal(t *testing.T) {
	w := newWorld(t)
	w.offer(w.provider, "widgets")
	w.startKonnector()
	good := w.kubeconfig()
	exec := w.providerUser.Kubeconfig(func(config *clientcmdapi.Config) {
		for _, user := range config.AuthInfos {
			user.Exec = &clientcmdapi.ExecConfig{APIVersion: "client.authentication.k8s.io/v1", Command: "touch", Args: []string{"/tmp/never"}, InteractiveMode: "Never"}
		}
	})
	cases := []struct {
		name, reason string
		data         map[string][]byte // nil for no Secret
		words        []string
	}{
		{"no Secret", corev1alpha1.ReasonPending, nil, []string{"does not exist", `"kubeconfig"`}},
		{"no key", corev1alpha1.ReasonKeyNotFound, map[string][]byte{"config": good}, []string{`no key "kubeconfig"`, "it has: config"}},
		{"empty", corev1alpha1.ReasonKubeconfigInvalid, map[string][]byte{"kubeconfig": {}}, nil},
		{"garbage", corev1alpha1.ReasonKubeconfigInvalid, map[string][]byte{"kubeconfig": []byte("{{{{ no kubeconfig")}, nil},
		{"an exec plugin", corev1alpha1.ReasonKubeconfigNotAllowed, map[string][]byte{"kubeconfig": exec}, []string{"exec"}},
	}
	for i, each := range cases {
		w.run(each.name, func(t *testing.T) {
			name := fmt.Sprintf("bad%d", i)
			if each.data != nil {
				_, err := w.consumer.kube.CoreV1().Secrets(w.secretNamespace).Create(t.Context(), w.secret(name, each.data), metav1.CreateOptions{})
				w.must(err)
			}
			w.applyConnection(name)
			w.applyClusterBinding(name, name, "widgets")
			eventually(t, soon, "the Connection says so", func(ctx context.Context) error {
				if err := w.connectionCondition(ctx, name, corev1alpha1.ConditionSecretValid, metav1.ConditionFalse, each.reason, each.words...); err != nil {
					return err
				}
				return w.connectionCondition(ctx, name, corev1alpha1.ConditionReady, metav1.ConditionFalse, each.reason)
			})
			eventually(t, soon, "the binding says so", func(ctx context.Context) error {
				return w.bindingCondition(ctx, name, corev1alpha1.ConditionReady, metav1.ConditionFalse, corev1alpha1.ReasonConnectionNotReady, each.reason)
			})
			w.applySecret(name, good)
			w.waitReady(name)
			w.unbind(name)
		})
	}
}

func TestSecretsOutsideOfTheAllowedNamespacesAreNotRead(t *testing.T) {
	w := newWorld(t)
	w.startKonnector()
	since := w.consumer.Mark()
	w.applyConnection("acme", func(connection *corev1alpha1.Connection) {
		connection.Spec.KubeconfigSecretRef.Namespace = w.namespace
	})
	eventually(t, soon, "it is refused", func(ctx context.Context) error {
		return w.connectionCondition(ctx, "acme", corev1alpha1.ConditionSecretValid, metav1.ConditionFalse, corev1alpha1.ReasonNamespaceNotAllowed, w.secretNamespace, "--credential-namespaces")
	})
	w.applySecret("good", w.kubeconfig())
	w.applyConnection("good")
	eventually(t, soon, "an allowed one works", func(ctx context.Context) error {
		return w.connectionCondition(ctx, "good", corev1alpha1.ConditionReady, metav1.ConditionTrue, "")
	})
	if w.consumer.Existing() {
		return
	}
	calls, err := w.consumer.CallsSince(t.Context(), since)
	w.must(err)
	for _, call := range controlplane.SelectCalls(calls, func(call controlplane.Call) bool {
		return call.User == w.consumerUser.Name && call.Resource == "secrets"
	}) {
		if call.Namespace != w.secretNamespace || !strings.Contains(call.Params().Get("fieldSelector"), "metadata.name="+w.id) {
			t.Errorf("the konnector reads more than the Secrets that are named: %s", call)
		}
	}
}

func TestUnreachableProvider(t *testing.T) {
	w := newWorld(t)
	w.offer(w.provider, "widgets")
	w.startKonnector()
	// A port where nobody listens.
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	w.must(err)
	dead := "https://" + listener.Addr().String()
	w.must(listener.Close())

	w.applySecret("acme", w.providerUser.Kubeconfig(controlplane.WithNamespace(w.heartbeatNamespace()), controlplane.WithServer(dead)))
	w.applyConnection("acme")
	w.applyClusterBinding("acme", "acme", "widgets")
	eventually(t, soon, "it is unreachable", func(ctx context.Context) error {
		return w.connectionCondition(ctx, "acme", corev1alpha1.ConditionConnected, metav1.ConditionFalse, corev1alpha1.ReasonUnreachable, "refuses connections")
	})
	w.applySecret("acme", w.kubeconfig())
	w.waitReady("acme")
}

func TestProviderThatGoesAndComesBack(t *testing.T) {
	w := newWorld(t)
	if w.provider.Existing() {
		t.Skip("needs a provider whose API server can be stopped")
	}
	w.offer(w.provider, "widgets")
	w.startKonnector()
	w.bind("acme", "widgets")
	w.createWidget(w.consumer, "a", map[string]any{"size": int64(1)})
	w.waitField(w.widgets(w.provider), "a", int64(1), "spec", "size")

	w.must(w.provider.StopAPIServer(t.Context()))
	t.Cleanup(func() { _ = w.provider.StartAPIServer(context.Background()) })
	w.createWidget(w.consumer, "b", map[string]any{"size": int64(2)})
	w.patch(w.widgets(w.consumer), "a", `{"spec":{"size":3}}`)
	eventually(t, late, "it is unreachable", func(ctx context.Context) error {
		return w.connectionCondition(ctx, "acme", corev1alpha1.ConditionReady, metav1.ConditionFalse, corev1alpha1.ReasonUnreachable)
	})
	w.must(w.provider.StartAPIServer(t.Context()))
	w.waitEqual(2)
	eventually(t, late, "it is ready again", func(ctx context.Context) error {
		return w.bindingCondition(ctx, "acme", corev1alpha1.ConditionReady, metav1.ConditionTrue, "")
	})
}

func TestBindingToNothing(t *testing.T) {
	w := newWorld(t)
	w.startKonnector()
	w.applyClusterBinding("acme", "acme", "widgets")
	eventually(t, soon, "no Connection", func(ctx context.Context) error {
		return w.bindingCondition(ctx, "acme", corev1alpha1.ConditionReady, metav1.ConditionFalse, corev1alpha1.ReasonPending, "does not exist", w.name("acme"))
	})
	w.applySecret("acme", w.kubeconfig())
	w.applyConnection("acme")
	eventually(t, soon, "no API", func(ctx context.Context) error {
		return w.bindingCondition(ctx, "acme", corev1alpha1.ConditionReady, metav1.ConditionFalse, corev1alpha1.ReasonPending, w.api("widgets"), corev1alpha1.LabelExported)
	})
	crd := w.fixture("widgets")
	delete(crd.Labels, corev1alpha1.LabelExported)
	w.createCRD(w.provider, crd)
	always(t, 2*time.Second, "what isn't labelled isn't exported", func(ctx context.Context) error {
		return w.bindingCondition(ctx, "acme", corev1alpha1.ConditionReady, metav1.ConditionFalse, corev1alpha1.ReasonPending)
	})
	w.label(crd.Name, `"true"`)
	w.waitReady("acme")

	w.run("an API that stops being exported pauses and loses nothing", func(t *testing.T) {
		w.createWidget(w.consumer, "a", map[string]any{"size": int64(1)})
		w.waitField(w.widgets(w.provider), "a", int64(1), "spec", "size")
		w.label(crd.Name, `null`)
		eventually(t, soon, "it pauses", func(ctx context.Context) error {
			return w.bindingCondition(ctx, "acme", corev1alpha1.ConditionReady, metav1.ConditionFalse, corev1alpha1.ReasonAPINotExported)
		})
		w.patch(w.widgets(w.consumer), "a", `{"spec":{"size":2}}`)
		always(t, 2*time.Second, "nothing is written or deleted", func(ctx context.Context) error {
			size, err := field(ctx, w.widgets(w.provider), "a", "spec", "size")
			if err == nil && size != int64(1) {
				err = fmt.Errorf("size %v", size)
			}
			return err
		})
		w.label(crd.Name, `"true"`)
		w.waitReady("acme")
		w.waitField(w.widgets(w.provider), "a", int64(2), "spec", "size")
	})
}

// label sets the label by which the provider exports a CRD.
func (w *world) label(crd, value string) {
	w.t.Helper()
	patch := fmt.Sprintf(`{"metadata":{"labels":{%q:%s}}}`, corev1alpha1.LabelExported, value)
	_, err := w.provider.crds.ApiextensionsV1().CustomResourceDefinitions().Patch(w.t.Context(), crd, "application/merge-patch+json", []byte(patch), metav1.PatchOptions{})
	w.must(err)
}

func TestIdentityThatMayNotBeAsked(t *testing.T) {
	w := newWorld(t)
	rules := w.providerRules()
	rules[0].Verbs = []string{"create"}
	w.must(w.providerUser.SetRules(t.Context(), rules...))
	w.startKonnector()
	w.applySecret("acme", w.kubeconfig())
	w.applyConnection("acme")
	eventually(t, soon, "verb and resource are named", func(ctx context.Context) error {
		return w.connectionCondition(ctx, "acme", corev1alpha1.ConditionPermissionDenied, metav1.ConditionTrue, corev1alpha1.ReasonForbidden, "get namespaces", "kube-system")
	})
	w.must(w.providerUser.SetRules(t.Context(), w.providerRules()...))
	eventually(t, late, "it heals", func(ctx context.Context) error {
		return w.connectionCondition(ctx, "acme", corev1alpha1.ConditionReady, metav1.ConditionTrue, "")
	})
	connection, err := w.consumer.core.CoreV1alpha1().Connections().Get(t.Context(), w.name("acme"), metav1.GetOptions{})
	w.must(err)
	if string(connection.Status.RemoteClusterUID) != w.uid(w.provider) || string(connection.Status.LocalClusterUID) != w.uid(w.consumer) {
		t.Errorf("pinned: %q and %q", connection.Status.RemoteClusterUID, connection.Status.LocalClusterUID)
	}
	w.run("what is pinned can't be changed", func(t *testing.T) {
		for _, patch := range []string{`{"status":{"remoteClusterUID":"x"}}`, `{"status":{"remoteClusterUID":null}}`, `{"spec":{"kubeconfigSecretRef":{"name":"x"}}}`} {
			subresources := []string{"status"}
			if strings.Contains(patch, "spec") {
				subresources = nil
			}
			_, err := w.consumer.core.CoreV1alpha1().Connections().Patch(t.Context(), w.name("acme"), "application/merge-patch+json", []byte(patch), metav1.PatchOptions{}, subresources...)
			if err == nil {
				t.Errorf("%s was accepted", patch)
			}
		}
	})
}
