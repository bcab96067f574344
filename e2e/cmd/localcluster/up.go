package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"k8s.io/client-go/discovery"

	"github.com/kbind-dev/konnector/e2e/controlplane"
)

// logLines is how much of each log is shown when a component ends by itself.
const logLines = 20

// up is one run of "localcluster up".
type up struct {
	name       string
	kubeconfig string
	keep       bool
	out        io.Writer
}

// run starts the cluster, waits for the context to end, and takes back all that
// it made.
func (u *up) run(ctx context.Context) error {
	file, err := claim(u.kubeconfig, u.name)
	if err != nil {
		return err
	}
	cp, err := u.start(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return errors.New("interrupted before the cluster was ready")
		}
		return err
	}
	if err := file.write(cp.AdminKubeconfig()); err != nil {
		return errors.Join(err, cp.Stop())
	}
	u.greet(cp, file)
	died := cp.Wait(ctx)
	if died != nil {
		died = fmt.Errorf("%w\n%s", died, cp.Logs(logLines))
	}
	return errors.Join(died, u.stop(cp, file))
}

func (u *up) start(ctx context.Context) (*controlplane.ControlPlane, error) {
	fmt.Fprintf(u.out, "Starting cluster %s ...\n", u.name)
	return controlplane.Start(ctx, controlplane.Options{
		Name: u.name,
		Keep: u.keep,
		Progress: func(component string, took time.Duration) {
			fmt.Fprintf(u.out, "  ✓ %-24s %4.1f s\n", component, took.Seconds())
		},
	})
}

// greet tells how to use the cluster.
func (u *up) greet(cp *controlplane.ControlPlane, file *kubeconfigFile) {
	config := cp.AdminConfig()
	version := "of unknown version"
	if client, err := discovery.NewDiscoveryClientForConfig(config); err == nil {
		if info, err := client.ServerVersion(); err == nil {
			version = "Kubernetes " + info.GitVersion
		}
	}
	fmt.Fprintf(u.out, `
Cluster %s is ready: %s, %s

  kubectl --kubeconfig %s get namespaces

or for all commands of a shell:

  export KUBECONFIG=%s

`, u.name, config.Host, version, file.shown, file.path)
	if u.keep {
		fmt.Fprintf(u.out, "Data, logs and audit log are in %s.\n", cp.Dir())
	}
	fmt.Fprintln(u.out, "Ctrl-C ends it.")
}

// stop ends the cluster and says what became of its files.
func (u *up) stop(cp *controlplane.ControlPlane, file *kubeconfigFile) error {
	fmt.Fprintf(u.out, "\nStopping cluster %s ...\n", u.name)
	if err := errors.Join(cp.Stop(), file.remove()); err != nil {
		return err
	}
	if u.keep {
		fmt.Fprintf(u.out, "Stopped. %s is removed; data, logs and audit log stay in %s.\n", file.shown, cp.Dir())
		return nil
	}
	fmt.Fprintf(u.out, "Stopped. %s and all data are removed.\n", file.shown)
	return nil
}

// defaultKubeconfig returns where the kubeconfig goes when no flag says so.
func defaultKubeconfig(name string) string {
	return "." + string(filepath.Separator) + name + ".kubeconfig"
}
