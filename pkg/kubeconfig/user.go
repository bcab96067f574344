package kubeconfig

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"time"
	"unicode"

	clientcmdv1 "k8s.io/client-go/tools/clientcmd/api/v1"
)

// checkUser refuses what a user entry cannot say, and returns when its credentials
// expire. An entry without credentials is anonymous, which is allowed.
func checkUser(chosen *selection) (time.Time, error) {
	user, at := &chosen.user, chosen.userPath
	if err := checkText(user, at); err != nil {
		return time.Time{}, err
	}
	certificateEnd, err := checkKeyPair(user.ClientCertificateData, user.ClientKeyData, at)
	if err != nil {
		return time.Time{}, err
	}
	return earlier(certificateEnd, tokenEnd(user.Token)), nil
}

// checkText refuses what cannot be sent in the header of a request.
func checkText(user *clientcmdv1.AuthInfo, at path) error {
	if err := checkToken(user.Token, at.field("token")); err != nil {
		return err
	}
	switch {
	case user.Token != "" && (user.Username != "" || user.Password != ""):
		return invalid(at.field("token"), "stands beside username and password: leave one of the two ways")
	case hasControl(user.Username) || strings.Contains(user.Username, ":"):
		return invalid(at.field("username"), "has a colon or control characters in it: remove them")
	case hasControl(user.Password):
		return invalid(at.field("password"), "has control characters in it, such as a newline at its end: remove them")
	}
	return checkImpersonation(user, at)
}

func checkToken(token, field string) error {
	switch {
	case !hasSpaceOrControl(token):
		return nil
	case !hasSpaceOrControl(strings.TrimRightFunc(token, unicode.IsSpace)):
		return invalid(field, "ends with white space, as `echo TOKEN | base64` leaves a newline there: encode it with `echo -n` or `printf %%s`")
	}
	return invalid(field, "has white space or control characters in it: put the bare token there, without a prefix and in one line")
}

func checkImpersonation(user *clientcmdv1.AuthInfo, at path) error {
	for _, values := range user.ImpersonateUserExtra {
		for _, value := range values {
			if hasControl(value) {
				return invalid(at.field("as-user-extra"), "has control characters in a value: remove them")
			}
		}
	}
	for _, group := range user.ImpersonateGroups {
		if hasControl(group) {
			return invalid(at.field("as-groups"), "has control characters in a name: remove them")
		}
	}
	switch {
	case hasControl(user.Impersonate):
		return invalid(at.field("as"), "has control characters in it: remove them")
	case hasControl(user.ImpersonateUID):
		return invalid(at.field("as-uid"), "has control characters in it: remove them")
	case user.Impersonate == "" && (user.ImpersonateUID != "" || len(user.ImpersonateGroups) > 0 || len(user.ImpersonateUserExtra) > 0):
		return invalid(at.field("as"), "is not set: as-uid, as-groups and as-user-extra only work together with a user name in as")
	}
	return nil
}

func hasControl(text string) bool {
	return strings.ContainsFunc(text, unicode.IsControl)
}

func hasSpaceOrControl(text string) bool {
	return strings.ContainsFunc(text, func(r rune) bool { return unicode.IsControl(r) || unicode.IsSpace(r) })
}

// tokenEnd returns the time in the exp claim of a token, or zero where it is no JWT
// or has none. The signature is for the server to judge.
func tokenEnd(token string) time.Time {
	const farthest = 253402300799 // the last second of the year 9999
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return time.Time{}
	}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return time.Time{}
	}
	var claims struct {
		Expiry float64 `json:"exp"`
	}
	if json.Unmarshal(payload, &claims) != nil || claims.Expiry <= 0 || claims.Expiry > farthest {
		return time.Time{}
	}
	return time.Unix(int64(claims.Expiry), 0).UTC()
}

// earlier returns the earlier of two times, of which either may be unknown.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || (!b.IsZero() && b.Before(a)) {
		return b
	}
	return a
}
