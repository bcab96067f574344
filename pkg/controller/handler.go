package controller

import (
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
)

// Handler returns an event handler that calls a function with the key of each
// object that comes, changes or goes. fresh says that the user has changed it.
func Handler(notify func(key types.NamespacedName, fresh bool)) cache.ResourceEventHandler {
	do := func(object any, fresh bool) {
		if name, err := cache.DeletionHandlingObjectToName(object); err == nil {
			notify(name.AsNamespacedName(), fresh)
		}
	}
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { do(object, true) },
		UpdateFunc: func(old, object any) { do(object, changed(old, object)) },
		DeleteFunc: func(object any) { do(object, true) },
	}
}

// changed reports whether an update is another object, or one with another spec.
func changed(old, object any) bool {
	before, errBefore := meta.Accessor(old)
	now, errNow := meta.Accessor(object)
	return errBefore != nil || errNow != nil || before.GetUID() != now.GetUID() || before.GetGeneration() != now.GetGeneration()
}

// Enqueue puts a key into the queue of a loop; fresh forgets earlier failures.
func Enqueue[K comparable](loop *Loop[K], key K, fresh bool) {
	if fresh {
		loop.AddFresh(key)
		return
	}
	loop.Add(key)
}

// Stale makes a conflict of a write quiet: the object was changed since it was read,
// and its event brings it back. Other errors stay as they are, nil too.
func Stale(err error) error {
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return Quiet{Err: err}
	}
	return err
}
