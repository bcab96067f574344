package main

import (
	"context"
	"errors"
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
	ctx, cancel := context.WithCancelCause(context.Background())
	cancelOnSignal(cancel)
	os.Exit(exitCode(newCommand().ExecuteContext(ctx)))
}

// interrupted is why a demo ends that somebody has stopped.
type interrupted struct{ signal syscall.Signal }

// Error says so.
func (i interrupted) Error() string { return "interrupted" }

// cancelOnSignal cancels at the first signal and ignores further ones: taking
// everything back is what they want, and takes seconds.
func cancelOnSignal(cancel context.CancelCauseFunc) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	go func() {
		for received := range signals {
			cancel(interrupted{received.(syscall.Signal)})
		}
	}()
}

// exitCode prints an error that nobody has printed yet and returns what a shell
// expects.
func exitCode(err error) int {
	var stopped interrupted
	switch {
	case err == nil:
		return 0
	case errors.As(err, &stopped):
		return 128 + int(stopped.signal)
	default:
		fmt.Fprintln(os.Stderr, "Error:", err)
		return 1
	}
}

func newCommand() *cobra.Command {
	var keep bool
	command := &cobra.Command{
		Use:   "demo",
		Short: "See a Widget made on a consumer cluster appear on a provider cluster",
		Long: `Start two Kubernetes control planes on 127.0.0.1, a consumer and a provider, run the
konnector between them, and show step by step what it does. Everything is shown
as kubectl prints it, checked, and gone at the end.

It needs go and kubectl. The programs of the control planes come from
$KUBEBUILDER_ASSETS, or are built from source once, which takes about 12 minutes.`,
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			d, err := newDemo(cmd.Context(), newPrinter(os.Stdout))
			if err != nil {
				return err
			}
			return d.run(cmd.Context(), keep)
		},
	}
	command.CompletionOptions.DisableDefaultCmd = true
	command.Flags().BoolVar(&keep, "keep", false, "leave everything running for a look around, until Ctrl-C")
	return command
}
