//go:build !linux

package e2e

import "syscall"

// childOptions returns nothing special: only Linux can tie a child to its parent.
func childOptions() *syscall.SysProcAttr { return nil }
