package access

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"time"

	utilnet "k8s.io/apimachinery/pkg/util/net"
)

// explanations are asked in this order; the first that knows the error answers for
// all. What is wrong with a proxy outweighs what is behind it, and a certificate
// that nobody trusts says nothing by its names and dates.
var explanations = []func(err error, server string) string{
	explainStatus, explainProxy,
	explainAuthority, explainHostname, explainValidity, explainCertificate, explainAlert, explainNoTLS,
	explainName, explainRefused, explainNoRoute, explainTimeout, explainCut, explainOther,
}

// Describe returns one sentence that says why a server cannot be used and what to
// check. It holds nothing that differs from try to try, such as a local port, so that
// a condition stays as it is while the trouble lasts. It returns "" for nil.
func Describe(err error) string {
	if err == nil {
		return ""
	}
	for _, explain := range explanations {
		if text := explain(err, serverOf(err)); text != "" {
			return Sanitize(text, MessageLimit)
		}
	}
	return Message(err)
}

// serverOf returns the host and port that err is about, as far as it tells.
func serverOf(err error) string {
	if request, ok := errors.AsType[*url.Error](err); ok {
		if target, parseErr := url.Parse(request.URL); parseErr == nil && target.Host != "" {
			return target.Host
		}
	}
	return "the server"
}

func explainStatus(err error, _ string) string {
	if _, ok := statusOf(err); !ok {
		return ""
	}
	if Classify(err) == Unauthorized {
		return "The server does not accept the credentials of the kubeconfig: check that they are complete, have not expired and were not revoked."
	}
	return Message(err)
}

func explainProxy(err error, server string) string {
	op, ok := errors.AsType[*net.OpError](err)
	if !ok || (op.Op != "proxyconnect" && op.Op != "socks connect") {
		return ""
	}
	return fmt.Sprintf("The proxy on the way to %s cannot be used (%s): check proxy-url in the kubeconfig, or the proxy variables of the environment.", server, innermost(op))
}

func explainAuthority(err error, server string) string {
	if !is[x509.UnknownAuthorityError](err) {
		return ""
	}
	return fmt.Sprintf("The certificate of %s is not signed by an authority that is trusted: check that certificate-authority-data in the kubeconfig holds the certificate authority of this server.", server)
}

func explainHostname(err error, server string) string {
	mismatch, ok := errors.AsType[x509.HostnameError](err)
	if !ok {
		return ""
	}
	return fmt.Sprintf("The certificate of %s is valid for %s but not for %s: use one of its names as host in server, or as tls-server-name, in the kubeconfig.",
		server, namesOf(mismatch.Certificate), mismatch.Host)
}

// namesOf returns the first names that a certificate is valid for.
func namesOf(certificate *x509.Certificate) string {
	const shown = 5
	names := append([]string(nil), certificate.DNSNames...)
	for _, ip := range certificate.IPAddresses {
		names = append(names, ip.String())
	}
	if len(names) == 0 {
		return "no name at all"
	}
	if len(names) > shown {
		names = append(names[:shown], fmt.Sprintf("%d more", len(names)-shown))
	}
	for i := range names {
		names[i] = Sanitize(names[i], 100)
	}
	return strings.Join(names, ", ")
}

func explainValidity(err error, server string) string {
	invalid, ok := errors.AsType[x509.CertificateInvalidError](err)
	if !ok || invalid.Reason != x509.Expired {
		return ""
	}
	if time.Now().Before(invalid.Cert.NotBefore) {
		return fmt.Sprintf("The certificate of %s is not valid before %s: correct the clock of the machine that the konnector runs on, or of the one that issued the certificate.",
			server, invalid.Cert.NotBefore.UTC().Format(time.RFC3339))
	}
	return fmt.Sprintf("The certificate of %s, or of its authority, expired at %s: renew it on the server, or correct the clock of the machine that the konnector runs on.",
		server, invalid.Cert.NotAfter.UTC().Format(time.RFC3339))
}

func explainCertificate(err error, server string) string {
	failed, ok := errors.AsType[*tls.CertificateVerificationError](err)
	if !ok {
		return ""
	}
	return fmt.Sprintf("The certificate of %s cannot be verified (%s): check the certificate, and certificate-authority-data in the kubeconfig.", server, innermost(failed))
}

// explainAlert knows the handshakes that the server breaks off, which it does when
// it does not like the certificate of the client.
func explainAlert(err error, server string) string {
	op, ok := errors.AsType[*net.OpError](err)
	if !ok || op.Op != "remote error" {
		return ""
	}
	return fmt.Sprintf("%s broke off the TLS handshake (%s): check client-certificate-data and tls-server-name in the kubeconfig.", capital(server), innermost(op))
}

func explainNoTLS(err error, server string) string {
	if !is[tls.RecordHeaderError](err) && !errors.Is(err, http.ErrSchemeMismatch) {
		return ""
	}
	return fmt.Sprintf("%s does not speak TLS: check host and port of server in the kubeconfig.", capital(server))
}

func explainName(err error, _ string) string {
	lookup, ok := errors.AsType[*net.DNSError](err)
	switch {
	case !ok:
		return ""
	case lookup.IsNotFound:
		return fmt.Sprintf("There is no host %q: check server in the kubeconfig, and that the name can be resolved where the konnector runs.", lookup.Name)
	}
	return fmt.Sprintf("The name %q cannot be resolved at the moment: check the DNS that the konnector uses.", lookup.Name)
}

func explainRefused(err error, server string) string {
	if !hasErrno(err, syscall.ECONNREFUSED) {
		return ""
	}
	return fmt.Sprintf("%s refuses connections: check host and port of server in the kubeconfig, and that the API server runs.", capital(server))
}

func explainNoRoute(err error, server string) string {
	if !hasErrno(err, syscall.EHOSTUNREACH, syscall.ENETUNREACH) {
		return ""
	}
	return fmt.Sprintf("There is no route to %s: check server in the kubeconfig, and the network of the konnector.", server)
}

func explainTimeout(err error, server string) string {
	if !utilnet.IsTimeout(err) && !errors.Is(err, context.DeadlineExceeded) {
		return ""
	}
	return fmt.Sprintf("%s did not answer in time: check that it runs, and that no firewall or NetworkPolicy is in the way.", capital(server))
}

func explainCut(err error, server string) string {
	if !isCut(err) {
		return ""
	}
	return fmt.Sprintf("%s closed the connection without an answer: check that server in the kubeconfig is an API server, and that it is healthy.", capital(server))
}

func explainOther(err error, server string) string {
	if !isNetwork(err) {
		return ""
	}
	return fmt.Sprintf("%s cannot be reached: %s.", capital(server), innermost(err))
}

// innermost returns the words of the error that err began with: outer ones name
// URLs and local ports.
func innermost(err error) string {
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return err.Error()
		}
		err = inner
	}
}

// capital makes the stand-in for an unknown host fit for the start of a sentence.
func capital(server string) string {
	if server == "the server" {
		return "The server"
	}
	return server
}
