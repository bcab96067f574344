package kubeconfig

import (
	"bytes"
	"encoding/pem"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/kbind-dev/konnector/apis/core/v1alpha1"
)

const (
	isInvalid    = v1alpha1.ReasonKubeconfigInvalid
	isNotAllowed = v1alpha1.ReasonKubeconfigNotAllowed

	serverField   = "clusters[name=k].cluster.server"
	insecureField = "clusters[name=k].cluster.insecure-skip-tls-verify"
	caField       = "clusters[name=k].cluster.certificate-authority-data"
	proxyField    = "clusters[name=k].cluster.proxy-url"
	tokenField    = "users[name=u].user.token"
	certField     = "users[name=u].user.client-certificate-data"
	keyField      = "users[name=u].user.client-key-data"
)

// refusalRow is a kubeconfig that must be refused.
type refusalRow struct {
	name   string
	input  string
	reason string
	field  string
	says   string // a part of the message, mostly of the remedy
}

func (row refusalRow) run(t *testing.T, opts Options) {
	t.Run(row.name, func(t *testing.T) {
		got, err := Parse([]byte(row.input), opts)
		if got != nil {
			t.Errorf("a configuration came with the error")
		}
		refusal := mustRefusal(t, err)
		if refusal.Reason != row.reason || refusal.Field != row.field {
			t.Errorf("got %s at %s (%s), want %s at %s", refusal.Reason, refusal.Field, refusal.Message, row.reason, row.field)
		}
		if !strings.Contains(refusal.Message, row.says) {
			t.Errorf("message %q does not say %q", refusal.Message, row.says)
		}
		mustNotLeak(t, refusal)
	})
}

// mustRefusal checks what holds for every refusal.
func mustRefusal(t *testing.T, err error) *Refusal {
	t.Helper()
	refusal, ok := errors.AsType[*Refusal](err)
	if !ok {
		t.Fatalf("got %v, want a Refusal", err)
	}
	switch {
	case refusal.Reason != isInvalid && refusal.Reason != isNotAllowed:
		t.Errorf("reason %q is neither of the two", refusal.Reason)
	case refusal.Field == "" || refusal.Message == "":
		t.Errorf("a part is empty: %#v", refusal)
	case len(refusal.Message) > 1024:
		t.Errorf("message has %d bytes", len(refusal.Message))
	case strings.ContainsAny(err.Error(), "\n\r\x1b\x00"):
		t.Errorf("not one clean line: %q", err)
	case !utf8.ValidString(err.Error()):
		t.Errorf("not UTF-8: %q", err)
	}
	return refusal
}

func mustNotLeak(t *testing.T, err error) {
	t.Helper()
	for _, secret := range []string{marker, b64([]byte(marker)), marker[:6]} {
		if strings.Contains(err.Error(), secret) {
			t.Errorf("a credential is in the refusal: %s", err)
		}
	}
}

