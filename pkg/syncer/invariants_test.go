package syncer

import (
	"slices"
	"testing"

	corev1alpha1 "github.com/kbind-dev/konnector/apis/core/v1alpha1"
	"github.com/kbind-dev/konnector/pkg/coverage"
	"github.com/kbind-dev/konnector/pkg/internal/gen"
	"github.com/kbind-dev/konnector/pkg/ownership"
)

type variant struct {
	name string
	set  []given
}

// all is the product of the variants, as facts by name.
func everywhere(yield func(name string, f Facts) bool) {
	in := func(name string, set ...given) variant { return variant{name, set} }
	consumers := []variant{
		in("no object", noObject),
		in("plain"),
		in("with finalizer", object(gen.Finalizer())),
		in("terminating", object(gen.Deleting())),
		in("terminating with finalizer", object(gen.Deleting(), gen.Finalizer())),
		in("orphan", object(gen.Orphan(), gen.Finalizer())),
		in("terminating orphan", object(gen.Orphan(), gen.Deleting(), gen.Finalizer())),
		in("noted as in conflict", object(gen.Annotation(corev1alpha1.AnnotationConflict, "StaleOwner"))),
		in("noted as rejected", object(gen.Annotation(corev1alpha1.AnnotationRejected, "no"), gen.Finalizer())),
	}
	former := gen.Marked(cluster, "uid-of-a-former-a", binding.UID)
	providers := []variant{
		in("unknown"),
		in("free", looked),
		in("ours", ours()),
		in("ours with a status", ours(gen.Status(`{"phase":"A"}`))),
		in("ours with a lost field", ours(lost("color"))),
		in("ours with another hash", ours(gen.Annotation(corev1alpha1.AnnotationAppliedHash, "x"))),
		in("ours without a label", ours(gen.Unlabel(corev1alpha1.LabelConsumer)), looked),
		in("ours without annotations", func(f *Facts) {
			f.Provider = copyOf(*f)
			f.Provider.Annotations = nil
		}),
		in("ours terminating", ours(gen.Deleting())),
		in("ours terminating without a label", ours(gen.Deleting(), gen.Unlabel(corev1alpha1.LabelConsumer)), looked),
		in("ours adopted", ours(gen.Adopted())),
		in("ours of a former object", found(former)),
		in("ours of a former object terminating", found(former, gen.Deleting())),
		in("unmarked", found(), looked),
		in("unmarked terminating", found(gen.Deleting()), looked),
		in("another cluster's", found(gen.Marked("another-cluster", "uid-a", "theirs")), looked),
		in("another binding's", found(gen.Marked(cluster, "uid-a", foreign))),
		in("another binding's terminating", found(gen.Marked(cluster, "uid-a", foreign), gen.Deleting())),
	}
	covers := []variant{
		in("no cover", noCover),
		in("Fail"),
		in("Adopt", cover(adopt)),
		in("draining", draining(false)),
		in("draining under Adopt", cover(adopt), draining(false)),
		in("draining with Orphan", draining(true)),
	}
	memories := []variant{
		in("nothing learned"),
		in("in conflict", func(f *Facts) { f.Memory.InConflict = true }),
		in("held", held, func(f *Facts) { f.Memory.InConflict, f.Memory.Policy = true, fail }),
	}
	for _, consumer := range consumers {
		for _, provider := range providers {
			for _, cover := range covers {
				for _, memory := range memories {
					name := consumer.name + ", " + provider.name + ", " + cover.name + ", " + memory.name
					// The copy is made for the object as it is; that there is none comes last.
					set := slices.Concat(provider.set, cover.set, memory.set)
					if consumer.name == "no object" {
						set = append(set, consumer.set...)
					} else {
						set = append(slices.Clone(consumer.set), set...)
					}
					if !yield(name, facts(set...)) {
						return
					}
				}
			}
		}
	}
}

func TestDecideKeepsItsPromisesEverywhere(t *testing.T) {
	cells := 0
	for name, f := range everywhere {
		cells++
		plan := Decide(f)
		for _, broken := range promises(f, plan) {
			t.Errorf("%s: %s: %s", name, broken, describe(f, plan))
		}
		if f.Consumer != nil && !comesToRest(f) {
			t.Errorf("%s: never comes to rest: %s", name, describe(f, plan))
		}
	}
	t.Logf("%d cells", cells)
}

