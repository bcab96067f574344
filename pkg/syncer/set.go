package syncer

import (
	"context"
	"sync"

	"github.com/kbind-dev/konnector/pkg/controller"
	"github.com/kbind-dev/konnector/pkg/coverage"
	"github.com/kbind-dev/konnector/pkg/session"
)

// Set runs one syncer for each API that a binding covers, while its target and
// its provider can be used.
type Set struct {
	environment *Environment
	sessions    *session.Registry
	loop        *controller.Loop[coverage.API]

	mu      sync.Mutex
	running map[coverage.API]*running
}

// running is a syncer with the means to end it.
type running struct {
	*Syncer
	cancel context.CancelFunc
	done   chan struct{}
}

// stop ends the syncer and waits until it has ended.
func (r *running) stop() {
	r.cancel()
	<-r.done
}

// NewSet returns a set without syncers. It follows the environment's index and the
// sessions, and does nothing until Run.
func NewSet(environment *Environment, sessions *session.Registry) *Set {
	set := &Set{
		environment: environment,
		sessions:    sessions,
		running:     map[coverage.API]*running{},
	}
	set.loop = controller.NewLoop(controller.Options{Name: "syncers", Metrics: true}, set.sync)
	environment.Index.OnChange(set.loop.Add)
	sessions.OnChange(func(connection string) {
		for _, api := range environment.Index.APIs(connection) {
			set.loop.Add(api)
		}
	})
	return set
}

// Run starts and ends syncers until the context ends. When it returns, all syncers
// have ended.
func (s *Set) Run(ctx context.Context) {
	defer s.stopAll()
	// Starting and ending are quick, but an end waits for calls on their way to a
	// provider that may be slow: the others don't wait for it.
	const workers = 8
	s.loop.Run(ctx, workers)
}

// sync starts or ends the syncer of one API.
func (s *Set) sync(ctx context.Context, api coverage.API) error {
	target, hasTarget := s.environment.Index.Target(api)
	namespaces := s.environment.Index.Namespaces(api)
	provider := s.sessions.Get(api.Connection)
	wanted := hasTarget && len(namespaces) > 0 && provider != nil

	current := s.get(api)
	switch {
	case current == nil && !wanted:
	case current != nil && wanted && !current.ended() && current.same(target, namespaces, provider):
		current.Requeue()
	default:
		if current != nil {
			current.stop()
			s.put(api, nil)
		}
		if wanted {
			s.start(ctx, New(s.environment, api, target, namespaces, provider))
		}
	}
	return nil
}

// start runs a syncer until it is stopped or its session ends.
func (s *Set) start(ctx context.Context, syncer *Syncer) {
	ctx, cancel := context.WithCancel(controller.Outlive(ctx))
	started := &running{Syncer: syncer, cancel: cancel, done: make(chan struct{})}
	s.put(syncer.api, started)
	go func() {
		defer close(started.done)
		defer cancel()
		stop := context.AfterFunc(syncer.session.Context(), cancel)
		defer stop()
		syncer.Run(ctx)
	}()
}

// ended reports whether the syncer has ended by itself, with its session.
func (r *running) ended() bool {
	select {
	case <-r.done:
		return true
	default:
		return false
	}
}

func (s *Set) get(api coverage.API) *running {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.running[api]
}

func (s *Set) put(api coverage.API, syncer *running) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if syncer == nil {
		delete(s.running, api)
		return
	}
	s.running[api] = syncer
}

func (s *Set) stopAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, each := range s.running {
		each.cancel()
	}
	for _, each := range s.running {
		<-each.done
	}
}
