package main

import (
	"os"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"
)

const adminKubeconfig = `apiVersion: v1
kind: Config
clusters:
- name: NAME
  cluster: {server: "https://127.0.0.1:1", certificate-authority-data: Q0E=}
users:
- name: NAME-admin
  user: {client-certificate-data: Q0VSVA==, client-key-data: S0VZ}
contexts:
- name: NAME
  context: {cluster: NAME, user: NAME-admin}
current-context: NAME
`

func adminOf(name string) []byte { return []byte(strings.ReplaceAll(adminKubeconfig, "NAME", name)) }

func TestRenderBundleFillsInTheSample(t *testing.T) {
	sample, err := os.ReadFile("../../../" + bundleSample)
	if err != nil {
		t.Fatal(err)
	}
	kubeconfig, err := tokenKubeconfig(adminOf("provider"), "someone", "secret")
	if err != nil {
		t.Fatal(err)
	}
	bundle, err := renderBundle(string(sample), string(kubeconfig))
	if err != nil {
		t.Fatal(err)
	}
	first, others, _ := strings.Cut(bundle, "\n---\n")
	var secret corev1.Secret
	if err := yaml.UnmarshalStrict([]byte(first+"\n"), &secret); err != nil {
		t.Fatalf("%v in\n%s", err, first)
	}
	if got := secret.StringData["kubeconfig"]; got != string(kubeconfig) {
		t.Errorf("the Secret holds\n%s\nwant\n%s", got, kubeconfig)
	}
	if _, want, _ := strings.Cut(string(sample), "\n---\n"); others != want {
		t.Errorf("what follows the Secret is\n%s\nwant\n%s", others, want)
	}
}

func TestRenderBundleRefusesOtherTemplates(t *testing.T) {
	for name, template := range map[string]string{
		"without the placeholder":      "kubeconfig: |\n  nothing\n",
		"with two of them":             "a: |\n  " + placeholder + "\nb: |\n  " + placeholder + "\n",
		"with something on its line":   "a: " + placeholder + "\n",
		"with something else, at once": "# " + placeholder,
	} {
		if out, err := renderBundle(template, "x"); err == nil {
			t.Errorf("%s: no error, but\n%s", name, out)
		}
	}
}

func TestTokenKubeconfigKeepsNothingOfTheAdministrator(t *testing.T) {
	out, err := tokenKubeconfig(adminOf("provider"), "someone", "secret")
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(out), "admin") || strings.Contains(string(out), "S0VZ") {
		t.Errorf("it holds credentials of the administrator:\n%s", out)
	}
	config, err := clientcmd.RESTConfigFromKubeConfig(out)
	if err != nil {
		t.Fatal(err)
	}
	if config.BearerToken != "secret" || config.Host != "https://127.0.0.1:1" || string(config.CAData) != "CA" {
		t.Errorf("it leads to %s with CA %q and token %q", config.Host, config.CAData, config.BearerToken)
	}
}

func TestTokenKubeconfigNeedsACurrentContext(t *testing.T) {
	if _, err := tokenKubeconfig([]byte("{}"), "someone", "secret"); err == nil {
		t.Error("no error")
	}
}

func TestMergeKubeconfigsHasAContextForEach(t *testing.T) {
	out, err := mergeKubeconfigs(adminOf(consumer), adminOf(provider))
	if err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.Load(out)
	if err != nil {
		t.Fatal(err)
	}
	if config.CurrentContext != consumer {
		t.Errorf("the current context is %q", config.CurrentContext)
	}
	for _, name := range []string{consumer, provider} {
		context := config.Contexts[name]
		if context == nil || config.Clusters[context.Cluster] == nil || config.AuthInfos[context.AuthInfo] == nil {
			t.Errorf("context %s is not complete in\n%s", name, out)
		}
	}
}
