package coverage

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
)

var widgets = API{Connection: "acme", Name: "widgets.example.org"}

// claimed returns a binding of the Connection acme; age makes it older than those of lower age.
func claimed(namespace, name string, age time.Duration) Binding {
	return Binding{
		ID:         BindingID{Namespace: namespace, Name: name},
		UID:        types.UID(namespace + "/" + name),
		Created:    time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC).Add(-age),
		Connection: "acme",
	}
}

func TestLookupFollowsPrecedence(t *testing.T) {
	type claim struct {
		binding  Binding
		draining bool
	}
	wide, older := claimed("", "wide", time.Minute), claimed("", "older", time.Hour)
	narrow, elder := claimed("a", "narrow", time.Hour), claimed("a", "elder", 2*time.Hour)
	elsewhere := claimed("b", "elsewhere", time.Hour)
	tests := map[string]struct {
		claims []claim
		want   string // name, with a dash in front when it is letting go
	}{
		"nothing claimed": {nil, ""},
		"a Binding of another namespace does not cover":               {[]claim{{elsewhere, false}}, ""},
		"a Binding covers its namespace":                              {[]claim{{narrow, false}}, "narrow"},
		"a ClusterBinding covers every namespace":                     {[]claim{{wide, false}, {elsewhere, false}}, "wide"},
		"a ClusterBinding goes before an older Binding":               {[]claim{{narrow, false}, {wide, false}}, "wide"},
		"the older of two ClusterBindings":                            {[]claim{{wide, false}, {older, false}}, "older"},
		"the older of two Bindings":                                   {[]claim{{narrow, false}, {elder, false}}, "elder"},
		"a Binding that stays goes before a ClusterBinding that goes": {[]claim{{wide, true}, {narrow, false}}, "narrow"},
		"a younger one that stays goes before an older that goes":     {[]claim{{older, true}, {wide, false}}, "wide"},
		"where all go, the ClusterBinding lets go":                    {[]claim{{wide, true}, {narrow, true}}, "-wide"},
		"where it goes alone, the Binding lets go":                    {[]claim{{narrow, true}}, "-narrow"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			index := NewIndex()
			for _, each := range test.claims {
				index.Put(each.binding, map[string]bool{widgets.Name: each.draining})
			}
			got := ""
			if cover, covered := index.Lookup(widgets, "a"); covered {
				got = cover.ID.Name
				if cover.Draining {
					got = "-" + got
				}
			}
			if got != test.want {
				t.Errorf("Lookup = %q, want %q", got, test.want)
			}
		})
	}
}

func TestClusterScopedObjectsAreCoveredByClusterBindingsAlone(t *testing.T) {
	index := NewIndex()
	index.Put(claimed("a", "narrow", 0), map[string]bool{widgets.Name: false})
	if _, covered := index.Lookup(widgets, ""); covered {
		t.Error("a Binding covers a cluster-scoped object")
	}
	index.Put(claimed("", "wide", 0), map[string]bool{widgets.Name: false})
	if _, covered := index.Lookup(widgets, ""); !covered {
		t.Error("a ClusterBinding does not cover a cluster-scoped object")
	}
}

func TestNamespacesAreThoseOfTheBindings(t *testing.T) {
	index := NewIndex()
	check := func(want ...string) {
		t.Helper()
		if diff := cmp.Diff(want, index.Namespaces(widgets)); diff != "" {
			t.Errorf("Namespaces (-want +got):\n%s", diff)
		}
	}
	check()
	index.Put(claimed("b", "x", 0), map[string]bool{widgets.Name: false})
	index.Put(claimed("a", "x", 0), map[string]bool{widgets.Name: true})
	check("a", "b")
	index.Put(claimed("", "wide", 0), map[string]bool{widgets.Name: false})
	check("")
	index.Remove(BindingID{Name: "wide"})
	index.Remove(BindingID{Namespace: "a", Name: "x"})
	check("b")
}

func TestIndexTellsOnlyOfChanges(t *testing.T) {
	index := NewIndex()
	var told []string
	index.OnChange(func(api API) {
		index.Lookup(api, "") // must not wait for a lock that the index holds
		told = append(told, api.Name)
	})
	expect := func(step string, want ...string) {
		t.Helper()
		slices.Sort(told)
		if diff := cmp.Diff(want, told); diff != "" {
			t.Errorf("%s (-want +got):\n%s", step, diff)
		}
		told = nil
	}
	binding := claimed("", "wide", 0)
	index.Put(binding, map[string]bool{"a": false, "b": false})
	expect("claimed", "a", "b")
	index.Put(binding, map[string]bool{"a": false, "b": false})
	expect("the same again")
	index.Put(binding, map[string]bool{"a": true, "c": false})
	expect("one is draining, one new, one gone", "a", "b", "c")
	binding.Orphan = true
	index.Put(binding, map[string]bool{"a": true, "c": false})
	expect("the binding's facts changed", "a", "c")
	index.SetTarget(API{"acme", "a"}, &Target{Namespaced: true})
	index.SetTarget(API{"acme", "a"}, &Target{Namespaced: true})
	expect("a target", "a")
	index.SetTarget(API{"acme", "a"}, nil)
	index.SetTarget(API{"acme", "a"}, nil)
	expect("no target", "a")
	index.Remove(binding.ID)
	index.Remove(binding.ID)
	expect("removed", "a", "c")
}

func TestForeignBindingsAreThoseOfOtherConnectionsThatLive(t *testing.T) {
	index := NewIndex()
	ours, theirs := claimed("", "ours", 0), claimed("", "theirs", 0)
	theirs.Connection = "other"
	index.Put(ours, map[string]bool{"a": false})
	index.Put(theirs, map[string]bool{"a": false})
	if index.ForeignBinding("acme", ours.UID) || !index.ForeignBinding("acme", theirs.UID) || index.ForeignBinding("acme", "unknown") {
		t.Error("only a living binding of another Connection is foreign")
	}
	index.Remove(theirs.ID)
	if index.ForeignBinding("acme", theirs.UID) {
		t.Error("a binding that is gone is foreign")
	}
}

func TestIndexAnswersByConnection(t *testing.T) {
	index := NewIndex()
	index.Put(claimed("", "wide", 0), map[string]bool{"a": false, "b": true})
	index.SetTarget(API{"acme", "c"}, &Target{})
	index.SetTarget(API{"other", "d"}, &Target{})
	var names []string
	for _, api := range index.APIs("acme") {
		names = append(names, api.Name)
	}
	slices.Sort(names)
	if diff := cmp.Diff([]string{"a", "b", "c"}, names); diff != "" {
		t.Errorf("APIs (-want +got):\n%s", diff)
	}
	if index.Draining(API{"acme", "a"}) || !index.Draining(API{"acme", "b"}) {
		t.Error("b alone is draining")
	}
	wide := []BindingID{{Name: "wide"}}
	if diff := cmp.Diff(wide, index.Bindings(API{"acme", "a"})); diff != "" {
		t.Errorf("Bindings of an API (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(wide, index.Bindings(API{Connection: "acme"})); diff != "" {
		t.Errorf("Bindings of a Connection (-want +got):\n%s", diff)
	}
	if got := index.Bindings(API{"acme", "z"}); len(got) > 0 {
		t.Errorf("Bindings of an unknown API = %v", got)
	}
}
