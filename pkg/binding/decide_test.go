package binding

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	corev1alpha1 "github.com/kbind-dev/konnector/apis/core/v1alpha1"
	"github.com/kbind-dev/konnector/pkg/access"
	"github.com/kbind-dev/konnector/pkg/coverage"
	"github.com/kbind-dev/konnector/pkg/schema"
	"github.com/kbind-dev/konnector/pkg/status"
)

const (
	widgets = "widgets.demo.example.org"
	gadgets = "gadgets.demo.example.org"
)

// scene is what Decide takes.
type scene struct {
	binding *object
	facts   Facts
}

// option changes a scene.
type option func(*scene)

// sceneOf returns a ClusterBinding of widgets that works, changed.
func sceneOf(options ...option) scene {
	s := scene{
		binding: &object{
			Object: &corev1alpha1.ClusterBinding{ObjectMeta: metav1.ObjectMeta{Name: "all", UID: "uid-all", Generation: 2}},
			id:     coverage.BindingID{Name: "all"},
			spec:   &corev1alpha1.BindingSpec{ConnectionRef: corev1alpha1.ConnectionReference{Name: "main"}, APIs: []corev1alpha1.APIReference{{Name: widgets}}},
			status: &corev1alpha1.BindingStatus{ObservedGeneration: -1},
		},
		facts: Facts{Connection: connectionIs("main", connected...)},
	}
	s.facts.APIs = []APIFacts{working(widgets)}
	for _, change := range options {
		change(&s)
	}
	for i := range s.facts.APIs { // as observe does
		api := &s.facts.APIs[i]
		api.Schema.Bound = !api.Draining && !api.ScopeInvalid
		if api.Verdict.Reason == "" {
			api.Verdict = schema.Decide(api.Schema)
		}
	}
	return s
}

// working returns the facts of an API whose instances flow.
func working(name string) APIFacts {
	return APIFacts{
		Name: name, Listed: true, Known: true,
		Schema: schema.Facts{
			API: name, Connection: "main", OwnerAlive: true,
			Pull: corev1alpha1.SchemaPullBound, Update: corev1alpha1.SchemaUpdateAlways,
			Offered: crd(name), Installed: crd(name, ownedBy("main"), established),
		},
		Winner: &coverage.Cover{Binding: coverage.Binding{ID: coverage.BindingID{Name: "all"}}},
		Report: coverage.Report{Phase: coverage.Running, Counts: coverage.Counts{Instances: 3, Synced: 3}},
	}
}

// crd returns a CRD as a provider offers it.
func crd(name string, options ...func(*apiextensionsv1.CustomResourceDefinition)) *apiextensionsv1.CustomResourceDefinition {
	plural, group, _ := strings.Cut(name, ".")
	made := &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: "uid-crd", ResourceVersion: "1"},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: group,
			Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{
				Plural: plural, Singular: strings.TrimSuffix(plural, "s"), Kind: strings.ToUpper(plural[:1]) + strings.TrimSuffix(plural[1:], "s"),
				ListKind: strings.ToUpper(plural[:1]) + strings.TrimSuffix(plural[1:], "s") + "List",
			},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: "v1", Served: true, Storage: true,
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Type: "object"}},
			}},
		},
	}
	for _, change := range options {
		change(made)
	}
	return made
}

// ownedBy makes a CRD one that a Connection installed.
func ownedBy(connection string) func(*apiextensionsv1.CustomResourceDefinition) {
	return func(crd *apiextensionsv1.CustomResourceDefinition) { schema.Mark(crd, connection) }
}

// established makes a CRD one that the API server serves.
func established(crd *apiextensionsv1.CustomResourceDefinition) {
	crd.Status.Conditions = []apiextensionsv1.CustomResourceDefinitionCondition{{Type: apiextensionsv1.Established, Status: apiextensionsv1.ConditionTrue}}
}

func clusterScoped(crd *apiextensionsv1.CustomResourceDefinition) {
	crd.Spec.Scope = apiextensionsv1.ClusterScoped
}

