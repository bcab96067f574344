package v1alpha1

// Labels.
const (
	// LabelExported marks a CRD on the provider as offered to consumers, when
	// its value is ValueTrue. It is the provider's opt-in and never travels.
	LabelExported = "core.kbind.io/exported"

	// LabelManaged is ValueTrue on everything that a konnector has written: copies
	// on a provider, pulled CRDs on a consumer.
	LabelManaged = "core.kbind.io/managed"

	// LabelConsumer carries the UID of the consumer cluster on everything that a
	// konnector writes on a provider. Provider informers select by it on the server.
	LabelConsumer = "core.kbind.io/consumer"
)

// ValueTrue is the value of labels and annotations that act as switches.
const ValueTrue = "true"

// Annotations on pulled CRDs.
const (
	// AnnotationConnection names the Connection that installed the CRD.
	AnnotationConnection = "core.kbind.io/connection"

	// AnnotationSchemaHash is the hash of the CRD as it was installed.
	AnnotationSchemaHash = "core.kbind.io/schema-hash"
)

// Annotations on copies on the provider.
const (
	// AnnotationConsumerClusterUID is the UID of the consumer cluster that owns the copy.
	AnnotationConsumerClusterUID = "core.kbind.io/consumer-cluster-uid"

	// AnnotationConsumerObjectUID is the UID of the consumer object that the copy
	// was made for. Another object of the same name has another UID.
	AnnotationConsumerObjectUID = "core.kbind.io/consumer-object-uid"

	// AnnotationBindingUID is the UID of the binding under which the copy was written.
	AnnotationBindingUID = "core.kbind.io/binding-uid"

	// AnnotationAppliedHash is the hash of what was applied last. It lets a
	// konnector that starts anew see without a write that nothing is to be done.
	AnnotationAppliedHash = "core.kbind.io/applied-hash"

	// AnnotationAdopted is ValueTrue on a copy that existed before and was taken
	// over under ConflictPolicyAdopt. Unbinding lets such a copy go instead of deleting it.
	AnnotationAdopted = "core.kbind.io/adopted"

	// AnnotationRelatedBinding names the binding that owns a copied Secret or ConfigMap.
	AnnotationRelatedBinding = "core.kbind.io/related-binding"
)

// Annotations on the consumer's objects.
const (
	// AnnotationConflict holds the reason for which an instance isn't synced,
	// for example ReasonForeignObjectExists. Users don't set it.
	AnnotationConflict = "core.kbind.io/conflict"

	// AnnotationRejected holds the provider's message when it refuses an instance.
	// Users don't set it.
	AnnotationRejected = "core.kbind.io/rejected"

	// AnnotationDeletionPolicy is set by users, on an instance or on a binding.
	// DeletionPolicyOrphan is its only value; any other means that copies are deleted.
	AnnotationDeletionPolicy = "core.kbind.io/deletion-policy"
)

// DeletionPolicyOrphan keeps the provider's copies when the consumer's object or
// the binding goes; only the konnector's marks are taken off them.
const DeletionPolicyOrphan = "Orphan"

// Finalizers.
const (
	// FinalizerSyncer is on every instance that has, or may have, a copy on a provider.
	FinalizerSyncer = "core.kbind.io/syncer"

	// FinalizerCleanup is on Connections, bindings and the Secrets that Connections use.
	FinalizerCleanup = "core.kbind.io/cleanup"
)

// FieldManager is the name under which the konnector applies.
// See https://kubernetes.io/docs/reference/using-api/server-side-apply/#managers.
const FieldManager = "konnector"

// SecretKeyKubeconfig is the key of a Secret that is read when a Connection names none.
const SecretKeyKubeconfig = "kubeconfig"
