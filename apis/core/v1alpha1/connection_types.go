package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Connection says how one provider cluster is reached, and what it offers.
//
// +genclient
// +genclient:nonNamespaced
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
// +kubebuilder:resource:scope=Cluster,categories=kbind,shortName=kconn
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Source",type=string,JSONPath=`.status.activeSchemaSource`
// +kubebuilder:printcolumn:name="Exported",type=integer,JSONPath=`.status.exportedAPICount`,description="Number of APIs that the provider offers"
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Reason",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
type Connection struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is the standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is what the user wishes.
	// +required
	Spec ConnectionSpec `json:"spec"`

	// status is what the konnector observes.
	// +optional
	// +kubebuilder:default={conditions: {{type: "Ready", status: "Unknown", reason: "Pending", message: "Waiting for the konnector.", lastTransitionTime: "1970-01-01T00:00:00Z"}}}
	Status ConnectionStatus `json:"status,omitempty"`
}

// ConnectionList is a list of Connections.
//
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type ConnectionList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Connection `json:"items"`
}

// ConnectionSpec is what a user wishes of a Connection.
type ConnectionSpec struct {
	// kubeconfigSecretRef names the Secret that holds the provider's kubeconfig.
	// It is the only credential, and it is immutable: to use another Secret, make
	// another Connection. To rotate credentials, change the content of the Secret.
	// +required
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="kubeconfigSecretRef is immutable: change the content of the Secret to rotate credentials, or create another Connection"
	KubeconfigSecretRef SecretKeyReference `json:"kubeconfigSecretRef"`

	// schema says where the schemas of the provider's APIs come from, and which of
	// them are installed on the consumer.
	// +optional
	// +kubebuilder:default={}
	Schema SchemaPolicy `json:"schema,omitempty"`

	// autoBind keeps a ClusterBinding, named after the Connection, that lists all
	// exported APIs.
	// +optional
	// +kubebuilder:default=false
	AutoBind bool `json:"autoBind,omitempty"`

	// allowedNamespaces selects the namespaces in which a Binding may use this
	// Connection. When unset, every namespace may.
	// +optional
	AllowedNamespaces *metav1.LabelSelector `json:"allowedNamespaces,omitempty"`
}

// SecretKeyReference names one key of one Secret.
type SecretKeyReference struct {
	// namespace of the Secret.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Namespace string `json:"namespace"`

	// name of the Secret.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`

	// key of the Secret's data under which the kubeconfig is found.
	// +optional
	// +kubebuilder:default=kubeconfig
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Key string `json:"key,omitempty"`
}

// SchemaPolicy says where schemas come from and how they are installed.
type SchemaPolicy struct {
	// source of the schemas. CRD reads the provider's CRDs that carry the label
	// core.kbind.io/exported=true. OpenAPI builds CRDs from the provider's
	// discovery and OpenAPI documents. Auto takes CRD where the provider serves
	// CustomResourceDefinitions and is no logical cluster, and OpenAPI elsewhere.
	// +optional
	// +kubebuilder:default=Auto
	Source SchemaSource `json:"source,omitempty"`

	// pullPolicy says which exported APIs become CRDs on the consumer: those that a
	// binding lists (Bound), All, or None (somebody else installs them).
	// +optional
	// +kubebuilder:default=Bound
	PullPolicy SchemaPullPolicy `json:"pullPolicy,omitempty"`

	// updatePolicy says whether installed CRDs follow the provider (Always) or stay
	// as they were pulled first (Once).
	// +optional
	// +kubebuilder:default=Always
	UpdatePolicy SchemaUpdatePolicy `json:"updatePolicy,omitempty"`
}

// SchemaSource is where the schemas of a provider's APIs come from.
//
// +kubebuilder:validation:Enum=Auto;CRD;OpenAPI
type SchemaSource string

// Schema sources.
const (
	SchemaSourceAuto    SchemaSource = "Auto"
	SchemaSourceCRD     SchemaSource = "CRD"
	SchemaSourceOpenAPI SchemaSource = "OpenAPI"
)

// SchemaPullPolicy says which exported APIs become CRDs on the consumer.
//
// +kubebuilder:validation:Enum=Bound;All;None
type SchemaPullPolicy string

// Pull policies.
const (
	SchemaPullBound SchemaPullPolicy = "Bound"
	SchemaPullAll   SchemaPullPolicy = "All"
	SchemaPullNone  SchemaPullPolicy = "None"
)

// SchemaUpdatePolicy says whether installed CRDs follow the provider.
//
// +kubebuilder:validation:Enum=Always;Once
type SchemaUpdatePolicy string

// Update policies.
const (
	SchemaUpdateAlways SchemaUpdatePolicy = "Always"
	SchemaUpdateOnce   SchemaUpdatePolicy = "Once"
)

// ConnectionStatus is what the konnector observes of a Connection.
//
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.remoteClusterUID) || has(self.remoteClusterUID)",message="remoteClusterUID is pinned at the first connect and cannot be removed"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.localClusterUID) || has(self.localClusterUID)",message="localClusterUID is pinned at the first connect and cannot be removed"
type ConnectionStatus struct {
	// observedGeneration is the metadata.generation that the conditions are about.
	// It is -1 until the konnector has seen the object.
	// +optional
	// +kubebuilder:default=-1
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// remoteClusterUID identifies the provider cluster. It is pinned at the first connect.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="remoteClusterUID is pinned at the first connect"
	RemoteClusterUID types.UID `json:"remoteClusterUID,omitempty"`

	// localClusterUID identifies the consumer cluster. It is pinned at the first connect.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="localClusterUID is pinned at the first connect"
	LocalClusterUID types.UID `json:"localClusterUID,omitempty"`

	// activeSchemaSource is CRD or OpenAPI, as spec.schema.source was resolved.
	// +optional
	ActiveSchemaSource SchemaSource `json:"activeSchemaSource,omitempty"`

	// exportedAPIs are the APIs that the provider offers, sorted by name.
	// +optional
	// +listType=map
	// +listMapKey=name
	ExportedAPIs []ExportedAPI `json:"exportedAPIs,omitempty"`

	// exportedAPICount is the number of APIs that the provider offers.
	// +optional
	// +kubebuilder:default=0
	ExportedAPICount int32 `json:"exportedAPICount"`

	// conditions are SecretValid, Connected, SchemaInSync, PermissionDenied,
	// Heartbeat and Ready.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// ExportedAPI is one API that the provider offers.
type ExportedAPI struct {
	// name is <plural>.<group>, the name of the CRD.
	// +required
	Name string `json:"name"`

	// group of the API.
	// +required
	Group string `json:"group"`

	// resource is the plural name.
	// +required
	Resource string `json:"resource"`

	// kind of the API's objects.
	// +required
	Kind string `json:"kind"`

	// scope is Namespaced or Cluster.
	// +required
	Scope string `json:"scope"`

	// versions that the provider serves, most preferred first.
	// See https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definition-versioning/#version-priority.
	// +optional
	// +listType=atomic
	Versions []string `json:"versions,omitempty"`
}
