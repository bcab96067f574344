package binding

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	corev1alpha1 "github.com/kbind-dev/konnector/apis/core/v1alpha1"
	"github.com/kbind-dev/konnector/pkg/coverage"
	"github.com/kbind-dev/konnector/pkg/schema"
)

const (
	createWidgets = "create customresourcedefinitions " + widgets
	updateWidgets = "update customresourcedefinitions " + widgets
	patchWidgets  = "patch customresourcedefinitions " + widgets
	deleteWidgets = "delete customresourcedefinitions " + widgets
)

func TestABindingBecomesReady(t *testing.T) {
	inWorld(t, func(w *world) {
		w.wroteCRDs()
		w.says(all, corev1alpha1.ConditionSchemaInSync, "Unknown Pending")

		w.offer("main", crd(widgets))
		w.wroteCRDs(createWidgets)
		w.says(all, corev1alpha1.ConditionSchemaInSync, "True SchemaInSync")
		w.says(all, corev1alpha1.ConditionSynced, "Unknown SyncStarting")

		cover, covered := w.index.Lookup(ofMain, "team-a")
		if !covered || cover.ID != all || cover.UID != "uid-all" || cover.Draining {
			t.Errorf("covered by %+v", cover)
		}
		target, has := w.index.Target(ofMain)
		if want := (coverage.Target{Kind: widgetKind, Resource: widgetsPath, Namespaced: true}); !has || target != want {
			t.Errorf("synced is %+v", target)
		}

		w.syncAll(ofMain, all, coverage.Synced, coverage.Synced, coverage.Conflicting)
		w.says(all, corev1alpha1.ConditionSynced, "True Synced")
		w.says(all, corev1alpha1.ConditionReady, "False ObjectsInConflict")
		w.tally.Drop(ofMain, types.NamespacedName{Namespace: "team-a", Name: "2"})
		w.rest(10 * time.Second)
		w.says(all, corev1alpha1.ConditionReady, "True Ready")
		if got := w.status(all); got.Instances != 2 || got.BoundAPIs[0].CRDHash == "" || got.BoundAPIs[0].Version != "v1" {
			t.Errorf("the status is %+v", got)
		}

		w.writes("")
		w.rest(time.Hour)
		if idle := w.writes(""); len(idle) > 0 {
			t.Errorf("writes at rest: %q", idle)
		}
	}, connectionIs("main", connected...), clusterBinding(all, widgets))
}

func TestARestartWritesNothing(t *testing.T) {
	inWorld(t, func(w *world) {
		w.offer("main", crd(widgets))
		w.syncAll(ofMain, all, coverage.Synced)
		w.says(all, corev1alpha1.ConditionReady, "True Ready")
		w.stop()
		w.writes("")

		w.start()
		w.rest(time.Second)
		w.offer("main", crd(widgets))
		w.tally.SetPhase(ofMain, coverage.Starting, []coverage.BindingID{all})
		w.rest(time.Second)
		w.syncAll(ofMain, all, coverage.Synced)
		if writes := w.writes(""); len(writes) > 0 {
			t.Errorf("writes: %q", writes)
		}
	}, connectionIs("main", connected...), clusterBinding(all, widgets))
}

func TestTwoBindingsShareAnAPI(t *testing.T) {
	inWorld(t, func(w *world) {
		w.offer("main", crd(widgets))
		w.wroteCRDs(createWidgets)
		w.syncAll(ofMain, all, coverage.Synced)
		if users := w.Users("main"); users != 2 {
			t.Errorf("the Connection has %d users", users)
		}

		w.delete(second)
		w.rest(10 * time.Second)
		if !w.released(second) {
			t.Fatal("the second binding waits")
		}
		w.wroteCRDs()
		if _, has := w.index.Target(ofMain); !has {
			t.Error("the first binding is not synced any more")
		}

		w.delete(all)
		w.rest(10 * time.Second)
		if w.released(all) {
			t.Fatal("the last binding does not wait for its instances")
		}
		w.says(all, corev1alpha1.ConditionReady, "False DrainingObjects")
		if cover, _ := w.index.Lookup(ofMain, "team-a"); !cover.Draining {
			t.Error("the syncer is not told to drain")
		}
		w.drain(ofMain, 1)
		w.wroteCRDs(deleteWidgets)
		if !w.released(all) {
			t.Error("the last binding waits")
		}
		if users := w.Users("main"); users != 0 {
			t.Errorf("the Connection has %d users", users)
		}
		if diff := cmp.Diff([]string{"main", "main"}, w.goneOf); diff != "" {
			t.Errorf("what the Connections are told: %s", diff)
		}
	}, connectionIs("main", connected...), clusterBinding(all, widgets), clusterBinding(second, widgets))
}

