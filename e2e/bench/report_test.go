package main

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func example() *Report {
	usage := Usage{RSS: 60 << 20, PeakRSS: 80 << 20, CPUSeconds: 1, LiveHeap: 20 << 20}
	return &Report{
		Started: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC),
		Machine: Machine{CPU: `A <fast> & "new" CPU`, Cores: 2, Memory: 8 << 30, Kernel: "6.1", Go: "go1.26", Kubernetes: "v1.37.2", Commit: "abc", Load: "0.1 0.2 0.3"},
		Bind:    Bind{Ready: []float64{0.5, 0.7, 0.6}, FirstObject: []float64{0.8}},
		Populations: []*Population{{
			Instances: 1000, ObjectBytes: 1500, CopyBytes: 2000,
			Up:          Bulk{Raw: []float64{1000}, Konnector: []float64{900}, Calls: Calls{"provider patch widgets": 1}, CPU: []float64{0.5}},
			Down:        Bulk{Raw: []float64{2000}, Konnector: []float64{2100}, Calls: Calls{"consumer patch widgets/status": 1}, CPU: []float64{0.4}},
			UpLatency:   Latency{Raw: Percentiles{300, 5, 8, 10, 20}, Konnector: Percentiles{300, 6, 9, 12, 25}},
			DownLatency: Latency{Raw: Percentiles{300, 5, 8, 10, 20}, Konnector: Percentiles{300, 6, 9, 12, 25}},
		}},
		Steady: &Steady{
			Instances: 1000, Empty: Usage{RSS: 30 << 20, LiveHeap: 4 << 20}, Settled: usage, Collected: true,
			RestartSeconds: 1.25, RestartCalls: Calls{"consumer watch widgets": 1}, IdleSeconds: 60, IdleCPU: 0.05,
			IdleCalls: Calls{"provider update leases": 6},
		},
		Connections: []Connections{{Count: 10, ReadySeconds: 2, Before: usage, After: usage}},
		Crowd:       []Crowd{{Own: 100, StartSeconds: 1, Usage: usage}, {Own: 100, Others: 20000, StartSeconds: 1, Usage: usage}},
	}
}

func TestTableTellsAll(t *testing.T) {
	var out bytes.Buffer
	printReport(&out, example())
	for _, want := range []string{
		"90 %", "105 %", "1000/s", "25.0", "0.60 s", "provider patch widgets", "6 provider update leases",
		"writes at a restart", "none", "1.25 s", "RSS 31457 bytes, live heap 16777 bytes", "20000", "v1.37.2",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the table lacks %q:\n%s", want, out.String())
		}
	}
}

func TestReportOfAnEarlyEnd(t *testing.T) {
	var out bytes.Buffer
	for _, r := range []*Report{{}, {Populations: []*Population{{Instances: 5}}, Steady: &Steady{Instances: 5}}} {
		printReport(&out, r)
		checkXML(t, plot(r))
	}
}

func TestPlotIsWellFormed(t *testing.T) {
	text := plot(example())
	checkXML(t, text)
	for _, want := range []string{"A &lt;fast&gt; &amp;", "1000 up", "90 %", "konnector"} {
		if !strings.Contains(text, want) {
			t.Errorf("the plot lacks %q", want)
		}
	}
	if strings.Contains(text, "NaN") || strings.Contains(text, "Inf") {
		t.Error("the plot has coordinates that are no numbers")
	}
}

func checkXML(t *testing.T, text string) {
	t.Helper()
	decoder := xml.NewDecoder(strings.NewReader(text))
	for {
		_, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatalf("%v in %s", err, text)
		}
	}
}

func TestNiceLimit(t *testing.T) {
	for highest, want := range map[float64]float64{0: 1, math.NaN(): 1, 0.3: 0.4, 7: 8, 8.5: 10, 100: 100, 101: 200, 430: 500} {
		if got := niceLimit(highest); math.Abs(got-want) > 1e-9 {
			t.Errorf("of %g: %g, want %g", highest, got, want)
		}
	}
}

func TestWriteFiles(t *testing.T) {
	dir := t.TempDir()
	o := &options{json: filepath.Join(dir, "r.json"), svg: filepath.Join(dir, "r.svg")}
	if err := writeFiles(o, example()); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(o.json)
	if err != nil {
		t.Fatal(err)
	}
	var back Report
	if err := json.Unmarshal(content, &back); err != nil || back.Steady.IdleCalls["provider update leases"] != 6 {
		t.Errorf("%v, %+v", err, back.Steady)
	}
	svg, err := os.ReadFile(o.svg)
	if err != nil {
		t.Fatal(err)
	}
	checkXML(t, string(svg))
}
