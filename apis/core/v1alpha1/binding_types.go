package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ClusterBinding uses APIs of a Connection in all namespaces.
//
// +genclient
// +genclient:nonNamespaced
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
// +kubebuilder:resource:scope=Cluster,categories=kbind,shortName=kcb
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Connection",type=string,JSONPath=`.spec.connectionRef.name`
// +kubebuilder:printcolumn:name="Instances",type=integer,JSONPath=`.status.instances`
// +kubebuilder:printcolumn:name="Synced",type=integer,JSONPath=`.status.synced`
// +kubebuilder:printcolumn:name="Conflicts",type=integer,JSONPath=`.status.conflicts`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Reason",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
type ClusterBinding struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is the standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is what the user wishes.
	// +required
	Spec BindingSpec `json:"spec"`

	// status is what the konnector observes.
	// +optional
	// +kubebuilder:default={conditions: {{type: "Ready", status: "Unknown", reason: "Pending", message: "Waiting for the konnector.", lastTransitionTime: "1970-01-01T00:00:00Z"}}}
	Status BindingStatus `json:"status,omitempty"`
}

// ClusterBindingList is a list of ClusterBindings.
//
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type ClusterBindingList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []ClusterBinding `json:"items"`
}

// Binding uses APIs of a Connection in its own namespace.
//
// +genclient
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
// +kubebuilder:resource:scope=Namespaced,categories=kbind,shortName=kb
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Connection",type=string,JSONPath=`.spec.connectionRef.name`
// +kubebuilder:printcolumn:name="Instances",type=integer,JSONPath=`.status.instances`
// +kubebuilder:printcolumn:name="Synced",type=integer,JSONPath=`.status.synced`
// +kubebuilder:printcolumn:name="Conflicts",type=integer,JSONPath=`.status.conflicts`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Reason",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
type Binding struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is the standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is what the user wishes.
	// +required
	Spec BindingSpec `json:"spec"`

	// status is what the konnector observes.
	// +optional
	// +kubebuilder:default={conditions: {{type: "Ready", status: "Unknown", reason: "Pending", message: "Waiting for the konnector.", lastTransitionTime: "1970-01-01T00:00:00Z"}}}
	Status BindingStatus `json:"status,omitempty"`
}

// BindingList is a list of Bindings.
//
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type BindingList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Binding `json:"items"`
}

// BindingSpec is what a user wishes of a ClusterBinding or Binding. Its scope is
// the kind's, never a field.
type BindingSpec struct {
	// connectionRef names the Connection whose APIs are used. It is immutable.
	// +required
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="connectionRef is immutable: create another binding for another Connection"
	ConnectionRef ConnectionReference `json:"connectionRef"`

	// apis are the APIs that are used.
	// +required
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=256
	APIs []APIReference `json:"apis"`

	// conflictPolicy says what happens when the provider already has an object of
	// the same name that no konnector manages: Fail leaves it alone and reports the
	// conflict, Adopt takes it over. An object of another consumer is never touched.
	// +optional
	// +kubebuilder:default=Fail
	ConflictPolicy ConflictPolicy `json:"conflictPolicy,omitempty"`

	// relatedResources are Secrets and ConfigMaps that travel with the instances.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	RelatedResources []RelatedResource `json:"relatedResources,omitempty"`
}

// ConnectionReference names a Connection.
type ConnectionReference struct {
	// name of the Connection.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
}

