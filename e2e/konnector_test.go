package e2e

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// konnector is a running konnector process.
type konnector struct {
	t       *testing.T
	command *exec.Cmd
	log     string
	done    chan error
}

// startKonnector starts a konnector with the world's rights on the consumer. It ends
// with the test at the latest.
func (w *world) startKonnector(flags ...string) *konnector {
	w.t.Helper()
	binary := shared.konnector(w.t)
	dir := w.t.TempDir()
	kubeconfig := filepath.Join(dir, "kubeconfig")
	if err := os.WriteFile(kubeconfig, w.consumerUser.Kubeconfig(), 0o600); err != nil {
		w.t.Fatal(err)
	}
	k := &konnector{t: w.t, log: filepath.Join(dir, "konnector.log"), done: make(chan error, 1)}
	output, err := os.Create(k.log)
	if err != nil {
		w.t.Fatal(err)
	}
	arguments := append([]string{"--kubeconfig", kubeconfig, "--credential-namespaces", w.secretNamespace, "--logging-format=json", "-v=4"}, flags...)
	k.command = exec.Command(binary, arguments...)
	k.command.Stdout, k.command.Stderr = output, output
	k.command.SysProcAttr = childOptions()
	if err := k.command.Start(); err != nil {
		w.t.Fatal(err)
	}
	go func() {
		k.done <- k.command.Wait()
		_ = output.Close()
	}()
	w.t.Cleanup(func() {
		k.kill()
		w.checkLog(k)
	})
	return k
}

// stop ends the process as a cluster does, and fails the test when it doesn't end
// in time or with an error.
func (k *konnector) stop() {
	k.t.Helper()
	_ = k.command.Process.Signal(syscall.SIGTERM)
	select {
	case err := <-k.done:
		k.done <- err
		if err != nil {
			k.t.Errorf("the konnector ended with %v on SIGTERM", err)
		}
	case <-time.After(15 * time.Second):
		k.t.Errorf("the konnector did not end within 15 s of SIGTERM")
		k.kill()
	}
}

// kill ends the process at once.
func (k *konnector) kill() {
	_ = k.command.Process.Signal(syscall.SIGKILL) // an error says that it has ended
	err := <-k.done
	k.done <- err
}

// lines returns the lines of the log.
func (k *konnector) lines() [][]byte {
	content, err := os.ReadFile(k.log)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		k.t.Fatal(err)
	}
	return bytes.Split(content, []byte("\n"))
}

// tail returns the end of the log.
func (k *konnector) tail(count int) string {
	lines := k.lines()
	return string(bytes.Join(lines[max(0, len(lines)-count):], []byte("\n")))
}

// checkLog looks for what must never be in a log, and prints its end when the test failed.
func (w *world) checkLog(k *konnector) {
	for _, line := range k.lines() {
		text := string(line)
		if strings.Contains(text, "DATA RACE") || strings.HasPrefix(text, "panic:") {
			w.t.Errorf("the konnector's log has: %s", text)
		}
		for _, secret := range w.credentials {
			if strings.Contains(text, secret) {
				w.t.Errorf("the konnector's log shows a credential: %.200s", text)
			}
		}
	}
	if w.t.Failed() {
		w.t.Logf("end of the konnector's log:\n%s", k.tail(60))
	}
}

// eventually waits until a check passes, and fails the test with its last error.
func eventually(t *testing.T, limit time.Duration, what string, check func(ctx context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	var last error
	for {
		err := check(ctx)
		if err == nil {
			return
		}
		if ctx.Err() == nil || last == nil {
			last = err
		}
		select {
		case <-ctx.Done():
			t.Fatalf("%s: not within %s: %v", what, limit, last)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// always checks again and again that something stays as it is.
func always(t *testing.T, span time.Duration, what string, check func(ctx context.Context) error) {
	t.Helper()
	for end := time.Now().Add(span); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		if err := check(t.Context()); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
	}
}
