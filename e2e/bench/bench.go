package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/kbind-dev/konnector/e2e/controlplane"
)

// bench is a pair of clusters and what runs between them.
type bench struct {
	*options
	repository string
	dir        string // temporary
	binary     string
	self       string // this program
	kubeconfig string // file, of the konnector's user on the consumer

	consumer, provider         *cluster
	consumerUser, providerUser *controlplane.User

	starts  int
	running *process // the one started last
}

// measure does everything, each number of instances on clusters of its own.
func measure(ctx context.Context, o *options, report *Report) error {
	report.Started = time.Now().UTC().Truncate(time.Second)
	repository, err := findRepository(ctx)
	if err != nil {
		return err
	}
	report.Machine = describeMachine(ctx, repository)
	dir, err := os.MkdirTemp("", "konnector-bench-")
	if err != nil {
		return err
	}
	if o.keep {
		say("Logs are in %s", dir)
	} else {
		defer os.RemoveAll(dir)
	}
	binary, err := buildKonnector(ctx, repository, dir)
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	b := &bench{options: o, repository: repository, dir: dir, binary: binary, self: self}
	for i, count := range o.instances {
		last := i == len(o.instances)-1
		err := b.onClusters(ctx, func(ctx context.Context) error { return b.measureWith(ctx, report, count, last) })
		if err != nil {
			return fmt.Errorf("%d instances: %w", count, err)
		}
	}
	return b.onClusters(ctx, func(ctx context.Context) error { return b.measureMany(ctx, report) })
}

// measureWith measures everything that depends on the number of instances.
func (b *bench) measureWith(ctx context.Context, report *Report, count int, last bool) error {
	report.Machine.Kubernetes = serverVersion(b.consumer.kube)
	population := &Population{Instances: count}
	report.Populations = append(report.Populations, population)
	empty, err := b.measureEmpty(ctx, last)
	if err != nil {
		return err
	}
	var bound, raw api
	var objects []identity
	for round := range b.rounds {
		say("%d instances, round %d: raw calls", count, round+1)
		raw = api{fmt.Sprintf("raw%d.example.org", round)}
		if objects, err = b.rawRound(ctx, raw, count, population); err != nil {
			return err
		}
		say("%d instances, round %d: konnector", count, round+1)
		bound = api{fmt.Sprintf("round%d.example.org", round)}
		if err := b.round(ctx, bound, count, round == b.rounds-1, &report.Bind, population); err != nil {
			return err
		}
	}
	say("%d instances: single changes", count)
	if err := b.measureLatency(ctx, bound, raw, objects, population); err != nil {
		return err
	}
	if !last {
		return nil
	}
	report.Steady = &Steady{Instances: count, Empty: empty}
	say("%d instances: restart, rest, memory", count)
	if err := b.measureSteady(ctx, report.Steady, bound); err != nil {
		return err
	}
	return b.compare(ctx, bound, count+1, population)
}

// measureMany measures many Connections, and many objects of others.
func (b *bench) measureMany(ctx context.Context, report *Report) error {
	for _, count := range b.connections {
		say("%d Connections", count)
		result, err := b.measureConnections(ctx, count)
		if err != nil {
			return err
		}
		report.Connections = append(report.Connections, result)
	}
	if !b.full {
		return nil
	}
	say("A provider with objects of others")
	var err error
	report.Crowd, err = b.measureCrowd(ctx)
	return err
}

// onClusters runs a function with a fresh pair of clusters.
func (b *bench) onClusters(ctx context.Context, do func(context.Context) error) (err error) {
	defer func() { err = errors.Join(err, b.tearDown()) }()
	if err := b.setUp(ctx); err != nil {
		return err
	}
	return do(ctx)
}

func (b *bench) setUp(ctx context.Context) error {
	var running sync.WaitGroup
	var errs [2]error
	// The control planes end with a thread that they keep for themselves.
	running.Go(func() { b.consumer, errs[0] = startCluster(ctx, "consumer", b.keep) })
	running.Go(func() { b.provider, errs[1] = startCluster(ctx, "provider", b.keep) })
	running.Wait()
	if err := errors.Join(errs[:]...); err != nil {
		return err
	}
	if err := b.consumer.installCore(ctx, b.repository); err != nil {
		return err
	}
	if err := b.consumer.createNamespaces(ctx, secrets, team); err != nil {
		return err
	}
	if err := b.provider.createNamespaces(ctx, heartbeats, team); err != nil {
		return err
	}
	return b.addUsers(ctx)
}

// addUsers makes those as whom the konnector runs, with no more rights than it needs.
func (b *bench) addUsers(ctx context.Context) (err error) {
	b.consumerUser, err = b.consumer.AddUser(ctx, "konnector",
		rule("core.kbind.io", "*", "get", "list", "watch", "patch"),
		rule("apiextensions.k8s.io", "customresourcedefinitions", "get", "list", "watch", "create", "update", "patch", "delete"),
		rule("", "namespaces", "get"),
		rule("", "events", "create", "patch"),
		rule("*", plural, "get", "list", "watch", "patch"),
		rule("*", plural+"/status", "patch"),
	)
	if err != nil {
		return err
	}
	if err := b.consumerUser.SetRulesIn(ctx, []string{secrets}, rule("", "secrets", "get", "list", "watch")); err != nil {
		return err
	}
	b.providerUser, err = b.provider.AddUser(ctx, "konnector",
		rule("", "namespaces", "get", "create"),
		rule("apiextensions.k8s.io", "customresourcedefinitions", "list", "watch"),
		rule("*", plural, "get", "list", "watch", "create", "patch", "delete"),
	)
	if err != nil {
		return err
	}
	b.kubeconfig = filepath.Join(b.dir, "kubeconfig")
	return errors.Join(
		b.providerUser.SetRulesIn(ctx, []string{heartbeats}, rule("coordination.k8s.io", "leases", "get", "create", "update", "delete")),
		os.WriteFile(b.kubeconfig, b.consumerUser.Kubeconfig(), 0o600),
	)
}

// byKonnector matches the calls of the konnector, on either side.
func byKonnector(e *event) bool { return e.User.Username == "konnector" }

func rule(group, resource string, verbs ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: []string{resource}, Verbs: verbs}
}

// tearDown ends the konnector, if one is left, and both clusters.
func (b *bench) tearDown() error {
	var errs []error
	if b.running != nil {
		errs = append(errs, b.running.stop())
		b.running = nil
	}
	for _, each := range []**cluster{&b.consumer, &b.provider} {
		if *each != nil {
			errs = append(errs, (*each).Stop())
			*each = nil
		}
	}
	return errors.Join(errs...)
}

// findRepository returns the folder of this module.
func findRepository(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}").Output()
	if err != nil {
		return "", fmt.Errorf("run it inside of the repository: %w", err)
	}
	return strings.TrimSpace(string(out)), nil
}

// say tells how far the run is.
func say(format string, arguments ...any) {
	fmt.Fprintf(os.Stderr, "%s  %s\n", time.Now().Format("15:04:05"), fmt.Sprintf(format, arguments...))
}
