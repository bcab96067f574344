package connection

import (
	"context"
	"sync"
	"time"

	"k8s.io/klog/v2"

	corev1alpha1 "github.com/kbind-dev/konnector/apis/core/v1alpha1"
	"github.com/kbind-dev/konnector/pkg/access"
	"github.com/kbind-dev/konnector/pkg/controller"
	"github.com/kbind-dev/konnector/pkg/export"
	"github.com/kbind-dev/konnector/pkg/session"
	"github.com/kbind-dev/konnector/pkg/status"
)

// provider is all that is open for one Connection.
type provider struct {
	fingerprint string
	session     *session.Session
	catalog     *export.Catalog
	cancel      context.CancelFunc
	running     sync.WaitGroup
}

// close ends everything and waits until it has ended.
func (p *provider) close() {
	p.cancel()
	p.session.Close()
	p.running.Wait()
}

// open opens a session for a kubeconfig, and closes the one before: other bytes
// make another session, however well the old one looks.
func (c *Controller) open(ctx context.Context, connection *corev1alpha1.Connection, config *candidate) error {
	name := connection.Name
	ctx = controller.Outlive(ctx)
	config.REST.UserAgent = c.options.UserAgent
	config.REST.QPS, config.REST.Burst = c.options.QPS, c.options.Burst
	opened, err := session.Open(ctx, session.Options{
		Connection:  name,
		ConsumerUID: c.options.LocalUID,
		Instance:    c.options.Instance,
		Config:      config.REST,
		Namespace:   config.Namespace,
		Pinned:      connection.Status.RemoteClusterUID,
		OnChange:    func() { c.loop.Add(name) },
	})
	if err != nil {
		return err
	}
	c.close(name)
	ctx, cancel := context.WithCancel(ctx)
	made := &provider{fingerprint: config.fingerprint, session: opened, cancel: cancel}
	made.catalog = export.NewCatalog(opened.Extensions, func(api string) {
		c.loop.Add(name)
		for _, notify := range c.onExport {
			notify(name, api)
		}
	})
	made.running.Go(func() { made.catalog.Run(ctx) })
	c.mu.Lock()
	c.providers[name] = made
	c.mu.Unlock()
	klog.FromContext(ctx).Info("Provider session opened", "connection", name, "server", config.REST.Host)
	return nil
}

// act commits the status and then, once the clusters are pinned, publishes the session
// or withdraws it.
func (c *Controller) act(ctx context.Context, connection *corev1alpha1.Connection, facts Facts) error {
	if connection.DeletionTimestamp != nil && facts.Bindings == 0 {
		return c.finish(ctx, facts)
	}
	if wrote, err := status.SetFinalizer(ctx, c.client, connection, corev1alpha1.FinalizerCleanup, true); wrote || err != nil {
		return controller.Stale(err) // the event of the write brings it back
	}
	after, usable := Decide(facts)
	open := c.get(connection.Name)
	if !usable {
		c.withdraw(connection.Name)
	}
	pinned := connection.Status.RemoteClusterUID != ""
	if facts.Settled() || (usable && !pinned) {
		if _, err := status.Commit(ctx, c.client, connection, &connection.Status, &after); err != nil {
			return controller.Stale(err)
		}
	}
	if usable && open != nil {
		c.publish(open, facts.fromCRDs())
	}
	return nil
}

// publish has syncers use a session. Its catalog goes with it when it is what the
// user wants to be read.
func (c *Controller) publish(open *provider, fromCRDs bool) {
	catalog := open.catalog
	if !fromCRDs {
		catalog = nil
	}
	c.catalogs.Set(open.session.Connection, catalog)
	c.sessions.Publish(open.session)
}

// finish lets a Connection go that no binding uses. On another cluster than the
// pinned one nothing is written, and there is no Lease either.
func (c *Controller) finish(ctx context.Context, facts Facts) error {
	connection := facts.Connection
	if open := c.get(connection.Name); open != nil && facts.mismatch() == "" {
		const patience = 5 * time.Second // the provider may be gone for good
		call, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		if err := open.session.EndLease(call); err != nil {
			klog.FromContext(ctx).V(2).Info("The Lease on the provider stays", "connection", connection.Name, "err", access.Message(err))
		}
	}
	c.forget(connection.Name)
	_, err := status.SetFinalizer(ctx, c.client, connection, corev1alpha1.FinalizerCleanup, false)
	return controller.Stale(err)
}

func (c *Controller) get(name string) *provider {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.providers[name]
}

// close withdraws and ends what is open for a Connection.
func (c *Controller) close(name string) {
	c.mu.Lock()
	open := c.providers[name]
	delete(c.providers, name)
	c.mu.Unlock()
	if open == nil {
		return
	}
	c.withdraw(name)
	open.close()
}

// withdraw takes away what publish gave.
func (c *Controller) withdraw(name string) {
	c.catalogs.Set(name, nil)
	c.sessions.Withdraw(name)
}

func (c *Controller) closeAll() {
	c.mu.Lock()
	names := make([]string, 0, len(c.providers))
	for name := range c.providers {
		names = append(names, name)
	}
	c.mu.Unlock()
	for _, name := range names {
		c.close(name)
	}
}
