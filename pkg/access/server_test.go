package access

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/namespace/lifecycle"
	webhookerrors "k8s.io/apiserver/pkg/admission/plugin/webhook/errors"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/server/mux"
	webhookutil "k8s.io/apiserver/pkg/util/webhook"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"
)

// The tests of this file take their errors from the code of the API server, so that
// a change of its words is noticed when the dependency is updated.

func widget() *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "demo.example.org/v1", "kind": "Widget", "metadata": map[string]any{"name": "a", "namespace": "team-a"},
	}}
}

// lifecycleOf returns what the admission of a server with these namespaces says to a new widget.
func lifecycleOf(t *testing.T, namespaces ...runtime.Object) error {
	t.Helper()
	plugin, err := lifecycle.NewLifecycle(nil)
	if err != nil {
		t.Fatal(err)
	}
	clients := fake.NewClientset(namespaces...)
	factory := informers.NewSharedInformerFactory(clients, 0)
	plugin.SetExternalKubeInformerFactory(factory)
	plugin.SetExternalKubeClientSet(clients)
	ctx, cancel := context.WithCancel(t.Context())
	factory.StartWithContext(ctx)
	defer factory.Shutdown()
	defer cancel()
	factory.WaitForCacheSync(ctx.Done())
	gv := schema.GroupVersion{Group: widgets.Group, Version: "v1"}
	request := admission.NewAttributesRecord(widget(), nil, gv.WithKind("Widget"), "team-a", "a", gv.WithResource("widgets"), "",
		admission.Create, &metav1.CreateOptions{}, false, &user.DefaultInfo{Name: "u"})
	return plugin.Admit(ctx, request, nil)
}

func TestTheCodeOfTheServerSaysWhatIsExpected(t *testing.T) {
	ending := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "team-a"}, Status: corev1.NamespaceStatus{Phase: corev1.NamespaceTerminating}}
	for _, row := range []kindRow{
		{"a webhook that denies", webhookerrors.ToStatusErr("w", &metav1.Status{Code: 403, Reason: metav1.StatusReasonForbidden, Message: "no"}), Rejected},
		{"a webhook that does not explain", webhookerrors.ToStatusErr("w", nil), Rejected},
		{"a webhook that has no dry run", webhookerrors.NewDryRunUnsupportedErr("w"), Rejected},
		{"a namespace that is missing", lifecycleOf(t), NamespaceMissing},
		{"a namespace that is being deleted", lifecycleOf(t, ending), Terminating},
	} {
		row.run(t)
	}
	call := (&webhookutil.ErrCallingWebhook{WebhookName: "w", Reason: errors.New("connection refused")}).Error()
	if !isAdmission("Internal error occurred: " + call) {
		t.Errorf("%q is not known", call)
	}
}

// TestWhatClientsMakeOfPages sends pages that are no Status through a real client.
func TestWhatClientsMakeOfPages(t *testing.T) {
	answer := func(code int, kind, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", kind)
			w.WriteHeader(code)
			_, _ = w.Write([]byte(body))
		}
	}
	for _, row := range []struct {
		name    string
		handler http.Handler
		want    Kind
	}{
		{"a path that the server does not know", mux.NewPathRecorderMux("test"), ResourceMissing},
		{"a 404 of an ingress", answer(404, "text/html", "<html>not found</html>"), Unreachable},
		{"a 404 of a load balancer", answer(404, "text/plain", "default backend - 404"), Unreachable},
		{"a 401", answer(401, "text/plain", "Unauthorized"), Unauthorized},
		{"a 502", answer(502, "text/html", "<html>bad gateway</html>"), Unreachable},
		{"a Status", answer(404, "application/json", `{"kind":"Status","apiVersion":"v1","status":"Failure","message":"widgets.demo.example.org \"a\" not found","reason":"NotFound","details":{"name":"a","group":"demo.example.org","kind":"widgets"},"code":404}`), NotFound},
	} {
		t.Run(row.name, func(t *testing.T) {
			server := httptest.NewServer(row.handler)
			defer server.Close()
			client, err := dynamic.NewForConfig(&rest.Config{Host: server.URL})
			if err != nil {
				t.Fatal(err)
			}
			_, err = client.Resource(widgets.WithVersion("v1")).Namespace("team-a").Get(t.Context(), "a", metav1.GetOptions{})
			if got := Classify(err); got != row.want {
				t.Errorf("got %q, want %q for %v", got, row.want, err)
			}
		})
	}
}
