package syncer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/klog/v2"

	corev1alpha1 "github.com/kbind-dev/konnector/apis/core/v1alpha1"
	"github.com/kbind-dev/konnector/pkg/access"
	"github.com/kbind-dev/konnector/pkg/controller"
	"github.com/kbind-dev/konnector/pkg/coverage"
)

// Reasons of Events on instances, besides those of conflicts.
const (
	eventDenied   = "Denied"
	eventRejected = "Rejected"
	eventFailed   = "SyncFailed"
	// eventOverruled tells of a field that the provider does not leave as the user wants it.
	eventOverruled = "Overruled"
)

// callError is the error of one call, with what was asked of whom.
type callError struct {
	side   string
	action access.Action
	err    error
}

func (e callError) Error() string {
	return fmt.Sprintf("%s: %s: %s", e.side, e.action, access.Message(e.err))
}

func (e callError) Unwrap() error { return e.err }

// heldError is the error of an apply whose content is held back for a while.
type heldError struct {
	error
	pause time.Duration
}

func (e heldError) Unwrap() error { return e.error }

// failed sorts the error of a step: how the object stands now, what the user is
// told, and when it is tried again.
func (s *Syncer) failed(ctx context.Context, key types.NamespacedName, facts Facts, err error) error {
	call, isCall := errors.AsType[callError](err)
	if !isCall {
		return err
	}
	held, _ := errors.AsType[heldError](err)
	switch kind := access.Classify(err); kind {
	case access.Denied:
		refusal := "The " + call.side + " refuses to " + call.action.String() + ". " + call.action.Remedy()
		if facts.Cover != nil {
			s.Tally.Explain(s.api, facts.Cover.ID, refusal)
		}
		s.stands(key, facts, coverage.Denied)
		s.tell(ctx, key, facts, eventDenied, refusal)
		return controller.After(cmp.Or(held.pause, wait.Jitter(deniedPause, 0.2)), err.Error())
	case access.Rejected, access.Quota:
		s.stands(key, facts, coverage.Rejected)
		message := access.Message(call.err)
		s.tell(ctx, key, facts, eventRejected, fmt.Sprintf("The %s refuses the object: %s", call.side, message))
		if call.side == "provider" && facts.Consumer.Annotations[corev1alpha1.AnnotationRejected] != message {
			if _, annotateErr := s.annotate(ctx, facts.Consumer, "", message); annotateErr != nil {
				klog.FromContext(ctx).V(4).Info("Could not note the rejection", "err", annotateErr)
			}
		}
		if held.pause > 0 {
			return controller.After(held.pause, err.Error())
		}
	case access.Other:
		s.tell(ctx, key, facts, eventFailed, access.Sanitize(err.Error(), 1024))
		return err
	default:
		// Conflicts, terminating namespaces, and clusters that don't answer: the
		// Connection tells of the last, and the others pass.
	}
	return controller.Quiet{Err: err}
}

// stands records how the object stands, if a binding covers it.
func (s *Syncer) stands(key types.NamespacedName, facts Facts, state coverage.State) {
	if facts.Cover != nil {
		s.Tally.Record(s.api, key, facts.Cover.ID, state)
	}
}

// tell gives the user an Event on the object, once for each piece of news.
func (s *Syncer) tell(ctx context.Context, key types.NamespacedName, facts Facts, reason, message string) {
	if s.memories.report(key, reason+": "+message) {
		s.event(ctx, key, facts, reason, message)
	}
}

// event gives the user an Event on the object. Objects that are going get none: their
// namespace may not take it.
func (s *Syncer) event(ctx context.Context, key types.NamespacedName, facts Facts, reason, message string) {
	if facts.Consumer == nil {
		return
	}
	klog.FromContext(ctx).V(2).Info("Reported", "reason", reason, "message", message)
	if facts.Consumer.Deleting {
		return
	}
	s.Events.Event(&corev1.ObjectReference{
		APIVersion: s.target.Kind.GroupVersion().String(),
		Kind:       s.target.Kind.Kind,
		Namespace:  key.Namespace,
		Name:       key.Name,
		UID:        facts.Consumer.UID,
	}, corev1.EventTypeWarning, reason, message)
}

// lostMessage says that a fight over a field is given up.
func lostMessage(path string) string {
	return fmt.Sprintf("Somebody on the provider takes %s over again and again. It is left as it is there until the object or that field's owner changes.", path)
}

// rewrittenMessage says that the provider keeps another value than the user's.
func rewrittenMessage(path string) string {
	return fmt.Sprintf("The provider took the object, but changed %s while doing so. It is left as it is there until the object changes.", path)
}

// conflictMessage says what a conflict means, and what can be done about it.
func conflictMessage(reason, resource string, target types.NamespacedName) string {
	name := target.Name
	if target.Namespace != "" {
		name = target.Namespace + "/" + target.Name
	}
	switch reason {
	case corev1alpha1.ReasonForeignObjectExists:
		return fmt.Sprintf("The provider has %s %q already, which no konnector manages. It is left alone: remove or rename one of the two, or set conflictPolicy: Adopt on the binding to take it over.", resource, name)
	case corev1alpha1.ReasonStaleOwner:
		return fmt.Sprintf("The provider has a copy of an earlier %s %q of this cluster. It is left alone: remove it there, or set conflictPolicy: Adopt on the binding to take it over.", resource, name)
	default:
		return fmt.Sprintf("The provider's %s %q belongs to another consumer cluster or binding. It is never touched: use another name or namespace.", resource, name)
	}
}
