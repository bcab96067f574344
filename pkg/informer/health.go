package informer

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
)

// Health is the outcome of the last list or watch of an informer. An informer
// tries again for ever and by itself tells nobody that it fails.
type Health struct {
	what     string
	onChange func() // may be nil

	mu  sync.Mutex
	err error
}

// NewHealth returns the health of an informer that has not called yet. what names
// it in logs; onChange, if not nil, is called when the outcome becomes another one.
func NewHealth(what string, onChange func()) *Health {
	return &Health{what: what, onChange: onChange}
}

// Err returns why the last list or watch failed, nil when it worked or was never tried.
func (h *Health) Err() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.err
}

// note keeps the outcome of a call, and logs it when it is a new one.
func (h *Health) note(ctx context.Context, err error) {
	if ctx.Err() != nil {
		return // an informer that was told to end
	}
	h.mu.Lock()
	changed := (err == nil) != (h.err == nil) || (err != nil && err.Error() != h.err.Error())
	h.err = err
	h.mu.Unlock()
	if !changed {
		return
	}
	if err != nil {
		klog.FromContext(ctx).V(2).Info("Watching fails", "what", h.what, "err", err)
	}
	if h.onChange != nil {
		h.onChange()
	}
}

// Client lists and watches one kind of object, as typed and dynamic clients do.
type Client[L runtime.Object] interface {
	List(ctx context.Context, options metav1.ListOptions) (L, error)
	Watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error)
}

// ListWatch returns the calls of an informer, with their outcome noted. narrow, if
// not nil, sets the selectors of each call.
func ListWatch[L runtime.Object](client Client[L], health *Health, narrow func(*metav1.ListOptions)) *cache.ListWatch {
	if narrow == nil {
		narrow = func(*metav1.ListOptions) {}
	}
	return &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			narrow(&options)
			list, err := client.List(ctx, options)
			health.note(ctx, err)
			return list, err
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			narrow(&options)
			events, err := client.Watch(ctx, options)
			health.note(ctx, err)
			return events, err
		},
	}
}

// Silence stops an informer from logging each failed call by itself: [Health] logs
// what changes. It has to be called before the informer runs.
func Silence(informer cache.SharedIndexInformer) {
	// It fails only for an informer that runs already.
	_ = informer.SetWatchErrorHandlerWithContext(func(context.Context, *cache.Reflector, error) {})
}

// StripManagedFields is a transformation that drops what the caches have no use for.
func StripManagedFields(object any) (any, error) {
	if accessor, err := meta.Accessor(object); err == nil {
		accessor.SetManagedFields(nil)
	}
	return object, nil
}
