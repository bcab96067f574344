// Command localcluster runs a Kubernetes control plane on this machine for as
// long as one looks at it: etcd, kube-apiserver and kube-controller-manager, no
// nodes. Two of them, a consumer and a provider, are what the demo needs.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// The first signal ends in order; a second one ends at once.
	context.AfterFunc(ctx, stop)
	if err := rootCommand().ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "Error:", err)
		os.Exit(1)
	}
}

func rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:           "localcluster",
		Short:         "Kubernetes control planes on this machine, for the demo and for trying things out",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.CompletionOptions.DisableDefaultCmd = true
	root.AddCommand(upCommand())
	return root
}

func upCommand() *cobra.Command {
	var u up
	command := &cobra.Command{
		Use:   "up NAME",
		Short: "Start a control plane and keep it until Ctrl-C",
		Long: `Start etcd, kube-apiserver and kube-controller-manager on 127.0.0.1, write a
kubeconfig for them, and end everything at Ctrl-C. There are no nodes: objects
are stored, namespaces are emptied, garbage is collected, but no Pod runs.

The programs come from $KUBEBUILDER_ASSETS, or are built from source once, which
takes about 12 minutes on two cores.`,
		Example: `  localcluster up consumer
  localcluster up provider --kubeconfig /tmp/provider.kubeconfig`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			u.name = args[0]
			u.out = cmd.OutOrStdout()
			return u.run(cmd.Context())
		},
	}
	command.Flags().StringVar(&u.kubeconfig, "kubeconfig", "", "file to write the kubeconfig to (default ./NAME.kubeconfig)")
	command.Flags().BoolVar(&u.keep, "keep-data", false, "leave data, logs and audit log in place at the end, to look at them")
	return command
}
