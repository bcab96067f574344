// Command konnector lets the cluster that it runs in use the APIs of other clusters.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
	"k8s.io/component-base/cli"
	"k8s.io/component-base/logs"
	logsapi "k8s.io/component-base/logs/api/v1"
	_ "k8s.io/component-base/logs/json/register" // --logging-format=json
	"k8s.io/klog/v2"

	"github.com/kbind-dev/konnector/pkg/konnector"
)

func main() {
	os.Exit(cli.Run(newCommand()))
}

func newCommand() *cobra.Command {
	options := konnector.NewOptions()
	logging := logsapi.NewLoggingConfiguration()
	command := &cobra.Command{
		Use:   "konnector",
		Short: "Use the APIs of a provider cluster in this one",
		Long: `The konnector lets a cluster use APIs of other clusters. It reads the kubeconfig of
a provider from a Secret, installs the provider's exported APIs as CRDs, and keeps
their instances in sync: spec flows to the provider, status flows back.

What it does is told by Connections, ClusterBindings and Bindings (core.kbind.io).`,
		Args:         cobra.NoArgs,
		Version:      konnector.Version(),
		SilenceUsage: true,
		RunE: func(*cobra.Command, []string) error {
			if err := logsapi.ValidateAndApply(logging, nil); err != nil {
				return err
			}
			defer logs.FlushLogs()
			return run(options)
		},
	}
	options.AddFlags(command.Flags())
	logsapi.AddFlags(logging, command.Flags())
	return command
}

// run runs the konnector until SIGINT or SIGTERM. A second signal ends the process at once.
func run(options *konnector.Options) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)
	return konnector.Run(klog.NewContext(ctx, klog.Background()), options)
}
