//go:build !linux

package store

import "os"

// allocate takes n bytes of the disk for a file.
func allocate(f *os.File, from, n int64) error { return fill(f, from, n) }
