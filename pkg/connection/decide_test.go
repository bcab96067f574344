package connection

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strings"
	"syscall"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	corev1alpha1 "github.com/kbind-dev/konnector/apis/core/v1alpha1"
	"github.com/kbind-dev/konnector/pkg/access"
	"github.com/kbind-dev/konnector/pkg/kubeconfig"
	"github.com/kbind-dev/konnector/pkg/session"
	"github.com/kbind-dev/konnector/pkg/status"
)

const (
	remote = types.UID("remote-uid")
	local  = types.UID("local-uid")
)

var widgets = corev1alpha1.ExportedAPI{
	Name: "widgets.demo.example.org", Group: "demo.example.org", Resource: "widgets", Kind: "Widget", Scope: "Namespaced", Versions: []string{"v1"},
}

// given changes facts.
type given func(*Facts)

// factsOf returns the facts of a Connection that works, changed.
func factsOf(changes ...given) Facts {
	facts := Facts{
		Connection: newConnection("main"),
		LocalUID:   local,
		Namespaces: []string{"kbind"},
		Secret:     SecretFacts{Allowed: true, Synced: true, Exists: true, Keys: []string{"kubeconfig"}, HasKey: true},
		Session:    &session.State{Answered: true, UID: remote, Heartbeat: session.Beat{Tried: true}},
		Catalog:    CatalogFacts{Synced: true, APIs: []corev1alpha1.ExportedAPI{widgets}},
	}
	for _, change := range changes {
		change(&facts)
	}
	return facts
}

func newConnection(name string) *corev1alpha1.Connection {
	return &corev1alpha1.Connection{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid-" + name), Generation: 3, ResourceVersion: "7"},
		Spec: corev1alpha1.ConnectionSpec{
			KubeconfigSecretRef: corev1alpha1.SecretKeyReference{Namespace: "kbind", Name: "provider", Key: "kubeconfig"},
			Schema:              corev1alpha1.SchemaPolicy{Source: corev1alpha1.SchemaSourceAuto},
		},
		Status: corev1alpha1.ConnectionStatus{ObservedGeneration: -1},
	}
}

func secret(change func(*SecretFacts)) given { return func(f *Facts) { change(&f.Secret) } }

func sessionIs(state session.State) given { return func(f *Facts) { f.Session = &state } }

func answered(err error) given { return sessionIs(session.State{Answered: true, Err: err}) }

func noSession(f *Facts) { f.Session, f.Catalog = nil, CatalogFacts{} }

func beat(beat session.Beat) given { return func(f *Facts) { f.Session.Heartbeat = beat } }

func catalog(facts CatalogFacts) given { return func(f *Facts) { f.Catalog = facts } }

func pinned(remote, local types.UID) given {
	return func(f *Facts) {
		f.Connection.Status.RemoteClusterUID, f.Connection.Status.LocalClusterUID = remote, local
	}
}

func source(source corev1alpha1.SchemaSource) given {
	return func(f *Facts) { f.Connection.Spec.Schema.Source = source }
}

func deletingWith(bindings int) given {
	return func(f *Facts) {
		now := metav1.Now()
		f.Connection.DeletionTimestamp = &now
		f.Bindings = bindings
	}
}

// observed gives the Connection the status that other facts led to, at this generation.
func observed(before Facts) given {
	after, _ := Decide(before)
	return func(f *Facts) { f.Connection.Status = after }
}

var (
	refusedByRBAC = apierrors.NewForbidden(schema.GroupResource{Resource: "things"}, "x", errors.New("not allowed"))
	noConnection  = &url.Error{Op: "Get", URL: "https://api.example.org:6443/apis", Err: &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}}
	unauthorized  = apierrors.NewUnauthorized("Unauthorized")
)

func identityRefused() error {
	return session.Refused{Action: access.Action{Verb: "get", Resource: "namespaces", Name: "kube-system"}, Err: refusedByRBAC}
}

