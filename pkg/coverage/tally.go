package coverage

import (
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// Tally keeps the state of every object and the sums by binding. It is safe for
// concurrent use.
type Tally struct {
	mu       sync.Mutex
	apis     map[API]*objects
	onChange []func(BindingID)
}

type objects struct {
	states map[types.NamespacedName]entry
	sums   map[BindingID]Counts
	denied map[BindingID]string // what was refused last
	phase  Phase
	err    string // why the syncer's caches can't be kept
}

type entry struct {
	binding BindingID
	state   State
}

// Phase tells how far a syncer is.
type Phase string

// Phases.
const (
	// Stopped syncers don't run.
	Stopped Phase = ""
	// Starting syncers fill their caches and look at every object for the first time.
	Starting Phase = "Starting"
	// Running syncers have looked at every object at least once: their counts are complete.
	Running Phase = "Running"
)

// NewTally returns a tally without objects.
func NewTally() *Tally {
	return &Tally{apis: map[API]*objects{}}
}

// OnChange has a function called with each binding whose counts or phase change.
// It has to be quick, and is called outside of the tally's lock.
func (t *Tally) OnChange(notify func(BindingID)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.onChange = append(t.onChange, notify)
}

// Record says how an object stands and under which binding.
func (t *Tally) Record(api API, object types.NamespacedName, binding BindingID, state State) {
	t.put(api, object, &entry{binding: binding, state: state})
}

// Begin counts an object that is being worked on: as pending when it is new, and
// as it stood before otherwise, so that counts don't flicker with every change.
func (t *Tally) Begin(api API, object types.NamespacedName, binding BindingID) {
	t.mu.Lock()
	known, exists := t.of(api).states[object]
	t.mu.Unlock()
	if !exists || known.binding != binding {
		t.Record(api, object, binding, Pending)
	}
}

// Drop forgets an object.
func (t *Tally) Drop(api API, object types.NamespacedName) {
	t.put(api, object, nil)
}

func (t *Tally) put(api API, object types.NamespacedName, now *entry) {
	t.mu.Lock()
	of := t.of(api)
	before, had := of.states[object]
	if (now == nil && !had) || (now != nil && had && *now == before) {
		t.mu.Unlock()
		return
	}
	if had {
		of.add(before, -1)
		delete(of.states, object)
	}
	if now != nil {
		of.add(*now, 1)
		of.states[object] = *now
	}
	notify := slices.Clone(t.onChange)
	t.mu.Unlock()
	if had {
		each(notify, []BindingID{before.binding})
	}
	if now != nil && (!had || now.binding != before.binding) {
		each(notify, []BindingID{now.binding})
	}
}

// add counts an object in or out.
func (o *objects) add(object entry, delta int64) {
	sums := o.sums[object.binding]
	sums.Instances += delta
	switch object.state {
	case Synced:
		sums.Synced += delta
	case Conflicting:
		sums.Conflicting += delta
	case Denied:
		sums.Denied += delta
	case Rejected:
		sums.Rejected += delta
	case Pending, Leaving:
	}
	if sums == (Counts{}) {
		delete(o.sums, object.binding)
		return
	}
	o.sums[object.binding] = sums
}

// Explain keeps what was refused, for a binding with denied objects.
func (t *Tally) Explain(api API, binding BindingID, denied string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.of(api).denied[binding] = denied
}

// Report is what the tally knows of an API for one binding.
type Report struct {
	Counts
	Phase Phase
	// Denied is what was refused last, while objects are denied.
	Denied string
	// Err is why the syncer's caches can't be kept up to date, "" when they can.
	Err string
}

// Report returns what is known of an API for a binding.
func (t *Tally) Report(api API, binding BindingID) Report {
	t.mu.Lock()
	defer t.mu.Unlock()
	of, exists := t.apis[api]
	if !exists {
		return Report{}
	}
	report := Report{Counts: of.sums[binding], Phase: of.phase, Err: of.err}
	if report.Counts.Denied > 0 {
		report.Denied = of.denied[binding]
	}
	return report
}

// SetErr says why the caches of the API's syncer can't be kept up to date, "" when
// they can. The bindings given are told when it is news.
func (t *Tally) SetErr(api API, err string, tell []BindingID) {
	t.mu.Lock()
	news := t.of(api).err != err
	t.of(api).err = err
	notify := slices.Clone(t.onChange)
	t.mu.Unlock()
	if news {
		each(notify, tell)
	}
}

func each(notify []func(BindingID), bindings []BindingID) {
	for _, do := range notify {
		for _, binding := range bindings {
			do(binding)
		}
	}
}

// SetPhase says how far the API's syncer is. Stopped forgets its objects. The
// bindings given are told.
func (t *Tally) SetPhase(api API, phase Phase, tell []BindingID) {
	t.mu.Lock()
	if phase == Stopped {
		delete(t.apis, api)
	} else {
		t.of(api).phase = phase
	}
	notify := slices.Clone(t.onChange)
	t.mu.Unlock()
	each(notify, tell)
}

// of returns the objects of an API. The caller holds the lock.
func (t *Tally) of(api API) *objects {
	of, exists := t.apis[api]
	if !exists {
		of = &objects{states: map[types.NamespacedName]entry{}, sums: map[BindingID]Counts{}, denied: map[BindingID]string{}}
		t.apis[api] = of
	}
	return of
}
