package main

import (
	"context"
	"fmt"

	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"

	"github.com/kbind-dev/konnector/e2e/controlplane"
)

// Names of the clusters, which are also the contexts of the kubeconfig.
const (
	consumer = "consumer"
	provider = "provider"
)

// clusterLogLines is how much of the log of each component is shown when one dies.
const clusterLogLines = 10

// cluster is one of the two.
type cluster struct {
	*controlplane.ControlPlane // nil until it has been started
	name                       string
	client                     dynamic.Interface // for our watches
}

// start returns when the cluster is ready.
func (c *cluster) start(ctx context.Context) (err error) {
	if c.ControlPlane, err = controlplane.Start(ctx, controlplane.Options{Name: c.name}); err != nil {
		return err
	}
	c.client, err = dynamic.NewForConfig(c.AdminConfig())
	return err
}

// describe returns what the cluster is, in one line.
func (c *cluster) describe() string {
	text := c.name + " cluster"
	client, err := discovery.NewDiscoveryClientForConfig(c.AdminConfig())
	if err != nil {
		return text
	}
	version, err := client.ServerVersion()
	if err != nil {
		return text
	}
	return fmt.Sprintf("%s, Kubernetes %s", text, version.GitVersion)
}

// watchOver calls onDeath when a component of the cluster ends by itself.
func (c *cluster) watchOver(ctx context.Context, onDeath func(error)) {
	if err := c.Wait(ctx); err != nil {
		onDeath(fmt.Errorf("%s cluster: %w\n%s", c.name, err, c.Logs(clusterLogLines)))
	}
}

// stop ends the cluster and returns when nothing of it is left.
func (c *cluster) stop() error {
	if c.ControlPlane == nil {
		return nil
	}
	return c.Stop()
}
