package syncer

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	corev1alpha1 "github.com/kbind-dev/konnector/apis/core/v1alpha1"
	"github.com/kbind-dev/konnector/pkg/coverage"
	"github.com/kbind-dev/konnector/pkg/instance"
	"github.com/kbind-dev/konnector/pkg/internal/gen"
	"github.com/kbind-dev/konnector/pkg/ownership"
)

const (
	cluster types.UID = "cluster"
	foreign types.UID = "foreign-binding" // of another Connection, and alive
)

var exclusions, _ = ownership.NewExclusions()

// given builds facts by modifiers; what a copy looks like follows from the object and
// the binding that are set before it.
type given func(*Facts)

func facts(all ...given) Facts {
	f := Facts{
		Cluster:           cluster,
		ForeignBinding:    func(uid types.UID) bool { return uid == foreign },
		Exclusions:        exclusions,
		StatusSubresource: true,
		Consumer:          gen.Widget("a"),
		Cover:             &coverage.Cover{Binding: binding},
	}
	for _, set := range all {
		set(&f)
	}
	return f
}

// object changes the consumer's object.
func object(options ...gen.Option) given {
	return func(f *Facts) { f.Consumer = gen.With(f.Consumer, options...) }
}

func noObject(f *Facts) { f.Consumer = nil }

func noCover(f *Facts) { f.Cover = nil }

// cover sets the binding's policy.
func cover(policy corev1alpha1.ConflictPolicy) given {
	return func(f *Facts) {
		changed := *f.Cover
		changed.Policy = policy
		f.Cover = &changed
	}
}

// draining has the binding let go.
func draining(orphan bool) given {
	return func(f *Facts) {
		changed := *f.Cover
		changed.Draining, changed.Orphan = true, orphan
		f.Cover = &changed
	}
}

func looked(f *Facts) { f.Looked = true }

func held(f *Facts) { f.Held = true }

// ours is a copy as an apply would have left it, with changes.
func ours(options ...gen.Option) given {
	return func(f *Facts) { f.Provider = gen.With(copyOf(*f), options...) }
}

// adoptedCopy is ours, but existed before.
func adoptedCopy(f *Facts) {
	owner := ownership.Owner{Cluster: cluster, Binding: binding.UID, Adopted: true}
	f.Provider = written(ownership.Render(f.Consumer, owner, exclusions))
}

// found is an object that we did not write for this one.
func found(options ...gen.Option) given {
	return func(f *Facts) { f.Provider = gen.Copy("a", options...) }
}

// copyOf returns what an apply for the object would have left.
func copyOf(f Facts) *instance.Object {
	consumer := f.Consumer
	if consumer == nil {
		consumer = gen.Widget("a")
	}
	return written(ownership.Render(consumer, ownership.Owner{Cluster: cluster, Binding: binding.UID}, exclusions))
}

func written(desired ownership.Desired) *instance.Object {
	object := gen.Copy("a", gen.Fields(fieldsOf(desired)))
	object.Labels, object.Annotations = desired.Labels, desired.Annotations
	return object
}

