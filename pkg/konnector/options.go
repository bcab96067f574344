package konnector

import (
	"errors"
	"fmt"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/kbind-dev/konnector/pkg/ownership"
)

// Options are what a user can set.
type Options struct {
	// Kubeconfig is the path of the consumer cluster's kubeconfig; "" is the cluster
	// that the process runs in.
	Kubeconfig string
	// Context is that of the kubeconfig; "" is its current one.
	Context string
	// Namespace is the konnector's own.
	Namespace string
	// CredentialNamespaces are those from which Connections may take Secrets; none
	// stands for Namespace.
	CredentialNamespaces []string
	// AllowInsecureTLS accepts kubeconfigs that skip the verification of the
	// provider's certificate, or use plain HTTP.
	AllowInsecureTLS bool
	// ExcludeMetadata are labels and annotations that don't travel, besides the built-in ones.
	ExcludeMetadata []string
	// Workers is the number of objects of one API that are handled at a time.
	Workers int
	// ConsumerQPS and ConsumerBurst limit requests to the consumer cluster, ProviderQPS
	// and ProviderBurst those to each provider. A QPS of -1 is no limit.
	ConsumerQPS   float32
	ConsumerBurst int
	ProviderQPS   float32
	ProviderBurst int
}

// NewOptions returns the defaults.
func NewOptions() *Options {
	return &Options{
		Namespace:   "kbind",
		Workers:     32,
		ConsumerQPS: -1,
		ProviderQPS: -1,
	}
}

// AddFlags adds a flag for each option.
func (o *Options) AddFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.Kubeconfig, "kubeconfig", o.Kubeconfig, "Path of the consumer cluster's kubeconfig. Empty for the cluster that the konnector runs in.")
	flags.StringVar(&o.Context, "context", o.Context, "Context of the kubeconfig. Empty for its current context.")
	flags.StringVar(&o.Namespace, "namespace", o.Namespace, "The konnector's own namespace on the consumer cluster.")
	flags.StringSliceVar(&o.CredentialNamespaces, "credential-namespaces", o.CredentialNamespaces, "Namespaces from which Connections may take their Secret. Empty for the konnector's own namespace.")
	flags.BoolVar(&o.AllowInsecureTLS, "allow-insecure-tls", o.AllowInsecureTLS, "Accept provider kubeconfigs that skip the verification of the server's certificate, or use plain HTTP. Not for production.")
	flags.StringSliceVar(&o.ExcludeMetadata, "exclude-metadata", o.ExcludeMetadata, "Labels and annotations that stay on the consumer, besides those of deployment tools: a key, example.org/* or *.example.org/*.")
	flags.IntVar(&o.Workers, "workers", o.Workers, "Number of objects of one API that are synced at a time.")
	flags.Float32Var(&o.ConsumerQPS, "kube-api-qps", o.ConsumerQPS, "Requests per second to the consumer cluster; -1 for no limit.")
	flags.IntVar(&o.ConsumerBurst, "kube-api-burst", o.ConsumerBurst, "Requests above --kube-api-qps that are made at once; 0 for the default of client-go.")
	flags.Float32Var(&o.ProviderQPS, "provider-api-qps", o.ProviderQPS, "Requests per second to each provider cluster; -1 for no limit.")
	flags.IntVar(&o.ProviderBurst, "provider-api-burst", o.ProviderBurst, "Requests above --provider-api-qps that are made at once; 0 for the default of client-go.")
}

// Validate returns what is wrong with the options, each error naming its flag.
func (o *Options) Validate() error {
	var wrong []error
	for _, each := range o.CredentialNamespaces {
		wrong = append(wrong, checkNamespace("--credential-namespaces", each))
	}
	wrong = append(wrong,
		checkNamespace("--namespace", o.Namespace),
		checkRate("--kube-api-qps", o.ConsumerQPS), checkBurst("--kube-api-burst", o.ConsumerBurst),
		checkRate("--provider-api-qps", o.ProviderQPS), checkBurst("--provider-api-burst", o.ProviderBurst),
	)
	if o.Workers < 1 {
		wrong = append(wrong, fmt.Errorf("--workers: must be at least 1, got %d", o.Workers))
	}
	if _, err := ownership.NewExclusions(o.ExcludeMetadata...); err != nil {
		wrong = append(wrong, fmt.Errorf("--exclude-metadata: %w", err))
	}
	return errors.Join(wrong...)
}

func checkNamespace(flag, name string) error {
	if problems := validation.IsDNS1123Label(name); len(problems) > 0 {
		return fmt.Errorf("%s: %q is no name of a namespace: %s", flag, name, problems[0])
	}
	return nil
}

func checkRate(flag string, qps float32) error {
	if qps == 0 {
		return fmt.Errorf("%s: must not be 0; use -1 for no limit", flag)
	}
	return nil
}

func checkBurst(flag string, burst int) error {
	if burst < 0 {
		return fmt.Errorf("%s: must not be negative, got %d", flag, burst)
	}
	return nil
}

// credentialNamespaces returns the namespaces from which Secrets are taken.
func (o *Options) credentialNamespaces() []string {
	if len(o.CredentialNamespaces) == 0 {
		return []string{o.Namespace}
	}
	return o.CredentialNamespaces
}
