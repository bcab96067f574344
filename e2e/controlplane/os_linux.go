package controlplane

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
)

// soReusePort is SO_REUSEPORT, which package syscall lacks on most Linux ports.
const soReusePort = 0xf

// dieWithParent has the kernel kill the process when the thread that started it
// ends, and keeps a Ctrl-C at the terminal from it: the order of ending is ours.
func dieWithParent(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
}

// holdPort returns a free port of 127.0.0.1 that nobody else gets until release
// is called. It binds a socket that never listens; a program of the same user
// that sets SO_REUSEPORT can serve on the port meanwhile, stop, and serve again.
func holdPort() (port int, release func(), err error) {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0, nil, fmt.Errorf("reserving a port: %w", err)
	}
	port, err = bindShared(fd)
	if err != nil {
		_ = syscall.Close(fd)
		return 0, nil, fmt.Errorf("reserving a port: %w", err)
	}
	return port, func() { _ = syscall.Close(fd) }, nil
}

// bindShared binds the socket to a port of the kernel's choice and returns it.
func bindShared(fd int) (port int, err error) {
	if err := syscall.SetsockoptInt(fd, syscall.SOL_SOCKET, soReusePort, 1); err != nil {
		return 0, err
	}
	if err := syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		return 0, err
	}
	address, err := syscall.Getsockname(fd)
	if err != nil {
		return 0, err
	}
	return address.(*syscall.SockaddrInet4).Port, nil
}

// lockFile takes an exclusive lock on a new or existing file, without waiting.
// The kernel gives the lock back when this program ends, however it ends.
func lockFile(name string) (unlock func(), err error) {
	file, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = file.Close()
		return nil, err
	}
	return func() { _ = file.Close() }, nil
}