// reset is an error of the network whose text holds a port that differs from try to try.
func reset(port int) error {
	return &url.Error{Op: "Put", URL: "https://api.example.org:6443/apis", Err: &net.OpError{
		Op: "read", Net: "tcp", Source: &net.TCPAddr{IP: net.IPv4(10, 0, 0, 1), Port: port}, Err: os.NewSyscallError("read", syscall.ECONNRESET),
	}}
}

// text returns a condition as one line.
func text(condition status.Condition) string {
	return fmt.Sprintf("%s %s: %s", condition.Status, condition.Reason, condition.Message)
}

// The whole text of each condition stands here, so that a person can read what users read.
func TestConditions(t *testing.T) {
	refusal := func(reason, field, message string) given {
		return secret(func(s *SecretFacts) { s.Refusal = &kubeconfig.Refusal{Reason: reason, Field: field, Message: message} })
	}
	for _, row := range []struct {
		name      string
		facts     Facts
		condition string
		want      string
	}{
		{"C1 a Secret outside of the allowed namespaces",
			factsOf(noSession, secret(func(s *SecretFacts) { *s = SecretFacts{} }), func(f *Facts) { f.Connection.Spec.KubeconfigSecretRef.Namespace = "team-a" }),
			corev1alpha1.ConditionSecretValid,
			`False NamespaceNotAllowed: spec.kubeconfigSecretRef.namespace: credentials are taken only from Secrets in: kbind. Create the Secret and a Connection for it there, or add "team-a" to the konnector's --credential-namespaces.`},
		{"C1 a Secret that the konnector may not read",
			factsOf(noSession, secret(func(s *SecretFacts) { *s = SecretFacts{Allowed: true, Err: refusedByRBAC} })),
			corev1alpha1.ConditionSecretValid,
			`False Forbidden: The consumer cluster does not let the konnector read Secret kbind/provider. Grant the verb "watch" on the resource "secrets" of the API group "" with a Role and a RoleBinding in namespace "kbind".`},
		{"a Secret that can't be read for another reason",
			factsOf(noSession, secret(func(s *SecretFacts) {
				*s = SecretFacts{Allowed: true, Err: apierrors.NewInternalError(errors.New("etcd is down"))}
			})),
			corev1alpha1.ConditionSecretValid,
			`False Error: Secret kbind/provider can't be read: Internal error occurred: etcd is down`},
		{"a Secret that has not been read yet",
			factsOf(noSession, secret(func(s *SecretFacts) { *s = SecretFacts{Allowed: true} })),
			corev1alpha1.ConditionSecretValid,
			`Unknown Pending: Secret kbind/provider is being read.`},
		{"a Secret that does not exist is waited for",
			factsOf(noSession, secret(func(s *SecretFacts) { *s = SecretFacts{Allowed: true, Synced: true} })),
			corev1alpha1.ConditionSecretValid,
			`False Pending: Secret kbind/provider does not exist yet. Create it with the provider's kubeconfig under the key "kubeconfig".`},
		{"C11 a Secret that was deleted alone",
			factsOf(secret(func(s *SecretFacts) { *s = SecretFacts{Allowed: true, Synced: true} })),
			corev1alpha1.ConditionSecretValid,
			`False Pending: Secret kbind/provider does not exist yet. Create it with the provider's kubeconfig under the key "kubeconfig". The last credentials that were valid stay in use meanwhile.`},
		{"a Secret without the key",
			factsOf(noSession, secret(func(s *SecretFacts) { s.HasKey, s.Keys = false, []string{"value", "config"} })),
			corev1alpha1.ConditionSecretValid,
			`False KeyNotFound: Secret kbind/provider has no key "kubeconfig"; it has: config, value. Put the provider's kubeconfig under that key, or name another in spec.kubeconfigSecretRef.key of a new Connection.`},
		{"a Secret without any key",
			factsOf(noSession, secret(func(s *SecretFacts) { s.HasKey, s.Keys = false, nil })),
			corev1alpha1.ConditionSecretValid,
			`False KeyNotFound: Secret kbind/provider has no key "kubeconfig"; it has: none. Put the provider's kubeconfig under that key, or name another in spec.kubeconfigSecretRef.key of a new Connection.`},
		{"C2 a kubeconfig that is refused for safety",
			factsOf(noSession, refusal(corev1alpha1.ReasonKubeconfigNotAllowed, "users[name=u].user.exec", "is never done: use a token")),
			corev1alpha1.ConditionSecretValid,
			`False KubeconfigNotAllowed: Secret kbind/provider: users[name=u].user.exec: is never done: use a token`},
		{"C2 a kubeconfig that can't work",
			factsOf(noSession, refusal(corev1alpha1.ReasonKubeconfigInvalid, "kubeconfig", "is empty: put a kubeconfig there")),
			corev1alpha1.ConditionSecretValid,
			`False KubeconfigInvalid: Secret kbind/provider: kubeconfig: is empty: put a kubeconfig there`},
		{"C5 a rotation to a kubeconfig that is refused",
			factsOf(refusal(corev1alpha1.ReasonKubeconfigInvalid, "kubeconfig", "is empty: put a kubeconfig there")),
			corev1alpha1.ConditionSecretValid,
			`False KubeconfigInvalid: Secret kbind/provider: kubeconfig: is empty: put a kubeconfig there. The last credentials that were valid stay in use meanwhile.`},
		{"a Secret that is well", factsOf(), corev1alpha1.ConditionSecretValid, `True SecretValid: The kubeconfig in Secret kbind/provider is in use.`},

		{"without a session nothing is connected", factsOf(noSession), corev1alpha1.ConditionConnected, `Unknown Pending: Waits for a valid Secret.`},
		{"a provider that has not answered yet", factsOf(sessionIs(session.State{})), corev1alpha1.ConditionConnected, `Unknown Connecting: The provider has not answered yet.`},
		{"a provider that answers", factsOf(), corev1alpha1.ConditionConnected, `True Connected: The provider answers (cluster UID remote-uid).`},
		{"C9 a provider that refuses connections", factsOf(answered(noConnection)), corev1alpha1.ConditionConnected,
			`False Unreachable: api.example.org:6443 refuses connections: check host and port of server in the kubeconfig, and that the API server runs.`},
		{"C9 a provider that does not answer in time", factsOf(answered(fmt.Errorf("asking: %w", context.DeadlineExceeded))), corev1alpha1.ConditionConnected,
			`False Unreachable: The server did not answer in time: check that it runs, and that no firewall or NetworkPolicy is in the way.`},
		{"a provider that does not accept the credentials", factsOf(answered(unauthorized)), corev1alpha1.ConditionConnected,
			`False Unauthorized: The server does not accept the credentials of the kubeconfig: check that they are complete, have not expired and were not revoked. Put a kubeconfig with valid credentials into the Secret.`},
		{"C3 a provider that does not say which it is", factsOf(answered(identityRefused())), corev1alpha1.ConditionConnected,
			`False Forbidden: The provider answers, but which cluster it is can't be asked: it refuses to get namespaces "kube-system". Grant the verb "get" on the resource "namespaces" of the API group "" (the name "kube-system" is enough) with a ClusterRole and a ClusterRoleBinding.`},
		{"a provider with another fault", factsOf(answered(errors.New("no such object"))), corev1alpha1.ConditionConnected, `False Error: no such object`},
		{"C4 a Secret that leads to another cluster", factsOf(pinned("other-uid", local)), corev1alpha1.ConditionConnected,
			`False ClusterIdentityChanged: The kubeconfig leads to another cluster (UID remote-uid) than at first (UID other-uid). Nothing is synced until it leads back; for another provider, create a new Connection.`},
		{"C4 a Connection restored in another consumer cluster", factsOf(pinned(remote, "other-uid")), corev1alpha1.ConditionConnected,
			`False ClusterIdentityChanged: This Connection was made in another consumer cluster (UID other-uid, this one is local-uid), as happens when it is restored from a backup. Create a new Connection.`},

		{"the source OpenAPI", factsOf(source(corev1alpha1.SchemaSourceOpenAPI)), corev1alpha1.ConditionSchemaInSync,
			`False SourceNotSupported: spec.schema.source: this version reads schemas from the provider's CRDs only. Use CRD or Auto.`},
		{"exports of a provider that has not answered", factsOf(sessionIs(session.State{})), corev1alpha1.ConditionSchemaInSync, `Unknown Pending: Waits for the provider.`},
		{"C4 exports of another cluster", factsOf(pinned("other-uid", local)), corev1alpha1.ConditionSchemaInSync, `Unknown Pending: Waits for the provider.`},
		{"exports that have not been read yet", factsOf(catalog(CatalogFacts{})), corev1alpha1.ConditionSchemaInSync, `Unknown Pending: The provider's CRDs are being read.`},
		{"exports that the provider does not show", factsOf(catalog(CatalogFacts{Err: refusedByRBAC})), corev1alpha1.ConditionSchemaInSync,
			`False Forbidden: The provider's CRDs can't be read. Grant the verb "list" on the resource "customresourcedefinitions" of the API group "apiextensions.k8s.io" with a ClusterRole and a ClusterRoleBinding.`},
		{"exports that can't be read at the moment", factsOf(catalog(CatalogFacts{Synced: true, Err: noConnection})), corev1alpha1.ConditionSchemaInSync,
			`False Error: The provider's CRDs can't be read: api.example.org:6443 refuses connections: check host and port of server in the kubeconfig, and that the API server runs.`},
		{"one export", factsOf(), corev1alpha1.ConditionSchemaInSync, `True SchemaInSync: The provider exports 1 API.`},
		{"no export", factsOf(catalog(CatalogFacts{Synced: true})), corev1alpha1.ConditionSchemaInSync, `True SchemaInSync: The provider exports 0 APIs.`},

		{"nothing is refused", factsOf(), corev1alpha1.ConditionPermissionDenied, `False AsExpected: Nothing that is needed is refused.`},
		{"without a session nothing is refused", factsOf(noSession), corev1alpha1.ConditionPermissionDenied, `False AsExpected: Nothing that is needed is refused.`},
		{"a network fault is no refusal", factsOf(answered(noConnection)), corev1alpha1.ConditionPermissionDenied, `False AsExpected: Nothing that is needed is refused.`},
		{"the consumer refuses the Secret", factsOf(noSession, secret(func(s *SecretFacts) { *s = SecretFacts{Allowed: true, Err: refusedByRBAC} })), corev1alpha1.ConditionPermissionDenied,
			`True Forbidden: The consumer refuses to watch secrets "provider" in namespace "kbind".`},
		{"C3 the provider refuses the question which it is", factsOf(answered(identityRefused())), corev1alpha1.ConditionPermissionDenied,
			`True Forbidden: The provider refuses to get namespaces "kube-system". Grant the verb "get" on the resource "namespaces" of the API group "" (the name "kube-system" is enough) with a ClusterRole and a ClusterRoleBinding.`},
		{"the provider refuses to show what it exports", factsOf(catalog(CatalogFacts{Err: refusedByRBAC})), corev1alpha1.ConditionPermissionDenied,
			`True Forbidden: The provider refuses to list customresourcedefinitions.apiextensions.k8s.io. Grant the verb "list" on the resource "customresourcedefinitions" of the API group "apiextensions.k8s.io" with a ClusterRole and a ClusterRoleBinding.`},

		{"C8 a heartbeat", factsOf(), corev1alpha1.ConditionHeartbeat, `True LeaseRenewed: The Lease on the provider is renewed.`},
		{"no heartbeat yet", factsOf(beat(session.Beat{})), corev1alpha1.ConditionHeartbeat, `Unknown Pending: No heartbeat has been sent yet.`},
		{"no heartbeat without a session", factsOf(noSession), corev1alpha1.ConditionHeartbeat, `Unknown Pending: No heartbeat has been sent yet.`},
		{"C8 a heartbeat that is refused",
			factsOf(beat(session.Beat{Tried: true, Err: session.Refused{Action: access.Action{Verb: "create", Group: "coordination.k8s.io", Resource: "leases", Namespace: "team"}, Err: refusedByRBAC}})),
			corev1alpha1.ConditionHeartbeat,
			`False Forbidden: The provider refuses to create leases.coordination.k8s.io in namespace "team". Grant the verb "create" on the resource "leases" of the API group "coordination.k8s.io" with a Role and a RoleBinding in namespace "team". Syncing goes on without it.`},
		{"C8 a heartbeat that fails", factsOf(beat(session.Beat{Tried: true, Err: apierrors.NewInternalError(errors.New("etcd is down"))})), corev1alpha1.ConditionHeartbeat,
			`False Error: The Lease on the provider can't be renewed: Internal error occurred: etcd is down. Syncing goes on without it.`},
		{"C8 another process with our identity", factsOf(beat(session.Beat{Tried: true, Duplicate: "host-b_1234"})), corev1alpha1.ConditionHeartbeat,
			`False DuplicateConsumer: Another process (host-b_1234) renews the Lease of this consumer: a second konnector, or a clone of this cluster. Stop one of the two.`},

		{"a Connection that works", factsOf(), corev1alpha1.ConditionReady, `True Ready: Connected; the provider exports 1 API.`},
		{"C11 a Connection that waits for one binding", factsOf(deletingWith(1)), corev1alpha1.ConditionReady,
			`False DrainingBindings: Being deleted. Bindings that still use it, and have to be deleted first: 1.`},
		{"C11 a Connection that waits for bindings while its provider is away", factsOf(deletingWith(12), answered(noConnection)), corev1alpha1.ConditionReady,
			`False DrainingBindings: Being deleted. Bindings that still use it, and have to be deleted first: 12.`},
	} {
		t.Run(row.name, func(t *testing.T) {
			after, _ := Decide(row.facts)
			if got := text(status.Get(after.Conditions, row.condition)); got != row.want {
				t.Errorf("got  %s\nwant %s", got, row.want)
			}
			wellFormed(t, row.facts, after)
		})
	}
}

