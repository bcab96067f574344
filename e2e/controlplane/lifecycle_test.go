package controlplane_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kbind-dev/konnector/e2e/controlplane"
	"github.com/kbind-dev/konnector/e2e/controlplane/controlplanetest"
)

func keepsData(t *testing.T, cp *controlplane.ControlPlane) {
	client := admin(t, cp)
	makeConfigMap(t, client, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "kept"}})
	for name, end := range map[string]func(context.Context) error{"stop": cp.StopAPIServer, "kill": cp.KillAPIServer} {
		began := time.Now()
		if err := end(t.Context()); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		ended := time.Now()
		if err := end(t.Context()); err == nil {
			t.Errorf("a second %s: no error", name)
		}
		if _, err := client.CoreV1().ConfigMaps("default").Get(t.Context(), "kept", metav1.GetOptions{}); err == nil {
			t.Errorf("after %s: the API server answers", name)
		}
		if err := cp.StartAPIServer(t.Context()); err != nil {
			t.Fatalf("start after %s: %v", name, err)
		}
		t.Logf("%s: %s, start: %s", name, ended.Sub(began), time.Since(ended))
		if err := cp.StartAPIServer(t.Context()); err == nil {
			t.Error("a second start: no error")
		}
		if _, err := client.CoreV1().ConfigMaps("default").Get(t.Context(), "kept", metav1.GetOptions{}); err != nil {
			t.Errorf("after %s and start: %v", name, err)
		}
	}
	removesNamespace(t, cp) // the controllers are back at work
}

func isUsedAsExisting(t *testing.T, cp *controlplane.ControlPlane) {
	file := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(file, cp.AdminKubeconfig(), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("KONNECTOR_E2E_GIVEN_ONE_KUBECONFIG", file)
	given := controlplanetest.ForTest(t, "given-one")
	user, err := given.AddUser(t.Context(), "guest", allow("configmaps", "list"))
	if err != nil {
		t.Fatal(err)
	}
	if name := whoAmI(t, user.Config()); name != user.Name {
		t.Errorf("the API server knows %q as %q", user.Name, name)
	}
	if _, err := given.Calls(t.Context()); !errors.Is(err, controlplane.ErrExisting) {
		t.Errorf("calls of an existing cluster: %v", err)
	}
	if err := given.StopAPIServer(t.Context()); !errors.Is(err, controlplane.ErrExisting) {
		t.Errorf("stopping the API server of an existing cluster: %v", err)
	}
	if err := given.Stop(); err != nil {
		t.Fatal(err)
	}
	_, err = admin(t, cp).RbacV1().ClusterRoles().Get(t.Context(), "e2e:"+user.Name, metav1.GetOptions{})
	if !apierrors.IsNotFound(err) {
		t.Errorf("the role of a user after Stop: %v, want not found", err)
	}
}

func leavesNothing(t *testing.T, cp *controlplane.ControlPlane) {
	dir := cp.Dir()
	if len(processesOf(t, dir)) != 3 {
		t.Fatalf("processes while it runs: %q", processesOf(t, dir))
	}
	began := time.Now()
	if err := cp.Stop(); err != nil {
		t.Error(err)
	}
	t.Logf("Stopped after %s.", time.Since(began).Round(10*time.Millisecond))
	if left := processesOf(t, dir); len(left) > 0 {
		t.Errorf("left running: %q", left)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("left %s: %v", dir, err)
	}
	if err := cp.StartAPIServer(t.Context()); err == nil {
		t.Error("the API server starts after Stop")
	}
	if err := cp.Stop(); err != nil {
		t.Errorf("a second Stop: %v", err)
	}
}

func processesOf(t *testing.T, dir string) []string {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil || len(files) == 0 {
		t.Skip("needs /proc")
	}
	var found []string
	for _, file := range files {
		line, _ := os.ReadFile(file)
		if strings.Contains(string(line), dir) {
			found = append(found, strings.ReplaceAll(string(line), "\x00", " "))
		}
	}
	return found
}

func TestKilledOwner(t *testing.T) {
	if testing.Short() {
		t.Skip("needs a real control plane: run without -short")
	}
	if os.Getenv("BE_KILLED_OWNER") != "" {
		beKilledOwner(t)
		return
	}
	temporary, err := os.MkdirTemp("", "owner") // t.TempDir is too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(temporary)
	owner := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestKilledOwner$")
	owner.Env = append(os.Environ(), "BE_KILLED_OWNER=1", "TMPDIR="+temporary)
	out, _ := owner.CombinedOutput()
	if owner.ProcessState.ExitCode() != -1 {
		t.Fatalf("the owner was not killed: %s", out)
	}
	eventually(t, "its processes to be gone", func(context.Context) (bool, error) {
		return len(processesOf(t, temporary)) == 0, nil
	})
}

func beKilledOwner(t *testing.T) {
	cp, err := controlplane.Start(t.Context(), controlplane.Options{Name: "owned"})
	if err != nil {
		t.Fatal(err)
	}
	if len(processesOf(t, cp.Dir())) != 3 {
		t.Fatalf("processes: %q", processesOf(t, cp.Dir()))
	}
	self, _ := os.FindProcess(os.Getpid())
	_ = self.Kill()
	select {}
}

func TestTwo(t *testing.T) {
	for _, name := range []string{"consumer", "provider"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			began := time.Now()
			cp := controlplanetest.ForTest(t, name)
			t.Logf("Ready after %s.", time.Since(began).Round(10*time.Millisecond))
			if name := whoAmI(t, cp.AdminConfig()); !cp.Existing() && name != "admin" {
				t.Errorf("the API server knows the administrator as %q", name)
			}
		})
	}
}

// TestStartTellsWhyItFailed gives kube-apiserver a flag that it does not have.
func TestStartTellsWhyItFailed(t *testing.T) {
	if testing.Short() {
		t.Skip("needs a real control plane: run without -short")
	}
	_, err := controlplane.Start(t.Context(), controlplane.Options{Name: "failing", APIServerFlags: []string{"--nonsense"}})
	if err == nil || !strings.Contains(err.Error(), "kube-apiserver ended by itself") || !strings.Contains(err.Error(), "unknown flag: --nonsense") {
		t.Errorf("error = %v, want one that names component and reason", err)
	}
	left, _ := filepath.Glob(filepath.Join(os.TempDir(), "konnector-cp-failing-*"))
	if len(left) > 0 || len(processesOf(t, "konnector-cp-failing-")) > 0 {
		t.Errorf("left: %q", left)
	}
}
