package connection

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clienttesting "k8s.io/client-go/testing"

	corev1alpha1 "github.com/kbind-dev/konnector/apis/core/v1alpha1"
	"github.com/kbind-dev/konnector/pkg/status"
)

func TestAConnectionBecomesReady(t *testing.T) {
	server := newAPIServer(t, remote)
	c := newConsumer(t, newConnection("main"), newSecret("provider", server.kubeconfigFor("token-1")))
	opened := c.connects("main")
	c.says(corev1alpha1.ConditionReady, metav1.ConditionTrue, corev1alpha1.ReasonReady)
	c.says(corev1alpha1.ConditionHeartbeat, metav1.ConditionTrue, corev1alpha1.ReasonLeaseRenewed)

	connection := c.connection("main")
	if connection.Status.RemoteClusterUID != remote || connection.Status.LocalClusterUID != local {
		t.Errorf("pinned are %q and %q", connection.Status.RemoteClusterUID, connection.Status.LocalClusterUID)
	}
	if !slices.Contains(connection.Finalizers, corev1alpha1.FinalizerCleanup) {
		t.Error("no finalizer")
	}
	if c.catalogs.Get("main") == nil || !c.catalogs.Get("main").Synced() || opened.State().UID != remote {
		t.Error("what is published is not complete")
	}
	settled := len(c.core.Actions())
	c.Enqueue("main")
	c.never("a write without news", func() bool { return len(c.core.Actions()) > settled+1 }) // the read of the assertion itself
}

