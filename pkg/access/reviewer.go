package access

import (
	"context"
	"fmt"
	"sync"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	authorizationv1client "k8s.io/client-go/kubernetes/typed/authorization/v1"
)

const (
	// defaultTTL keeps answers short enough that a grant is seen within a minute.
	defaultTTL = 30 * time.Second

	// answersLimit bounds the memory of a Reviewer.
	answersLimit = 1024
)

// Reviewer answers whether its own user may do something, by SelfSubjectAccessReviews
// whose answers it remembers. It is safe for concurrent use.
type Reviewer struct {
	client authorizationv1client.SelfSubjectAccessReviewInterface
	ttl    time.Duration
	now    func() time.Time

	mu      sync.Mutex
	answers map[Action]answer
	calls   map[Action]*call
}

type answer struct {
	allowed bool
	expires time.Time
}

// call is a review that is under way. All but done are written before done is
// closed and read after it.
type call struct {
	done    chan struct{}
	allowed bool
	err     error

	// abandoned says that the caller who asked went away without an answer.
	abandoned bool
}

// NewReviewer returns a Reviewer that asks through client and keeps each answer,
// yes or no, for ttl by the clock now. A ttl of zero or less stands for 30 seconds.
func NewReviewer(client authorizationv1client.SelfSubjectAccessReviewInterface, ttl time.Duration, now func() time.Time) *Reviewer {
	if ttl <= 0 {
		ttl = defaultTTL
	}
	return &Reviewer{client: client, ttl: ttl, now: now, answers: map[Action]answer{}, calls: map[Action]*call{}}
}

// Allowed returns whether the server would allow action. Callers that ask the same
// at the same time share one request. An error is not remembered.
func (r *Reviewer) Allowed(ctx context.Context, action Action) (bool, error) {
	for {
		known, current, first := r.join(action)
		if known != nil {
			return known.allowed, nil
		}
		if first {
			r.ask(ctx, action, current)
			return current.allowed, current.err
		}
		select {
		case <-ctx.Done():
			return false, ctx.Err()
		case <-current.done:
		}
		if !current.abandoned {
			return current.allowed, current.err
		}
	}
}

// join returns a remembered answer, or else the call that will give it and whether
// it is for the caller to make that call.
func (r *Reviewer) join(action Action) (known *answer, current *call, first bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if found, ok := r.answers[action]; ok && r.now().Before(found.expires) {
		return &found, nil, false
	}
	if current, ok := r.calls[action]; ok {
		return nil, current, false
	}
	// Abandoned until it has ended: so a panic of the client leaves nobody without an answer.
	current = &call{done: make(chan struct{}), abandoned: true}
	r.calls[action] = current
	return nil, current, true
}

// ask makes the call, and lets everybody know who waits for it.
func (r *Reviewer) ask(ctx context.Context, action Action, current *call) {
	defer func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.calls, action)
		if !current.abandoned && current.err == nil {
			r.remember(action, current.allowed)
		}
		close(current.done)
	}()
	current.allowed, current.err = r.review(ctx, action)
	current.abandoned = current.err != nil && ctx.Err() != nil
}

func (r *Reviewer) review(ctx context.Context, action Action) (bool, error) {
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Verb: action.Verb, Group: action.Group, Resource: action.Resource, Subresource: action.Subresource,
			Namespace: action.Namespace, Name: action.Name,
		},
	}}
	result, err := r.client.Create(ctx, review, metav1.CreateOptions{})
	if err != nil {
		return false, fmt.Errorf("asking whether %s is allowed: %w", action, err)
	}
	return result.Status.Allowed, nil
}

// remember stores an answer. It is called with the lock held.
func (r *Reviewer) remember(action Action, allowed bool) {
	if _, replaces := r.answers[action]; !replaces && len(r.answers) >= answersLimit {
		r.makeRoom()
	}
	r.answers[action] = answer{allowed: allowed, expires: r.now().Add(r.ttl)}
}

// makeRoom drops all answers that have expired, or the oldest if none has.
func (r *Reviewer) makeRoom() {
	now := r.now()
	var oldest Action
	var oldestExpires time.Time
	for action, known := range r.answers {
		if !now.Before(known.expires) {
			delete(r.answers, action)
		} else if oldestExpires.IsZero() || known.expires.Before(oldestExpires) {
			oldest, oldestExpires = action, known.expires
		}
	}
	if len(r.answers) >= answersLimit {
		delete(r.answers, oldest)
	}
}
