package binding

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	corev1alpha1 "github.com/kbind-dev/konnector/apis/core/v1alpha1"
	"github.com/kbind-dev/konnector/pkg/access"
	"github.com/kbind-dev/konnector/pkg/coverage"
	"github.com/kbind-dev/konnector/pkg/status"
)

// negative are the conditions whose good status is False.
var negative = map[string]bool{
	corev1alpha1.ConditionPermissionDenied: true,
	corev1alpha1.ConditionConflicts:        true,
}

// Decide returns the status of a binding.
func Decide(binding *object, facts Facts) corev1alpha1.BindingStatus {
	after := *binding.status.DeepCopy()
	generation := binding.GetGeneration()
	connected := connectedOf(binding, facts.Connection)
	after.BoundAPIs = nil
	after.Instances, after.Synced, after.Conflicts = 0, 0, 0
	for _, api := range facts.APIs {
		if !api.Listed && (api.Released || api.ScopeInvalid) {
			continue
		}
		entry := entryOf(binding, api, connected)
		after.BoundAPIs = append(after.BoundAPIs, entry)
		after.Instances += entry.Instances
		after.Synced += entry.Synced
		after.Conflicts += entry.ConflictCount
	}
	after.ObservedGeneration = generation
	conditions := []status.Condition{
		connected,
		worst(after.BoundAPIs, corev1alpha1.ConditionSchemaInSync, corev1alpha1.ReasonSchemaInSync, "The schemas of all APIs are in sync."),
		deniedOf(facts),
		worst(after.BoundAPIs, corev1alpha1.ConditionSynced, corev1alpha1.ReasonSynced, "Instances of all APIs are kept in sync."),
		conflictsOf(after),
	}
	ready := status.Summarize(corev1alpha1.ConditionReady,
		status.True("", corev1alpha1.ReasonReady, "All APIs are bound and kept in sync."), negative, conditions...)
	if binding.deleting() {
		ready = drainingOf(after, connected)
	}
	status.Set(&after.Conditions, generation, append(conditions, ready)...)
	return after
}

// connectedOf tells of the Connection what matters to the binding.
func connectedOf(binding *object, connection *corev1alpha1.Connection) status.Condition {
	name := binding.spec.ConnectionRef.Name
	if connection == nil {
		return status.False(corev1alpha1.ConditionConnected, corev1alpha1.ReasonPending,
			fmt.Sprintf("Connection %q does not exist yet. Create it, or correct spec.connectionRef in a new %s.", name, binding.id.Kind()))
	}
	conditions := connection.Status.Conditions
	cause := status.Get(conditions, corev1alpha1.ConditionConnected)
	if cause.Status == metav1.ConditionTrue { // also on credentials whose Secret is gone
		return status.True(corev1alpha1.ConditionConnected, corev1alpha1.ReasonConnected, fmt.Sprintf("Connection %q is connected.", name))
	}
	if valid := status.Get(conditions, corev1alpha1.ConditionSecretValid); valid.Status != metav1.ConditionTrue {
		cause = valid
	}
	if cause.Status == metav1.ConditionUnknown {
		return status.Unknown(corev1alpha1.ConditionConnected, corev1alpha1.ReasonPending, fmt.Sprintf("Connection %q is not connected yet.", name))
	}
	return status.False(corev1alpha1.ConditionConnected, corev1alpha1.ReasonConnectionNotReady,
		access.Sanitize(fmt.Sprintf("Connection %q: %s: %s", name, cause.Reason, cause.Message), access.MessageLimit))
}

// entryOf returns the entry of one API.
func entryOf(binding *object, api APIFacts, connected status.Condition) corev1alpha1.BoundAPI {
	entry := corev1alpha1.BoundAPI{Name: api.Name}
	if before := binding.bound(api.Name); before != nil {
		entry = *before.DeepCopy()
	}
	switch {
	case api.ScopeInvalid, !api.ours(): // nothing is synced, so that nothing counts either
		entry = corev1alpha1.BoundAPI{Name: api.Name, Conditions: entry.Conditions}
	case api.Known:
		entry.CRDHash, entry.Version = api.Verdict.Hash, api.Verdict.Version
	}
	if api.Report.Phase == coverage.Running {
		entry.Instances = api.Report.Instances
		entry.Synced = api.Report.Synced
		entry.ConflictCount = api.Report.Conflicting
		entry.Denied = api.Report.Counts.Denied
		entry.Rejected = api.Report.Rejected
	}
	schemaInSync := schemaOf(binding, api, entry)
	status.Set(&entry.Conditions, binding.GetGeneration(), schemaInSync, syncedOf(binding, api, entry, schemaInSync, connected))
	return entry
}

