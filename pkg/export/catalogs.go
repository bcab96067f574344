package export

import (
	"slices"
	"sync"
)

// Catalogs holds the catalog of each Connection. It is safe for concurrent use.
type Catalogs struct {
	mu       sync.RWMutex
	catalogs map[string]*Catalog
	onChange []func(connection string)
}

// NewCatalogs returns an empty set.
func NewCatalogs() *Catalogs {
	return &Catalogs{catalogs: map[string]*Catalog{}}
}

// OnChange has a function called with the name of each Connection whose catalog
// comes, goes or is replaced. It has to be quick.
func (c *Catalogs) OnChange(notify func(connection string)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.onChange = append(c.onChange, notify)
}

// Get returns the catalog of a Connection, nil when it has none yet.
func (c *Catalogs) Get(connection string) *Catalog {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.catalogs[connection]
}

// Set makes a catalog that of a Connection; nil takes it away.
func (c *Catalogs) Set(connection string, catalog *Catalog) {
	c.mu.Lock()
	changed := c.catalogs[connection] != catalog
	if catalog == nil {
		delete(c.catalogs, connection)
	} else {
		c.catalogs[connection] = catalog
	}
	notify := slices.Clone(c.onChange)
	c.mu.Unlock()
	if !changed {
		return
	}
	for _, each := range notify {
		each(connection)
	}
}
