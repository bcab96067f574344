package v1alpha1

// Condition types. Every object carries all types of its kind from the first
// visit on, with status Unknown for what is not known yet.
const (
	// ConditionReady sums up: True when the object does its work, otherwise with
	// the reason and message of the worst of the other conditions. On every kind.
	ConditionReady = "Ready"

	// ConditionSecretValid tells whether the Secret can be used: it exists in an
	// allowed namespace and holds a kubeconfig that is accepted. On Connections.
	ConditionSecretValid = "SecretValid"

	// ConditionConnected tells whether the provider answers and is the cluster
	// that it was at first. On Connections, and on bindings for their Connection.
	ConditionConnected = "Connected"

	// ConditionSchemaInSync tells whether the CRDs on the consumer are those that
	// the provider offers now. On Connections, bindings and bound APIs.
	ConditionSchemaInSync = "SchemaInSync"

	// ConditionPermissionDenied is True while an API server refuses something that
	// is needed; its message names verb and resource. On Connections and bindings.
	ConditionPermissionDenied = "PermissionDenied"

	// ConditionHeartbeat tells whether the Lease on the provider is renewed. It
	// never stops syncing. On Connections.
	ConditionHeartbeat = "Heartbeat"

	// ConditionSynced tells whether instances flow: caches of both clusters are
	// filled and the last round trips worked. On bindings and bound APIs.
	ConditionSynced = "Synced"

	// ConditionConflicts is True while objects are left alone because the provider
	// has something else under their name. On bindings.
	ConditionConflicts = "Conflicts"
)

// Reasons that several conditions share.
const (
	// ReasonReady says that all is well.
	ReasonReady = "Ready"

	// ReasonPending says that something is waited for that resolves by itself: an
	// object that does not exist yet, such as a Secret, a Connection or an API.
	ReasonPending = "Pending"

	// ReasonAsExpected is given by conditions whose good status is False.
	ReasonAsExpected = "AsExpected"

	// ReasonForbidden says that RBAC of a cluster refuses what the message names.
	ReasonForbidden = "Forbidden"

	// ReasonError says that something went wrong that the message describes; it is tried again.
	ReasonError = "Error"
)

// Reasons of ConditionSecretValid.
const (
	// ReasonSecretValid says that the kubeconfig is in use.
	ReasonSecretValid = "SecretValid"

	// ReasonKeyNotFound says that the Secret lacks the key that the Connection names.
	ReasonKeyNotFound = "KeyNotFound"

	// ReasonNamespaceNotAllowed says that the Secret lies outside of the namespaces
	// from which the konnector takes credentials.
	ReasonNamespaceNotAllowed = "NamespaceNotAllowed"

	// ReasonKubeconfigInvalid says that the bytes are no usable kubeconfig.
	ReasonKubeconfigInvalid = "KubeconfigInvalid"

	// ReasonKubeconfigNotAllowed says that the kubeconfig uses a field that is
	// refused for safety, such as an exec plugin or a path to a file.
	ReasonKubeconfigNotAllowed = "KubeconfigNotAllowed"
)

// Reasons of ConditionConnected.
const (
	// ReasonConnected says that the provider answers.
	ReasonConnected = "Connected"

	// ReasonConnecting says that the provider has not answered yet.
	ReasonConnecting = "Connecting"

	// ReasonUnreachable says that the provider does not answer; it is tried again.
	ReasonUnreachable = "Unreachable"

	// ReasonUnauthorized says that the provider does not accept the credentials.
	ReasonUnauthorized = "Unauthorized"

	// ReasonClusterIdentityChanged says that the kubeconfig leads to another cluster
	// than the one whose UID is pinned. Nothing is written until it leads back.
	ReasonClusterIdentityChanged = "ClusterIdentityChanged"
)

// Reasons of ConditionHeartbeat.
const (
	// ReasonLeaseRenewed says that the Lease on the provider is up to date.
	ReasonLeaseRenewed = "LeaseRenewed"

	// ReasonDuplicateConsumer says that another process renews the same Lease,
	// as happens when a consumer cluster was cloned.
	ReasonDuplicateConsumer = "DuplicateConsumer"
)

