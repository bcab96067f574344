package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"syscall"

	"github.com/spf13/cobra"
)

// The kernel ends the konnector with the thread that started it (see
// dieWithParent), so that has to be the one which lives as long as we do.
func init() { runtime.LockOSThread() }

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	err := newCommand().ExecuteContext(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "Error:", err)
		os.Exit(1)
	}
}

func newCommand() *cobra.Command {
	o := newOptions()
	command := &cobra.Command{
		Use:   "bench",
		Short: "Measure the konnector against what its API servers can do",
		Long: `Start two Kubernetes control planes on 127.0.0.1, run the konnector between them,
and measure time, calls, memory and idle cost. Figures are printed, not judged;
the exit code is 1 when the two sides differ at the end.`,
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.complete(); err != nil {
				return err
			}
			return runAll(cmd.Context(), o)
		},
	}
	o.addFlags(command.Flags())
	command.AddCommand(newAgentCommand())
	command.CompletionOptions.DisableDefaultCmd = true
	return command
}

// runAll measures, and shows what was measured also when the run ends early.
func runAll(ctx context.Context, o *options) error {
	report := &Report{}
	err := measure(ctx, o, report)
	printReport(os.Stdout, report)
	if writeErr := writeFiles(o, report); err == nil {
		err = writeErr
	}
	return err
}
