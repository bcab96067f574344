package controlplane

import (
	"fmt"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// A KubeconfigEdit changes a kubeconfig before it is written.
type KubeconfigEdit func(*clientcmdapi.Config)

// WithServer has every cluster of the kubeconfig at url, for instance that of a
// proxy. A proxy on 127.0.0.1 needs no other certificate.
func WithServer(url string) KubeconfigEdit {
	return func(config *clientcmdapi.Config) {
		for _, cluster := range config.Clusters {
			cluster.Server = url
		}
	}
}

// WithNamespace sets the namespace of every context.
func WithNamespace(namespace string) KubeconfigEdit {
	return func(config *clientcmdapi.Config) {
		for _, context := range config.Contexts {
			context.Namespace = namespace
		}
	}
}

// newKubeconfig returns a configuration with one cluster, one user and one
// context. Cluster and context have the same name.
func newKubeconfig(name, user string, cluster *clientcmdapi.Cluster, auth *clientcmdapi.AuthInfo) *clientcmdapi.Config {
	config := clientcmdapi.NewConfig()
	config.Clusters[name] = cluster
	config.AuthInfos[user] = auth
	config.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: user}
	config.CurrentContext = name
	return config
}

// loadKubeconfig returns the current context of a file and what it refers to,
// with the content of certificate files taken in.
func loadKubeconfig(file string) (*clientcmdapi.Config, error) {
	config, err := clientcmd.LoadFromFile(file)
	if err != nil {
		return nil, fmt.Errorf("kubeconfig %s: %w", file, err)
	}
	if err := clientcmdapi.MinifyConfig(config); err != nil {
		return nil, fmt.Errorf("kubeconfig %s: %w", file, err)
	}
	// Relative file names in it are relative to the file.
	if err := clientcmd.ResolveLocalPaths(config); err != nil {
		return nil, fmt.Errorf("kubeconfig %s: %w", file, err)
	}
	if err := clientcmdapi.FlattenConfig(config); err != nil {
		return nil, fmt.Errorf("kubeconfig %s: %w", file, err)
	}
	return config, nil
}

// encode returns the configuration as YAML, after edits to a copy of it.
func encode(config *clientcmdapi.Config, edits ...KubeconfigEdit) []byte {
	config = config.DeepCopy()
	for _, edit := range edits {
		edit(config)
	}
	out, err := clientcmd.Write(*config)
	if err != nil {
		panic(err) // nothing in these structs can fail to be written
	}
	return out
}

// restConfig returns the configuration for a client that never holds back.
func restConfig(config *clientcmdapi.Config, userAgent string) (*rest.Config, error) {
	out, err := clientcmd.NewDefaultClientConfig(*config, nil).ClientConfig()
	if err != nil {
		return nil, err
	}
	out.QPS = -1
	out.UserAgent = userAgent
	return out, nil
}
