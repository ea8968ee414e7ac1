//go:build unix && !linux

package agent

import (
	"os/exec"
	"syscall"
)

// makeUndumpable does nothing. Only Linux can separate processes of one user in this way.
func makeUndumpable() error { return nil }

// childAttr starts a process in a group of its own.
func childAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// awaitExit returns when the process has ended, and reaps it.
func awaitExit(cmd *exec.Cmd) { _ = cmd.Wait() }
