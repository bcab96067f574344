package main

import (
	"bufio"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
)

// clockTicks is the unit of times in /proc: USER_HZ, which is 100 on all of Linux.
const clockTicks = 100

// Usage is what a process has and has used.
type Usage struct {
	RSS        int64   `json:"rssBytes"`
	PeakRSS    int64   `json:"peakRSSBytes"`
	CPUSeconds float64 `json:"cpuSeconds"`
	LiveHeap   int64   `json:"liveHeapBytes"` // after the last garbage collection, in whole MiB
}

// readUsage returns what /proc knows of a process.
func readUsage(pid int) (Usage, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return Usage{}, err
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return Usage{}, err
	}
	var usage Usage
	if usage.RSS, err = parseStatus(string(status), "VmRSS"); err != nil {
		return usage, err
	}
	if usage.PeakRSS, err = parseStatus(string(status), "VmHWM"); err != nil {
		return usage, err
	}
	usage.CPUSeconds, err = parseStat(string(stat))
	return usage, err
}

// parseStatus returns a size of /proc/PID/status in bytes.
func parseStatus(status, field string) (int64, error) {
	for line := range strings.Lines(status) {
		name, value, _ := strings.Cut(line, ":")
		if name != field {
			continue
		}
		kilobytes, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64)
		return kilobytes << 10, err
	}
	return 0, fmt.Errorf("no %s in the status of the process", field)
}

// parseStat returns the CPU seconds of /proc/PID/stat, those of the kernel included.
func parseStat(stat string) (float64, error) {
	// The name of the program is in parentheses and may hold anything.
	fields := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
	const user, system = 11, 12 // the 14th and 15th field of all, the 3rd is our first
	if len(fields) <= system {
		return 0, fmt.Errorf("%d fields in the stat of the process", len(fields))
	}
	var ticks int64
	for _, each := range []string{fields[user], fields[system]} {
		value, err := strconv.ParseInt(each, 10, 64)
		if err != nil {
			return 0, err
		}
		ticks += value
	}
	return float64(ticks) / clockTicks, nil
}

// collection is a line that the Go runtime prints under GODEBUG=gctrace=1.
var collection = regexp.MustCompile(`^gc \d+ @.* \d+->\d+->(\d+) MB, `)

// parseCollections returns the live heap after the last garbage collection in a
// log, and how many there were.
func parseCollections(log string) (live int64, count int) {
	scanner := bufio.NewScanner(strings.NewReader(log))
	for scanner.Scan() {
		found := collection.FindStringSubmatch(scanner.Text())
		if found == nil {
			continue
		}
		megabytes, err := strconv.ParseInt(found[1], 10, 64)
		if err != nil {
			continue
		}
		live = megabytes << 20
		count++
	}
	return live, count
}
