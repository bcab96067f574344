package binding

import (
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/kbind-dev/konnector/pkg/coverage"
)

// draining names an API that a binding is letting go.
type draining struct {
	binding coverage.BindingID
	api     string
}

// drain is how far it has got.
type drain struct {
	began time.Time
	// released says that nothing of the API is left to do, while the binding itself
	// is still on its way out.
	released bool
}

// drainingSince returns how long an API has been draining; the first call begins it.
func (c *Controller) drainingSince(binding coverage.BindingID, api string) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := draining{binding, api}
	of, known := c.drains[key]
	if !known {
		of = drain{began: c.now()}
		c.drains[key] = of
	}
	return c.now().Sub(of.began)
}

// released reports whether a binding has let an API go already.
func (c *Controller) released(binding coverage.BindingID, api string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.drains[draining{binding, api}].released
}

// setReleased notes that a binding has let an API go.
func (c *Controller) setReleased(binding coverage.BindingID, api string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := draining{binding, api}
	of := c.drains[key]
	of.released = true
	c.drains[key] = of
}

// forgetDraining forgets an API that the binding lists again.
func (c *Controller) forgetDraining(binding coverage.BindingID, api string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.drains, draining{binding, api})
}

// storageVersion returns the version in which a CRD stores its objects.
func storageVersion(crd *apiextensionsv1.CustomResourceDefinition) string {
	for _, version := range crd.Spec.Versions {
		if version.Storage {
			return version.Name
		}
	}
	return ""
}
