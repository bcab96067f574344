package binding

import (
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"

	corev1alpha1 "github.com/kbind-dev/konnector/apis/core/v1alpha1"
	"github.com/kbind-dev/konnector/pkg/coverage"
	"github.com/kbind-dev/konnector/pkg/schema"
)

// Facts are all that is known of a binding.
type Facts struct {
	// Connection is the one that the binding names, nil when it does not exist.
	Connection *corev1alpha1.Connection
	// APIs are those of the spec, and those that are still draining.
	APIs []APIFacts
}

// APIFacts are what is known of one API of a binding.
type APIFacts struct {
	Name string
	// Listed says that the spec lists it.
	Listed bool
	// Draining says that the binding is letting it go.
	Draining bool
	// Released says that nothing of it is left to let go.
	Released bool
	// ScopeInvalid says that a namespaced Binding lists a cluster-scoped API.
	ScopeInvalid bool
	// Known says that it is known what the provider exports.
	Known  bool
	Schema schema.Facts
	// Verdict is what follows from Schema.
	Verdict schema.Verdict
	// Winner is the binding that the API's objects are synced under, nil when there is none.
	Winner *coverage.Cover
	Report coverage.Report
}

// observe gathers what is known of a binding, from memory alone.
func (c *Controller) observe(binding *object) Facts {
	facts := Facts{}
	connection, err := c.connections.Get(binding.spec.ConnectionRef.Name)
	if err == nil { // a lister fails only for what does not exist
		facts.Connection = connection
	}
	for _, name := range apisOf(binding) {
		facts.APIs = append(facts.APIs, c.observeAPI(binding, facts.Connection, name))
	}
	return facts
}

// apisOf returns the names of the APIs of a binding: those of the spec in their
// order, then those that the status still has.
func apisOf(binding *object) []string {
	var names []string
	for _, each := range binding.spec.APIs {
		names = append(names, each.Name)
	}
	for _, each := range binding.status.BoundAPIs {
		if !slices.Contains(names, each.Name) {
			names = append(names, each.Name)
		}
	}
	return names
}

func (c *Controller) observeAPI(binding *object, connection *corev1alpha1.Connection, name string) APIFacts {
	api := coverage.API{Connection: binding.spec.ConnectionRef.Name, Name: name}
	facts := APIFacts{
		Name:     name,
		Listed:   binding.lists(name),
		Draining: binding.deleting() || !binding.lists(name),
		Report:   c.tally.Report(api, binding.id),
		Schema:   schema.Facts{API: name, Connection: api.Connection},
	}
	if crd, err := c.crds.Get(name); err == nil {
		facts.Schema.Installed = crd
	}
	if owner, managed := c.ownerOf(facts.Schema.Installed); managed {
		_, err := c.connections.Get(owner)
		facts.Schema.OwnerAlive = err == nil
	}
	if connection != nil {
		facts.Schema.Pull = connection.Spec.Schema.PullPolicy
		facts.Schema.Update = connection.Spec.Schema.UpdatePolicy
	}
	if catalog := c.catalogs.Get(api.Connection); catalog != nil && catalog.Synced() {
		facts.Known = true
		facts.Schema.Offered = catalog.Get(name)
	}
	facts.Released = facts.Draining && c.released(binding.id, name)
	facts.ScopeInvalid = !binding.id.IsCluster() && facts.isClusterScoped()
	facts.Schema.Bound = !facts.Draining && !facts.ScopeInvalid
	facts.Verdict = schema.Decide(facts.Schema)
	if winner, covered := c.index.Lookup(api, binding.id.Namespace); covered {
		facts.Winner = &winner
	}
	return facts
}

func (c *Controller) ownerOf(crd *apiextensionsv1.CustomResourceDefinition) (connection string, managed bool) {
	if crd == nil {
		return "", false
	}
	return schema.OwnerOf(crd)
}

// target returns what of an API is synced, nil when nothing can be.
func (f APIFacts) target() *coverage.Target {
	crd := f.Schema.Installed
	if crd == nil || f.Verdict.Version == "" {
		return nil
	}
	for _, version := range crd.Spec.Versions {
		if version.Name != f.Verdict.Version || !version.Served {
			continue
		}
		group := runtimeschema.GroupVersion{Group: crd.Spec.Group, Version: version.Name}
		return &coverage.Target{
			Kind:              group.WithKind(crd.Spec.Names.Kind),
			Resource:          group.WithResource(crd.Spec.Names.Plural),
			Namespaced:        crd.Spec.Scope == apiextensionsv1.NamespaceScoped,
			StatusSubresource: version.Subresources != nil && version.Subresources.Status != nil,
		}
	}
	return nil
}

// isClusterScoped reports whether the API has no namespaces, as far as that is known.
func (f APIFacts) isClusterScoped() bool {
	for _, crd := range []*apiextensionsv1.CustomResourceDefinition{f.Schema.Installed, f.Schema.Offered} {
		if crd != nil {
			return crd.Spec.Scope == apiextensionsv1.ClusterScoped
		}
	}
	return false
}
