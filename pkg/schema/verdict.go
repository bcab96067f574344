package schema

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	corev1alpha1 "github.com/kbind-dev/konnector/apis/core/v1alpha1"
)

// Facts are what is known about one API of one Connection.
type Facts struct {
	// API is <plural>.<group>. It tells the group of an API that isn't offered.
	API string
	// Connection is the name of the Connection.
	Connection string
	// Offered is the provider's CRD, nil when it isn't exported.
	Offered *apiextensionsv1.CustomResourceDefinition
	// Installed is the consumer's CRD with all of its labels and annotations, nil
	// when there is none.
	Installed *apiextensionsv1.CustomResourceDefinition
	// Pull and Update are the Connection's policies.
	Pull   corev1alpha1.SchemaPullPolicy
	Update corev1alpha1.SchemaUpdatePolicy
	// OwnerAlive says that the Connection named on the installed CRD exists.
	OwnerAlive bool
	// Bound says that a binding lists the API.
	Bound bool
}

// Action is what has to be done with the consumer's CRD.
type Action string

// Actions.
const (
	// None leaves it alone.
	None Action = "None"
	// Create makes it.
	Create Action = "Create"
	// Update replaces it.
	Update Action = "Update"
)

// Verdict is what follows from Facts. It tells how things are once Action has been
// done; [Refused] tells how they are when the API server didn't let it.
type Verdict struct {
	Action Action
	// Desired is the object to write, nil under None.
	Desired *apiextensionsv1.CustomResourceDefinition
	// Repairs says that the update takes back what somebody changed on the consumer.
	Repairs bool

	// Usable says that instances may be synced. Where it is false nothing new is
	// synced, and nothing is deleted either.
	Usable bool
	// Draining says that the consumer's CRD is being deleted and waits for its
	// instances: what runs has to run on until they are gone.
	Draining bool
	// Version is the one in which instances are synced, "" when there is none.
	Version string
	// Hash is that of the consumer's CRD, "" when there is none.
	Hash string

	// InSync, Reason and Message are for the condition SchemaInSync.
	InSync  bool
	Reason  string
	Message string
}

// view is Facts with what is derived from them.
type view struct {
	Facts
	// live is the hash of what is installed.
	live string
	// owned says whose it is.
	owned ownership
}

func look(facts Facts) view {
	v := view{Facts: facts}
	if facts.Installed != nil {
		v.live = Hash(facts.Installed)
		v.owned = classify(facts.Installed, v.live, facts.Connection, facts.OwnerAlive)
	}
	return v
}

// wanted reports whether the policy asks for a CRD on the consumer.
func (v view) wanted() bool {
	return v.Bound || v.Pull == corev1alpha1.SchemaPullAll
}

// used reports whether instances of the installed CRD are synced, or were until now.
func (v view) used() bool {
	switch {
	case v.Installed == nil:
		return false
	case v.Pull == corev1alpha1.SchemaPullNone:
		return v.owned != anothers
	}
	return v.owned == ours
}

// render returns the CRD that the consumer should have, with our marks.
func (v view) render() (*apiextensionsv1.CustomResourceDefinition, error) {
	kept := ""
	if v.Installed != nil {
		kept = storageVersion(v.Installed)
	}
	desired, err := copyKeeping(v.Offered, kept)
	if err != nil {
		return nil, err
	}
	Mark(desired, v.Connection)
	return desired, nil
}