// wellFormed checks what holds for every status.
func wellFormed(t *testing.T, facts Facts, after corev1alpha1.ConnectionStatus) {
	t.Helper()
	if after.ObservedGeneration != facts.Connection.Generation {
		t.Errorf("observedGeneration is %d", after.ObservedGeneration)
	}
	if len(after.Conditions) != 6 {
		t.Errorf("%d conditions", len(after.Conditions))
	}
	for _, condition := range after.Conditions {
		switch {
		case condition.ObservedGeneration != facts.Connection.Generation:
			t.Errorf("%s is about generation %d", condition.Type, condition.ObservedGeneration)
		case condition.Reason == "" || condition.Message == "":
			t.Errorf("%s lacks a reason or a message", condition.Type)
		case len(condition.Message) > access.MessageLimit:
			t.Errorf("%s has a message of %d bytes", condition.Type, len(condition.Message))
		case strings.ContainsFunc(condition.Message, func(r rune) bool { return r < ' ' }) || !utf8.ValidString(condition.Message):
			t.Errorf("%s has no clean line: %q", condition.Type, condition.Message)
		}
	}
}

func TestReadyIsTheWorstOfTheOthers(t *testing.T) {
	for _, row := range []struct {
		name  string
		facts Facts
		want  string // status and reason
	}{
		{"all is well", factsOf(), "True Ready"},
		{"a heartbeat does not count", factsOf(beat(session.Beat{Tried: true, Duplicate: "other"})), "True Ready"},
		{"the Secret goes before the provider", factsOf(secret(func(s *SecretFacts) { s.Exists = false }), answered(noConnection)), "False Pending"},
		{"the identity goes before the exports", factsOf(pinned("other-uid", local), catalog(CatalogFacts{Err: refusedByRBAC})), "False ClusterIdentityChanged"},
		{"a refusal goes before what follows from it", factsOf(catalog(CatalogFacts{Err: refusedByRBAC})), "False Forbidden"},
		{"the exports", factsOf(catalog(CatalogFacts{Err: errors.New("odd")})), "False Error"},
		{"a source that is not supported", factsOf(source(corev1alpha1.SchemaSourceOpenAPI)), "False SourceNotSupported"},
		{"what is not known yet leaves it unknown", factsOf(sessionIs(session.State{})), "Unknown Connecting"},
		{"exports that are not known yet", factsOf(catalog(CatalogFacts{})), "Unknown Pending"},
	} {
		t.Run(row.name, func(t *testing.T) {
			after, _ := Decide(row.facts)
			ready := status.Get(after.Conditions, corev1alpha1.ConditionReady)
			if got := string(ready.Status) + " " + ready.Reason; got != row.want {
				t.Errorf("Ready is %s, want %s", got, row.want)
			}
		})
	}
}

