package kubeconfig

import (
	"crypto/x509"
	"net/url"
	"slices"
	"strconv"
)

var (
	serverSchemes = []string{"https", "http"}
	proxySchemes  = []string{"http", "https", "socks5"} // those that kubectl takes
)

// checkCluster refuses what a cluster entry must not or cannot say, and sets the
// server and the proxy of the selection.
func checkCluster(chosen *selection, opts Options) (err error) {
	cluster, at := &chosen.cluster, chosen.clusterPath
	if cluster.InsecureSkipTLSVerify && !opts.AllowInsecureTLS {
		return notAllowed(at.field("insecure-skip-tls-verify"), "would let anybody in between read the credentials: remove it, and put the certificate authority into certificate-authority-data")
	}
	if chosen.server, err = serverURL(cluster.Server, at.field("server"), opts); err != nil {
		return err
	}
	if chosen.proxy, err = proxyURL(cluster.ProxyURL, at.field("proxy-url")); err != nil {
		return err
	}
	if hasSpaceOrControl(cluster.TLSServerName) {
		return invalid(at.field("tls-server-name"), "has white space or control characters in it: remove them")
	}
	ca := cluster.CertificateAuthorityData
	if len(ca) > 0 && cluster.InsecureSkipTLSVerify {
		return invalid(at.field("insecure-skip-tls-verify"), "contradicts certificate-authority-data: remove one of the two")
	}
	if len(ca) > 0 && !x509.NewCertPool().AppendCertsFromPEM(ca) {
		return invalid(at.field("certificate-authority-data"), "holds no usable certificate: it has to be base64 of PEM with a CERTIFICATE block")
	}
	return nil
}

// serverURL returns the URL of a server without what clients never send.
func serverURL(server, field string, opts Options) (*url.URL, error) {
	if server == "" {
		return nil, invalid(field, "is not set: set it to the URL of the API server, such as https://api.example.org:6443")
	}
	target, err := url.Parse(server)
	if err != nil || !slices.Contains(serverSchemes, target.Scheme) || !hasHost(target) {
		return nil, invalid(field, "is no URL of an API server: it has to look like https://api.example.org:6443")
	}
	if target.User != nil {
		return nil, invalid(field, "carries a user name: put username and password into the user entry")
	}
	if target.Scheme == "http" && !opts.AllowInsecureTLS {
		return nil, notAllowed(field, "has no TLS, so that credentials would travel in clear: use an https URL")
	}
	target.RawQuery, target.Fragment = "", ""
	return target, nil
}

// proxyURL returns the URL of a proxy, or nil where none is set.
func proxyURL(proxy, field string) (*url.URL, error) {
	if proxy == "" {
		return nil, nil
	}
	target, err := url.Parse(proxy)
	if err != nil || !slices.Contains(proxySchemes, target.Scheme) || !hasHost(target) {
		return nil, invalid(field, "is no URL of a proxy: it has to begin with http://, https:// or socks5:// and a host")
	}
	return target, nil
}

// hasHost tells whether a URL has a host, and a port that exists if any.
func hasHost(target *url.URL) bool {
	if target.Hostname() == "" {
		return false
	}
	if target.Port() == "" {
		return true
	}
	_, err := strconv.ParseUint(target.Port(), 10, 16)
	return err == nil
}
