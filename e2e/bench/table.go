package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
)

// printReport writes what was measured as tables for people. Parts that were not
// measured are left out.
func printReport(out io.Writer, r *Report) {
	machine := r.Machine
	fmt.Fprintf(out, "\n%s, %d cores, %s memory, kernel %s\n", machine.CPU, machine.Cores, size(machine.Memory), machine.Kernel)
	fmt.Fprintf(out, "%s, Kubernetes %s, commit %s, load before the run %s, %s\n", machine.Go, machine.Kubernetes, machine.Commit, machine.Load, r.Started.Format("2006-01-02 15:04 MST"))
	printBulk(out, r)
	printLatency(out, r)
	printCalls(out, r)
	printSteady(out, r.Steady)
	printMany(out, r)
}

// table writes rows in columns; the first row is the head.
func table(out io.Writer, title string, rows ...[]string) {
	fmt.Fprintf(out, "\n%s\n", title)
	writer := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		fmt.Fprintf(writer, "  %s\n", strings.Join(row, "\t"))
	}
	_ = writer.Flush()
}

func printBulk(out io.Writer, r *Report) {
	rows := [][]string{{"instances", "way", "raw", "konnector", "ratio", "rounds", "konnector CPU"}}
	for _, p := range r.Populations {
		for _, way := range []struct {
			name string
			bulk Bulk
		}{{"up", p.Up}, {"down", p.Down}} {
			rows = append(rows, []string{
				fmt.Sprint(p.Instances), way.name,
				fmt.Sprintf("%.0f/s", median(way.bulk.Raw)), fmt.Sprintf("%.0f/s", median(way.bulk.Konnector)),
				fmt.Sprintf("%.0f %%", 100*way.bulk.Ratio()), ratios(way.bulk),
				fmt.Sprintf("%.2f ms/object", median(way.bulk.CPU)),
			})
		}
	}
	table(out, "Bulk work, objects per second (medians)", rows...)
	if len(r.Bind.Ready) > 0 {
		table(out, "From the bundle to a working API",
			[]string{"binding ready", fmt.Sprintf("%.2f s", median(r.Bind.Ready))},
			[]string{"first Widget on the provider", fmt.Sprintf("%.2f s", median(r.Bind.FirstObject))})
	}
}

// ratios returns the ratio of each round.
func ratios(b Bulk) string {
	var all []string
	for i := range min(len(b.Raw), len(b.Konnector)) {
		all = append(all, fmt.Sprintf("%.0f", 100*b.Konnector[i]/b.Raw[i]))
	}
	return strings.Join(all, " ")
}

func printLatency(out io.Writer, r *Report) {
	rows := [][]string{{"instances", "way", "by", "p50", "p95", "p99", "max"}}
	for _, p := range r.Populations {
		for _, way := range []struct {
			name    string
			latency Latency
		}{{"spec up", p.UpLatency}, {"status down", p.DownLatency}} {
			rows = append(rows, latencyRow(p.Instances, way.name, "konnector", way.latency.Konnector), latencyRow(p.Instances, way.name, "raw calls", way.latency.Raw))
		}
	}
	table(out, "Latency of one change, from the request to the event on the other side, ms", rows...)
}

func latencyRow(instances int, way, by string, p Percentiles) []string {
	row := []string{fmt.Sprint(instances), way, by}
	for _, value := range []float64{p.P50, p.P95, p.P99, p.Max} {
		row = append(row, fmt.Sprintf("%.1f", value))
	}
	return row
}

func printCalls(out io.Writer, r *Report) {
	rows := [][]string{{"instances", "way", "call", "per object"}}
	for _, p := range r.Populations {
		for _, kind := range slices.Sorted(maps.Keys(p.Up.Calls)) {
			rows = append(rows, []string{fmt.Sprint(p.Instances), "up", kind, fmt.Sprintf("%.4f", p.Up.Calls[kind])})
		}
		for _, kind := range slices.Sorted(maps.Keys(p.Down.Calls)) {
			rows = append(rows, []string{fmt.Sprint(p.Instances), "down", kind, fmt.Sprintf("%.4f", p.Down.Calls[kind])})
		}
	}
	table(out, "Calls of the konnector in bulk work", rows...)
}

func printSteady(out io.Writer, s *Steady) {
	if s == nil || s.Settled.RSS == 0 {
		return
	}
	rss, heap := s.PerInstance()
	note := ""
	if !s.Collected {
		note = " (garbage not yet collected)"
	}
	table(out, fmt.Sprintf("With %d instances in sync", s.Instances),
		[]string{"memory without instances", fmt.Sprintf("RSS %s, live heap %s", size(s.Empty.RSS), size(s.Empty.LiveHeap))},
		[]string{"memory in sync" + note, fmt.Sprintf("RSS %s (peak %s), live heap %s", size(s.Settled.RSS), size(s.Settled.PeakRSS), size(s.Settled.LiveHeap))},
		[]string{"per instance", fmt.Sprintf("RSS %.0f bytes, live heap %.0f bytes", rss, heap)},
		[]string{"restart to the first new write", fmt.Sprintf("%.2f s", s.RestartSeconds)},
		[]string{"writes at a restart", s.RestartWrites.String()},
		[]string{"all calls at a restart", s.RestartCalls.String()},
		[]string{fmt.Sprintf("calls in %.0f s of rest", s.IdleSeconds), s.IdleCalls.String()},
		[]string{"CPU at rest", fmt.Sprintf("%.2f s", s.IdleCPU)},
	)
}

// String returns the calls on one line.
func (c Calls) String() string {
	if len(c) == 0 {
		return "none"
	}
	var all []string
	for _, kind := range slices.Sorted(maps.Keys(c)) {
		all = append(all, fmt.Sprintf("%.0f %s", c[kind], kind))
	}
	return strings.Join(all, ", ")
}

func printMany(out io.Writer, r *Report) {
	if p := last(r.Populations); p != nil && p.ObjectBytes > 0 {
		table(out, "Sizes as JSON, managed fields included",
			[]string{"object on the consumer", fmt.Sprintf("%d bytes", p.ObjectBytes)},
			[]string{"copy on the provider", fmt.Sprintf("%d bytes", p.CopyBytes)})
	}
	if len(r.Connections) > 0 {
		rows := [][]string{{"Connections", "all ready", "RSS before", "RSS after", "live heap"}}
		for _, c := range r.Connections {
			rows = append(rows, []string{fmt.Sprint(c.Count), fmt.Sprintf("%.2f s", c.ReadySeconds), size(c.Before.RSS), size(c.After.RSS), size(c.After.LiveHeap)})
		}
		table(out, "Connections made at once, an API group each", rows...)
	}
	if len(r.Crowd) > 0 {
		rows := [][]string{{"own instances", "of others", "start to the first new write", "RSS", "live heap"}}
		for _, c := range r.Crowd {
			rows = append(rows, []string{fmt.Sprint(c.Own), fmt.Sprint(c.Others), fmt.Sprintf("%.2f s", c.StartSeconds), size(c.Usage.RSS), size(c.Usage.LiveHeap)})
		}
		table(out, "A provider that others use", rows...)
	}
}

func last(all []*Population) *Population {
	if len(all) == 0 {
		return nil
	}
	return all[len(all)-1]
}

// size returns bytes for people.
func size(bytes int64) string {
	switch {
	case bytes >= 1<<30:
		return fmt.Sprintf("%.1f GiB", float64(bytes)/(1<<30))
	case bytes >= 1<<20:
		return fmt.Sprintf("%.1f MiB", float64(bytes)/(1<<20))
	default:
		return fmt.Sprintf("%d bytes", bytes)
	}
}
