package connection

import (
	"context"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/kbind-dev/konnector/pkg/informer"
)

// secrets watches the Secrets that Connections name: each by one watch of that one
// name, so that no other Secret is ever read.
type secrets struct {
	client   kubernetes.Interface
	onChange func(connection string)

	mu      sync.Mutex
	watches map[types.NamespacedName]*secretWatch
	users   map[string]types.NamespacedName // by Connection
	running sync.WaitGroup
}

type secretWatch struct {
	informer cache.SharedIndexInformer
	health   *informer.Health
	cancel   context.CancelFunc
	users    map[string]bool
}

func newSecrets(client kubernetes.Interface, onChange func(connection string)) *secrets {
	return &secrets{
		client:   client,
		onChange: onChange,
		watches:  map[types.NamespacedName]*secretWatch{},
		users:    map[string]types.NamespacedName{},
	}
}

// secretView is what is known of one Secret.
type secretView struct {
	synced bool
	secret *corev1.Secret // nil when it does not exist
	err    error          // why watching it fails
}

// get returns the Secret that a Connection uses, and has it watched from now on.
func (s *secrets) get(ctx context.Context, connection string, key types.NamespacedName) secretView {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.users[connection] != key {
		s.release(connection)
	}
	watch, exists := s.watches[key]
	if !exists {
		watch = s.start(ctx, key)
		s.watches[key] = watch
	}
	watch.users[connection] = true
	s.users[connection] = key

	view := secretView{synced: watch.informer.HasSynced(), err: watch.health.Err()}
	if item, found, err := watch.informer.GetStore().GetByKey(key.String()); err == nil && found {
		view.secret = item.(*corev1.Secret)
	}
	return view
}

// forget ends the watch of a Connection's Secret, unless another one uses it too.
func (s *secrets) forget(connection string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.release(connection)
}

// wait returns when all watches have ended, after their context has.
func (s *secrets) wait() {
	s.running.Wait()
}

// release is forget for a caller that holds the lock.
func (s *secrets) release(connection string) {
	key, uses := s.users[connection]
	if !uses {
		return
	}
	delete(s.users, connection)
	watch := s.watches[key]
	delete(watch.users, connection)
	if len(watch.users) == 0 {
		watch.cancel()
		delete(s.watches, key)
	}
}

// start watches one Secret. The caller holds the lock.
func (s *secrets) start(ctx context.Context, key types.NamespacedName) *secretWatch {
	ctx, cancel := context.WithCancel(ctx)
	notify := func() { s.notify(key) }
	started := &secretWatch{
		health: informer.NewHealth("Secret "+key.String(), notify),
		cancel: cancel,
		users:  map[string]bool{},
	}
	selector := fields.OneTermEqualSelector(metav1.ObjectNameField, key.Name).String()
	calls := informer.ListWatch(s.client.CoreV1().Secrets(key.Namespace), started.health, func(options *metav1.ListOptions) {
		options.FieldSelector = selector
	})
	started.informer = cache.NewSharedIndexInformerWithOptions(
		cache.ToListWatcherWithWatchListSemantics(calls, s.client), &corev1.Secret{},
		cache.SharedIndexInformerOptions{ObjectDescription: "Secret " + key.String()})
	informer.Silence(started.informer)
	// Both fail only for an informer that has run.
	_ = started.informer.SetTransform(informer.StripManagedFields)
	_, _ = started.informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { notify() },
		UpdateFunc: func(any, any) { notify() },
		DeleteFunc: func(any) { notify() },
	})
	s.running.Go(func() { started.informer.RunWithContext(ctx) })
	s.running.Go(func() {
		if cache.WaitFor(ctx, "", started.informer.HasSyncedChecker()) {
			notify() // a Secret that does not exist brings no event
		}
	})
	return started
}

// notify tells all Connections that use a Secret.
func (s *secrets) notify(key types.NamespacedName) {
	s.mu.Lock()
	var users []string
	if watch, exists := s.watches[key]; exists {
		for user := range watch.users {
			users = append(users, user)
		}
	}
	s.mu.Unlock()
	for _, user := range users {
		s.onChange(user)
	}
}