// promises returns what a plan breaks of what holds for every plan.
func promises(f Facts, plan Plan) (broken []string) {
	check := func(ok bool, promise string) {
		if !ok {
			broken = append(broken, promise)
		}
	}
	if f.Consumer == nil {
		check(len(plan.Steps) == 0, "without an object nothing is done")
		return broken
	}
	if f.Cover == nil && !f.Consumer.Deleting {
		check(len(plan.Steps) == 0, "without a binding nothing is done to a living object")
	}
	claim := ownership.Claim("")
	if f.Provider != nil {
		claim = f.claim()
	}
	finalizer, removed := f.Consumer.HasFinalizer(), false
	for i, step := range plan.Steps {
		switch step.Do {
		case AddFinalizer:
			check(!f.Consumer.Deleting, "no finalizer on what is terminating")
			check(!finalizer, "no finalizer twice")
			finalizer = true
		case Apply:
			check(finalizer, "the finalizer goes before the copy")
			check(!f.leaving(), "no copy for what is leaving")
			check(!slices.Contains([]ownership.Claim{ownership.Anothers}, claim), "another's is never applied to")
			if f.Provider == nil {
				check(step.Expect == ownership.NoObject, "a name that is not known is only created")
			} else {
				check(step.Expect.UID == f.Provider.UID, "an apply is for the object that was seen")
				check(claim == ownership.Ours || f.Cover.Policy == corev1alpha1.ConflictPolicyAdopt, "Fail takes nothing over")
				check(claim == ownership.Ours || step.Expect.ResourceVersion == f.Provider.ResourceVersion, "a takeover is of exactly what was seen")
				check(!f.Provider.Deleting, "what is terminating is not applied to")
			}
		case Delete, Strip:
			check(claim == ownership.Ours, "only ours is deleted or let go")
			check(f.Provider != nil && step.Expect.UID == f.Provider.UID, "a deletion is of the object that was seen")
			removed = true
		case ReleaseFinalizer:
			check(f.Consumer.HasFinalizer(), "only our finalizer is released")
			check(claim != ownership.Ours || removed, "the copy goes before the finalizer")
			letGo := f.Cover != nil && f.Cover.Draining && f.Cover.Orphan
			check(f.Provider != nil || f.Looked || letGo, "a cache alone is no proof of absence")
			check(i == len(plan.Steps)-1, "the finalizer goes last")
		case Look:
			check(!f.Looked, "nothing is looked at twice")
			check(len(plan.Steps) == 1, "after a look everything is decided anew")
		case WriteStatus, Annotate:
			check(f.Provider != nil || step.Do == Annotate, "a status comes from an object")
		}
	}
	if claim == ownership.Anothers && !f.leaving() && f.Cover != nil {
		check(plan.State == coverage.Conflicting, "another's is a conflict")
	}
	return broken
}

// comesToRest plays the steps against what they would do, and reports whether there is
// nothing left to do within a few rounds.
func comesToRest(f Facts) bool {
	for range 6 {
		plan := Decide(f)
		if len(plan.Steps) == 0 {
			return true
		}
		for _, step := range plan.Steps {
			play(&f, step)
			if f.Consumer == nil {
				return true
			}
		}
	}
	return false
}

func play(f *Facts, step Step) {
	switch step.Do {
	case AddFinalizer:
		f.Consumer = gen.With(f.Consumer, gen.Finalizer())
	case ReleaseFinalizer:
		f.Consumer = gen.With(f.Consumer)
		f.Consumer.Finalizers = nil
		if f.Consumer.Deleting {
			f.Consumer = nil
		}
	case Annotate:
		f.Consumer = gen.With(f.Consumer, gen.Unannotate(corev1alpha1.AnnotationConflict), gen.Unannotate(corev1alpha1.AnnotationRejected))
		if step.Conflict != "" {
			f.Consumer = gen.With(f.Consumer, gen.Annotation(corev1alpha1.AnnotationConflict, step.Conflict))
		}
	case WriteStatus:
		f.Consumer = gen.With(f.Consumer)
		f.Consumer.Status = step.Status
	case Look:
		f.Looked = true
	case Apply:
		copied := written(step.Desired)
		if f.Provider != nil {
			copied.UID, copied.Status = f.Provider.UID, f.Provider.Status
		}
		f.Provider, f.Looked, f.Memory = copied, false, Memory{}
	case Delete, Strip:
		f.Provider, f.Looked = nil, step.Do == Delete
	}
}