func TestFieldsThatReachOutOfTheFileAreRefused(t *testing.T) {
	pair := newKeyPair(t)
	for _, row := range []refusalRow{
		{"an exec plugin", given(goodCluster, `{exec: {apiVersion: client.authentication.k8s.io/v1, command: sh, args: [-c, `+marker+`]}}`), isNotAllowed, "users[name=u].user.exec", "use a token"},
		{"an exec plugin beside a token", given(goodCluster, `{token: `+marker+`, exec: {command: sh}}`), isNotAllowed, "users[name=u].user.exec", "never done"},
		{"an exec plugin without a command", given(goodCluster, `{exec: {}}`), isNotAllowed, "users[name=u].user.exec", ""},
		{"an exec plugin of a wrong shape", given(goodCluster, `{exec: [sh, -c]}`), isNotAllowed, "users[name=u].user.exec", ""},
		{"an exec plugin beside broken data", given(goodCluster, `{client-key-data: "?", exec: {command: sh}}`), isNotAllowed, "users[name=u].user.exec", ""},
		{"an exec plugin beside a cluster that is not sound", given(`{server: ":"}`, `{exec: {command: sh}}`), isNotAllowed, "users[name=u].user.exec", ""},
		{"an auth provider", given(goodCluster, `{auth-provider: {name: oidc, config: {id-token: `+marker+`}}}`), isNotAllowed, "users[name=u].user.auth-provider", "use a token"},
		{"an auth provider beside a token", given(goodCluster, `{token: `+marker+`, auth-provider: {name: gcp}}`), isNotAllowed, "users[name=u].user.auth-provider", ""},
		{"a token file", given(goodCluster, `{tokenFile: /var/run/secrets/kubernetes.io/serviceaccount/token}`), isNotAllowed, "users[name=u].user.tokenFile", "put the token itself into token"},
		{"a token file beside a token", given(goodCluster, `{token: `+marker+`, tokenFile: /etc/passwd}`), isNotAllowed, "users[name=u].user.tokenFile", ""},
		{"a certificate file", given(goodCluster, `{client-certificate: /etc/`+marker+`, client-key: /etc/key}`), isNotAllowed, "users[name=u].user.client-certificate", "--flatten"},
		{"a certificate file beside inline data", given(goodCluster, pair.user("client-certificate: /etc/crt")), isNotAllowed, "users[name=u].user.client-certificate", ""},
		{"a key file", given(goodCluster, `{client-key: ../key}`), isNotAllowed, "users[name=u].user.client-key", "--flatten"},
		{"a key file beside inline data", given(goodCluster, pair.user("client-key: key")), isNotAllowed, "users[name=u].user.client-key", ""},
		{"a key file that is a number", given(goodCluster, `{client-key: 7}`), isNotAllowed, "users[name=u].user.client-key", ""},
		{"a CA file", given(`{server: "https://a", certificate-authority: /etc/ca.crt}`, goodUser), isNotAllowed, "clusters[name=k].cluster.certificate-authority", "--flatten"},
		{"a CA file beside inline data", given(`{server: "https://a", certificate-authority: ca.crt, certificate-authority-data: `+b64(pair.certificate)+`}`, goodUser), isNotAllowed, "clusters[name=k].cluster.certificate-authority", ""},
		{"an exec plugin that arrives by a YAML merge", "x: &x {exec: {command: sh}}\n" + given(goodCluster, `{<<: *x, token: `+marker+`}`), isNotAllowed, "users[name=u].user.exec", ""},
		{"an exec plugin in JSON with escapes", strings.ReplaceAll(given(goodCluster, `{"\u0065xec": {"command": "sh"}}`), "kind: Config\n", ""), isNotAllowed, "users[name=u].user.exec", ""},
	} {
		row.run(t, Options{})
		row.run(t, Options{AllowInsecureTLS: true})
	}
}

func TestInsecureConnectionsAreRefusedByDefault(t *testing.T) {
	for _, row := range []refusalRow{
		{"no verification", given(`{server: "https://a", insecure-skip-tls-verify: true}`, goodUser), isNotAllowed, insecureField, "certificate-authority-data"},
		{"no verification, in the words of YAML 1.1", given(`{server: "https://a", insecure-skip-tls-verify: yes}`, goodUser), isNotAllowed, insecureField, ""},
		{"no TLS", given(`{server: "http://a:8080"}`, goodUser), isNotAllowed, serverField, "https"},
		{"no TLS in capitals", given(`{server: "HTTP://a"}`, `{}`), isNotAllowed, serverField, "https"},
	} {
		row.run(t, Options{})
		t.Run(row.name+" is accepted on request", func(t *testing.T) {
			if _, err := Parse([]byte(row.input), Options{AllowInsecureTLS: true}); err != nil {
				t.Error(err)
			}
		})
	}
	refusalRow{"no verification beside a CA contradicts itself",
		given(`{server: "https://a", insecure-skip-tls-verify: true, certificate-authority-data: `+b64(newKeyPair(t).certificate)+`}`, goodUser),
		isInvalid, insecureField, "remove one"}.run(t, Options{AllowInsecureTLS: true})
}

