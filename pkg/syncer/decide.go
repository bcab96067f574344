package syncer

import (
	"bytes"
	"unique"

	"k8s.io/apimachinery/pkg/types"

	corev1alpha1 "github.com/kbind-dev/konnector/apis/core/v1alpha1"
	"github.com/kbind-dev/konnector/pkg/coverage"
	"github.com/kbind-dev/konnector/pkg/instance"
	"github.com/kbind-dev/konnector/pkg/ownership"
)

// Facts are all that is known of one object when it is decided what to do.
type Facts struct {
	// Cluster is the UID of the consumer cluster.
	Cluster types.UID
	// Consumer is the user's object, nil when there is none.
	Consumer *instance.Object
	// Provider is the object of that name on the provider, nil when none is known.
	Provider *instance.Object
	// Looked says that Provider was read from the API server just now: then nil
	// means that the name is free. Caches show only what carries our label.
	Looked bool
	// Cover is the binding that the object is synced under, nil when there is none.
	Cover *coverage.Cover
	// ForeignBinding reports whether a UID is that of another Connection's binding that lives.
	ForeignBinding func(types.UID) bool
	// Exclusions are the labels and annotations that don't travel.
	Exclusions *ownership.Exclusions
	// StatusSubresource says that the consumer takes a status only at /status.
	StatusSubresource bool
	// Memory is what was learned from earlier writes.
	Memory Memory
	// Held says that it is too early to apply again what was refused or put back too
	// often, or to look again at a name that is taken.
	Held bool
}

// Memory is what the answers to our own writes have taught about an object, where
// it differs from what the writes alone would let one expect.
type Memory struct {
	// InConflict says that the name was taken at the last look, under Policy: look again
	// before writing.
	InConflict bool
	Policy     corev1alpha1.ConflictPolicy
	// AcceptedHash and AcceptedFields are what the provider made of an apply when it
	// did not keep all of it ours. Applying the same again would not change that.
	AcceptedHash   string
	AcceptedFields unique.Handle[string]
	// RefusedHash is the content that the provider did not take at the last apply,
	// and RefusedState how the object stands by that.
	RefusedHash  string
	RefusedState coverage.State
	// Repairs count how often the same content had to be put back.
	Repairs Repairs
	// SentStatus and KeptStatus are a status that we wrote and what the consumer's
	// schema left of it.
	SentStatus, KeptStatus []byte
	// Leaving is the UID of a copy that we have deleted and that something on the
	// provider held.
	Leaving types.UID
}

// Repairs are applies of content that was applied before, because somebody on the
// provider had taken fields from us.
type Repairs struct {
	// Hash is the content and Count how often it was put back in quick succession.
	Hash  string
	Count int
	// Fields are those that were left to us before the last time.
	Fields unique.Handle[string]
}

// mostRepairs is how often the same content is put back, after which the provider
// has its way.
const mostRepairs = 4

// Step is one call.
type Step struct {
	Do StepKind
	// Desired and Expect are those of an apply.
	Desired ownership.Desired
	Expect  ownership.Precondition
	// Repair says that the same content was applied before; Left are the fields of it
	// that are still ours.
	Repair bool
	Left   unique.Handle[string]
	// Status is the one to write; nil removes it.
	Status []byte
	// Conflict is the value of the annotation to set; "" removes it.
	Conflict string
	// BestEffort says that the steps after it go on when the provider doesn't answer.
	BestEffort bool
}

// StepKind is what a step does.
type StepKind string

// Steps.
const (
	// AddFinalizer puts our finalizer on the consumer's object.
	AddFinalizer StepKind = "AddFinalizer"
	// Look reads what the provider has under the name; then everything is decided anew.
	Look StepKind = "Look"
	// Apply writes the copy.
	Apply StepKind = "Apply"
	// WriteStatus replaces the status of the consumer's object.
	WriteStatus StepKind = "WriteStatus"
	// Annotate sets or removes the annotations that tell of conflicts and rejections.
	Annotate StepKind = "Annotate"
	// Delete deletes the copy. The steps after it wait until it is really gone.
	Delete StepKind = "Delete"
	// Strip takes our marks off the copy and leaves it.
	Strip StepKind = "Strip"
	// ReleaseFinalizer takes our finalizer off the consumer's object.
	ReleaseFinalizer StepKind = "ReleaseFinalizer"
)

// Plan is what to do for one object.
type Plan struct {
	Steps []Step
	// State is how the object stands once the steps are done; "" is that of an
	// object that is none of ours.
	State coverage.State
	// Conflict is the reason of a conflict.
	Conflict string
	// Lost is the path of the first field that the provider took from us and that is
	// not put back any more.
	Lost string
	// Recheck says that what is waited for brings no event.
	Recheck bool
	// Held says that the end of Facts.Held is waited for.
	Held bool
}

