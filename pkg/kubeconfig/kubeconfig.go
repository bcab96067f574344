package kubeconfig

import (
	"net/http"
	"time"

	"k8s.io/client-go/rest"
)

// Options say what is accepted beyond the safe defaults.
type Options struct {
	// AllowInsecureTLS admits insecure-skip-tls-verify and servers without TLS.
	// Credentials are sent to such servers as to any other.
	AllowInsecureTLS bool
}

// Config is what a kubeconfig says about one connection.
type Config struct {
	// REST reaches the server of the current context. It has no client-side rate
	// limit, no timeout and no user agent, and refers to no file.
	REST *rest.Config

	// Namespace is that of the current context, or "" when unset.
	Namespace string

	// Expiry is the earliest end of the credentials that can be told from them: of
	// the client certificate and of a token that is a JWT. It is zero when unknown.
	Expiry time.Time
}

// Parse returns what the current context of a kubeconfig in YAML or JSON says. The
// error is always a *Refusal.
func Parse(data []byte, opts Options) (*Config, error) {
	found, err := readFile(data)
	if err != nil {
		return nil, err
	}
	chosen, err := found.current()
	if err != nil {
		return nil, err
	}
	if err := checkCluster(chosen, opts); err != nil {
		return nil, err
	}
	expiry, err := checkUser(chosen)
	if err != nil {
		return nil, err
	}
	return &Config{REST: restConfig(chosen), Namespace: chosen.context.Namespace, Expiry: expiry}, nil
}

// restConfig copies what was checked, field by field, so that nothing else can slip in.
func restConfig(from *selection) *rest.Config {
	cluster, user := &from.cluster, &from.user
	config := &rest.Config{
		Host:               from.server.String(),
		DisableCompression: cluster.DisableCompression,
		TLSClientConfig: rest.TLSClientConfig{
			Insecure:   cluster.InsecureSkipTLSVerify,
			ServerName: cluster.TLSServerName,
			CAData:     cluster.CertificateAuthorityData,
			CertData:   user.ClientCertificateData,
			KeyData:    user.ClientKeyData,
		},
		BearerToken: user.Token,
		Username:    user.Username,
		Password:    user.Password,
		Impersonate: rest.ImpersonationConfig{
			UserName: user.Impersonate,
			UID:      user.ImpersonateUID,
			Groups:   user.ImpersonateGroups,
			Extra:    user.ImpersonateUserExtra,
		},
		QPS: -1, // the server's Priority and Fairness decides
	}
	if from.proxy != nil { // else the proxy variables of the environment count
		config.Proxy = http.ProxyURL(from.proxy)
	}
	return config
}
