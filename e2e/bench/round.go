package main

import (
	"context"
	"fmt"
	"time"
)

// round binds an API, and measures the konnector's bulk work both ways. It begins
// each with everything prepared and the konnector stopped. When the API is to be
// kept, the konnector still runs on return.
func (b *bench) round(ctx context.Context, api api, count int, keepBound bool, bind *Bind, result *Population) error {
	if err := b.measureBind(ctx, api.group, api, bind); err != nil {
		return err
	}
	if err := b.stopKonnector(); err != nil {
		return err
	}
	// The first Widget is there since the binding.
	if _, err := b.populate(ctx, api, count); err != nil {
		return err
	}
	if err := b.bulk(ctx, api, count, &result.Up, up); err != nil {
		return fmt.Errorf("up: %w", err)
	}
	if err := b.stopKonnector(); err != nil {
		return err
	}
	if err := b.setStatuses(ctx, api, count, "bulk"); err != nil {
		return err
	}
	if err := b.bulk(ctx, api, count, &result.Down, down); err != nil {
		return fmt.Errorf("down: %w", err)
	}
	if err := b.compare(ctx, api, count+1, result); err != nil {
		return err
	}
	if keepBound {
		return nil
	}
	if err := b.stopKonnector(); err != nil {
		return err
	}
	return b.dropBundle(ctx, api.group)
}

// isApply matches the write of a copy.
func isApply(e *event) bool {
	return byKonnector(e) && e.Verb == "patch" && e.Object.Subresource == ""
}

// isStatusPatch matches the write of a status on the consumer.
func isStatusPatch(e *event) bool {
	return byKonnector(e) && e.Verb == "patch" && e.Object.Subresource == "status" && e.Object.Resource == plural
}

// direction is one of the two ways.
type direction struct {
	written func(ledgers) *ledger // where the konnector's last call for an object goes
	isLast  func(*event) bool     // matches that call
}

var (
	up   = direction{func(both ledgers) *ledger { return both.provider }, isApply}
	down = direction{func(both ledgers) *ledger { return both.consumer }, isStatusPatch}
)

// bulk starts the konnector with count objects to do, and waits until it has done
// them: until each has its last call.
func (b *bench) bulk(ctx context.Context, api api, count int, result *Bulk, way direction) error {
	both, err := b.followBoth(api.group)
	if err != nil {
		return err
	}
	k, err := b.startKonnector()
	if err != nil {
		return err
	}
	ctx, cancel := k.watchOver(ctx)
	defer cancel()
	if err := way.written(both).waitNames(ctx, count, way.isLast); err != nil {
		return err
	}
	usage, err := k.usage()
	if err != nil {
		return err
	}
	if err := pause(ctx, 500*time.Millisecond); err != nil { // a call too many has to show
		return err
	}
	if err := both.poll(); err != nil {
		return err
	}
	ofInstances := func(e *event) bool { return byKonnector(e) && e.Object.Resource == plural && e.Verb != "watch" }
	result.Konnector = append(result.Konnector, rate(count, span(ofInstances, both.consumer, both.provider)))
	result.CPU = append(result.CPU, usage.CPUSeconds*1000/float64(count))
	result.Calls = both.tally(ofInstances).per(count)
	return nil
}

func (b *bench) stopKonnector() error {
	k := b.running
	b.running = nil
	return k.stop()
}

// measureBind starts a konnector, applies a bundle, and waits for a first Widget
// on the provider, with a number that no other Widget has.
func (b *bench) measureBind(ctx context.Context, name string, api api, result *Bind) error {
	if err := b.provider.offer(ctx, api, b.repository); err != nil {
		return err
	}
	k, err := b.startKonnector()
	if err != nil {
		return err
	}
	ctx, cancel := k.watchOver(ctx)
	defer cancel()
	if err := pause(ctx, 2*time.Second); err != nil { // its own start is none of this
		return err
	}
	both, err := b.followBoth(api.group)
	if err != nil {
		return err
	}
	began := time.Now()
	if err := b.applyBundle(ctx, name, api); err != nil {
		return err
	}
	if err := b.ready(ctx, name); err != nil {
		return err
	}
	ready := time.Since(began)
	if err := b.createOne(ctx, api, firstNumber); err != nil {
		return err
	}
	if err := both.provider.waitNames(ctx, 1, isApply); err != nil {
		return err
	}
	first := both.provider.lastAnswer(isApply).Sub(began)
	result.Ready = append(result.Ready, ready.Seconds())
	result.FirstObject = append(result.FirstObject, first.Seconds())
	return nil
}