// Decide returns what to do for one object. It is a pure function, and its test
// table is the specification of how instances behave.
func Decide(f Facts) Plan {
	switch {
	case f.Consumer == nil:
		// A copy without its object is left: deleting is done only for an object that
		// was seen going. After a restored backup the objects may just not be back yet.
		return Plan{}
	case f.leaving():
		return f.release()
	case f.Cover == nil:
		return Plan{}
	default:
		return f.keep()
	}
}

// leaving reports whether the object's copy has to go.
func (f Facts) leaving() bool {
	return f.Consumer.Deleting || (f.Cover != nil && f.Cover.Draining)
}

// claim returns whose the provider's object is.
func (f Facts) claim() ownership.Claim {
	return ownership.Classify(ownership.ReadMarks(f.Provider), ownership.Wish{
		Cluster:        f.Cluster,
		Object:         f.Consumer.UID,
		ForeignBinding: f.ForeignBinding,
	})
}

// release lets an object go whose finalizer is ours: first its copy, then the finalizer.
func (f Facts) release() Plan {
	if !f.Consumer.HasFinalizer() {
		if f.Consumer.Deleting {
			return Plan{}
		}
		return Plan{Steps: f.clearConflict()}
	}
	letGo := f.Cover != nil && f.Cover.Draining && f.Cover.Orphan
	if f.Provider == nil || f.claim() != ownership.Ours {
		if f.Looked || letGo {
			return Plan{Steps: []Step{{Do: ReleaseFinalizer}}}
		}
		// The cache alone can't tell: a copy that we made just before a restart may
		// not be in it yet, and one that lost its label, also while it is being deleted,
		// never will be.
		return Plan{Steps: []Step{{Do: Look}}, State: coverage.Leaving}
	}
	expect := ownership.Precondition{UID: f.Provider.UID}
	if f.staysOnProvider() {
		// Exactly what was seen: somebody else may have taken it over since.
		expect.ResourceVersion = f.Provider.ResourceVersion
		return Plan{Steps: []Step{{Do: Strip, Expect: expect, BestEffort: letGo}, {Do: ReleaseFinalizer}}}
	}
	if f.Provider.Deleting {
		// A copy that is not in the cache brings no event.
		labelled := ownership.ReadMarks(f.Provider).Labelled
		return Plan{Steps: f.statusSteps(false), State: coverage.Leaving, Recheck: !labelled}
	}
	return Plan{Steps: []Step{{Do: Delete, Expect: expect}, {Do: ReleaseFinalizer}}, State: coverage.Leaving}
}

// staysOnProvider reports whether the copy is left on the provider when its object goes.
func (f Facts) staysOnProvider() bool {
	if f.Consumer.Annotations[corev1alpha1.AnnotationDeletionPolicy] == corev1alpha1.DeletionPolicyOrphan {
		return true
	}
	if f.Cover == nil || !f.Cover.Draining {
		return false
	}
	// What existed before the binding outlives it, unless the user deleted it too.
	adopted := ownership.ReadMarks(f.Provider).Adopted
	return f.Cover.Orphan || (adopted && !f.Consumer.Deleting)
}

// keep brings the copy in line with its object, and the status back.
func (f Facts) keep() Plan {
	if f.Provider == nil {
		if f.Memory.InConflict && !f.Looked {
			if f.Held && f.Memory.Policy == f.Cover.Policy {
				return Plan{State: coverage.Conflicting, Held: true}
			}
			return Plan{Steps: []Step{{Do: Look}}, State: coverage.Conflicting}
		}
		return f.apply(f.desired(false), ownership.NoObject)
	}
	marks := ownership.ReadMarks(f.Provider)
	switch claim := f.claim(); claim {
	case ownership.Ours:
		return f.keepOurs(marks)
	case ownership.Anothers:
		return f.conflict(corev1alpha1.ReasonOwnedByAnother)
	default:
		return f.keepTaken(claim, marks)
	}
}

// keepOurs updates a copy that is ours, when it has to be, and takes its status.
func (f Facts) keepOurs(marks ownership.Marks) Plan {
	if f.Provider.Deleting {
		return Plan{Steps: f.statusSteps(false), State: coverage.Pending, Recheck: !marks.Labelled}
	}
	desired := f.desired(marks.Adopted)
	if f.upToDate(marks, desired) {
		return f.settled()
	}
	// Without its mark a copy is taken for one that had this content already: some
	// controllers remove what they don't know.
	repair := marks.AppliedHash == desired.Hash || marks.AppliedHash == ""
	if repair && f.atRest(desired) {
		plan := f.settled()
		plan.Lost = ownership.FirstLost(f.Provider.OwnedFields(), desired)
		plan.Held = f.Memory.Repairs.Fields != f.Provider.Fields
		return plan
	}
	// The status goes first: it arrives also while the provider refuses the new spec.
	plan := f.apply(desired, ownership.Precondition{UID: f.Provider.UID})
	if last := len(plan.Steps) - 1; repair && last >= 0 {
		plan.Steps[last].Repair, plan.Steps[last].Left = true, f.Provider.Fields
	}
	plan.Steps = append(f.statusSteps(false), plan.Steps...)
	return plan
}

