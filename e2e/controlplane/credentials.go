package controlplane

import (
	"os"

	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// Users that the audit log knows by these names.
const (
	adminUser      = "admin"
	probeUser      = "controlplane"
	controllerUser = "system:kube-controller-manager"
	frontProxyUser = "front-proxy-client"
)

// credentials are the keys and certificates that the components and we use.
type credentials struct {
	ca, frontProxyCA  *authority
	serving, proxy    keyPair
	admin, controller keyPair
	probe             keyPair // our own calls, which tests do not want to count
}

func newCredentials() (*credentials, error) {
	var c credentials
	var err error
	if c.ca, err = newAuthority("konnector-controlplane"); err != nil {
		return nil, err
	}
	if c.frontProxyCA, err = newAuthority("konnector-controlplane-front-proxy"); err != nil {
		return nil, err
	}
	if c.serving, err = c.ca.server("kube-apiserver", "127.0.0.1", "localhost", "10.0.0.1", "kubernetes.default.svc"); err != nil {
		return nil, err
	}
	for _, client := range []struct {
		pair   *keyPair
		signer *authority
		name   string
		groups []string
	}{
		{&c.admin, c.ca, adminUser, []string{"system:masters"}},
		{&c.probe, c.ca, probeUser, []string{"system:masters"}},
		{&c.controller, c.ca, controllerUser, nil},
		{&c.proxy, c.frontProxyCA, frontProxyUser, nil},
	} {
		if *client.pair, err = client.signer.client(client.name, client.groups...); err != nil {
			return nil, err
		}
	}
	return &c, nil
}

// write puts everything that the components read into the folder.
func (c *credentials) write(f folder, controllerKubeconfig *clientcmdapi.Config) error {
	_, serviceAccountKey, err := newKey()
	if err != nil {
		return err
	}
	for file, content := range map[string][]byte{
		f.path("ca.crt"):                c.ca.cert,
		f.path("front-proxy-ca.crt"):    c.frontProxyCA.cert,
		f.path("apiserver.crt"):         c.serving.cert,
		f.path("apiserver.key"):         c.serving.key,
		f.path("front-proxy.crt"):       c.proxy.cert,
		f.path("front-proxy.key"):       c.proxy.key,
		f.serviceAccountKey():           serviceAccountKey,
		f.auditPolicy():                 []byte(auditPolicy),
		f.path("controller.kubeconfig"): encode(controllerKubeconfig),
	} {
		if err := os.WriteFile(file, content, 0o600); err != nil {
			return err
		}
	}
	return nil
}
