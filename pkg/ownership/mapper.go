package ownership

import "k8s.io/apimachinery/pkg/types"

// Mapper tells under which key a consumer object lives on the provider. Every
// provider key goes through it.
type Mapper interface {
	// ToProvider returns the key of the copy of a consumer object.
	ToProvider(consumer types.NamespacedName) types.NamespacedName
	// ToConsumer returns the key of the consumer object of a copy.
	ToConsumer(provider types.NamespacedName) types.NamespacedName
}

// Identity maps every key to itself.
type Identity struct{}

// ToProvider returns the key that it is given.
func (Identity) ToProvider(consumer types.NamespacedName) types.NamespacedName { return consumer }

// ToConsumer returns the key that it is given.
func (Identity) ToConsumer(provider types.NamespacedName) types.NamespacedName { return provider }
