package export

import (
	"cmp"
	"context"
	"slices"
	"sync"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensionsclient "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/tools/cache"

	corev1alpha1 "github.com/kbind-dev/konnector/apis/core/v1alpha1"
	"github.com/kbind-dev/konnector/pkg/informer"
)

// Catalog is what one provider offers, followed by watch.
type Catalog struct {
	informer cache.SharedIndexInformer
	health   *informer.Health
	onChange func(api string)
}

// NewCatalog returns a catalog that is empty until it runs. onChange is called with
// the name of each API that comes, changes or goes, and with "" when watching
// begins to fail or works again; it has to be quick.
func NewCatalog(client apiextensionsclient.Interface, onChange func(api string)) *Catalog {
	catalog := &Catalog{
		health:   informer.NewHealth("exported CRDs", func() { onChange("") }),
		onChange: onChange,
	}
	selector := labels.Set{corev1alpha1.LabelExported: corev1alpha1.ValueTrue}.String()
	calls := informer.ListWatch(client.ApiextensionsV1().CustomResourceDefinitions(), catalog.health, func(options *metav1.ListOptions) {
		options.LabelSelector = selector
	})
	catalog.informer = cache.NewSharedIndexInformerWithOptions(
		cache.ToListWatcherWithWatchListSemantics(calls, client),
		&apiextensionsv1.CustomResourceDefinition{},
		cache.SharedIndexInformerOptions{ObjectDescription: "exported CRDs"},
	)
	informer.Silence(catalog.informer)
	// Both fail only for an informer that has run.
	_ = catalog.informer.SetTransform(informer.StripManagedFields)
	_, _ = catalog.informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    catalog.notify,
		UpdateFunc: func(_, crd any) { catalog.notify(crd) },
		DeleteFunc: catalog.notify,
	})
	return catalog
}

// Run follows the provider until the context ends.
func (c *Catalog) Run(ctx context.Context) {
	var filled sync.WaitGroup
	defer filled.Wait()
	filled.Go(func() {
		if cache.WaitFor(ctx, "", c.informer.HasSyncedChecker()) {
			c.onChange("")
		}
	})
	c.informer.RunWithContext(ctx)
}

// Synced reports whether the catalog has been filled at least once.
func (c *Catalog) Synced() bool { return c.informer.HasSynced() }

// Err returns why watching the provider fails, nil when it works.
func (c *Catalog) Err() error { return c.health.Err() }

// Get returns an exported CRD by its name, <plural>.<group>, or nil.
func (c *Catalog) Get(api string) *apiextensionsv1.CustomResourceDefinition {
	item, exists, err := c.informer.GetStore().GetByKey(api)
	if err != nil || !exists {
		return nil
	}
	crd := item.(*apiextensionsv1.CustomResourceDefinition)
	if NeverExported(crd.Spec.Group) {
		return nil
	}
	return crd
}

// List returns what is exported, sorted by name.
func (c *Catalog) List() []corev1alpha1.ExportedAPI {
	apis := []corev1alpha1.ExportedAPI{}
	for _, item := range c.informer.GetStore().List() {
		crd := item.(*apiextensionsv1.CustomResourceDefinition)
		if !NeverExported(crd.Spec.Group) {
			apis = append(apis, APIOf(crd))
		}
	}
	slices.SortFunc(apis, func(a, b corev1alpha1.ExportedAPI) int { return cmp.Compare(a.Name, b.Name) })
	return apis
}

func (c *Catalog) notify(object any) {
	if key, err := cache.DeletionHandlingObjectToName(object); err == nil {
		c.onChange(key.Name)
	}
}
