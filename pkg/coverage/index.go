package coverage

import (
	"maps"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// Index tells which binding covers an API in a namespace, and what of the API is
// synced. It is safe for concurrent use.
type Index struct {
	mu       sync.RWMutex
	bindings map[BindingID]Binding
	claims   map[BindingID]map[API]bool // value: whether it is draining
	covers   map[API]*covers
	targets  map[API]Target
	uids     map[types.UID]string // connection of a binding that lives
	onChange []func(API)
}

// covers are the claims on one API, by namespace ("" for ClusterBindings), in
// order of precedence.
type covers map[string][]Cover

// NewIndex returns an index without entries.
func NewIndex() *Index {
	return &Index{
		bindings: map[BindingID]Binding{},
		claims:   map[BindingID]map[API]bool{},
		covers:   map[API]*covers{},
		targets:  map[API]Target{},
		uids:     map[types.UID]string{},
	}
}

// OnChange has a function called with each API whose coverage or target changes.
// It has to be quick, and is called outside of the index's lock.
func (i *Index) OnChange(notify func(API)) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.onChange = append(i.onChange, notify)
}

// Put says which APIs a binding claims; the value tells whether it is letting the
// API go. It replaces what was said of the binding before.
func (i *Index) Put(binding Binding, apis map[string]bool) {
	claims := make(map[API]bool, len(apis))
	for name, draining := range apis {
		claims[API{Connection: binding.Connection, Name: name}] = draining
	}
	i.replace(binding, claims)
}

// Remove forgets a binding.
func (i *Index) Remove(id BindingID) {
	i.replace(Binding{ID: id}, nil)
}

func (i *Index) replace(binding Binding, claims map[API]bool) {
	i.mu.Lock()
	before, had := i.bindings[binding.ID]
	old := i.claims[binding.ID]
	if had && before == binding && maps.Equal(old, claims) {
		i.mu.Unlock()
		return
	}
	delete(i.uids, before.UID)
	if len(claims) == 0 {
		delete(i.bindings, binding.ID)
		delete(i.claims, binding.ID)
	} else {
		i.bindings[binding.ID] = binding
		i.claims[binding.ID] = claims
		i.uids[binding.UID] = binding.Connection
	}
	changed := map[API]bool{}
	for api := range old {
		changed[api] = true
	}
	for api := range claims {
		changed[api] = true
	}
	for api := range changed {
		i.rebuild(api)
	}
	notify := slices.Clone(i.onChange)
	i.mu.Unlock()
	for api := range changed {
		for _, each := range notify {
			each(api)
		}
	}
}

// rebuild makes the covers of an API anew from all claims. The caller holds the lock.
func (i *Index) rebuild(api API) {
	made := covers{}
	for id, claims := range i.claims {
		if draining, has := claims[api]; has {
			made[id.Namespace] = append(made[id.Namespace], Cover{Binding: i.bindings[id], Draining: draining})
		}
	}
	if len(made) == 0 {
		delete(i.covers, api)
		return
	}
	for _, list := range made {
		slices.SortFunc(list, precedence)
	}
	i.covers[api] = &made
}

// precedence puts bindings that stay before those that go, and older before younger.
func precedence(a, b Cover) int {
	if a.Draining != b.Draining {
		if a.Draining {
			return 1
		}
		return -1
	}
	if order := a.Created.Compare(b.Created); order != 0 {
		return order
	}
	return strings.Compare(a.ID.Name, b.ID.Name)
}

// Lookup returns the binding that covers objects of the API in the namespace.
// A binding that stays goes before one that is letting go, and among these a
// ClusterBinding before a Binding.
func (i *Index) Lookup(api API, namespace string) (Cover, bool) {
	i.mu.RLock()
	defer i.mu.RUnlock()
	all, exists := i.covers[api]
	if !exists {
		return Cover{}, false
	}
	wide := first((*all)[""])
	narrow := (*Cover)(nil)
	if namespace != "" {
		narrow = first((*all)[namespace])
	}
	switch {
	case wide == nil && narrow == nil:
		return Cover{}, false
	case narrow == nil, wide != nil && (!wide.Draining || narrow.Draining):
		return *wide, true
	default:
		return *narrow, true
	}
}

func first(list []Cover) *Cover {
	if len(list) == 0 {
		return nil
	}
	return &list[0]
}

// Namespaces returns the namespaces in which an API is covered, sorted. The
// single element "" stands for all, and an empty list for none.
func (i *Index) Namespaces(api API) []string {
	i.mu.RLock()
	defer i.mu.RUnlock()
	all, exists := i.covers[api]
	if !exists {
		return nil
	}
	if _, wide := (*all)[""]; wide {
		return []string{""}
	}
	return slices.Sorted(maps.Keys(*all))
}

// ForeignBinding reports whether the UID is that of a binding that lives and
// belongs to another Connection.
func (i *Index) ForeignBinding(connection string, uid types.UID) bool {
	i.mu.RLock()
	defer i.mu.RUnlock()
	owner, lives := i.uids[uid]
	return lives && owner != connection
}

// Bindings returns the bindings that claim an API of a Connection, or any API when
// the name is empty.
func (i *Index) Bindings(api API) []BindingID {
	i.mu.RLock()
	defer i.mu.RUnlock()
	var ids []BindingID
	for id, claims := range i.claims {
		for each := range claims {
			if each == api || (api.Name == "" && each.Connection == api.Connection) {
				ids = append(ids, id)
				break
			}
		}
	}
	return ids
}

// Draining reports whether a binding is letting the API go.
func (i *Index) Draining(api API) bool {
	i.mu.RLock()
	defer i.mu.RUnlock()
	for _, claims := range i.claims {
		if claims[api] {
			return true
		}
	}
	return false
}

// APIs returns the APIs of a Connection that are claimed or have a target.
func (i *Index) APIs(connection string) []API {
	i.mu.RLock()
	defer i.mu.RUnlock()
	found := map[API]bool{}
	for api := range i.covers {
		found[api] = api.Connection == connection
	}
	for api := range i.targets {
		found[api] = api.Connection == connection
	}
	var apis []API
	for api, belongs := range found {
		if belongs {
			apis = append(apis, api)
		}
	}
	return apis
}

// SetTarget says what of an API is synced; nil says that nothing is.
func (i *Index) SetTarget(api API, target *Target) {
	i.mu.Lock()
	before, had := i.targets[api]
	if (target == nil && !had) || (target != nil && had && *target == before) {
		i.mu.Unlock()
		return
	}
	if target == nil {
		delete(i.targets, api)
	} else {
		i.targets[api] = *target
	}
	notify := slices.Clone(i.onChange)
	i.mu.Unlock()
	for _, each := range notify {
		each(api)
	}
}

// Target returns what of an API is synced.
func (i *Index) Target(api API) (Target, bool) {
	i.mu.RLock()
	defer i.mu.RUnlock()
	target, exists := i.targets[api]
	return target, exists
}
