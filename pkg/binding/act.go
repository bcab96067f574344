package binding

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	corev1alpha1 "github.com/kbind-dev/konnector/apis/core/v1alpha1"
	"github.com/kbind-dev/konnector/pkg/controller"
	"github.com/kbind-dev/konnector/pkg/coverage"
	"github.com/kbind-dev/konnector/pkg/schema"
)

// settlePause is how long an API drains at least: writes that were decided just
// before have ended then, and show in the counts.
const settlePause = time.Second

// remainingPage is how many instances are read at a time to find those that remain.
const remainingPage = 500

// act brings a binding a step forward: its finalizer, its CRDs, its claims, and
// at the end its status.
func (c *Controller) act(ctx context.Context, binding *object, facts Facts) error {
	if !binding.deleting() {
		if wrote, err := binding.setFinalizer(ctx, true); wrote || err != nil {
			return controller.Stale(err) // the event of the write brings it back
		}
	}
	var later []error
	for i := range facts.APIs {
		later = append(later, c.install(ctx, &facts.APIs[i]))
	}
	left, err := c.claim(ctx, binding, facts)
	later = append(later, err)
	if binding.deleting() && left == 0 {
		return c.finish(ctx, binding)
	}
	later = append(later, c.commit(ctx, binding, Decide(binding, facts)))
	return soonest(later)
}

// claim tells syncers what the binding covers, and what of each API is synced. It
// returns the number of APIs that are still draining.
func (c *Controller) claim(ctx context.Context, binding *object, facts Facts) (left int, err error) {
	claims := map[string]bool{}
	var drained []*APIFacts
	var wait error
	for i := range facts.APIs {
		api := &facts.APIs[i]
		switch {
		case api.ScopeInvalid: // nothing to claim, and nothing to let go
		case !api.Draining:
			claims[api.Name] = false
			c.forgetDraining(binding.id, api.Name)
		case api.Released:
		case api.drained():
			if since := c.drainingSince(binding.id, api.Name); since < settlePause {
				wait = controller.After(settlePause-since, "draining settles")
				claims[api.Name] = true
				left++
				continue
			}
			drained = append(drained, api)
		default:
			c.drainingSince(binding.id, api.Name)
			claims[api.Name] = true
			left++
		}
	}
	c.index.Put(binding.facts(), claims)
	for _, api := range facts.APIs {
		key := coverage.API{Connection: binding.spec.ConnectionRef.Name, Name: api.Name}
		if _, claimed := claims[api.Name]; claimed {
			c.index.SetTarget(key, api.wanted(c.index.Draining(key)))
		}
	}
	for _, api := range drained {
		if err := c.release(ctx, binding, *api); err != nil {
			return left + 1, err
		}
		c.setReleased(binding.id, api.Name)
		api.Released = true
	}
	return left, wait
}

// wanted returns what of the API is synced, nil when nothing is. While a binding lets
// the API go, its instances have to be released however the provider's API stands.
func (f APIFacts) wanted(draining bool) *coverage.Target {
	verdict := f.Verdict
	switch {
	case verdict.Usable, verdict.Draining:
		return f.target()
	case draining && f.ours():
		if verdict.Version == "" {
			f.Verdict.Version = storageVersion(f.Schema.Installed)
		}
		return f.target()
	default:
		return nil
	}
}

// ours reports whether the consumer's CRD is one whose instances this Connection syncs.
func (f APIFacts) ours() bool {
	if f.Schema.Installed == nil {
		return false
	}
	owner, managed := schema.OwnerOf(f.Schema.Installed)
	return owner == f.Schema.Connection || (!managed && f.Schema.Pull == corev1alpha1.SchemaPullNone)
}

// drained reports whether nothing of an API is left that the binding has to let go.
func (f APIFacts) drained() bool {
	if f.ScopeInvalid || !f.ours() {
		return true // nothing was ever synced, or nothing is there any more
	}
	return f.Report.Phase == coverage.Running && f.Report.Instances == 0
}

