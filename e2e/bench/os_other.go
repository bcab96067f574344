//go:build !linux

package main

import "os/exec"

// dieWithParent does nothing here: the konnector outlives us when we are killed.
func dieWithParent(*exec.Cmd) {}
