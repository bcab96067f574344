package controlplane

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
)

const pollInterval = 50 * time.Millisecond

// run starts a component.
func (cp *ControlPlane) run(name, program string, flags []string) error {
	cp.mu.Lock()
	defer cp.mu.Unlock()
	return cp.runLocked(name, program, flags)
}

func (cp *ControlPlane) runLocked(name, program string, flags []string) error {
	p, err := spawn(name, program, flags, cp.dir.log(name), cp.report)
	if err != nil {
		return err
	}
	cp.processes[name] = p
	return nil
}

// running returns the process of a component, or nil when there is none or it has ended.
func (cp *ControlPlane) running(name string) *process {
	p := cp.processes[name]
	if p == nil {
		return nil
	}
	select {
	case <-p.done:
		return nil
	default:
		return p
	}
}

// report keeps the first unexpected end of a component for Wait.
func (cp *ControlPlane) report(err error) {
	select {
	case cp.died <- err:
	default:
	}
}

// StopAPIServer ends kube-apiserver in order and returns when it is gone. etcd
// and its data stay; clients get "connection refused".
func (cp *ControlPlane) StopAPIServer(ctx context.Context) error {
	return cp.endAPIServer(ctx, (*process).stop)
}

// KillAPIServer ends kube-apiserver as a crash would, and returns when it is gone.
func (cp *ControlPlane) KillAPIServer(ctx context.Context) error {
	return cp.endAPIServer(ctx, (*process).kill)
}

func (cp *ControlPlane) endAPIServer(ctx context.Context, end func(*process)) error {
	if cp.Existing() {
		return fmt.Errorf("ending the API server of %s: %w", cp.options.Name, ErrExisting)
	}
	cp.mu.Lock()
	defer cp.mu.Unlock()
	p := cp.running(apiServerName)
	if p == nil {
		return fmt.Errorf("the API server of %s does not run", cp.options.Name)
	}
	end(p)
	return ctx.Err()
}

// StartAPIServer starts kube-apiserver again on the same port, after
// StopAPIServer or KillAPIServer, and returns when it is ready.
func (cp *ControlPlane) StartAPIServer(ctx context.Context) error {
	if cp.Existing() {
		return fmt.Errorf("starting the API server of %s: %w", cp.options.Name, ErrExisting)
	}
	if err := cp.runAPIServer(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, cp.options.Timeout)
	defer cancel()
	return cp.waitAPIServer(ctx)
}

func (cp *ControlPlane) runAPIServer() error {
	cp.mu.Lock()
	defer cp.mu.Unlock()
	if cp.running(etcdName) == nil {
		return fmt.Errorf("the control plane %s has been stopped", cp.options.Name)
	}
	if cp.running(apiServerName) != nil {
		return fmt.Errorf("the API server of %s runs already", cp.options.Name)
	}
	return cp.runLocked(apiServerName, cp.binaries.apiServer, apiServerFlags(cp.dir, cp.port, cp.options.APIServerFlags))
}

// waitAPIServer returns when /readyz does not find anything missing.
func (cp *ControlPlane) waitAPIServer(ctx context.Context) error {
	return cp.poll(ctx, "the API server to be ready", func(ctx context.Context) error {
		return cp.get(ctx, "/readyz")
	})
}

// waitServiceAccount returns when the controllers have shown that they work.
func (cp *ControlPlane) waitServiceAccount(ctx context.Context) error {
	return cp.poll(ctx, "the ServiceAccount of namespace default", func(ctx context.Context) error {
		_, err := cp.probe.CoreV1().ServiceAccounts("default").Get(ctx, "default", metav1.GetOptions{})
		return err
	})
}

// get asks the API server for a path and returns what is wrong, if anything.
func (cp *ControlPlane) get(ctx context.Context, path string) error {
	return cp.probe.RESTClient().Get().AbsPath(path).Do(ctx).Error()
}

// poll calls attempt until it returns no error. It gives up when the context
// ends or a component does.
func (cp *ControlPlane) poll(ctx context.Context, what string, attempt func(context.Context) error) error {
	var last error
	err := wait.PollUntilContextCancel(ctx, pollInterval, true, func(ctx context.Context) (bool, error) {
		if last = attempt(ctx); last == nil {
			return true, nil
		}
		select {
		case dead := <-cp.died:
			cp.report(dead)
			return false, dead
		default:
			return false, nil
		}
	})
	if err == nil {
		return nil
	}
	if wait.Interrupted(err) {
		err = context.Cause(ctx)
	}
	if last != nil && !apierrors.IsNotFound(last) {
		return fmt.Errorf("waiting for %s: %w (last: %w)", what, err, last)
	}
	return fmt.Errorf("waiting for %s: %w", what, err)
}
