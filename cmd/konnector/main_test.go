package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"k8s.io/component-base/cli"
	logsapi "k8s.io/component-base/logs/api/v1"

	"github.com/kbind-dev/konnector/pkg/konnector"
)

// execute runs the command as main does, and returns what it prints.
func execute(t *testing.T, args ...string) (output string, err error) {
	t.Helper()
	reset(t)
	t.Cleanup(func() { reset(t) })
	command := newCommand()
	var printed bytes.Buffer
	command.SetArgs(args)
	command.SetOut(&printed)
	command.SetErr(&printed)
	err = cli.RunNoErrOutput(command)
	return printed.String(), err
}

func reset(t *testing.T) {
	if err := logsapi.ResetForTest(nil); err != nil {
		t.Fatal(err)
	}
}

func TestCommandLines(t *testing.T) {
	t.Setenv("KUBERNETES_SERVICE_HOST", "") // so that it ends where a cluster is needed
	const noCluster = "--kubeconfig: not given"
	for _, row := range []struct {
		name string
		args []string
		err  string
	}{
		{"no argument", nil, noCluster},
		{"each option", []string{"--namespace=n", "--credential-namespaces=a,b", "--workers=3", "--allow-insecure-tls", "--exclude-metadata=example.org/*", "--kube-api-qps=5", "--kube-api-burst=9", "--provider-api-qps=5", "--provider-api-burst=9"}, noCluster},
		{"logs in JSON", []string{"--logging-format=json"}, noCluster},
		{"logs that tell more", []string{"-v=4"}, noCluster},
		{"logs of an unknown format", []string{"--logging-format=xml"}, "format: Invalid value: \"xml\""},
		{"an option that is not valid", []string{"--workers=0"}, "--workers: must be at least 1"},
		{"an unknown flag", []string{"--kubeconfg=x"}, "unknown flag: --kubeconfg"},
		{"a value of another type", []string{"--workers=many"}, `invalid argument "many" for "--workers" flag`},
		{"an argument that is no flag", []string{"run"}, `unknown command "run"`},
	} {
		t.Run(row.name, func(t *testing.T) {
			output, err := execute(t, row.args...)
			if err == nil || !strings.Contains(err.Error(), row.err) {
				t.Errorf("got %v, want %q", err, row.err)
			}
			if strings.Contains(output, "Usage:") {
				t.Errorf("an error comes with the whole help: %s", output)
			}
		})
	}
}

func TestHelpExplainsEachFlag(t *testing.T) {
	output, err := execute(t, "--help")
	if err != nil {
		t.Fatal(err)
	}
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	konnector.NewOptions().AddFlags(flags)
	flags.VisitAll(func(flag *pflag.Flag) {
		named := strings.Contains(output, "--"+flag.Name+" ") || strings.Contains(output, "--"+flag.Name+"[=true|false] ")
		if !named || !strings.Contains(output, flag.Usage) {
			t.Errorf("--%s is not explained", flag.Name)
		}
	})
	for _, want := range []string{"Usage:\n  konnector [flags]", "core.kbind.io", "--logging-format", "-v, --v"} {
		if !strings.Contains(output, want) {
			t.Errorf("the help does not have %q", want)
		}
	}
}

func TestVersionFlag(t *testing.T) {
	output, err := execute(t, "--version")
	if err != nil {
		t.Fatal(err)
	}
	if want := "konnector version " + konnector.Version() + "\n"; output != want {
		t.Errorf("got %q, want %q", output, want)
	}
}
