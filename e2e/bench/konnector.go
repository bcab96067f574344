package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

// konnectorLimit is how long the konnector may take to end before it is killed.
const konnectorLimit = 15 * time.Second

// process is a running konnector.
type process struct {
	cmd     *exec.Cmd
	log     string
	started time.Time
	done    chan struct{} // closed when it has ended
	err     error         // why, after that
}

// buildKonnector compiles it as it is shipped.
func buildKonnector(ctx context.Context, repository, dir string) (string, error) {
	binary := filepath.Join(dir, "konnector")
	build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-o", binary, "./cmd/konnector")
	build.Dir, build.Env = repository, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building the konnector: %w\n%s", err, out)
	}
	return binary, nil
}

// startKonnector starts a process. It belongs to the main goroutine: see dieWithParent.
func (b *bench) startKonnector() (*process, error) {
	b.starts++
	log := filepath.Join(b.dir, fmt.Sprintf("konnector-%02d.log", b.starts))
	output, err := os.Create(log)
	if err != nil {
		return nil, err
	}
	program, arguments := b.command()
	k := &process{cmd: exec.Command(program, arguments...), log: log, done: make(chan struct{})}
	k.cmd.Stdout, k.cmd.Stderr = output, output
	k.cmd.Env = append(os.Environ(), "GODEBUG=gctrace=1") // a line for each garbage collection
	dieWithParent(k.cmd)
	k.started = time.Now()
	if err := k.cmd.Start(); err != nil {
		return nil, errors.Join(err, output.Close())
	}
	go func() {
		k.err = k.cmd.Wait()
		_ = output.Close()
		close(k.done)
	}()
	b.running = k
	return k, nil
}

// command returns the program and its arguments.
func (b *bench) command() (program string, arguments []string) {
	program = b.binary
	if b.profile != "" {
		program = b.self
		arguments = []string{agentVerb, "--profile", filepath.Join(b.profile, fmt.Sprintf("%02d", b.starts))}
	}
	arguments = append(arguments, "--kubeconfig", b.kubeconfig, "--credential-namespaces", secrets)
	if b.workers > 0 {
		arguments = append(arguments, "--workers", strconv.Itoa(b.workers))
	}
	return program, arguments
}

// stop ends the process in order.
func (k *process) stop() error {
	_ = k.cmd.Process.Signal(syscall.SIGTERM) // fails only when it has ended
	select {
	case <-k.done:
		if k.err != nil {
			return fmt.Errorf("the konnector ended with %w: see %s", k.err, k.log)
		}
		return nil
	case <-time.After(konnectorLimit):
	}
	_ = k.cmd.Process.Kill()
	<-k.done
	return fmt.Errorf("the konnector did not end within %s of SIGTERM", konnectorLimit)
}

// watchOver returns a context that ends with the process.
func (k *process) watchOver(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		select {
		case <-k.done:
			cancel(fmt.Errorf("the konnector has ended by itself: see %s: %w", k.log, k.reason()))
		case <-ctx.Done():
		}
	}()
	return ctx, func() { cancel(nil) }
}

// reason returns why it has ended.
func (k *process) reason() error {
	if k.err == nil {
		return errors.New("exit status 0")
	}
	return k.err
}

// usage returns what the process has and has used.
func (k *process) usage() (Usage, error) {
	usage, err := readUsage(k.cmd.Process.Pid)
	if err != nil {
		return usage, err
	}
	log, err := os.ReadFile(k.log)
	usage.LiveHeap, _ = parseCollections(string(log))
	return usage, err
}

// settle waits until the Go runtime has collected garbage while there was nothing
// to do, which it does at least every two minutes, and has given memory back. It
// reports whether that happened within the limit.
func (k *process) settle(ctx context.Context, limit time.Duration) (bool, error) {
	collections := func() int {
		_, count := parseCollections(readText(k.log))
		return count
	}
	before, began, collected := collections(), time.Now(), false
	err := until(ctx, limit+time.Second, time.Second, func(context.Context) (bool, error) {
		collected = collections() > before
		return collected || time.Since(began) > limit, nil
	})
	if err != nil || !collected {
		return collected, err
	}
	return collected, pause(ctx, shortWait)
}

// pause waits, or returns why the context has ended.
func pause(ctx context.Context, span time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(span):
		return nil
	}
}