var connected = []status.Condition{
	status.True(corev1alpha1.ConditionSecretValid, corev1alpha1.ReasonSecretValid, "The Secret is well."),
	status.True(corev1alpha1.ConditionConnected, corev1alpha1.ReasonConnected, "The provider answers."),
}

func connectionIs(name string, conditions ...status.Condition) *corev1alpha1.Connection {
	connection := &corev1alpha1.Connection{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       corev1alpha1.ConnectionSpec{Schema: corev1alpha1.SchemaPolicy{PullPolicy: corev1alpha1.SchemaPullBound, UpdatePolicy: corev1alpha1.SchemaUpdateAlways}},
	}
	status.Set(&connection.Status.Conditions, 1, conditions...)
	return connection
}

func connection(conditions ...status.Condition) option {
	return func(s *scene) { s.facts.Connection = connectionIs("main", conditions...) }
}

func noConnection(s *scene) { s.facts.Connection = nil }

// api changes the facts of widgets.
func api(change func(*APIFacts)) option { return func(s *scene) { change(&s.facts.APIs[0]) } }

// namespaced makes the binding a Binding in team-a.
func namespaced(s *scene) {
	s.binding.id.Namespace = "team-a"
	s.binding.SetNamespace("team-a")
}

func deleting(s *scene) {
	now := metav1.NewTime(time.Unix(100, 0))
	s.binding.SetDeletionTimestamp(&now)
	for i := range s.facts.APIs {
		s.facts.APIs[i].Draining = true
	}
}

// unlisted takes widgets out of the spec.
func unlisted(s *scene) {
	s.facts.APIs[0].Listed, s.facts.APIs[0].Draining = false, true
	s.binding.spec.APIs = nil
}

func counts(counts coverage.Counts) option {
	return api(func(a *APIFacts) { a.Report.Counts = counts })
}

func starting(a *APIFacts) { a.Report = coverage.Report{Phase: coverage.Starting} }

func notExported(a *APIFacts) { a.Schema.Offered = nil }

func unknown(a *APIFacts) { a.Known, a.Schema.Offered, a.Report = false, nil, coverage.Report{} }

func winner(id coverage.BindingID) option {
	return api(func(a *APIFacts) {
		a.Winner = &coverage.Cover{Binding: coverage.Binding{ID: id}}
		a.Report.Counts = coverage.Counts{}
	})
}

// after gives the binding the status that another scene led to.
func after(before scene) option {
	return func(s *scene) {
		decided := Decide(before.binding, before.facts)
		s.binding.status = &decided
	}
}

func generation(number int64) option { return func(s *scene) { s.binding.SetGeneration(number) } }

// text returns a condition as one line.
func text(list []metav1.Condition, conditionType string) string {
	condition := status.Get(list, conditionType)
	return fmt.Sprintf("%s %s: %s", condition.Status, condition.Reason, condition.Message)
}

