//go:build !linux

package sandbox

import (
	"context"
	"errors"
)

var errLinux = errors.New("agents run on Linux only: start a worker on a Linux machine")

// New fails: sandboxes exist on Linux only.
func New(Options) (Sandbox, error) { return nil, errLinux }

// Probe fails as New does.
func Probe(context.Context, Options) error { return errLinux }

// SeparatesSockets is false: sandboxes exist on Linux only.
func SeparatesSockets() bool { return false }

// SharesUser fails as New does.
func SharesUser(Sandbox) error { return errLinux }

// StartsSlowly fails as New does.
func StartsSlowly(Sandbox) error { return errLinux }