// APIReference names an API.
type APIReference struct {
	// name is <plural>.<group>, the name of the CRD on the provider.
	// +required
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)+$`
	Name string `json:"name"`
}

// ConflictPolicy says what happens to an object on the provider that no konnector manages.
//
// +kubebuilder:validation:Enum=Fail;Adopt
type ConflictPolicy string

// Conflict policies.
const (
	ConflictPolicyFail  ConflictPolicy = "Fail"
	ConflictPolicyAdopt ConflictPolicy = "Adopt"
)

// RelatedResource selects Secrets or ConfigMaps that travel with the instances.
type RelatedResource struct {
	// group of the resource: always the core group.
	// +optional
	// +kubebuilder:validation:Enum=""
	Group string `json:"group,omitempty"`

	// resource is secrets or configmaps.
	// +required
	// +kubebuilder:validation:Enum=secrets;configmaps
	Resource string `json:"resource"`

	// direction in which the objects travel.
	// +required
	Direction Direction `json:"direction"`

	// selector says which objects travel.
	// +required
	Selector RelatedSelector `json:"selector"`
}

// Direction is the way that related resources travel.
//
// +kubebuilder:validation:Enum=FromProvider;FromConsumer
type Direction string

// Directions.
const (
	DirectionFromProvider Direction = "FromProvider"
	DirectionFromConsumer Direction = "FromConsumer"
)

// RelatedSelector selects objects by label, by name, or by both: where both are
// given, an object has to match both.
//
// +kubebuilder:validation:XValidation:rule="(has(self.names) && size(self.names) > 0) || (has(self.labelSelector) && ((has(self.labelSelector.matchLabels) && size(self.labelSelector.matchLabels) > 0) || (has(self.labelSelector.matchExpressions) && size(self.labelSelector.matchExpressions) > 0)))",message="selector needs names or a non-empty labelSelector"
type RelatedSelector struct {
	// labelSelector selects objects by label.
	// +optional
	LabelSelector *metav1.LabelSelector `json:"labelSelector,omitempty"`

	// names selects objects by name.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=253
	Names []string `json:"names,omitempty"`
}

// BindingStatus is what the konnector observes of a ClusterBinding or Binding.
// Its counts lag behind by a few seconds while much changes.
type BindingStatus struct {
	// observedGeneration is the metadata.generation that the conditions are about.
	// It is -1 until the konnector has seen the object.
	// +optional
	// +kubebuilder:default=-1
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// instances is the number of objects that the binding covers, over all its APIs.
	// +optional
	// +kubebuilder:default=0
	Instances int64 `json:"instances"`

	// synced is the number of those objects that are in sync.
	// +optional
	// +kubebuilder:default=0
	Synced int64 `json:"synced"`

	// conflicts is the number of those objects that are in conflict.
	// +optional
	// +kubebuilder:default=0
	Conflicts int64 `json:"conflicts"`

	// boundAPIs has one entry for each API in spec.apis, and one for each API that
	// was removed from there and is still draining.
	// +optional
	// +listType=map
	// +listMapKey=name
	BoundAPIs []BoundAPI `json:"boundAPIs,omitempty"`

	// conditions are Connected, SchemaInSync, Synced, Conflicts, PermissionDenied
	// and Ready.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// BoundAPI is the state of one API of a binding.
type BoundAPI struct {
	// name is <plural>.<group>.
	// +required
	Name string `json:"name"`

	// crdHash is the hash of the CRD that is installed on the consumer.
	// +optional
	CRDHash string `json:"crdHash,omitempty"`

	// version in which instances are synced.
	// +optional
	Version string `json:"version,omitempty"`

	// instances is the number of objects that the binding covers.
	// +optional
	// +kubebuilder:default=0
	Instances int64 `json:"instances"`

	// synced is the number of objects that are in sync.
	// +optional
	// +kubebuilder:default=0
	Synced int64 `json:"synced"`

	// conflictCount is the number of objects that are in conflict.
	// +optional
	// +kubebuilder:default=0
	ConflictCount int64 `json:"conflictCount"`

	// denied is the number of objects that RBAC of a cluster refuses.
	// +optional
	// +kubebuilder:default=0
	Denied int64 `json:"denied"`

	// rejected is the number of objects that the provider refuses for other reasons,
	// such as validation or quota.
	// +optional
	// +kubebuilder:default=0
	Rejected int64 `json:"rejected"`

	// conditions are SchemaInSync and Synced.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}
