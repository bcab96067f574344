package connection

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	kubefake "k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/klog/v2/ktesting"

	corev1alpha1 "github.com/kbind-dev/konnector/apis/core/v1alpha1"
	"github.com/kbind-dev/konnector/generated/clientset/versioned/fake"
	informers "github.com/kbind-dev/konnector/generated/informers/externalversions"
	"github.com/kbind-dev/konnector/pkg/export"
	"github.com/kbind-dev/konnector/pkg/kubeconfig"
	"github.com/kbind-dev/konnector/pkg/session"
	"github.com/kbind-dev/konnector/pkg/status"
)

// apiServer is a provider: as much of an API server as a session asks for.
type apiServer struct {
	*httptest.Server

	mu      sync.Mutex
	uid     types.UID
	calls   []string // METHOD path
	watches int      // that are open
}

func newAPIServer(t *testing.T, uid types.UID) *apiServer {
	server := &apiServer{uid: uid}
	server.Server = httptest.NewServer(server)
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return server
}

// ServeHTTP answers discovery, the identity, Leases, and lists and watches of CRDs.
func (s *apiServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.calls = append(s.calls, r.Method+" "+r.URL.Path)
	uid := s.uid
	s.mu.Unlock()
	const leases = "/apis/coordination.k8s.io/v1/namespaces/kbind/leases"
	query := r.URL.Query()
	switch {
	case r.URL.Path == "/api":
		answer(w, http.StatusOK, &metav1.APIVersions{TypeMeta: metav1.TypeMeta{Kind: "APIVersions"}, Versions: []string{"v1"}})
	case r.URL.Path == "/apis":
		answer(w, http.StatusOK, &metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}})
	case r.URL.Path == "/api/v1/namespaces/kube-system":
		answer(w, http.StatusOK, &corev1.Namespace{
			TypeMeta: metav1.TypeMeta{Kind: "Namespace", APIVersion: "v1"}, ObjectMeta: metav1.ObjectMeta{Name: "kube-system", UID: uid},
		})
	case strings.HasPrefix(r.URL.Path, leases) && r.Method == http.MethodGet:
		answerStatus(w, http.StatusNotFound, metav1.StatusReasonNotFound)
	case strings.HasPrefix(r.URL.Path, leases) && r.Method == http.MethodDelete:
		answerStatus(w, http.StatusOK, "")
	case strings.HasPrefix(r.URL.Path, leases):
		answer(w, http.StatusOK, &coordinationv1.Lease{TypeMeta: metav1.TypeMeta{Kind: "Lease", APIVersion: "coordination.k8s.io/v1"}})
	case r.URL.Path == "/apis/apiextensions.k8s.io/v1/customresourcedefinitions" && query.Get("sendInitialEvents") != "":
		answerStatus(w, http.StatusUnprocessableEntity, metav1.StatusReasonInvalid) // the client lists instead
	case r.URL.Path == "/apis/apiextensions.k8s.io/v1/customresourcedefinitions" && query.Get("watch") != "":
		s.watch(w, r)
	case r.URL.Path == "/apis/apiextensions.k8s.io/v1/customresourcedefinitions":
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintln(w, `{"kind":"CustomResourceDefinitionList","apiVersion":"apiextensions.k8s.io/v1","metadata":{"resourceVersion":"1"},"items":[]}`)
	default:
		answerStatus(w, http.StatusNotFound, metav1.StatusReasonNotFound)
	}
}

// watch sends nothing until the client goes.
func (s *apiServer) watch(w http.ResponseWriter, r *http.Request) {
	count := func(delta int) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.watches += delta
	}
	count(1)
	defer count(-1)
	w.Header().Set("Content-Type", "application/json")
	w.(http.Flusher).Flush()
	<-r.Context().Done()
}

func answer(w http.ResponseWriter, code int, object any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(object)
}