func TestInAnyOrder(t *testing.T) {
	t.Run("the Secret comes after the Connection", func(t *testing.T) {
		server := newAPIServer(t, remote)
		c := newConsumer(t, newConnection("main"))
		c.says(corev1alpha1.ConditionSecretValid, metav1.ConditionFalse, corev1alpha1.ReasonPending)
		if _, err := c.kube.CoreV1().Secrets("kbind").Create(context.Background(), newSecret("provider", server.kubeconfigFor("token")), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		c.connects("main")
	})
	t.Run("the Connection comes after the Secret", func(t *testing.T) {
		server := newAPIServer(t, remote)
		c := newConsumer(t, newSecret("provider", server.kubeconfigFor("token")))
		if _, err := c.core.CoreV1alpha1().Connections().Create(context.Background(), newConnection("main"), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		c.connects("main")
	})
}

func TestOnlySecretsThatAreNamedAreRead(t *testing.T) {
	server := newAPIServer(t, remote)
	c := newConsumer(t,
		newConnection("main"), newConnection("twin"), withSecret("third", "kbind", "own"), withSecret("stranger", "team-a", "provider"),
		newSecret("provider", server.kubeconfigFor("token")), newSecret("own", server.kubeconfigFor("token")), newSecret("unrelated", nil),
	)
	for _, name := range []string{"main", "twin", "third"} {
		c.connects(name)
	}
	c.eventually("the one outside is refused", func() bool {
		return status.Get(c.connection("stranger").Status.Conditions, corev1alpha1.ConditionSecretValid).Reason == corev1alpha1.ReasonNamespaceNotAllowed
	})
	want := []string{
		"list kbind metadata.name=own", "list kbind metadata.name=provider",
		"watch kbind metadata.name=own", "watch kbind metadata.name=provider",
	}
	if diff := cmp.Diff(want, c.reads()); diff != "" {
		t.Errorf("reads of Secrets: %s", diff)
	}
}

func TestAWatchOfASecretEndsWithItsLastConnection(t *testing.T) {
	server := newAPIServer(t, remote)
	c := newConsumer(t, newConnection("main"), newConnection("twin"), newSecret("provider", server.kubeconfigFor("token")))
	c.connects("main")
	c.connects("twin")
	watched := func() bool {
		c.secrets.mu.Lock()
		defer c.secrets.mu.Unlock()
		return len(c.secrets.watches) > 0
	}
	remove := func(name string) {
		t.Helper()
		if err := c.core.CoreV1alpha1().Connections().Delete(context.Background(), name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	remove("twin")
	c.eventually("the session of twin is gone", func() bool { return c.sessions.Get("twin") == nil })
	if !watched() {
		t.Fatal("the watch ended while main uses it")
	}
	next := server.kubeconfigFor("token-2")
	before := c.sessions.Get("main")
	c.write(next, nil)
	c.eventually("main still follows the Secret", func() bool { open := c.sessions.Get("main"); return open != nil && open != before })
	if err := c.core.Tracker().Delete(corev1alpha1.SchemeGroupVersion.WithResource("connections"), "", "main"); err != nil {
		t.Fatal(err)
	}
	c.Enqueue("main")
	c.eventually("the watch ends", func() bool { return !watched() })
	if open := c.sessions.Get("main"); open != nil {
		t.Error("a session outlived its Connection")
	}
}

func TestRotation(t *testing.T) {
	server := newAPIServer(t, remote)
	c := newConsumer(t, newConnection("main"), newSecret("provider", server.kubeconfigFor("token-1")))
	first := c.connects("main")
	c.eventually("the catalog is followed", func() bool { return server.openWatches() == 1 })

	c.write(server.kubeconfigFor("token-1"), map[string]string{"touched": "yes"})
	c.never("a new session for the same bytes", func() bool { return c.sessions.Get("main") != first || first.Context().Err() != nil })

	c.write(server.kubeconfigFor("token-2"), nil)
	c.eventually("another session", func() bool { open := c.sessions.Get("main"); return open != nil && open != first })
	if first.Context().Err() == nil {
		t.Error("the old session is still open")
	}
	c.eventually("the watches of the old session end", func() bool { return server.openWatches() == 1 })
	c.says(corev1alpha1.ConditionReady, metav1.ConditionTrue, corev1alpha1.ReasonReady)
}

func TestTheLastGoodCredentialsStayInUse(t *testing.T) {
	server := newAPIServer(t, remote)
	c := newConsumer(t, newConnection("main"), newSecret("provider", server.kubeconfigFor("S3CR3T-token")))
	opened := c.connects("main")

	c.write([]byte(`{"users": [{"name": "u", "user": {"token": "S3CR3T-other"}}]`), nil)
	c.says(corev1alpha1.ConditionSecretValid, metav1.ConditionFalse, corev1alpha1.ReasonKubeconfigInvalid)
	c.write(nil, nil)
	c.says(corev1alpha1.ConditionSecretValid, metav1.ConditionFalse, corev1alpha1.ReasonKubeconfigInvalid)
	if err := c.kube.CoreV1().Secrets("kbind").Delete(context.Background(), "provider", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	c.says(corev1alpha1.ConditionSecretValid, metav1.ConditionFalse, corev1alpha1.ReasonPending)
	c.says(corev1alpha1.ConditionConnected, metav1.ConditionTrue, corev1alpha1.ReasonConnected)
	if c.sessions.Get("main") != opened || opened.Context().Err() != nil {
		t.Error("the session has ended")
	}
	for _, action := range c.core.Actions() {
		if patch, is := action.(clienttesting.PatchAction); is && strings.Contains(string(patch.GetPatch()), "S3CR3T") {
			t.Errorf("a credential is in the status: %s", patch.GetPatch())
		}
	}
}

// Syncers write as soon as a session is published, so that the pins have to be safe by then.
func TestASessionIsPublishedOnlyAfterThePinsAreCommitted(t *testing.T) {
	server := newAPIServer(t, remote)
	c := newConsumer(t, newConnection("main"))
	var refused atomic.Bool
	c.onPatch(func(patch string) error {
		if !strings.Contains(patch, "remoteClusterUID") {
			return nil
		}
		refused.Store(true)
		return apierrors.NewConflict(corev1alpha1.SchemeGroupVersion.WithResource("connections").GroupResource(), "main", errors.New("changed"))
	})
	if _, err := c.kube.CoreV1().Secrets("kbind").Create(context.Background(), newSecret("provider", server.kubeconfigFor("token")), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	c.eventually("the pin is refused", refused.Load)
	c.never("a session without a pin", func() bool { return c.sessions.Get("main") != nil || c.catalogs.Get("main") != nil })
	c.onPatch(func(patch string) error {
		if strings.Contains(patch, "remoteClusterUID") && c.sessions.Get("main") != nil {
			t.Error("the session was published before its pin was written")
		}
		return nil
	})
	c.connects("main")
}

func TestAnotherCluster(t *testing.T) {
	server, other := newAPIServer(t, remote), newAPIServer(t, "other-uid")
	c := newConsumer(t, newConnection("main"), newSecret("provider", server.kubeconfigFor("token")))
	first := c.connects("main")

	c.write(other.kubeconfigFor("token"), nil)
	c.says(corev1alpha1.ConditionConnected, metav1.ConditionFalse, corev1alpha1.ReasonClusterIdentityChanged)
	if c.sessions.Get("main") != nil || c.catalogs.Get("main") != nil || first.Context().Err() == nil {
		t.Error("syncing goes on")
	}
	if got := c.connection("main").Status.RemoteClusterUID; got != remote {
		t.Errorf("the pin has moved to %q", got)
	}
	c.never("a write to the other cluster", func() bool { return len(other.writes()) > 0 })

	c.write(server.kubeconfigFor("token-2"), nil)
	c.connects("main")
	c.says(corev1alpha1.ConditionReady, metav1.ConditionTrue, corev1alpha1.ReasonReady)

	t.Run("is left alone when the Connection goes", func(t *testing.T) {
		c.write(other.kubeconfigFor("token-3"), nil)
		c.says(corev1alpha1.ConditionConnected, metav1.ConditionFalse, corev1alpha1.ReasonClusterIdentityChanged)
		c.delete()
		c.released()
		if writes := other.writes(); len(writes) > 0 {
			t.Errorf("it was written to: %q", writes)
		}
	})
}

func TestTheSameAddressLeadsBack(t *testing.T) {
	server := newAPIServer(t, "other-uid")
	connection := newConnection("main")
	connection.Status.RemoteClusterUID, connection.Status.LocalClusterUID = remote, local
	c := newConsumer(t, connection, newSecret("provider", server.kubeconfigFor("token")))
	c.says(corev1alpha1.ConditionConnected, metav1.ConditionFalse, corev1alpha1.ReasonClusterIdentityChanged)
	server.mu.Lock()
	server.uid = remote
	server.mu.Unlock()
	c.connects("main")
}

func TestAConnectionOfAnotherConsumerIsNotUsed(t *testing.T) {
	server := newAPIServer(t, remote)
	connection := newConnection("main")
	connection.Status.RemoteClusterUID, connection.Status.LocalClusterUID = remote, types.UID("before-the-backup")
	c := newConsumer(t, connection, newSecret("provider", server.kubeconfigFor("token")))
	c.says(corev1alpha1.ConditionConnected, metav1.ConditionFalse, corev1alpha1.ReasonClusterIdentityChanged)
	c.never("a call to the provider", func() bool {
		server.mu.Lock()
		defer server.mu.Unlock()
		return len(server.calls) > 0
	})
}

func TestTheSourceOpenAPIPublishesNoCatalog(t *testing.T) {
	server := newAPIServer(t, remote)
	connection := newConnection("main")
	connection.Spec.Schema.Source = corev1alpha1.SchemaSourceOpenAPI
	c := newConsumer(t, connection, newSecret("provider", server.kubeconfigFor("token")))
	c.says(corev1alpha1.ConditionReady, metav1.ConditionFalse, corev1alpha1.ReasonSourceNotSupported)
	c.eventually("a session, for what has to be let go", func() bool { return c.sessions.Get("main") != nil })
	if c.catalogs.Get("main") != nil {
		t.Error("the provider's CRDs are used all the same")
	}
	c.change(func(connection *corev1alpha1.Connection) {
		connection.Spec.Schema.Source = corev1alpha1.SchemaSourceCRD
	})
	c.connects("main")
}

func TestDeletionWaitsForBindings(t *testing.T) {
	server := newAPIServer(t, remote)
	c := newConsumer(t, newConnection("main"), newSecret("provider", server.kubeconfigFor("token")))
	c.setUsers(2)
	opened := c.connects("main")
	c.says(corev1alpha1.ConditionHeartbeat, metav1.ConditionTrue, corev1alpha1.ReasonLeaseRenewed)

	c.delete()
	c.says(corev1alpha1.ConditionReady, metav1.ConditionFalse, corev1alpha1.ReasonDrainingBindings)
	c.setUsers(1)
	c.eventually("the number follows", func() bool {
		return strings.HasSuffix(status.Get(c.connection("main").Status.Conditions, corev1alpha1.ConditionReady).Message, " 1.")
	})
	if c.sessions.Get("main") != opened {
		t.Error("what the bindings need is gone")
	}
	if !slices.Contains(c.connection("main").Finalizers, corev1alpha1.FinalizerCleanup) {
		t.Fatal("the Connection does not wait")
	}

	c.setUsers(0)
	c.released()
	if writes := server.writes(); !strings.HasPrefix(writes[len(writes)-1], "DELETE /apis/coordination.k8s.io/v1/namespaces/kbind/leases/konnector-") {
		t.Errorf("the Lease stays: %q", writes)
	}
	c.eventually("the watches end", func() bool { return server.openWatches() == 0 })
	if opened.Context().Err() == nil || c.sessions.Get("main") != nil || c.catalogs.Get("main") != nil {
		t.Error("the session is still open")
	}
}

func TestDeletionNeedsNoProvider(t *testing.T) {
	for _, row := range []struct {
		name    string
		objects []runtime.Object
		waitFor string // the reason of SecretValid
	}{
		{"that never was", nil, corev1alpha1.ReasonPending},
		{"with credentials that are refused", []runtime.Object{newSecret("provider", nil)}, corev1alpha1.ReasonKubeconfigInvalid},
	} {
		t.Run(row.name, func(t *testing.T) {
			c := newConsumer(t, append(row.objects, newConnection("main"))...)
			c.says(corev1alpha1.ConditionSecretValid, metav1.ConditionFalse, row.waitFor)
			c.delete()
			c.released()
		})
	}
	t.Run("that has gone", func(t *testing.T) {
		server := newAPIServer(t, remote)
		c := newConsumer(t, newConnection("main"), newSecret("provider", server.kubeconfigFor("token")))
		c.connects("main")
		server.CloseClientConnections()
		server.Close()
		c.delete()
		c.released()
	})
}

func TestProvidersTellWhatChanges(t *testing.T) {
	server := newAPIServer(t, remote)
	c := newConsumer(t, newConnection("main"), newSecret("provider", server.kubeconfigFor("token")))
	if got := <-c.exports; got != "main/" {
		t.Errorf("told of %q", got)
	}
}
