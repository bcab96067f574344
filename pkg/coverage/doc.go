// Package coverage is where bindings and syncers meet without knowing each other.
//
// The binding controller says which binding claims which API ([Index.Put]) and
// what of an API is synced ([Index.SetTarget]); a syncer asks which binding covers
// an object ([Index.Lookup]). The other way, a syncer tells the state of every
// object ([Tally.Record]) and the binding controller reads the counts
// ([Tally.Counts]). Both are kept by events: nothing is ever listed.
package coverage
