// Package controlplanetest starts control planes for tests.
package controlplanetest

import (
	"testing"

	"github.com/kbind-dev/konnector/e2e/controlplane"
)

// logLines is how much of each component's log a failed test prints.
const logLines = 40

// ForTest returns a control plane that ends with the test, or the existing
// cluster that the environment names (see controlplane.EnvOptions). When the
// test has failed by then, the ends of the logs are printed. With -short the
// test is skipped. Each of change may change the options.
func ForTest(t testing.TB, name string, change ...func(*controlplane.Options)) *controlplane.ControlPlane {
	t.Helper()
	if testing.Short() {
		t.Skip("needs a real control plane: run without -short")
	}
	options := controlplane.EnvOptions(name)
	for _, apply := range change {
		apply(&options)
	}
	cp, err := controlplane.Start(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(cp.Logs(logLines))
		}
		if err := cp.Stop(); err != nil {
			t.Errorf("Stopping control plane %s: %v", name, err)
		}
	})
	return cp
}
