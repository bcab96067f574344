package controller

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
)

// start runs a loop until the returned function is called, which waits for its end.
func start[K comparable](t *testing.T, loop *Loop[K], workers int, caches ...cache.DoneChecker) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		loop.Run(ctx, workers, caches...)
	}()
	return func() {
		cancel()
		<-ended
	}
}

func TestErrorsDecideWhenAKeyComesBack(t *testing.T) {
	failure := errors.New("broken")
	tests := map[string]struct {
		err  error
		want []time.Duration // when the key is seen again, after its first time
	}{
		"nil forgets the key":                    {nil, nil},
		"Later comes back after its delay":       {After(10*time.Second, "waiting"), []time.Duration{10 * time.Second, 20 * time.Second, 30 * time.Second}},
		"a failure comes back in growing pauses": {failure, []time.Duration{50 * time.Millisecond, 150 * time.Millisecond, 350 * time.Millisecond}},
		"a quiet failure does as well":           {Quiet{failure}, []time.Duration{50 * time.Millisecond, 150 * time.Millisecond, 350 * time.Millisecond}},
		"a wrapped Later is a Later":             {fmt.Errorf("step: %w", After(time.Second, "x")), []time.Duration{time.Second, 2 * time.Second, 3 * time.Second}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				var seen []time.Duration
				loop := NewLoop(Options{Name: "test"}, func(context.Context, string) error {
					if len(seen) > 3 {
						return nil
					}
					seen = append(seen, time.Since(began))
					return test.err
				})
				stop := start(t, loop, 1)
				loop.Add("a")
				time.Sleep(10 * time.Minute)
				stop()
				want := append([]time.Duration{0}, test.want...)
				if diff := cmp.Diff(want, seen); diff != "" {
					t.Errorf("seen at (-want +got):\n%s", diff)
				}
			})
		})
	}
}

func TestPausesStayBelowAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		last, longest := time.Now(), time.Duration(0)
		loop := NewLoop(Options{Name: "test"}, func(context.Context, string) error {
			longest = max(longest, time.Since(last))
			last = time.Now()
			return Quiet{errors.New("broken for ever")}
		})
		stop := start(t, loop, 1)
		loop.Add("a")
		time.Sleep(time.Hour)
		stop()
		if longest < 30*time.Second || longest > time.Minute {
			t.Errorf("the longest pause is %s", longest)
		}
	})
}

func TestAFreshKeyDoesNotWaitForOldFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls atomic.Int64
		loop := NewLoop(Options{Name: "test"}, func(context.Context, string) error {
			calls.Add(1)
			return Quiet{errors.New("broken")}
		})
		stop := start(t, loop, 1)
		defer stop()
		loop.Add("a")
		time.Sleep(5 * time.Minute) // pauses are long by now
		before := calls.Load()
		loop.AddFresh("a")
		time.Sleep(400 * time.Millisecond)
		if got := calls.Load() - before; got < 3 {
			t.Errorf("%d tries within 400 ms of a change, want those of a new key", got)
		}
	})
}

func TestAKeyIsNeverWorkedOnTwiceAtATime(t *testing.T) {
	var busy sync.Map
	var calls atomic.Int64
	loop := NewLoop(Options{Name: "test"}, func(_ context.Context, key int) error {
		if _, twice := busy.LoadOrStore(key, true); twice {
			t.Errorf("key %d is worked on twice", key)
		}
		defer busy.Delete(key)
		calls.Add(1)
		return nil
	})
	stop := start(t, loop, 8)
	for n := range 2000 {
		loop.Add(n % 5)
	}
	for loop.Len() > 0 {
		time.Sleep(time.Millisecond)
	}
	stop()
	if calls.Load() == 0 {
		t.Error("nothing was worked on")
	}
}

func TestRunEndsWhenItsWorkersHave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		working := make(chan struct{})
		ended := false
		loop := NewLoop(Options{Name: "test"}, func(ctx context.Context, _ string) error {
			close(working)
			<-ctx.Done()
			time.Sleep(time.Minute) // a call on its way
			ended = true
			return ctx.Err()
		})
		stop := start(t, loop, 1)
		loop.Add("a")
		<-working
		loop.Add("never begun")
		stop()
		if !ended {
			t.Error("Run returned before its worker")
		}
	})
}

// never is a cache that does not fill.
type never struct{}

func (never) Name() string          { return "never" }
func (never) Done() <-chan struct{} { return nil }

func TestRunEndsThoughCachesNeverFill(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		loop := NewLoop(Options{Name: "test"}, func(context.Context, string) error {
			t.Error("worked with an empty cache")
			return nil
		})
		loop.Add("a")
		stop := start(t, loop, 1, never{})
		time.Sleep(time.Minute)
		stop()
	})
}

func TestWhatASyncStartsCanOutliveItsKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var outer, inner context.Context
		loop := NewLoop(Options{Name: "test"}, func(ctx context.Context, _ string) error {
			inner, outer = ctx, Outlive(ctx) //nolint:fatcontext // it is the context that is tested
			return nil
		})
		stop := start(t, loop, 1)
		loop.Add("a")
		synctest.Wait()
		if outer == inner || outer.Err() != nil {
			t.Errorf("want the loop's own context, alive: %v", outer)
		}
		stop()
		if outer.Err() == nil {
			t.Error("it lives longer than the loop")
		}
	})
	if ctx := t.Context(); Outlive(ctx) != ctx {
		t.Error("outside of a loop, a context is its own")
	}
}

func TestHandlerTellsWhatTheUserChanged(t *testing.T) {
	type told struct {
		Key   string
		Fresh bool
	}
	var got []told
	handler := Handler(func(key types.NamespacedName, fresh bool) { got = append(got, told{key.String(), fresh}) })
	at := func(uid types.UID, generation int64) *metav1.PartialObjectMetadata {
		return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "b", UID: uid, Generation: generation}}
	}
	handler.OnAdd(at("1", 1), false)
	handler.OnUpdate(at("1", 1), at("1", 1))
	handler.OnUpdate(at("1", 1), at("1", 2))
	handler.OnUpdate(at("1", 2), at("2", 2)) // deleted and made again
	handler.OnDelete(cache.DeletedFinalStateUnknown{Key: "a/b", Obj: at("2", 2)})
	want := []told{{"a/b", true}, {"a/b", false}, {"a/b", true}, {"a/b", true}, {"a/b", true}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestStaleMakesOutdatedWritesQuiet(t *testing.T) {
	resource := schema.GroupResource{Resource: "widgets"}
	tests := map[string]struct {
		err  error
		want verdict
	}{
		"nothing":   {nil, forget},
		"conflict":  {apierrors.NewConflict(resource, "a", errors.New("changed")), retryQuietly},
		"gone":      {apierrors.NewNotFound(resource, "a"), retryQuietly},
		"forbidden": {apierrors.NewForbidden(resource, "a", errors.New("no")), retry},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got, _ := judge(Stale(test.err)); got != test.want {
				t.Errorf("verdict %v, want %v", got, test.want)
			}
		})
	}
}
