package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Numbers of objects on a crowded provider.
const (
	crowdOwn    = 100
	crowdOthers = 20000
)

// measureConnections binds count APIs at once, each by a Connection of its own.
func (b *bench) measureConnections(ctx context.Context, count int) (Connections, error) {
	result := Connections{Count: count}
	apis := make([]api, count)
	for i := range apis {
		apis[i] = api{fmt.Sprintf("c%d-%d.example.org", count, i)}
		if err := b.provider.offer(ctx, apis[i], b.repository); err != nil {
			return result, err
		}
	}
	k, err := b.startKonnector()
	if err != nil {
		return result, err
	}
	watched, cancel := k.watchOver(ctx)
	defer cancel()
	if err := pause(watched, b.shorter(shortWait)); err != nil {
		return result, err
	}
	if result.Before, err = k.usage(); err != nil {
		return result, err
	}
	if result.ReadySeconds, err = b.bindAll(watched, apis); err != nil {
		return result, err
	}
	if err := pause(watched, b.shorter(shortWait)); err != nil {
		return result, err
	}
	if result.After, err = k.usage(); err != nil {
		return result, err
	}
	cancel()
	return result, errors.Join(b.stopKonnector(), b.dropAll(ctx, apis))
}

// bindAll applies bundles, and returns the seconds until all bindings are ready.
func (b *bench) bindAll(ctx context.Context, apis []api) (float64, error) {
	began := time.Now()
	err := parallel(ctx, len(apis), b.concurrency, func(ctx context.Context, number int) error {
		return b.applyBundle(ctx, apis[number].group, apis[number])
	})
	if err != nil {
		return 0, err
	}
	for _, each := range apis {
		if err := b.ready(ctx, each.group); err != nil {
			return 0, err
		}
	}
	return time.Since(began).Seconds(), nil
}

func (b *bench) dropAll(ctx context.Context, apis []api) error {
	return parallel(ctx, len(apis), b.concurrency, func(ctx context.Context, number int) error {
		return b.dropBundle(ctx, apis[number].group)
	})
}

// measureCrowd starts the konnector with a few instances of its own, without and
// with many copies of another consumer on the provider.
func (b *bench) measureCrowd(ctx context.Context) ([]Crowd, error) {
	shared := api{"crowd.example.org"}
	if err := b.measureBind(ctx, shared.group, shared, &Bind{}); err != nil {
		return nil, err
	}
	if err := b.stopKonnector(); err != nil {
		return nil, err
	}
	if _, err := b.populate(ctx, shared, crowdOwn); err != nil {
		return nil, err
	}
	if err := b.bulk(ctx, shared, crowdOwn, &Bulk{}, up); err != nil {
		return nil, err
	}
	if err := b.stopKonnector(); err != nil {
		return nil, err
	}
	alone, err := b.crowdStart(ctx, shared, 0)
	if err != nil {
		return nil, err
	}
	err = parallel(ctx, crowdOthers, b.concurrency, func(ctx context.Context, number int) error {
		number += crowdOwn
		return patch(ctx, b.provider.raw, types.ApplyPatchType, shared.path(objectName(number), ""), shared.applied(number))
	})
	if err != nil {
		return nil, err
	}
	crowded, err := b.crowdStart(ctx, shared, crowdOthers)
	return []Crowd{alone, crowded}, err
}

func (b *bench) crowdStart(ctx context.Context, shared api, others int) (Crowd, error) {
	result := Crowd{Own: crowdOwn, Others: others}
	k, took, err := b.timedStart(ctx, shared, 1, 1000000+others)
	if err != nil {
		return result, err
	}
	result.StartSeconds = took.Seconds()
	if err := pause(ctx, shortWait); err != nil {
		return result, err
	}
	if result.Usage, err = k.usage(); err != nil {
		return result, err
	}
	return result, b.stopKonnector()
}
