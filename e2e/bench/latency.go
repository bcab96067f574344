package main

import (
	"context"
	"fmt"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// sightingLimit is how long a change may take to be seen.
const sightingLimit = 30 * time.Second

// sighting is an object with the value that is waited for, as a watch has shown it.
type sighting struct {
	name, value string
	at          time.Time
}

// observer sees changes of one API on one side.
type observer struct {
	sightings chan sighting
	stop      func()
}

// observe watches from now on. read returns the value of an object that changes.
func observe(ctx context.Context, where *cluster, api api, read func(map[string]any) string) (*observer, error) {
	client := where.objects.Resource(api.resource()).Namespace(team)
	list, err := client.List(ctx, metav1.ListOptions{Limit: 1})
	if err != nil {
		return nil, err
	}
	watch, err := client.Watch(ctx, metav1.ListOptions{ResourceVersion: list.GetResourceVersion()})
	if err != nil {
		return nil, err
	}
	o := &observer{sightings: make(chan sighting, 1000), stop: watch.Stop}
	go func() {
		defer close(o.sightings)
		for each := range watch.ResultChan() {
			at := time.Now()
			if object, is := each.Object.(*unstructured.Unstructured); is {
				o.sightings <- sighting{object.GetName(), read(object.Object), at}
			}
		}
	}()
	return o, nil
}

// wait returns when a value was first seen on an object.
func (o *observer) wait(ctx context.Context, name, value string) (time.Time, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, sightingLimit, fmt.Errorf("%s with %s was not seen within %s", name, value, sightingLimit))
	defer cancel()
	for {
		select {
		case <-ctx.Done():
			return time.Time{}, context.Cause(ctx)
		case seen, open := <-o.sightings:
			switch {
			case !open:
				return time.Time{}, fmt.Errorf("the watch has ended while %s was waited for", name)
			case seen.name == name && seen.value == value:
				return seen.at, nil
			}
		}
	}
}

func readSize(object map[string]any) string {
	size, _, _ := unstructured.NestedInt64(object, "spec", "size")
	return strconv.FormatInt(size, 10)
}

func readPhase(object map[string]any) string {
	phase, _, _ := unstructured.NestedString(object, "status", "phase")
	return phase
}

// kindOfChange is one of the four series that alternate: up and down, each by the
// konnector and by raw calls.
type kindOfChange struct {
	observer *observer
	make     func(ctx context.Context, number, value int) error
	series   []time.Duration
}

// measureLatency makes changes one after another, on objects far from each other.
func (b *bench) measureLatency(ctx context.Context, bound, raw api, objects []identity, result *Population) error {
	ctx, cancel := b.running.watchOver(ctx)
	defer cancel()
	kinds := []*kindOfChange{
		{make: func(ctx context.Context, number, value int) error { return b.resize(ctx, bound, number, value) }},
		{make: func(ctx context.Context, number, value int) error { return b.rawResize(ctx, raw, number, value) }},
		{make: func(ctx context.Context, number, value int) error {
			return b.setStatus(ctx, bound, number, strconv.Itoa(value))
		}},
		{make: func(ctx context.Context, number, value int) error {
			return b.rawSetStatus(ctx, raw, objects[number], number, strconv.Itoa(value))
		}},
	}
	if err := b.observeAll(ctx, kinds, bound, raw); err != nil {
		return err
	}
	defer func() {
		for _, each := range kinds {
			each.observer.stop()
		}
	}()
	const apart = 7919 // a prime: neighbours in time are none in name
	for i := range b.changes {
		number := i * apart % len(objects)
		for _, each := range kinds {
			if err := each.once(ctx, number, 1000000+i); err != nil {
				return err
			}
		}
	}
	result.UpLatency = Latency{Konnector: percentilesOf(kinds[0].series), Raw: percentilesOf(kinds[1].series)}
	result.DownLatency = Latency{Konnector: percentilesOf(kinds[2].series), Raw: percentilesOf(kinds[3].series)}
	return nil
}

// observeAll gives each kind its observer, on the side where its change arrives.
func (b *bench) observeAll(ctx context.Context, kinds []*kindOfChange, bound, raw api) (err error) {
	for i, each := range kinds {
		where, read := b.provider, readSize
		if i >= 2 {
			where, read = b.consumer, readPhase
		}
		if each.observer, err = observe(ctx, where, []api{bound, raw}[i%2], read); err != nil {
			return err
		}
	}
	return nil
}

// once makes one change and measures from the request until it is seen.
func (k *kindOfChange) once(ctx context.Context, number, value int) error {
	began := time.Now()
	if err := k.make(ctx, number, value); err != nil {
		return err
	}
	at, err := k.observer.wait(ctx, objectName(number), strconv.Itoa(value))
	if err != nil {
		return err
	}
	k.series = append(k.series, at.Sub(began))
	return nil
}

// rawResize makes the calls that a change of a spec takes, straight one after the other.
func (b *bench) rawResize(ctx context.Context, api api, number, size int) error {
	if err := b.resize(ctx, api, number, size); err != nil {
		return err
	}
	return patch(ctx, b.provider.raw, types.ApplyPatchType, api.path(objectName(number), ""), api.reapplied(number, size))
}

// rawSetStatus is rawResize for a status. On the provider an operator has written it.
func (b *bench) rawSetStatus(ctx context.Context, api api, object identity, number int, phase string) error {
	if err := b.setStatus(ctx, api, number, phase); err != nil {
		return err
	}
	return patch(ctx, b.consumer.raw, types.JSONPatchType, api.path(objectName(number), "status"), statusPatch(object, phase))
}
