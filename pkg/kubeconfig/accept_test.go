package kubeconfig

import (
	"encoding/json"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"
)

// plain returns the configuration that given(goodCluster, goodUser) stands for, changed.
func plain(change func(*rest.Config)) *rest.Config {
	config := &rest.Config{Host: "https://api.example.org:6443", BearerToken: marker, QPS: -1}
	if change != nil {
		change(config)
	}
	return config
}

func toUTF16(text string) string {
	bytes := []byte{0xff, 0xfe}
	for _, unit := range utf16.Encode([]rune(text)) {
		bytes = append(bytes, byte(unit), byte(unit>>8))
	}
	return string(bytes)
}

func asJSON(t *testing.T, text, indent string) string {
	t.Helper()
	var value any
	if err := yaml.Unmarshal([]byte(text), &value); err != nil {
		t.Fatal(err)
	}
	data, err := json.MarshalIndent(value, "", indent)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// mustAgreeWithKubectl compares with what clientcmd makes of the same text, where it
// takes it at all: it refuses some files for the sake of entries that are not used.
func mustAgreeWithKubectl(t *testing.T, input []byte, got *rest.Config) {
	t.Helper()
	want, err := clientcmd.RESTConfigFromKubeConfig(input)
	if err != nil || strings.HasPrefix(got.Host, "http://") { // without TLS, kubectl sends no credentials
		return
	}
	same := *got
	same.Host, same.Proxy, same.QPS = want.Host, nil, want.QPS // compared elsewhere, or meant to differ
	want.Proxy = nil
	if same.Impersonate.UserName == "" {
		same.Impersonate = want.Impersonate // empty in more than one way
	}
	if !reflect.DeepEqual(&same, want) {
		t.Errorf("got %#v, kubectl has %#v", &same, want)
	}
}

func TestTextIsReadAsKubectlDoes(t *testing.T) {
	good := given(goodCluster, goodUser)
	for name, input := range map[string]string{
		"YAML":                               good,
		"JSON in one line":                   asJSON(t, good, ""),
		"JSON indented with spaces":          asJSON(t, good, "    "),
		"a byte order mark":                  "\uFEFF" + good,
		"carriage returns":                   strings.ReplaceAll(good, "\n", "\r\n"),
		"both":                               "\uFEFF" + strings.ReplaceAll(good, "\n", "\r\n"),
		"UTF-16":                             toUTF16(good),
		"a document marker":                  "---\n" + good,
		"a second document":                  good + "---\nkind: Secret\n",
		"no kind and version":                strings.ReplaceAll(strings.ReplaceAll(good, "kind: Config\n", ""), "apiVersion: v1\n", ""),
		"unknown fields":                     "preferences: {colors: true}\nfuture: [1]\n" + given(`{server: "https://api.example.org:6443", future: 1}`, `{token: `+marker+`, future: {a: b}}`),
		"extensions of any shape":            given(`{server: "https://api.example.org:6443", extensions: 7}`, `{token: `+marker+`, extensions: [{name: x, extension: {a: b}}]}`),
		"fields that differ in case":         given(goodCluster, `{token: `+marker+`, EXEC: {command: sh}, tokenfile: /etc/passwd, Token: x}`),
		"refused fields that are not set":    given(`{server: "https://api.example.org:6443", certificate-authority: ""}`, `{token: `+marker+`, exec: null, tokenFile: "", client-key: null}`),
		"verification that is not skipped":   given(`{server: "https://api.example.org:6443", insecure-skip-tls-verify: false}`, goodUser),
		"an anchor that is used twice":       "x: &x {server: \"https://api.example.org:6443\"}\n" + given("*x", goodUser),
		"a merge":                            "x: &x {token: " + marker + "}\n" + given(goodCluster, "{<<: *x}"),
		"fields of the server never sent":    given(`{server: "https://api.example.org:6443?a=b#c"}`, goodUser),
		"a scheme in capitals":               given(`{server: "HTTPS://api.example.org:6443"}`, goodUser),
		"other entries that are refused":     good + "- {name: other, user: {exec: {command: sh}}}\n- {name: more, user: {client-key-data: \"?\"}}\n",
		"other entries that share a name":    good + "- {name: twin}\n- {name: twin}\n",
		"other entries without their fields": good + "- {}\n- {name: x, user: 7}\n",
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Parse([]byte(input), Options{})
			if err != nil {
				t.Fatal(err)
			}
			mustAgreeWithKubectl(t, []byte(input), got.REST)
			if want := plain(nil); !reflect.DeepEqual(got.REST, want) || got.Namespace != "" || !got.Expiry.IsZero() {
				t.Errorf("got %#v of namespace %q and expiry %s", got.REST, got.Namespace, got.Expiry)
			}
		})
	}
}

