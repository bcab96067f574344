package syncer

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/klog/v2"

	"github.com/kbind-dev/konnector/pkg/controller"
	"github.com/kbind-dev/konnector/pkg/coverage"
	"github.com/kbind-dev/konnector/pkg/instance"
)

// mostRounds bounds how often one object is decided anew before it goes back into
// the queue. A new object takes three: write, look at the answer, nothing left. One
// that admission on the provider never leaves as it was takes the most.
const mostRounds = mostRepairs + 4

// sync brings one object as far as it can be brought without waiting.
func (s *Syncer) sync(ctx context.Context, key types.NamespacedName) error {
	err := s.advance(ctx, key)
	if s.first.done(key) {
		s.settled()
	}
	return err
}

// advance decides and acts until nothing is left to do.
func (s *Syncer) advance(ctx context.Context, key types.NamespacedName) error {
	var looked *look
	for range mostRounds {
		facts, held := s.observe(key)
		if !held {
			return nil
		}
		if looked != nil {
			facts.Provider, facts.Looked = looked.found, true
		}
		plan := Decide(facts)
		s.record(ctx, key, facts, plan)
		if len(plan.Steps) == 0 {
			return s.waits(key, plan)
		}
		var err error
		looked, err = s.act(ctx, call{key: key, facts: facts, plan: plan})
		if err != nil {
			return s.failed(ctx, key, facts, err)
		}
	}
	return controller.Quiet{Err: fmt.Errorf("%s changes faster than it can be synced", key)}
}

// waits returns for what a plan without steps waits, nil for an event alone.
func (s *Syncer) waits(key types.NamespacedName, plan Plan) error {
	switch {
	case plan.Held:
		return controller.After(s.memories.pause(key), "held back")
	case plan.Recheck:
		return controller.After(wait.Jitter(recheckPause, 0.2), plan.Conflict)
	default:
		return nil
	}
}

// record tells how the object stands, and the user about a conflict that is new.
func (s *Syncer) record(ctx context.Context, key types.NamespacedName, facts Facts, plan Plan) {
	switch {
	case plan.State == "" || facts.Cover == nil:
		s.Tally.Drop(s.api, key)
	case len(plan.Steps) == 0 || plan.State != coverage.Pending:
		s.Tally.Record(s.api, key, facts.Cover.ID, plan.State)
	default:
		s.Tally.Begin(s.api, key, facts.Cover.ID)
	}
	if plan.Lost != "" {
		// In a long fight it may be this field or that: it is told once.
		if s.memories.report(key, eventOverruled) {
			s.event(ctx, key, facts, eventOverruled, lostMessage(plan.Lost))
		}
	}
	if plan.Conflict != "" {
		s.memories.inConflict(key, facts)
		s.tell(ctx, key, facts, plan.Conflict, conflictMessage(plan.Conflict, s.target.Resource.GroupResource().String(), s.Mapper.ToProvider(key)))
	}
}

// look is the answer of a live read.
type look struct {
	found *instance.Object // nil when the name is free
}

// call is one pass of steps for an object.
type call struct {
	key   types.NamespacedName
	facts Facts
	plan  Plan
}

// errDecideAnew is the error of a step after which everything has to be decided anew.
var errDecideAnew = errors.New("decide anew")

// act does the steps in order. It returns what a look has found, for the next decision.
// A status that can't be written does not keep the copy from being written: up and down
// fail independently.
func (s *Syncer) act(ctx context.Context, c call) (*look, error) {
	logger := klog.FromContext(ctx)
	consumer := c.facts.Consumer
	var down error
	for _, step := range c.plan.Steps {
		var looked *look
		var err error
		began := time.Now()
		switch step.Do {
		case AddFinalizer:
			consumer, err = s.setFinalizer(ctx, consumer, true)
		case ReleaseFinalizer:
			_, err = s.setFinalizer(ctx, consumer, false)
		case Annotate:
			consumer, err = s.annotate(ctx, consumer, step.Conflict, "")
		case WriteStatus:
			consumer, err = s.writeStatus(ctx, consumer, step.Status)
		case Look:
			looked, err = s.look(ctx, c.key)
		case Apply:
			looked, err = s.apply(ctx, c, step)
		case Delete:
			err = s.delete(ctx, c, step)
		case Strip:
			err = s.strip(ctx, c.key, step)
		}
		if errors.Is(err, errDecideAnew) {
			return looked, nil
		}
		if err != nil {
			err = fmt.Errorf("%s: %w", step.Do, err)
			if step.Do != WriteStatus {
				return nil, err
			}
			down = err
			continue
		}
		level := logger.V(2)
		if step.Do == Look {
			level = logger.V(4)
		}
		level.Info("Did", "step", step.Do, "duration", time.Since(began))
		if looked != nil {
			return looked, nil
		}
	}
	return nil, down
}
