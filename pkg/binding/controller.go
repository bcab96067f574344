package binding

import (
	"context"
	"sync"
	"time"

	apiextensionsclient "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset/typed/apiextensions/v1"
	apiextensionsinformers "k8s.io/apiextensions-apiserver/pkg/client/informers/externalversions/apiextensions/v1"
	apiextensionslisters "k8s.io/apiextensions-apiserver/pkg/client/listers/apiextensions/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"

	corev1alpha1client "github.com/kbind-dev/konnector/generated/clientset/versioned/typed/core/v1alpha1"
	corev1alpha1informers "github.com/kbind-dev/konnector/generated/informers/externalversions/core/v1alpha1"
	corev1alpha1listers "github.com/kbind-dev/konnector/generated/listers/core/v1alpha1"
	"github.com/kbind-dev/konnector/pkg/controller"
	"github.com/kbind-dev/konnector/pkg/coverage"
	"github.com/kbind-dev/konnector/pkg/export"
	"github.com/kbind-dev/konnector/pkg/schema"
)

// countPause is the least time between two writes of a binding's status that
// change nothing but counts.
const countPause = 5 * time.Second

// Controller is the controller of ClusterBindings and Bindings.
type Controller struct {
	store       *store
	connections corev1alpha1listers.ConnectionLister
	crds        apiextensionslisters.CustomResourceDefinitionLister
	crdClient   apiextensionsclient.CustomResourceDefinitionInterface
	installer   *schema.Installer
	objects     dynamic.Interface
	events      record.EventRecorder
	catalogs    *export.Catalogs
	index       *coverage.Index
	tally       *coverage.Tally

	synced []cache.DoneChecker
	loop   *controller.Loop[coverage.BindingID]
	now    func() time.Time

	mu        sync.Mutex
	committed map[coverage.BindingID]time.Time
	drains    map[draining]drain
	attempts  map[string]attempt // of writes of CRDs, by API
	gone      func(connection string)
}

// New returns a controller that does nothing until Run. It reads what providers
// offer from the catalogs, claims APIs in the index, and reads counts from the tally.
func New(
	client corev1alpha1client.CoreV1alpha1Interface,
	crdClient apiextensionsclient.CustomResourceDefinitionInterface,
	objects dynamic.Interface,
	events record.EventRecorder,
	informers corev1alpha1informers.Interface,
	crds apiextensionsinformers.CustomResourceDefinitionInformer,
	catalogs *export.Catalogs,
	index *coverage.Index,
	tally *coverage.Tally,
) *Controller {
	c := &Controller{
		store:       newStore(client, informers),
		connections: informers.Connections().Lister(),
		crds:        crds.Lister(),
		crdClient:   crdClient,
		installer:   &schema.Installer{Client: crdClient},
		objects:     objects,
		events:      events,
		catalogs:    catalogs,
		index:       index,
		tally:       tally,
		now:         time.Now,
		committed:   map[coverage.BindingID]time.Time{},
		drains:      map[draining]drain{},
		attempts:    map[string]attempt{},
	}
	c.loop = controller.NewLoop(controller.Options{Name: "binding", Metrics: true}, c.sync)
	c.followAll(informers, crds)
	tally.OnChange(func(id coverage.BindingID) { c.loop.AddAfter(id, 100*time.Millisecond) })
	catalogs.OnChange(func(connection string) { c.Enqueue(connection, "") })
	index.OnChange(func(api coverage.API) { c.Enqueue(api.Connection, api.Name) })
	return c
}

// followAll maps the events of the consumer cluster to bindings.
func (c *Controller) followAll(informers corev1alpha1informers.Interface, crds apiextensionsinformers.CustomResourceDefinitionInformer) {
	for _, informer := range []cache.SharedIndexInformer{informers.ClusterBindings().Informer(), informers.Bindings().Informer()} {
		c.follow(informer, controller.Handler(func(key types.NamespacedName, fresh bool) {
			controller.Enqueue(c.loop, coverage.BindingID{Namespace: key.Namespace, Name: key.Name}, fresh)
		}))
		c.follow(informer, cache.ResourceEventHandlerFuncs{DeleteFunc: func(object any) {
			if c.gone != nil {
				c.gone(connectionOf(object))
			}
		}})
	}
	c.follow(informers.Connections().Informer(), controller.Handler(func(key types.NamespacedName, _ bool) {
		c.Enqueue(key.Name, "")
	}))
	// A Connection that goes gives up its CRDs: one that others wait for is free then.
	c.follow(informers.Connections().Informer(), cache.ResourceEventHandlerFuncs{DeleteFunc: func(any) { c.enqueueAPI("") }})
	c.follow(crds.Informer(), controller.Handler(func(key types.NamespacedName, _ bool) {
		c.forgetRefusal(key.Name)
		c.enqueueAPI(key.Name)
	}))
}

// follow adds an event handler, whose first round Run waits for.
func (c *Controller) follow(informer cache.SharedIndexInformer, handler cache.ResourceEventHandler) {
	registration, err := informer.AddEventHandler(handler)
	if err == nil { // only an informer that has ended refuses handlers
		c.synced = append(c.synced, registration.HasSyncedChecker())
	}
}

// OnGone has a function called with the name of a Connection when a binding that
// used it is gone. It has to be quick, and be set before Run.
func (c *Controller) OnGone(notify func(connection string)) {
	c.gone = notify
}

// Users returns the number of bindings that name a Connection. It is right as soon as
// the informers of bindings have synced.
func (c *Controller) Users(connection string) int {
	return len(c.store.using(connection))
}

// Enqueue looks at the bindings of a Connection again: those that list the API, or
// all when it is "".
func (c *Controller) Enqueue(connection, api string) {
	c.enqueue(c.store.using(connection), api)
}

// enqueueAPI looks at all bindings again that list an API, or simply at all when it is "".
func (c *Controller) enqueueAPI(api string) {
	c.enqueue(c.store.all(), api)
}

func (c *Controller) enqueue(ids []coverage.BindingID, api string) {
	for _, id := range ids {
		if api == "" || c.concerns(id, api) {
			c.loop.Add(id)
		}
	}
}

// concerns reports whether a binding lists an API, or did.
func (c *Controller) concerns(id coverage.BindingID, api string) bool {
	binding, err := c.store.get(id)
	return err == nil && binding != nil && (binding.lists(api) || binding.bound(api) != nil)
}

// Run works until the context ends.
func (c *Controller) Run(ctx context.Context, workers int) {
	c.loop.Run(ctx, workers, c.synced...)
}

// sync brings one binding a step forward.
func (c *Controller) sync(ctx context.Context, id coverage.BindingID) error {
	binding, err := c.store.get(id)
	if err != nil {
		return err
	}
	if binding == nil {
		c.forget(id)
		return nil
	}
	return c.act(ctx, binding, c.observe(binding))
}

// forget drops all that is known of a binding that is gone.
func (c *Controller) forget(id coverage.BindingID) {
	c.index.Remove(id)
	c.forgetDraining(id, "")
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.committed, id)
}