// schemaOf answers whether the consumer serves what the provider offers.
func schemaOf(binding *object, api APIFacts, entry corev1alpha1.BoundAPI) status.Condition {
	verdict := api.Verdict
	switch {
	case api.ScopeInvalid:
		return status.False(corev1alpha1.ConditionSchemaInSync, corev1alpha1.ReasonScopeInvalid,
			fmt.Sprintf("%s is cluster-scoped: only a ClusterBinding can list it.", api.Name))
	case !api.Known && verdict.Reason != corev1alpha1.ReasonNotAllowed:
		if known, ok := previous(binding, entry, corev1alpha1.ConditionSchemaInSync); ok {
			return known
		}
		return status.Unknown(corev1alpha1.ConditionSchemaInSync, corev1alpha1.ReasonPending, "Waits to learn what the provider exports.")
	case api.Schema.Offered == nil && !api.ours() && verdict.Reason == corev1alpha1.ReasonAPINotExported:
		return status.False(corev1alpha1.ConditionSchemaInSync, corev1alpha1.ReasonPending,
			fmt.Sprintf("The provider does not export %s yet. Its CRD there needs the label %s=%s; status.exportedAPIs of the Connection lists what is exported.", api.Name, corev1alpha1.LabelExported, corev1alpha1.ValueTrue))
	case verdict.InSync:
		return status.True(corev1alpha1.ConditionSchemaInSync, verdict.Reason, verdict.Message)
	default:
		return status.False(corev1alpha1.ConditionSchemaInSync, verdict.Reason, access.Sanitize(verdict.Message, access.MessageLimit))
	}
}

// previous returns what was said before, as long as it is about this generation and
// was no doubt. It keeps a restart from showing in the status.
func previous(binding *object, entry corev1alpha1.BoundAPI, conditionType string) (status.Condition, bool) {
	if binding.status.ObservedGeneration != binding.GetGeneration() {
		return status.Condition{}, false
	}
	known := status.Get(entry.Conditions, conditionType)
	return known, known.Status == metav1.ConditionTrue
}

// syncedOf answers whether instances of an API flow.
func syncedOf(binding *object, api APIFacts, entry corev1alpha1.BoundAPI, schemaInSync, connected status.Condition) status.Condition {
	unknown := func(reason, message string) status.Condition {
		return status.Unknown(corev1alpha1.ConditionSynced, reason, message)
	}
	winner := api.Winner
	switch {
	case api.Draining:
		return status.False(corev1alpha1.ConditionSynced, corev1alpha1.ReasonDrainingObjects, fmt.Sprintf(
			"Being let go: %s left whose copy on the provider has to go first.", status.Count(entry.Instances, "object")))
	case api.ScopeInvalid:
		return unknown(schemaInSync.Reason, "Never synced under a Binding.")
	case connected.Status != metav1.ConditionTrue:
		return unknown(corev1alpha1.ReasonConnectionNotReady, "Waits for the Connection.")
	case api.Known && !api.Verdict.Usable:
		return unknown(schemaInSync.Reason, "Waits for the schema.")
	case winner != nil && winner.ID != binding.id && winner.ID.IsCluster() && !binding.id.IsCluster():
		return status.True(corev1alpha1.ConditionSynced, corev1alpha1.ReasonCoveredByClusterBinding, winner.ID.String()+" covers the API and goes first.")
	case winner != nil && winner.ID != binding.id:
		return status.True(corev1alpha1.ConditionSynced, corev1alpha1.ReasonCoveredByAnotherBinding, winner.ID.String()+" covers the API and is older.")
	case api.Report.Err != "":
		return status.False(corev1alpha1.ConditionSynced, corev1alpha1.ReasonError, access.Sanitize(api.Report.Err, access.MessageLimit))
	case api.Report.Phase == coverage.Running:
		return status.True(corev1alpha1.ConditionSynced, corev1alpha1.ReasonSynced, "Instances are kept in sync.")
	}
	if known, ok := previous(binding, entry, corev1alpha1.ConditionSynced); ok {
		return known
	}
	return unknown(corev1alpha1.ReasonSyncStarting, "Caches are being filled.")
}

