package main

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
)

func widgetWith(spec map[string]any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
}

func TestAwaitTakesTheFirstChangeThatIsAsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		events := make(chan watch.Event)
		answer := make(chan seen, 1)
		began := time.Now()
		go func() { answer <- sighting{provider, widget, has(int64(5), "spec", "size")}.await(events) }()
		for _, size := range []int64{99, 5} {
			time.Sleep(time.Second)
			events <- watch.Event{Type: watch.Modified, Object: widgetWith(map[string]any{"size": size})}
		}
		if got := <-answer; got.err != nil || got.at.Sub(began) != 2*time.Second {
			t.Errorf("seen after %s, error %v", got.at.Sub(began), got.err)
		}
	})
}

func TestAwaitSeesADeletion(t *testing.T) {
	events := make(chan watch.Event, 1)
	events <- watch.Event{Type: watch.Deleted, Object: widgetWith(nil)}
	if got := (sighting{provider, widget, gone}).await(events); got.err != nil {
		t.Error(got.err)
	}
}

func TestAwaitReportsTheEndOfTheWatch(t *testing.T) {
	events := make(chan watch.Event)
	close(events)
	got := sighting{provider, widget, exists}.await(events)
	if got.err == nil || !strings.Contains(got.err.Error(), "widgets hello on the provider") {
		t.Errorf("error = %v", got.err)
	}
}

func TestWaitCountsFromTheCauseToTheLastEffect(t *testing.T) {
	began := time.Now()
	for _, test := range []struct {
		name  string
		after []int // milliseconds: the cause, then the effects
		want  time.Duration
	}{
		{"two effects", []int{10, 40, 30}, 30 * time.Millisecond},
		{"an effect that was noticed before its cause", []int{10, 9}, 0},
	} {
		var e expectation
		for _, after := range test.after {
			answer := make(chan seen, 1)
			answer <- seen{at: began.Add(time.Duration(after) * time.Millisecond)}
			e.sightings, e.answers = append(e.sightings, sighting{}), append(e.answers, answer)
		}
		if took, err := e.wait(t.Context()); err != nil || took != test.want {
			t.Errorf("%s: %s, error %v, want %s", test.name, took, err, test.want)
		}
	}
}

func TestWaitGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := expectation{sightings: []sighting{{provider, widget, exists}}, answers: []<-chan seen{make(chan seen)}}
		began := time.Now()
		_, err := e.wait(t.Context())
		if err == nil || time.Since(began) != arrivalLimit {
			t.Errorf("after %s: error = %v", time.Since(began), err)
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(interrupted{})
		if _, err := e.wait(ctx); err == nil || exitCode(err) != 128 {
			t.Errorf("interrupted: error = %v", err)
		}
	})
}

func TestPredicates(t *testing.T) {
	none := (*unstructured.Unstructured)(nil)
	sized := widgetWith(map[string]any{"size": int64(3)})
	condition := func(status string) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{"status": map[string]any{
			"conditions": []any{map[string]any{"type": "Ready", "status": status}},
		}}}
	}
	for name, holds := range map[string]bool{
		"gone":                      gone(none) && !gone(sized),
		"exists":                    exists(sized) && !exists(none),
		"going":                     going(none) && !going(sized),
		"has, with the value":       has(int64(3), "spec", "size")(sized),
		"has, with another":         !has(int64(4), "spec", "size")(sized),
		"has, with none":            has(nil, "spec", "color")(sized) && !has(nil, "spec", "size")(sized),
		"has, when gone":            !has(nil, "spec", "color")(none),
		"ready":                     ready(condition("True")) && !ready(condition("Unknown")),
		"ready, when there is none": !ready(sized) && !ready(none),
	} {
		if !holds {
			t.Error(name)
		}
	}
}
