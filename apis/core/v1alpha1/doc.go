// Package v1alpha1 is the API of the konnector: Connection, ClusterBinding and
// Binding, and every name that the konnector writes on the wire.
//
// A Connection says how a provider cluster is reached and what it offers. A
// ClusterBinding or a Binding says which of the offered APIs are used, and with
// it that instances of these APIs are kept in sync: spec towards the provider,
// status back.
//
// +k8s:deepcopy-gen=package
// +k8s:openapi-gen=true
// +k8s:openapi-model-package=com.github.kbind-dev.konnector.apis.core.v1alpha1
// +groupName=core.kbind.io
package v1alpha1
