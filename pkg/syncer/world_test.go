package syncer

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/record"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/ktesting"

	corev1alpha1 "github.com/kbind-dev/konnector/apis/core/v1alpha1"
	"github.com/kbind-dev/konnector/pkg/coverage"
	"github.com/kbind-dev/konnector/pkg/informer"
	"github.com/kbind-dev/konnector/pkg/instance"
	"github.com/kbind-dev/konnector/pkg/internal/fakeserver"
	"github.com/kbind-dev/konnector/pkg/ownership"
	"github.com/kbind-dev/konnector/pkg/session"
)

const namespace = "team-a"

var (
	widgets = coverage.API{Connection: "main", Name: "widgets.demo.example.org"}
	binding = coverage.Binding{
		ID: coverage.BindingID{Name: "all"}, UID: "binding", Connection: "main", Policy: corev1alpha1.ConflictPolicyFail,
	}
)

// world is a syncer between two API servers. It lives in a bubble of synctest: hours
// of pauses pass in no time, and at rest means that every goroutine waits.
type world struct {
	t                  *testing.T
	consumer, provider *fakeserver.Server
	index              *coverage.Index
	tally              *coverage.Tally
	events             *record.FakeRecorder
	environment        *Environment
	calls              *[]string

	stop func()
}

// inWorld runs a test in a bubble, with a binding that covers all widgets.
func inWorld(t *testing.T, test func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		defer func() { w.stop() }()
		test(w)
		if events := w.told(); len(events) > 0 {
			t.Errorf("Events that nobody expected: %q", events)
		}
	})
}

func newWorld(t *testing.T) *world {
	exclusions, err := ownership.NewExclusions()
	if err != nil {
		t.Fatal(err)
	}
	w := &world{
		t:        t,
		consumer: fakeserver.New(namespace),
		provider: fakeserver.New(namespace),
		index:    coverage.NewIndex(),
		tally:    coverage.NewTally(),
		events:   record.NewFakeRecorder(100),
		calls:    &[]string{},
	}
	w.consumer.Refuse, w.provider.Refuse = nil, nil
	w.environment = &Environment{
		Cluster:    cluster,
		Index:      w.index,
		Tally:      w.tally,
		Exclusions: exclusions,
		Mapper:     ownership.Identity{},
		Events:     w.events,
		Workers:    2,
	}
	w.cover(binding, false)
	return w
}

// cover has a binding cover all widgets, or let them go.
func (w *world) cover(by coverage.Binding, draining bool) {
	w.index.Put(by, map[string]bool{widgets.Name: draining})
}

// start runs a syncer with nothing in its memory, until stop or restart.
func (w *world) start() *Syncer {
	w.t.Helper()
	logger := ktesting.NewLogger(w.t, ktesting.NewConfig(ktesting.Verbosity(2)))
	ctx, cancel := context.WithCancel(klog.NewContext(w.t.Context(), logger))
	client, err := dynamic.NewForConfig(w.consumer.Config())
	if err != nil {
		w.t.Fatal(err)
	}
	provider, err := session.Open(ctx, session.Options{Connection: "main", ConsumerUID: cluster, Config: w.provider.Config()})
	if err != nil {
		w.t.Fatal(err)
	}
	w.environment.Client = client
	w.environment.Pool = informer.NewPool(ctx, client, instance.Consumer, "")
	syncer := New(w.environment, widgets, coverage.Target{
		Kind: fakeserver.Kind, Resource: fakeserver.Resource, Namespaced: true,
		StatusSubresource: w.consumer.StatusSubresource,
	}, []string{""}, provider)
	var running sync.WaitGroup
	running.Go(func() { syncer.Run(ctx) })
	w.stop = func() {
		cancel()
		running.Wait()
		provider.Close()
		w.environment.Pool.Close()
		w.stop = func() {}
	}
	synctest.Wait()
	return syncer
}

// user creates a widget on the consumer; spec is JSON.
func (w *world) user(name, spec string) {
	w.consumer.Create(fmt.Sprintf(`{"metadata":{"namespace":%q,"name":%q},"spec":%s}`, namespace, name, spec))
	synctest.Wait()
}

// edit changes an object as its cluster's users do.
func (w *world) edit(server *fakeserver.Server, name string, change func(object map[string]any)) {
	server.Update(namespace, name, false, change)
	synctest.Wait()
}

// status sets the status of a copy, as the provider's controller does.
func (w *world) status(name string, status map[string]any) {
	w.provider.Update(namespace, name, true, func(object map[string]any) { object["status"] = status })
	synctest.Wait()
}

// spec sets one field of the spec.
func spec(field string, value any) func(map[string]any) {
	return func(object map[string]any) { _ = unstructured.SetNestedField(object, value, "spec", field) }
}

// wrote fails unless these were the calls since the last time, with all reads. A call
// is "consumer patch", "provider apply" and the like; those of one cluster are in order.
func (w *world) wrote(want ...string) {
	w.t.Helper()
	synctest.Wait()
	var got []string
	for _, call := range w.consumer.Calls() {
		got = append(got, "consumer "+call.Verb)
	}
	for _, call := range w.provider.Calls() {
		got = append(got, "provider "+call.Verb)
	}
	slices.SortStableFunc(want, func(a, b string) int { return strings.Compare(a[:8], b[:8]) })
	if !slices.Equal(got, want) {
		w.t.Errorf("calls are %q, want %q", got, want)
	}
}

// told returns the Events since the last time.
func (w *world) told() []string {
	var events []string
	for {
		select {
		case event := <-w.events.Events:
			events = append(events, event)
		default:
			return events
		}
	}
}

// tells fails unless there was exactly one Event since the last time, with these words.
func (w *world) tells(words ...string) {
	w.t.Helper()
	events := w.told()
	if len(events) != 1 {
		w.t.Errorf("Events are %q, want one", events)
		return
	}
	for _, each := range words {
		if !strings.Contains(events[0], each) {
			w.t.Errorf("Event %q does not say %q", events[0], each)
		}
	}
}

// counts fails unless all objects are in this state.
func (w *world) counts(want coverage.Counts) {
	w.t.Helper()
	if got := w.tally.Report(widgets, binding.ID).Counts; got != want {
		w.t.Errorf("counts are %+v, want %+v", got, want)
	}
}

// field returns a value of an object as text, "" when there is none.
func field(object *unstructured.Unstructured, path ...string) string {
	if object == nil {
		return ""
	}
	value, has, _ := unstructured.NestedFieldNoCopy(object.Object, path...)
	if !has {
		return ""
	}
	return fmt.Sprint(value)
}

func (w *world) is(server *fakeserver.Server, name, want string, path ...string) {
	w.t.Helper()
	if got := field(server.Get(namespace, name), path...); got != want {
		w.t.Errorf("%s of %s is %q, want %q", strings.Join(path, "."), name, got, want)
	}
}