// fieldsOf returns what an applier owns of a document whose lists are atomic.
func fieldsOf(desired ownership.Desired) string {
	var tree func(value any) any
	tree = func(value any) any {
		fields := map[string]any{}
		if values, isMap := value.(map[string]any); isMap {
			for key, each := range values {
				fields["f:"+key] = tree(each)
			}
		}
		return fields
	}
	keys := func(all map[string]string) any {
		fields := map[string]any{}
		for key := range all {
			fields["f:"+key] = map[string]any{}
		}
		return fields
	}
	var payload map[string]any
	if err := json.Unmarshal(desired.Payload, &payload); err != nil {
		panic(err)
	}
	all := tree(payload).(map[string]any)
	all["f:metadata"] = map[string]any{"f:labels": keys(desired.Labels), "f:annotations": keys(desired.Annotations)}
	text, err := json.Marshal(all)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// lost takes a field away from us.
func lost(field string) gen.Option {
	return func(o *instance.Object) {
		gen.Fields(strings.Replace(o.OwnedFields(), `"f:`+field+`":{}`, `"f:other":{}`, 1))(o)
	}
}

// expectation names a precondition.
func expectation(f Facts, expect ownership.Precondition) string {
	if expect == ownership.NoObject {
		return "(free)"
	}
	switch expect {
	case ownership.Precondition{UID: f.Provider.UID}:
		return "(uid)"
	case ownership.Precondition{UID: f.Provider.UID, ResourceVersion: f.Provider.ResourceVersion}:
		return "(exact)"
	default:
		return "(?)"
	}
}

// describe writes a plan in one line: steps → state, and what is waited for.
func describe(f Facts, plan Plan) string {
	var words []string
	for _, step := range plan.Steps {
		word := string(step.Do)
		switch step.Do {
		case Apply:
			word += expectation(f, step.Expect)
			if step.Desired.Annotations[corev1alpha1.AnnotationAdopted] != "" {
				word += "+adopted"
			}
		case WriteStatus:
			word += "(" + string(step.Status) + ")"
		case Annotate:
			word += "(" + step.Conflict + ")"
		case Strip:
			if step.BestEffort {
				word += "?"
			}
		case AddFinalizer, ReleaseFinalizer, Look, Delete:
		}
		words = append(words, word)
	}
	if len(words) == 0 {
		words = append(words, "-")
	}
	words = append(words, "→", string(plan.State))
	if plan.State == "" {
		words[len(words)-1] = "-"
	}
	for word, is := range map[string]bool{"held": plan.Held, "recheck": plan.Recheck, "lost " + plan.Lost: plan.Lost != "", plan.Conflict: plan.Conflict != ""} {
		if is {
			words = append(words, word)
		}
	}
	slices.Sort(words[slices.Index(words, "→")+2:])
	return strings.Join(words, " ")
}

const (
	fail  = corev1alpha1.ConflictPolicyFail
	adopt = corev1alpha1.ConflictPolicyAdopt
)

// The specification of how instances behave: rules I1 to I12 of the design.
func TestDecide(t *testing.T) {
	former := gen.Marked(cluster, "uid-of-a-former-a", binding.UID)
	anothers := gen.Marked("another-cluster", "uid-a", "their-binding")
	foreignBinding := gen.Marked(cluster, "uid-a", foreign)
	conflict := func(reason string) gen.Option { return gen.Annotation(corev1alpha1.AnnotationConflict, reason) }
	desiredOf := func(f Facts) string { return f.desired(false).Hash }
	fought := func(count int) given {
		return func(f *Facts) {
			f.Memory.Repairs = Repairs{Hash: desiredOf(*f), Count: count, Fields: f.Provider.Fields}
		}
	}
	refusedAs := func(state coverage.State) given {
		return func(f *Facts) {
			f.Memory.RefusedHash, f.Memory.RefusedState, f.Held = desiredOf(*f), state, true
		}
	}

	for _, row := range []struct {
		name  string
		facts Facts
		want  string
	}{
		// A new object.
		{"I4 a new object gets the finalizer before its copy is written", facts(), "AddFinalizer Apply(free) → Pending"},
		{"I5 the first write of a free name can only create", facts(object(gen.Finalizer())), "Apply(free) → Pending"},
		{"I5 a name that was looked at and is free is created in the same way", facts(looked), "AddFinalizer Apply(free) → Pending"},
		{"an object without a binding is none of ours", facts(noCover), "- → -"},
		{"an object without a binding keeps its finalizer and copy", facts(object(gen.Finalizer()), ours(), noCover), "- → -"},
		{"a copy without its object is left alone", facts(ours(), noObject), "- → -"},
		{"I4 a terminating object without our finalizer is none of ours", facts(object(gen.Deleting())), "- → -"},
		{"I4 not even when the provider has a copy", facts(object(gen.Deleting()), ours()), "- → -"},

		// An object with its copy.
		{"nothing is done for what is in sync", facts(object(gen.Finalizer()), ours()), "- → Synced"},
		{"I4 a finalizer that somebody took off is put back while there is a copy", facts(ours()), "AddFinalizer → Synced"},
		{"I2 a changed spec is applied to this very copy", facts(object(gen.Finalizer()), ours(), object(gen.Payload(`{"spec":{"size":2}}`))), "Apply(uid) → Pending"},
		{"I2 a changed label travels", facts(object(gen.Finalizer()), ours(), object(gen.Label("env", "dev"))), "Apply(uid) → Pending"},
		{"I2 a mark of a deployment tool does not", facts(object(gen.Finalizer()), ours(), object(gen.Annotation("argocd.argoproj.io/tracking-id", "x"))), "- → Synced"},
		{"I2 another generation alone is no reason to apply", facts(object(gen.Finalizer()), ours(), object(gen.Generation(9))), "- → Synced"},
		{"I7 a field that was taken from us is put back", facts(object(gen.Finalizer()), ours(lost("color"))), "Apply(uid) → Pending"},
		{"I7 a hash that somebody wrote over is put back", facts(object(gen.Finalizer()), ours(gen.Annotation(corev1alpha1.AnnotationAppliedHash, "x"))), "Apply(uid) → Pending"},
		{"I7 a copy that lost its label is put back where it is found", facts(object(gen.Finalizer()), ours(gen.Unlabel(corev1alpha1.LabelConsumer), lost(corev1alpha1.LabelConsumer)), looked), "Apply(uid) → Pending"},
		{"I7 a copy that is gone is made again", facts(object(gen.Finalizer()), looked), "Apply(free) → Pending"},
		{"I7 a copy that is terminating is waited for", facts(object(gen.Finalizer()), ours(gen.Deleting())), "- → Pending"},
		{"I7 its status still arrives", facts(object(gen.Finalizer()), ours(gen.Deleting(), gen.Status(`{"phase":"Going"}`))), `WriteStatus({"phase":"Going"}) → Pending`},
		{"I7 without its label its end brings no event", facts(object(gen.Finalizer()), ours(gen.Deleting(), gen.Unlabel(corev1alpha1.LabelConsumer)), looked), "- → Pending recheck"},

		// Status.
		{"I3 a status is taken over as it is", facts(object(gen.Finalizer()), ours(gen.Status(`{"phase":"A"}`))), `WriteStatus({"phase":"A"}) → Synced`},
		{"I3 a status that is gone is removed", facts(object(gen.Finalizer(), gen.Status(`{"phase":"A"}`)), ours()), "WriteStatus() → Synced"},
		{"I3 an equal status is left", facts(object(gen.Finalizer(), gen.Status(`{"phase":"A"}`)), ours(gen.Status(`{"phase":"A"}`))), "- → Synced"},
		{"I3 a status that the consumer keeps otherwise is written once", facts(object(gen.Finalizer(), gen.Status(`{}`)), ours(gen.Status(`{"phase":"A"}`)), func(f *Facts) {
			f.Memory.SentStatus, f.Memory.KeptStatus = []byte(`{"phase":"A"}`), []byte(`{}`)
		}), "- → Synced"},
		{"I3 observedGeneration is counted in the consumer's generations", facts(object(gen.Finalizer(), gen.Generation(7)), ours(gen.Generation(3), gen.Status(`{"observedGeneration":3}`))), `WriteStatus({"observedGeneration":7}) → Synced`},
		{"I3 before the copy is what the consumer asks for it is smaller", facts(object(gen.Finalizer()), ours(gen.Generation(3), gen.Status(`{"observedGeneration":3}`)), object(gen.Generation(7), gen.Payload(`{"spec":{"size":2}}`))), `WriteStatus({"observedGeneration":6}) Apply(uid) → Pending`},
		{"I3 without a status subresource it is not translated", facts(object(gen.Finalizer(), gen.Generation(7)), ours(gen.Generation(3), gen.Status(`{"observedGeneration":3}`)), func(f *Facts) { f.StatusSubresource = false }), `WriteStatus({"observedGeneration":3}) → Synced`},
		{"I11 a status goes before a spec that may be refused", facts(object(gen.Finalizer()), ours(gen.Status(`{"phase":"A"}`)), object(gen.Payload(`{"spec":{"size":2}}`))), `WriteStatus({"phase":"A"}) Apply(uid) → Pending`},

		// Refusals.
		{"I11 refused content waits for its pause", facts(object(gen.Finalizer()), ours(), object(gen.Payload(`{"spec":{"size":2}}`)), refusedAs(coverage.Rejected)), "- → Rejected held"},
		{"I11 the status flows meanwhile", facts(object(gen.Finalizer()), ours(gen.Status(`{"phase":"A"}`)), object(gen.Payload(`{"spec":{"size":2}}`)), refusedAs(coverage.Rejected)), `WriteStatus({"phase":"A"}) → Rejected held`},
		{"I11 other content is applied at once", facts(object(gen.Finalizer()), refusedAs(coverage.Rejected), object(gen.Payload(`{"spec":{"size":2}}`))), "Apply(free) → Pending"},
		{"I11 after the pause it is tried again", facts(object(gen.Finalizer()), refusedAs(coverage.Rejected), func(f *Facts) { f.Held = false }), "Apply(free) → Pending"},
		{"I10 denied content waits as well", facts(object(gen.Finalizer()), refusedAs(coverage.Denied)), "- → Denied held"},
		{"I11 the note of a rejection goes when it is over", facts(object(gen.Finalizer(), gen.Annotation(corev1alpha1.AnnotationRejected, "no")), ours()), "Annotate() → Synced"},

		// Fights.
		{"I7 what the provider never leaves to us is accepted", facts(object(gen.Finalizer()), ours(lost("color")), func(f *Facts) {
			f.Memory.AcceptedHash, f.Memory.AcceptedFields = desiredOf(*f), f.Provider.Fields
		}), "- → Synced"},
		{"I7 until it changes again", facts(object(gen.Finalizer()), ours(lost("color")), func(f *Facts) {
			f.Memory.AcceptedHash, f.Memory.AcceptedFields = desiredOf(*f), f.Provider.Fields
		}, func(f *Facts) { f.Provider = gen.With(f.Provider, lost("size")) }), "Apply(uid) → Pending"},
		{"I7 a field is put back a few times", facts(object(gen.Finalizer()), ours(lost("color")), fought(mostRepairs-1), held), "Apply(uid) → Pending"},
		{"I7 then the provider has its way", facts(object(gen.Finalizer()), ours(lost("color")), fought(mostRepairs), held), "- → Synced lost .spec.color"},
		{"I7 for as long as nothing changes", facts(object(gen.Finalizer()), ours(lost("color")), fought(mostRepairs)), "- → Synced lost .spec.color"},
		{"I7 the status flows meanwhile", facts(object(gen.Finalizer()), ours(lost("color"), gen.Status(`{"phase":"A"}`)), fought(mostRepairs)), `WriteStatus({"phase":"A"}) → Synced lost .spec.color`},
		{"I7 other content is applied at once", facts(object(gen.Finalizer()), ours(lost("color")), fought(mostRepairs), held, object(gen.Payload(`{"spec":{"color":"red","size":2}}`))), "Apply(uid) → Pending"},
		{"I7 other owned fields wait for the pause", facts(object(gen.Finalizer()), ours(lost("color")), fought(mostRepairs), held, func(f *Facts) { f.Provider = gen.With(f.Provider, lost("size")) }), "- → Synced held lost .spec.color"},
		{"I7 and are put back after it", facts(object(gen.Finalizer()), ours(lost("color")), fought(mostRepairs), func(f *Facts) { f.Provider = gen.With(f.Provider, lost("size")) }), "Apply(uid) → Pending"},

		// Taken names.
		{"I5 Fail leaves an unmarked object alone", facts(found(), looked), "Annotate(ForeignObjectExists) → Conflicting ForeignObjectExists recheck"},
		{"I6 a conflict is noted once", facts(object(conflict("ForeignObjectExists")), found(), looked), "- → Conflicting ForeignObjectExists recheck"},
		{"I6 another reason replaces it", facts(object(conflict("StaleOwner")), found(), looked), "Annotate(ForeignObjectExists) → Conflicting ForeignObjectExists recheck"},
		{"I5 Adopt takes exactly the object that was read", facts(cover(adopt), found(), looked), "AddFinalizer Apply(exact)+adopted → Pending"},
		{"I5 an adopted copy stays one", facts(object(gen.Finalizer()), adoptedCopy, object(gen.Payload(`{"spec":{"size":2}}`))), "Apply(uid)+adopted → Pending"},
		{"I5 Fail leaves our copy of a former object alone", facts(found(former)), "Annotate(StaleOwner) → Conflicting StaleOwner recheck"},
		{"I5 Adopt takes it, and it was not there before us", facts(cover(adopt), found(former)), "AddFinalizer Apply(exact) → Pending"},
		{"I5 unless it was adopted by then", facts(cover(adopt), found(former, gen.Adopted())), "AddFinalizer Apply(exact)+adopted → Pending"},
		{"I7 a former object's copy that is terminating is no conflict", facts(found(former, gen.Deleting())), "- → Pending"},
		{"I7 nor under Adopt", facts(cover(adopt), found(former, gen.Deleting())), "- → Pending"},
		{"I5 an unmarked object that is terminating is a conflict under Fail", facts(found(gen.Deleting()), looked), "Annotate(ForeignObjectExists) → Conflicting ForeignObjectExists recheck"},
		{"I7 and waited for under Adopt", facts(cover(adopt), found(gen.Deleting()), looked), "- → Pending recheck"},
		{"I5 another cluster's is never touched", facts(cover(adopt), found(anothers), looked), "Annotate(OwnedByAnother) → Conflicting OwnedByAnother recheck"},
		{"I5 nor another binding's that lives", facts(cover(adopt), found(foreignBinding)), "Annotate(OwnedByAnother) → Conflicting OwnedByAnother recheck"},
		{"I5 a binding that is gone does not count", facts(found(gen.Marked(cluster, "uid-a", "gone"))), "AddFinalizer Apply(uid) → Pending"},
		{"I6 a taken name is looked at before it is written again", facts(func(f *Facts) { f.Memory.InConflict = true }), "Look → Conflicting"},
		{"I6 but not on every event", facts(held, func(f *Facts) { f.Memory.InConflict, f.Memory.Policy = true, fail }), "- → Conflicting held"},
		{"I6 and at once when the policy is another", facts(held, cover(adopt), func(f *Facts) { f.Memory.InConflict, f.Memory.Policy = true, fail }), "Look → Conflicting"},
		{"I6 a conflict that is over clears by itself", facts(object(gen.Finalizer(), conflict("ForeignObjectExists")), ours()), "Annotate() → Synced"},

		// Deletion.
		{"I8 the copy goes first", facts(object(gen.Finalizer(), gen.Deleting()), ours()), "Delete ReleaseFinalizer → Leaving"},
		{"I8 its end is waited for", facts(object(gen.Finalizer(), gen.Deleting()), ours(gen.Deleting())), "- → Leaving"},
		{"I8 what is held and not in the cache is rechecked", facts(object(gen.Finalizer(), gen.Deleting()), ours(gen.Deleting(), gen.Unlabel(corev1alpha1.LabelConsumer)), looked), "- → Leaving recheck"},
		{"I8 a cache without the copy proves nothing", facts(object(gen.Finalizer(), gen.Deleting())), "Look → Leaving"},
		{"I8 a free name does", facts(object(gen.Finalizer(), gen.Deleting()), looked), "ReleaseFinalizer → -"},
		{"I8 nor does one that a copy has left which was held", facts(object(gen.Finalizer(), gen.Deleting()), func(f *Facts) { f.Memory.Leaving = "copy-a" }), "Look → Leaving"},
		{"I8 Orphan keeps the copy without our marks", facts(object(gen.Finalizer(), gen.Deleting(), gen.Orphan()), ours()), "Strip ReleaseFinalizer → -"},
		{"I8 what is not ours is never deleted", facts(object(gen.Finalizer(), gen.Deleting()), found(), looked), "ReleaseFinalizer → -"},
		{"I8 a cache that shows somebody else's proves nothing", facts(object(gen.Finalizer(), gen.Deleting()), found(former)), "Look → Leaving"},
		{"I8 without a binding as well", facts(object(gen.Finalizer(), gen.Deleting()), ours(), noCover), "Delete ReleaseFinalizer → Leaving"},
		{"I8 an adopted copy that the user deletes goes", facts(object(gen.Finalizer(), gen.Deleting()), adoptedCopy), "Delete ReleaseFinalizer → Leaving"},

		// Draining.
		{"U1 a binding that goes deletes the copies", facts(object(gen.Finalizer()), ours(), draining(false)), "Delete ReleaseFinalizer → Leaving"},
		{"U1 adopted ones are let go", facts(object(gen.Finalizer()), adoptedCopy, draining(false)), "Strip ReleaseFinalizer → -"},
		{"U1 unless the user deletes them too", facts(object(gen.Finalizer(), gen.Deleting()), adoptedCopy, draining(false)), "Delete ReleaseFinalizer → Leaving"},
		{"U1 an orphaned object's copy stays", facts(object(gen.Finalizer(), gen.Orphan()), ours(), draining(false)), "Strip ReleaseFinalizer → -"},
		{"U2 Orphan on the binding does not wait for the provider", facts(object(gen.Finalizer()), ours(), draining(true)), "Strip? ReleaseFinalizer → -"},
		{"U2 nor ask it", facts(object(gen.Finalizer()), draining(true)), "ReleaseFinalizer → -"},
		{"U1 an object that was never synced is left", facts(draining(false)), "- → -"},
		{"U1 but for a note on it", facts(object(conflict("ForeignObjectExists")), draining(false)), "Annotate() → -"},
	} {
		t.Run(row.name, func(t *testing.T) {
			if got := describe(row.facts, Decide(row.facts)); got != row.want {
				t.Errorf("got  %s\nwant %s", got, row.want)
			}
		})
	}
}
