package controlplane

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"time"
)

// validity is how long certificates and tokens last: longer than anybody keeps
// a cluster of this package.
const validity = 365 * 24 * time.Hour

// keyPair is a certificate and its private key, both as PEM.
type keyPair struct{ cert, key []byte }

// authority signs certificates.
type authority struct {
	keyPair
	parsed *x509.Certificate
	signer *ecdsa.PrivateKey
}

// newAuthority returns an authority of its own, signed by nobody else.
func newAuthority(name string) (*authority, error) {
	template := &x509.Certificate{
		Subject:               pkix.Name{CommonName: name},
		IsCA:                  true,
		BasicConstraintsValid: true,
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	pair, signer, err := issue(template, nil)
	if err != nil {
		return nil, err
	}
	block, _ := pem.Decode(pair.cert)
	parsed, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return nil, err
	}
	return &authority{keyPair: pair, parsed: parsed, signer: signer}, nil
}

// server returns a serving certificate for hosts, each a DNS name or an address.
func (a *authority) server(name string, hosts ...string) (keyPair, error) {
	template := &x509.Certificate{
		Subject:     pkix.Name{CommonName: name},
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	for _, host := range hosts {
		if ip := net.ParseIP(host); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, host)
		}
	}
	pair, _, err := issue(template, a)
	return pair, err
}

// client returns a certificate by which the API server knows a user as name and
// as a member of groups.
func (a *authority) client(name string, groups ...string) (keyPair, error) {
	template := &x509.Certificate{
		Subject:     pkix.Name{CommonName: name, Organization: groups},
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	pair, _, err := issue(template, a)
	return pair, err
}

// issue makes a key and a certificate for it, signed by parent, or by the key
// itself when there is no parent.
func issue(template *x509.Certificate, parent *authority) (keyPair, *ecdsa.PrivateKey, error) {
	key, keyPEM, err := newKey()
	if err != nil {
		return keyPair{}, nil, err
	}
	template.SerialNumber, err = rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return keyPair{}, nil, err
	}
	template.NotBefore = time.Now().Add(-time.Hour) // clocks differ
	template.NotAfter = template.NotBefore.Add(validity)
	issuer, signer := template, key
	if parent != nil {
		issuer, signer = parent.parsed, parent.signer
	}
	der, err := x509.CreateCertificate(rand.Reader, template, issuer, key.Public(), signer)
	if err != nil {
		return keyPair{}, nil, fmt.Errorf("certificate for %s: %w", template.Subject, err)
	}
	cert := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	return keyPair{cert: cert, key: keyPEM}, key, nil
}

// newKey returns an ECDSA key, also as PEM.
func newKey() (*ecdsa.PrivateKey, []byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, nil, err
	}
	return key, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}), nil
}