func answerStatus(w http.ResponseWriter, code int, reason metav1.StatusReason) {
	result := metav1.StatusFailure
	if code < http.StatusBadRequest {
		result = metav1.StatusSuccess
	}
	answer(w, code, &metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: result, Reason: reason, Code: int32(code), //nolint:gosec // a code of HTTP
	})
}

func (s *apiServer) openWatches() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.watches
}

// writes returns the calls that are no reads.
func (s *apiServer) writes() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(s.calls), func(call string) bool { return strings.HasPrefix(call, "GET ") })
}

// kubeconfigFor returns a kubeconfig that leads to a server; tokens tell files apart.
func (s *apiServer) kubeconfigFor(token string) []byte {
	return fmt.Appendf(nil, `{"kind": "Config", "apiVersion": "v1", "current-context": "c",
"contexts": [{"name": "c", "context": {"cluster": "k", "user": "u"}}],
"clusters": [{"name": "k", "cluster": {"server": %q}}],
"users": [{"name": "u", "user": {"token": %q}}]}`, s.URL, token)
}

// consumer is the consumer cluster with a controller of Connections on it.
type consumer struct {
	t        *testing.T
	kube     *kubefake.Clientset
	core     *fake.Clientset
	sessions *session.Registry
	catalogs *export.Catalogs
	exports  chan string // what OnExport tells
	refuse   atomic.Pointer[func(patch string) error]
	*Controller

	mu       sync.Mutex
	bindings int
}

// newConsumer returns a consumer cluster with objects of kbind and of Kubernetes, on
// which the controller runs until the test ends.
func newConsumer(t *testing.T, objects ...runtime.Object) *consumer {
	c := &consumer{t: t, sessions: session.NewRegistry(), catalogs: export.NewCatalogs(), exports: make(chan string, 100)}
	var ours, theirs []runtime.Object
	for _, object := range objects {
		if _, is := object.(*corev1alpha1.Connection); is {
			ours = append(ours, object)
		} else {
			theirs = append(theirs, object)
		}
	}
	c.kube, c.core = kubefake.NewClientset(theirs...), fake.NewClientset(ours...)
	c.core.PrependReactor("patch", "connections", func(action clienttesting.Action) (bool, runtime.Object, error) {
		if refuse := c.refuse.Load(); refuse != nil {
			if err := (*refuse)(string(action.(clienttesting.PatchAction).GetPatch())); err != nil {
				return true, nil, err
			}
		}
		return false, nil, nil
	})
	factory := informers.NewSharedInformerFactory(c.core, 0)
	c.Controller = New(Options{
		LocalUID:             local,
		Instance:             "test",
		UserAgent:            "konnector/test",
		CredentialNamespaces: []string{"kbind"},
		Kubeconfig:           kubeconfig.Options{AllowInsecureTLS: true},
		QPS:                  -1,
	}, c.kube, c.core.CoreV1alpha1().Connections(), factory.Core().V1alpha1().Connections(), c.sessions, c.catalogs, c.users)
	c.OnExport(func(connection, api string) {
		select {
		case c.exports <- connection + "/" + api:
		default:
		}
	})
	_, logged := ktesting.NewTestContext(t)
	ctx, cancel := context.WithCancel(logged)
	factory.StartWithContext(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		c.Run(ctx, 2)
	}()
	t.Cleanup(func() {
		cancel()
		select {
		case <-done:
		case <-time.After(10 * time.Second):
			t.Error("the controller does not end")
		}
		factory.Shutdown()
	})
	return c
}

func (c *consumer) users(string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.bindings
}

func (c *consumer) setUsers(number int) {
	c.mu.Lock()
	c.bindings = number
	c.mu.Unlock()
	c.Enqueue("main")
}

// eventually waits until something holds.
func (c *consumer) eventually(what string, holds func() bool) {
	c.t.Helper()
	err := wait.PollUntilContextTimeout(context.Background(), 5*time.Millisecond, 10*time.Second, true, func(context.Context) (bool, error) {
		return holds(), nil
	})
	if err != nil {
		connection := c.connection("main")
		c.t.Fatalf("never: %s; the status is %+v", what, connection.Status)
	}
}

