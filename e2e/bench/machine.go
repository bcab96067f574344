package main

import (
	"context"
	"os"
	"os/exec"
	"runtime"
	"strings"

	"k8s.io/client-go/kubernetes"
)

// Machine is where, and of what, a run was made.
type Machine struct {
	CPU        string `json:"cpu"`
	Cores      int    `json:"cores"`
	Memory     int64  `json:"memoryBytes"`
	Kernel     string `json:"kernel"`
	Go         string `json:"go"`
	Kubernetes string `json:"kubernetes"`
	Commit     string `json:"commit"`
	Load       string `json:"load"` // of one, five and fifteen minutes, before the run
}

// describeMachine returns what can be learned; what cannot is "unknown".
func describeMachine(ctx context.Context, repository string) Machine {
	machine := Machine{
		CPU:    cpuModel(readText("/proc/cpuinfo")),
		Cores:  runtime.NumCPU(),
		Kernel: strings.TrimSpace(readText("/proc/sys/kernel/osrelease")),
		Go:     runtime.Version(),
		Commit: commit(ctx, repository),
	}
	machine.Memory, _ = parseStatus(readText("/proc/meminfo"), "MemTotal")
	if load := strings.Fields(readText("/proc/loadavg")); len(load) > 2 {
		machine.Load = strings.Join(load[:3], " ")
	}
	return machine
}

func readText(name string) string {
	content, err := os.ReadFile(name)
	if err != nil {
		return "unknown"
	}
	return string(content)
}

// cpuModel returns the first model in /proc/cpuinfo.
func cpuModel(info string) string {
	for line := range strings.Lines(info) {
		if name, value, _ := strings.Cut(line, ":"); strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return "unknown"
}

// commit returns the checked out commit, and whether files differ from it.
func commit(ctx context.Context, repository string) string {
	git := func(arguments ...string) (string, error) {
		out, err := exec.CommandContext(ctx, "git", append([]string{"-C", repository}, arguments...)...).Output()
		return strings.TrimSpace(string(out)), err
	}
	hash, err := git("rev-parse", "--short=12", "HEAD")
	if err != nil {
		return "unknown"
	}
	if changes, err := git("status", "--porcelain", "--", "*.go"); err != nil || changes != "" {
		hash += " with changes"
	}
	return hash
}

// serverVersion returns the version of an API server.
func serverVersion(client kubernetes.Interface) string {
	version, err := client.Discovery().ServerVersion()
	if err != nil {
		return "unknown"
	}
	return version.GitVersion
}
