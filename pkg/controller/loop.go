package controller

import (
	"context"
	"sync"
	"time"

	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
)

// The pauses after failures of one key: doubled each time, up to a minute at
// most, so that whatever was mended shows within a minute. There is no limit over
// all keys together: one failing object must not slow the others.
const (
	firstPause   = 50 * time.Millisecond
	longestPause = 40 * time.Second
)

// Loop runs a function for keys until its context ends.
type Loop[K comparable] struct {
	name  string
	queue workqueue.TypedRateLimitingInterface[K]
	sync  func(ctx context.Context, key K) error
}

// Options of a [Loop].
type Options struct {
	// Name of the loop in logs.
	Name string

	// Metrics publishes the queue's metrics under Name. The stock metrics of a
	// queue stay for the life of the process, so that only loops that live as long set it.
	Metrics bool
}

// NewLoop returns a loop that calls sync for each key. It does nothing until Run.
func NewLoop[K comparable](options Options, sync func(ctx context.Context, key K) error) *Loop[K] {
	config := workqueue.TypedRateLimitingQueueConfig[K]{}
	if options.Metrics {
		config.Name = options.Name
	}
	limiter := workqueue.NewTypedItemExponentialFailureRateLimiter[K](firstPause, longestPause)
	return &Loop[K]{
		name:  options.Name,
		queue: workqueue.NewTypedRateLimitingQueueWithConfig(limiter, config),
		sync:  sync,
	}
}

// Add puts a key into the queue.
func (l *Loop[K]) Add(key K) {
	l.queue.Add(key)
}

// AddFresh puts a key into the queue whose object the user has changed: what
// failed before is forgotten, so that nobody waits for an old failure.
func (l *Loop[K]) AddFresh(key K) {
	l.queue.Forget(key)
	l.queue.Add(key)
}

// AddAfter puts a key into the queue after a delay.
func (l *Loop[K]) AddAfter(key K, delay time.Duration) {
	l.queue.AddAfter(key, delay)
}

// Len returns the number of keys that wait.
func (l *Loop[K]) Len() int {
	return l.queue.Len()
}

// Run waits for the caches and works off the queue with the given number of
// workers. It returns when the context has ended and all workers have as well.
func (l *Loop[K]) Run(ctx context.Context, workers int, caches ...cache.DoneChecker) {
	var group sync.WaitGroup
	defer group.Wait()
	defer l.queue.ShutDown()

	quiet := klog.NewContext(ctx, klog.FromContext(ctx).V(4))
	if !cache.WaitFor(quiet, l.name, caches...) {
		return
	}
	for range workers {
		group.Go(func() {
			for l.next(ctx) {
			}
		})
	}
	<-ctx.Done()
}

// next takes one key out of the queue and reports whether there will be more.
func (l *Loop[K]) next(ctx context.Context) bool {
	key, down := l.queue.Get()
	if down {
		return false
	}
	defer l.queue.Done(key)
	if ctx.Err() != nil {
		return false // what is left in the queue belongs to the next start
	}
	logger := klog.LoggerWithValues(klog.FromContext(ctx), "controller", l.name, "key", key)
	keyed := klog.NewContext(ctx, logger)
	l.settle(keyed, key, l.sync(context.WithValue(keyed, outer{}, ctx), key))
	return true
}

// outer is the key under which the context of a sync holds that of its loop.
type outer struct{}

// Outlive returns the context of the loop that a sync runs in: for what a sync
// starts and what lives longer than the key's turn. It ends with the loop, and its
// logger does not name the key.
func Outlive(ctx context.Context) context.Context {
	if of, ok := ctx.Value(outer{}).(context.Context); ok {
		return of
	}
	return ctx
}

// settle does with a key what the error of its sync asks for.
func (l *Loop[K]) settle(ctx context.Context, key K, err error) {
	if ctx.Err() != nil {
		return // an error of the shutdown itself says nothing about the key
	}
	what, delay := judge(err)
	switch what {
	case forget:
		l.queue.Forget(key)
	case wait:
		l.queue.Forget(key)
		l.queue.AddAfter(key, delay)
		klog.FromContext(ctx).V(4).Info("Waiting", "reason", err.Error())
	case retryQuietly:
		l.queue.AddRateLimited(key)
		klog.FromContext(ctx).V(4).Info("Trying again", "reason", err.Error())
	case retry:
		l.queue.AddRateLimited(key)
		// Not through HandleError, which holds up all workers of the process for a while.
		klog.FromContext(ctx).Error(err, "Sync failed")
	}
}