// never waits a moment in which something must not happen.
func (c *consumer) never(what string, holds func() bool) {
	c.t.Helper()
	err := wait.PollUntilContextTimeout(context.Background(), 5*time.Millisecond, 300*time.Millisecond, true, func(context.Context) (bool, error) {
		return holds(), nil
	})
	if err == nil {
		c.t.Fatalf("happened: %s", what)
	}
}

func (c *consumer) connection(name string) *corev1alpha1.Connection {
	c.t.Helper()
	found, err := c.core.CoreV1alpha1().Connections().Get(context.Background(), name, metav1.GetOptions{})
	if err != nil {
		c.t.Fatal(err)
	}
	return found
}

// says waits for a condition of the Connection "main".
func (c *consumer) says(conditionType string, want metav1.ConditionStatus, reason string) {
	c.t.Helper()
	c.eventually(fmt.Sprintf("%s is %s/%s", conditionType, want, reason), func() bool {
		got := status.Get(c.connection("main").Status.Conditions, conditionType)
		return got.Status == want && got.Reason == reason
	})
}

// connects waits until a session of the Connection is published, and returns it.
func (c *consumer) connects(name string) *session.Session {
	c.t.Helper()
	c.eventually(name+" has a session", func() bool { return c.sessions.Get(name) != nil && c.catalogs.Get(name) != nil })
	return c.sessions.Get(name)
}

// write puts bytes into the Secret.
func (c *consumer) write(data []byte, labels map[string]string) {
	c.t.Helper()
	object := newSecret("provider", data)
	object.Labels = labels
	if _, err := c.kube.CoreV1().Secrets("kbind").Update(context.Background(), object, metav1.UpdateOptions{}); err != nil {
		c.t.Fatal(err)
	}
}

// change changes the Connection "main" as a user does.
func (c *consumer) change(change func(*corev1alpha1.Connection)) {
	c.t.Helper()
	connection := c.connection("main")
	change(connection)
	connection.Generation++
	if _, err := c.core.CoreV1alpha1().Connections().Update(context.Background(), connection, metav1.UpdateOptions{}); err != nil {
		c.t.Fatal(err)
	}
}

// onPatch has a function answer the patches of Connections.
func (c *consumer) onPatch(answer func(patch string) error) {
	c.refuse.Store(&answer)
}

// delete marks the Connection as an API server does.
func (c *consumer) delete() {
	c.t.Helper()
	c.change(func(connection *corev1alpha1.Connection) {
		now := metav1.Now()
		connection.DeletionTimestamp = &now
	})
}

// released waits until our finalizer is off.
func (c *consumer) released() {
	c.t.Helper()
	c.eventually("the finalizer is taken off", func() bool {
		return !slices.Contains(c.connection("main").Finalizers, corev1alpha1.FinalizerCleanup)
	})
}

// reads returns how Secrets were read: verb, namespace and selector, each once.
func (c *consumer) reads() []string {
	var reads []string
	for _, action := range c.kube.Actions() {
		if action.GetResource().Resource != "secrets" {
			continue
		}
		var selector string
		switch action := action.(type) {
		case clienttesting.ListAction:
			selector = action.GetListRestrictions().Fields.String()
		case clienttesting.WatchAction:
			selector = action.GetWatchRestrictions().Fields.String()
		default:
			continue
		}
		reads = append(reads, action.GetVerb()+" "+action.GetNamespace()+" "+selector)
	}
	slices.Sort(reads)
	return reads
}

func newSecret(name string, data []byte) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "kbind", Name: name}, Data: map[string][]byte{"kubeconfig": data}}
}

// withSecret returns a Connection that names another Secret.
func withSecret(name, namespace, secret string) *corev1alpha1.Connection {
	connection := newConnection(name)
	connection.Spec.KubeconfigSecretRef.Namespace, connection.Spec.KubeconfigSecretRef.Name = namespace, secret
	return connection
}
