package syncer

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	corev1alpha1 "github.com/kbind-dev/konnector/apis/core/v1alpha1"
	"github.com/kbind-dev/konnector/pkg/coverage"
	"github.com/kbind-dev/konnector/pkg/instance"
	"github.com/kbind-dev/konnector/pkg/internal/gen"
	"github.com/kbind-dev/konnector/pkg/ownership"
)

// owner says whose an object of the provider really is, whatever its marks say.
type owner string

const (
	us        owner = "us"
	adoptedBy owner = "adopted"
	stranger  owner = "stranger"
	another   owner = "another konnector"
)

// model is two API servers with one name, two caches that lag behind, and our memory.
type model struct {
	version  int
	consumer *instance.Object
	provider *instance.Object
	owner    owner
	held     bool // a finalizer of somebody else is on the provider's object
	letGo    types.UID
	admin    bool // somebody took our finalizer off the consumer's object

	consumers, providers seen
	memories             *memories
	cover                *coverage.Cover

	trace  []string
	broken string
}

var modelKey = types.NamespacedName{Namespace: gen.Namespace, Name: "a"}

func newModel() *model {
	m := &model{version: 1, memories: newMemories(), cover: &coverage.Cover{Binding: binding}}
	m.catchUp(true, true)
	return m
}

func (m *model) next() string {
	m.version++
	return strconv.Itoa(m.version)
}

func (m *model) note(format string, args ...any) {
	m.trace = append(m.trace, fmt.Sprintf(format, args...))
}

func (m *model) must(ok bool, promise string) {
	if !ok && m.broken == "" {
		m.broken = promise
	}
}

// catchUp has caches show what is there. That of the provider holds only what has our label.
func (m *model) catchUp(consumer, provider bool) {
	if consumer {
		m.consumers = seen{m.consumer, strconv.Itoa(m.version)}
	}
	if provider {
		m.providers = seen{nil, strconv.Itoa(m.version)}
		if m.provider != nil && m.provider.Labels[corev1alpha1.LabelConsumer] == string(cluster) {
			m.providers.object = m.provider
		}
	}
}

// changeConsumer and changeProvider are writes; what is deleted and not held goes.
func (m *model) changeConsumer(options ...gen.Option) {
	m.consumer = gen.With(m.consumer, append(options, gen.Version(m.next()))...)
	if m.consumer.Deleting && len(m.consumer.Finalizers) == 0 {
		m.consumer, m.admin = nil, false
		m.next()
	}
}

func (m *model) changeProvider(options ...gen.Option) {
	m.provider = gen.With(m.provider, append(options, gen.Version(m.next()))...)
	if m.provider.Deleting && !m.held {
		m.provider = nil
		m.next()
	}
}

