package main

import (
	"testing"
	"time"
)

func TestPercentilesAreMeasuredValues(t *testing.T) {
	series := make([]time.Duration, 0, 200)
	for i := range 200 { // in no order
		series = append(series, time.Duration((i*77)%200+1)*time.Millisecond)
	}
	want := Percentiles{Count: 200, P50: 100, P95: 190, P99: 198, Max: 200}
	if got := percentilesOf(series); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got := series[1]; got != 78*time.Millisecond {
		t.Errorf("the series was sorted in place: %s", got)
	}
}

func TestPercentilesOfFew(t *testing.T) {
	if got := percentilesOf(nil); got != (Percentiles{}) {
		t.Errorf("of nothing: %+v", got)
	}
	want := Percentiles{Count: 1, P50: 1.5, P95: 1.5, P99: 1.5, Max: 1.5}
	if got := percentilesOf([]time.Duration{1500 * time.Microsecond}); got != want {
		t.Errorf("of one: %+v, want %+v", got, want)
	}
}

func TestMedian(t *testing.T) {
	for _, row := range []struct {
		name   string
		values []float64
		want   float64
	}{
		{"of nothing", nil, 0},
		{"of one", []float64{3}, 3},
		{"of two is their mean", []float64{4, 1}, 2.5},
		{"of three is the middle", []float64{9, 1, 4}, 4},
	} {
		t.Run(row.name, func(t *testing.T) {
			if got := median(row.values); got != row.want {
				t.Errorf("got %g, want %g", got, row.want)
			}
		})
	}
}

func TestRate(t *testing.T) {
	if got := rate(500, 2*time.Second); got != 250 {
		t.Errorf("got %g, want 250", got)
	}
	if got := rate(500, 0); got != 0 {
		t.Errorf("in no time: %g, want 0", got)
	}
}

func TestRatioComparesWithinRounds(t *testing.T) {
	bulk := Bulk{Raw: []float64{100, 200, 1000}, Konnector: []float64{90, 190, 500}}
	if got := bulk.Ratio(); got != 0.9 {
		t.Errorf("got %g, want 0.9", got)
	}
	if got := (Bulk{Raw: []float64{100}}).Ratio(); got != 0 {
		t.Errorf("without a second measurement: %g, want 0", got)
	}
}
