package access

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
)

// authority is a certificate authority for the tests.
type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

func newAuthority(t *testing.T, change func(*x509.Certificate)) *authority {
	t.Helper()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority of " + t.Name()},
		NotBefore: time.Now().Add(-2 * time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	if change != nil {
		change(template)
	}
	a := &authority{}
	a.certificate, a.key = signed(t, template, nil)
	return a
}

// signed returns a certificate made from template, signed by issuer or by itself.
func signed(t *testing.T, template *x509.Certificate, issuer *authority) (*x509.Certificate, *ecdsa.PrivateKey) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	if issuer == nil {
		issuer = &authority{certificate: template, key: key}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, issuer.certificate, key.Public(), issuer.key)
	if err != nil {
		t.Fatal(err)
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return certificate, key
}

func (a *authority) pem() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.certificate.Raw})
}

// issue returns a certificate for a server on loopback, changed.
func (a *authority) issue(t *testing.T, change func(*x509.Certificate)) tls.Certificate {
	t.Helper()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2), NotBefore: time.Now().Add(-2 * time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	if change != nil {
		change(template)
	}
	certificate, key := signed(t, template, a)
	return tls.Certificate{Certificate: [][]byte{certificate.Raw}, PrivateKey: key}
}

// serve starts a TLS server and returns its URL.
func serve(t *testing.T, config *tls.Config, handler http.HandlerFunc) string {
	t.Helper()
	server := httptest.NewUnstartedServer(handler)
	server.TLS = config
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	t.Cleanup(server.Close)
	return server.URL
}

// get asks a server as clients of Kubernetes do, and returns the error.
func get(t *testing.T, config *rest.Config) error {
	t.Helper()
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	defer client.CloseIdleConnections()
	answer, err := client.Get(config.Host)
	if err == nil {
		_ = answer.Body.Close()
	}
	return err
}

// mustSay checks a description for words, and for what holds for all descriptions.
func mustSay(t *testing.T, err error, words ...string) {
	t.Helper()
	got := Describe(err)
	for _, word := range words {
		if !strings.Contains(got, word) {
			t.Errorf("%q does not say %q for %v", got, word, err)
		}
	}
	for _, bad := range []string{"insecure", "skip", "\n", "%!"} {
		if strings.Contains(got, bad) {
			t.Errorf("%q says %q", got, bad)
		}
	}
	if !strings.HasSuffix(got, ".") || len(got) > MessageLimit {
		t.Errorf("%q is no sentence", got)
	}
}

func TestCertificatesOfServersAreExplained(t *testing.T) {
	ours, other := newAuthority(t, nil), newAuthority(t, nil)
	former := newAuthority(t, func(c *x509.Certificate) { c.NotAfter = time.Now().Add(-time.Hour) })
	past := func(c *x509.Certificate) { c.NotAfter = time.Now().Add(-time.Hour) }
	future := func(c *x509.Certificate) {
		c.NotBefore, c.NotAfter = time.Now().Add(time.Hour), time.Now().Add(2*time.Hour)
	}
	named := func(names ...string) func(*x509.Certificate) {
		return func(c *x509.Certificate) { c.DNSNames, c.IPAddresses = names, nil }
	}
	for _, row := range []struct {
		name        string
		certificate tls.Certificate
		trusted     *authority
		serverName  string
		says        []string
	}{
		{"another authority", other.issue(t, nil), ours, "", []string{"not signed by an authority that is trusted", "certificate-authority-data"}},
		{"another authority of the system", other.issue(t, nil), nil, "", []string{"certificate-authority-data"}},
		{"another host", ours.issue(t, named("api.example.org", "kubernetes")), ours, "", []string{"valid for api.example.org, kubernetes but not for 127.0.0.1", "as host in server", "tls-server-name"}},
		{"another TLS server name", ours.issue(t, nil), ours, "api.example.org", []string{"valid for 127.0.0.1 but not for api.example.org", "tls-server-name"}},
		{"no name", ours.issue(t, named()), ours, "", []string{"valid for no name at all", "tls-server-name"}},
		{"many names", ours.issue(t, named("a", "b", "c", "d", "e", "f", "g")), ours, "", []string{"valid for a, b, c, d, e, 2 more but"}},
		{"an end in the past", ours.issue(t, past), ours, "", []string{"expired at 20", "renew it", "clock"}},
		{"a start in the future", ours.issue(t, future), ours, "", []string{"not valid before 20", "clock"}},
		{"an authority that has expired", former.issue(t, nil), former, "", []string{"or of its authority, expired at 20", "renew it"}},
		{"another purpose", ours.issue(t, func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth} }), ours, "", []string{"cannot be verified", "incompatible key usage"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			config := &rest.Config{TLSClientConfig: rest.TLSClientConfig{ServerName: row.serverName}}
			if row.trusted != nil {
				config.CAData = row.trusted.pem()
			}
			config.Host = serve(t, &tls.Config{Certificates: []tls.Certificate{row.certificate}}, nil)
			err := get(t, config)
			mustSay(t, err, append(row.says, strings.TrimPrefix(config.Host, "https://"))...)
			if got := Classify(err); got != Unreachable {
				t.Errorf("classified as %s", got)
			}
			if again := Describe(get(t, config)); again != Describe(err) {
				t.Errorf("another try says %q instead of %q", again, Describe(err))
			}
		})
	}
}