// events are what can happen; the number given is a free choice.
var events = []struct {
	name string
	do   func(m *model, n int)
}{
	{"sync", func(m *model, _ int) { m.sync(mostRounds, false) }},
	{"sync and catch up", func(m *model, _ int) { m.sync(mostRounds, false); m.catchUp(true, true) }},
	{"crash after a step", func(m *model, n int) { m.sync(n%3, true); m.restart(n%2 == 0) }},
	{"restart", func(m *model, n int) { m.restart(n%2 == 0) }},
	{"the consumer's cache catches up", func(m *model, _ int) { m.catchUp(true, false) }},
	{"the provider's cache catches up", func(m *model, _ int) { m.catchUp(false, true) }},
	{"pauses are over", func(m *model, _ int) { m.wait() }},
	{"user creates or updates", func(m *model, n int) {
		payload := gen.Payload(fmt.Sprintf(`{"spec":{"color":"red","size":%d}}`, n%3))
		if m.consumer == nil {
			version := m.next()
			m.consumer = gen.Widget("a", gen.UID(types.UID("uid-"+version)), gen.Version(version), payload)
			return
		}
		m.changeConsumer(payload, gen.Generation(m.consumer.Generation+1))
	}},
	{"user deletes", func(m *model, _ int) {
		if m.consumer != nil {
			m.changeConsumer(gen.Deleting())
		}
	}},
	{"user wants the copy kept", func(m *model, n int) {
		if m.consumer != nil && n%2 == 0 {
			m.changeConsumer(gen.Orphan())
		} else if m.consumer != nil {
			m.changeConsumer(gen.Unannotate(corev1alpha1.AnnotationDeletionPolicy))
		}
	}},
	{"admin takes our finalizer off", func(m *model, _ int) {
		if m.consumer != nil && m.consumer.HasFinalizer() {
			m.admin = true
			m.changeConsumer(func(o *instance.Object) { o.Finalizers = nil })
		}
	}},
	{"provider takes a field", func(m *model, n int) {
		if m.provider != nil {
			m.changeProvider(lost([]string{"color", "size"}[n%2]), gen.Generation(m.provider.Generation+1))
		}
	}},
	{"provider removes marks", func(m *model, n int) {
		if m.provider == nil || m.owner == another {
			return
		}
		m.changeProvider([]gen.Option{
			gen.Unlabel(corev1alpha1.LabelConsumer),
			gen.Unannotate(corev1alpha1.AnnotationAppliedHash),
			gen.Unannotate(corev1alpha1.AnnotationConsumerClusterUID),
		}[n%3])
	}},
	{"provider deletes", func(m *model, _ int) {
		if m.provider != nil {
			m.changeProvider(gen.Deleting())
		}
	}},
	{"provider holds or lets go", func(m *model, n int) {
		m.held = n%2 == 0
		if m.provider != nil {
			m.changeProvider()
		}
	}},
	{"provider writes a status", func(m *model, n int) {
		if m.provider != nil {
			m.changeProvider(gen.Status(fmt.Sprintf(`{"observedGeneration":%d,"phase":"%d"}`, m.provider.Generation, n%3)))
		}
	}},
	{"somebody else creates", func(m *model, n int) {
		if m.provider != nil {
			return
		}
		version := m.next()
		m.provider = gen.Copy("a", gen.UID(types.UID("copy-"+version)), gen.Version(version))
		m.owner, m.held = stranger, false
		switch n % 3 {
		case 1:
			m.owner = another
			m.changeProvider(gen.Marked("another-cluster", "x", "theirs"))
		case 2:
			m.owner = another
			m.changeProvider(gen.Marked(cluster, "x", foreign))
		}
	}},
	{"the policy changes", func(m *model, n int) {
		m.rebind(func(c *coverage.Cover) { c.Policy = []corev1alpha1.ConflictPolicy{fail, adopt}[n%2] })
	}},
	{"the binding drains or stays", func(m *model, n int) {
		m.rebind(func(c *coverage.Cover) { c.Draining, c.Orphan = n%4 != 0, n%4 == 1 })
	}},
}

func (m *model) rebind(change func(*coverage.Cover)) {
	changed := *m.cover
	change(&changed)
	m.cover = &changed
}

// restart loses what was learned. The first list of a cache may come from a cache of
// the API server, and so be old.
func (m *model) restart(fresh bool) {
	m.memories = newMemories()
	m.catchUp(true, fresh)
}

func (m *model) wait() {
	m.memories.change(modelKey, func(entry *memory) { entry.heldUntil = time.Time{} })
}

func (m *model) facts() Facts {
	f := facts()
	f.Consumer, f.Provider, f.Memory = m.memories.view(modelKey, both(m.consumers, m.providers))
	f.Cover = m.cover
	f.Held = m.memories.pause(modelKey) > 0
	return f
}

// sync decides and acts as the syncer does; one says that it ends after one step.
func (m *model) sync(rounds int, one bool) (last Plan) {
	lookedAt, isLooked := (*instance.Object)(nil), false
	for range rounds {
		f := m.facts()
		if isLooked {
			f.Provider, f.Looked = lookedAt, true
		}
		last = Decide(f)
		for _, broken := range promises(f, last) {
			leaving := broken == "a cache alone is no proof of absence" && f.Memory.Leaving != ""
			m.must(leaving, broken)
		}
		m.note("    %s", describe(f, last))
		if last.Conflict != "" {
			m.memories.inConflict(modelKey, f)
		}
		isLooked = false
		if len(last.Steps) == 0 {
			return last
		}
		for _, step := range last.Steps {
			done, found := m.act(f, step)
			if found {
				lookedAt, isLooked = m.provider, true
			}
			if !done || found {
				break
			}
			if one {
				return last
			}
		}
	}
	return last
}

