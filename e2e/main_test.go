package e2e

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	apiextensionsclient "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"

	"github.com/kbind-dev/konnector/e2e/controlplane"
	"github.com/kbind-dev/konnector/generated/clientset/versioned"
)

func TestMain(m *testing.M) {
	flag.Parse()
	code := m.Run()
	if err := shared.stop(); err != nil {
		fmt.Fprintln(os.Stderr, "ending the control planes:", err)
		code = 1
	}
	os.Exit(code)
}

// cluster is a control plane with an administrator's clients.
type cluster struct {
	*controlplane.ControlPlane
	objects dynamic.Interface
	kube    kubernetes.Interface
	crds    apiextensionsclient.Interface
	core    versioned.Interface
}

// environment is what the tests share, made when the first of them asks for it.
type environment struct {
	mu       sync.Mutex
	clusters map[string]*cluster
	dir      string
	binary   string
}

var shared = environment{clusters: map[string]*cluster{}}

// cluster returns the control plane of that name.
func (e *environment) cluster(t *testing.T, name string) *cluster {
	t.Helper()
	return e.all(t, name)[0]
}

// all returns control planes by name, and starts those that are missing at once.
func (e *environment) all(t *testing.T, names ...string) []*cluster {
	t.Helper()
	if testing.Short() {
		t.Skip("needs real control planes: run without -short")
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	started := make([]*cluster, len(names))
	errs := make([]error, len(names))
	var group sync.WaitGroup
	for i, name := range names {
		if started[i] = e.clusters[name]; started[i] == nil {
			group.Go(func() { started[i], errs[i] = startCluster(name) })
		}
	}
	group.Wait()
	for i, name := range names {
		if errs[i] != nil {
			t.Fatalf("control plane %s: %v", name, errs[i])
		}
		e.clusters[name] = started[i]
	}
	return started
}

func startCluster(name string) (*cluster, error) {
	// The control planes outlive the test that starts them: TestMain ends them.
	plane, err := controlplane.Start(context.Background(), controlplane.EnvOptions(name))
	if err != nil {
		return nil, err
	}
	made := &cluster{ControlPlane: plane}
	config := plane.AdminConfig()
	made.objects = dynamic.NewForConfigOrDie(config)
	made.kube = kubernetes.NewForConfigOrDie(config)
	made.crds = apiextensionsclient.NewForConfigOrDie(config)
	made.core = versioned.NewForConfigOrDie(config)
	return made, installCore(made, name)
}

// konnector returns the path of the binary, built with the race detector.
func (e *environment) konnector(t *testing.T) string {
	t.Helper()
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.binary != "" {
		return e.binary
	}
	dir, err := os.MkdirTemp("", "konnector-e2e-")
	if err != nil {
		t.Fatal(err)
	}
	e.dir = dir
	binary := filepath.Join(dir, "konnector")
	build := exec.Command("go", "build", "-race", "-o", binary, "../cmd/konnector")
	if output, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building the konnector: %v\n%s", err, output)
	}
	e.binary = binary
	return binary
}

// stop ends all control planes.
func (e *environment) stop() error {
	var first error
	for _, each := range e.clusters {
		if err := each.Stop(); err != nil && first == nil {
			first = err
		}
	}
	if e.dir != "" {
		_ = os.RemoveAll(e.dir)
	}
	return first
}
