package main

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// unused is an address that nobody listens on: a privileged port.
const unused = "https://127.0.0.1:1"

func kubeconfig(t *testing.T, name, server string) []byte {
	t.Helper()
	config := clientcmdapi.NewConfig()
	config.Clusters[name] = &clientcmdapi.Cluster{Server: server}
	config.AuthInfos[name+"-admin"] = &clientcmdapi.AuthInfo{Token: "t"}
	content, err := clientcmd.Write(*config)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

func TestClaimTakesOnlyWhatIsOurs(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	two := clientcmdapi.NewConfig()
	two.Clusters["a"], two.Clusters["b"] = &clientcmdapi.Cluster{Server: unused}, &clientcmdapi.Cluster{Server: unused}
	merged, err := clientcmd.Write(*two)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name    string
		content []byte
		want    string // part of the error
	}{
		{"no file", nil, ""},
		{"left by a run that was killed", kubeconfig(t, "a", unused), ""},
		{"of a cluster that runs", kubeconfig(t, "a", "https://"+listener.Addr().String()), "runs already"},
		{"of another local cluster", kubeconfig(t, "b", unused), "choose another file"},
		{"of a real cluster", kubeconfig(t, "a", "https://192.0.2.1"), "choose another file"},
		{"of several clusters", merged, "choose another file"},
		{"no kubeconfig", []byte("shopping list\n"), "choose another file"},
	} {
		t.Run(test.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "config")
			if test.content != nil {
				if err := os.WriteFile(path, test.content, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			_, err := claim(path, "a")
			if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("error = %v, want one with %q", err, test.want)
			}
		})
	}
}

func TestWriteThenRemove(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config")
	file, err := claim(path, "a")
	if err != nil {
		t.Fatal(err)
	}
	if err := file.write(kubeconfig(t, "a", unused)); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("mode = %v, %v", info.Mode(), err)
	}
	if err := file.remove(); err != nil {
		t.Error(err)
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), "*")); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
	if err := file.remove(); err != nil {
		t.Errorf("removing what is gone: %v", err)
	}
}

func TestRemoveLeavesWhatSomebodyElseWrote(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config")
	file, err := claim(path, "a")
	if err != nil {
		t.Fatal(err)
	}
	if err := file.write(kubeconfig(t, "a", unused)); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, kubeconfig(t, "a", "https://127.0.0.1:2"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := file.remove(); err == nil || !strings.Contains(err.Error(), "left in place") {
		t.Errorf("error = %v", err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Error(err)
	}
}
