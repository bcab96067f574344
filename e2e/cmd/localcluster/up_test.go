package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/discovery"
	"k8s.io/client-go/tools/clientcmd"
)

// screen collects what the command prints.
type screen struct {
	mu   sync.Mutex
	text strings.Builder
}

func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

func (s *screen) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

func TestUp(t *testing.T) {
	if testing.Short() {
		t.Skip("needs a real control plane: run without -short")
	}
	file := filepath.Join(t.TempDir(), "test.kubeconfig")
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	var out screen
	command := rootCommand()
	command.SetOut(&out)
	command.SetArgs([]string{"up", "test", "--kubeconfig", file})
	ended := make(chan error, 1)
	go func() { ended <- command.ExecuteContext(ctx) }()

	for !strings.Contains(out.String(), "Ctrl-C ends it.") {
		select {
		case err := <-ended:
			t.Fatalf("ended early: %v\n%s", err, &out)
		case <-time.After(50 * time.Millisecond):
		}
	}
	config, err := clientcmd.BuildConfigFromFlags("", file)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := discovery.NewDiscoveryClientForConfigOrDie(config).ServerVersion(); err != nil {
		t.Error(err)
	}
	interrupt()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(file); !os.IsNotExist(err) {
		t.Errorf("%s is still there: %v", file, err)
	}
	t.Logf("It printed:\n%s", &out)
}

func TestUpRefusesBadArguments(t *testing.T) {
	for _, args := range [][]string{{"up"}, {"up", "a", "b"}, {"up", "Not A Name"}} {
		command := rootCommand()
		command.SetOut(&screen{})
		command.SetArgs(args)
		if err := command.ExecuteContext(t.Context()); err == nil {
			t.Errorf("%q: no error", args)
		}
	}
}