func TestFilesThatAreNoUsableKubeconfigAreRefused(t *testing.T) {
	lines := func(drop string) string { return strings.ReplaceAll(given(goodCluster, goodUser), drop, "") }
	for _, row := range []refusalRow{
		{"nothing", "", isInvalid, "kubeconfig", "is empty"},
		{"white space", " \n\t\n", isInvalid, "kubeconfig", "is empty"},
		{"a byte order mark alone", "\uFEFF\n", isInvalid, "kubeconfig", "is empty"},
		{"comments alone", "# " + marker + "\n", isInvalid, "kubeconfig", "is empty"},
		{"an empty first document", "---\n---\n" + given(goodCluster, goodUser), isInvalid, "kubeconfig", "is empty"},
		{"an empty object", "{}", isInvalid, "contexts", "add a context"},
		{"text", marker, isInvalid, "kubeconfig", "base64 inside of base64"},
		{"a kubeconfig in base64", b64([]byte(given(goodCluster, goodUser))), isInvalid, "kubeconfig", "base64 inside of base64"},
		{"a list", "[a, b]", isInvalid, "kubeconfig", "is no kubeconfig"},
		{"binary", "\x00\x01\xff\xfe" + marker, isInvalid, "kubeconfig", "neither YAML nor JSON"},
		{"truncated YAML", "users:\n- name: u\n  user: {token: \"" + marker, isInvalid, "kubeconfig", "neither YAML nor JSON"},
		{"wrong indentation", "users:\n- name: u\n   token: " + marker + "\n  b: c", isInvalid, "kubeconfig", "near line"},
		{"truncated JSON", `{"users": [{"name": "u", "user": {"token": "` + marker, isInvalid, "kubeconfig", "neither YAML nor JSON"},
		{"an alias without its anchor", "a: *" + marker, isInvalid, "kubeconfig", "neither YAML nor JSON"},
		{"a key that is a map", "{? {token: " + marker + "} : x}", isInvalid, "kubeconfig", "neither YAML nor JSON"},
		{"a Secret instead of what is in it", "apiVersion: v1\nkind: Secret\nstringData: {kubeconfig: " + marker + "}", isInvalid, "kind", "kind Config"},
		{"another version", "apiVersion: v2\nkind: Config", isInvalid, "kind", "apiVersion v1"},
		{"a list that is none", "users: " + marker, isInvalid, "users", "cannot be decoded"},
		{"a name that is a number", strings.ReplaceAll(given(goodCluster, goodUser), "name: u", "name: 7"), isInvalid, "users", "needs quotes"},
		{"no current context, but one that can be named", lines("current-context: c\n"), isInvalid, "current-context", `set it to "c"`},
		{"no current context of several", "contexts: [{name: a}, {name: b}]", isInvalid, "current-context", "leads to the provider"},
		{"no contexts", "kind: Config\ncurrent-context: c", isInvalid, "current-context", `names "c", which is not in contexts`},
		{"two contexts of the same name", "current-context: c\ncontexts: [{name: c}, {name: c}]", isInvalid, "contexts", "more than one"},
		{"a context without a cluster", givenContext(goodCluster, goodUser, `{user: u}`), isInvalid, "contexts[name=c].context.cluster", "set it to a name in clusters"},
		{"a context without a user", givenContext(goodCluster, goodUser, `{cluster: k}`), isInvalid, "contexts[name=c].context.user", "set it to a name in users"},
		{"a context that is null", givenContext(goodCluster, goodUser, `null`), isInvalid, "contexts[name=c].context.cluster", ""},
		{"a context that is text", givenContext(goodCluster, goodUser, marker), isInvalid, "contexts[name=c].context", "indentation"},
		{"a missing cluster", givenContext(goodCluster, goodUser, `{cluster: x, user: u}`), isInvalid, "contexts[name=c].context.cluster", `names "x", which is not in clusters`},
		{"a missing user", givenContext(goodCluster, goodUser, `{cluster: k, user: x}`), isInvalid, "contexts[name=c].context.user", `names "x", which is not in users`},
		{"a namespace that is none", givenContext(goodCluster, goodUser, `{cluster: k, user: u, namespace: ../kube-system}`), isInvalid, "contexts[name=c].context.namespace", "lower case"},
		{"a name with a terminal sequence and a newline", "current-context: \"a\\e[31m\\nb\"", isInvalid, "current-context", `names "a b"`},
		{"a name without end", "current-context: " + strings.Repeat("x", 5000), isInvalid, "current-context", "…"},
	} {
		row.run(t, Options{})
	}
}

