package controlplane

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// ControlPlane is a running cluster without nodes, or an existing cluster.
// Its methods may be called from several goroutines.
type ControlPlane struct {
	options Options
	admin   *clientcmdapi.Config // kubeconfig of the administrator
	stop    func() error

	// Our own calls, by a user of their own.
	probeConfig *rest.Config
	probe       *kubernetes.Clientset

	// What follows is empty for an existing cluster.
	dir         folder
	binaries    binaries
	credentials *credentials
	port        int
	release     []func() // gives back port and lock

	mu        sync.Mutex // held while a process is started or ended
	processes map[string]*process
	died      chan error // the first process that ended by itself

	cleanupMu sync.Mutex
	cleanups  []func(context.Context) error // for an existing cluster: takes back what we made
}

// Start returns a control plane that is ready: /readyz says so, and the
// namespace default has its ServiceAccount. The context limits the start only;
// Stop has to be called to end what was started. When Start fails, nothing is
// left running and the error holds the ends of the logs.
func Start(ctx context.Context, options Options) (*ControlPlane, error) {
	options, err := options.complete()
	if err != nil {
		return nil, err
	}
	cp := &ControlPlane{options: options, processes: map[string]*process{}, died: make(chan error, 1)}
	cp.stop = sync.OnceValue(cp.end)
	if cp.Existing() {
		if err := cp.attach(ctx); err != nil {
			return nil, err
		}
		return cp, nil
	}
	if cp.binaries, err = locateBinaries(ctx); err != nil {
		return nil, err
	}
	if err := cp.start(ctx); err != nil {
		err = fmt.Errorf("control plane %s: %w\n%s", options.Name, err, cp.Logs(15))
		return nil, errors.Join(err, cp.Stop())
	}
	return cp, nil
}

// attach uses the existing cluster that the options name.
func (cp *ControlPlane) attach(ctx context.Context) (err error) {
	if cp.admin, err = loadKubeconfig(cp.options.Kubeconfig); err != nil {
		return err
	}
	if err := cp.setProbe(cp.admin); err != nil {
		return err
	}
	if err := cp.get(ctx, "/readyz"); err != nil {
		return fmt.Errorf("cluster %s of %s is not ready: %w", cp.options.Name, cp.options.Kubeconfig, err)
	}
	return nil
}

// start prepares the folder and starts the components, each as soon as the one
// that it cannot start without is there.
func (cp *ControlPlane) start(ctx context.Context) error {
	if err := cp.prepare(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, cp.options.Timeout,
		fmt.Errorf("not ready after %s", cp.options.Timeout))
	defer cancel()
	began := time.Now()

	// kube-apiserver is busy with itself for longer than etcd takes to start, and waits for it.
	if err := cp.run(etcdName, cp.binaries.etcd, etcdFlags(cp.dir)); err != nil {
		return err
	}
	if err := cp.runAPIServer(); err != nil {
		return err
	}
	if err := cp.waitAPIServer(ctx); err != nil {
		return err
	}
	cp.options.Progress(apiServerName, time.Since(began))
	// It gives up when the API server does not answer within seconds, so it cannot start earlier.
	if err := cp.run(controllerManagerName, cp.binaries.controllerManager, controllerManagerFlags(cp.dir, cp.options.Controllers)); err != nil {
		return err
	}
	if err := cp.waitServiceAccount(ctx); err != nil {
		return err
	}
	cp.options.Progress(controllerManagerName, time.Since(began))
	return nil
}

// prepare makes the folder, reserves the port and writes certificates.
func (cp *ControlPlane) prepare() error {
	dir, unlock, err := newFolder(cp.options.Name)
	cp.dir = dir
	if err != nil {
		return err
	}
	cp.release = append(cp.release, unlock)
	port, release, err := holdPort()
	if err != nil {
		return err
	}
	cp.port, cp.release = port, append(cp.release, release)
	if cp.credentials, err = newCredentials(); err != nil {
		return err
	}
	cp.admin = cp.kubeconfig(cp.options.Name+"-admin", cp.credentials.admin)
	if err := cp.setProbe(cp.kubeconfig(probeUser, cp.credentials.probe)); err != nil {
		return err
	}
	return cp.credentials.write(dir, cp.kubeconfig(controllerUser, cp.credentials.controller))
}

