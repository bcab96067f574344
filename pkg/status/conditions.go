package status

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Condition is one answer, before it is known when it changed.
type Condition struct {
	Type    string
	Status  metav1.ConditionStatus
	Reason  string
	Message string
}

// True returns a condition that holds.
func True(conditionType, reason, message string) Condition {
	return Condition{Type: conditionType, Status: metav1.ConditionTrue, Reason: reason, Message: message}
}

// False returns a condition that does not hold.
func False(conditionType, reason, message string) Condition {
	return Condition{Type: conditionType, Status: metav1.ConditionFalse, Reason: reason, Message: message}
}

// Unknown returns a condition of which nothing is known yet.
func Unknown(conditionType, reason, message string) Condition {
	return Condition{Type: conditionType, Status: metav1.ConditionUnknown, Reason: reason, Message: message}
}

// Set puts conditions into a list, all of them about the given generation. The
// time of the last transition moves only when the status of a condition does.
func Set(list *[]metav1.Condition, generation int64, conditions ...Condition) {
	for _, condition := range conditions {
		meta.SetStatusCondition(list, metav1.Condition{
			Type:               condition.Type,
			Status:             condition.Status,
			Reason:             condition.Reason,
			Message:            condition.Message,
			ObservedGeneration: generation,
		})
	}
}

// Get returns the condition of a type from a list, or one of status Unknown.
func Get(list []metav1.Condition, conditionType string) Condition {
	found := meta.FindStatusCondition(list, conditionType)
	if found == nil {
		return Condition{Type: conditionType, Status: metav1.ConditionUnknown}
	}
	return Condition{Type: conditionType, Status: found.Status, Reason: found.Reason, Message: found.Message}
}

// Summarize returns the condition that sums up the others: the first of them that
// isn't as it should be lends it status, reason and message. The order is that of
// importance. negative holds the types whose good status is False.
func Summarize(summary string, good Condition, negative map[string]bool, conditions ...Condition) Condition {
	for _, condition := range conditions {
		wanted := metav1.ConditionTrue
		if negative[condition.Type] {
			wanted = metav1.ConditionFalse
		}
		if condition.Status == wanted {
			continue
		}
		worst := False(summary, condition.Reason, condition.Message)
		if condition.Status == metav1.ConditionUnknown {
			worst.Status = metav1.ConditionUnknown
		}
		return worst
	}
	good.Type = summary
	return good
}

// Count returns a number with what is counted, for messages: "1 object", "2 objects".
func Count[N int | int64](number N, what string) string {
	if number == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", number, what)
}
