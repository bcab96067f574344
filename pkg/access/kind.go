package access

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
)

// Kind is the sort of an error, as far as it matters to what is done next.
type Kind string

// Kinds of errors. The empty Kind is that of no error.
const (
	// Denied says that authorization refuses the request: RBAC in most clusters.
	// A 403 whose origin is not known counts as well; a Reviewer settles that.
	Denied Kind = "Denied"

	// Unauthorized says that the server does not accept the credentials (401).
	Unauthorized Kind = "Unauthorized"

	// Quota says that a ResourceQuota leaves no room for the object.
	Quota Kind = "Quota"

	// Terminating says that the namespace of a new object is being deleted.
	Terminating Kind = "Terminating"

	// Rejected says that the object is refused as it is: by validation, by an
	// admission policy or by a webhook, also one that could not be asked.
	Rejected Kind = "Rejected"

	// NamespaceMissing says that a namespace does not exist.
	NamespaceMissing Kind = "NamespaceMissing"

	// ResourceMissing says that the server does not serve the resource at all.
	ResourceMissing Kind = "ResourceMissing"

	// NotFound says that the one object does not exist.
	NotFound Kind = "NotFound"

	// Conflict says that the object is another than the request assumes: a
	// precondition fails, a field has another owner, or the name is taken.
	Conflict Kind = "Conflict"

	// Throttled says that the server wants fewer requests (429).
	Throttled Kind = "Throttled"

	// Unreachable says that no API server gave a proper answer: network, TLS,
	// timeouts, every 5xx, and pages of a proxy in between.
	Unreachable Kind = "Unreachable"

	// Other is everything else.
	Other Kind = "Other"
)

// Classify returns the kind of err, also of a wrapped one; of several errors that
// are joined, the first counts. It returns the empty Kind for nil.
func Classify(err error) Kind {
	if err == nil {
		return ""
	}
	if status, ok := statusOf(err); ok {
		return classifyStatus(err, status)
	}
	if joined, ok := errors.AsType[utilerrors.Aggregate](err); ok && len(joined.Errors()) > 0 {
		return Classify(joined.Errors()[0])
	}
	switch {
	case meta.IsNoMatchError(err):
		return ResourceMissing
	case errors.Is(err, context.Canceled):
		return Other // the caller gave up; that says nothing about the server
	case isNetwork(err):
		return Unreachable
	}
	return Other
}

// statusOf returns what the API server answered, where err is an answer.
func statusOf(err error) (metav1.Status, bool) {
	var answer apierrors.APIStatus // no error by its type, so AsType does not take it
	if errors.As(err, &answer) {
		return answer.Status(), true
	}
	return metav1.Status{}, false
}

// classifyStatus sorts an answer of an API server. Words of admission go before
// codes: webhooks and policies choose the code of their refusal freely.
func classifyStatus(err error, status metav1.Status) Kind {
	switch {
	case isAdmission(status.Message), isUntyped(status.Message):
		return Rejected
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return Terminating
	case apierrors.IsUnauthorized(err):
		return Unauthorized
	case apierrors.IsForbidden(err):
		return classifyForbidden(status.Message)
	case apierrors.IsNotFound(err):
		return classifyNotFound(status)
	case apierrors.IsConflict(err), apierrors.IsAlreadyExists(err):
		return Conflict
	case apierrors.IsTooManyRequests(err):
		return Throttled
	case apierrors.IsInvalid(err), apierrors.IsBadRequest(err), apierrors.IsRequestEntityTooLargeError(err):
		return Rejected
	case isServerTrouble(err, status):
		return Unreachable
	}
	return Other
}

func isServerTrouble(err error, status metav1.Status) bool {
	return status.Code >= http.StatusInternalServerError || apierrors.IsInternalError(err) ||
		apierrors.IsServerTimeout(err) || apierrors.IsTimeout(err) || apierrors.IsServiceUnavailable(err)
}

// isAdmission tells whether the message is one that the API server gives for
// webhooks and policies. All other text after these words is theirs, not the server's.
func isAdmission(message string) bool {
	message = strings.TrimPrefix(message, "Internal error occurred: ")
	if strings.HasPrefix(message, "admission webhook ") || strings.HasPrefix(message, "failed calling webhook ") {
		return true
	}
	detail := forbiddenDetail(message)
	policy := strings.HasPrefix(detail, "ValidatingAdmissionPolicy ") || strings.HasPrefix(detail, "policy ")
	return policy && strings.Contains(detail, " denied request: ")
}

// isUntyped tells whether the message is the one that an apply gets for a document
// that does not fit the schema, such as one with a field that the server does not
// know. It comes with the code 500.
func isUntyped(message string) bool {
	return strings.HasPrefix(message, "failed to create typed patch object (")
}

// quotaWords are the beginnings of all that the quota plugin says in a 403.
var quotaWords = []string{
	"exceeded quota: ", "failed quota: ", "status unknown for quota: ", "insufficient quota to ", "quota usage is negative ",
}

// classifyForbidden tells apart what shares the code 403 and carries no cause.
func classifyForbidden(message string) Kind {
	detail := forbiddenDetail(message)
	begins := func(word string) bool { return strings.HasPrefix(detail, word) }
	switch {
	case slices.ContainsFunc(quotaWords, begins):
		return Quota
	case begins("violates PodSecurity "):
		return Rejected
	case begins("not yet ready to handle request"):
		return Unreachable // admission of a server that has just started
	}
	return Denied
}

// forbiddenDetail returns what follows `widgets.example.org "a" is forbidden: `,
// or the message itself where it has another shape. Only the first such words are
// the server's own: what follows may quote anybody.
func forbiddenDetail(message string) string {
	if _, detail, found := strings.Cut(message, "forbidden: "); found {
		return detail
	}
	return message
}

// classifyNotFound tells a missing object from a missing namespace and from a path
// that is not served. A 404 page of something that is no API server proves nothing
// about resources, so it does not count as one.
func classifyNotFound(status metav1.Status) Kind {
	const notServed = "the server could not find the requested resource"
	details := status.Details
	if details == nil {
		details = &metav1.StatusDetails{}
	}
	for _, cause := range details.Causes {
		if cause.Type == metav1.CauseTypeUnexpectedServerResponse {
			return classifyPage(strings.TrimSpace(cause.Message))
		}
	}
	switch {
	case strings.HasPrefix(status.Message, notServed):
		return ResourceMissing
	case details.Group == "" && details.Kind == "namespaces":
		return NamespaceMissing
	}
	return NotFound
}

func classifyPage(body string) Kind {
	switch body {
	case "", "unknown", "404 page not found", "the server could not find the requested resource":
		return ResourceMissing
	}
	return Unreachable
}
