//go:build !linux

package main

// clockSynchronized returns true, because it is unknown on this system.
func clockSynchronized() bool { return true }
