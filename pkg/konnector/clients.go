package konnector

import (
	"context"
	"errors"
	"fmt"
	"time"

	apiextensionsclient "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"

	corev1alpha1 "github.com/kbind-dev/konnector/apis/core/v1alpha1"
	"github.com/kbind-dev/konnector/generated/clientset/versioned"
	"github.com/kbind-dev/konnector/pkg/access"
)

// clients are those of the consumer cluster.
type clients struct {
	config     *rest.Config
	kube       kubernetes.Interface
	dynamic    dynamic.Interface
	extensions apiextensionsclient.Interface
	core       versioned.Interface
}

// newClients returns clients of the consumer cluster. It makes no call.
func newClients(options *Options) (*clients, error) {
	config, err := consumerConfig(options)
	if err != nil {
		return nil, fmt.Errorf("--kubeconfig: %w", err)
	}
	config.UserAgent = userAgent()
	config.QPS, config.Burst = options.ConsumerQPS, options.ConsumerBurst
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, err
	}
	made := &clients{config: config}
	var errs [4]error
	made.kube, errs[0] = kubernetes.NewForConfigAndClient(config, client)
	made.dynamic, errs[1] = dynamic.NewForConfigAndClient(config, client)
	made.extensions, errs[2] = apiextensionsclient.NewForConfigAndClient(config, client)
	made.core, errs[3] = versioned.NewForConfigAndClient(config, client)
	return made, errors.Join(errs[:]...)
}

func consumerConfig(options *Options) (*rest.Config, error) {
	if options.Kubeconfig == "" && options.Context == "" {
		config, err := rest.InClusterConfig()
		if errors.Is(err, rest.ErrNotInCluster) {
			return nil, errors.New("not given, and the konnector doesn't run in a cluster")
		}
		return config, err
	}
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = options.Kubeconfig
	return clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: options.Context}).ClientConfig()
}

// waitForAPI waits until the consumer serves the konnector's own API, and says what
// to do meanwhile.
func (c *clients) waitForAPI(ctx context.Context) {
	const pause = 2 * time.Second
	said := ""
	for ctx.Err() == nil {
		missing := c.missingAPI(ctx)
		if missing == "" {
			return
		}
		if missing != said {
			klog.FromContext(ctx).Info("Waiting for the konnector's API on the consumer cluster", "missing", missing, "remedy", "apply the CRDs core.kbind.io_*.yaml of this version")
			said = missing
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
}

// missingAPI names what of the konnector's own API isn't served, "" when all is.
func (c *clients) missingAPI(ctx context.Context) string {
	version := corev1alpha1.SchemeGroupVersion.String()
	served, err := c.kube.Discovery().ServerResourcesForGroupVersionWithContext(ctx, version)
	if err != nil {
		return version + ": " + access.Message(err)
	}
	have := map[string]bool{}
	for _, resource := range served.APIResources {
		have[resource.Name] = true
	}
	for _, resource := range []string{"connections", "clusterbindings", "bindings"} {
		if !have[resource] || !have[resource+"/status"] {
			return resource + "." + corev1alpha1.GroupName
		}
	}
	return ""
}
