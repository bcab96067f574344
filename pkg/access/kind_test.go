package access

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
)

var widgets = schema.GroupResource{Group: "demo.example.org", Resource: "widgets"}

// forbidden is a 403 about widget "a", as authorization and admission give it.
func forbidden(words string) *apierrors.StatusError {
	return apierrors.NewForbidden(widgets, "a", errors.New(words))
}

// answered is what a client makes of a Status that came as JSON.
func answered(t *testing.T, body string) error {
	t.Helper()
	status := &metav1.Status{}
	if err := json.Unmarshal([]byte(body), status); err != nil {
		t.Fatal(err)
	}
	return apierrors.FromObject(status)
}

// page is what a client makes of an answer that is no Status.
func page(code int, body string) error {
	return apierrors.NewGenericServerResponse(code, http.MethodPatch, widgets, "a", body, 0, true)
}

func terminating() error {
	err := forbidden("unable to create new content in namespace team-a because it is being terminated")
	err.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause, Message: "namespace team-a is being terminated", Field: "metadata.namespace"}}
	return err
}

func request(err error) error {
	return &url.Error{Op: "Get", URL: "https://api.example.org:6443/apis", Err: err}
}

func withCode(err *apierrors.StatusError, code int32, reason metav1.StatusReason) error {
	err.ErrStatus.Code, err.ErrStatus.Reason = code, reason
	return err
}

type kindRow struct {
	name string
	err  error
	want Kind
}

func (row kindRow) run(t *testing.T) {
	t.Run(row.name, func(t *testing.T) {
		if got := Classify(row.err); got != row.want {
			t.Errorf("got %q, want %q for %v", got, row.want, row.err)
		}
		if row.err == nil {
			return
		}
		if got := Classify(fmt.Errorf("applying: %w", row.err)); got != row.want {
			t.Errorf("wrapped: got %q, want %q", got, row.want)
		}
		if got := Classify(errors.Join(row.err, errors.New("more"))); got != row.want {
			t.Errorf("joined: got %q, want %q", got, row.want)
		}
		if got := Classify(utilerrors.NewAggregate([]error{row.err, errors.New("more")})); got != row.want {
			t.Errorf("aggregated: got %q, want %q", got, row.want)
		}
	})
}

