package session

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kbind-dev/konnector/pkg/access"
)

// server is as much of an API server as a session needs.
type server struct {
	*httptest.Server

	mu      sync.Mutex
	groups  []string
	objects map[string]map[string]any // by path
	errors  map[string]*metav1.Status // by "METHOD path"
	calls   []string
	version int
}

func newServer(t *testing.T) *server {
	s := &server{objects: map[string]map[string]any{}, errors: map[string]*metav1.Status{}}
	s.objects["/api/v1/namespaces/kube-system"] = map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": "kube-system", "uid": "cluster-1"}}
	s.objects["/api/v1/namespaces/kbind"] = map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": "kbind"}}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

func (s *server) config() *rest.Config {
	return &rest.Config{Host: s.URL, QPS: -1, ContentConfig: rest.ContentConfig{ContentType: "application/json"}}
}

// refuse has the server answer a call with an error; nil heals it.
func (s *server) refuse(call string, err *apierrors.StatusError) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil {
		delete(s.errors, call)
		return
	}
	status := err.Status()
	s.errors[call] = &status
}

// since returns the calls after the first n.
func (s *server) since(n int) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.calls[n:])
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	call := r.Method + " " + r.URL.Path
	s.calls = append(s.calls, call)
	if status, refused := s.errors[call]; refused {
		answer(w, int(status.Code), status)
		return
	}
	switch r.URL.Path {
	case "/api":
		answer(w, 200, metav1.APIVersions{TypeMeta: metav1.TypeMeta{Kind: "APIVersions"}, Versions: []string{"v1"}})
		return
	case "/apis":
		list := metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}}
		for _, group := range s.groups {
			version := metav1.GroupVersionForDiscovery{GroupVersion: group + "/v1alpha1", Version: "v1alpha1"}
			list.Groups = append(list.Groups, metav1.APIGroup{Name: group, Versions: []metav1.GroupVersionForDiscovery{version}, PreferredVersion: version})
		}
		answer(w, 200, list)
		return
	}
	s.serveObject(w, r)
}

func (s *server) serveObject(w http.ResponseWriter, r *http.Request) {
	path := r.URL.Path
	notFound := apierrors.NewNotFound(schema.GroupResource{Resource: "things"}, path).Status()
	switch r.Method {
	case http.MethodGet:
		if object, exists := s.objects[path]; exists {
			answer(w, 200, object)
			return
		}
		answer(w, 404, notFound)
	case http.MethodPost:
		object := read(r)
		name := object["metadata"].(map[string]any)["name"].(string)
		if namespace, _ := object["metadata"].(map[string]any)["namespace"].(string); namespace != "" && s.objects["/api/v1/namespaces/"+namespace] == nil {
			answer(w, 404, apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, namespace).Status())
			return
		}
		s.store(w, path+"/"+name, object, 201)
	case http.MethodPut:
		object := read(r)
		before := s.objects[path]["metadata"].(map[string]any)["resourceVersion"]
		if object["metadata"].(map[string]any)["resourceVersion"] != before {
			answer(w, 409, apierrors.NewConflict(schema.GroupResource{Resource: "leases"}, path, errors.New("changed")).Status())
			return
		}
		s.store(w, path, object, 200)
	case http.MethodDelete:
		delete(s.objects, path)
		answer(w, 200, metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: "Success"})
	}
}

func (s *server) store(w http.ResponseWriter, path string, object map[string]any, code int) {
	s.version++
	object["metadata"].(map[string]any)["resourceVersion"] = fmt.Sprint(s.version)
	s.objects[path] = object
	answer(w, code, object)
}

func read(r *http.Request) map[string]any {
	var object map[string]any
	body, _ := io.ReadAll(r.Body)
	_ = json.Unmarshal(body, &object)
	return object
}

func answer(w http.ResponseWriter, code int, object any) {
	switch status := object.(type) {
	case metav1.Status:
		status.TypeMeta = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}
		object = status
	case *metav1.Status:
		status.TypeMeta = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(object)
}

func forbidden(resource string) *apierrors.StatusError {
	return apierrors.NewForbidden(schema.GroupResource{Resource: resource}, "x", fmt.Errorf(`User "u" cannot get resource %q in API group "" in the namespace "x"`, resource))
}

