package syncer

import (
	"bytes"
	"sync"
	"unique"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"

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
}

func newMemories() *memories {
	return &memories{entries: map[types.NamespacedName]*memory{}}
}

// view returns the newest that is known of both objects, and what was learned of them.
func (m *memories) view(key types.NamespacedName, inConsumers, inProviders seen) (consumer, provider *instance.Object, learned Memory) {
	m.mu.Lock()
	defer m.mu.Unlock()
	entry, exists := m.entries[key]
	if !exists {
		return inConsumers.object, inProviders.object, Memory{}
	}
	consumer, entry.consumer = inConsumers.newest(entry.consumer)
	provider, entry.provider = inProviders.newest(entry.provider)
	consumer, entry.consumerGone = without(consumer, entry.consumerGone)
	provider, entry.providerGone = without(provider, entry.providerGone)
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
		!e.InConflict && e.AcceptedHash == "" && e.SentStatus == nil
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
func (m *memories) applied(key types.NamespacedName, object *instance.Object, desired ownership.Desired) {
	m.change(key, func(entry *memory) {
		entry.provider = object
		entry.InConflict = false
		entry.problem = ""
		entry.AcceptedHash, entry.AcceptedFields = "", unique.Handle[string]{}
		if !ownership.Owns(object.OwnedFields(), desired) {
			entry.AcceptedHash, entry.AcceptedFields = desired.Hash, object.Fields
		}
	})
}

// echo takes in an event of a cache, and reports whether it shows nothing but the
// latest write of ours, after which everything was decided already.
func (m *memories) echo(side instance.Side, object *instance.Object) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	key := object.Key()
	entry, exists := m.entries[key]
	if !exists {
		return false
	}
	written := &entry.consumer
	if side == instance.Provider {
		written = &entry.provider
	}
	if *written == nil || (*written).UID != object.UID || !atLeast(object.ResourceVersion, (*written).ResourceVersion) {
		return false
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
