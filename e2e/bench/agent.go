package main

import (
	"context"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"syscall"

	"github.com/spf13/cobra"
	"k8s.io/klog/v2"

	"github.com/kbind-dev/konnector/pkg/konnector"
)

// agentVerb names the hidden command that is the konnector with profiles.
const agentVerb = "agent"

// newAgentCommand returns the konnector as a command of this program, which writes
// profiles when it ends.
func newAgentCommand() *cobra.Command {
	o := konnector.NewOptions()
	var prefix string
	command := &cobra.Command{
		Use: agentVerb, Hidden: true, Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			return profiled(ctx, o, prefix)
		},
	}
	o.AddFlags(command.Flags())
	command.Flags().StringVar(&prefix, "profile", "konnector", "Beginning of the names of the profiles.")
	return command
}

// profiled runs the konnector under a CPU profile. The heap is written before it
// ends, while the caches are still full.
func profiled(ctx context.Context, o *konnector.Options, prefix string) error {
	cpu, err := os.Create(filepath.Clean(prefix + "-cpu.pprof"))
	if err != nil {
		return err
	}
	defer cpu.Close()
	if err := pprof.StartCPUProfile(cpu); err != nil {
		return err
	}
	running, end := context.WithCancel(klog.NewContext(context.WithoutCancel(ctx), klog.Background()))
	context.AfterFunc(ctx, func() {
		pprof.StopCPUProfile()
		if err := writeHeap(prefix + "-heap.pprof"); err != nil {
			klog.Background().Error(err, "Writing the heap profile failed")
		}
		end()
	})
	return konnector.Run(running, o)
}

func writeHeap(name string) error {
	file, err := os.Create(filepath.Clean(name))
	if err != nil {
		return err
	}
	defer file.Close()
	runtime.GC()
	return pprof.WriteHeapProfile(file)
}