func TestIdentify(t *testing.T) {
	const logicalCluster = "/apis/core.kcp.io/v1alpha1/logicalclusters/cluster"
	tests := map[string]struct {
		prepare func(*server)
		want    types.UID
		refused string // the action that the error names
		err     string // words of the error
	}{
		"a plain cluster is its namespace kube-system": {func(*server) {}, "cluster-1", "", ""},
		"a logical cluster is its own object": {func(s *server) {
			s.groups = []string{"apps", "core.kcp.io"}
			s.objects[logicalCluster] = map[string]any{"apiVersion": "core.kcp.io/v1alpha1", "kind": "LogicalCluster", "metadata": map[string]any{"name": "cluster", "uid": "logical-1"}}
		}, "logical-1", "", ""},
		"a refused logical cluster is not taken for a plain one": {func(s *server) {
			s.groups = []string{"core.kcp.io"}
			s.refuse("GET "+logicalCluster, forbidden("logicalclusters"))
		}, "", `get logicalclusters.core.kcp.io "cluster"`, ""},
		"a refused namespace is named": {func(s *server) {
			s.refuse("GET /api/v1/namespaces/kube-system", forbidden("namespaces"))
		}, "", `get namespaces "kube-system"`, ""},
		"refused discovery is named": {func(s *server) { s.refuse("GET /apis", forbidden("apis")) }, "", "get /apis", ""},
		"a cluster without kube-system can't be told from others": {func(s *server) {
			delete(s.objects, "/api/v1/namespaces/kube-system")
		}, "", "", "can't be told from others"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := newServer(t)
			test.prepare(s)
			kube := kubernetes.NewForConfigOrDie(s.config())
			got, err := Identify(t.Context(), kube.Discovery(), dynamic.NewForConfigOrDie(s.config()))
			if got != test.want {
				t.Errorf("Identify = %q, want %q", got, test.want)
			}
			refused, isRefused := errors.AsType[Refused](err)
			if isRefused != (test.refused != "") || (isRefused && refused.Action.String() != test.refused) {
				t.Errorf("error %v, want a refusal of %q", err, test.refused)
			}
			if test.err != "" && (err == nil || !strings.Contains(err.Error(), test.err)) {
				t.Errorf("error %v, want %q", err, test.err)
			}
		})
	}
}

