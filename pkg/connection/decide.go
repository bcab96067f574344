package connection

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	corev1alpha1 "github.com/kbind-dev/konnector/apis/core/v1alpha1"
	"github.com/kbind-dev/konnector/pkg/access"
	"github.com/kbind-dev/konnector/pkg/kubeconfig"
	"github.com/kbind-dev/konnector/pkg/session"
	"github.com/kbind-dev/konnector/pkg/status"
)

// Facts are all that the status of a Connection follows from.
type Facts struct {
	Connection *corev1alpha1.Connection
	// LocalUID is the UID of our own cluster.
	LocalUID types.UID
	// Namespaces are those from which credentials are taken.
	Namespaces []string
	Secret     SecretFacts
	// Session is the state of the open session, nil when there is none.
	Session *session.State
	Catalog CatalogFacts
	// Bindings is the number of bindings that use the Connection.
	Bindings int
}

// SecretFacts are what is known of the Secret.
type SecretFacts struct {
	Allowed bool
	Synced  bool
	Err     error // why it can't be watched
	Exists  bool
	Keys    []string // that it has
	HasKey  bool
	Refusal *kubeconfig.Refusal
}

// CatalogFacts are what is known of the provider's exports.
type CatalogFacts struct {
	Synced bool
	Err    error
	APIs   []corev1alpha1.ExportedAPI
}

// negative are the conditions whose good status is False.
var negative = map[string]bool{corev1alpha1.ConditionPermissionDenied: true}

// Settled reports whether enough is known to say something new: at a start, what
// was said before stays until the first answers are there.
func (f Facts) Settled() bool {
	if f.Connection.Status.ObservedGeneration != f.Connection.Generation {
		return true
	}
	switch {
	case !f.Secret.Allowed, f.Secret.Err != nil:
		return true
	case !f.Secret.Synced:
		return false
	case f.Session == nil:
		return true
	default:
		return f.Session.Answered && (f.Session.Err != nil || f.Catalog.Synced || f.Catalog.Err != nil)
	}
}

// Decide returns the status of a Connection, and whether its session may be used
// for syncing.
func Decide(f Facts) (after corev1alpha1.ConnectionStatus, usable bool) {
	after = *f.Connection.Status.DeepCopy()
	generation := f.Connection.Generation
	after.ObservedGeneration = generation

	connected := f.connected()
	usable = f.Session != nil && f.Session.UID != "" && f.mismatch() == ""
	if usable {
		after.RemoteClusterUID, after.LocalClusterUID = f.Session.UID, f.LocalUID
	}
	if usable && f.Catalog.Synced && f.fromCRDs() {
		after.ActiveSchemaSource = corev1alpha1.SchemaSourceCRD
		after.ExportedAPIs = f.Catalog.APIs
		after.ExportedAPICount = int32(len(f.Catalog.APIs)) //nolint:gosec // far fewer than two billion
	}
	conditions := []status.Condition{f.secretValid(), connected, f.permissionDenied(), f.schemaInSync()}
	ready := status.Summarize(corev1alpha1.ConditionReady,
		status.True("", corev1alpha1.ReasonReady, "Connected; the provider exports "+status.Count(len(f.Catalog.APIs), "API")+"."),
		negative, conditions...)
	if f.Connection.DeletionTimestamp != nil {
		ready = f.draining()
	}
	status.Set(&after.Conditions, generation, append(conditions, f.heartbeat(), ready)...)
	return after, usable
}

// draining is the summary of a Connection that is being deleted.
func (f Facts) draining() status.Condition {
	return status.False(corev1alpha1.ConditionReady, corev1alpha1.ReasonDrainingBindings, fmt.Sprintf(
		"Being deleted. Bindings that still use it, and have to be deleted first: %d.", f.Bindings))
}

// fromCRDs reports whether the provider's CRDs are what the user wants to be read.
func (f Facts) fromCRDs() bool {
	return f.Connection.Spec.Schema.Source != corev1alpha1.SchemaSourceOpenAPI
}

