package main

import (
	"math"
	"slices"
	"time"
)

// Percentiles describe a series of durations, in milliseconds.
type Percentiles struct {
	Count int     `json:"count"`
	P50   float64 `json:"p50"`
	P95   float64 `json:"p95"`
	P99   float64 `json:"p99"`
	Max   float64 `json:"max"`
}

// percentilesOf returns the percentiles of a series, by nearest rank: each is a
// duration that was measured.
func percentilesOf(series []time.Duration) Percentiles {
	if len(series) == 0 {
		return Percentiles{}
	}
	sorted := slices.Sorted(slices.Values(series))
	rank := func(p float64) float64 {
		at := int(math.Ceil(p/100*float64(len(sorted)))) - 1
		return milliseconds(sorted[max(at, 0)])
	}
	return Percentiles{Count: len(sorted), P50: rank(50), P95: rank(95), P99: rank(99), Max: rank(100)}
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// median returns the middle value, or the mean of the two in the middle, and zero
// of nothing.
func median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	half := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[half]
	}
	return (sorted[half-1] + sorted[half]) / 2
}

// rate returns how many per second count in a span is.
func rate(count int, span time.Duration) float64 {
	if span <= 0 {
		return 0
	}
	return float64(count) / span.Seconds()
}
