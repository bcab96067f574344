package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"
)

// Files of the demo's folder.
const (
	kubeconfigFile = "kubeconfig"
	tokenFile      = "token"
	bundleFile     = "bundle.yaml"
	programFile    = "konnector"
	logFile        = "konnector.log"
)

// bundleSample is what users fill in.
const bundleSample = "manifests/samples/bundle.yaml"

// together runs all tasks at once and returns when all have ended. The first
// error makes the others end.
func together(ctx context.Context, tasks ...func(context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var running sync.WaitGroup
	for _, task := range tasks {
		running.Go(func() {
			if err := task(ctx); err != nil {
				cancel(err)
			}
		})
	}
	running.Wait()
	return context.Cause(ctx)
}

// setUp starts both clusters, builds the konnector, and writes the kubeconfig
// that the commands use.
func setUp(ctx context.Context, d *demo) error {
	d.line("\n%sStarting both, and building the konnector meanwhile ...", shellIndent)
	began := time.Now()
	tasks := []func(context.Context) error{func(ctx context.Context) error {
		if err := buildKonnector(ctx, d.shell); err != nil {
			return err
		}
		d.done("konnector, built from this checkout", time.Since(began))
		return nil
	}}
	for _, each := range d.clusters {
		tasks = append(tasks, func(ctx context.Context) error {
			if err := each.start(ctx); err != nil {
				return err
			}
			d.done(each.describe(), time.Since(began))
			return nil
		})
	}
	if err := together(ctx, tasks...); err != nil {
		return err
	}
	for _, each := range d.clusters {
		go each.watchOver(ctx, d.cancel)
	}
	return d.writeKubeconfig()
}

// writeKubeconfig writes the one file with a context for each cluster.
func (d *demo) writeKubeconfig() error {
	both, err := mergeKubeconfigs(d.clusters[consumer].AdminKubeconfig(), d.clusters[provider].AdminKubeconfig())
	if err != nil {
		return err
	}
	d.command(d.exports())
	return os.WriteFile(d.path(kubeconfigFile), both, 0o600)
}

// fillBundle puts the provider's address and the token into the bundle.
func fillBundle(_ context.Context, d *demo) error {
	token, err := os.ReadFile(d.path(tokenFile))
	if err != nil {
		return err
	}
	kubeconfig, err := tokenKubeconfig(d.clusters[provider].AdminKubeconfig(), "consumer-blue", strings.TrimSpace(string(token)))
	if err != nil {
		return err
	}
	sample, err := os.ReadFile(d.inRepository(bundleSample))
	if err != nil {
		return err
	}
	bundle, err := renderBundle(string(sample), string(kubeconfig))
	if err != nil {
		return fmt.Errorf("%s: %w", bundleSample, err)
	}
	return os.WriteFile(d.path(bundleFile), []byte(bundle), 0o600)
}

// startAgent starts the konnector.
func startAgent(_ context.Context, d *demo) (err error) {
	d.command(konnectorCommand + " &")
	d.konnector, err = startKonnector(d.shell, d.cancel)
	return err
}
