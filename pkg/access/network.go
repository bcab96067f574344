package access

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/url"
	"syscall"

	utilnet "k8s.io/apimachinery/pkg/util/net"
)

// isNetwork tells whether err is of a connection rather than of an answer.
func isNetwork(err error) bool {
	if request, ok := errors.AsType[*url.Error](err); ok {
		return request.Op != "parse" // a URL that cannot be read was never dialled
	}
	if _, ok := errors.AsType[net.Error](err); ok {
		return true
	}
	return isCut(err) || isTLS(err) || hasErrno(err, syscall.ECONNREFUSED, syscall.ETIMEDOUT, syscall.EHOSTUNREACH, syscall.ENETUNREACH)
}

// isCut tells whether a connection ended in the middle.
func isCut(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) ||
		hasErrno(err, syscall.ECONNRESET, syscall.EPIPE, syscall.ECONNABORTED) ||
		utilnet.IsProbableEOF(err) || utilnet.IsHTTP2ConnectionLost(err)
}

// isTLS tells whether a handshake failed.
func isTLS(err error) bool {
	return is[*tls.CertificateVerificationError](err) || is[tls.RecordHeaderError](err) || is[tls.AlertError](err) ||
		is[x509.UnknownAuthorityError](err) || is[x509.HostnameError](err) || is[x509.CertificateInvalidError](err)
}

func is[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}

func hasErrno(err error, wanted ...syscall.Errno) bool {
	for _, errno := range wanted {
		if errors.Is(err, errno) {
			return true
		}
	}
	return false
}
