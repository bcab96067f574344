package controlplane

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
)

// assetsVariable names a folder with etcd, kube-apiserver and perhaps
// kube-controller-manager, as other Kubernetes projects use it.
const assetsVariable = "KUBEBUILDER_ASSETS"

// binaries are the paths of the three programs.
type binaries struct{ etcd, apiServer, controllerManager string }

// located is what findBinaries found. The first call of a process decides, since
// it may build for minutes; only a search that was broken off is repeated.
var located struct {
	sync.Mutex
	done  bool
	found binaries
	err   error
}

// locateBinaries returns the programs and builds them when they are missing.
func locateBinaries(ctx context.Context) (binaries, error) {
	located.Lock()
	defer located.Unlock()
	if !located.done {
		located.found, located.err = findBinaries(ctx, os.Getenv(assetsVariable))
		located.done = ctx.Err() == nil
	}
	return located.found, located.err
}

func findBinaries(ctx context.Context, assets string) (binaries, error) {
	if assets == "" {
		built, err := build(ctx)
		return inFolder(built), err
	}
	found := inFolder(assets)
	for _, program := range []string{found.etcd, found.apiServer} {
		if _, err := os.Stat(program); err != nil {
			return binaries{}, fmt.Errorf("$%s: %w", assetsVariable, err)
		}
	}
	if _, err := os.Stat(found.controllerManager); errors.Is(err, os.ErrNotExist) {
		built, err := build(ctx)
		found.controllerManager = inFolder(built).controllerManager
		return found, err
	}
	return found, nil
}

func inFolder(dir string) binaries {
	return binaries{
		etcd:              filepath.Join(dir, "etcd"),
		apiServer:         filepath.Join(dir, "kube-apiserver"),
		controllerManager: filepath.Join(dir, "kube-controller-manager"),
	}
}

// build runs hack/localcluster/build.sh and returns the folder that it prints.
// What the script says about its progress goes straight to stderr.
func build(ctx context.Context) (string, error) {
	root, err := repositoryRoot(ctx)
	if err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, "bash", filepath.Join(root, "hack", "localcluster", "build.sh"))
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("building the control plane with %s: %w", cmd.Args[1], err)
	}
	return strings.TrimSpace(string(out)), nil
}

// repositoryRoot returns the folder of our go.mod: that of this source file, or
// when it was compiled with -trimpath, that of the module we are run in.
func repositoryRoot(ctx context.Context) (string, error) {
	if _, file, _, ok := runtime.Caller(0); ok && filepath.IsAbs(file) {
		return filepath.Join(filepath.Dir(file), "..", ".."), nil
	}
	out, err := exec.CommandContext(ctx, "go", "env", "GOMOD").Output()
	if err != nil {
		return "", fmt.Errorf("looking for the repository: %w", err)
	}
	return filepath.Dir(string(bytes.TrimSpace(out))), nil
}
