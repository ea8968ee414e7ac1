//go:build !linux

package sandbox

import (
	"context"
	"errors"
)

var errLinux = errors.New("agents run on Linux only: start a worker on a Linux machine")

// New fails: there are sandboxes on Linux only.
func New(Options) (Sandbox, error) { return nil, errLinux }

// Probe fails as New does.
func Probe(context.Context, Options) error { return errLinux }

// Supervise is never started here.
func Supervise() int { return 2 }

// Enter is the hidden command "enter"; no sandbox of this system starts it.
func Enter([]string) int { return 2 }

// SeparatesSockets is false: there are no sandboxes here.
func SeparatesSockets() bool { return false }
