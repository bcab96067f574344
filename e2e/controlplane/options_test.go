package controlplane

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

func TestOptionsRefuseNamesThatAreNoNames(t *testing.T) {
	for name, good := range map[string]bool{
		"consumer": true, "a": true, "provider-2": true, strings.Repeat("x", 40): true,
		"": false, "Consumer": false, "-a": false, "a-": false, "a/b": false, "..": false, strings.Repeat("x", 41): false,
	} {
		if _, err := (Options{Name: name}).complete(); (err == nil) != good {
			t.Errorf("%q: %v, want it good: %t", name, err, good)
		}
	}
}

func TestEnvOptions(t *testing.T) {
	t.Setenv("KONNECTOR_E2E_PROVIDER_2_KUBECONFIG", "/k")
	if options := EnvOptions("provider-2"); options.Kubeconfig != "/k" || options.Name != "provider-2" {
		t.Errorf("options = %+v", options)
	}
}

func TestLoadKubeconfigTakesFilesIn(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "ca.crt"), []byte("the CA"), 0o600); err != nil {
		t.Fatal(err)
	}
	config := newKubeconfig("one", "me", &clientcmdapi.Cluster{Server: "https://x", CertificateAuthority: "ca.crt"}, &clientcmdapi.AuthInfo{Token: "t"})
	config.Clusters["two"] = &clientcmdapi.Cluster{Server: "https://y", CertificateAuthority: "missing.crt"}
	file := filepath.Join(dir, "config")
	if err := clientcmd.WriteToFile(*config, file); err != nil {
		t.Fatal(err)
	}
	loaded, err := loadKubeconfig(file)
	if err != nil {
		t.Fatal(err)
	}
	cluster := loaded.Clusters["one"]
	if len(loaded.Clusters) != 1 || string(cluster.CertificateAuthorityData) != "the CA" || cluster.CertificateAuthority != "" {
		t.Errorf("clusters = %+v", loaded.Clusters)
	}
}

func TestBinariesFromAssets(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{etcdName, controllerManagerName} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	_, err := findBinaries(context.Background(), dir)
	if err == nil || !strings.Contains(err.Error(), assetsVariable) || !strings.Contains(err.Error(), apiServerName) {
		t.Errorf("without kube-apiserver: %v, want an error that names it and the variable", err)
	}
	if err := os.WriteFile(filepath.Join(dir, apiServerName), nil, 0o700); err != nil {
		t.Fatal(err)
	}
	found, err := findBinaries(context.Background(), dir)
	if err != nil || found != inFolder(dir) {
		t.Errorf("found %+v, %v", found, err)
	}
}
