package main

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
)

// arrivalLimit is how long a sighting may take, from the end of the command.
const arrivalLimit = 10 * time.Second

// object names one object.
type object struct {
	resource        schema.GroupVersionResource
	namespace, name string
}

// sighting is a change to be seen on a cluster, after which the object is as told.
type sighting struct {
	cluster string
	object  object
	is      func(*unstructured.Unstructured) bool // asked with nil when the object is gone
}

// String names the object and the cluster.
func (s sighting) String() string {
	return fmt.Sprintf("%s %s on the %s", s.object.resource.Resource, s.object.name, s.cluster)
}

// seen is how a sighting ends: when it was, or why it will not be.
type seen struct {
	at  time.Time
	err error
}

// follow starts to watch, and sends one answer. What is so already at the start
// does not count. The context ends the watch.
func (s sighting) follow(ctx context.Context, client dynamic.Interface) (<-chan seen, error) {
	objects := client.Resource(s.object.resource).Namespace(s.object.namespace)
	options := metav1.ListOptions{FieldSelector: "metadata.name=" + s.object.name}
	list, err := objects.List(ctx, options)
	if err != nil {
		return nil, fmt.Errorf("looking at %s: %w", s, err)
	}
	options.ResourceVersion = list.GetResourceVersion()
	events, err := objects.Watch(ctx, options)
	if err != nil {
		return nil, fmt.Errorf("watching %s: %w", s, err)
	}
	answer := make(chan seen, 1)
	go func() {
		defer events.Stop()
		answer <- s.await(events.ResultChan())
	}()
	return answer, nil
}

func (s sighting) await(events <-chan watch.Event) seen {
	for event := range events {
		now := time.Now()
		current, ok := event.Object.(*unstructured.Unstructured)
		if !ok || event.Type == watch.Error {
			return seen{err: fmt.Errorf("watching %s: %v", s, event.Object)}
		}
		if event.Type == watch.Deleted {
			current = nil
		}
		if s.is(current) {
			return seen{at: now}
		}
	}
	return seen{err: fmt.Errorf("the watch of %s has ended", s)}
}

// expectation is a change that is being watched for.
type expectation struct {
	sightings []sighting // the cause first
	answers   []<-chan seen
}

// expect starts to watch for the cause and the effects of the change.
func expect(ctx context.Context, d *demo, c change) (*expectation, error) {
	e := &expectation{sightings: append([]sighting{c.cause}, c.effects...)}
	for _, each := range e.sightings {
		answer, err := each.follow(ctx, d.clusters[each.cluster].client)
		if err != nil {
			return nil, err
		}
		e.answers = append(e.answers, answer)
	}
	return e, nil
}

// wait returns the time between the cause and the last of the effects.
func (e *expectation) wait(ctx context.Context) (time.Duration, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, arrivalLimit, fmt.Errorf("no such change within %s", arrivalLimit))
	defer cancel()
	var cause, last time.Time
	for i, answer := range e.answers {
		var got seen
		select {
		case got = <-answer:
		case <-ctx.Done():
			got.err = context.Cause(ctx)
		}
		if got.err != nil {
			return 0, fmt.Errorf("%s: %w", e.sightings[i], got.err)
		}
		if i == 0 {
			cause = got.at
		} else if got.at.After(last) {
			last = got.at
		}
	}
	return max(0, last.Sub(cause)), nil
}
