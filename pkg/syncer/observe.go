package syncer

import (
	"k8s.io/apimachinery/pkg/types"
	clientcache "k8s.io/client-go/tools/cache"

	"github.com/kbind-dev/konnector/pkg/instance"
)

// observe returns all that is known of an object, from memory alone. ok is false when no
// informer holds its namespace.
func (s *Syncer) observe(key types.NamespacedName) (facts Facts, ok bool) {
	providerKey := s.Mapper.ToProvider(key)
	consumers, providers := s.consumers.of(key.Namespace), s.providers.of(providerKey.Namespace)
	if consumers == nil || providers == nil {
		return Facts{}, false
	}
	facts = Facts{
		Cluster:           s.Cluster,
		Exclusions:        s.Exclusions,
		StatusSubresource: s.target.StatusSubresource,
		ForeignBinding: func(uid types.UID) bool {
			return s.Index.ForeignBinding(s.api.Connection, uid)
		},
	}
	facts.Consumer, facts.Provider, facts.Memory = s.memories.view(key, func() (inConsumers, inProviders seen) {
		inConsumers.object, inConsumers.version = consumers.Read(storeKey(key))
		inProviders.object, inProviders.version = providers.Read(storeKey(providerKey))
		return inConsumers, inProviders
	})
	facts.Held = s.memories.pause(key) > 0
	if cover, covered := s.Index.Lookup(s.api, key.Namespace); covered {
		facts.Cover = &cover
	}
	return facts, true
}

// seen is what a cache shows of an object, and how new the cache was at least by then.
type seen struct {
	object  *instance.Object
	version string
}

func storeKey(key types.NamespacedName) string {
	return clientcache.NewObjectName(key.Namespace, key.Name).String()
}
