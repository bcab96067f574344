// Command controlplane is etcd, kube-apiserver and kube-controller-manager in
// one program. Which of them runs is decided by the name it is called by, so
// that a folder with three links is laid out like KUBEBUILDER_ASSETS. One
// program links once where three would link three times, and most of what the
// three consist of is the same code.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"          // --logging-format=json
	_ "k8s.io/component-base/metrics/prometheus/clientgo" // client and workqueue metrics
	_ "k8s.io/component-base/metrics/prometheus/version"  // build info metric
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
)

var commands = map[string]func() *cobra.Command{
	"kube-apiserver":          apiserver.NewAPIServerCommand,
	"kube-controller-manager": controllermanager.NewControllerManagerCommand,
}

func main() {
	name := filepath.Base(os.Args[0])
	if name == "etcd" {
		etcdmain.Main(os.Args)
		return
	}
	command, known := commands[name]
	if !known {
		fmt.Fprintf(os.Stderr, "%s: call this program by the name of a link to it: etcd, kube-apiserver or kube-controller-manager\n", name)
		os.Exit(2)
	}
	os.Exit(cli.Run(command()))
}