// kubeconfig returns that of a user who is known by a certificate.
func (cp *ControlPlane) kubeconfig(user string, pair keyPair) *clientcmdapi.Config {
	cluster := &clientcmdapi.Cluster{
		Server:                   fmt.Sprintf("https://127.0.0.1:%d", cp.port),
		CertificateAuthorityData: cp.credentials.ca.cert,
	}
	auth := &clientcmdapi.AuthInfo{ClientCertificateData: pair.cert, ClientKeyData: pair.key}
	return newKubeconfig(cp.options.Name, user, cluster, auth)
}

func (cp *ControlPlane) setProbe(config *clientcmdapi.Config) error {
	var err error
	if cp.probeConfig, err = restConfig(config, "controlplane"); err != nil {
		return err
	}
	cp.probe, err = kubernetes.NewForConfig(cp.probeConfig)
	return err
}

// Stop ends the control plane and removes its folder, unless Options.Keep says
// otherwise. It returns when all processes are gone. Further calls do nothing
// and return what the first one did.
func (cp *ControlPlane) Stop() error { return cp.stop() }

// end is Stop's one run. etcd goes last: kube-apiserver needs it to end orderly.
func (cp *ControlPlane) end() error {
	if cp.Existing() {
		return cp.cleanUp()
	}
	cp.mu.Lock()
	defer cp.mu.Unlock()
	var clients sync.WaitGroup
	for _, name := range []string{controllerManagerName, apiServerName} {
		if p := cp.processes[name]; p != nil {
			clients.Go(p.stop)
		}
	}
	clients.Wait()
	if p := cp.processes[etcdName]; p != nil {
		p.stop()
	}
	clear(cp.processes)
	return cp.leave()
}

// leave gives back port, lock and folder.
func (cp *ControlPlane) leave() (err error) {
	if cp.options.Keep {
		err = os.Remove(cp.dir.path(lockName)) // a folder without lock is never swept
	} else {
		err = os.RemoveAll(string(cp.dir))
	}
	for _, release := range cp.release {
		release()
	}
	return err
}

// Wait blocks until the context ends, then returns nil, or until a component
// ends although nobody asked for it, then returns which one and why.
func (cp *ControlPlane) Wait(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case err := <-cp.died:
		cp.report(err) // for the next caller
		return err
	}
}

// Name returns the name that the options gave.
func (cp *ControlPlane) Name() string { return cp.options.Name }

// Existing tells whether this is a cluster that we did not start.
func (cp *ControlPlane) Existing() bool { return cp.options.Kubeconfig != "" }

// Dir returns the folder of the control plane: logs, certificates, data. It is
// empty for an existing cluster.
func (cp *ControlPlane) Dir() string { return string(cp.dir) }

// EtcdURL returns what another API server may use as --etcd-servers, with a
// prefix of its own. It is empty for an existing cluster.
func (cp *ControlPlane) EtcdURL() string {
	if cp.Existing() {
		return ""
	}
	return cp.dir.etcdURL()
}

// AdminConfig returns the configuration for a client of the administrator,
// "admin" in the audit log, that is never throttled on our side. Each call
// returns a new one that the caller may change.
func (cp *ControlPlane) AdminConfig() *rest.Config {
	config, err := restConfig(cp.admin, "")
	if err != nil {
		panic(err) // it was turned into a client when we started
	}
	return config
}

// AdminKubeconfig returns the kubeconfig of the administrator. It refers to no
// file; context and cluster have the name of the control plane.
func (cp *ControlPlane) AdminKubeconfig(edits ...KubeconfigEdit) []byte {
	return encode(cp.admin, edits...)
}
