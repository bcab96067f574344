package controlplane_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/kbind-dev/konnector/e2e/controlplane"
	"github.com/kbind-dev/konnector/e2e/controlplane/controlplanetest"
)

var crds = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

// TestControlPlane starts one control plane and uses all of it.

func TestControlPlane(t *testing.T) {
	began := time.Now()
	cp := controlplanetest.ForTest(t, "whole")
	t.Logf("Ready after %s.", time.Since(began).Round(10*time.Millisecond))
	if cp.Existing() {
		t.Skip("is about control planes of our own")
	}
	for _, step := range []struct {
		name string
		test func(*testing.T, *controlplane.ControlPlane)
	}{
		{"is ready and of a version", isReady},
		{"tells aggregated APIs whom to trust", tellsWhomToTrust},
		{"establishes a CRD", establishesCRD},
		{"knows a ServiceAccount by its token", knowsServiceAccount},
		{"refuses what a user's rules lack", refusesOthers},
		{"acts by changed rules at once", actsByChangedRules},
		{"empties and removes a deleted namespace", removesNamespace},
		{"collects what a deleted owner owned", collectsGarbage},
		{"tells who called what", tellsCalls},
		{"leads through another address", leadsThroughOther},
		{"keeps data while the API server is away", keepsData},
		{"is used as an existing cluster", isUsedAsExisting},
		{"leaves nothing behind", leavesNothing},
	} {
		if !t.Run(step.name, func(t *testing.T) { step.test(t, cp) }) {
			return
		}
	}
}

func isReady(t *testing.T, cp *controlplane.ControlPlane) {
	body, err := admin(t, cp).RESTClient().Get().AbsPath("/readyz").DoRaw(t.Context())
	if err != nil || string(body) != "ok" {
		t.Errorf("/readyz = %q, %v", body, err)
	}
	version, err := admin(t, cp).ServerVersion()
	if err != nil || !strings.HasPrefix(version.GitVersion, "v1.") {
		t.Errorf("version = %v, %v", version, err)
	}
}

func tellsWhomToTrust(t *testing.T, cp *controlplane.ControlPlane) {
	trust, err := admin(t, cp).CoreV1().ConfigMaps("kube-system").Get(t.Context(), "extension-apiserver-authentication", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"client-ca-file", "requestheader-client-ca-file"} {
		if !strings.Contains(trust.Data[key], "BEGIN CERTIFICATE") {
			t.Errorf("%s = %q", key, trust.Data[key])
		}
	}
}

func establishesCRD(t *testing.T, cp *controlplane.ControlPlane) {
	client := dynamic.NewForConfigOrDie(cp.AdminConfig())
	_, err := client.Resource(crds).Create(t.Context(), widgetCRD(), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the CRD to be established", func(ctx context.Context) (bool, error) {
		crd, err := client.Resource(crds).Get(ctx, "widgets.example.com", metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		conditions, _, _ := unstructured.NestedSlice(crd.Object, "status", "conditions")
		return strings.Contains(fmt.Sprint(conditions), "status:True type:Established"), nil
	})
}

func removesNamespace(t *testing.T, cp *controlplane.ControlPlane) {
	client := admin(t, cp)
	makeNamespace(t, client, "short-lived")
	makeConfigMap(t, client, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "short-lived", Name: "content"}})
	if err := client.CoreV1().Namespaces().Delete(t.Context(), "short-lived", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the namespace to be gone", func(ctx context.Context) (bool, error) {
		return isGone(client.CoreV1().Namespaces().Get(ctx, "short-lived", metav1.GetOptions{}))
	})
}

func collectsGarbage(t *testing.T, cp *controlplane.ControlPlane) {
	client := admin(t, cp)
	owner := makeConfigMap(t, client, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "owner"}})
	makeConfigMap(t, client, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "owned", OwnerReferences: []metav1.OwnerReference{
		{APIVersion: "v1", Kind: "ConfigMap", Name: owner.Name, UID: owner.UID},
	}}})
	if err := client.CoreV1().ConfigMaps("default").Delete(t.Context(), "owner", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the owned ConfigMap to be gone", func(ctx context.Context) (bool, error) {
		return isGone(client.CoreV1().ConfigMaps("default").Get(ctx, "owned", metav1.GetOptions{}))
	})
}

// processesOf returns the command lines that name the folder.

// TestKilledOwner kills a program that has started a control plane, with a

// signal that it cannot catch.

// TestTwo starts a pair at once, as most tests do.

// eventually fails the test unless the condition comes true within a minute.
