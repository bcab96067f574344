package controlplane

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"time"
)

// ErrExisting is returned by methods that need the API server to be ours, when
// the control plane is an existing cluster. Tests may skip on it.
var ErrExisting = errors.New("not possible with an existing cluster")

// Options say what Start makes. Only Name is required.
type Options struct {
	// Name is the name of the cluster in kubeconfigs and of its folder: lower
	// case letters, digits and dashes. Several clusters may have the same.
	Name string

	// Kubeconfig is a file that leads to an existing cluster with the rights of
	// an administrator. Nothing is started then, and Stop ends nothing; it does
	// remove the users that were added. Everything below is ignored.
	Kubeconfig string

	// Controllers are names of kube-controller-manager's controllers that run
	// beside the usual few.
	Controllers []string

	// APIServerFlags are appended to the flags of kube-apiserver.
	APIServerFlags []string

	// Keep has Stop leave the folder with data, logs and audit log in place.
	Keep bool

	// Timeout limits how long the components may take to become ready, not how
	// long it takes to build them. The default is two minutes.
	Timeout time.Duration

	// Progress, when set, is called as each component becomes ready, with the
	// time since the components were started.
	Progress func(component string, took time.Duration)
}

// EnvOptions returns options for a cluster of that name. They lead to an
// existing cluster when $KONNECTOR_E2E_<NAME>_KUBECONFIG is set, with NAME in
// upper case and underscores for dashes. For the usual pair these are
// KONNECTOR_E2E_CONSUMER_KUBECONFIG and KONNECTOR_E2E_PROVIDER_KUBECONFIG. Use
// absolute paths: tests run in the folder of their package.
func EnvOptions(name string) Options {
	return Options{Name: name, Kubeconfig: os.Getenv(kubeconfigVariable(name))}
}

func kubeconfigVariable(name string) string {
	return "KONNECTOR_E2E_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_")) + "_KUBECONFIG"
}

var validName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,38}[a-z0-9])?$`)

// complete returns the options with defaults, or what is wrong with them.
func (o Options) complete() (Options, error) {
	if !validName.MatchString(o.Name) {
		return o, fmt.Errorf("invalid cluster name %q: want at most 40 lower case letters, digits and dashes, not at the ends", o.Name)
	}
	if o.Timeout == 0 {
		o.Timeout = 2 * time.Minute
	}
	if o.Progress == nil {
		o.Progress = func(string, time.Duration) {}
	}
	return o, nil
}
