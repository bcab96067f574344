// Package binding is the controller of ClusterBindings and Bindings: it has the
// CRDs of the APIs that a binding lists installed, tells the syncers which binding
// covers what, lets go what is no longer bound, and tells in the binding's status
// how that stands.
//
// It is fed by events of bindings, Connections and the consumer's CRDs, by the
// catalogs of providers, and by the tally of the syncers. It feeds the coverage
// index, which starts and ends syncers.
//
//	observe  the binding, its Connection, and for each API: schema, coverage, counts
//	act      install CRDs, claim and release APIs
//	decide   the status, committed once
package binding
