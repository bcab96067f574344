package session

import (
	"slices"
	"sync"
)

// Registry holds the sessions that may be used for syncing: those whose provider
// answered and is the cluster that the Connection is pinned to. It is safe for
// concurrent use.
type Registry struct {
	mu       sync.RWMutex
	sessions map[string]*Session
	onChange []func(connection string)
}

// NewRegistry returns a registry without sessions.
func NewRegistry() *Registry {
	return &Registry{sessions: map[string]*Session{}}
}

// OnChange has a function called with the name of each Connection whose session
// comes, goes or is replaced. It has to be quick.
func (r *Registry) OnChange(notify func(connection string)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.onChange = append(r.onChange, notify)
}

// Get returns the session of a Connection, nil when there is none that may be used.
func (r *Registry) Get(connection string) *Session {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.sessions[connection]
}

// Publish makes a session the one of its Connection.
func (r *Registry) Publish(session *Session) {
	r.set(session.Connection, session)
}

// Withdraw takes the session of a Connection away, if there is one.
func (r *Registry) Withdraw(connection string) {
	r.set(connection, nil)
}

func (r *Registry) set(connection string, session *Session) {
	r.mu.Lock()
	if r.sessions[connection] == session {
		r.mu.Unlock()
		return
	}
	if session == nil {
		delete(r.sessions, connection)
	} else {
		r.sessions[connection] = session
	}
	notify := slices.Clone(r.onChange)
	r.mu.Unlock()
	for _, each := range notify {
		each(connection)
	}
}
