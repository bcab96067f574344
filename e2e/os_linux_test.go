package e2e

import "syscall"

// childOptions has a child end with the test binary, however that ends.
func childOptions() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
