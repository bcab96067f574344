package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"time"
)

// Report is all that a run has measured.
type Report struct {
	Started     time.Time     `json:"started"`
	Machine     Machine       `json:"machine"`
	Bind        Bind          `json:"bind"`
	Populations []*Population `json:"populations"`
	Steady      *Steady       `json:"steady,omitempty"`
	Connections []Connections `json:"connections,omitempty"`
	Crowd       []Crowd       `json:"crowd,omitempty"`
}

// Bind is how long it takes from the bundle to a working API, in seconds, once for
// each round.
type Bind struct {
	Ready       []float64 `json:"readySeconds"`
	FirstObject []float64 `json:"firstObjectSeconds"`
}

// Calls are numbers of calls by side, verb and resource.
type Calls map[string]float64

// per returns the calls for each of count objects.
func (c Calls) per(count int) Calls {
	each := Calls{}
	for kind, number := range c {
		each[kind] = number / float64(count)
	}
	return each
}

// Population is what was measured with a number of instances.
type Population struct {
	Instances   int     `json:"instances"`
	ObjectBytes int     `json:"consumerObjectBytes"`
	CopyBytes   int     `json:"providerObjectBytes"`
	Up          Bulk    `json:"up"`
	Down        Bulk    `json:"down"`
	UpLatency   Latency `json:"upLatencyMilliseconds"`
	DownLatency Latency `json:"downLatencyMilliseconds"`
}

// Bulk is the throughput of a round each, in objects per second, and the calls of
// the konnector for one object in the last round.
type Bulk struct {
	Raw       []float64 `json:"raw"`
	Konnector []float64 `json:"konnector"`
	Calls     Calls     `json:"callsPerObject"`
	CPU       []float64 `json:"konnectorCPUMillisecondsPerObject"`
}

// Ratio returns the median of the rounds' ratios: the two measurements of a round
// have followed each other, so noise that lasts meets both.
func (b Bulk) Ratio() float64 {
	var ratios []float64
	for i := range min(len(b.Raw), len(b.Konnector)) {
		if b.Raw[i] > 0 {
			ratios = append(ratios, b.Konnector[i]/b.Raw[i])
		}
	}
	return median(ratios)
}

// Latency is that of single changes, from the request to the event on the other side.
type Latency struct {
	Raw       Percentiles `json:"raw"`
	Konnector Percentiles `json:"konnector"`
}

// Steady is what the konnector costs when everything is in sync.
type Steady struct {
	Instances int   `json:"instances"`
	Empty     Usage `json:"usageWithoutInstances"`
	Settled   Usage `json:"usageInSync"`
	Collected bool  `json:"collected"` // whether garbage was collected at rest, before Settled

	RestartSeconds float64 `json:"restartSeconds"`
	RestartWrites  Calls   `json:"restartWrites"`
	RestartCalls   Calls   `json:"restartCalls"`

	IdleSeconds float64 `json:"idleSeconds"`
	IdleCPU     float64 `json:"idleCPUSeconds"`
	IdleCalls   Calls   `json:"idleCalls"`
}

// PerInstance returns the bytes of memory for each instance, by RSS and by live heap.
func (s *Steady) PerInstance() (rss, heap float64) {
	return float64(s.Settled.RSS-s.Empty.RSS) / float64(s.Instances), float64(s.Settled.LiveHeap-s.Empty.LiveHeap) / float64(s.Instances)
}

// Connections is what a number of Connections costs, each with an API group of its own.
type Connections struct {
	Count        int     `json:"count"`
	ReadySeconds float64 `json:"readySeconds"`
	Before       Usage   `json:"usageBefore"`
	After        Usage   `json:"usageAfter"`
}

// Crowd is what the konnector costs on a provider that holds objects of others.
type Crowd struct {
	Own          int     `json:"own"`
	Others       int     `json:"others"`
	StartSeconds float64 `json:"startSeconds"`
	Usage        Usage   `json:"usage"`
}

// writeFiles writes what the flags ask for.
func writeFiles(o *options, report *Report) error {
	if o.json != "" {
		content, err := json.MarshalIndent(report, "", "  ")
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Clean(o.json), append(content, '\n'), 0o644); err != nil {
			return err
		}
	}
	if o.svg == "" {
		return nil
	}
	return os.WriteFile(filepath.Clean(o.svg), []byte(plot(report)), 0o644)
}