func TestFieldsReachTheClient(t *testing.T) {
	pair := newKeyPair(t)
	for _, row := range []struct {
		name  string
		input string
		opts  Options
		want  func(*rest.Config)
	}{
		{"a CA", given(`{server: "https://api.example.org:6443", certificate-authority-data: `+b64(pair.certificate)+`}`, goodUser), Options{},
			func(c *rest.Config) { c.CAData = pair.certificate }},
		{"data wrapped to lines", given(`{server: "https://api.example.org:6443", certificate-authority-data: "`+wrapped(b64(pair.certificate))+`"}`, goodUser), Options{},
			func(c *rest.Config) { c.CAData = pair.certificate }},
		{"a path behind the host", given(`{server: "https://kcp.example.org/clusters/root:org"}`, goodUser), Options{},
			func(c *rest.Config) { c.Host = "https://kcp.example.org/clusters/root:org" }},
		{"an IPv6 address", given(`{server: "https://[::1]:6443"}`, goodUser), Options{},
			func(c *rest.Config) { c.Host = "https://[::1]:6443" }},
		{"a TLS server name", given(`{server: "https://10.0.0.1", tls-server-name: api.example.org}`, goodUser), Options{},
			func(c *rest.Config) { c.Host, c.ServerName = "https://10.0.0.1", "api.example.org" }},
		{"no compression", given(`{server: "https://api.example.org:6443", disable-compression: true}`, goodUser), Options{},
			func(c *rest.Config) { c.DisableCompression = true }},
		{"a client certificate", given(goodCluster, pair.user()), Options{},
			func(c *rest.Config) { c.BearerToken, c.CertData, c.KeyData = "", pair.certificate, pair.key }},
		{"certificate and key in one file", given(goodCluster, keyPair{slices.Concat(pair.certificate, pair.key), slices.Concat(pair.certificate, pair.key)}.user()), Options{},
			func(c *rest.Config) {
				c.BearerToken, c.CertData, c.KeyData = "", slices.Concat(pair.certificate, pair.key), slices.Concat(pair.certificate, pair.key)
			}},
		{"a client certificate beside a token", given(goodCluster, pair.user("token: "+marker)), Options{},
			func(c *rest.Config) { c.CertData, c.KeyData = pair.certificate, pair.key }},
		{"a password with spaces", given(goodCluster, `{username: me, password: "pass word "}`), Options{},
			func(c *rest.Config) { c.BearerToken, c.Username, c.Password = "", "me", "pass word " }},
		{"impersonation", given(goodCluster, `{token: `+marker+`, as: a, as-uid: b, as-groups: [c, d], as-user-extra: {e: [f]}}`), Options{},
			func(c *rest.Config) {
				c.Impersonate = rest.ImpersonationConfig{UserName: "a", UID: "b", Groups: []string{"c", "d"}, Extra: map[string][]string{"e": {"f"}}}
			}},
		{"no credentials", given(goodCluster, `{}`), Options{}, func(c *rest.Config) { c.BearerToken = "" }},
		{"no verification, on request", given(`{server: "https://api.example.org:6443", insecure-skip-tls-verify: true}`, goodUser), Options{AllowInsecureTLS: true},
			func(c *rest.Config) { c.Insecure = true }},
		{"no TLS, on request", given(`{server: "http://localhost:8080"}`, goodUser), Options{AllowInsecureTLS: true},
			func(c *rest.Config) { c.Host = "http://localhost:8080" }},
	} {
		t.Run(row.name, func(t *testing.T) {
			got, err := Parse([]byte(row.input), row.opts)
			if err != nil {
				t.Fatal(err)
			}
			mustAgreeWithKubectl(t, []byte(row.input), got.REST)
			if want := plain(row.want); !reflect.DeepEqual(got.REST, want) {
				t.Errorf("got %#v, want %#v", got.REST, want)
			}
			if _, err := rest.TransportFor(got.REST); err != nil {
				t.Errorf("client-go refuses it: %v", err)
			}
		})
	}
}