func TestABindingThatIsNewKeepsTheCRD(t *testing.T) {
	inWorld(t, func(w *world) {
		w.offer("main", crd(widgets))
		w.wroteCRDs(createWidgets)
		w.syncAll(ofMain, all)
		w.delete(all)
		_, err := w.core.CoreV1alpha1().ClusterBindings().Create(w.ctx, clusterBinding(second, widgets), metav1.CreateOptions{})
		w.must(err)
		w.rest(10 * time.Second)
		if !w.released(all) {
			t.Error("the binding waits")
		}
		w.wroteCRDs()
		if _, has := w.index.Target(ofMain); !has {
			t.Error("the new binding is not synced")
		}
	}, connectionIs("main", connected...), clusterBinding(all, widgets))
}

func TestAnAPIThatLeavesTheSpecDrains(t *testing.T) {
	inWorld(t, func(w *world) {
		w.offer("main", crd(widgets), crd(gadgets))
		w.syncAll(coverage.API{Connection: "main", Name: gadgets}, all)
		w.syncAll(ofMain, all, coverage.Synced, coverage.Synced)
		w.says(all, corev1alpha1.ConditionReady, "True Ready")
		w.writes("")

		w.list(all, gadgets)
		w.says(all, corev1alpha1.ConditionReady, "False DrainingObjects")
		if cover, covered := w.index.Lookup(ofMain, "team-a"); !covered || !cover.Draining {
			t.Error("the syncer is not told to drain")
		}
		if _, has := w.index.Target(ofMain); !has {
			t.Error("the syncer has ended before all is drained")
		}
		w.wroteCRDs()

		w.drain(ofMain, 2)
		w.wroteCRDs(deleteWidgets)
		if _, covered := w.index.Lookup(ofMain, "team-a"); covered {
			t.Error("the API is still covered")
		}
		if _, has := w.index.Target(ofMain); has {
			t.Error("the API is still synced")
		}
		w.says(all, corev1alpha1.ConditionReady, "True Ready")
		if got := w.status(all); len(got.BoundAPIs) != 1 || got.BoundAPIs[0].Name != gadgets {
			t.Errorf("entries: %+v", got.BoundAPIs)
		}

		w.list(all, gadgets, widgets)
		w.rest(writtenPause)
		w.wroteCRDs(createWidgets)
	}, connectionIs("main", connected...), clusterBinding(all, widgets, gadgets))
}

func TestAnAPIThatComesBackIsNotDrained(t *testing.T) {
	inWorld(t, func(w *world) {
		w.offer("main", crd(widgets), crd(gadgets))
		w.syncAll(ofMain, all, coverage.Synced)
		w.list(all, gadgets)
		w.list(all, gadgets, widgets)
		w.drain(ofMain, 1)
		w.wroteCRDs(createWidgets, "create customresourcedefinitions "+gadgets)
		if cover, covered := w.index.Lookup(ofMain, "team-a"); !covered || cover.Draining {
			t.Errorf("covered by %+v", cover)
		}
	}, connectionIs("main", connected...), clusterBinding(all, widgets, gadgets))
}

