package kubeconfig

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"strings"
	"time"
)

// keyLimit is some times the size of any key in use. The arithmetic on larger RSA
// keys takes long enough to stop others.
const keyLimit = 16 << 10

// checkKeyPair refuses a certificate and key that a TLS client cannot use together,
// and returns when the certificate expires, or zero where there is none.
func checkKeyPair(certificate, key []byte, at path) (time.Time, error) {
	certificateField, keyField := at.field("client-certificate-data"), at.field("client-key-data")
	switch {
	case len(certificate) == 0 && len(key) == 0:
		return time.Time{}, nil
	case len(certificate) == 0:
		return time.Time{}, invalid(certificateField, "is not set: a client key needs its certificate")
	case len(key) == 0:
		return time.Time{}, invalid(keyField, "is not set: a client certificate needs its key")
	}
	leaf := leafOf(certificate)
	if leaf == nil {
		return time.Time{}, invalid(certificateField, "holds no usable certificate: it has to be base64 of PEM that begins with a CERTIFICATE block")
	}
	if err := checkKey(key, keyField); err != nil {
		return time.Time{}, err
	}
	if _, err := tls.X509KeyPair(certificate, key); err != nil {
		return time.Time{}, invalid(keyField, "does not belong to the certificate in client-certificate-data: put the key of that certificate there")
	}
	return leaf.NotAfter.UTC(), nil
}

// leafOf returns the first certificate of a chain in PEM, or nil.
func leafOf(chain []byte) *x509.Certificate {
	block := firstBlock(chain, func(kind string) bool { return kind == "CERTIFICATE" })
	if block == nil {
		return nil
	}
	leaf, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return nil
	}
	return leaf
}

func checkKey(key []byte, field string) error {
	if len(key) > keyLimit {
		return invalid(field, "is larger than any key in use: put one private key there and nothing else")
	}
	block := firstBlock(key, func(kind string) bool { return strings.HasSuffix(kind, "PRIVATE KEY") })
	switch {
	case block == nil:
		return invalid(field, "holds no private key: it has to be base64 of PEM with a PRIVATE KEY block")
	case block.Type == "ENCRYPTED PRIVATE KEY" || block.Headers["DEK-Info"] != "":
		return invalid(field, "is protected by a passphrase: put the key there without one")
	case !isPrivateKey(block.Bytes):
		return invalid(field, "holds a broken private key: export it again, as PKCS #8, PKCS #1 or SEC 1")
	}
	return nil
}

func isPrivateKey(der []byte) bool {
	if _, err := x509.ParsePKCS8PrivateKey(der); err == nil {
		return true
	}
	if _, err := x509.ParsePKCS1PrivateKey(der); err == nil {
		return true
	}
	_, err := x509.ParseECPrivateKey(der)
	return err == nil
}

// firstBlock returns the first PEM block of a wanted type, or nil.
func firstBlock(data []byte, wanted func(kind string) bool) *pem.Block {
	for {
		block, rest := pem.Decode(data)
		if block == nil || wanted(block.Type) {
			return block
		}
		data = rest
	}
}