func TestClustersThatCannotBeReachedAreRefused(t *testing.T) {
	cluster := func(fields string) string { return given("{server: \"https://a\", "+fields+"}", goodUser) }
	server := func(url string) string { return given(`{server: `+url+`}`, goodUser) }
	for _, row := range []refusalRow{
		{"no server", given(`{}`, goodUser), isInvalid, serverField, "is not set"},
		{"a cluster that is null", given(`null`, goodUser), isInvalid, serverField, "is not set"},
		{"a server without scheme", server(`"api.example.org:6443"`), isInvalid, serverField, "https://"},
		{"a server of another scheme", server(`"ftp://api.example.org"`), isInvalid, serverField, "https://"},
		{"a socket", server(`"unix:///var/run/api.sock"`), isInvalid, serverField, "https://"},
		{"a file", server(`"file:///etc/passwd"`), isInvalid, serverField, "https://"},
		{"a server without host", server(`"https://:6443"`), isInvalid, serverField, "https://"},
		{"a port that does not exist", server(`"https://a:66443"`), isInvalid, serverField, "https://"},
		{"a server with a newline", server(`"https://a\n"`), isInvalid, serverField, "https://"},
		{"a server with credentials", server(`"https://me:` + marker + `@a"`), isInvalid, serverField, "into the user entry"},
		{"a server with credentials that cannot be read", server(`"https://me:` + marker + `%zz@a"`), isInvalid, serverField, "https://"},
		{"a server that is a number", server(`6443`), isInvalid, serverField, "needs quotes"},
		{"a proxy of an unknown scheme", cluster(`proxy-url: "ftp://` + marker + `@p:1"`), isInvalid, proxyField, "socks5://"},
		{"a proxy without scheme", cluster(`proxy-url: "p:3128"`), isInvalid, proxyField, "http://"},
		{"a proxy without host", cluster(`proxy-url: "http://"`), isInvalid, proxyField, "and a host"},
		{"a proxy that cannot be read", cluster(`proxy-url: "http://me:` + marker + `%zz@p"`), isInvalid, proxyField, "http://"},
		{"a CA that is no base64", cluster(`certificate-authority-data: "` + marker + `!"`), isInvalid, caField, "base64"},
		{"a CA that is no PEM", cluster(`certificate-authority-data: ` + b64([]byte(marker))), isInvalid, caField, "CERTIFICATE block"},
		{"a CA that is PEM of nothing", cluster(`certificate-authority-data: ` + b64(pemOf("CERTIFICATE", []byte(marker)))), isInvalid, caField, "CERTIFICATE block"},
		{"a CA that is a key", cluster(`certificate-authority-data: ` + b64(newKeyPair(t).key)), isInvalid, caField, "CERTIFICATE block"},
		{"a TLS server name with a space", cluster(`tls-server-name: "a b"`), isInvalid, "clusters[name=k].cluster.tls-server-name", "white space"},
		{"a truth value that is none", cluster(`insecure-skip-tls-verify: "true"`), isInvalid, insecureField, "cannot be decoded"},
		{"two clusters of the same name", given(goodCluster, goodUser) + "\nclusters: [{name: k}, {name: k}]", isInvalid, "clusters", "more than one"},
	} {
		row.run(t, Options{})
	}
}

