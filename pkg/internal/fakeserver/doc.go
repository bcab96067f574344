// Package fakeserver is an API server for one resource: in memory, without a network,
// and so usable in a bubble of testing/synctest. Clients reach it by [Server.Config],
// and every call of theirs is recorded; a test acts on it as other users do, by its
// methods. It knows preconditions, finalizers, generations, watches with label selectors,
// and server-side apply with the code of real API servers.
package fakeserver