// Reasons of ConditionSchemaInSync.
const (
	// ReasonSchemaInSync says that the consumer serves what the provider offers.
	ReasonSchemaInSync = "SchemaInSync"

	// ReasonSchemaPinned says that the CRD stays as it was first pulled, under
	// SchemaUpdateOnce.
	ReasonSchemaPinned = "SchemaPinned"

	// ReasonModified says that somebody changed a CRD that is pinned.
	ReasonModified = "Modified"

	// ReasonAPINotExported says that the provider no longer offers an API that was in use.
	ReasonAPINotExported = "APINotExported"

	// ReasonNotAllowed says that the API belongs to a group that is never bound.
	ReasonNotAllowed = "NotAllowed"

	// ReasonCRDNotOwned says that a CRD of this name exists that no Connection installed.
	ReasonCRDNotOwned = "CRDNotOwned"

	// ReasonClaimedByAnotherConnection says that another Connection installed the CRD.
	ReasonClaimedByAnotherConnection = "ClaimedByAnotherConnection"

	// ReasonCRDNotFound says that the CRD is missing and, under SchemaPullNone, is not installed.
	ReasonCRDNotFound = "CRDNotFound"

	// ReasonSourceNotSupported says that schemas can't be read in the way that is asked for.
	ReasonSourceNotSupported = "SourceNotSupported"

	// ReasonCRDNotEstablished says that the CRD is installed but not served yet.
	ReasonCRDNotEstablished = "CRDNotEstablished"

	// ReasonCRDRefused says that the consumer's API server refuses the CRD, with its words.
	ReasonCRDRefused = "CRDRefused"

	// ReasonScopeChanged says that the provider's API has another scope than the installed one.
	ReasonScopeChanged = "ScopeChanged"

	// ReasonScopeInvalid says that a Binding lists a cluster-scoped API, which only
	// a ClusterBinding can.
	ReasonScopeInvalid = "ScopeInvalid"
)

// Reasons of ConditionSynced, of ConditionConflicts, and of objects in conflict.
const (
	// ReasonSynced says that instances flow.
	ReasonSynced = "Synced"

	// ReasonSyncStarting says that caches are being filled.
	ReasonSyncStarting = "SyncStarting"

	// ReasonObjectsNotSynced says that some instances are not in sync; the message tells how many.
	ReasonObjectsNotSynced = "ObjectsNotSynced"

	// ReasonCoveredByClusterBinding says that a ClusterBinding covers the API as well and goes first.
	ReasonCoveredByClusterBinding = "CoveredByClusterBinding"

	// ReasonCoveredByAnotherBinding says that an older binding of the same kind covers the API.
	ReasonCoveredByAnotherBinding = "CoveredByAnotherBinding"

	// ReasonNoConflicts says that no object is in conflict.
	ReasonNoConflicts = "NoConflicts"

	// ReasonObjectsInConflict says that objects are in conflict; the message tells how many.
	ReasonObjectsInConflict = "ObjectsInConflict"

	// ReasonForeignObjectExists says that the provider has an object of this name
	// that carries no marks of a konnector.
	ReasonForeignObjectExists = "ForeignObjectExists"

	// ReasonStaleOwner says that the provider has a copy of an earlier consumer
	// object of this name.
	ReasonStaleOwner = "StaleOwner"

	// ReasonOwnedByAnother says that the provider's object belongs to another
	// consumer cluster, or to another binding that lives.
	ReasonOwnedByAnother = "OwnedByAnother"
)

// Reasons of objects that are going.
const (
	// ReasonDrainingObjects says that a binding waits for the copies of its instances to go.
	ReasonDrainingObjects = "DrainingObjects"

	// ReasonDrainingBindings says that a Connection waits for its bindings to go.
	ReasonDrainingBindings = "DrainingBindings"

	// ReasonConnectionNotReady says that the Connection is not usable; see its conditions.
	ReasonConnectionNotReady = "ConnectionNotReady"

	// ReasonConnectionNotAllowed says that the Connection does not admit Bindings of this namespace.
	ReasonConnectionNotAllowed = "ConnectionNotAllowed"
)