// The whole text of each condition stands here, so that a person can read what users read.
func TestConditions(t *testing.T) {
	refused := apierrors.NewInvalid(apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition").GroupKind(), widgets, nil)
	for _, row := range []struct {
		name      string
		scene     scene
		condition string
		want      string
	}{
		{"a Connection that does not exist is waited for", sceneOf(noConnection), corev1alpha1.ConditionConnected,
			`False Pending: Connection "main" does not exist yet. Create it, or correct spec.connectionRef in a new ClusterBinding.`},
		{"the same for a Binding", sceneOf(noConnection, namespaced), corev1alpha1.ConditionConnected,
			`False Pending: Connection "main" does not exist yet. Create it, or correct spec.connectionRef in a new Binding.`},
		{"a Connection that nobody has looked at", sceneOf(connection()), corev1alpha1.ConditionConnected,
			`Unknown Pending: Connection "main" is not connected yet.`},
		{"a Connection without a valid Secret",
			sceneOf(connection(status.False(corev1alpha1.ConditionSecretValid, corev1alpha1.ReasonKeyNotFound, "No key."), status.Unknown(corev1alpha1.ConditionConnected, corev1alpha1.ReasonPending, "Waits."))),
			corev1alpha1.ConditionConnected, `False ConnectionNotReady: Connection "main": KeyNotFound: No key.`},
		{"C9 a Connection whose provider is away",
			sceneOf(connection(connected[0], status.False(corev1alpha1.ConditionConnected, corev1alpha1.ReasonUnreachable, "No answer."))),
			corev1alpha1.ConditionConnected, `False ConnectionNotReady: Connection "main": Unreachable: No answer.`},
		{"C11 a Connection whose Secret is gone and whose session goes on",
			sceneOf(connection(status.False(corev1alpha1.ConditionSecretValid, corev1alpha1.ReasonPending, "Gone."), connected[1])),
			corev1alpha1.ConditionConnected, `True Connected: Connection "main" is connected.`},
		{"a Connection that is connected", sceneOf(), corev1alpha1.ConditionConnected, `True Connected: Connection "main" is connected.`},

		{"an API that was never exported is waited for", sceneOf(api(func(a *APIFacts) { a.Schema.Installed, a.Schema.Offered = nil, nil })), corev1alpha1.ConditionSchemaInSync,
			`False Pending: widgets.demo.example.org: The provider does not export widgets.demo.example.org yet. Its CRD there needs the label core.kbind.io/exported=true; status.exportedAPIs of the Connection lists what is exported.`},
		{"C12 an API that is no longer exported", sceneOf(api(notExported)), corev1alpha1.ConditionSchemaInSync,
			`False APINotExported: widgets.demo.example.org: The provider doesn't export the API. Syncing waits, and nothing is deleted.`},
		{"an API that the provider is deleting, and that was never installed",
			sceneOf(api(func(a *APIFacts) { a.Schema.Installed = nil; a.Schema.Offered.DeletionTimestamp = &metav1.Time{} })), corev1alpha1.ConditionSchemaInSync,
			`False APINotExported: widgets.demo.example.org: The provider is deleting the API. Syncing waits.`},
		{"C7 an API that is never bound", sceneOf(api(func(a *APIFacts) {
			*a = APIFacts{Name: "connections.core.kbind.io", Listed: true, Schema: schema.Facts{API: "connections.core.kbind.io"}}
		})), corev1alpha1.ConditionSchemaInSync,
			`False NotAllowed: connections.core.kbind.io: APIs of group "core.kbind.io" are never bound.`},
		{"exports that are not known yet", sceneOf(api(unknown)), corev1alpha1.ConditionSchemaInSync,
			`Unknown Pending: widgets.demo.example.org: Waits to learn what the provider exports.`},
		{"S3 a CRD of somebody else", sceneOf(api(func(a *APIFacts) { a.Schema.Installed = crd(widgets, established) })), corev1alpha1.ConditionSchemaInSync,
			`False CRDNotOwned: widgets.demo.example.org: A CRD of this name exists that no Connection installed; it is left alone. To use it as it is, set pullPolicy None.`},
		{"S3 a CRD of another Connection", sceneOf(api(func(a *APIFacts) { a.Schema.Installed = crd(widgets, ownedBy("first"), established) })), corev1alpha1.ConditionSchemaInSync,
			`False ClaimedByAnotherConnection: widgets.demo.example.org: The CRD belongs to Connection "first".`},
		{"S4 a CRD that the API server refuses", sceneOf(api(func(a *APIFacts) {
			a.Schema.Installed = nil
			a.Verdict = schema.Refused(a.Schema, schema.Decide(a.Schema), refused)
		})), corev1alpha1.ConditionSchemaInSync,
			`False CRDRefused: widgets.demo.example.org: The API server refuses the CRD: CustomResourceDefinition.apiextensions.k8s.io "widgets.demo.example.org" is invalid.`},
		{"a CRD that isn't served yet", sceneOf(api(func(a *APIFacts) { a.Schema.Installed = crd(widgets, ownedBy("main")) })), corev1alpha1.ConditionSchemaInSync,
			`False CRDNotEstablished: widgets.demo.example.org: The API server doesn't serve the CRD yet.`},
		{"a cluster-scoped API under a Binding", sceneOf(namespaced, api(func(a *APIFacts) { a.ScopeInvalid = true })), corev1alpha1.ConditionSchemaInSync,
			`False ScopeInvalid: widgets.demo.example.org: widgets.demo.example.org is cluster-scoped: only a ClusterBinding can list it.`},
		{"a schema that is in sync", sceneOf(), corev1alpha1.ConditionSchemaInSync, `True SchemaInSync: The schemas of all APIs are in sync.`},

		{"without a Connection nothing flows", sceneOf(noConnection), corev1alpha1.ConditionSynced, `Unknown ConnectionNotReady: widgets.demo.example.org: Waits for the Connection.`},
		{"without a schema nothing flows", sceneOf(api(notExported)), corev1alpha1.ConditionSynced, `Unknown APINotExported: widgets.demo.example.org: Waits for the schema.`},
		{"a cluster-scoped API never flows under a Binding", sceneOf(namespaced, api(func(a *APIFacts) { a.ScopeInvalid = true })), corev1alpha1.ConditionSynced,
			`Unknown ScopeInvalid: widgets.demo.example.org: Never synced under a Binding.`},
		{"caches are being filled", sceneOf(api(starting)), corev1alpha1.ConditionSynced, `Unknown SyncStarting: widgets.demo.example.org: Caches are being filled.`},
		{"caches can't be kept", sceneOf(api(func(a *APIFacts) { a.Report.Err = "The provider refuses to watch widgets." })), corev1alpha1.ConditionSynced,
			`False Error: widgets.demo.example.org: The provider refuses to watch widgets.`},
		{"instances flow", sceneOf(), corev1alpha1.ConditionSynced, `True Synced: Instances of all APIs are kept in sync.`},

		{"no conflict", sceneOf(), corev1alpha1.ConditionConflicts, `False NoConflicts: No object is in conflict.`},
		{"I6 a conflict", sceneOf(counts(coverage.Counts{Instances: 3, Synced: 2, Conflicting: 1})), corev1alpha1.ConditionConflicts,
			`True ObjectsInConflict: 1 object in conflict with what the provider has under the name; the annotation core.kbind.io/conflict and an Event on each tell more.`},
		{"nothing is refused", sceneOf(), corev1alpha1.ConditionPermissionDenied, `False AsExpected: Nothing that is needed is refused.`},
		{"I10 RBAC refuses two objects",
			sceneOf(counts(coverage.Counts{Instances: 3, Synced: 1, Denied: 2}), api(func(a *APIFacts) { a.Report.Denied = "The provider refuses to patch widgets." })), corev1alpha1.ConditionPermissionDenied,
			`True Forbidden: widgets.demo.example.org: 2 objects: The provider refuses to patch widgets.`},

		{"all is well", sceneOf(), corev1alpha1.ConditionReady, `True Ready: All APIs are bound and kept in sync.`},
		{"U1 a binding that drains", sceneOf(deleting), corev1alpha1.ConditionReady,
			`False DrainingObjects: Being deleted: 3 objects left whose copy on the provider has to go first.`},
		{"U2 a binding that drains while the provider is away",
			sceneOf(deleting, counts(coverage.Counts{Instances: 1}), connection(connected[0], status.False(corev1alpha1.ConditionConnected, corev1alpha1.ReasonUnreachable, "No answer."))), corev1alpha1.ConditionReady,
			`False DrainingObjects: Being deleted: 1 object left whose copy on the provider has to go first. Connection "main": Unreachable: No answer. To leave the copies on the provider instead, annotate the binding with core.kbind.io/deletion-policy=Orphan.`},
		{"U1 a binding that lets one API go", sceneOf(unlisted), corev1alpha1.ConditionReady,
			`False DrainingObjects: widgets.demo.example.org: Being let go: 3 objects left whose copy on the provider has to go first.`},
	} {
		t.Run(row.name, func(t *testing.T) {
			after := Decide(row.scene.binding, row.scene.facts)
			if got := text(after.Conditions, row.condition); got != row.want {
				t.Errorf("got  %s\nwant %s", got, row.want)
			}
			wellFormed(t, row.scene, after)
		})
	}
}

// wellFormed checks what holds for every status.
func wellFormed(t *testing.T, s scene, after corev1alpha1.BindingStatus) {
	t.Helper()
	all := [][]metav1.Condition{after.Conditions}
	if len(after.Conditions) != 6 || after.ObservedGeneration != s.binding.GetGeneration() {
		t.Errorf("%d conditions about generation %d", len(after.Conditions), after.ObservedGeneration)
	}
	var instances, synced, conflicts int64
	for _, entry := range after.BoundAPIs {
		all = append(all, entry.Conditions)
		if len(entry.Conditions) != 2 {
			t.Errorf("%s has %d conditions", entry.Name, len(entry.Conditions))
		}
		instances, synced, conflicts = instances+entry.Instances, synced+entry.Synced, conflicts+entry.ConflictCount
	}
	if instances != after.Instances || synced != after.Synced || conflicts != after.Conflicts {
		t.Errorf("the sums are not those of the entries: %+v", after)
	}
	for _, conditions := range all {
		for _, condition := range conditions {
			switch {
			case condition.ObservedGeneration != s.binding.GetGeneration():
				t.Errorf("%s is about generation %d", condition.Type, condition.ObservedGeneration)
			case condition.Reason == "" || condition.Message == "":
				t.Errorf("%s lacks a reason or a message", condition.Type)
			case len(condition.Message) > access.MessageLimit:
				t.Errorf("%s has a message of %d bytes", condition.Type, len(condition.Message))
			case strings.ContainsFunc(condition.Message, func(r rune) bool { return r < ' ' }) || !utf8.ValidString(condition.Message):
				t.Errorf("%s has no clean line: %q", condition.Type, condition.Message)
			}
		}
	}
}

func TestReadyIsTheWorstOfTheOthers(t *testing.T) {
	for _, row := range []struct {
		name  string
		scene scene
		want  string // status and reason
	}{
		{"all is well", sceneOf(), "True Ready"},
		{"the Connection goes before the APIs", sceneOf(noConnection, api(notExported)), "False Pending"},
		{"the schema goes before what follows from it", sceneOf(api(notExported)), "False APINotExported"},
		{"a refusal goes before conflicts", sceneOf(counts(coverage.Counts{Instances: 2, Denied: 1, Conflicting: 1})), "True Forbidden"},
		{"conflicts", sceneOf(counts(coverage.Counts{Instances: 2, Conflicting: 1})), "False ObjectsInConflict"},
		{"caches that can't be kept", sceneOf(api(func(a *APIFacts) { a.Report.Err = "Refused." })), "False Error"},
		{"caches that are being filled leave it unknown", sceneOf(api(starting)), "Unknown SyncStarting"},
		{"a Binding behind a ClusterBinding is ready", sceneOf(namespaced, winner(coverage.BindingID{Name: "wide"})), "True Ready"},
	} {
		t.Run(row.name, func(t *testing.T) {
			after := Decide(row.scene.binding, row.scene.facts)
			ready := status.Get(after.Conditions, corev1alpha1.ConditionReady)
			want := strings.Replace(row.want, "True Forbidden", "False Forbidden", 1)
			if got := string(ready.Status) + " " + ready.Reason; got != want {
				t.Errorf("Ready is %s, want %s", got, want)
			}
		})
	}
}

func TestEntriesStandAlone(t *testing.T) {
	for _, row := range []struct {
		name                  string
		second                APIFacts
		namespaced            bool
		schemaInSync, flowing string
	}{
		{"an API that is missing", APIFacts{Name: gadgets, Listed: true, Known: true, Schema: schema.Facts{API: gadgets, Connection: "main"}}, false, "False Pending", "Unknown Pending"},
		{"a cluster-scoped API under a Binding", func() APIFacts { a := working(gadgets); a.ScopeInvalid = true; return a }(), true, "False ScopeInvalid", "Unknown ScopeInvalid"},
		{"a cluster-scoped API that a ClusterBinding covers", func() APIFacts {
			a := working(gadgets)
			a.ScopeInvalid, a.Winner = true, &coverage.Cover{Binding: coverage.Binding{ID: coverage.BindingID{Name: "wide"}}}
			return a
		}(), true, "False ScopeInvalid", "Unknown ScopeInvalid"},
		{"a CRD of somebody else", func() APIFacts { a := working(gadgets); a.Schema.Installed = crd(gadgets, established); return a }(), false, "False CRDNotOwned", "Unknown CRDNotOwned"},
	} {
		t.Run(row.name, func(t *testing.T) {
			row.second.Report = coverage.Report{Phase: row.second.Report.Phase}
			s := sceneOf(func(s *scene) {
				if row.namespaced {
					namespaced(s)
					s.facts.APIs[0].Winner = &coverage.Cover{Binding: coverage.Binding{ID: s.binding.id}}
				}
				s.facts.APIs = append(s.facts.APIs, row.second)
			})
			after := Decide(s.binding, s.facts)
			wellFormed(t, s, after)
			if got := after.BoundAPIs[0]; got.Synced != 3 || text(got.Conditions, corev1alpha1.ConditionSynced) != "True Synced: Instances are kept in sync." {
				t.Errorf("the first one: %+v", got)
			}
			second := after.BoundAPIs[1]
			for conditionType, want := range map[string]string{corev1alpha1.ConditionSchemaInSync: row.schemaInSync, corev1alpha1.ConditionSynced: row.flowing} {
				if got := text(second.Conditions, conditionType); !strings.HasPrefix(got, want+":") {
					t.Errorf("%s is %s, want %s", conditionType, got, want)
				}
			}
			if second.CRDHash != "" || second.Version != "" || second.Instances != 0 {
				t.Errorf("the second one shows what it has not: %+v", second)
			}
			if got := text(after.Conditions, corev1alpha1.ConditionReady); !strings.HasPrefix(got, row.schemaInSync+": "+gadgets) {
				t.Errorf("Ready does not name it: %s", got)
			}
		})
	}
}

func TestBindingsThatOthersCover(t *testing.T) {
	for _, row := range []struct {
		name  string
		scene scene
		want  string
	}{
		{"a ClusterBinding goes before a Binding", sceneOf(namespaced, winner(coverage.BindingID{Name: "wide"})),
			"True CoveredByClusterBinding: ClusterBinding wide covers the API and goes first."},
		{"an older ClusterBinding goes first", sceneOf(winner(coverage.BindingID{Name: "older"})),
			"True CoveredByAnotherBinding: ClusterBinding older covers the API and is older."},
		{"an older Binding goes first", sceneOf(namespaced, winner(coverage.BindingID{Namespace: "team-a", Name: "older"})),
			"True CoveredByAnotherBinding: Binding team-a/older covers the API and is older."},
		{"the binding itself", sceneOf(), "True Synced: Instances are kept in sync."},
	} {
		t.Run(row.name, func(t *testing.T) {
			after := Decide(row.scene.binding, row.scene.facts)
			if got := text(after.BoundAPIs[0].Conditions, corev1alpha1.ConditionSynced); got != row.want {
				t.Errorf("got  %s\nwant %s", got, row.want)
			}
		})
	}
}

func TestARestartDoesNotShow(t *testing.T) {
	before := sceneOf(counts(coverage.Counts{Instances: 5, Synced: 4, Rejected: 1}))
	for _, row := range []struct {
		name  string
		scene scene
		ready string
	}{
		{"nothing is known yet", sceneOf(after(before), api(unknown)), "True Ready"},
		{"caches are being filled", sceneOf(after(before), api(starting)), "True Ready"},
		{"the counts are complete", sceneOf(after(before), counts(coverage.Counts{Instances: 5, Synced: 4, Rejected: 1})), "True Ready"},
		{"but a new generation is answered by what is known", sceneOf(after(before), generation(3), api(unknown)), "Unknown Pending"},
		{"and caches of a new generation have to be filled", sceneOf(after(before), generation(3), api(starting)), "Unknown SyncStarting"},
		{"a doubt is not kept", sceneOf(after(sceneOf(api(func(a *APIFacts) { a.Report.Err = "Refused." }))), api(starting)), "Unknown SyncStarting"},
	} {
		t.Run(row.name, func(t *testing.T) {
			was := row.scene.binding.status.DeepCopy()
			after := Decide(row.scene.binding, row.scene.facts)
			wellFormed(t, row.scene, after)
			if got := text(after.Conditions, corev1alpha1.ConditionReady); !strings.HasPrefix(got, row.ready+":") {
				t.Errorf("Ready is %s", got)
			}
			if diff := cmp.Diff(*was, after); row.ready == "True Ready" && diff != "" {
				t.Errorf("the status changes: %s", diff)
			}
		})
	}
}

// Tools that wait compare generations, so that every change of the spec has to be answered.
func TestEveryChangeOfTheSpecIsAnswered(t *testing.T) {
	s := sceneOf(after(sceneOf()), generation(7))
	before := s.binding.status.DeepCopy()
	for i := range before.Conditions {
		before.Conditions[i].LastTransitionTime = metav1.Unix(1, 0)
	}
	s.binding.status = before
	got := Decide(s.binding, s.facts)
	wellFormed(t, s, got)
	for _, condition := range got.Conditions {
		if condition.LastTransitionTime.Unix() != 1 {
			t.Errorf("%s has no transition, but a new time", condition.Type)
		}
	}
	if onlyCounts(before, &got) {
		t.Error("the answer is held back like a count")
	}
}

func TestCounts(t *testing.T) {
	all := coverage.Counts{Instances: 10, Synced: 4, Conflicting: 3, Denied: 2, Rejected: 1}
	before := after(sceneOf(counts(all)))
	full := corev1alpha1.BoundAPI{Instances: 10, Synced: 4, ConflictCount: 3, Denied: 2, Rejected: 1}
	for _, row := range []struct {
		name  string
		scene scene
		want  corev1alpha1.BoundAPI
	}{
		{"they are those of the syncer", sceneOf(counts(all)), full},
		{"C12 they stay while the API pauses", sceneOf(before, api(notExported), api(func(a *APIFacts) { a.Report = coverage.Report{} })), full},
		{"they stay while caches are filled", sceneOf(before, api(starting)), full},
		{"U1 they go down while it drains", sceneOf(before, deleting, counts(coverage.Counts{Instances: 2})), corev1alpha1.BoundAPI{Instances: 2}},
		{"they end with the CRD", sceneOf(before, api(func(a *APIFacts) { a.Schema.Installed, a.Report = nil, coverage.Report{} })), corev1alpha1.BoundAPI{}},
	} {
		t.Run(row.name, func(t *testing.T) {
			after := Decide(row.scene.binding, row.scene.facts)
			wellFormed(t, row.scene, after)
			got := after.BoundAPIs[0]
			got = corev1alpha1.BoundAPI{Instances: got.Instances, Synced: got.Synced, ConflictCount: got.ConflictCount, Denied: got.Denied, Rejected: got.Rejected}
			if diff := cmp.Diff(row.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestAnAPIThatHasDrainedLeavesTheStatus(t *testing.T) {
	gone := func(a *APIFacts) { a.Report.Counts = coverage.Counts{} }
	for _, row := range []struct {
		name    string
		scene   scene
		entries int
	}{
		{"U1 it stays while instances are left", sceneOf(unlisted), 1},
		{"it stays until it has been released", sceneOf(unlisted, api(gone)), 1},
		{"U1 it goes when it has been released", sceneOf(unlisted, api(gone), api(func(a *APIFacts) { a.Released = true })), 0},
		{"it goes at once when it was never valid", sceneOf(namespaced, unlisted, api(func(a *APIFacts) { a.ScopeInvalid = true; a.Report = coverage.Report{} })), 0},
		{"entries of a binding that goes stay to the end", sceneOf(deleting, api(gone)), 1},
	} {
		t.Run(row.name, func(t *testing.T) {
			if after := Decide(row.scene.binding, row.scene.facts); len(after.BoundAPIs) != row.entries {
				t.Errorf("%d entries", len(after.BoundAPIs))
			}
		})
	}
}

func TestOnlyCounts(t *testing.T) {
	base := Decide(sceneOf().binding, sceneOf().facts)
	changed := func(change func(*corev1alpha1.BindingStatus)) *corev1alpha1.BindingStatus {
		status := base.DeepCopy()
		change(status)
		return status
	}
	for _, row := range []struct {
		name  string
		after *corev1alpha1.BindingStatus
		want  bool
	}{
		{"nothing", changed(func(*corev1alpha1.BindingStatus) {}), false},
		{"sums", changed(func(s *corev1alpha1.BindingStatus) { s.Instances, s.Synced, s.Conflicts = 9, 9, 9 }), true},
		{"counts of an entry", changed(func(s *corev1alpha1.BindingStatus) {
			entry := &s.BoundAPIs[0]
			entry.Instances, entry.Synced, entry.ConflictCount, entry.Denied, entry.Rejected = 9, 9, 9, 9, 9
		}), true},
		{"a message", changed(func(s *corev1alpha1.BindingStatus) { s.Conditions[0].Message = "3 left" }), true},
		{"a condition that flips", changed(func(s *corev1alpha1.BindingStatus) { s.Conditions[0].Status = metav1.ConditionFalse }), false},
		{"a reason", changed(func(s *corev1alpha1.BindingStatus) { s.Conditions[0].Reason = "Other" }), false},
		{"a condition of an entry that flips", changed(func(s *corev1alpha1.BindingStatus) {
			s.BoundAPIs[0].Conditions[0].Status = metav1.ConditionFalse
		}), false},
		{"a generation", changed(func(s *corev1alpha1.BindingStatus) { s.ObservedGeneration++ }), false},
		{"a hash", changed(func(s *corev1alpha1.BindingStatus) { s.BoundAPIs[0].CRDHash = "other" }), false},
		{"an entry that goes", changed(func(s *corev1alpha1.BindingStatus) { s.BoundAPIs = nil }), false},
	} {
		t.Run(row.name, func(t *testing.T) {
			if got := onlyCounts(&base, row.after); got != row.want {
				t.Errorf("onlyCounts is %v", got)
			}
		})
	}
}

func TestMessagesStayShort(t *testing.T) {
	odd := "a\nb\x1b[31m" + strings.Repeat("é", 2000)
	for _, row := range []struct {
		name  string
		scene scene
	}{
		{"of a Connection", sceneOf(connection(connected[0], status.False(corev1alpha1.ConditionConnected, "R", odd)))},
		{"of a binding that drains meanwhile", sceneOf(deleting, connection(connected[0], status.False(corev1alpha1.ConditionConnected, "R", odd)))},
		{"of an API server", sceneOf(api(func(a *APIFacts) { a.Verdict = schema.Refused(a.Schema, schema.Decide(a.Schema), errors.New(odd)) }))},
		{"of caches", sceneOf(api(func(a *APIFacts) { a.Report.Err = odd }))},
		{"of refusals", sceneOf(counts(coverage.Counts{Instances: 1, Denied: 1}), api(func(a *APIFacts) { a.Report.Denied = odd }))},
	} {
		t.Run(row.name, func(t *testing.T) { wellFormed(t, row.scene, Decide(row.scene.binding, row.scene.facts)) })
	}
	t.Run("but the way out is told", func(t *testing.T) {
		s := sceneOf(deleting, connection(connected[0], status.False(corev1alpha1.ConditionConnected, "R", odd)))
		after := Decide(s.binding, s.facts)
		if got := text(after.Conditions, corev1alpha1.ConditionReady); !strings.Contains(got, corev1alpha1.AnnotationDeletionPolicy) {
			t.Errorf("got %s", got)
		}
	})
}
