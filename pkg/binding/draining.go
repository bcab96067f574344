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

// drainingSince returns how long an API has been draining; the first call begins it.
func (c *Controller) drainingSince(binding coverage.BindingID, api string) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := draining{binding, api}
	began, known := c.drains[key]
	if !known {
		began = c.now()
		c.drains[key] = began
	}
	return c.now().Sub(began)
}

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
