package session

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"
	"time"

	apiextensionsclient "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	corev1alpha1 "github.com/kbind-dev/konnector/apis/core/v1alpha1"
	"github.com/kbind-dev/konnector/pkg/informer"
	"github.com/kbind-dev/konnector/pkg/instance"
)

// Times of a session. A provider that is gone shows within a few of them.
const (
	callTimeout       = 10 * time.Second // of one call that asks whether the provider answers
	heartbeatInterval = 10 * time.Second
	shortestRetry     = 500 * time.Millisecond
	longestRetry      = 30 * time.Second
)

// Options of a session.
type Options struct {
	// Connection is the name of the Connection that the session belongs to.
	Connection string
	// ConsumerUID is the UID of our own cluster.
	ConsumerUID types.UID
	// Instance is unique to this process.
	Instance string
	// Config says how the provider is reached.
	Config *rest.Config
	// Namespace is that of the heartbeat's Lease; "" stands for DefaultNamespace.
	Namespace string
	// Pinned is the UID of the cluster that it has to be; "" is any. Nothing is written
	// to another one, and it is asked again and again which it is.
	Pinned types.UID
	// OnChange is called when the state has changed. It has to be quick.
	OnChange func()
}

// Session is all that is open towards one provider.
type Session struct {
	Connection string
	Kube       kubernetes.Interface
	Dynamic    dynamic.Interface
	Extensions apiextensionsclient.Interface
	Deleter    Deleter

	// Pool holds the informers of the provider's objects: only those that carry the
	// label of our cluster, selected on the server.
	Pool *informer.Pool

	options   Options
	heartbeat *heartbeat
	ctx       context.Context //nolint:containedctx // the life of the session's goroutines, ended by Close
	cancel    context.CancelFunc
	running   sync.WaitGroup

	mu    sync.Mutex
	state State
}

// Fingerprint returns what tells one kubeconfig from another without showing it.
func Fingerprint(kubeconfig []byte) string {
	sum := sha256.Sum256(kubeconfig)
	return hex.EncodeToString(sum[:16])
}

// Open returns a session that connects in the background until Close. It makes no
// call itself; its error is one of the configuration.
func Open(ctx context.Context, options Options) (*Session, error) {
	client, err := rest.HTTPClientFor(options.Config)
	if err != nil {
		return nil, err
	}
	kube, kubeErr := kubernetes.NewForConfigAndClient(options.Config, client)
	objects, objectsErr := dynamic.NewForConfigAndClient(options.Config, client)
	extensions, extensionsErr := apiextensionsclient.NewForConfigAndClient(options.Config, client)
	deleter, deleterErr := newDeleter(options.Config, client)
	if err := errors.Join(kubeErr, objectsErr, extensionsErr, deleterErr); err != nil {
		return nil, fmt.Errorf("clients of the provider: %w", err)
	}
	ctx, cancel := context.WithCancel(klog.NewContext(ctx, klog.LoggerWithValues(klog.FromContext(ctx), "connection", options.Connection)))
	selector := labels.Set{corev1alpha1.LabelConsumer: string(options.ConsumerUID)}.String()
	session := &Session{
		Connection: options.Connection,
		Kube:       kube,
		Dynamic:    objects,
		Extensions: extensions,
		Deleter:    deleter,
		Pool:       informer.NewPool(ctx, objects, instance.Provider, selector),
		options:    options,
		heartbeat:  newHeartbeat(kube, options),
		ctx:        ctx,
		cancel:     cancel,
	}
	session.running.Go(func() { session.run(ctx) })
	return session, nil
}

// Context ends with the session.
func (s *Session) Context() context.Context {
	return s.ctx
}

// State returns what is known of the provider.
func (s *Session) State() State {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state
}

// Close ends the session and returns when all its goroutines have ended.
func (s *Session) Close() {
	s.cancel()
	s.Pool.Close()
	s.running.Wait()
}

// EndLease deletes the heartbeat's Lease, as the last thing before a Connection goes.
func (s *Session) EndLease(ctx context.Context) error {
	return s.heartbeat.end(ctx)
}

// run finds out which cluster this is and then tells again and again whether it answers.
func (s *Session) run(ctx context.Context) {
	for pause := shortestRetry; !s.identify(ctx); pause = min(2*pause, longestRetry) {
		if !sleep(ctx, pause) {
			return
		}
	}
	for s.beat(ctx) {
		pause := heartbeatInterval
		if s.State().Err != nil {
			pause = shortestRetry * 4
		}
		if !sleep(ctx, pause) {
			return
		}
	}
}

// identify asks once which cluster this is, and reports whether it is one that may be
// written to.
func (s *Session) identify(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	uid, err := Identify(ctx, s.Kube.Discovery(), s.Dynamic)
	s.update(ctx, func(state *State) {
		state.Answered = true
		state.UID, state.Err = uid, err
	})
	return err == nil && (s.options.Pinned == "" || s.options.Pinned == uid)
}

// beat renews the Lease once. It returns false when the session ends.
func (s *Session) beat(ctx context.Context) bool {
	call, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	beat := s.heartbeat.renew(call)
	if ctx.Err() != nil {
		return false
	}
	s.update(ctx, func(state *State) { state.beat(beat) })
	return true
}

// update changes the state and tells when it is another one.
func (s *Session) update(ctx context.Context, change func(*State)) {
	s.mu.Lock()
	before := s.state
	change(&s.state)
	after := s.state
	s.mu.Unlock()
	if before.says(after) {
		return
	}
	klog.FromContext(ctx).V(2).Info("Provider session changed", "uid", after.UID, "err", after.Err, "heartbeat", after.Heartbeat.Err)
	if s.options.OnChange != nil {
		s.options.OnChange()
	}
}

// sleep waits, and reports whether the context goes on.
func sleep(ctx context.Context, pause time.Duration) bool {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
