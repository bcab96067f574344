package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

const (
	konnectorCommand = "$DEMO/konnector --kubeconfig $KUBECONFIG --context consumer -v=2 2>$DEMO/" + logFile

	// konnectorLimit is how long the konnector may take to end before it is killed.
	konnectorLimit = 5 * time.Second
	// logLines is how much of its log is shown when something goes wrong.
	logLines = 30
)

// konnector is the agent, a process of its own as in real life.
type konnector struct {
	cmd  *exec.Cmd
	done chan struct{} // closed when it has ended
	err  error         // why, after that
}

// buildKonnector compiles it. What only debuggers want takes a while and is left
// out. What go leaves behind when it is interrupted goes with our folder.
func buildKonnector(ctx context.Context, s *shell) error {
	build := s.program(ctx, "go", "build", "-buildvcs=false", "-ldflags=-s -w", "-o", s.path(programFile), "./cmd/konnector")
	build.Env = append(build.Env, "GOTMPDIR="+s.dir)
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("building the konnector: %w\n%s", err, out)
	}
	return nil
}

// startKonnector starts it. When it ends before it is stopped, onDeath is called.
func startKonnector(s *shell, onDeath func(error)) (*konnector, error) {
	k := &konnector{
		cmd:  s.program(context.Background(), "sh", "-c", "exec "+konnectorCommand),
		done: make(chan struct{}),
	}
	dieWithParent(k.cmd)
	if err := k.cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting the konnector: %w", err)
	}
	go func() {
		k.err = k.cmd.Wait()
		close(k.done)
		onDeath(fmt.Errorf("the konnector has ended by itself: %w", k.reason()))
	}()
	return k, nil
}

func (k *konnector) reason() error {
	if k.err == nil {
		return errors.New("exit status 0")
	}
	return k.err
}

// stop ends it in order, or kills it when that takes too long.
func (k *konnector) stop() error {
	_ = k.cmd.Process.Signal(syscall.SIGTERM) // fails only when it has ended
	select {
	case <-k.done:
		return nil
	case <-time.After(konnectorLimit):
	}
	_ = k.cmd.Process.Kill()
	<-k.done
	return fmt.Errorf("the konnector did not end within %s of SIGTERM and was killed", konnectorLimit)
}

// tail returns the last lines of a file, or why there are none.
func tail(file string, n int) string {
	content, err := os.ReadFile(file)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimRight(string(content), "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