// release ends what the last binding of an API leaves behind.
func (c *Controller) release(ctx context.Context, binding *object, api APIFacts) error {
	key := coverage.API{Connection: binding.spec.ConnectionRef.Name, Name: api.Name}
	began := c.now().Add(-c.drainingSince(binding.id, api.Name))
	if since := binding.GetDeletionTimestamp(); since != nil {
		began = since.Time
	}
	if len(c.index.Bindings(key)) > 0 || c.wantedByOthers(binding, key) {
		return nil
	}
	c.index.SetTarget(key, nil)
	crd := api.Schema.Installed
	if crd == nil || crd.DeletionTimestamp != nil || api.Schema.Pull == corev1alpha1.SchemaPullAll {
		return nil
	}
	if owner, managed := schema.OwnerOf(crd); !managed || owner != key.Connection {
		return nil
	}
	remaining, err := c.remaining(ctx, binding, api, began)
	if err != nil {
		return err
	}
	if remaining == "" {
		if err := schema.Remove(ctx, c.crdClient, crd); err != nil {
			return controller.Stale(err)
		}
		klog.FromContext(ctx).Info("CRD removed with its last binding", "api", api.Name)
		return nil
	}
	if _, err := schema.Release(ctx, c.crdClient, crd); err != nil {
		return controller.Stale(err)
	}
	c.event(binding, "CRDKept", fmt.Sprintf("CRD %s stays on the cluster, since it has instances that were not synced under this binding, such as %s. It is no longer managed.", api.Name, remaining))
	return nil
}

// wantedByOthers reports whether another binding lists the API, though it has not
// claimed it yet.
func (c *Controller) wantedByOthers(binding *object, api coverage.API) bool {
	return slices.ContainsFunc(c.store.using(api.Connection), func(id coverage.BindingID) bool {
		other, err := c.store.get(id)
		return id != binding.id && err == nil && other != nil && !other.deleting() && other.lists(api.Name)
	})
}

// remaining returns the name of an instance on the consumer that the binding did not
// drain, "" when there is none: one that it never covered, that never had a copy
// because of a conflict, or that was made after the draining began.
func (c *Controller) remaining(ctx context.Context, binding *object, api APIFacts, began time.Time) (string, error) {
	target := api.wanted(true)
	if target == nil {
		return "", nil
	}
	options := metav1.ListOptions{Limit: remainingPage}
	for {
		list, err := c.objects.Resource(target.Resource).List(ctx, options)
		if apierrors.IsNotFound(err) {
			return "", nil
		}
		if err != nil {
			return "", err
		}
		for _, item := range list.Items {
			_, conflict := item.GetAnnotations()[corev1alpha1.AnnotationConflict]
			covered := binding.id.IsCluster() || binding.id.Namespace == item.GetNamespace()
			if !covered || conflict || item.GetCreationTimestamp().After(began) {
				return cache.NewObjectName(item.GetNamespace(), item.GetName()).String(), nil
			}
		}
		if options.Continue = list.GetContinue(); options.Continue == "" {
			return "", nil
		}
	}
}

// finish lets a binding go that has drained.
func (c *Controller) finish(ctx context.Context, binding *object) error {
	if _, err := binding.setFinalizer(ctx, false); err != nil {
		return controller.Stale(err)
	}
	return nil
}

// commit writes the status when it says something new. What changes nothing but
// counts waits until some time after the last write.
func (c *Controller) commit(ctx context.Context, binding *object, after corev1alpha1.BindingStatus) error {
	c.mu.Lock()
	since := c.now().Sub(c.committed[binding.id])
	c.mu.Unlock()
	if since < countPause && onlyCounts(binding.status, &after) {
		return controller.After(countPause-since, "counts settle")
	}
	wrote, err := binding.commit(ctx, &after)
	if wrote {
		c.mu.Lock()
		c.committed[binding.id] = c.now()
		c.mu.Unlock()
	}
	return controller.Stale(err)
}

// event tells the user something about a binding.
func (c *Controller) event(binding *object, reason, message string) {
	c.events.Event(&corev1.ObjectReference{
		APIVersion: corev1alpha1.SchemeGroupVersion.String(),
		Kind:       binding.id.Kind(),
		Namespace:  binding.id.Namespace,
		Name:       binding.id.Name,
		UID:        binding.GetUID(),
	}, corev1.EventTypeNormal, reason, message)
}

// soonest returns the error that brings a key back first: a failure before a delay,
// and a short delay before a long one.
func soonest(all []error) error {
	var failures []error
	var first *controller.Later
	for _, err := range all {
		later, isLater := errors.AsType[controller.Later](err)
		switch {
		case err == nil:
		case !isLater:
			failures = append(failures, err)
		case first == nil || later.Delay < first.Delay:
			first = &later
		}
	}
	if len(failures) > 0 {
		return errors.Join(failures...)
	}
	if first != nil {
		return *first
	}
	return nil
}