func TestRefusalsOfTheServerAreToldApart(t *testing.T) {
	for _, row := range []kindRow{
		{"no error", nil, ""},
		{"RBAC in a namespace", forbidden(`User "system:serviceaccount:kbind:consumer" cannot patch resource "widgets" in API group "demo.example.org" in the namespace "team-a"`), Denied},
		{"RBAC in the cluster", apierrors.NewForbidden(widgets, "", errors.New(`User "u" cannot list resource "widgets" in API group "demo.example.org" at the cluster scope: RBAC: clusterrole.rbac.authorization.k8s.io "x" not found`)), Denied},
		{"RBAC of a path", apierrors.NewForbidden(schema.GroupResource{}, "", errors.New(`User "system:anonymous" cannot get path "/version"`)), Denied},
		{"RBAC about impersonation", apierrors.NewForbidden(schema.GroupResource{Resource: "users"}, "a", errors.New(`User "b" cannot impersonate resource "users" in API group "" at the cluster scope`)), Denied},
		{"RBAC of a user with a name that misleads", forbidden(`User "exceeded quota: x" cannot patch resource "widgets"`), Denied},
		{"a 403 without known words", forbidden("computer says no"), Denied},
		{"a 403 that is a page", page(403, "<html>Forbidden</html>"), Denied},
		{"credentials that are not accepted", apierrors.NewUnauthorized("Unauthorized"), Unauthorized},
		{"a 401 that is a page", page(401, "Unauthorized"), Unauthorized},
		{"a used-up quota", forbidden("exceeded quota: objects, requested: count/widgets.demo.example.org=1, used: count/widgets.demo.example.org=5, limited: count/widgets.demo.example.org=5"), Quota},
		{"a quota that wants a field", forbidden("failed quota: compute: must specify limits.cpu"), Quota},
		{"a quota that is not counted yet", forbidden("status unknown for quota: objects, resources: count/widgets.demo.example.org"), Quota},
		{"a quota that has to exist", forbidden("insufficient quota to consume: count/widgets.demo.example.org"), Quota},
		{"a namespace that is being deleted", terminating(), Terminating},
		{"a webhook without a code of its own", answered(t, `{"kind":"Status","apiVersion":"v1","status":"Failure","message":"admission webhook \"w.example.org\" denied the request: no","code":400}`), Rejected},
		{"a webhook with 403", answered(t, `{"kind":"Status","apiVersion":"v1","status":"Failure","message":"admission webhook \"w.example.org\" denied the request: User \"x\" cannot create resource","reason":"Forbidden","code":403}`), Rejected},
		{"a webhook that speaks of quota", answered(t, `{"kind":"Status","apiVersion":"v1","status":"Failure","message":"admission webhook \"w\" denied the request: widgets is forbidden: exceeded quota: mine","reason":"Forbidden","code":403}`), Rejected},
		{"a webhook with 401", answered(t, `{"kind":"Status","apiVersion":"v1","status":"Failure","message":"admission webhook \"w\" denied the request: who are you","reason":"Unauthorized","code":401}`), Rejected},
		{"a webhook with 404", answered(t, `{"kind":"Status","apiVersion":"v1","status":"Failure","message":"admission webhook \"w\" denied the request: no such plan","reason":"NotFound","details":{"kind":"namespaces"},"code":404}`), Rejected},
		{"a webhook with 503", answered(t, `{"kind":"Status","apiVersion":"v1","status":"Failure","message":"admission webhook \"w\" denied the request without explanation","code":503}`), Rejected},
		{"a webhook that cannot be called", apierrors.NewInternalError(errors.New(`failed calling webhook "w.example.org": failed to call webhook: Post "https://w.svc:443": dial tcp 10.0.0.1:443: connect: connection refused`)), Rejected},
		{"a webhook that has no dry run", apierrors.NewBadRequest(`admission webhook "w" does not support dry run`), Rejected},
		{"a policy", withCode(forbidden("ValidatingAdmissionPolicy 'p' with binding 'b' denied request: too large"), 422, metav1.StatusReasonInvalid), Rejected},
		{"a policy with 403", forbidden("ValidatingAdmissionPolicy 'p' with binding 'b' denied request: too large"), Rejected},
		{"a policy with 401", withCode(forbidden("ValidatingAdmissionPolicy 'p' denied request: too large"), 401, metav1.StatusReasonUnauthorized), Rejected},
		{"a mutating policy", forbidden("policy 'p' with binding 'b' denied request: cannot be applied"), Rejected},
		{"Pod Security", forbidden(`violates PodSecurity "restricted:latest": privileged`), Rejected},
		{"validation", apierrors.NewInvalid(schema.GroupKind{Group: widgets.Group, Kind: "Widget"}, "a", nil), Rejected},
		{"a request that cannot be read", apierrors.NewBadRequest("the namespace of the provided object does not match"), Rejected},
		{"an apply that does not fit the schema", answered(t, `{"kind":"Status","apiVersion":"v1","status":"Failure","message":"failed to create typed patch object (team-a/a; demo.example.org/v1, Kind=Widget): .spec.x: field not declared in schema","code":500}`), Rejected},
		{"a 422 that is a page", page(422, "unprocessable"), Rejected},
		{"an object that is too large", apierrors.NewRequestEntityTooLargeError("limit is 3145728"), Rejected},
		{"a precondition", apierrors.NewConflict(widgets, "a", errors.New("the UID in the precondition does not match")), Conflict},
		{"fields of another manager", apierrors.NewApplyConflict([]metav1.StatusCause{{Type: metav1.CauseTypeFieldManagerConflict, Field: ".spec.size"}}, "Apply failed with 1 conflict"), Conflict},
		{"a name that is taken", apierrors.NewAlreadyExists(widgets, "a"), Conflict},
		{"too many requests", apierrors.NewTooManyRequests("slow down", 1), Throttled},
		{"a 429 that is a page", page(429, ""), Throttled},
		{"a method that is not served", apierrors.NewMethodNotSupported(widgets, "patch"), Other},
		{"a version of a list that has expired", apierrors.NewResourceExpired("too old"), Other},
		{"an answer of no known sort", &apierrors.StatusError{}, Other},
	} {
		row.run(t)
	}
}

