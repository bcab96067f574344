package coverage

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
)

func object(n int) types.NamespacedName {
	return types.NamespacedName{Namespace: "a", Name: fmt.Sprint(n)}
}

// TestCountsEqualARecount drives a tally with random records and compares it with
// counts that are made anew each time.
func TestCountsEqualARecount(t *testing.T) {
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 0))
	tally := NewTally()
	bindings := []BindingID{{Name: "one"}, {Namespace: "a", Name: "two"}}
	states := []State{Pending, Synced, Conflicting, Denied, Rejected, Leaving}
	type known struct {
		binding BindingID
		state   State
	}
	truth := map[types.NamespacedName]known{}
	for range 5000 {
		key := object(random.IntN(40))
		if random.IntN(4) == 0 {
			tally.Drop(widgets, key)
			delete(truth, key)
			continue
		}
		now := known{bindings[random.IntN(2)], states[random.IntN(len(states))]}
		tally.Record(widgets, key, now.binding, now.state)
		truth[key] = now
		want := Counts{}
		for _, each := range truth {
			if each.binding != now.binding {
				continue
			}
			want.Instances++
			switch each.state {
			case Synced:
				want.Synced++
			case Conflicting:
				want.Conflicting++
			case Denied:
				want.Denied++
			case Rejected:
				want.Rejected++
			case Pending, Leaving:
			}
		}
		if got := tally.Report(widgets, now.binding).Counts; got != want {
			t.Fatalf("seed %d: counts %+v, want %+v", seed, got, want)
		}
	}
}

func TestBeginKeepsHowAnObjectStood(t *testing.T) {
	tally, binding := NewTally(), BindingID{Name: "one"}
	tally.Begin(widgets, object(1), binding)
	if got := tally.Report(widgets, binding).Counts; got != (Counts{Instances: 1}) {
		t.Errorf("a new object counts as %+v, want pending", got)
	}
	tally.Record(widgets, object(1), binding, Synced)
	tally.Begin(widgets, object(1), binding)
	if got := tally.Report(widgets, binding).Counts; got != (Counts{Instances: 1, Synced: 1}) {
		t.Errorf("an object that is worked on again counts as %+v, want synced", got)
	}
	other := BindingID{Name: "two"}
	tally.Begin(widgets, object(1), other)
	if got := tally.Report(widgets, other).Counts; got != (Counts{Instances: 1}) {
		t.Errorf("under another binding it counts as %+v, want pending", got)
	}
	if got := tally.Report(widgets, binding).Counts; got != (Counts{}) {
		t.Errorf("under the former binding remains %+v", got)
	}
}

func TestTallyTellsOnlyOfNews(t *testing.T) {
	tally, one, two := NewTally(), BindingID{Name: "one"}, BindingID{Name: "two"}
	var told []string
	tally.OnChange(func(id BindingID) {
		tally.Report(widgets, id) // must not wait for a lock that the tally holds
		told = append(told, id.Name)
	})
	expect := func(step string, want ...string) {
		t.Helper()
		if diff := cmp.Diff(want, told); diff != "" {
			t.Errorf("%s (-want +got):\n%s", step, diff)
		}
		told = nil
	}
	tally.Record(widgets, object(1), one, Pending)
	expect("new", "one")
	tally.Record(widgets, object(1), one, Pending)
	expect("the same again")
	tally.Record(widgets, object(1), one, Synced)
	expect("another state", "one")
	tally.Record(widgets, object(1), two, Synced)
	expect("another binding", "one", "two")
	tally.Drop(widgets, object(1))
	tally.Drop(widgets, object(1))
	expect("dropped", "two")
	tally.SetErr(widgets, "refused", []BindingID{one})
	tally.SetErr(widgets, "refused", []BindingID{one})
	expect("an error", "one")
	tally.SetPhase(widgets, Running, []BindingID{one, two})
	expect("a phase", "one", "two")
}

func TestReportHasWhatWasRefusedWhileSomethingIs(t *testing.T) {
	tally, binding := NewTally(), BindingID{Name: "one"}
	tally.Explain(widgets, binding, "may not create")
	if got := tally.Report(widgets, binding).Denied; got != "" {
		t.Errorf("nothing is denied, but %q", got)
	}
	tally.Record(widgets, object(1), binding, Denied)
	if got := tally.Report(widgets, binding).Denied; got != "may not create" {
		t.Errorf("Denied = %q", got)
	}
	tally.SetPhase(widgets, Stopped, nil)
	if got := tally.Report(widgets, binding); got != (Report{}) {
		t.Errorf("a syncer that has stopped leaves %+v", got)
	}
}

func TestIndexAndTallyTakeConcurrentUse(*testing.T) {
	index, tally := NewIndex(), NewTally()
	index.OnChange(func(API) {})
	tally.OnChange(func(BindingID) {})
	var group sync.WaitGroup
	for worker := range 8 {
		group.Go(func() {
			binding := claimed("", fmt.Sprint(worker%3), 0)
			for n := range 200 {
				index.Put(binding, map[string]bool{widgets.Name: n%2 == 0})
				index.Lookup(widgets, "a")
				tally.Record(widgets, object(n%10), binding.ID, Synced)
				tally.Report(widgets, binding.ID)
				tally.Drop(widgets, object(n%10))
				index.Remove(binding.ID)
			}
		})
	}
	group.Wait()
}