func TestAGoodCertificateIsNoError(t *testing.T) {
	ours := newAuthority(t, nil)
	host := serve(t, &tls.Config{Certificates: []tls.Certificate{ours.issue(t, nil)}}, func(http.ResponseWriter, *http.Request) {})
	err := get(t, &rest.Config{Host: host, TLSClientConfig: rest.TLSClientConfig{CAData: ours.pem()}})
	if err != nil || Describe(err) != "" {
		t.Errorf("got %v", err)
	}
}

func TestServersThatBreakOffAreExplained(t *testing.T) {
	ours := newAuthority(t, nil)
	certificates := []tls.Certificate{ours.issue(t, nil)}
	trust := rest.TLSClientConfig{CAData: ours.pem()}
	plain := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(plain.Close)
	for _, row := range []struct {
		name string
		host string
		says []string
	}{
		{"a client certificate is missing", serve(t, &tls.Config{Certificates: certificates, ClientAuth: tls.RequireAnyClientCert}, nil), []string{"broke off the TLS handshake", "client-certificate-data"}},
		{"no TLS", strings.Replace(plain.URL, "http:", "https:", 1), []string{"does not speak TLS", "host and port"}},
		{"nobody listens", "https://" + closedPort(t), []string{"refuses connections", "API server runs"}},
		{"closed at once", "https://" + listen(t, func(c net.Conn) { _ = c.Close() }), []string{"closed the connection without an answer"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			config := &rest.Config{Host: row.host, TLSClientConfig: trust}
			err := get(t, config)
			mustSay(t, err, append(row.says, strings.TrimPrefix(row.host, "https://"))...)
			if got := Classify(err); got != Unreachable {
				t.Errorf("classified as %s", got)
			}
			if again := Describe(get(t, config)); again != Describe(err) {
				t.Errorf("another try says %q instead of %q", again, Describe(err))
			}
		})
	}
}

func TestAServerThatHangsIsExplained(t *testing.T) {
	host := listen(t, func(c net.Conn) { _, _ = io.Copy(io.Discard, c) })
	err := get(t, &rest.Config{Host: "https://" + host, Timeout: 50 * time.Millisecond})
	mustSay(t, err, host, "did not answer in time", "NetworkPolicy")
}

func TestAProxyIsExplained(t *testing.T) {
	proxy := closedPort(t)
	config := &rest.Config{Host: "https://api.example.org", Proxy: http.ProxyURL(&url.URL{Scheme: "http", Host: proxy, User: url.UserPassword("me", "secret")})}
	err := get(t, config)
	mustSay(t, err, "The proxy on the way to api.example.org", "connection refused", "proxy-url")
	if strings.Contains(Describe(err), "secret") {
		t.Errorf("the password is in %q", Describe(err))
	}
}

// listen accepts connections on loopback until the test ends.
func listen(t *testing.T, serve func(net.Conn)) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			go serve(connection)
		}
	}()
	return listener.Addr().String()
}

// closedPort returns an address on loopback where nobody listens.
func closedPort(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = listener.Close()
	return listener.Addr().String()
}

func TestOtherFailuresAreExplained(t *testing.T) {
	local := &net.TCPAddr{IP: net.IPv4(10, 0, 0, 9), Port: 53123}
	for _, row := range []struct {
		name string
		err  error
		says []string
	}{
		{"no such host", request(&net.DNSError{Err: "no such host", Name: "api.example.org", Server: "10.0.0.10:53", IsNotFound: true}), []string{`no host "api.example.org"`, "server in the kubeconfig"}},
		{"a DNS that fails", request(&net.DNSError{Err: "server misbehaving", Name: "api.example.org", IsTemporary: true}), []string{"cannot be resolved at the moment", "DNS"}},
		{"no route", request(&net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", syscall.EHOSTUNREACH)}), []string{"no route to api.example.org:6443"}},
		{"a connection that was reset", request(&net.OpError{Op: "read", Net: "tcp", Source: local, Err: os.NewSyscallError("read", syscall.ECONNRESET)}), []string{"api.example.org:6443 closed the connection"}},
		{"a network error of another sort", request(&net.OpError{Op: "dial", Net: "tcp", Source: local, Err: errors.New("protocol not available")}), []string{"api.example.org:6443 cannot be reached: protocol not available."}},
		{"a timeout without a request", context.DeadlineExceeded, []string{"The server did not answer in time"}},
		{"a refusal without a request", syscall.ECONNREFUSED, []string{"The server refuses connections"}},
		{"credentials", apierrors.NewUnauthorized("Unauthorized"), []string{"does not accept the credentials", "expired"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			mustSay(t, row.err, row.says...)
			if strings.Contains(Describe(row.err), "53123") {
				t.Errorf("a local port is in %q", Describe(row.err))
			}
		})
	}
}

func TestWhatIsNoFailureOfAConnectionKeepsItsWords(t *testing.T) {
	for want, err := range map[string]error{
		"boom": errors.New("boom"),
		`widgets.demo.example.org "a" is forbidden: no`:            forbidden("no"),
		"Internal error occurred: etcdserver: no leader":           apierrors.NewInternalError(errors.New("etcdserver: no leader")),
		"Internal error occurred: webhook: x509: unknown \"host\"": apierrors.NewInternalError(errors.New("webhook: x509:\nunknown \"host\"")),
	} {
		if got := Describe(err); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
