package controlplane

import (
	"crypto/tls"
	"crypto/x509"
	"slices"
	"testing"
)

func TestCertificatesAreGoodForTheirUseOnly(t *testing.T) {
	c, err := newCredentials()
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name   string
		pair   keyPair
		signer *authority
		use    x509.ExtKeyUsage
		host   string
		good   bool
	}{
		{"serving by address", c.serving, c.ca, x509.ExtKeyUsageServerAuth, "127.0.0.1", true},
		{"serving by name", c.serving, c.ca, x509.ExtKeyUsageServerAuth, "localhost", true},
		{"serving another host", c.serving, c.ca, x509.ExtKeyUsageServerAuth, "192.0.2.1", false},
		{"serving as a client", c.serving, c.ca, x509.ExtKeyUsageClientAuth, "", false},
		{"admin", c.admin, c.ca, x509.ExtKeyUsageClientAuth, "", true},
		{"admin as a server", c.admin, c.ca, x509.ExtKeyUsageServerAuth, "", false},
		{"admin by another authority", c.admin, c.frontProxyCA, x509.ExtKeyUsageClientAuth, "", false},
		{"front proxy", c.proxy, c.frontProxyCA, x509.ExtKeyUsageClientAuth, "", true},
		{"front proxy by the cluster's authority", c.proxy, c.ca, x509.ExtKeyUsageClientAuth, "", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			roots := x509.NewCertPool()
			roots.AddCert(test.signer.parsed)
			_, err := parse(t, test.pair).Verify(x509.VerifyOptions{Roots: roots, DNSName: test.host, KeyUsages: []x509.ExtKeyUsage{test.use}})
			if (err == nil) != test.good {
				t.Errorf("error = %v, want it good: %t", err, test.good)
			}
		})
	}
}

func TestClientCertificatesNameUserAndGroups(t *testing.T) {
	ca, err := newAuthority("test")
	if err != nil {
		t.Fatal(err)
	}
	pair, err := ca.client("alice", "one", "two")
	if err != nil {
		t.Fatal(err)
	}
	subject := parse(t, pair).Subject
	if subject.CommonName != "alice" || !slices.Equal(subject.Organization, []string{"one", "two"}) {
		t.Errorf("subject = %s", subject)
	}
}

// parse returns the certificate, and fails when the key is not that of it.
func parse(t *testing.T, pair keyPair) *x509.Certificate {
	t.Helper()
	both, err := tls.X509KeyPair(pair.cert, pair.key)
	if err != nil {
		t.Fatal(err)
	}
	return both.Leaf
}
