// Package connection is the controller of Connections: it turns the Secret that a
// Connection names into an open session towards the provider, follows what the
// provider offers, and tells in the Connection's status how that stands.
//
// It is fed by events of Connections, of the Secrets that they name, and of the
// sessions and catalogs that it has opened. It feeds the registry of sessions,
// from which syncers take theirs, and the catalogs, where the binding controller
// looks schemas up.
//
//	observe  the Connection, its Secret, its session and catalog
//	act      open or replace the session, publish or withdraw it
//	decide   the status, committed once
package connection