func TestSessionsAreUsedOnlyOnThePinnedCluster(t *testing.T) {
	for _, row := range []struct {
		name   string
		facts  Facts
		usable bool
	}{
		{"C3 a provider that has told which it is", factsOf(), true},
		{"C3 the same provider again", factsOf(pinned(remote, local)), true},
		{"C9 a provider that has stopped to answer", factsOf(sessionIs(session.State{Answered: true, UID: remote, Err: noConnection})), true},
		{"C11 a Secret that is gone", factsOf(secret(func(s *SecretFacts) { s.Exists = false })), true},
		{"C11 a Connection that drains", factsOf(pinned(remote, local), deletingWith(1)), true},
		{"no session", factsOf(noSession), false},
		{"C3 a provider that does not say which it is", factsOf(answered(identityRefused())), false},
		{"C4 another provider", factsOf(pinned("other-uid", local)), false},
		{"C4 another consumer", factsOf(pinned(remote, "other-uid")), false},
	} {
		t.Run(row.name, func(t *testing.T) {
			if _, usable := Decide(row.facts); usable != row.usable {
				t.Errorf("usable is %v", usable)
			}
		})
	}
}

func TestPinsAreSetOnceAndKept(t *testing.T) {
	for _, row := range []struct {
		name          string
		facts         Facts
		remote, local types.UID
	}{
		{"C3 the first answer pins both clusters", factsOf(), remote, local},
		{"no answer pins nothing", factsOf(sessionIs(session.State{})), "", ""},
		{"C3 a refusal pins nothing", factsOf(answered(identityRefused())), "", ""},
		{"C4 another provider does not move the pin", factsOf(pinned("other-uid", local)), "other-uid", local},
		{"C4 another consumer does not move the pin", factsOf(pinned(remote, "other-uid")), remote, "other-uid"},
		{"a provider that is away leaves the pins", factsOf(pinned(remote, local), answered(noConnection)), remote, local},
		{"a Secret that is gone leaves the pins", factsOf(pinned(remote, local), noSession), remote, local},
	} {
		t.Run(row.name, func(t *testing.T) {
			after, _ := Decide(row.facts)
			if after.RemoteClusterUID != row.remote || after.LocalClusterUID != row.local {
				t.Errorf("pinned are %q and %q", after.RemoteClusterUID, after.LocalClusterUID)
			}
		})
	}
}

