package informer

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"

	"github.com/kbind-dev/konnector/pkg/instance"
)

var widgets = schema.GroupVersionResource{Group: "example.org", Version: "v1", Resource: "widgets"}

func widget(name string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.org/v1", "kind": "Widget",
		"metadata": map[string]any{"namespace": "a", "name": name, "resourceVersion": "5"},
		"spec":     map[string]any{"size": int64(1)},
	}}
}

func newClient(objects ...apiruntime.Object) *fake.FakeDynamicClient {
	kinds := map[schema.GroupVersionResource]string{widgets: "WidgetList"}
	return fake.NewSimpleDynamicClientWithCustomListKinds(apiruntime.NewScheme(), kinds, objects...)
}

// waitSynced waits until the informer of a reference is filled.
func waitSynced(t *testing.T, ref *Ref) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if !cache.WaitFor(ctx, "", ref.Informer().HasSyncedChecker()) {
		t.Fatalf("the informer did not fill: %v", ref.Err())
	}
}

// settle waits until no more goroutines run than before.
func settle(t *testing.T, before int) {
	t.Helper()
	for range 100 {
		if runtime.NumGoroutine() <= before {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	stacks := make([]byte, 1<<16)
	t.Errorf("%d goroutines, %d before:\n%s", runtime.NumGoroutine(), before, stacks[:runtime.Stack(stacks, true)])
}

func TestPoolSharesOneInformerPerKey(t *testing.T) {
	before := runtime.NumGoroutine()
	pool := NewPool(t.Context(), newClient(widget("x")), instance.Consumer, "")
	key := Key{Resource: widgets, Namespace: "a"}
	first, second := pool.Acquire(key), pool.Acquire(key)
	if first.Informer() != second.Informer() || pool.Len() != 1 {
		t.Error("two holders of a key don't share an informer")
	}
	other := pool.Acquire(Key{Resource: widgets})
	if other.Informer() == first.Informer() || pool.Len() != 2 {
		t.Error("another namespace shares the informer")
	}
	other.Release()
	waitSynced(t, first)
	object, version := first.Read("a/x")
	if object == nil || object.UID != "" || string(object.Payload) != `{"spec":{"size":1}}` {
		t.Errorf("the cache holds %+v", object)
	}
	if version == "" {
		t.Error("the cache does not tell how new it is")
	}
	if object, _ := first.Read("a/y"); object != nil {
		t.Errorf("the cache holds %+v", object)
	}

	first.Release()
	first.Release() // a second time does nothing
	if second.Informer().IsStopped() {
		t.Error("the informer ended though it is held")
	}
	second.Release()
	if !second.Informer().IsStopped() || pool.Len() != 0 {
		t.Error("the informer goes on though nobody holds it")
	}
	again := pool.Acquire(key)
	if again.Informer() == first.Informer() {
		t.Error("an informer that has ended was handed out")
	}
	waitSynced(t, again)
	pool.Close()
	if !again.Informer().IsStopped() {
		t.Error("the pool is closed and an informer goes on")
	}
	again.Release()
	settle(t, before)
}

func TestPoolSelectsOnTheServer(t *testing.T) {
	client := newClient()
	selectors := make(chan string, 10)
	client.PrependReactor("list", "widgets", func(action clienttesting.Action) (bool, apiruntime.Object, error) {
		selectors <- action.(clienttesting.ListAction).GetListRestrictions().Labels.String()
		return false, nil, nil
	})
	pool := NewPool(t.Context(), client, instance.Provider, "core.kbind.io/consumer=1")
	defer pool.Close()
	ref := pool.Acquire(Key{Resource: widgets})
	defer ref.Release()
	waitSynced(t, ref)
	if got := <-selectors; got != "core.kbind.io/consumer=1" {
		t.Errorf("the server was asked for %q", got)
	}
}

func TestRefTellsWhyWatchingFailsAndThatItHealed(t *testing.T) {
	client := newClient(widget("x"))
	refused := make(chan bool, 1)
	refused <- true
	client.PrependReactor("list", "widgets", func(clienttesting.Action) (bool, apiruntime.Object, error) {
		select {
		case <-refused:
			return true, nil, apierrors.NewForbidden(widgets.GroupResource(), "", errors.New("not yours"))
		default:
			return false, nil, nil
		}
	})
	pool := NewPool(t.Context(), client, instance.Consumer, "")
	defer pool.Close()
	ref := pool.Acquire(Key{Resource: widgets})
	defer ref.Release()
	for ref.Err() == nil && !ref.Informer().HasSynced() {
		time.Sleep(time.Millisecond)
	}
	if err := ref.Err(); !apierrors.IsForbidden(err) {
		t.Fatalf("Err = %v, want the refusal", err)
	}
	waitSynced(t, ref)
	if err := ref.Err(); err != nil {
		t.Errorf("Err = %v after it healed", err)
	}
}

func TestHealthTellsOnlyNews(t *testing.T) {
	told := 0
	health := NewHealth("widgets", func() { told++ })
	for _, err := range []error{nil, errors.New("a"), errors.New("a"), errors.New("b"), nil, nil} {
		health.note(t.Context(), err)
	}
	if told != 3 {
		t.Errorf("told %d times, want 3: a, b, healed", told)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	health.note(ended, errors.New("context canceled"))
	if health.Err() != nil {
		t.Error("the end of an informer counts as its failure")
	}
}

func TestStripManagedFields(t *testing.T) {
	object := widget("x")
	object.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: "kubectl"}})
	if _, err := StripManagedFields(object); err != nil || len(object.GetManagedFields()) > 0 {
		t.Errorf("%v, %v", object.GetManagedFields(), err)
	}
}
