package access

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

var patchWidgets = Action{Verb: "patch", Group: "demo.example.org", Resource: "widgets", Subresource: "status", Namespace: "team-a", Name: "a"}

// server is an API server that answers reviews, and a clock.
type server struct {
	*Reviewer
	clock time.Time
	calls atomic.Int32
	reply func(authorizationv1.ResourceAttributes) (bool, error)
}

func newServer(ttl time.Duration) *server {
	s := &server{clock: time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)}
	clients := &fake.Clientset{}
	clients.AddReactor("create", "selfsubjectaccessreviews", func(action clienttesting.Action) (bool, runtime.Object, error) {
		s.calls.Add(1)
		review := action.(clienttesting.CreateAction).GetObject().(*authorizationv1.SelfSubjectAccessReview).DeepCopy()
		allowed, err := s.reply(*review.Spec.ResourceAttributes)
		review.Status.Allowed = allowed
		return true, review, err
	})
	s.Reviewer = NewReviewer(clients.AuthorizationV1().SelfSubjectAccessReviews(), ttl, func() time.Time { return s.clock })
	s.always(true, nil)
	return s
}

func (s *server) always(allowed bool, err error) {
	s.reply = func(authorizationv1.ResourceAttributes) (bool, error) { return allowed, err }
}

func (s *server) expect(t *testing.T, action Action, allowed bool, calls int32) {
	t.Helper()
	got, err := s.Allowed(t.Context(), action)
	if err != nil || got != allowed || s.calls.Load() != calls {
		t.Errorf("got %t, %v after %d calls, want %t after %d", got, err, s.calls.Load(), allowed, calls)
	}
}

func TestTheWholeActionIsAskedFor(t *testing.T) {
	s := newServer(time.Minute)
	var asked authorizationv1.ResourceAttributes
	s.reply = func(attributes authorizationv1.ResourceAttributes) (bool, error) {
		asked = attributes
		return true, nil
	}
	s.expect(t, patchWidgets, true, 1)
	want := authorizationv1.ResourceAttributes{Verb: "patch", Group: "demo.example.org", Resource: "widgets", Subresource: "status", Namespace: "team-a", Name: "a"}
	if asked != want {
		t.Errorf("asked for %+v", asked)
	}
}

func TestAnswersAreKeptForTheirTime(t *testing.T) {
	s := newServer(time.Minute)
	s.always(false, nil)
	s.expect(t, patchWidgets, false, 1)
	s.always(true, nil)
	s.clock = s.clock.Add(59 * time.Second)
	s.expect(t, patchWidgets, false, 1)
	s.clock = s.clock.Add(time.Second)
	s.expect(t, patchWidgets, true, 2)
	s.expect(t, patchWidgets, true, 2)
	s.expect(t, Action{Verb: "get", Resource: "namespaces"}, true, 3)
}

func TestAGrantIsSeenWithinAMinuteByDefault(t *testing.T) {
	s := newServer(0)
	s.always(false, nil)
	s.expect(t, patchWidgets, false, 1)
	s.always(true, nil)
	s.clock = s.clock.Add(30 * time.Second)
	s.expect(t, patchWidgets, true, 2)
}

func TestAnErrorIsNoAnswer(t *testing.T) {
	s := newServer(time.Minute)
	s.always(false, errors.New("boom"))
	_, err := s.Allowed(t.Context(), patchWidgets)
	if err == nil || !strings.Contains(err.Error(), "patch widgets.demo.example.org/status") || !strings.Contains(err.Error(), "boom") {
		t.Errorf("got %v", err)
	}
	s.always(true, nil)
	s.expect(t, patchWidgets, true, 2)
}

func TestCallersAtTheSameTimeShareOneCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(time.Minute)
		release := make(chan struct{})
		s.reply = func(authorizationv1.ResourceAttributes) (bool, error) {
			<-release
			return true, nil
		}
		var callers sync.WaitGroup
		for range 20 {
			callers.Go(func() {
				if allowed, err := s.Allowed(t.Context(), patchWidgets); !allowed || err != nil {
					t.Errorf("got %t, %v", allowed, err)
				}
			})
		}
		synctest.Wait() // all of them are waiting now
		close(release)
		callers.Wait()
		if calls := s.calls.Load(); calls != 1 {
			t.Errorf("got %d calls", calls)
		}
	})
}

func TestAnImpatientCallerDoesNotHarmOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(time.Minute)
		impatient, leave := context.WithCancel(t.Context())
		s.reply = func(authorizationv1.ResourceAttributes) (bool, error) {
			if s.calls.Load() == 1 {
				<-impatient.Done()
				return false, impatient.Err()
			}
			return true, nil
		}
		var callers sync.WaitGroup
		callers.Go(func() {
			if _, err := s.Allowed(impatient, patchWidgets); !errors.Is(err, context.Canceled) {
				t.Errorf("the impatient one got %v", err)
			}
		})
		synctest.Wait() // the impatient one asks first
		callers.Go(func() {
			if allowed, err := s.Allowed(t.Context(), patchWidgets); !allowed || err != nil {
				t.Errorf("the patient one got %t, %v", allowed, err)
			}
		})
		synctest.Wait()
		leave()
		callers.Wait()
	})
}

func TestACallerMayStopWaitingForTheCallOfAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(time.Minute)
		release := make(chan struct{})
		s.reply = func(authorizationv1.ResourceAttributes) (bool, error) {
			<-release
			return true, nil
		}
		var callers sync.WaitGroup
		callers.Go(func() { s.expect(t, patchWidgets, true, 1) })
		synctest.Wait()
		impatient, leave := context.WithCancel(t.Context())
		leave()
		if _, err := s.Allowed(impatient, patchWidgets); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		close(release)
		callers.Wait()
	})
}

func TestAClientThatPanicsLeavesNobodyWaiting(t *testing.T) {
	s := newServer(time.Minute)
	s.reply = func(authorizationv1.ResourceAttributes) (bool, error) { panic("boom") }
	func() {
		defer func() { _ = recover() }()
		_, _ = s.Allowed(t.Context(), patchWidgets)
	}()
	if len(s.Reviewer.calls) != 0 || len(s.answers) != 0 {
		t.Errorf("%d calls and %d answers are left", len(s.Reviewer.calls), len(s.answers))
	}
}

func TestMemoryIsBounded(t *testing.T) {
	s := newServer(time.Minute)
	named := func(i int) Action { return Action{Verb: "get", Resource: "widgets", Name: fmt.Sprint(i)} }
	ask := func(from, to int) {
		for i := from; i < to; i++ {
			s.clock = s.clock.Add(time.Millisecond)
			if _, err := s.Allowed(t.Context(), named(i)); err != nil {
				t.Fatal(err)
			}
		}
	}
	ask(0, answersLimit+10)
	if len(s.answers) != answersLimit {
		t.Errorf("%d answers are kept", len(s.answers))
	}
	s.expect(t, named(answersLimit), true, answersLimit+10) // the young ones are still known
	s.expect(t, named(0), true, answersLimit+11)            // the oldest had to go

	s.clock = s.clock.Add(time.Hour)
	ask(5000, 5001)
	if len(s.answers) != 1 {
		t.Errorf("%d answers are kept after all others have expired", len(s.answers))
	}
}
