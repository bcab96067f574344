package syncer

import (
	"bytes"
	"sync"
	"time"
	"unique"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/kbind-dev/konnector/pkg/coverage"
	"github.com/kbind-dev/konnector/pkg/instance"
	"github.com/kbind-dev/konnector/pkg/ownership"
)

// memories hold, by object, what caches don't show yet or never will: the answers
// to our own writes. An entry lives only while it says more than the caches.
type memories struct {
	mu      sync.Mutex
	entries map[types.NamespacedName]*memory
}

type memory struct {
	Memory
	// The newest objects that our own writes returned, until the caches have them.
	consumer, provider *instance.Object
	// The UIDs of objects that are gone by our own calls, while the caches still have them.
	consumerGone, providerGone types.UID
	// problem is what was last reported to the user.
	problem string
	// refusals is how often RefusedHash was refused, and heldUntil the end of the pause
	// before RefusedHash or the content of Repairs is applied again, or a taken name
	// looked at.
	refusals  int
	heldUntil time.Time
}

// The pauses before an apply that could only repeat what has happened.
const (
	// deniedPause is how long a refusal by RBAC is left alone: a grant brings no event,
	// and has to show within a minute.
	deniedPause = 30 * time.Second
	// After other refusals the pause doubles with each; what was mended without an
	// event has to show within a minute as well.
	firstRefusedPause   = time.Second
	longestRefusedPause = 40 * time.Second
	// repairPause is how long content rests that was put back too often, and also how
	// long it has to stay untouched to be forgotten.
	repairPause = 10 * time.Minute
)

func newMemories() *memories {
	return &memories{entries: map[types.NamespacedName]*memory{}}
}

// view returns the newest that is known of both objects, and what was learned of them.
// It reads the caches itself, under its lock: what [memories.echo] has dropped because
// a cache has it by then is in what is read.
func (m *memories) view(key types.NamespacedName, read func() (inConsumers, inProviders seen)) (consumer, provider *instance.Object, learned Memory) {
	m.mu.Lock()
	defer m.mu.Unlock()
	inConsumers, inProviders := read()
	entry, exists := m.entries[key]
	if !exists {
		return inConsumers.object, inProviders.object, Memory{}
	}
	consumer, entry.consumer = inConsumers.newest(entry.consumer)
	provider, entry.provider = inProviders.newest(entry.provider)
	consumer, entry.consumerGone = without(consumer, entry.consumerGone)
	provider, entry.providerGone = without(provider, entry.providerGone)
	provider, entry.Leaving = going(provider, entry.Leaving)
	learned = entry.Memory
	if over := inConsumers.object == nil && inProviders.object == nil && consumer == nil && provider == nil; over || entry.empty() {
		delete(m.entries, key)
	}
	return consumer, provider, learned
}

// without returns no object when it is the one that is gone by our own call, and
// keeps that UID only while the cache still has it.
func without(object *instance.Object, gone types.UID) (*instance.Object, types.UID) {
	if object != nil && gone != "" && object.UID == gone {
		return nil, gone
	}
	return object, ""
}

// going returns an object that a deletion of ours has sent on its way as one that is
// being deleted, also while the cache doesn't show that yet. That UID is kept until the
// name has another object.
func going(object *instance.Object, leaving types.UID) (*instance.Object, types.UID) {
	switch {
	case object == nil || leaving == "":
		return object, leaving
	case object.UID != leaving:
		return object, ""
	case object.Deleting:
		return object, leaving
	}
	marked := *object
	marked.Deleting = true
	return &marked, leaving
}

// newest returns the newer of a cached object and one that a write returned, and
// the latter only while the cache has not caught up with it.
func (s seen) newest(written *instance.Object) (best, keep *instance.Object) {
	if written == nil {
		return s.object, nil
	}
	if s.object != nil && atLeast(s.object.ResourceVersion, written.ResourceVersion) {
		return s.object, nil
	}
	if s.version != "" && atLeast(s.version, written.ResourceVersion) {
		return s.object, nil // seen, and changed or gone since
	}
	return written, written
}

// atLeast reports whether one resourceVersion is as new as another. API servers
// promise their order since 1.35 (KEP-5504), and have kept it before; a version that
// is no number is taken for newer, which at worst costs a conflict.
func atLeast(version, than string) bool {
	order, err := resourceversion.CompareResourceVersion(version, than)
	return err != nil || order >= 0
}

// change runs a function on the entry of a key, which is made when missing and
// dropped when it says nothing.
func (m *memories) change(key types.NamespacedName, do func(*memory)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	entry, exists := m.entries[key]
	if !exists {
		entry = &memory{}
	}
	do(entry)
	if entry.empty() {
		delete(m.entries, key)
		return
	}
	m.entries[key] = entry
}