// Deleting a CRD deletes all of its instances: also those that were never synced.
func TestACRDWithOtherInstancesStays(t *testing.T) {
	conflicting := widget("team-a", "conflicting")
	conflicting.SetAnnotations(map[string]string{corev1alpha1.AnnotationConflict: "ForeignObjectExists"})
	for _, row := range []struct {
		name   string
		widget *unstructured.Unstructured
		names  string
	}{
		{"in a namespace that was not covered", widget("team-b", "b1"), "team-b/b1"},
		{"that never had a copy", conflicting, "team-a/conflicting"},
	} {
		t.Run(row.name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				w.offer("main", crd(widgets))
				w.wroteCRDs(createWidgets)
				w.syncAll(ofMain, inTeamA)
				w.delete(inTeamA)
				w.rest(10 * time.Second)
				w.wroteCRDs(patchWidgets)
				left, err := w.extensions.ApiextensionsV1().CustomResourceDefinitions().Get(w.ctx, widgets, metav1.GetOptions{})
				w.must(err)
				if owner, managed := schema.OwnerOf(left); managed {
					t.Errorf("the CRD is still marked as that of %s", owner)
				}
				if !w.released(inTeamA) {
					t.Error("the binding waits")
				}
				want := "Normal CRDKept CRD widgets.demo.example.org stays on the cluster, since it has instances that were not synced under this binding, such as " + row.names + ". It is no longer managed."
				if got := <-w.events.Events; got != want {
					t.Errorf("got  %s\nwant %s", got, want)
				}
			}, connectionIs("main", connected...), binding(inTeamA, widgets), row.widget)
		})
	}
}

func TestACRDIsLeftAlone(t *testing.T) {
	byOthers := connectionIs("main", connected...)
	byOthers.Spec.Schema.PullPolicy = corev1alpha1.SchemaPullNone
	keepsAll := connectionIs("main", connected...)
	keepsAll.Spec.Schema.PullPolicy = corev1alpha1.SchemaPullAll
	for _, row := range []struct {
		name       string
		connection *corev1alpha1.Connection
		installed  *apiextensionsv1.CustomResourceDefinition
		binding    *corev1alpha1.Binding // nil for a ClusterBinding
		offered    *apiextensionsv1.CustomResourceDefinition
		synced     bool
		says       string
	}{
		{"that pullPolicy None leaves to others", byOthers, crd(widgets, established), nil, crd(widgets), true, "True SchemaInSync"},
		{"that pullPolicy None does not find", byOthers, nil, nil, crd(widgets), false, "False CRDNotFound"},
		{"that somebody else has installed", connectionIs("main", connected...), crd(widgets, established), nil, crd(widgets), false, "False CRDNotOwned"},
		{"that is up to date", connectionIs("main", connected...), crd(widgets, ownedBy("main"), established), nil, crd(widgets), true, "True SchemaInSync"},
		{"that pullPolicy All keeps", keepsAll, crd(widgets, ownedBy("main"), established), nil, crd(widgets), true, "True SchemaInSync"},
		{"that is cluster-scoped, by a Binding", connectionIs("main", connected...), nil, binding(inTeamA, widgets), crd(widgets, clusterScoped), false, "False ScopeInvalid"},
	} {
		t.Run(row.name, func(t *testing.T) {
			objects := []runtime.Object{row.connection}
			id := all
			if row.binding != nil {
				id = inTeamA
				objects = append(objects, row.binding)
			} else {
				objects = append(objects, clusterBinding(all, widgets))
			}
			if row.installed != nil {
				objects = append(objects, row.installed.DeepCopy())
			}
			inWorld(t, func(w *world) {
				w.offer("main", row.offered)
				w.says(id, corev1alpha1.ConditionSchemaInSync, row.says)
				if _, synced := w.index.Target(ofMain); synced != row.synced {
					t.Errorf("synced is %v", synced)
				}
				if row.synced {
					w.syncAll(ofMain, id)
				}
				w.delete(id)
				w.rest(10 * time.Second)
				if !w.released(id) {
					t.Error("the binding waits")
				}
				want := []string(nil)
				if row.name == "that is up to date" {
					want = []string{deleteWidgets}
				}
				w.wroteCRDs(want...)
			}, objects...)
		})
	}
}

func TestACRDFollowsTheProvider(t *testing.T) {
	inWorld(t, func(w *world) {
		w.offer("main", crd(widgets))
		w.wroteCRDs(createWidgets)
		described := crd(widgets)
		described.Labels = map[string]string{corev1alpha1.LabelExported: corev1alpha1.ValueTrue}
		described.Spec.Versions[0].Schema.OpenAPIV3Schema.Description = "More."
		w.must(w.providers["main"].Tracker().Update(apiextensionsv1.SchemeGroupVersion.WithResource("customresourcedefinitions"), described, ""))
		w.rest(time.Second)
		w.wroteCRDs(updateWidgets)

		w.must(w.providers["main"].Tracker().Delete(apiextensionsv1.SchemeGroupVersion.WithResource("customresourcedefinitions"), "", widgets))
		w.rest(time.Second)
		w.wroteCRDs()
		w.says(all, corev1alpha1.ConditionReady, "False APINotExported")
		if _, synced := w.index.Target(ofMain); synced {
			t.Error("syncing goes on")
		}
		w.export("main", crd(widgets))
		w.rest(time.Second)
		w.wroteCRDs(updateWidgets) // the description goes again
		if _, synced := w.index.Target(ofMain); !synced {
			t.Error("syncing does not go on")
		}
	}, connectionIs("main", connected...), clusterBinding(all, widgets))
}

