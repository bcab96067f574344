package kubeconfig

import (
	"fmt"

	"github.com/kbind-dev/konnector/apis/core/v1alpha1"
	"github.com/kbind-dev/konnector/pkg/access"
)

// wholeFile is the Field of a Refusal that is about no field.
const wholeFile = "kubeconfig"

// nameLimit is the size up to which names of entries are shown.
const nameLimit = 100

// Refusal says why a kubeconfig is not used. It holds no value of a credential.
type Refusal struct {
	// Reason is v1alpha1.ReasonKubeconfigInvalid for what cannot work, or
	// v1alpha1.ReasonKubeconfigNotAllowed for what is refused for safety.
	Reason string

	// Field is the path of the field, such as users[name=admin].user.exec, or
	// "kubeconfig" for the whole.
	Field string

	// Message says in one line what is wrong and what to do.
	Message string
}

// Error returns field and message.
func (r *Refusal) Error() string {
	return r.Field + ": " + r.Message
}

func invalid(field, format string, args ...any) error {
	return &Refusal{Reason: v1alpha1.ReasonKubeconfigInvalid, Field: field, Message: fmt.Sprintf(format, args...)}
}

func notAllowed(field, format string, args ...any) error {
	return &Refusal{Reason: v1alpha1.ReasonKubeconfigNotAllowed, Field: field, Message: fmt.Sprintf(format, args...)}
}

// shown returns a name from the file as it may stand in a Refusal.
func shown(name string) string {
	return access.Sanitize(name, nameLimit)
}