func (e *memory) empty() bool {
	return e.consumer == nil && e.provider == nil && e.consumerGone == "" && e.providerGone == "" && e.problem == "" &&
		!e.InConflict && e.AcceptedHash == "" && e.SentStatus == nil && e.Leaving == "" && e.RefusedHash == "" && e.Repairs == (Repairs{})
}

// wroteConsumer takes in the consumer object that a write returned.
func (m *memories) wroteConsumer(key types.NamespacedName, object *instance.Object) {
	m.change(key, func(entry *memory) { entry.consumer = object })
}

// wroteStatus takes in the consumer object that a write of its status returned.
func (m *memories) wroteStatus(key types.NamespacedName, object *instance.Object, sent []byte) {
	m.change(key, func(entry *memory) {
		entry.consumer = object
		entry.SentStatus, entry.KeptStatus = nil, nil
		if !bytes.Equal(object.Status, sent) {
			entry.SentStatus, entry.KeptStatus = append([]byte{}, sent...), object.Status
		}
	})
}

// applied takes in the copy that an apply returned.
func (m *memories) applied(key types.NamespacedName, object *instance.Object, step Step) {
	m.change(key, func(entry *memory) {
		entry.provider = object
		entry.InConflict, entry.Policy = false, ""
		entry.Leaving = ""
		entry.AcceptedHash, entry.AcceptedFields = "", unique.Handle[string]{}
		if !ownership.Owns(object.OwnedFields(), step.Desired) {
			entry.AcceptedHash, entry.AcceptedFields = step.Desired.Hash, object.Fields
		}
		entry.RefusedHash, entry.RefusedState, entry.refusals = "", "", 0
		entry.countRepair(step)
	})
}

// countRepair counts an apply when it has put content back.
func (e *memory) countRepair(step Step) {
	calm := !time.Now().Before(e.heldUntil)
	e.heldUntil = time.Time{}
	if !step.Repair {
		e.Repairs = Repairs{}
		return
	}
	if calm || e.Repairs.Hash != step.Desired.Hash {
		e.Repairs.Count = 0
	}
	e.Repairs = Repairs{Hash: step.Desired.Hash, Count: e.Repairs.Count + 1, Fields: step.Left}
	e.heldUntil = time.Now().Add(repairPause)
}

// refused takes in that an apply was not taken, and how the object stands by that. It
// returns the pause before the next attempt.
func (m *memories) refused(key types.NamespacedName, hash string, state coverage.State) (pause time.Duration) {
	m.change(key, func(entry *memory) {
		if entry.RefusedHash != hash {
			entry.refusals = 0
		}
		entry.refusals++
		entry.RefusedHash, entry.RefusedState = hash, state
		pause = wait.Jitter(deniedPause, 0.2)
		if state != coverage.Denied {
			pause = min(firstRefusedPause<<min(entry.refusals-1, 10), longestRefusedPause)
		}
		entry.heldUntil = time.Now().Add(pause)
	})
	return pause
}

// inConflict takes in that the name is taken.
func (m *memories) inConflict(key types.NamespacedName, facts Facts) {
	m.change(key, func(entry *memory) {
		entry.InConflict, entry.Policy = true, facts.Cover.Policy
		if facts.Looked {
			entry.heldUntil = time.Now().Add(recheckPause)
		}
	})
}

// pause returns how long the content of a key is held yet.
func (m *memories) pause(key types.NamespacedName) time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	entry, exists := m.entries[key]
	if !exists {
		return 0
	}
	return max(time.Until(entry.heldUntil), 0)
}

// solved forgets what was last reported of an object.
func (m *memories) solved(key types.NamespacedName) {
	m.change(key, func(entry *memory) { entry.problem = "" })
}

// echo takes in an event of a cache, and reports whether it shows nothing but the
// latest write of ours, or what was there before it: all that was decided on already. key is the consumer's.
func (m *memories) echo(side instance.Side, key types.NamespacedName, object *instance.Object) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	entry, exists := m.entries[key]
	if !exists {
		return false
	}
	written := &entry.consumer
	if side == instance.Provider {
		written = &entry.provider
	}
	if *written == nil || (*written).UID != object.UID {
		return false
	}
	if !atLeast(object.ResourceVersion, (*written).ResourceVersion) {
		return true // what that write returned is newer
	}
	same := (*written).ResourceVersion == object.ResourceVersion
	*written = nil
	if entry.empty() {
		delete(m.entries, key)
	}
	return same
}

// report keeps what is reported of an object, and tells whether it is news.
func (m *memories) report(key types.NamespacedName, problem string) (news bool) {
	m.change(key, func(entry *memory) {
		news = entry.problem != problem
		entry.problem = problem
	})
	return news
}
