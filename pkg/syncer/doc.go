// Package syncer keeps the instances of one API of one Connection in sync: spec
// towards the provider, status back.
//
// An object's way through it: an event of either cluster puts the object's key
// into the queue ([Syncer]); observe gathers what is known of it from caches and
// from our own last writes; [Decide] says what to do, and is the specification of
// how instances behave; act does it, one call for each step. The steps run until
// nothing is left to do.
//
// The [Set] starts a syncer for each API that a binding covers and whose schema and
// provider can be used, and ends it when that is over.
package syncer
