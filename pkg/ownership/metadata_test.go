package ownership_test

import (
	"strings"
	"testing"

	"github.com/kbind-dev/konnector/pkg/ownership"
)

func TestExclusions(t *testing.T) { // I2
	exclusions, err := ownership.NewExclusions("corp.example.org/*", "*.corp.example.org/*", "plain", "example.org/one")
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]bool{
		"kubectl.kubernetes.io/last-applied-configuration": true,
		"kubectl.kubernetes.io/restartedAt":                true,
		"kbind.io/x":                                       true,
		"core.kbind.io/conflict":                           true,
		"core.kbind.io/exported":                           true,
		"app.kubernetes.io/managed-by":                     true,
		"app.kubernetes.io/instance":                       true,
		"app.kubernetes.io/name":                           false,
		"app.kubernetes.io/part-of":                        false,
		"meta.helm.sh/release-name":                        true,
		"helm.sh/chart":                                    true,
		"argocd.argoproj.io/tracking-id":                   true,
		"argocd.argoproj.io/instance":                      true,
		"kustomize.toolkit.fluxcd.io/name":                 true,
		"helm.toolkit.fluxcd.io/namespace":                 true,
		"kapp.k14s.io/app":                                 true,
		"applyset.kubernetes.io/part-of":                   true,
		"configmanagement.gke.io/managed":                  true,
		"configsync.gke.io/declared-fields":                true,
		"config.k8s.io/owning-inventory":                   true,
		"velero.io/backup-name":                            true,
		"backup.velero.io/backup-volumes":                  true,
		"team":                                             false,
		"env.example.org/x":                                false,
		"fakekbind.io/x":                                   false,
		"notkubectl.kubernetes.io/x":                       false,
		"toolkit.fluxcd.io/x":                              false,
		"kbind.io":                                         false,
		"kubernetes.io/metadata.name":                      false,
		"corp.example.org/a":                               true,
		"sub.corp.example.org/a":                           true,
		"deep.sub.corp.example.org/a":                      true,
		"xcorp.example.org/a":                              false,
		"plain":                                            true,
		"plain/x":                                          false,
		"example.org/one":                                  true,
		"example.org/two":                                  false,
	} {
		if got := exclusions.Excluded(key); got != want {
			t.Errorf("Excluded(%q) = %v, want %v", key, got, want)
		}
	}
}

func TestEveryDefaultExclusionExcludes(t *testing.T) {
	exclusions, err := ownership.NewExclusions()
	if err != nil {
		t.Fatal(err)
	}
	for _, pattern := range ownership.DefaultExclusions() {
		example := strings.Replace(strings.Replace(pattern, "/*", "/any", 1), "*.", "any.", 1)
		if !exclusions.Excluded(example) {
			t.Errorf("%s does not exclude %s", pattern, example)
		}
	}
	ownership.DefaultExclusions()[0] = "changed"
	if ownership.DefaultExclusions()[0] == "changed" {
		t.Error("callers can change the built-in list")
	}
}

func TestBadPatternsAreRefused(t *testing.T) {
	for _, pattern := range []string{"", "*", "/*", "*.", "*./*", "*.example.org", "exa*mple.org/*", "example.org/a*", "*.*.example.org/*"} {
		if _, err := ownership.NewExclusions(pattern); err == nil || !strings.Contains(err.Error(), `"`+pattern+`"`) {
			t.Errorf("%q: error %v does not name it", pattern, err)
		}
	}
}
