package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// module is the konnector's.
const module = "github.com/kbind-dev/konnector"

// commandLimit is how long a command may take. kubectl delete waits for the end
// of what it deletes.
const commandLimit = 30 * time.Second

// shell runs command lines as a user would at the top of the repository.
type shell struct {
	root string   // the repository
	dir  string   // of the demo, temporary
	env  []string // beside our own environment
}

// newShell returns one whose kubectl knows the two clusters of the demo and
// leaves alone what the user keeps at home.
func newShell(root, dir string) *shell {
	s := &shell{root: root, dir: dir}
	s.env = []string{
		"DEMO=" + dir,
		"KUBECONFIG=" + s.path(kubeconfigFile),
		"KUBECACHEDIR=" + s.path("kubectl-cache"),
		"KUBERC=off",
	}
	return s
}

// path returns the path of a file of the demo.
func (s *shell) path(name string) string { return filepath.Join(s.dir, name) }

// exports returns the commands after which ours can be typed.
func (s *shell) exports() string {
	return "export DEMO=" + s.dir + "\nexport KUBECONFIG=$DEMO/" + kubeconfigFile
}

// run returns what the command line has printed, errors included.
func (s *shell) run(ctx context.Context, line string) (string, error) {
	limited, cancel := context.WithTimeoutCause(ctx, commandLimit, fmt.Errorf("it did not end within %s", commandLimit))
	defer cancel()
	out, err := s.program(limited, "sh", "-c", line).CombinedOutput()
	if cause := context.Cause(limited); cause != nil {
		err = cause
	}
	if err != nil {
		return string(out), fmt.Errorf("%s\n%s%w", line, out, err)
	}
	return string(out), nil
}

// inRepository returns the path of a file that is named from the repository's top.
func (s *shell) inRepository(name string) string { return filepath.Join(s.root, name) }

// program returns a program with the environment of the shell, in a process
// group of its own: a Ctrl-C at the terminal is for us alone, and when the
// context ends, so does the whole group.
func (s *shell) program(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = s.root
	cmd.Env = append(os.Environ(), s.env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGINT) }
	cmd.WaitDelay = 5 * time.Second
	return cmd
}

// repositoryRoot returns the folder of our go.mod. It is an error when a program
// that the demo needs is missing.
func repositoryRoot(ctx context.Context) (string, error) {
	if _, err := exec.LookPath("kubectl"); err != nil {
		return "", errors.New("kubectl is not in PATH: install it, see https://kubernetes.io/docs/tasks/tools")
	}
	out, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", module).Output()
	if err != nil {
		return "", fmt.Errorf("run the demo in the konnector's repository (go list -m %s: %w)", module, err)
	}
	return strings.TrimSpace(string(out)), nil
}