func TestWhatIsMissingIsToldApart(t *testing.T) {
	namespace := schema.GroupResource{Resource: "namespaces"}
	for _, row := range []kindRow{
		{"an object", apierrors.NewNotFound(widgets, "a"), NotFound},
		{"a namespace on create", apierrors.NewNotFound(namespace, "team-a"), NamespaceMissing},
		{"a namespace on create, from the wire", answered(t, `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"namespaces \"team-a\" not found","reason":"NotFound","details":{"name":"team-a","kind":"namespaces"},"code":404}`), NamespaceMissing},
		{"an object of another API that is called namespaces", apierrors.NewNotFound(schema.GroupResource{Group: "demo.example.org", Resource: "namespaces"}, "a"), NotFound},
		{"a path that is not served", page(404, "404 page not found\n"), ResourceMissing},
		{"a path whose page was not read", page(404, "unknown"), ResourceMissing},
		{"a path, in the words of a Status", answered(t, `{"kind":"Status","apiVersion":"v1","status":"Failure","message":"the server could not find the requested resource","reason":"NotFound","details":{},"code":404}`), ResourceMissing},
		{"the path of namespaces", apierrors.NewGenericServerResponse(404, http.MethodGet, namespace, "a", "404 page not found", 0, true), ResourceMissing},
		{"a page of something in between", page(404, "default backend - 404"), Unreachable},
		{"a page in HTML", page(404, "<html><body>nginx</body></html>"), Unreachable},
		{"a 404 without details", answered(t, `{"kind":"Status","apiVersion":"v1","status":"Failure","code":404}`), NotFound},
		{"a kind that discovery does not know", &meta.NoKindMatchError{GroupKind: schema.GroupKind{Group: widgets.Group, Kind: "Widget"}}, ResourceMissing},
		{"a resource that discovery does not know", &meta.NoResourceMatchError{PartialResource: widgets.WithVersion("")}, ResourceMissing},
	} {
		row.run(t)
	}
}

func TestServersThatGiveNoAnswerAreUnreachable(t *testing.T) {
	dial := func(errno syscall.Errno) error {
		return request(&net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", errno)})
	}
	for _, row := range []kindRow{
		{"a refused connection", dial(syscall.ECONNREFUSED), Unreachable},
		{"no route", dial(syscall.EHOSTUNREACH), Unreachable},
		{"an errno alone", syscall.ECONNRESET, Unreachable},
		{"no such host", request(&net.DNSError{Err: "no such host", Name: "api.example.org", IsNotFound: true}), Unreachable},
		{"an end in the middle", request(io.ErrUnexpectedEOF), Unreachable},
		{"an end in the middle of a body", fmt.Errorf("unexpected error when reading response body: %w", io.ErrUnexpectedEOF), Unreachable},
		{"HTTP/2 that ended", errors.New("http2: client connection lost"), Unreachable},
		{"a timeout", context.DeadlineExceeded, Unreachable},
		{"a timeout of a request", request(context.DeadlineExceeded), Unreachable},
		{"HTTP on an HTTPS port", request(http.ErrSchemeMismatch), Unreachable},
		{"an internal error", apierrors.NewInternalError(errors.New("etcdserver: leader changed")), Unreachable},
		{"a timeout of the server", apierrors.NewTimeoutError("request did not complete", 1), Unreachable},
		{"a server that wants a retry", apierrors.NewServerTimeout(widgets, "patch", 1), Unreachable},
		{"a server that is not available", apierrors.NewServiceUnavailable("the API group is not available"), Unreachable},
		{"a bad gateway", page(502, "<html>Bad Gateway</html>"), Unreachable},
		{"admission that is not ready", forbidden("not yet ready to handle request"), Unreachable},
		{"a caller that gave up", context.Canceled, Other},
		{"a caller that gave up a request", request(context.Canceled), Other},
		{"a URL that cannot be read", &url.Error{Op: "parse", URL: ":", Err: errors.New("missing protocol scheme")}, Other},
		{"anything else", errors.New("boom"), Other},
	} {
		row.run(t)
	}
}
