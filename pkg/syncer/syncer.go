package syncer

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	clientcache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	"k8s.io/klog/v2"

	"github.com/kbind-dev/konnector/pkg/access"
	"github.com/kbind-dev/konnector/pkg/controller"
	"github.com/kbind-dev/konnector/pkg/coverage"
	"github.com/kbind-dev/konnector/pkg/informer"
	"github.com/kbind-dev/konnector/pkg/instance"
	"github.com/kbind-dev/konnector/pkg/ownership"
	"github.com/kbind-dev/konnector/pkg/session"
)

// Environment is what all syncers share.
type Environment struct {
	// Cluster is the UID of the consumer cluster.
	Cluster types.UID
	// Client and Pool are those of the consumer cluster.
	Client dynamic.Interface
	Pool   *informer.Pool

	Index      *coverage.Index
	Tally      *coverage.Tally
	Exclusions *ownership.Exclusions
	Mapper     ownership.Mapper
	Events     record.EventRecorder

	// Workers is the number of objects that one syncer handles at a time.
	Workers int
}

// Syncer keeps the instances of one API of one Connection in sync.
type Syncer struct {
	*Environment
	api        coverage.API
	target     coverage.Target
	namespaces []string
	session    *session.Session

	loop      *controller.Loop[types.NamespacedName]
	memories  *memories
	consumers caches
	providers caches
	first     firstRound
	watching  chan struct{} // closed when the caches are there to be read
}

// caches are the references to one side's informers, by namespace.
type caches map[string]*informer.Ref

// of returns the cache that holds a namespace's objects, nil when none does.
func (c caches) of(namespace string) *informer.Ref {
	if all, wide := c[""]; wide {
		return all
	}
	return c[namespace]
}

// New returns a syncer that does nothing until Run.
func New(environment *Environment, api coverage.API, target coverage.Target, namespaces []string, provider *session.Session) *Syncer {
	syncer := &Syncer{
		Environment: environment,
		api:         api,
		target:      target,
		namespaces:  namespaces,
		session:     provider,
		memories:    newMemories(),
		consumers:   caches{},
		providers:   caches{},
		watching:    make(chan struct{}),
	}
	syncer.loop = controller.NewLoop(controller.Options{Name: "syncer"}, syncer.sync)
	return syncer
}

// Run syncs until the context ends. When it returns, its informers are released
// and all its goroutines have ended.
func (s *Syncer) Run(ctx context.Context) {
	logger := klog.LoggerWithValues(klog.FromContext(ctx), "connection", s.api.Connection, "api", s.api.Name)
	ctx = klog.NewContext(ctx, logger)
	logger.Info("Syncing begins", "version", s.target.Resource.Version, "namespaces", s.namespaces)
	defer logger.Info("Syncing ends")

	s.Tally.SetPhase(s.api, coverage.Starting, s.Index.Bindings(s.api))
	defer func() { s.Tally.SetPhase(s.api, coverage.Stopped, s.Index.Bindings(s.api)) }()

	synced := []clientcache.DoneChecker{}
	for _, namespace := range s.namespaces {
		key := informer.Key{Resource: s.target.Resource, Namespace: namespace}
		synced = append(synced, s.watch(s.consumers, s.Pool.Acquire(key), namespace, instance.Consumer))
		defer s.consumers[namespace].Release()
		synced = append(synced, s.watch(s.providers, s.session.Pool.Acquire(key), namespace, instance.Provider))
		defer s.providers[namespace].Release()
	}
	close(s.watching)
	var health sync.WaitGroup
	defer health.Wait()
	health.Go(func() { s.watchHealth(ctx) })
	if clientcache.WaitFor(klog.NewContext(ctx, logger.V(4)), s.api.String(), synced...) {
		s.begin()
	}
	s.loop.Run(ctx, s.Workers)
}

// watchHealth tells again and again whether the caches can be kept up to date.
func (s *Syncer) watchHealth(ctx context.Context) {
	wait.UntilWithContext(ctx, func(context.Context) {
		s.Tally.SetErr(s.api, s.cacheErr(), s.Index.Bindings(s.api))
	}, healthInterval)
}

