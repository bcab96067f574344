package konnector

import (
	"context"
	"fmt"
	"os"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsinformers "k8s.io/apiextensions-apiserver/pkg/client/informers/externalversions"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/kubernetes/scheme"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/record"
	"k8s.io/klog/v2"

	informers "github.com/kbind-dev/konnector/generated/informers/externalversions"
	"github.com/kbind-dev/konnector/pkg/binding"
	"github.com/kbind-dev/konnector/pkg/connection"
	"github.com/kbind-dev/konnector/pkg/coverage"
	"github.com/kbind-dev/konnector/pkg/export"
	"github.com/kbind-dev/konnector/pkg/informer"
	"github.com/kbind-dev/konnector/pkg/instance"
	"github.com/kbind-dev/konnector/pkg/kubeconfig"
	"github.com/kbind-dev/konnector/pkg/ownership"
	"github.com/kbind-dev/konnector/pkg/session"
	"github.com/kbind-dev/konnector/pkg/syncer"
)

// controllerWorkers is the number of Connections, and of bindings, that are handled
// at a time. None of them waits for a provider.
const controllerWorkers = 4

// Run runs a konnector until the context ends. When it returns, all that it started
// has ended: no write follows.
func Run(ctx context.Context, options *Options) error {
	if err := options.Validate(); err != nil {
		return err
	}
	clients, err := newClients(options)
	if err != nil {
		return err
	}
	klog.FromContext(ctx).Info("Starting", "version", Version(), "server", clients.config.Host)
	uid := clients.identify(ctx)
	clients.waitForAPI(ctx)
	if ctx.Err() != nil {
		return nil // told to end before the cluster was ready
	}

	parts, err := assemble(ctx, clients, options, uid)
	if err != nil {
		return err
	}
	parts.run(ctx)
	klog.FromContext(ctx).Info("Ended")
	return nil
}

// parts are what runs, with what has to end after it.
type parts struct {
	core        informers.SharedInformerFactory
	crds        apiextensionsinformers.SharedInformerFactory
	pool        *informer.Pool
	endEvents   func()
	bindings    *binding.Controller
	connections *connection.Controller
	syncers     *syncer.Set
}

// assemble connects the parts. None of them does anything until run.
func assemble(ctx context.Context, clients *clients, options *Options, uid types.UID) (*parts, error) {
	exclusions, err := ownership.NewExclusions(options.ExcludeMetadata...)
	if err != nil {
		return nil, err
	}
	events, endEvents := clients.newEvents(ctx)
	made := &parts{
		core:      informers.NewSharedInformerFactoryWithOptions(clients.core, 0, informers.WithTransform(informer.StripManagedFields)),
		crds:      apiextensionsinformers.NewSharedInformerFactoryWithOptions(clients.extensions, 0, apiextensionsinformers.WithTransform(informer.StripManagedFields)),
		pool:      informer.NewPool(ctx, clients.dynamic, instance.Consumer, ""),
		endEvents: endEvents,
	}
	// What the controllers share: each writes the one and reads the other.
	sessions := session.NewRegistry()
	catalogs := export.NewCatalogs()
	index, tally := coverage.NewIndex(), coverage.NewTally()

	ours := made.core.Core().V1alpha1()
	made.bindings = binding.New(clients.core.CoreV1alpha1(), clients.extensions.ApiextensionsV1().CustomResourceDefinitions(),
		clients.dynamic, events, ours, made.crds.Apiextensions().V1().CustomResourceDefinitions(), catalogs, index, tally)
	made.connections = connection.New(connectionOptions(options, uid), clients.kube, clients.core.CoreV1alpha1().Connections(),
		ours.Connections(), sessions, catalogs, made.bindings.Users)
	made.syncers = syncer.NewSet(&syncer.Environment{
		Cluster:    uid,
		Client:     clients.dynamic,
		Pool:       made.pool,
		Index:      index,
		Tally:      tally,
		Exclusions: exclusions,
		Mapper:     ownership.Identity{},
		Events:     events,
		Workers:    options.Workers,
	}, sessions)
	made.connections.OnExport(made.bindings.Enqueue)
	made.bindings.OnGone(made.connections.Enqueue)
	return made, nil
}

// run runs all parts until the context ends, and returns when they have ended.
func (p *parts) run(ctx context.Context) {
	defer p.endEvents()
	defer p.pool.Close()
	p.core.StartWithContext(ctx)
	defer p.core.Shutdown()
	p.crds.StartWithContext(ctx)
	defer p.crds.Shutdown()
	// A Connection that is going has to see the bindings that still use it.
	p.core.WaitForCacheSyncWithContext(ctx)

	var running sync.WaitGroup
	running.Go(func() { p.syncers.Run(ctx) })
	running.Go(func() { p.bindings.Run(ctx, controllerWorkers) })
	running.Go(func() { p.connections.Run(ctx, controllerWorkers) })
	running.Wait()
}

func connectionOptions(options *Options, uid types.UID) connection.Options {
	return connection.Options{
		LocalUID:             uid,
		Instance:             instanceName(),
		UserAgent:            userAgent(),
		CredentialNamespaces: options.credentialNamespaces(),
		Kubeconfig:           kubeconfig.Options{AllowInsecureTLS: options.AllowInsecureTLS},
		QPS:                  options.ProviderQPS,
		Burst:                options.ProviderBurst,
	}
}

// instanceName is unique to this process.
func instanceName() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return fmt.Sprintf("%s_%s", host, uuid.NewUUID())
}

// newEvents returns a recorder of Events on the consumer, and what ends it.
func (c *clients) newEvents(ctx context.Context) (recorder record.EventRecorder, end func()) {
	broadcaster := record.NewBroadcaster(record.WithContext(ctx))
	broadcaster.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: c.kube.CoreV1().Events("")})
	return broadcaster.NewRecorder(scheme.Scheme, corev1.EventSource{Component: "konnector"}), broadcaster.Shutdown
}

// identify returns the UID of the consumer cluster, and waits until it answers or
// the context ends.
func (c *clients) identify(ctx context.Context) types.UID {
	const pause = 2 * time.Second
	for {
		uid, err := session.Identify(ctx, c.kube.Discovery(), c.dynamic)
		if err == nil || ctx.Err() != nil {
			return uid
		}
		klog.FromContext(ctx).Error(err, "The consumer cluster can't be identified; trying again")
		select {
		case <-ctx.Done():
			return ""
		case <-time.After(pause):
		}
	}
}
