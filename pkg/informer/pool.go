package informer

import (
	"context"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/cache"

	"github.com/kbind-dev/konnector/pkg/instance"
)

// Key names one informer of a pool.
type Key struct {
	Resource  schema.GroupVersionResource
	Namespace string // "" for all namespaces, and for cluster-scoped resources
}

// String returns the resource, and the namespace if there is one.
func (k Key) String() string {
	if k.Namespace == "" {
		return k.Resource.GroupResource().String()
	}
	return k.Resource.GroupResource().String() + " in namespace " + k.Namespace
}

// Pool holds the informers of one cluster.
type Pool struct {
	client   dynamic.Interface
	side     instance.Side
	selector string

	ctx    context.Context //nolint:containedctx // the life of the pool's goroutines, ended by Close
	cancel context.CancelFunc

	mu      sync.Mutex
	entries map[Key]*entry
	running sync.WaitGroup
}

// NewPool returns a pool without informers. Objects are selected by the label
// selector on the server; "" selects all. The pool ends with the context, or by Close.
func NewPool(ctx context.Context, client dynamic.Interface, side instance.Side, selector string) *Pool {
	ctx, cancel := context.WithCancel(ctx)
	return &Pool{
		client:   client,
		side:     side,
		selector: selector,
		ctx:      ctx,
		cancel:   cancel,
		entries:  map[Key]*entry{},
	}
}

// entry is one informer with the number of those who hold it.
type entry struct {
	informer cache.SharedIndexInformer
	cancel   context.CancelFunc
	done     chan struct{}
	health   *Health
	holders  int
}

// Acquire returns a reference to the informer of the key, and starts the informer
// when nobody else holds it. Release has to be called once.
func (p *Pool) Acquire(key Key) *Ref {
	p.mu.Lock()
	defer p.mu.Unlock()
	shared, exists := p.entries[key]
	if !exists {
		shared = p.start(key)
		p.entries[key] = shared
	}
	shared.holders++
	return &Ref{pool: p, key: key, entry: shared}
}

// Len returns the number of informers that run.
func (p *Pool) Len() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.entries)
}

// Close ends all informers and returns when their goroutines have ended.
func (p *Pool) Close() {
	p.cancel()
	p.running.Wait()
}

// start makes an informer and runs it. The caller holds the lock.
func (p *Pool) start(key Key) *entry {
	ctx, cancel := context.WithCancel(p.ctx)
	health := NewHealth(key.String(), nil)
	started := &entry{informer: p.newInformer(key, health), cancel: cancel, done: make(chan struct{}), health: health}
	p.running.Go(func() {
		defer close(started.done)
		started.informer.RunWithContext(ctx)
	})
	return started
}

// newInformer returns an informer whose lists and watches are noted in the health.
func (p *Pool) newInformer(key Key, health *Health) cache.SharedIndexInformer {
	calls := ListWatch(p.client.Resource(key.Resource).Namespace(key.Namespace), health, func(options *metav1.ListOptions) {
		options.LabelSelector = p.selector
	})
	informer := cache.NewSharedIndexInformerWithOptions(
		cache.ToListWatcherWithWatchListSemantics(calls, p.client),
		&unstructured.Unstructured{},
		cache.SharedIndexInformerOptions{ObjectDescription: key.Resource.String()},
	)
	Silence(informer)
	// It fails only for an informer that runs already.
	_ = informer.SetTransform(p.side.Transform())
	return informer
}

// Ref is a share in an informer.
type Ref struct {
	pool    *Pool
	key     Key
	entry   *entry
	release sync.Once
}

// Informer returns the shared informer.
func (r *Ref) Informer() cache.SharedIndexInformer {
	return r.entry.informer
}

// Read returns the object of a key from the cache, nil when it is not there, and a
// resourceVersion that the cache had seen by then: whatever happened up to it shows.
func (r *Ref) Read(key string) (object *instance.Object, version string) {
	store := r.entry.informer.GetStore()
	version = store.LastStoreSyncResourceVersion() // first, since the cache goes on meanwhile
	item, exists, err := store.GetByKey(key)
	if err != nil || !exists {
		return nil, version
	}
	return item.(*instance.Object), version
}

// Err returns why the last list or watch failed, nil when it worked or was never tried.
func (r *Ref) Err() error {
	return r.entry.health.Err()
}

// Release gives the share back. When it was the last one, the informer has ended
// on return. Handlers that were added have to be removed before.
func (r *Ref) Release() {
	r.release.Do(func() {
		r.pool.mu.Lock()
		r.entry.holders--
		last := r.entry.holders == 0
		if last {
			delete(r.pool.entries, r.key)
		}
		r.pool.mu.Unlock()
		if last {
			r.entry.cancel()
			<-r.entry.done
		}
	})
}
