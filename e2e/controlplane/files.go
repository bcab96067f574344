package controlplane

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

const (
	dirPrefix = "konnector-cp-"
	lockName  = "lock"
	// maxSocketPath is what every system allows for the path of a unix socket.
	maxSocketPath = 103
)

// folder is the one place that a control plane writes to.
type folder string

func (f folder) path(name string) string   { return filepath.Join(string(f), name) }
func (f folder) log(name string) string    { return f.path(name + ".log") }
func (f folder) auditLog() string          { return f.path("audit.jsonl") }
func (f folder) auditPolicy() string       { return f.path("audit-policy.yaml") }
func (f folder) etcdURL() string           { return "unix://" + f.path("etcd.sock") }
func (f folder) serviceAccountKey() string { return f.path("service-account.key") }

// newFolder makes an empty folder below the system's temporary one and removes
// those that killed programs left there.
func newFolder(name string) (folder, func(), error) {
	sweep()
	dir, err := os.MkdirTemp("", dirPrefix+name+"-")
	if err != nil {
		return "", nil, err
	}
	f := folder(dir)
	if socket := f.path("etcd.sock"); len(socket) > maxSocketPath {
		return f, nil, fmt.Errorf("%s is too long for the path of a socket: use a shorter name or $TMPDIR", socket)
	}
	unlock, err := lockFile(f.path(lockName))
	if errors.Is(err, errors.ErrUnsupported) {
		return f, func() {}, nil
	}
	return f, unlock, err
}

// sweep removes folders whose owner is gone. A folder that is kept has no lock,
// one in use has a lock that is held, and one of this minute may be about to be
// locked.
func sweep() {
	locks, _ := filepath.Glob(filepath.Join(os.TempDir(), dirPrefix+"*", lockName))
	for _, lock := range locks {
		info, err := os.Stat(lock)
		if err != nil || time.Since(info.ModTime()) < time.Minute {
			continue
		}
		if unlock, err := lockFile(lock); err == nil {
			_ = os.RemoveAll(filepath.Dir(lock))
			unlock()
		}
	}
}

// auditPolicy has one entry for each request that was answered and one for each
// watch, written when the watch starts: its end may be an hour away. Requests
// that fail to authenticate have nothing but ResponseStarted, hence that stage
// is left out for nobody.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitManagedFields: true
omitStages: [RequestReceived]
rules:
- level: Metadata
  verbs: [watch]
  omitStages: [ResponseComplete]
- level: Metadata
`
