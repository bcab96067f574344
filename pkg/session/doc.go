// Package session is all that is open towards one provider: its clients, the
// answer to which cluster it is, the heartbeat that tells whether it answers, and
// the pool of informers. A session belongs to one Connection and to one kubeconfig;
// other credentials make another session, which replaces it as a whole.
//
// The connection controller opens and closes sessions. Those that are sure to lead
// to the right cluster are published in a [Registry], where syncers find them.
package session
