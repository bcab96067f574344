package kubeconfig

import (
	"net/http"
	"strings"
	"testing"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"
)

// FuzzParse holds Parse to what it promises about any text.
func FuzzParse(f *testing.F) {
	pair := newKeyPair(f)
	for _, user := range []string{
		goodUser, `{}`, `null`, pair.user(), pair.user("token: " + marker), `{username: a, password: ` + marker + `}`,
		`{exec: {command: sh, args: [` + marker + `]}}`, `{auth-provider: {name: oidc}}`, `{tokenFile: /` + marker + `}`,
		`{client-certificate: a, client-key: b}`, `{token: "` + marker + `\n"}`, `{token: [` + marker + `]}`,
		`{as: a, as-groups: [b], as-user-extra: {c: [d]}}`, `{token: ` + jwt(`{"exp": 1900000000}`) + `}`,
	} {
		f.Add([]byte(given(goodCluster, user)), false)
	}
	for _, cluster := range []string{
		`{server: "http://a"}`, `{server: "https://a", insecure-skip-tls-verify: true}`, `{server: "https://me:` + marker + `@a"}`,
		`{server: "https://a", proxy-url: "socks5://b"}`, `{server: "https://a", certificate-authority: ca}`,
		`{server: "https://a", certificate-authority-data: ` + b64(pair.certificate) + `, tls-server-name: b}`,
	} {
		f.Add([]byte(given(cluster, goodUser)), true)
	}
	f.Add([]byte("x: &x {token: "+marker+"}\n"+given(goodCluster, "{<<: *x}")), true)
	f.Add([]byte(laughs(3)), false)
	f.Add([]byte(toUTF16(given(goodCluster, goodUser))), false)
	f.Add([]byte(`{"current-context":"a","contexts":[{"name":"a","context":{"cluster":"b","user":"c"}}]}`), true)

	f.Fuzz(func(t *testing.T, data []byte, insecure bool) {
		opts := Options{AllowInsecureTLS: insecure}
		got, err := Parse(data, opts)
		if err != nil {
			refusal := mustRefusal(t, err)
			if !namesHold(data, marker[:6]) {
				mustNotLeak(t, refusal)
			}
			return
		}
		mustBeSelfContained(t, got.REST, opts)
		mustAgreeWithKubectl(t, data, got.REST)
	})
}

// mustBeSelfContained checks that a configuration leads to no file or program, and
// that client-go can use it.
func mustBeSelfContained(t *testing.T, config *rest.Config, opts Options) {
	t.Helper()
	if config.CAFile != "" || config.CertFile != "" || config.KeyFile != "" || config.BearerTokenFile != "" {
		t.Errorf("a path got through: %#v", config)
	}
	if config.ExecProvider != nil || config.AuthProvider != nil || config.Dial != nil || config.Transport != nil {
		t.Errorf("a plugin got through: %#v", config)
	}
	if !opts.AllowInsecureTLS && (config.Insecure || !strings.HasPrefix(config.Host, "https://")) {
		t.Errorf("an insecure connection got through: %#v", config)
	}
	if _, err := rest.TLSConfigFor(config); err != nil {
		t.Errorf("client-go refuses it: %v", err)
	}
	if _, err := http.NewRequest(http.MethodGet, config.Host, nil); err != nil {
		t.Errorf("no request can be made: %v", err)
	}
}

// namesHold tells whether a name in the file, which a refusal may show, holds text.
func namesHold(data []byte, text string) bool {
	type named struct {
		Name    any            `json:"name"`
		Context map[string]any `json:"context"`
	}
	var names struct {
		Current any     `json:"current-context"`
		Entries []named `json:"contexts"`
	}
	if yaml.Unmarshal(data, &names) != nil {
		return false
	}
	all := []any{names.Current}
	for _, entry := range names.Entries {
		all = append(all, entry.Name, entry.Context["cluster"], entry.Context["user"])
	}
	for _, name := range all {
		if name, ok := name.(string); ok && strings.Contains(shown(name), text) {
			return true
		}
	}
	return false
}