func wrapped(text string) string {
	var lines []string
	for len(text) > 64 {
		lines, text = append(lines, text[:64]), text[64:]
	}
	return strings.Join(append(lines, text), `\n`)
}

func TestOnlyTheCurrentContextCounts(t *testing.T) {
	got, err := Parse([]byte(`
current-context: "b@x"
contexts:
- {name: "a@x", context: {cluster: a, user: a, namespace: wrong}}
- {name: "b@x", context: {cluster: b, user: b, namespace: team-b}}
clusters:
- {name: a, cluster: {server: "http://a", certificate-authority: /ca}}
- {name: b, cluster: {server: "https://b"}}
users:
- {name: a, user: {token: wrong, as: wrong}}
- {name: b, user: {token: right}}
`), Options{})
	if err != nil {
		t.Fatal(err)
	}
	want := &rest.Config{Host: "https://b", BearerToken: "right", QPS: -1}
	if !reflect.DeepEqual(got.REST, want) || got.Namespace != "team-b" {
		t.Errorf("got %#v of namespace %q", got.REST, got.Namespace)
	}
}

func TestAProxyOfTheFileReplacesThatOfTheEnvironment(t *testing.T) {
	for _, proxy := range []string{"http://proxy:3128", "https://me:" + marker + "@proxy", "socks5://proxy:1080"} {
		got, err := Parse([]byte(given(`{server: "https://a", proxy-url: "`+proxy+`"}`, goodUser)), Options{})
		if err != nil {
			t.Fatal(err)
		}
		request, _ := http.NewRequest(http.MethodGet, "https://a", nil)
		if used, err := got.REST.Proxy(request); err != nil || used.String() != proxy {
			t.Errorf("got %v, %v, want %s", used, err, proxy)
		}
	}
	got, err := Parse([]byte(given(goodCluster, goodUser)), Options{})
	if err != nil || got.REST.Proxy != nil {
		t.Errorf("without a proxy, client-go has to choose that of the environment: %v", err)
	}
}

func TestExpiryIsTheEarliestThatIsKnown(t *testing.T) {
	pair := newKeyPair(t)
	token := func(claims string) string { return `{token: ` + jwt(claims) + `}` }
	for _, row := range []struct {
		name string
		user string
		want time.Time
	}{
		{"a token that is no JWT", goodUser, time.Time{}},
		{"a JWT with an end", token(`{"exp": 1900000000}`), time.Unix(1900000000, 0).UTC()},
		{"a JWT with an end that has a fraction", token(`{"exp": 1900000000.7}`), time.Unix(1900000000, 0).UTC()},
		{"a JWT without end", token(`{"iss": "x"}`), time.Time{}},
		{"a JWT whose end is text", token(`{"exp": "1900000000"}`), time.Time{}},
		{"a JWT whose end is beyond all times", token(`{"exp": 1e300}`), time.Time{}},
		{"a JWT whose end is before all times", token(`{"exp": -5}`), time.Time{}},
		{"a JWT of garbage", `{token: a.%%%.c}`, time.Time{}},
		{"a certificate", pair.user(), certificateEnd},
		{"a certificate and a JWT that ends earlier", pair.user("token: " + jwt(`{"exp": 1900000000}`)), time.Unix(1900000000, 0).UTC()},
		{"a certificate and a JWT that ends later", pair.user("token: " + jwt(`{"exp": 2000000000}`)), certificateEnd},
		{"a certificate and a token without end", pair.user("token: " + marker), certificateEnd},
	} {
		t.Run(row.name, func(t *testing.T) {
			got, err := Parse([]byte(given(goodCluster, row.user)), Options{})
			if err != nil {
				t.Fatal(err)
			}
			if !got.Expiry.Equal(row.want) {
				t.Errorf("got %s, want %s", got.Expiry, row.want)
			}
		})
	}
}
