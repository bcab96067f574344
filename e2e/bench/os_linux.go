package main

import (
	"os/exec"
	"syscall"
)

// dieWithParent has the kernel kill the process when the thread that started it
// ends, which is when we are killed and cannot end it ourselves.
func dieWithParent(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