// settled is the plan for a copy that is as it should be, or as the provider insists.
func (f Facts) settled() Plan {
	var steps []Step
	if !f.Consumer.HasFinalizer() {
		steps = append(steps, Step{Do: AddFinalizer}) // somebody took it off
	}
	steps = append(steps, f.clearConflict()...)
	return Plan{Steps: append(steps, f.statusSteps(true)...), State: coverage.Synced}
}

// atRest reports whether the content was put back so often that the provider has its
// way: until the content is another one, or, after a pause, other fields of the copy
// are ours.
func (f Facts) atRest(desired ownership.Desired) bool {
	repairs := f.Memory.Repairs
	return repairs.Hash == desired.Hash && repairs.Count >= mostRepairs &&
		(f.Held || repairs.Fields == f.Provider.Fields)
}

// keepTaken decides about a name that is taken by an object without marks, or by
// our copy of an earlier object.
func (f Facts) keepTaken(claim ownership.Claim, marks ownership.Marks) Plan {
	if f.Provider.Deleting && (claim == ownership.Stale || f.Cover.Policy == corev1alpha1.ConflictPolicyAdopt) {
		return Plan{State: coverage.Pending, Recheck: !marks.Labelled}
	}
	if f.Cover.Policy == corev1alpha1.ConflictPolicyAdopt {
		desired := f.desired(marks.Adopted || claim == ownership.Unmarked)
		return f.apply(desired, ownership.Precondition{UID: f.Provider.UID, ResourceVersion: f.Provider.ResourceVersion})
	}
	if claim == ownership.Stale {
		return f.conflict(corev1alpha1.ReasonStaleOwner)
	}
	return f.conflict(corev1alpha1.ReasonForeignObjectExists)
}

// desired returns what the copy has to look like.
func (f Facts) desired(adopted bool) ownership.Desired {
	owner := ownership.Owner{Cluster: f.Cluster, Binding: f.Cover.UID, Adopted: adopted}
	return ownership.Render(f.Consumer, owner, f.Exclusions)
}

// upToDate reports whether an apply would change nothing.
func (f Facts) upToDate(marks ownership.Marks, desired ownership.Desired) bool {
	if marks.AppliedHash != desired.Hash {
		return false
	}
	if f.Memory.AcceptedHash == desired.Hash && f.Memory.AcceptedFields == f.Provider.Fields {
		return true
	}
	return ownership.Owns(f.Provider.OwnedFields(), desired)
}

// apply writes the copy. Our finalizer is on the object before the first byte of
// its copy is on the provider. Content that was refused waits for the next attempt.
func (f Facts) apply(desired ownership.Desired, expect ownership.Precondition) Plan {
	if f.Held && f.Memory.RefusedHash == desired.Hash {
		return Plan{State: f.Memory.RefusedState, Held: true}
	}
	var steps []Step
	if !f.Consumer.HasFinalizer() {
		steps = append(steps, Step{Do: AddFinalizer})
	}
	steps = append(steps, Step{Do: Apply, Desired: desired, Expect: expect})
	return Plan{Steps: steps, State: coverage.Pending}
}

// conflict leaves the provider's object alone and says so on the consumer's.
func (f Facts) conflict(reason string) Plan {
	plan := Plan{State: coverage.Conflicting, Conflict: reason, Recheck: true}
	if f.Consumer.Annotations[corev1alpha1.AnnotationConflict] != reason {
		plan.Steps = []Step{{Do: Annotate, Conflict: reason}}
	}
	return plan
}

// clearConflict removes annotations that tell of what is over.
func (f Facts) clearConflict() []Step {
	_, conflict := f.Consumer.Annotations[corev1alpha1.AnnotationConflict]
	_, rejected := f.Consumer.Annotations[corev1alpha1.AnnotationRejected]
	if !conflict && !rejected {
		return nil
	}
	return []Step{{Do: Annotate}}
}

// statusSteps brings the status to the consumer when it is another one there.
// current says that the copy is what the consumer asks for now.
func (f Facts) statusSteps(current bool) []Step {
	wanted := f.Provider.Status
	if f.StatusSubresource {
		// Elsewhere the status counts in the generation: a translated number would
		// be out of date with the write that brings it.
		wanted = Translate(wanted, Generations{
			Provider: f.Provider.Generation,
			Consumer: f.Consumer.Generation,
			Current:  current,
		}, f.Consumer.Status)
	}
	if bytes.Equal(wanted, f.Consumer.Status) {
		return nil
	}
	// What the consumer's schema prunes or defaults can't be written any better.
	if f.Memory.SentStatus != nil && bytes.Equal(wanted, f.Memory.SentStatus) && bytes.Equal(f.Consumer.Status, f.Memory.KeptStatus) {
		return nil
	}
	return []Step{{Do: WriteStatus, Status: wanted}}
}
