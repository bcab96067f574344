package export

import "sync"

// Catalogs holds the catalog of each Connection. It is safe for concurrent use.
type Catalogs struct {
	mu       sync.RWMutex
	catalogs map[string]*Catalog
}

// NewCatalogs returns an empty set.
func NewCatalogs() *Catalogs {
	return &Catalogs{catalogs: map[string]*Catalog{}}
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
	defer c.mu.Unlock()
	if catalog == nil {
		delete(c.catalogs, connection)
		return
	}
	c.catalogs[connection] = catalog
}
