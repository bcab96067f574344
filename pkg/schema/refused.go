package schema

import (
	"fmt"
	"strings"

	corev1alpha1 "github.com/kbind-dev/konnector/apis/core/v1alpha1"
	"github.com/kbind-dev/konnector/pkg/access"
)

// Refused returns the verdict after the consumer's API server refused what the
// verdict on the facts asked for: what is installed stays in use, and the message
// has the server's words.
func Refused(facts Facts, verdict Verdict, err error) Verdict {
	v := look(facts)
	refused := Verdict{
		Action: None,
		Hash:   v.live,
		Reason: corev1alpha1.ReasonCRDRefused,
	}
	sentences := []string{"The API server refuses the CRD: " + strings.TrimSuffix(access.Message(err), ".") + "."}
	if facts.Installed != nil && verdict.Desired != nil {
		if stuck := stuckVersions(facts.Installed, verdict.Desired); len(stuck) > 0 {
			sentences = append(sentences, fmt.Sprintf("The new CRD lacks %[1]s, in which objects may be stored: update them all in another version, then take %[1]s out of status.storedVersions of the CRD.", strings.Join(stuck, ", ")))
		}
	}
	if v.owned == ours {
		served := v.serve(Verdict{})
		refused.Usable, refused.Version = served.Usable, served.Version
		if more := strings.TrimSpace(served.Message); more != "" {
			sentences = append(sentences, more)
		}
	}
	refused.Message = strings.Join(sentences, " ")
	return refused
}
