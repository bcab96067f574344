package coverage

import (
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	corev1alpha1 "github.com/kbind-dev/konnector/apis/core/v1alpha1"
)

// API is one API of one Connection.
type API struct {
	Connection string
	Name       string // <plural>.<group>
}

// String returns connection/name.
func (a API) String() string { return a.Connection + "/" + a.Name }

// BindingID names a ClusterBinding or, with a namespace, a Binding.
type BindingID struct {
	Namespace string
	Name      string
}

// IsCluster reports whether it is a ClusterBinding.
func (id BindingID) IsCluster() bool { return id.Namespace == "" }

// Kind returns the kind of the binding.
func (id BindingID) Kind() string {
	if id.IsCluster() {
		return "ClusterBinding"
	}
	return "Binding"
}

// String returns kind and name for messages.
func (id BindingID) String() string {
	if id.IsCluster() {
		return id.Kind() + " " + id.Name
	}
	return id.Kind() + " " + id.Namespace + "/" + id.Name
}

// Binding is what a syncer has to know of a binding.
type Binding struct {
	ID         BindingID
	UID        types.UID
	Created    time.Time
	Connection string
	Policy     corev1alpha1.ConflictPolicy

	// Orphan says that copies stay when the binding lets them go.
	Orphan bool
}

// Cover is the answer for one object: the binding that it is synced under, and
// whether that binding is letting it go.
type Cover struct {
	Binding
	Draining bool
}

// Target is what of an API is synced.
type Target struct {
	Kind       schema.GroupVersionKind
	Resource   schema.GroupVersionResource
	Namespaced bool

	// StatusSubresource says that the consumer takes a status only at /status.
	StatusSubresource bool
}

// State is how one object stands.
type State string

// States.
const (
	// Pending objects are on their way.
	Pending State = "Pending"
	// Synced objects are the same on both sides.
	Synced State = "Synced"
	// Conflicting objects are left alone, because the provider has something else under their name.
	Conflicting State = "Conflicting"
	// Denied objects are refused by RBAC.
	Denied State = "Denied"
	// Rejected objects are refused by the provider for other reasons.
	Rejected State = "Rejected"
	// Leaving objects wait for their copy to go.
	Leaving State = "Leaving"
)

// Counts are the numbers of objects by state; Instances is the number of all.
type Counts struct {
	Instances   int64
	Synced      int64
	Conflicting int64
	Denied      int64
	Rejected    int64
}
