//go:build !linux

package image

import (
	"errors"
	"io"
)

var errLinux = errors.New("images are unpacked on Linux only")

func unpack(io.Reader, string, []string, *quota) error { return errLinux }

func syncFiles(string) error { return errLinux }
