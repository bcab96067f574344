// Package informer shares dynamic informers by reference: one per resource and
// namespace, started by the first that asks for it, ended by the last that lets
// go, and never outliving the [Pool] that it came from. What the informers hold
// are [instance.Object]s.
package informer
