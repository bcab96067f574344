package syncer

import (
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kbind-dev/konnector/pkg/coverage"
	"github.com/kbind-dev/konnector/pkg/instance"
	"github.com/kbind-dev/konnector/pkg/internal/gen"
	"github.com/kbind-dev/konnector/pkg/ownership"
)

var keyA = types.NamespacedName{Namespace: gen.Namespace, Name: "a"}

// at is what a cache shows at a version.
func at(version string, object *instance.Object) seen { return seen{object, version} }

func (m *memories) isEmpty() bool { return len(m.entries) == 0 }

func TestViewShowsTheNewestOfCacheAndAnswer(t *testing.T) {
	written := gen.Widget("a", gen.Version("20"))
	for _, row := range []struct {
		name  string
		cache seen
		want  *instance.Object
		keeps bool
	}{
		{"the cache has not seen it", at("10", nil), written, true},
		{"the cache has an older one", at("15", gen.Widget("a", gen.Version("15"))), written, true},
		{"the cache has the same", at("20", written), written, false},
		{"the cache has a newer one", at("30", gen.Widget("a", gen.Version("30"))), gen.Widget("a", gen.Version("30")), false},
		{"the cache has seen it go", at("30", nil), nil, false},
		{"the cache is newer elsewhere", at("30", gen.Widget("a", gen.Version("15"))), gen.Widget("a", gen.Version("15")), false},
		{"the cache does not tell how new it is", at("", gen.Widget("a", gen.Version("15"))), written, true},
		{"versions that are no numbers count as newer", at("", gen.Widget("a", gen.Version("x"))), gen.Widget("a", gen.Version("x")), false},
	} {
		t.Run(row.name, func(t *testing.T) {
			m := newMemories()
			m.wroteConsumer(keyA, written)
			got, _, _ := m.view(keyA, both(row.cache, at("40", gen.Copy("a"))))
			if (got == nil) != (row.want == nil) || got != nil && got.ResourceVersion != row.want.ResourceVersion {
				t.Errorf("got %+v, want %+v", got, row.want)
			}
			if m.isEmpty() == row.keeps {
				t.Errorf("entries are %v", m.entries)
			}
		})
	}
}

func TestWhatIsGoneByOurOwnCallIsNotSeen(t *testing.T) {
	m := newMemories()
	m.change(keyA, func(entry *memory) { entry.consumerGone, entry.providerGone = "uid-a", "copy-a" })
	consumer, provider, _ := m.view(keyA, both(at("1", gen.Widget("a")), at("1", gen.Copy("a"))))
	if consumer != nil || provider != nil {
		t.Errorf("still seen: %v, %v", consumer, provider)
	}
	again := gen.Widget("a", gen.UID("another"))
	consumer, provider, _ = m.view(keyA, both(at("1", again), at("1", gen.Copy("a"))))
	if consumer != again || provider != nil {
		t.Errorf("another object of the name is %v, the copy %v", consumer, provider)
	}
	m.view(keyA, both(at("1", again), at("2", nil)))
	if !m.isEmpty() {
		t.Errorf("entries are left: %v", m.entries)
	}
}

func TestDeletedCopyCountsAsTerminatingBeforeTheCacheShowsIt(t *testing.T) {
	m := newMemories()
	m.change(keyA, func(entry *memory) { entry.Leaving = "copy-a" })
	cached := gen.Copy("a")
	if _, provider, _ := m.view(keyA, both(at("1", gen.Widget("a")), at("1", cached))); !provider.Deleting || cached.Deleting {
		t.Errorf("seen as %+v, in the cache %+v", provider, cached)
	}
	if _, _, learned := m.view(keyA, both(at("1", gen.Widget("a")), at("2", nil))); learned.Leaving != "copy-a" {
		t.Error("forgotten before the object was let go")
	}
	if _, provider, learned := m.view(keyA, both(at("1", gen.Widget("a")), at("3", gen.Copy("a", gen.UID("new"))))); provider.Deleting || learned.Leaving != "" {
		t.Error("a new copy is taken for the old one")
	}
}

func TestEverythingIsForgottenWithTheObject(t *testing.T) {
	m := newMemories()
	m.report(keyA, "problem")
	m.inConflict(keyA, facts())
	m.refused(keyA, "hash", coverage.Denied)
	m.view(keyA, both(at("9", nil), at("9", nil)))
	if !m.isEmpty() {
		t.Errorf("entries are left: %v", m.entries)
	}
}

func TestEcho(t *testing.T) {
	for _, row := range []struct {
		name  string
		event *instance.Object
		echo  bool
		drops bool
	}{
		{"our own write", gen.Widget("a", gen.Version("20")), true, true},
		{"what was there before it", gen.Widget("a", gen.Version("15")), true, false},
		{"a later write", gen.Widget("a", gen.Version("25")), false, true},
		{"another object of the name", gen.Widget("a", gen.Version("25"), gen.UID("another")), false, false},
		{"another name", gen.Widget("b", gen.Version("20")), false, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			m := newMemories()
			m.wroteConsumer(keyA, gen.Widget("a", gen.Version("20")))
			if got := m.echo(instance.Consumer, row.event.Key(), row.event); got != row.echo {
				t.Errorf("echo is %v", got)
			}
			if m.isEmpty() != row.drops {
				t.Errorf("entries are %v", m.entries)
			}
			if m.echo(instance.Provider, keyA, row.event) {
				t.Error("an event of the other side is no echo")
			}
		})
	}
}

