package konnector

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
)

func TestValidateNamesTheFlag(t *testing.T) {
	for _, row := range []struct {
		name   string
		change func(*Options)
		want   []string // one line each
	}{
		{"the defaults are valid", func(*Options) {}, nil},
		{"no namespace", func(o *Options) { o.Namespace = "" }, []string{`--namespace: "" is no name of a namespace`}},
		{"a namespace that can't be", func(o *Options) { o.Namespace = "Team_A" }, []string{`--namespace: "Team_A" is no name of a namespace`}},
		{"an empty credential namespace", func(o *Options) { o.CredentialNamespaces = []string{"a", ""} }, []string{`--credential-namespaces: "" is no name of a namespace`}},
		{"all namespaces are no namespace", func(o *Options) { o.CredentialNamespaces = []string{"*"} }, []string{`--credential-namespaces: "*" is no name of a namespace`}},
		{"no worker", func(o *Options) { o.Workers = 0 }, []string{"--workers: must be at least 1, got 0"}},
		{"no request to the consumer", func(o *Options) { o.ConsumerQPS = 0 }, []string{"--kube-api-qps: must not be 0; use -1 for no limit"}},
		{"no request to providers", func(o *Options) { o.ProviderQPS = 0 }, []string{"--provider-api-qps: must not be 0; use -1 for no limit"}},
		{"a negative burst to the consumer", func(o *Options) { o.ConsumerBurst = -1 }, []string{"--kube-api-burst: must not be negative, got -1"}},
		{"a negative burst to providers", func(o *Options) { o.ProviderBurst = -1 }, []string{"--provider-api-burst: must not be negative, got -1"}},
		{"a pattern that is none", func(o *Options) { o.ExcludeMetadata = []string{"a*b"} }, []string{`--exclude-metadata: "a*b" is no pattern`}},
		{"a limit", func(o *Options) { o.ConsumerQPS, o.ConsumerBurst = 50, 100 }, nil},
		{"several faults", func(o *Options) { o.Namespace, o.Workers = "", -1 }, []string{"--namespace: ", "--workers: "}},
	} {
		t.Run(row.name, func(t *testing.T) {
			options := NewOptions()
			row.change(options)
			err := options.Validate()
			var lines []string
			if err != nil {
				lines = strings.Split(err.Error(), "\n")
			}
			if len(lines) != len(row.want) {
				t.Fatalf("got %q, want %q", lines, row.want)
			}
			for i, want := range row.want {
				if !strings.HasPrefix(lines[i], want) {
					t.Errorf("got %q, want %q", lines[i], want)
				}
			}
		})
	}
}

func TestRunRefusesOptionsThatAreNotValid(t *testing.T) {
	options := NewOptions()
	options.Workers = 0
	if err := Run(t.Context(), options); err == nil || !strings.Contains(err.Error(), "--workers") {
		t.Errorf("got %v", err)
	}
}

func TestRunNeedsACluster(t *testing.T) {
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	err := Run(t.Context(), NewOptions())
	if want := "--kubeconfig: not given, and the konnector doesn't run in a cluster"; err == nil || err.Error() != want {
		t.Errorf("got %v", err)
	}
	options := NewOptions()
	options.Kubeconfig = t.TempDir() + "/none"
	if err := Run(t.Context(), options); err == nil || !strings.HasPrefix(err.Error(), "--kubeconfig: ") || !strings.Contains(err.Error(), options.Kubeconfig) {
		t.Errorf("got %v", err)
	}
}

func TestCredentialNamespaces(t *testing.T) {
	for _, row := range []struct {
		name  string
		flags []string
		want  []string
	}{
		{"the default is the default namespace", nil, []string{"kbind"}},
		{"the default is the konnector's own namespace", []string{"--namespace=system"}, []string{"system"}},
		{"those that are given stand alone", []string{"--namespace=system", "--credential-namespaces=a,b", "--credential-namespaces=c"}, []string{"a", "b", "c"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			options := NewOptions()
			flags := pflag.NewFlagSet("test", pflag.ContinueOnError)
			options.AddFlags(flags)
			if err := flags.Parse(row.flags); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(row.want, options.credentialNamespaces()); diff != "" {
				t.Error(diff)
			}
			if given := connectionOptions(options, "uid").CredentialNamespaces; !slices.Equal(given, row.want) {
				t.Errorf("the controller is given %q", given)
			}
		})
	}
}

func TestEachFlagSetsItsOption(t *testing.T) {
	options := NewOptions()
	flags := pflag.NewFlagSet("test", pflag.ContinueOnError)
	options.AddFlags(flags)
	err := flags.Parse([]string{
		"--kubeconfig=k", "--context=c", "--namespace=n", "--credential-namespaces=a,b", "--allow-insecure-tls",
		"--exclude-metadata=example.org/*", "--workers=7", "--kube-api-qps=1.5", "--kube-api-burst=2", "--provider-api-qps=3", "--provider-api-burst=4",
	})
	if err != nil {
		t.Fatal(err)
	}
	want := &Options{
		Kubeconfig: "k", Context: "c", Namespace: "n", CredentialNamespaces: []string{"a", "b"}, AllowInsecureTLS: true,
		ExcludeMetadata: []string{"example.org/*"}, Workers: 7, ConsumerQPS: 1.5, ConsumerBurst: 2, ProviderQPS: 3, ProviderBurst: 4,
	}
	if diff := cmp.Diff(want, options); diff != "" {
		t.Error(diff)
	}
	flags.VisitAll(func(flag *pflag.Flag) {
		if !flag.Changed {
			t.Errorf("--%s is not in the test", flag.Name)
		}
		if flag.Usage == "" || !strings.HasSuffix(flag.Usage, ".") {
			t.Errorf("--%s: the help is no sentence: %q", flag.Name, flag.Usage)
		}
	})
}

func TestVersion(t *testing.T) {
	before := version
	t.Cleanup(func() { version = before })
	version = "v1.2.3"
	if got := Version(); got != "v1.2.3" {
		t.Errorf("the version that was linked is not told: %q", got)
	}
	if got := userAgent(); !strings.HasPrefix(got, "konnector/v1.2.3 (") {
		t.Errorf("the user agent is %q", got)
	}
	version = ""
	if got := Version(); got == "" || strings.ContainsAny(got, " \n") {
		t.Errorf("the version of a build without one is %q", got)
	}
}

func TestInstancesDiffer(t *testing.T) {
	if a, b := instanceName(), instanceName(); a == b {
		t.Errorf("two processes are called %q", a)
	}
}
