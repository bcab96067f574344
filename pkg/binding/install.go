package binding

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/klog/v2"

	"github.com/kbind-dev/konnector/pkg/controller"
	"github.com/kbind-dev/konnector/pkg/schema"
)

// Pauses after a write of a CRD, in which the same write is not made again.
const (
	// writtenPause is how long a cache may need to show it. Where somebody else keeps
	// changing the CRD, it is also the pause of the fight.
	writtenPause = 2 * time.Second
	// refusedPause is how long a CRD that the API server refused is left alone, unless
	// somebody changes the one that is there.
	refusedPause = 30 * time.Second
)

// attempt is the last write of a CRD.
type attempt struct {
	at      time.Time
	hash    string // of what was written
	refusal error  // the API server's answer, nil when it took it
}

// install writes the CRD of an API when the verdict asks for it. Bindings that share
// the API ask for the same: one of them writes.
func (c *Controller) install(ctx context.Context, api *APIFacts) error {
	if api.Verdict.Action == schema.None || !api.Known || !api.Schema.Bound {
		return nil
	}
	last, mine := c.attempt(api.Name, api.Verdict.Hash)
	if mine {
		_, err := c.installer.Apply(ctx, api.Verdict)
		if apierrors.IsAlreadyExists(err) || apierrors.IsConflict(err) {
			return controller.Quiet{Err: err}
		}
		if err == nil {
			klog.FromContext(ctx).Info("CRD written", "api", api.Name, "action", api.Verdict.Action, "hash", api.Verdict.Hash)
		}
		last = c.refused(api.Name, last, err)
	}
	if last.refusal == nil {
		return controller.After(writtenPause-c.now().Sub(last.at), "the cache has to show the CRD")
	}
	api.Verdict = schema.Refused(api.Schema, api.Verdict, last.refusal)
	return controller.After(refusedPause-c.now().Sub(last.at), last.refusal.Error())
}

// attempt returns the last write of a CRD, and whether it is for the caller to make
// another one now.
func (c *Controller) attempt(api, hash string) (last attempt, mine bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	last, known := c.attempts[api]
	pause := writtenPause
	if last.refusal != nil {
		pause = refusedPause
	}
	if known && last.hash == hash && c.now().Sub(last.at) < pause {
		return last, false
	}
	last = attempt{at: c.now(), hash: hash}
	c.attempts[api] = last
	return last, true
}

// refused notes that the API server did not take a write, if it did not.
func (c *Controller) refused(api string, last attempt, refusal error) attempt {
	if refusal == nil {
		return last
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	last.refusal = refusal
	c.attempts[api] = last
	return last
}

// forgetRefusal has a CRD that the API server refused tried again.
func (c *Controller) forgetRefusal(api string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.attempts[api].refusal != nil {
		delete(c.attempts, api)
	}
}
