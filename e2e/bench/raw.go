package main

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
)

// rawRound makes the konnector's calls straight to both API servers, in a group
// that no konnector knows. What is sent is prepared before the clock runs.
func (b *bench) rawRound(ctx context.Context, api api, count int, result *Population) ([]identity, error) {
	for _, where := range []*cluster{b.consumer, b.provider} {
		if err := where.offer(ctx, api, b.repository); err != nil {
			return nil, err
		}
	}
	objects, err := b.populate(ctx, api, count)
	if err != nil {
		return nil, err
	}
	up, err := b.timed(ctx, api, func(ctx context.Context) error { return b.rawUp(ctx, api, objects) })
	if err != nil {
		return nil, fmt.Errorf("raw calls up: %w", err)
	}
	down, err := b.timed(ctx, api, func(ctx context.Context) error { return b.rawDown(ctx, api, objects) })
	if err != nil {
		return nil, fmt.Errorf("raw calls down: %w", err)
	}
	result.Up.Raw = append(result.Up.Raw, up(count))
	result.Down.Raw = append(result.Down.Raw, down(count))
	return objects, nil
}

// timed returns a function from a number of objects to the rate of what was done,
// by the audit logs of both clusters.
func (b *bench) timed(ctx context.Context, api api, do func(context.Context) error) (func(int) float64, error) {
	both, err := b.followBoth(api.group)
	if err != nil {
		return nil, err
	}
	if err := do(ctx); err != nil {
		return nil, err
	}
	if err := both.poll(); err != nil {
		return nil, err
	}
	took := span(func(e *event) bool { return e.Verb == "patch" }, both.consumer, both.provider)
	return func(count int) float64 { return rate(count, took) }, nil
}

func (b *bench) rawUp(ctx context.Context, api api, objects []identity) error {
	finalizers, copies := make([][]byte, len(objects)), make([][]byte, len(objects))
	for i, object := range objects {
		finalizers[i], copies[i] = finalizerPatch(object), api.applied(i)
	}
	return parallel(ctx, len(objects), b.concurrency, func(ctx context.Context, number int) error {
		path := api.path(objectName(number), "")
		if err := patch(ctx, b.consumer.raw, types.MergePatchType, path, finalizers[number]); err != nil {
			return err
		}
		return patch(ctx, b.provider.raw, types.ApplyPatchType, path, copies[number])
	})
}

func (b *bench) rawDown(ctx context.Context, api api, objects []identity) error {
	statuses := make([][]byte, len(objects))
	for i, object := range objects {
		statuses[i] = statusPatch(object, "bulk")
	}
	return parallel(ctx, len(objects), b.concurrency, func(ctx context.Context, number int) error {
		return patch(ctx, b.consumer.raw, types.JSONPatchType, api.path(objectName(number), "status"), statuses[number])
	})
}

// ledgers are those of both clusters.
type ledgers struct{ consumer, provider *ledger }

func (b *bench) followBoth(word string) (both ledgers, err error) {
	if both.consumer, err = follow(b.consumer, word); err != nil {
		return both, err
	}
	both.provider, err = follow(b.provider, word)
	return both, err
}

func (l ledgers) poll() error {
	if err := l.consumer.poll(); err != nil {
		return err
	}
	return l.provider.poll()
}

// tally counts the calls of both sides that match.
func (l ledgers) tally(match func(*event) bool) Calls {
	calls := Calls{}
	tally(calls, "consumer", l.consumer, match)
	tally(calls, "provider", l.provider, match)
	return calls
}
