package main

import (
	"context"
	"time"
)

// Times of the steady part.
const (
	shortWait = 10 * time.Second
	// collectLimit is when the runtime has to have collected garbage: it does after
	// two minutes also when there is no need.
	collectLimit = 150 * time.Second
)

// shorter returns a pause, or a part of it in a quick run.
func (b *bench) shorter(span time.Duration) time.Duration {
	if b.quick {
		return span / 5
	}
	return span
}

// measureEmpty returns the usage of a konnector that has bound an API without
// instances. It does nothing unless it is asked for.
func (b *bench) measureEmpty(ctx context.Context, wanted bool) (usage Usage, err error) {
	if !wanted {
		return Usage{}, nil
	}
	say("Memory without instances")
	empty := api{"empty.example.org"}
	if err := b.provider.offer(ctx, empty, b.repository); err != nil {
		return usage, err
	}
	k, err := b.startKonnector()
	if err != nil {
		return usage, err
	}
	if err := b.applyBundle(ctx, empty.group, empty); err != nil {
		return usage, err
	}
	if err := b.ready(ctx, empty.group); err != nil {
		return usage, err
	}
	if err := pause(ctx, b.shorter(shortWait)); err != nil {
		return usage, err
	}
	if _, err := k.settle(ctx, b.collectLimit()); err != nil {
		return usage, err
	}
	if usage, err = k.usage(); err != nil {
		return usage, err
	}
	if err := b.stopKonnector(); err != nil {
		return usage, err
	}
	return usage, b.dropBundle(ctx, empty.group)
}

func (b *bench) collectLimit() time.Duration {
	if b.quick {
		return shortWait
	}
	return collectLimit
}

// measureSteady restarts the konnector with everything in sync, leaves it alone,
// and looks at what it does and holds.
func (b *bench) measureSteady(ctx context.Context, result *Steady, bound api) error {
	if err := b.stopKonnector(); err != nil {
		return err
	}
	both, err := b.followBoth("")
	if err != nil {
		return err
	}
	k, err := b.startKonnector()
	if err != nil {
		return err
	}
	watched, cancel := k.watchOver(ctx)
	defer cancel()
	if err := pause(watched, b.shorter(2*shortWait)); err != nil {
		return err
	}
	if err := both.poll(); err != nil {
		return err
	}
	result.RestartCalls = both.tally(byKonnector)
	result.RestartWrites = both.tally(func(e *event) bool { return byKonnector(e) && e.write() && e.Object.Resource != "leases" })
	if err := b.measureIdle(watched, k, result); err != nil {
		return err
	}
	if result.Collected, err = k.settle(watched, b.collectLimit()); err != nil {
		return err
	}
	if result.Settled, err = k.usage(); err != nil {
		return err
	}
	cancel()
	if err := b.stopKonnector(); err != nil {
		return err
	}
	_, took, err := b.timedStart(ctx, bound, 1, 42)
	result.RestartSeconds = took.Seconds()
	return err
}

// measureIdle looks at what the konnector does when there is nothing to do.
func (b *bench) measureIdle(ctx context.Context, k *process, result *Steady) error {
	before, err := k.usage()
	if err != nil {
		return err
	}
	both, err := b.followBoth("")
	if err != nil {
		return err
	}
	began := time.Now()
	if err := pause(ctx, b.idle); err != nil {
		return err
	}
	result.IdleSeconds = time.Since(began).Seconds()
	after, err := k.usage()
	if err != nil {
		return err
	}
	if err := both.poll(); err != nil {
		return err
	}
	result.IdleCPU = after.CPUSeconds - before.CPUSeconds
	result.IdleCalls = both.tally(byKonnector)
	return nil
}