// act does a step as the API servers would; done says that the next one follows.
func (m *model) act(f Facts, step Step) (done, found bool) {
	switch step.Do {
	case Look:
		return true, true
	case Apply:
		return m.apply(f, step)
	case Delete, Strip:
		return m.remove(f, step), false
	case AddFinalizer, ReleaseFinalizer, Annotate, WriteStatus:
	}
	consumer, _, _ := m.memories.view(modelKey, both(m.consumers, m.providers))
	if m.consumer == nil || m.consumer.UID != f.Consumer.UID {
		m.memories.change(modelKey, func(entry *memory) { entry.consumerGone, entry.consumer = f.Consumer.UID, nil })
		return false, false
	}
	needsVersion := step.Do == AddFinalizer || step.Do == ReleaseFinalizer
	if needsVersion && (consumer == nil || consumer.ResourceVersion != m.consumer.ResourceVersion) {
		m.catchUp(true, false) // a conflict, after which the event arrives at some time
		return false, false
	}
	if step.Do == ReleaseFinalizer {
		m.released(f)
	}
	if step.Do == AddFinalizer {
		m.must(!m.consumer.Deleting, "no finalizer on what is terminating")
		m.admin = false
	}
	played := Facts{Consumer: m.consumer}
	play(&played, step)
	if played.Consumer == nil {
		m.memories.change(modelKey, func(entry *memory) { entry.consumerGone, entry.consumer = m.consumer.UID, nil })
		m.consumer, m.admin = nil, false
		m.next()
		return true, false
	}
	m.consumer = gen.With(played.Consumer, gen.Version(m.next()))
	if step.Do == WriteStatus {
		m.memories.wroteStatus(modelKey, m.consumer, step.Status)
	} else {
		m.memories.wroteConsumer(modelKey, m.consumer)
	}
	return true, false
}

// released checks that no living copy is left behind by letting an object go.
func (m *model) released(f Facts) {
	if m.provider == nil || m.provider.Deleting || (m.cover.Draining && m.cover.Orphan) {
		return
	}
	left := Facts{Cluster: cluster, Consumer: f.Consumer, Provider: m.provider, ForeignBinding: f.ForeignBinding}
	m.must(left.claim() != ownership.Ours, "the copy goes before the finalizer")
}

func (m *model) apply(f Facts, step Step) (done, conflict bool) {
	switch {
	case m.provider == nil && step.Expect.UID != "",
		m.provider != nil && step.Expect.UID != "" && step.Expect.UID != m.provider.UID,
		m.provider != nil && step.Expect.ResourceVersion != "" && step.Expect.ResourceVersion != m.provider.ResourceVersion:
		return false, true
	}
	copied := gen.With(written(step.Desired), gen.Version(m.next()))
	if m.provider == nil {
		copied.UID = types.UID("copy-" + copied.ResourceVersion)
		m.owner, m.held = us, false
	} else {
		m.must(m.owner != another, "another's is never applied to")
		letGo := m.letGo == m.provider.UID // an old cache may show that as ours yet
		m.must(m.owner != stranger || letGo || m.cover.Policy == adopt, "Fail takes nothing over")
		if m.owner == stranger {
			m.owner = adoptedBy
		}
		copied.UID, copied.Status, copied.Deleting = m.provider.UID, m.provider.Status, m.provider.Deleting
		copied.Generation = m.provider.Generation + 1
	}
	alive := m.consumer != nil && m.consumer.UID == f.Consumer.UID && !m.consumer.Deleting
	m.must(!alive || m.consumer.HasFinalizer() || m.admin, "the finalizer goes before the copy")
	m.provider = copied
	m.memories.applied(modelKey, copied, step)
	return true, false
}