func TestACRDThatIsRefused(t *testing.T) {
	inWorld(t, func(w *world) {
		w.refuseCRDs(errRefused)
		w.offer("main", crd(widgets), crd(gadgets))
		w.says(all, corev1alpha1.ConditionReady, "False CRDRefused")
		w.rest(5 * time.Minute)
		tries := len(w.writes(widgets))
		if tries < 8 || tries > 12 {
			t.Errorf("%d tries in five minutes", tries)
		}
		w.refuseCRDs(nil)
		w.rest(refusedPause)
		w.says(all, corev1alpha1.ConditionSchemaInSync, "True SchemaInSync")
	}, connectionIs("main", connected...), clusterBinding(all, widgets))
}

// Under updatePolicy Always, what is there is compared, not what was recorded.
func TestACRDThatSomebodyChangesIsRepaired(t *testing.T) {
	inWorld(t, func(w *world) {
		w.offer("main", crd(widgets))
		w.rest(time.Minute)
		w.wroteCRDs(createWidgets)
		w.edit(func(crd *apiextensionsv1.CustomResourceDefinition) {
			crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Description = "mine"
		})
		w.rest(writtenPause)
		w.wroteCRDs(updateWidgets)

		for range 100 { // somebody else insists
			w.edit(func(crd *apiextensionsv1.CustomResourceDefinition) {
				crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Description = "mine"
			})
			w.rest(100 * time.Millisecond)
		}
		if fight := w.writes("customresourcedefinitions"); len(fight) > 6 {
			t.Errorf("%d repairs in ten seconds", len(fight))
		}
	}, connectionIs("main", connected...), clusterBinding(all, widgets))
}

func TestACRDThatWasRefusedIsTriedAgainWhenItChanges(t *testing.T) {
	inWorld(t, func(w *world) {
		w.offer("main", crd(widgets, func(crd *apiextensionsv1.CustomResourceDefinition) {
			crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Description = "new"
		}))
		w.wroteCRDs(updateWidgets)
		w.says(all, corev1alpha1.ConditionReady, "False CRDRefused")
		if _, synced := w.index.Target(ofMain); !synced {
			t.Error("the installed schema is not used meanwhile")
		}
		w.refuseCRDs(nil)
		w.edit(func(crd *apiextensionsv1.CustomResourceDefinition) { crd.Status.StoredVersions = []string{"v1"} })
		w.rest(time.Second)
		w.wroteCRDs(updateWidgets)
		w.says(all, corev1alpha1.ConditionSchemaInSync, "True SchemaInSync")
	}, connectionIs("main", connected...), clusterBinding(all, widgets), crd(widgets, ownedBy("main"), established), refusing{})
}

func TestCountsAreHeldBackAndConditionsAreNot(t *testing.T) {
	inWorld(t, func(w *world) {
		w.offer("main", crd(widgets))
		w.syncAll(ofMain, all)
		w.rest(time.Minute)
		w.writes("")
		object := func(i int) types.NamespacedName {
			return types.NamespacedName{Namespace: "team-a", Name: fmt.Sprint(i)}
		}
		for i := range 200 {
			w.tally.Record(ofMain, object(i), all, coverage.Synced)
			w.rest(100 * time.Millisecond)
		}
		if writes := w.writes("status"); len(writes) < 3 || len(writes) > 5 {
			t.Errorf("%d writes in 20 s of changes", len(writes))
		}
		w.rest(countPause)
		if got := w.status(all).Instances; got != 200 {
			t.Errorf("%d instances in the end", got)
		}

		w.tally.Record(ofMain, object(0), all, coverage.Rejected)
		w.rest(200 * time.Millisecond)
		w.writes("")
		w.tally.Record(ofMain, object(1), all, coverage.Conflicting)
		w.rest(200 * time.Millisecond)
		w.says(all, corev1alpha1.ConditionConflicts, "True ObjectsInConflict")
		if writes := w.writes("status"); len(writes) != 1 {
			t.Errorf("writes: %q", writes)
		}
	}, connectionIs("main", connected...), clusterBinding(all, widgets))
}

