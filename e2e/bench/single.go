package main

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// firstNumber is that of the Widget that is created when a binding is ready, above
// all others.
const firstNumber = 900000

// createOne creates one Widget on the consumer.
func (b *bench) createOne(ctx context.Context, api api, number int) error {
	return b.consumer.raw.Post().AbsPath(api.path("", "")).Param("fieldManager", fieldManager).
		SetHeader("Content-Type", "application/json").Body(api.widget(number)).Do(ctx).Error()
}

// resize changes the spec of one Widget on the consumer.
func (b *bench) resize(ctx context.Context, api api, number, size int) error {
	body := encode(map[string]any{"spec": map[string]any{"size": size}})
	return patch(ctx, b.consumer.raw, types.MergePatchType, api.path(objectName(number), ""), body)
}

// setStatus changes the status of one Widget on the provider.
func (b *bench) setStatus(ctx context.Context, api api, number int, phase string) error {
	body := encode(map[string]any{"status": map[string]any{"phase": phase}})
	return patch(ctx, b.provider.raw, types.MergePatchType, api.path(objectName(number), "status"), body)
}

// timedStart changes one Widget while the konnector is stopped, starts it, and
// returns the time from there until the change was written to the provider.
func (b *bench) timedStart(ctx context.Context, api api, number, size int) (*process, time.Duration, error) {
	if err := b.resize(ctx, api, number, size); err != nil {
		return nil, 0, err
	}
	both, err := b.followBoth(api.group)
	if err != nil {
		return nil, 0, err
	}
	k, err := b.startKonnector()
	if err != nil {
		return nil, 0, err
	}
	ctx, cancel := k.watchOver(ctx)
	defer cancel()
	if err := both.provider.waitNames(ctx, 1, isApply); err != nil {
		return nil, 0, err
	}
	return k, both.provider.lastAnswer(isApply).Sub(k.started), nil
}
