package main

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
)

func TestObjectsAreAboutAKilobyte(t *testing.T) {
	bench := api{"bench.example.org"}
	for name, document := range map[string][]byte{"object": bench.widget(1), "copy": bench.applied(1)} {
		if size := len(document); size < 600 || size > 1600 || !json.Valid(document) {
			t.Errorf("%s: %d bytes: %s", name, size, document)
		}
	}
	if text := string(bench.reapplied(1, 42)); strings.Contains(text, "resourceVersion") || !strings.Contains(text, `"size":42`) {
		t.Errorf("a second apply is %s", text)
	}
}

func TestPath(t *testing.T) {
	bench := api{"g"}
	if got := bench.path("a", "status"); got != "/apis/g/v1/namespaces/team/widgets/a/status" {
		t.Errorf("got %s", got)
	}
	if got := bench.path("", ""); got != "/apis/g/v1/namespaces/team/widgets" {
		t.Errorf("got %s", got)
	}
}

func TestDifference(t *testing.T) {
	one := map[string]content{"a": {spec: "s", status: "t"}}
	for _, row := range []struct {
		name   string
		copies map[string]content
		want   string
	}{
		{"equal, of another size", map[string]content{"a": {spec: "s", status: "t", bytes: 9}}, ""},
		{"no copy", map[string]content{}, "0 copies"},
		{"a copy of something else", map[string]content{"b": {}}, "a has no copy"},
		{"another spec", map[string]content{"a": {spec: "x", status: "t"}}, "the spec is s"},
		{"another status", map[string]content{"a": {spec: "s"}}, "the status is t"},
	} {
		t.Run(row.name, func(t *testing.T) {
			err := difference(one, row.copies, 1)
			if row.want == "" && err != nil || row.want != "" && (err == nil || !strings.Contains(err.Error(), row.want)) {
				t.Errorf("got %v, want %q", err, row.want)
			}
		})
	}
}

func TestParallelDoesEachOnce(t *testing.T) {
	var done [100]atomic.Int64
	err := parallel(t.Context(), len(done), 7, func(_ context.Context, number int) error {
		done[number].Add(1)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for number := range done {
		if got := done[number].Load(); got != 1 {
			t.Errorf("%d was done %d times", number, got)
		}
	}
}

func TestParallelEndsWithTheFirstError(t *testing.T) {
	broken := errors.New("broken")
	err := parallel(t.Context(), 1000000, 4, func(_ context.Context, number int) error {
		if number == 5 {
			return broken
		}
		return nil
	})
	if !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
}

func TestOptions(t *testing.T) {
	full := newOptions()
	full.full = true
	if err := full.complete(); err != nil || full.instances[len(full.instances)-1] != 10000 || full.connections[2] != 100 {
		t.Errorf("%v, %+v", err, full)
	}
	for name, spoil := range map[string]func(*options){
		"both sizes":   func(o *options) { o.full, o.quick = true, true },
		"no instances": func(o *options) { o.instances = nil },
		"one instance": func(o *options) { o.instances = []int{1} },
		"no rounds":    func(o *options) { o.rounds = 0 },
	} {
		o := newOptions()
		spoil(o)
		if o.complete() == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