func TestExportsAreListedWhenTheyAreKnown(t *testing.T) {
	listed := corev1alpha1.ConnectionStatus{ActiveSchemaSource: corev1alpha1.SchemaSourceCRD, ExportedAPIs: []corev1alpha1.ExportedAPI{widgets}, ExportedAPICount: 1}
	before := func(f *Facts) { f.Connection.Status = *listed.DeepCopy() }
	for _, row := range []struct {
		name  string
		facts Facts
		want  corev1alpha1.ConnectionStatus
	}{
		{"they appear", factsOf(), listed},
		{"they go", factsOf(before, catalog(CatalogFacts{Synced: true, APIs: []corev1alpha1.ExportedAPI{}})), corev1alpha1.ConnectionStatus{ActiveSchemaSource: corev1alpha1.SchemaSourceCRD, ExportedAPIs: []corev1alpha1.ExportedAPI{}}},
		{"C12 they stay while they can't be read", factsOf(before, catalog(CatalogFacts{Err: noConnection})), listed},
		{"they stay while the provider is away", factsOf(before, answered(noConnection), catalog(CatalogFacts{})), listed},
		{"C4 those of another cluster don't appear", factsOf(pinned("other-uid", local)), corev1alpha1.ConnectionStatus{}},
		{"CRDs are not listed under the source OpenAPI", factsOf(source(corev1alpha1.SchemaSourceOpenAPI)), corev1alpha1.ConnectionStatus{}},
	} {
		t.Run(row.name, func(t *testing.T) {
			after, _ := Decide(row.facts)
			got := corev1alpha1.ConnectionStatus{ActiveSchemaSource: after.ActiveSchemaSource, ExportedAPIs: after.ExportedAPIs, ExportedAPICount: after.ExportedAPICount}
			if diff := cmp.Diff(row.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestNothingIsSaidBeforeEnoughIsKnown(t *testing.T) {
	working := observed(factsOf())
	for _, row := range []struct {
		name    string
		facts   Facts
		settled bool
	}{
		{"a new Connection is answered at once", factsOf(noSession, secret(func(s *SecretFacts) { s.Synced = false })), true},
		{"a changed spec is answered at once", factsOf(working, sessionIs(session.State{}), func(f *Facts) { f.Connection.Generation++ }), true},
		{"after a restart, the Secret is read first", factsOf(working, noSession, secret(func(s *SecretFacts) { *s = SecretFacts{Allowed: true} })), false},
		{"after a restart, the provider is asked first", factsOf(working, sessionIs(session.State{}), catalog(CatalogFacts{})), false},
		{"after a restart, the exports are read first", factsOf(working, catalog(CatalogFacts{})), false},
		{"after a rotation, the provider is asked first", factsOf(working, sessionIs(session.State{}), catalog(CatalogFacts{})), false},
		{"all is known", factsOf(working), true},
		{"the Secret is gone", factsOf(working, noSession, secret(func(s *SecretFacts) { s.Exists = false })), true},
		{"the Secret is not allowed", factsOf(working, noSession, secret(func(s *SecretFacts) { *s = SecretFacts{} })), true},
		{"the Secret can't be read", factsOf(working, noSession, secret(func(s *SecretFacts) { *s = SecretFacts{Allowed: true, Err: refusedByRBAC} })), true},
		{"the provider does not answer", factsOf(working, answered(noConnection), catalog(CatalogFacts{})), true},
		{"the exports can't be read", factsOf(working, catalog(CatalogFacts{Err: refusedByRBAC})), true},
	} {
		t.Run(row.name, func(t *testing.T) {
			if got := row.facts.Settled(); got != row.settled {
				t.Errorf("settled is %v", got)
			}
		})
	}
}

func TestAStatusThatSaysTheSameIsTheSame(t *testing.T) {
	for _, row := range []struct {
		name          string
		before, after Facts
	}{
		{"nothing happened", factsOf(), factsOf()},
		{"a restart, before the first heartbeat", factsOf(), factsOf(beat(session.Beat{}))},
		{"C8 a restart beside a duplicate", factsOf(beat(session.Beat{Tried: true, Duplicate: "b"})), factsOf(beat(session.Beat{}))},
		{"a connection that was cut, again from another port",
			factsOf(answered(reset(40000)), beat(session.Beat{Tried: true, Err: reset(40000)}), catalog(CatalogFacts{Err: reset(40000)})),
			factsOf(answered(reset(50000)), beat(session.Beat{Tried: true, Err: reset(50000)}), catalog(CatalogFacts{Err: reset(50000)}))},
	} {
		t.Run(row.name, func(t *testing.T) {
			observed(row.before)(&row.after)
			before := row.after.Connection.Status.DeepCopy()
			after, _ := Decide(row.after)
			if diff := cmp.Diff(*before, after); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestMessagesStayShortForLongNames(t *testing.T) {
	long := func(f *Facts) {
		name := strings.Repeat("n", 253)
		f.Connection.Spec.KubeconfigSecretRef = corev1alpha1.SecretKeyReference{Namespace: strings.Repeat("s", 63), Name: name, Key: strings.Repeat("k", 253)}
		for i := range 100 {
			f.Namespaces = append(f.Namespaces, fmt.Sprintf("%060d", i))
			f.Secret.Keys = append(f.Secret.Keys, fmt.Sprintf("%0253d", i))
		}
	}
	odd := "a\nb\x1b[31m" + strings.Repeat("é", 2000)
	oddError := apierrors.NewInternalError(errors.New(odd))
	for _, row := range []struct {
		name  string
		facts Facts
		says  string // of the remedy
	}{
		{"of namespaces", factsOf(long, secret(func(s *SecretFacts) { s.Allowed = false })), "--credential-namespaces"},
		{"of keys", factsOf(long, secret(func(s *SecretFacts) { s.HasKey = false })), "spec.kubeconfigSecretRef.key"},
		{"of fields in a kubeconfig", factsOf(long, secret(func(s *SecretFacts) { s.Refusal = &kubeconfig.Refusal{Reason: "R", Field: odd, Message: odd} })), "R"},
		{"of errors", factsOf(long, secret(func(s *SecretFacts) { s.Err = oddError }), answered(oddError), beat(session.Beat{Tried: true, Err: oddError}), catalog(CatalogFacts{Err: oddError})), ""},
		{"of another process", factsOf(beat(session.Beat{Tried: true, Duplicate: odd})), ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			after, _ := Decide(row.facts)
			wellFormed(t, row.facts, after)
			valid := status.Get(after.Conditions, corev1alpha1.ConditionSecretValid)
			if !strings.Contains(valid.Reason+valid.Message, row.says) {
				t.Errorf("%q does not say %q", valid.Message, row.says)
			}
		})
	}
}

func TestEachTimeOfTransitionIsKept(t *testing.T) {
	facts := factsOf()
	first, _ := Decide(facts)
	for i := range first.Conditions {
		first.Conditions[i].LastTransitionTime = metav1.Unix(1, 0)
	}
	facts.Connection.Status = first
	facts.Connection.Generation++
	after, _ := Decide(facts)
	for _, condition := range after.Conditions {
		if condition.LastTransitionTime.Unix() != 1 || condition.ObservedGeneration != facts.Connection.Generation {
			t.Errorf("%s: transition at %s, generation %d", condition.Type, condition.LastTransitionTime, condition.ObservedGeneration)
		}
	}
}

func TestDecideDoesNotTouchWhatItReads(t *testing.T) {
	facts := factsOf(pinned(remote, local))
	before := facts.Connection.DeepCopy()
	Decide(facts)
	if diff := cmp.Diff(before, facts.Connection); diff != "" {
		t.Error(diff)
	}
}