func TestStatusThatWasKeptAsSentTeachesNothing(t *testing.T) {
	m := newMemories()
	m.wroteStatus(keyA, gen.Widget("a", gen.Status(`{"phase":"A"}`)), []byte(`{"phase":"A"}`))
	if _, _, learned := m.view(keyA, both(at("99", gen.Widget("a")), at("99", nil))); learned.SentStatus != nil {
		t.Errorf("learned %+v", learned)
	}
	m.wroteStatus(keyA, gen.Widget("a", gen.Status(`{}`)), []byte(`{"phase":"A"}`))
	if _, _, learned := m.view(keyA, both(at("99", gen.Widget("a")), at("99", nil))); string(learned.SentStatus) != `{"phase":"A"}` || string(learned.KeptStatus) != `{}` {
		t.Errorf("learned %+v", learned)
	}
}

func TestPausesAfterRefusals(t *testing.T) {
	m := newMemories()
	var last time.Duration
	for range 8 {
		pause := m.refused(keyA, "hash", coverage.Rejected)
		if pause < last || pause > longestRefusedPause {
			t.Errorf("pause %s follows %s", pause, last)
		}
		last = pause
	}
	if last != longestRefusedPause {
		t.Errorf("the longest pause is %s", last)
	}
	if pause := m.refused(keyA, "other", coverage.Rejected); pause != firstRefusedPause {
		t.Errorf("other content waits %s", pause)
	}
	if pause := m.refused(keyA, "other", coverage.Denied); pause < deniedPause || pause > time.Minute {
		t.Errorf("denied content waits %s", pause)
	}
	m.applied(keyA, written(facts().desired(false)), Step{Desired: facts().desired(false)})
	if pause := m.pause(keyA); pause != 0 {
		t.Errorf("a pause of %s is left", pause)
	}
}

func TestRepairsCountOnlyInQuickSuccession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemories()
		repair := Step{Desired: facts().desired(false), Repair: true}
		count := func() int {
			m.applied(keyA, written(repair.Desired), repair)
			return m.entries[keyA].Repairs.Count
		}
		for want := 1; want <= mostRepairs; want++ {
			if got := count(); got != want {
				t.Errorf("count is %d, want %d", got, want)
			}
			time.Sleep(repairPause / 2)
		}
		time.Sleep(repairPause)
		if got := count(); got != 1 {
			t.Errorf("after a calm time the count is %d", got)
		}
		m.applied(keyA, written(repair.Desired), Step{Desired: ownership.Desired{Hash: "other"}})
		if got := m.entries[keyA].Repairs; got != (Repairs{}) {
			t.Errorf("after other content it is %+v", got)
		}
	})
}

func TestMemoriesTakeManyAtOnce(t *testing.T) {
	m := newMemories()
	var all sync.WaitGroup
	for worker := range 8 {
		all.Go(func() {
			for i := range 200 {
				version := strconv.Itoa(worker*1000 + i)
				object := gen.Widget("a", gen.Version(version))
				m.wroteConsumer(keyA, object)
				m.applied(keyA, gen.Copy("a", gen.Version(version)), Step{})
				m.echo(instance.Consumer, keyA, object)
				m.view(keyA, both(at(version, object), at(version, nil)))
				m.refused(keyA, version, coverage.Rejected)
				m.pause(keyA)
				m.report(keyA, version)
				m.solved(keyA)
			}
		})
	}
	all.Wait()
	m.view(keyA, both(at("9999", nil), at("9999", nil)))
	if !m.isEmpty() {
		t.Errorf("entries are left: %v", m.entries)
	}
}

// both returns what reads these from the caches.
func both(inConsumers, inProviders seen) func() (seen, seen) {
	return func() (seen, seen) { return inConsumers, inProviders }
}

// TestAnEchoIsInWhatIsReadAfterIt has an event arrive between the moment that a sync
// begins and the moment that it reads: whatever is dropped as an echo is in the cache.
func TestAnEchoIsInWhatIsReadAfterIt(t *testing.T) {
	m := newMemories()
	var cached atomic.Pointer[instance.Object]
	cached.Store(gen.Widget("a", gen.Version("1")))
	read := func() (seen, seen) {
		object := cached.Load()
		return seen{object: object, version: object.ResourceVersion}, seen{}
	}
	for round := range 2000 {
		version := strconv.Itoa(10 + round)
		written := gen.Widget("a", gen.Version(version))
		m.wroteConsumer(keyA, written)
		var event sync.WaitGroup
		event.Go(func() {
			cached.Store(written) // the store has it before the handler is told
			m.echo(instance.Consumer, keyA, written)
		})
		consumer, _, _ := m.view(keyA, read)
		event.Wait()
		if consumer.ResourceVersion != version {
			t.Fatalf("round %d: an object of version %s is seen after version %s was written", round, consumer.ResourceVersion, version)
		}
	}
}
