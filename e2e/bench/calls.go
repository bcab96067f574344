package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
)

// fieldManager is ours in all that we write.
const fieldManager = "bench"

// parallel calls do for the numbers below count, some at a time, until one fails.
func parallel(ctx context.Context, count, concurrency int, do func(ctx context.Context, number int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var next atomic.Int64
	var running sync.WaitGroup
	for range min(concurrency, count) {
		running.Go(func() {
			for ctx.Err() == nil {
				number := int(next.Add(1)) - 1
				if number >= count {
					return
				}
				if err := do(ctx, number); err != nil {
					cancel(fmt.Errorf("object %d: %w", number, err))
				}
			}
		})
	}
	running.Wait()
	if err := context.Cause(ctx); err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	return ctx.Err()
}

// patch sends a patch and ignores what is answered, as cheap as a client can be.
func patch(ctx context.Context, client rest.Interface, kind types.PatchType, path string, body []byte) error {
	request := client.Patch(kind).AbsPath(path).Param("fieldManager", fieldManager).Body(body)
	if kind == types.ApplyPatchType {
		request = request.Param("force", "true")
	}
	return request.Do(ctx).Error()
}

// populate creates Widgets on the consumer and returns what patches have to name.
func (b *bench) populate(ctx context.Context, api api, count int) ([]identity, error) {
	made := make([]identity, count)
	err := parallel(ctx, count, b.concurrency, func(ctx context.Context, number int) error {
		answer, err := b.consumer.raw.Post().AbsPath(api.path("", "")).Param("fieldManager", fieldManager).
			SetHeader("Content-Type", "application/json").Body(api.widget(number)).DoRaw(ctx)
		if err != nil {
			return err
		}
		var object struct {
			Metadata identity `json:"metadata"`
		}
		err = json.Unmarshal(answer, &object)
		made[number] = object.Metadata
		return err
	})
	return made, err
}

// setStatuses gives all copies on the provider a status, as an operator would.
func (b *bench) setStatuses(ctx context.Context, api api, count int, phase string) error {
	body := encode(map[string]any{"status": statusOf(phase)})
	return parallel(ctx, count, b.concurrency, func(ctx context.Context, number int) error {
		return patch(ctx, b.provider.raw, types.MergePatchType, api.path(objectName(number), "status"), body)
	})
}