func TestCredentialsThatCannotWorkAreRefused(t *testing.T) {
	pair, other := newKeyPair(t), newKeyPair(t)
	user := func(certificate, key []byte) string {
		return given(goodCluster, keyPair{certificate, key}.user())
	}
	half := func(data []byte) []byte { return data[:len(data)/2] }
	for _, row := range []refusalRow{
		{"a user that is text", given(goodCluster, marker), isInvalid, "users[name=u].user", "indentation"},
		{"a certificate without key", given(goodCluster, `{client-certificate-data: `+b64(pair.certificate)+`}`), isInvalid, keyField, "needs its key"},
		{"a key without certificate", given(goodCluster, `{client-key-data: `+b64(pair.key)+`}`), isInvalid, certField, "needs its certificate"},
		{"a key of another certificate", user(pair.certificate, other.key), isInvalid, keyField, "does not belong"},
		{"certificate and key exchanged", user(pair.key, pair.certificate), isInvalid, certField, "CERTIFICATE block"},
		{"a certificate cut off", user(half(pair.certificate), pair.key), isInvalid, certField, "no usable certificate"},
		{"a certificate of garbage", user(pemOf("CERTIFICATE", []byte(marker)), pair.key), isInvalid, certField, "no usable certificate"},
		{"a key cut off", user(pair.certificate, half(pair.key)), isInvalid, keyField, "no private key"},
		{"a key of garbage", user(pair.certificate, pemOf("RSA PRIVATE KEY", []byte(marker))), isInvalid, keyField, "broken private key"},
		{"a key without PEM", user(pair.certificate, []byte(marker)), isInvalid, keyField, "no private key"},
		{"a key with a passphrase", user(pair.certificate, pemOf("ENCRYPTED PRIVATE KEY", []byte(marker))), isInvalid, keyField, "passphrase"},
		{"a key with a passphrase of the old kind", user(pair.certificate, pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Headers: map[string]string{"Proc-Type": "4,ENCRYPTED", "DEK-Info": "AES-256-CBC,00"}, Bytes: []byte(marker)})), isInvalid, keyField, "passphrase"},
		{"a key of absurd size", user(pair.certificate, pemOf("RSA PRIVATE KEY", bytes.Repeat([]byte(marker), 2000))), isInvalid, keyField, "larger than"},
		{"a key that is no base64", given(goodCluster, `{client-key-data: "`+marker+`-"}`), isInvalid, keyField, "base64"},
		{"a token that is a number", given(goodCluster, `{token: 12345}`), isInvalid, tokenField, "needs quotes"},
		{"a token that is a list", given(goodCluster, `{token: [`+marker+`]}`), isInvalid, tokenField, "cannot be decoded"},
		{"a token with a newline at its end", given(goodCluster, `{token: "`+marker+`\n"}`), isInvalid, tokenField, "echo -n"},
		{"a token of white space", given(goodCluster, `{token: " "}`), isInvalid, tokenField, "echo -n"},
		{"a token in two lines", given(goodCluster, `{token: "`+marker+`\nX-Forwarded-User: root"}`), isInvalid, tokenField, "one line"},
		{"a token with its prefix", given(goodCluster, `{token: "Bearer `+marker+`"}`), isInvalid, tokenField, "without a prefix"},
		{"a token with a NUL", given(goodCluster, `{token: "`+marker+`\0"}`), isInvalid, tokenField, "control characters"},
		{"a token beside a password", given(goodCluster, `{token: `+marker+`, username: a, password: `+marker+`}`), isInvalid, tokenField, "leave one"},
		{"a user name with a colon", given(goodCluster, `{username: "a:`+marker+`", password: b}`), isInvalid, "users[name=u].user.username", "colon"},
		{"a password with a newline", given(goodCluster, `{username: a, password: "`+marker+`\n"}`), isInvalid, "users[name=u].user.password", "newline"},
		{"impersonation with a newline", given(goodCluster, `{as: "a\nb"}`), isInvalid, "users[name=u].user.as", "control characters"},
		{"an impersonated UID with a newline", given(goodCluster, `{as: a, as-uid: "a\nb"}`), isInvalid, "users[name=u].user.as-uid", "control characters"},
		{"an impersonated group with a newline", given(goodCluster, `{as: a, as-groups: ["a\nb"]}`), isInvalid, "users[name=u].user.as-groups", "control characters"},
		{"an impersonated extra with a newline", given(goodCluster, `{as: a, as-user-extra: {x: ["a\nb"]}}`), isInvalid, "users[name=u].user.as-user-extra", "control characters"},
		{"impersonated groups without a user", given(goodCluster, `{as-groups: [system:masters]}`), isInvalid, "users[name=u].user.as", "user name in as"},
	} {
		row.run(t, Options{})
	}
}
