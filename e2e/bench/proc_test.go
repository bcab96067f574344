package main

import (
	"os"
	"runtime"
	"testing"
)

func TestParseStatus(t *testing.T) {
	const status = "Name:\tkonnector\nVmHWM:\t   51200 kB\nVmRSS:\t   40960 kB\nThreads:\t9\n"
	for field, want := range map[string]int64{"VmRSS": 40 << 20, "VmHWM": 50 << 20} {
		if got, err := parseStatus(status, field); got != want || err != nil {
			t.Errorf("%s = %d, %v, want %d", field, got, err, want)
		}
	}
	if _, err := parseStatus(status, "VmSwap"); err == nil {
		t.Error("a field that is missing is no error")
	}
}

func TestParseStat(t *testing.T) {
	const stat = "77 (a (odd) name) S 1 77 77 0 -1 4194304 900 0 0 0 250 50 0 0 20 0 9 0 100 1000 500"
	if got, err := parseStat(stat); got != 3 || err != nil {
		t.Errorf("got %g, %v, want 3", got, err)
	}
	for _, wrong := range []string{"", "77 (x) S 1", "77 (x) S 1 77 77 0 -1 4194304 900 0 0 0 many 50"} {
		if _, err := parseStat(wrong); err == nil {
			t.Errorf("%q is no error", wrong)
		}
	}
}

func TestParseCollections(t *testing.T) {
	const log = `I1201 10:00:00.000000 1 konnector.go:1] "Starting"
gc 1 @0.031s 2%: 0.1+1.2+0.03 ms clock, 0.2+0.4/1.0/0.1+0.07 ms cpu, 3->4->2 MB, 4 MB goal, 0 MB stacks, 0 MB globals, 2 P
gc 2 @120.100s 0%: 0.1+1.2+0.03 ms clock, 0.2+0.4/1.0/0.1+0.07 ms cpu, 9->9->7 MB, 10 MB goal, 0 MB stacks, 0 MB globals, 2 P (forced)
gc is mentioned here as well
`
	if live, count := parseCollections(log); live != 7<<20 || count != 2 {
		t.Errorf("live %d, count %d, want 7 MiB and 2", live, count)
	}
	if live, count := parseCollections(""); live != 0 || count != 0 {
		t.Errorf("of an empty log: %d, %d", live, count)
	}
}

func TestReadUsageOfThisProcess(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("reads /proc")
	}
	usage, err := readUsage(os.Getpid())
	if err != nil || usage.RSS <= 0 || usage.PeakRSS < usage.RSS {
		t.Errorf("%+v, %v", usage, err)
	}
}

func TestCPUModel(t *testing.T) {
	if got := cpuModel("processor\t: 0\nmodel name\t: Fast CPU @ 3: GHz\nmodel name\t: Other\n"); got != "Fast CPU @ 3: GHz" {
		t.Errorf("got %q", got)
	}
	if got := cpuModel(""); got != "unknown" {
		t.Errorf("of nothing: %q", got)
	}
}