// worst returns the first condition of a type that isn't True in any entry.
func worst(entries []corev1alpha1.BoundAPI, conditionType, reason, message string) status.Condition {
	var unknown *status.Condition
	for _, entry := range entries {
		condition := status.Get(entry.Conditions, conditionType)
		condition.Message = access.Sanitize(entry.Name+": "+condition.Message, access.MessageLimit)
		switch condition.Status {
		case metav1.ConditionFalse:
			return condition
		case metav1.ConditionUnknown:
			if unknown == nil {
				unknown = &condition
			}
		case metav1.ConditionTrue:
		}
	}
	if unknown != nil {
		return *unknown
	}
	return status.True(conditionType, reason, message)
}

// deniedOf answers whether RBAC refuses something.
func deniedOf(facts Facts) status.Condition {
	var refused []string
	for _, api := range facts.APIs {
		if api.Report.Counts.Denied > 0 {
			refused = append(refused, fmt.Sprintf("%s: %s: %s", api.Name, status.Count(api.Report.Counts.Denied, "object"), api.Report.Denied))
		}
	}
	if len(refused) == 0 {
		return status.False(corev1alpha1.ConditionPermissionDenied, corev1alpha1.ReasonAsExpected, "Nothing that is needed is refused.")
	}
	return status.True(corev1alpha1.ConditionPermissionDenied, corev1alpha1.ReasonForbidden, access.Sanitize(strings.Join(refused, " "), access.MessageLimit))
}

// conflictsOf answers whether objects are in conflict.
func conflictsOf(after corev1alpha1.BindingStatus) status.Condition {
	if after.Conflicts == 0 {
		return status.False(corev1alpha1.ConditionConflicts, corev1alpha1.ReasonNoConflicts, "No object is in conflict.")
	}
	return status.True(corev1alpha1.ConditionConflicts, corev1alpha1.ReasonObjectsInConflict, fmt.Sprintf(
		"%s in conflict with what the provider has under the name; the annotation %s and an Event on each tell more.",
		status.Count(after.Conflicts, "object"), corev1alpha1.AnnotationConflict))
}

// drainingOf is the summary of a binding that is being deleted.
func drainingOf(after corev1alpha1.BindingStatus, connected status.Condition) status.Condition {
	message := fmt.Sprintf("Being deleted: %s left whose copy on the provider has to go first.", status.Count(after.Instances, "object"))
	if connected.Status != metav1.ConditionTrue {
		message += " " + access.Sanitize(connected.Message, 600) + fmt.Sprintf(" To leave the copies on the provider instead, annotate the binding with %s=%s.",
			corev1alpha1.AnnotationDeletionPolicy, corev1alpha1.DeletionPolicyOrphan)
	}
	return status.False(corev1alpha1.ConditionReady, corev1alpha1.ReasonDrainingObjects, access.Sanitize(message, access.MessageLimit))
}

// onlyCounts reports whether two statuses differ in nothing but counts and messages.
func onlyCounts(before, after *corev1alpha1.BindingStatus) bool {
	return !equality.Semantic.DeepEqual(before, after) &&
		equality.Semantic.DeepEqual(withoutCounts(before), withoutCounts(after))
}

func withoutCounts(full *corev1alpha1.BindingStatus) *corev1alpha1.BindingStatus {
	bare := full.DeepCopy()
	bare.Instances, bare.Synced, bare.Conflicts = 0, 0, 0
	silence(bare.Conditions)
	for i := range bare.BoundAPIs {
		entry := &bare.BoundAPIs[i]
		entry.Instances, entry.Synced, entry.ConflictCount, entry.Denied, entry.Rejected = 0, 0, 0, 0, 0
		silence(entry.Conditions)
	}
	return bare
}

func silence(conditions []metav1.Condition) {
	for i := range conditions {
		conditions[i].Message = ""
	}
}