func TestDeletionNeedsNothingThatNeverWas(t *testing.T) {
	for _, row := range []struct {
		name    string
		objects []runtime.Object
		offers  bool
	}{
		{"no Connection", nil, false},
		{"a Connection that never connected", []runtime.Object{connectionIs("main")}, false},
		{"an API that was never exported", []runtime.Object{connectionIs("main", connected...)}, true},
		{"a CRD of somebody else", []runtime.Object{connectionIs("main", connected...), crd(widgets, established)}, true},
		{"a CRD of another Connection", []runtime.Object{connectionIs("main", connected...), connectionIs("first"), crd(widgets, ownedBy("first"), established)}, true},
	} {
		t.Run(row.name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				if row.offers {
					w.offer("main")
				}
				w.delete(all)
				w.rest(2 * time.Second)
				if !w.released(all) {
					t.Errorf("the binding waits: %+v", w.status(all))
				}
				w.wroteCRDs()
			}, append(row.objects, clusterBinding(all, widgets))...)
		})
	}
}

func TestACRDOfAnotherConnectionIsTakenOverWhenItIsFree(t *testing.T) {
	inWorld(t, func(w *world) {
		w.offer("main", crd(widgets))
		w.says(all, corev1alpha1.ConditionSchemaInSync, "False ClaimedByAnotherConnection")
		w.wroteCRDs()
		w.must(w.core.CoreV1alpha1().Connections().Delete(w.ctx, "first", metav1.DeleteOptions{}))
		w.rest(time.Second)
		w.wroteCRDs(updateWidgets)
		w.says(all, corev1alpha1.ConditionSchemaInSync, "True SchemaInSync")
	}, connectionIs("main", connected...), connectionIs("first", connected...), clusterBinding(all, widgets), crd(widgets, ownedBy("first"), established))
}

func TestABindingBehindAClusterBindingTakesOver(t *testing.T) {
	inWorld(t, func(w *world) {
		w.offer("main", crd(widgets))
		w.syncAll(ofMain, all)
		w.says(inTeamA, corev1alpha1.ConditionReady, "True Ready")
		entry := w.status(inTeamA).BoundAPIs[0]
		if got := text(entry.Conditions, corev1alpha1.ConditionSynced); !strings.HasPrefix(got, "True CoveredByClusterBinding:") {
			t.Errorf("the entry says %s", got)
		}
		w.delete(all)
		w.rest(10 * time.Second)
		if !w.released(all) {
			t.Error("the ClusterBinding waits")
		}
		w.rest(10 * time.Second)
		w.wroteCRDs(createWidgets)
		entry = w.status(inTeamA).BoundAPIs[0]
		if got := text(entry.Conditions, corev1alpha1.ConditionSynced); !strings.HasPrefix(got, "True Synced:") {
			t.Errorf("the entry says %s", got)
		}
		if diff := cmp.Diff([]string{"team-a"}, w.index.Namespaces(ofMain)); diff != "" {
			t.Errorf("namespaces: %s", diff)
		}
	}, connectionIs("main", connected...), clusterBinding(all, widgets), binding(inTeamA, widgets))
}

func TestUsersAreKnownBeforeAnyBindingWasLookedAt(t *testing.T) {
	inWorld(t, func(w *world) {
		other := clusterBinding(second, widgets)
		other.Spec = specOf("other", widgets)
		_, err := w.core.CoreV1alpha1().ClusterBindings().Create(w.ctx, other, metav1.CreateOptions{})
		w.must(err)
		w.rest(time.Millisecond)
		if main, other, none := w.Users("main"), w.Users("other"), w.Users("none"); main != 2 || other != 1 || none != 0 {
			t.Errorf("users: %d, %d and %d", main, other, none)
		}
		if got := w.store.using("main"); !slices.Contains(got, all) || !slices.Contains(got, inTeamA) {
			t.Errorf("main is used by %v", got)
		}
	}, clusterBinding(all, widgets), binding(inTeamA, widgets))
}