// secretValid answers whether the Secret can be used.
func (f Facts) secretValid() status.Condition {
	ref := f.Connection.Spec.KubeconfigSecretRef
	name := ref.Namespace + "/" + ref.Name
	bad := func(reason, message string) status.Condition {
		if f.Session != nil {
			message = sentence(message) + " The last credentials that were valid stay in use meanwhile."
		}
		return status.False(corev1alpha1.ConditionSecretValid, reason, access.Sanitize(message, access.MessageLimit))
	}
	switch {
	case !f.Secret.Allowed:
		return bad(corev1alpha1.ReasonNamespaceNotAllowed, fmt.Sprintf(
			"spec.kubeconfigSecretRef.namespace: credentials are taken only from Secrets in: %s. Create the Secret and a Connection for it there, or add %q to the konnector's --credential-namespaces.",
			access.Sanitize(strings.Join(f.Namespaces, ", "), 500), ref.Namespace))
	case f.Secret.Err != nil && access.Classify(f.Secret.Err) == access.Denied:
		return bad(corev1alpha1.ReasonForbidden, "The consumer cluster does not let the konnector read Secret "+name+". "+f.secretAction().Remedy())
	case f.Secret.Err != nil:
		return bad(corev1alpha1.ReasonError, "Secret "+name+" can't be read: "+access.Describe(f.Secret.Err))
	case !f.Secret.Synced:
		return status.Unknown(corev1alpha1.ConditionSecretValid, corev1alpha1.ReasonPending, "Secret "+name+" is being read.")
	case !f.Secret.Exists:
		return bad(corev1alpha1.ReasonPending, fmt.Sprintf(
			"Secret %s does not exist yet. Create it with the provider's kubeconfig under the key %q.", name, ref.Key))
	case !f.Secret.HasKey:
		return bad(corev1alpha1.ReasonKeyNotFound, fmt.Sprintf(
			"Secret %s has no key %q; it has: %s. Put the provider's kubeconfig under that key, or name another in spec.kubeconfigSecretRef.key of a new Connection.",
			name, ref.Key, keyList(f.Secret.Keys)))
	case f.Secret.Refusal != nil:
		return bad(f.Secret.Refusal.Reason, "Secret "+name+": "+access.Sanitize(f.Secret.Refusal.Error(), 600))
	default:
		return status.True(corev1alpha1.ConditionSecretValid, corev1alpha1.ReasonSecretValid, "The kubeconfig in Secret "+name+" is in use.")
	}
}

func keyList(keys []string) string {
	if len(keys) == 0 {
		return "none"
	}
	return access.Sanitize(strings.Join(slices.Sorted(slices.Values(keys)), ", "), 200)
}

func (f Facts) secretAction() access.Action {
	ref := f.Connection.Spec.KubeconfigSecretRef
	return access.Action{Verb: "watch", Resource: "secrets", Namespace: ref.Namespace, Name: ref.Name}
}

// madeElsewhere tells that the Connection belongs to another consumer cluster, "" when
// it doesn't.
func (f Facts) madeElsewhere() string {
	pinned := f.Connection.Status.LocalClusterUID
	if pinned == "" || pinned == f.LocalUID {
		return ""
	}
	return fmt.Sprintf("This Connection was made in another consumer cluster (UID %s, this one is %s), as happens when it is restored from a backup. Create a new Connection.", pinned, f.LocalUID)
}

// mismatch tells how the clusters differ from those that are pinned, "" when they don't.
func (f Facts) mismatch() string {
	if elsewhere := f.madeElsewhere(); elsewhere != "" {
		return elsewhere
	}
	pinned := f.Connection.Status
	if f.Session != nil && pinned.RemoteClusterUID != "" && f.Session.UID != "" && pinned.RemoteClusterUID != f.Session.UID {
		return fmt.Sprintf("The kubeconfig leads to another cluster (UID %s) than at first (UID %s). Nothing is synced until it leads back; for another provider, create a new Connection.", f.Session.UID, pinned.RemoteClusterUID)
	}
	return ""
}

// connected answers whether the provider answers and is the right one.
func (f Facts) connected() status.Condition {
	no := func(reason, message string) status.Condition {
		return status.False(corev1alpha1.ConditionConnected, reason, access.Sanitize(message, access.MessageLimit))
	}
	switch {
	case f.mismatch() != "":
		return no(corev1alpha1.ReasonClusterIdentityChanged, f.mismatch())
	case f.Session == nil:
		return status.Unknown(corev1alpha1.ConditionConnected, corev1alpha1.ReasonPending, "Waits for a valid Secret.")
	case !f.Session.Answered:
		return status.Unknown(corev1alpha1.ConditionConnected, corev1alpha1.ReasonConnecting, "The provider has not answered yet.")
	case f.Session.Err == nil:
		return status.True(corev1alpha1.ConditionConnected, corev1alpha1.ReasonConnected, fmt.Sprintf("The provider answers (cluster UID %s).", f.Session.UID))
	}
	err := f.Session.Err
	switch access.Classify(err) {
	case access.Unauthorized:
		return no(corev1alpha1.ReasonUnauthorized, sentence(access.Describe(err))+" Put a kubeconfig with valid credentials into the Secret.")
	case access.Denied:
		return no(corev1alpha1.ReasonForbidden, "The provider answers, but which cluster it is can't be asked: it refuses to "+refusal(err))
	case access.Unreachable:
		return no(corev1alpha1.ReasonUnreachable, access.Describe(err))
	default:
		return no(corev1alpha1.ReasonError, access.Describe(err))
	}
}

