package controlplane

import (
	"slices"
	"strings"
	"testing"
)

func TestFlagsStayInTheFolder(t *testing.T) {
	f := folder("/somewhere/cluster")
	for name, flags := range map[string][]string{
		etcdName:              etcdFlags(f),
		apiServerName:         apiServerFlags(f, 1234, nil),
		controllerManagerName: controllerManagerFlags(f, nil),
	} {
		for _, flag := range flags {
			name, value, _ := strings.Cut(flag, "=")
			path := strings.TrimPrefix(value, "unix://")
			isFile := strings.HasPrefix(path, "/") && !strings.Contains(flag, "peer")
			if isFile && !strings.HasPrefix(path, string(f)+"/") {
				t.Errorf("%s is outside of the folder: %s", name, value)
			}
		}
		if len(flags) == 0 {
			t.Errorf("%s has no flags", name)
		}
	}
}

func TestAPIServerFlags(t *testing.T) {
	flags := apiServerFlags("/f", 1234, []string{"--request-timeout=5s"})
	for _, want := range []string{
		"--secure-port=1234", "--bind-address=127.0.0.1", "--authorization-mode=RBAC",
		"--audit-log-mode=blocking", "--audit-log-path=/f/audit.jsonl", "--audit-log-maxsize=0",
	} {
		if !slices.Contains(flags, want) {
			t.Errorf("%s is missing", want)
		}
	}
	if last := flags[len(flags)-1]; last != "--request-timeout=5s" {
		t.Errorf("the last flag is %s, want the one that was given", last)
	}
}

func TestControllersAreTheUsualAndThoseGiven(t *testing.T) {
	first := controllerManagerFlags("/f", []string{"a-controller"})
	second := controllerManagerFlags("/f", []string{"b-controller"})
	const usual = "--controllers=namespace-controller,garbage-collector-controller,serviceaccount-controller,serviceaccount-token-controller"
	if !slices.Contains(first, usual+",a-controller") || !slices.Contains(second, usual+",b-controller") {
		t.Errorf("flags:\n%q\n%q", first, second)
	}
}