// cacheErr returns why a cache can't be kept up to date, "" when all can.
func (s *Syncer) cacheErr() string {
	for _, side := range []string{"consumer", "provider"} {
		refs := s.consumers
		if side == "provider" {
			refs = s.providers
		}
		for _, namespace := range s.namespaces {
			err := refs[namespace].Err()
			if err == nil {
				continue
			}
			action := access.Action{Verb: "watch", Group: s.target.Resource.Group, Resource: s.target.Resource.Resource, Namespace: namespace}
			if access.Classify(err) == access.Denied {
				return fmt.Sprintf("The %s refuses to list and %s. %s", side, action, action.Remedy())
			}
			return fmt.Sprintf("Cannot %s on the %s: %s", action, side, access.Message(err))
		}
	}
	return ""
}

// begin notes which objects have to be looked at before the counts are complete.
func (s *Syncer) begin() {
	var keys []types.NamespacedName
	for _, ref := range s.consumers {
		for _, key := range ref.Informer().GetStore().ListKeys() {
			name, err := clientcache.ParseObjectName(key)
			if err == nil {
				keys = append(keys, name.AsNamespacedName())
			}
		}
	}
	if s.first.begin(keys) {
		s.settled()
	}
	for _, key := range keys {
		s.loop.Add(key)
	}
}

// settled tells that every object was looked at, so that the counts are complete.
func (s *Syncer) settled() {
	s.Tally.SetPhase(s.api, coverage.Running, s.Index.Bindings(s.api))
}

// watch has the events of an informer put keys into the queue.
func (s *Syncer) watch(side caches, ref *informer.Ref, namespace string, which instance.Side) clientcache.DoneChecker {
	side[namespace] = ref
	registration, err := ref.Informer().AddEventHandler(clientcache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { s.saw(which, object, nil) },
		UpdateFunc: func(old, object any) { s.saw(which, object, old) },
		DeleteFunc: func(object any) { s.lost(which, object) },
	})
	if err != nil {
		return ref.Informer().HasSyncedChecker() // only an informer that has ended refuses handlers
	}
	return registration.HasSyncedChecker()
}

// saw handles an object that is there.
func (s *Syncer) saw(side instance.Side, object, old any) {
	now, ok := object.(*instance.Object)
	if !ok {
		return
	}
	key := s.consumerKey(side, now.Key())
	if s.memories.echo(side, key, now) {
		return
	}
	before, updated := old.(*instance.Object)
	if side == instance.Consumer && updated && before.Generation != now.Generation {
		s.loop.AddFresh(key) // the user changed it: an earlier failure says nothing any more
		return
	}
	s.loop.Add(key)
}

// lost handles an object that is gone.
func (s *Syncer) lost(side instance.Side, object any) {
	name, err := clientcache.DeletionHandlingObjectToName(object)
	if err != nil {
		return
	}
	s.loop.Add(s.consumerKey(side, name.AsNamespacedName()))
}

// consumerKey returns the consumer's key for one of either side.
func (s *Syncer) consumerKey(side instance.Side, key types.NamespacedName) types.NamespacedName {
	if side == instance.Provider {
		return s.Mapper.ToConsumer(key)
	}
	return key
}

// Requeue looks at all objects again, as after a change of what covers them.
func (s *Syncer) Requeue() {
	select {
	case <-s.watching:
	default:
		return // it is about to look at all of them for the first time
	}
	for _, ref := range s.consumers {
		for _, key := range ref.Informer().GetStore().ListKeys() {
			if name, err := clientcache.ParseObjectName(key); err == nil {
				s.loop.AddFresh(name.AsNamespacedName())
			}
		}
	}
}

// same reports whether a syncer does what would be started now.
func (s *Syncer) same(target coverage.Target, namespaces []string, provider *session.Session) bool {
	return s.target == target && s.session == provider && slices.Equal(s.namespaces, namespaces)
}

// firstRound is the set of objects that were there at the start and have not been
// looked at yet.
type firstRound struct {
	mu   sync.Mutex
	left map[types.NamespacedName]struct{}
}

// begin sets the objects, and reports whether there are none.
func (r *firstRound) begin(keys []types.NamespacedName) (complete bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.left = make(map[types.NamespacedName]struct{}, len(keys))
	for _, key := range keys {
		r.left[key] = struct{}{}
	}
	return len(keys) == 0
}

// done takes an object out, and reports whether it was the last one.
func (r *firstRound) done(key types.NamespacedName) (complete bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.left) == 0 {
		return false
	}
	delete(r.left, key)
	return len(r.left) == 0
}

// recheckPause is how long something waits that brings no event, such as a name
// that another owner has taken.
const recheckPause = 30 * time.Second

// healthInterval is how often it is told whether the caches are kept up to date.
const healthInterval = 2 * time.Second
