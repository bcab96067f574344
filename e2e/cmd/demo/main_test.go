package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

func TestExitCode(t *testing.T) {
	for _, test := range []struct {
		err  error
		want int
	}{
		{nil, 0},
		{errors.New("something is not as it should be"), 1},
		{fmt.Errorf("step 1: %w", interrupted{syscall.SIGINT}), 130},
		{errors.Join(interrupted{syscall.SIGTERM}, errors.New("and more")), 143},
	} {
		if got := exitCode(test.err); got != test.want {
			t.Errorf("exitCode(%v) = %d, want %d", test.err, got, test.want)
		}
	}
}

func TestTail(t *testing.T) {
	file := filepath.Join(t.TempDir(), "log")
	if err := os.WriteFile(file, []byte("1\n2\n3\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for n, want := range map[int]string{2: "2\n3", 5: "1\n2\n3"} {
		if got := tail(file, n); got != want {
			t.Errorf("tail(%d) = %q, want %q", n, got, want)
		}
	}
	if got := tail(file+".missing", 1); got == "" {
		t.Error("a missing file is not mentioned")
	}
}
