package main

import (
	"errors"
	"fmt"
	"strings"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// placeholder is the line of the bundle where the kubeconfig belongs.
const placeholder = "REPLACE-WITH-THE-KUBECONFIG"

// renderBundle returns the bundle with the kubeconfig in place of the
// placeholder, indented like it.
func renderBundle(bundle, kubeconfig string) (string, error) {
	before, after, found := strings.Cut(bundle, placeholder)
	if !found || strings.Contains(after, placeholder) {
		return "", fmt.Errorf("the bundle does not hold %s exactly once", placeholder)
	}
	start := strings.LastIndexByte(before, '\n') + 1
	prefix := before[start:]
	if strings.TrimLeft(prefix, " ") != "" {
		return "", fmt.Errorf("%s is not on a line of its own in the bundle", placeholder)
	}
	return before[:start] + indent(strings.TrimRight(kubeconfig, "\n"), prefix) + after, nil
}

// tokenKubeconfig returns a kubeconfig that leads where that of the
// administrator does, with the token of somebody else.
func tokenKubeconfig(admin []byte, user, token string) ([]byte, error) {
	config, err := clientcmd.Load(admin)
	if err != nil {
		return nil, err
	}
	current := config.Contexts[config.CurrentContext]
	if current == nil || config.Clusters[current.Cluster] == nil {
		return nil, errors.New("the kubeconfig has no current context")
	}
	config.AuthInfos = map[string]*clientcmdapi.AuthInfo{user: {Token: token}}
	config.Contexts = map[string]*clientcmdapi.Context{
		config.CurrentContext: {Cluster: current.Cluster, AuthInfo: user},
	}
	return clientcmd.Write(*config)
}

// mergeKubeconfigs returns one kubeconfig with the contexts of all. The current
// one is that of the first.
func mergeKubeconfigs(kubeconfigs ...[]byte) ([]byte, error) {
	merged := clientcmdapi.NewConfig()
	for _, each := range kubeconfigs {
		config, err := clientcmd.Load(each)
		if err != nil {
			return nil, err
		}
		for name, context := range config.Contexts {
			merged.Contexts[name] = context
			merged.Clusters[context.Cluster] = config.Clusters[context.Cluster]
			merged.AuthInfos[context.AuthInfo] = config.AuthInfos[context.AuthInfo]
		}
		if merged.CurrentContext == "" {
			merged.CurrentContext = config.CurrentContext
		}
	}
	return clientcmd.Write(*merged)
}
