package connection

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	corev1alpha1client "github.com/kbind-dev/konnector/generated/clientset/versioned/typed/core/v1alpha1"
	corev1alpha1informers "github.com/kbind-dev/konnector/generated/informers/externalversions/core/v1alpha1"
	corev1alpha1listers "github.com/kbind-dev/konnector/generated/listers/core/v1alpha1"
	"github.com/kbind-dev/konnector/pkg/controller"
	"github.com/kbind-dev/konnector/pkg/export"
	"github.com/kbind-dev/konnector/pkg/kubeconfig"
	"github.com/kbind-dev/konnector/pkg/session"
)

// Options of the controller.
type Options struct {
	// LocalUID is the UID of the consumer cluster.
	LocalUID types.UID
	// Instance is unique to this process.
	Instance string
	// UserAgent names the konnector to providers.
	UserAgent string
	// CredentialNamespaces are those from which Secrets are taken.
	CredentialNamespaces []string
	// Kubeconfig says what a kubeconfig may contain.
	Kubeconfig kubeconfig.Options
	// QPS and Burst limit the requests to each provider; a QPS of -1 is no limit.
	QPS   float32
	Burst int
}

// Controller is the controller of Connections.
type Controller struct {
	options  Options
	client   corev1alpha1client.ConnectionInterface
	lister   corev1alpha1listers.ConnectionLister
	bindings Bindings
	synced   []cache.DoneChecker
	loop     *controller.Loop[string]

	secrets  *secrets
	sessions *session.Registry
	catalogs *export.Catalogs
	onExport []func(connection, api string)

	mu        sync.Mutex
	providers map[string]*provider
}

// Bindings tells how many bindings use a Connection.
type Bindings func(connection string) int

// New returns a controller that does nothing until Run. It publishes sessions in
// the one registry and catalogs in the other.
func New(
	options Options,
	kube kubernetes.Interface,
	client corev1alpha1client.ConnectionInterface,
	connections corev1alpha1informers.ConnectionInformer,
	sessions *session.Registry,
	catalogs *export.Catalogs,
	bindings Bindings,
) *Controller {
	c := &Controller{
		options:   options,
		client:    client,
		lister:    connections.Lister(),
		bindings:  bindings,
		sessions:  sessions,
		catalogs:  catalogs,
		providers: map[string]*provider{},
	}
	c.loop = controller.NewLoop(controller.Options{Name: "connection", Metrics: true}, c.sync)
	c.secrets = newSecrets(kube, c.loop.AddFresh)
	registration, err := connections.Informer().AddEventHandler(controller.Handler(func(key types.NamespacedName, fresh bool) {
		controller.Enqueue(c.loop, key.Name, fresh)
	}))
	if err == nil { // only an informer that has ended refuses handlers
		c.synced = append(c.synced, registration.HasSyncedChecker())
	}
	return c
}

// OnExport has a function called when what a Connection's provider offers changes:
// with the name of the API, or with "" for all. It has to be quick, and be set
// before Run.
func (c *Controller) OnExport(notify func(connection, api string)) {
	c.onExport = append(c.onExport, notify)
}

// Enqueue looks at a Connection again, as after the last binding that used it went.
func (c *Controller) Enqueue(connection string) {
	c.loop.Add(connection)
}

// Run works until the context ends. When it returns, all sessions are closed and
// all goroutines have ended.
func (c *Controller) Run(ctx context.Context, workers int) {
	defer c.secrets.wait()
	defer c.closeAll()
	c.loop.Run(ctx, workers, c.synced...)
}

// sync brings one Connection a step forward.
func (c *Controller) sync(ctx context.Context, name string) error {
	connection, err := c.lister.Get(name)
	if err != nil { // a lister fails only for what does not exist
		c.forget(name)
		return nil
	}
	facts, config := c.observe(ctx, connection)
	if config != nil && facts.madeElsewhere() == "" {
		if err := c.open(ctx, connection, config); err != nil {
			return err
		}
		facts, _ = c.observe(ctx, connection)
	}
	return c.act(ctx, connection, facts)
}

// forget closes all that is open for a Connection that is gone.
func (c *Controller) forget(name string) {
	c.secrets.forget(name)
	c.close(name)
}