// open opens a session and returns what waits for a state of it.
func open(t *testing.T, s *server, instance string) (*Session, func(what string, check func(State) bool) State) {
	t.Helper()
	changed := make(chan struct{}, 100)
	session, err := Open(t.Context(), Options{
		Connection: "acme", ConsumerUID: "consumer-1", Instance: instance, Config: s.config(),
		OnChange: func() { changed <- struct{}{} },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(session.Close)
	return session, func(what string, check func(State) bool) State {
		t.Helper()
		deadline := time.After(20 * time.Second)
		for {
			if state := session.State(); check(state) {
				return state
			}
			select {
			case <-changed:
			case <-deadline:
				t.Fatalf("%s: the state is %+v", what, session.State())
			}
		}
	}
}

func TestSessionConnectsAndSendsHeartbeats(t *testing.T) {
	before := runtime.NumGoroutine()
	s := newServer(t)
	session, wait := open(t, s, "one")
	state := wait("a heartbeat", func(state State) bool { return state.Heartbeat.Tried })
	if state.UID != "cluster-1" || state.Err != nil || state.Heartbeat.Err != nil || state.Heartbeat.Duplicate != "" {
		t.Errorf("state %+v", state)
	}
	made := s.since(0)
	calls := len(made)
	session.beat(t.Context())
	if diff := cmp.Diff([]string{"PUT " + leasePath(session)}, s.since(calls)); diff != "" {
		t.Errorf("a renewal costs (-want +got):\n%s", diff)
	}
	lease := s.objects[leasePath(session)]
	spec := lease["spec"].(map[string]any)
	if spec["holderIdentity"] != "one" || spec["leaseDurationSeconds"] == nil {
		t.Errorf("Lease %v", lease)
	}
	if err := session.EndLease(t.Context()); err != nil || s.objects[leasePath(session)] != nil {
		t.Errorf("the Lease is not ended: %v", err)
	}
	if err := session.EndLease(t.Context()); err != nil {
		t.Errorf("a Lease that is gone can't be ended: %v", err)
	}
	session.Close()
	s.Close()
	for range 100 {
		if runtime.NumGoroutine() <= before+2 { // the transport's keep-alive may linger
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Errorf("%d goroutines after Close, %d before", runtime.NumGoroutine(), before)
}

func leasePath(session *Session) string {
	return "/apis/coordination.k8s.io/v1/namespaces/kbind/leases/" + session.heartbeat.name()
}

func TestSessionTriesUntilTheProviderAnswers(t *testing.T) {
	s := newServer(t)
	s.refuse("GET /apis", apierrors.NewUnauthorized("who are you"))
	_, wait := open(t, s, "one")
	state := wait("the first attempt", func(state State) bool { return state.Answered })
	if access.Classify(state.Err) != access.Unauthorized || state.UID != "" {
		t.Errorf("state %+v", state)
	}
	s.refuse("GET /apis", nil)
	wait("it heals", func(state State) bool { return state.UID == "cluster-1" && state.Err == nil })
}

func TestHeartbeatMakesItsNamespace(t *testing.T) {
	s := newServer(t)
	delete(s.objects, "/api/v1/namespaces/kbind")
	_, wait := open(t, s, "one")
	state := wait("a heartbeat", func(state State) bool { return state.Heartbeat.Tried })
	if state.Heartbeat.Err != nil {
		t.Errorf("heartbeat: %v", state.Heartbeat.Err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	labels := s.objects["/api/v1/namespaces/kbind"]["metadata"].(map[string]any)["labels"]
	if diff := cmp.Diff(map[string]any{"core.kbind.io/managed": "true", "core.kbind.io/consumer": "consumer-1"}, labels); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
}

func TestARefusedHeartbeatSaysNothingAgainstTheProvider(t *testing.T) {
	s := newServer(t)
	s.refuse("POST /apis/coordination.k8s.io/v1/namespaces/kbind/leases", forbidden("leases"))
	_, wait := open(t, s, "one")
	state := wait("a heartbeat", func(state State) bool { return state.Heartbeat.Tried })
	refused, is := errors.AsType[Refused](state.Heartbeat.Err)
	if !is || refused.Action.Verb != "create" || refused.Action.Resource != "leases" {
		t.Errorf("heartbeat: %v, want a refusal to create leases", state.Heartbeat.Err)
	}
	if state.Err != nil {
		t.Errorf("Err = %v", state.Err)
	}
}

func TestTwoProcessesOnOneLeaseNoticeEachOther(t *testing.T) {
	s := newServer(t)
	first, wait := open(t, s, "one")
	wait("a heartbeat", func(state State) bool { return state.Heartbeat.Tried })
	second, waitSecond := open(t, s, "two")
	if state := waitSecond("a heartbeat", func(state State) bool { return state.Heartbeat.Tried }); state.Heartbeat.Duplicate != "" {
		t.Errorf("a process that takes over from one before it sees a duplicate: %q", state.Heartbeat.Duplicate)
	}
	first.beat(t.Context())
	if got := first.State().Heartbeat.Duplicate; got != "two" {
		t.Errorf("the first sees %q", got)
	}
	second.beat(t.Context())
	if got := second.State().Heartbeat.Duplicate; got != "one" {
		t.Errorf("the second sees %q", got)
	}
}

func TestStateForgivesOneLostHeartbeat(t *testing.T) {
	lost := Beat{Tried: true, Err: io.ErrUnexpectedEOF}
	state := State{Answered: true, UID: "1"}
	state.beat(lost)
	if state.Err != nil {
		t.Error("one lost heartbeat makes the provider unreachable")
	}
	state.beat(lost)
	if state.Err == nil {
		t.Error("two lost heartbeats don't")
	}
	state.beat(Beat{Tried: true})
	state.beat(lost)
	if state.Err != nil {
		t.Error("a good heartbeat does not begin anew")
	}
}

func TestDeleteTellsWhetherTheObjectIsGone(t *testing.T) {
	var body map[string]any
	var reply func(w http.ResponseWriter)
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body = read(r)
		if r.URL.Path != "/apis/example.org/v1/namespaces/a/widgets/x" {
			t.Errorf("path %s", r.URL.Path)
		}
		reply(w)
	}))
	defer api.Close()
	deleter, err := newDeleter(&rest.Config{Host: api.URL}, api.Client())
	if err != nil {
		t.Fatal(err)
	}
	resource := schema.GroupVersionResource{Group: "example.org", Version: "v1", Resource: "widgets"}
	key := types.NamespacedName{Namespace: "a", Name: "x"}

	reply = func(w http.ResponseWriter) {
		answer(w, 200, metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status"}, Status: "Success"})
	}
	if gone, err := deleter.Delete(t.Context(), resource, key, "uid-1"); !gone || err != nil {
		t.Errorf("Delete = %v, %v, want gone", gone, err)
	}
	if diff := cmp.Diff(map[string]any{"uid": "uid-1"}, body["preconditions"]); diff != "" {
		t.Errorf("preconditions (-want +got):\n%s", diff)
	}
	reply = func(w http.ResponseWriter) { answer(w, 200, map[string]any{"kind": "Widget"}) }
	if gone, err := deleter.Delete(t.Context(), resource, key, "uid-1"); gone || err != nil {
		t.Errorf("Delete = %v, %v, want it to be held", gone, err)
	}
	reply = func(w http.ResponseWriter) {
		answer(w, 409, apierrors.NewConflict(resource.GroupResource(), "x", errors.New("another uid")).Status())
	}
	if gone, err := deleter.Delete(t.Context(), resource, key, "uid-1"); gone || !apierrors.IsConflict(err) {
		t.Errorf("Delete = %v, %v, want the conflict", gone, err)
	}
}

func TestRegistryTellsWhenASessionComesGoesOrIsReplaced(t *testing.T) {
	registry := NewRegistry()
	told := 0
	registry.OnChange(func(string) { told++ })
	one, two := &Session{Connection: "acme"}, &Session{Connection: "acme"}
	registry.Publish(one)
	registry.Publish(one)
	if told != 1 || registry.Get("acme") != one {
		t.Errorf("told %d times", told)
	}
	registry.Publish(two)
	registry.Withdraw("acme")
	registry.Withdraw("acme")
	if told != 3 || registry.Get("acme") != nil {
		t.Errorf("told %d times, want 3", told)
	}
}

func TestFingerprintTellsKubeconfigsApartAndShowsNothing(t *testing.T) {
	a, b := Fingerprint([]byte("token: a")), Fingerprint([]byte("token: b"))
	if a == b || a != Fingerprint([]byte("token: a")) || strings.Contains(a, "token") {
		t.Errorf("fingerprints %q and %q", a, b)
	}
}