func (m *model) remove(_ Facts, step Step) (done bool) {
	gone := func() {
		m.memories.change(modelKey, func(entry *memory) { entry.providerGone, entry.provider = step.Expect.UID, nil })
	}
	if m.provider == nil || m.provider.UID != step.Expect.UID {
		gone()
		return m.provider == nil
	}
	if step.Do == Strip && step.Expect.ResourceVersion != m.provider.ResourceVersion {
		m.catchUp(false, true) // a conflict, after which the event arrives at some time
		return false
	}
	// After a restart an old cache may show as ours what we let go just before.
	m.must(m.owner == us || m.owner == adoptedBy || m.letGo == m.provider.UID, "only ours is deleted or let go")
	if step.Do == Strip {
		m.letGo = m.provider.UID
		m.changeProvider(func(o *instance.Object) { o.Labels, o.Annotations = nil, nil })
		m.owner = stranger
		gone()
		return true
	}
	m.changeProvider(gen.Deleting())
	if m.provider != nil {
		m.memories.change(modelKey, func(entry *memory) { entry.Leaving = step.Expect.UID })
		return false
	}
	gone()
	return true
}

// settle lets everything come to an end and checks where that is.
func (m *model) settle() {
	var plan Plan
	for range 12 {
		m.held = false
		if m.provider != nil && m.provider.Deleting {
			m.changeProvider()
		}
		m.catchUp(true, true)
		m.wait()
		plan = m.sync(mostRounds, false)
	}
	m.must(len(plan.Steps) == 0, "it comes to rest")
	if m.consumer == nil {
		return
	}
	m.must(!m.consumer.Deleting || len(m.consumer.Finalizers) > 0, "what is deleted goes")
	m.must(!m.consumer.Deleting, "what is deleted goes in the end")
	if m.cover.Draining {
		m.must(!m.consumer.HasFinalizer(), "draining releases")
		return
	}
	switch plan.State {
	case coverage.Synced:
		desired := Facts{Cluster: cluster, Consumer: m.consumer, Cover: m.cover, Exclusions: exclusions}.desired(m.provider.Annotations[corev1alpha1.AnnotationAdopted] != "")
		m.must(ownership.ReadMarks(m.provider).AppliedHash == desired.Hash || plan.Lost != "", "the copy is what the object asks for")
		m.must(m.consumer.HasFinalizer(), "what has a copy has the finalizer")
	case coverage.Conflicting:
		unknown := ownership.ReadMarks(m.provider).Cluster == "" // but there is a mark of an object: it may be anybody's
		m.must(m.owner == another || unknown || m.cover.Policy == fail, "Adopt takes what it can")
		m.must(m.consumer.Annotations[corev1alpha1.AnnotationConflict] == plan.Conflict, "a conflict is noted")
	default:
		m.must(false, "it ends as Synced or in conflict, not as "+string(plan.State))
	}
}

// play runs the events that the bytes stand for, and returns what was broken on the way.
func (m *model) play(data []byte) (broken string) {
	for i := 0; i+1 < len(data) && m.broken == ""; i += 2 {
		event := events[int(data[i])%len(events)]
		m.note("%s (%d)", event.name, data[i+1])
		event.do(m, int(data[i+1]))
	}
	if m.broken == "" {
		m.note("settle")
		m.settle()
	}
	return m.broken
}

func TestAnyHistoryIsSafeAndConverges(t *testing.T) {
	first := rand.Uint64()
	histories := 0
	for deadline := time.Now().Add(1500 * time.Millisecond); time.Now().Before(deadline); histories++ {
		seed := first + uint64(histories)
		data := bytesOf(seed)
		m := newModel()
		if broken := m.play(data); broken != "" {
			t.Fatalf("seed %d: not kept: %s\n%s", seed, broken, strings.Join(m.trace, "\n"))
		}
	}
	t.Logf("%d histories from seed %d on", histories, first)
}

func bytesOf(seed uint64) []byte {
	random := rand.New(rand.NewPCG(seed, 0))
	data := make([]byte, 2*(1+random.IntN(40)))
	for i := range data {
		data[i] = byte(random.Uint32())
	}
	return data
}

func FuzzHistory(f *testing.F) {
	for seed := range uint64(50) {
		f.Add(bytesOf(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		m := newModel()
		if broken := m.play(data[:min(len(data), 200)]); broken != "" {
			t.Fatalf("not kept: %s\n%s", broken, strings.Join(m.trace, "\n"))
		}
	})
}
