package main

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"k8s.io/client-go/tools/clientcmd"
)

// kubeconfigFile is the file that leads to our cluster.
type kubeconfigFile struct {
	name   string // of the cluster
	shown  string // the path as the user gave it
	path   string // the same, absolute
	server string // what we wrote; empty before
}

// claim returns the file to write to. It must not exist, or be what an earlier
// run for this name has left: everything else is somebody's work.
func claim(path, name string) (*kubeconfigFile, error) {
	if path == "" {
		path = defaultKubeconfig(name)
	}
	absolute, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	file := &kubeconfigFile{name: name, shown: path, path: absolute}
	if _, err := os.Stat(absolute); errors.Is(err, fs.ErrNotExist) {
		return file, nil
	}
	server, err := file.leadsTo()
	if err != nil {
		return nil, fmt.Errorf("%s exists and is not of a local cluster %s (%w): choose another file with --kubeconfig", path, name, err)
	}
	if answers(server) {
		return nil, fmt.Errorf("a cluster %s runs already, see %s: end it first, or choose another file with --kubeconfig", name, path)
	}
	return file, nil
}

// leadsTo returns the server of the file's only cluster. It is an error when the
// file is not one that we could have written.
func (f *kubeconfigFile) leadsTo() (string, error) {
	config, err := clientcmd.LoadFromFile(f.path)
	if err != nil {
		return "", err
	}
	cluster := config.Clusters[f.name]
	if cluster == nil || len(config.Clusters) != 1 || len(config.AuthInfos) != 1 {
		return "", errors.New("it holds other clusters or users")
	}
	if server, err := url.Parse(cluster.Server); err != nil || server.Hostname() != "127.0.0.1" {
		return "", fmt.Errorf("it leads to %s", cluster.Server)
	}
	return cluster.Server, nil
}

// answers tells whether somebody accepts connections at the address.
func answers(server string) bool {
	address, err := url.Parse(server)
	if err != nil {
		return false
	}
	connection, err := net.DialTimeout("tcp", address.Host, time.Second)
	if err != nil {
		return false
	}
	_ = connection.Close()
	return true
}

// write replaces the file as a whole, readable by its owner only.
func (f *kubeconfigFile) write(content []byte) error {
	config, err := clientcmd.Load(content)
	if err != nil {
		return err
	}
	f.server = config.Clusters[f.name].Server
	temporary, err := os.CreateTemp(filepath.Dir(f.path), filepath.Base(f.path)+".*") // mode 0600
	if err != nil {
		return err
	}
	_, err = temporary.Write(content)
	if err = errors.Join(err, temporary.Close()); err == nil {
		err = os.Rename(temporary.Name(), f.path)
	}
	if err != nil {
		_ = os.Remove(temporary.Name())
	}
	return err
}

// remove deletes the file if it still leads to our cluster and nowhere else.
func (f *kubeconfigFile) remove() error {
	server, err := f.leadsTo()
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil || server != f.server {
		return fmt.Errorf("%s was changed and is left in place", f.shown)
	}
	return os.Remove(f.path)
}