// schemaInSync answers whether it is known what the provider offers.
func (f Facts) schemaInSync() status.Condition {
	no := func(reason, message string) status.Condition {
		return status.False(corev1alpha1.ConditionSchemaInSync, reason, access.Sanitize(message, access.MessageLimit))
	}
	switch {
	case !f.fromCRDs():
		return no(corev1alpha1.ReasonSourceNotSupported,
			"spec.schema.source: this version reads schemas from the provider's CRDs only. Use CRD or Auto.")
	case f.Session == nil || f.Session.UID == "" || f.mismatch() != "":
		return status.Unknown(corev1alpha1.ConditionSchemaInSync, corev1alpha1.ReasonPending, "Waits for the provider.")
	case access.Classify(f.Catalog.Err) == access.Denied:
		return no(corev1alpha1.ReasonForbidden, "The provider's CRDs can't be read. "+exportsAction.Remedy())
	case f.Catalog.Err != nil:
		return no(corev1alpha1.ReasonError, "The provider's CRDs can't be read: "+access.Describe(f.Catalog.Err))
	case !f.Catalog.Synced:
		return status.Unknown(corev1alpha1.ConditionSchemaInSync, corev1alpha1.ReasonPending, "The provider's CRDs are being read.")
	default:
		return status.True(corev1alpha1.ConditionSchemaInSync, corev1alpha1.ReasonSchemaInSync, "The provider exports "+status.Count(len(f.Catalog.APIs), "API")+".")
	}
}

// refusal returns what a server refuses to do and what grants it, for an error that is a refusal.
func refusal(err error) string {
	if refused, is := errors.AsType[session.Refused](err); is {
		return refused.Action.String() + ". " + refused.Action.Remedy()
	}
	return access.Message(err)
}

// sentence returns a text with a full stop, so that another one can follow.
func sentence(text string) string {
	return strings.TrimSuffix(text, ".") + "."
}

// exportsAction is what is needed to see what the provider exports.
var exportsAction = access.Action{Verb: "list", Group: "apiextensions.k8s.io", Resource: "customresourcedefinitions"}

// permissionDenied answers whether an API server refuses what is needed.
func (f Facts) permissionDenied() status.Condition {
	var refused []string
	if access.Classify(f.Secret.Err) == access.Denied {
		refused = append(refused, "The consumer refuses to "+f.secretAction().String()+".")
	}
	if f.Session != nil && access.Classify(f.Session.Err) == access.Denied {
		refused = append(refused, "The provider refuses to "+refusal(f.Session.Err))
	}
	if access.Classify(f.Catalog.Err) == access.Denied {
		refused = append(refused, "The provider refuses to "+exportsAction.String()+". "+exportsAction.Remedy())
	}
	if len(refused) == 0 {
		return status.False(corev1alpha1.ConditionPermissionDenied, corev1alpha1.ReasonAsExpected, "Nothing that is needed is refused.")
	}
	return status.True(corev1alpha1.ConditionPermissionDenied, corev1alpha1.ReasonForbidden, access.Sanitize(strings.Join(refused, " "), access.MessageLimit))
}

// heartbeat answers whether the Lease on the provider is renewed.
func (f Facts) heartbeat() status.Condition {
	if f.Session == nil || !f.Session.Heartbeat.Tried {
		// After a restart, what was said before stays until the first heartbeat.
		before := status.Get(f.Connection.Status.Conditions, corev1alpha1.ConditionHeartbeat)
		if f.Session != nil && before.Reason != "" && before.Status != metav1.ConditionUnknown {
			return before
		}
		return status.Unknown(corev1alpha1.ConditionHeartbeat, corev1alpha1.ReasonPending, "No heartbeat has been sent yet.")
	}
	beat := f.Session.Heartbeat
	no := func(reason, message string) status.Condition {
		return status.False(corev1alpha1.ConditionHeartbeat, reason, access.Sanitize(message, access.MessageLimit))
	}
	const harmless = " Syncing goes on without it."
	switch {
	case access.Classify(beat.Err) == access.Denied:
		return no(corev1alpha1.ReasonForbidden, "The provider refuses to "+sentence(refusal(beat.Err))+harmless)
	case beat.Err != nil:
		return no(corev1alpha1.ReasonError, "The Lease on the provider can't be renewed: "+sentence(access.Describe(beat.Err))+harmless)
	case beat.Duplicate != "":
		return no(corev1alpha1.ReasonDuplicateConsumer,
			"Another process ("+access.Sanitize(beat.Duplicate, 100)+") renews the Lease of this consumer: a second konnector, or a clone of this cluster. Stop one of the two.")
	default:
		return status.True(corev1alpha1.ConditionHeartbeat, corev1alpha1.ReasonLeaseRenewed, "The Lease on the provider is renewed.")
	}
}
