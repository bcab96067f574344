//go:build !linux

package controlplane

import (
	"errors"
	"net"
	"os/exec"
)

// dieWithParent does nothing here: a control plane outlives a program that is
// killed before it calls Stop.
func dieWithParent(*exec.Cmd) {}

// holdPort returns a port of 127.0.0.1 that was free a moment ago.
func holdPort() (port int, release func(), err error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, nil, err
	}
	defer listener.Close()
	return listener.Addr().(*net.TCPAddr).Port, func() {}, nil
}

// lockFile always fails here, so that no folder counts as abandoned.
func lockFile(string) (unlock func(), err error) {
	return nil, errors.ErrUnsupported
}
