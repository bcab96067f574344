package kubeconfig

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"math/big"
	"strings"
	"testing"
	"time"
)

// marker stands in every credential of the tests; no refusal may show it.
const marker = "S3CR3TMARK3R"

// certificateEnd is when the certificates of the tests expire.
var certificateEnd = time.Date(2031, 5, 6, 7, 8, 9, 0, time.UTC)

// keyPair is a self-signed certificate with its key, in PEM.
type keyPair struct {
	certificate, key []byte
}

func newKeyPair(t testing.TB) keyPair {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1),
		Subject:      pkix.Name{CommonName: marker},
		NotBefore:    certificateEnd.AddDate(-10, 0, 0),
		NotAfter:     certificateEnd,
		IsCA:         true, BasicConstraintsValid: true,
	}
	certificate, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	key, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return keyPair{certificate: pemOf("CERTIFICATE", certificate), key: pemOf("PRIVATE KEY", key)}
}

func pemOf(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}

func b64(data []byte) string {
	return base64.StdEncoding.EncodeToString(data)
}

// jwt returns an unsigned token with the given claims.
func jwt(claims string) string {
	part := func(text string) string { return base64.RawURLEncoding.EncodeToString([]byte(text)) }
	return part(`{"alg":"RS256"}`) + "." + part(claims) + "." + part(marker)
}

// user returns a user entry with these fields in flow style.
func (k keyPair) user(more ...string) string {
	fields := append([]string{"client-certificate-data: " + b64(k.certificate), "client-key-data: " + b64(k.key)}, more...)
	return "{" + strings.Join(fields, ", ") + "}"
}

const (
	goodCluster = `{server: "https://api.example.org:6443"}`
	goodUser    = `{token: ` + marker + `}`
)

// given returns a kubeconfig of one context "c" with cluster "k" and user "u", whose
// values are given in flow style.
func given(cluster, user string) string {
	return givenContext(cluster, user, `{cluster: k, user: u}`)
}

// givenContext is given with the value of the context as well.
func givenContext(cluster, user, context string) string {
	return fmt.Sprintf(`apiVersion: v1
kind: Config
current-context: c
contexts:
- name: c
  context: %s
clusters:
- name: k
  cluster: %s
users:
- name: u
  user: %s
`, context, cluster, user)
}
