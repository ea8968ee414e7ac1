package main

import "golang.org/x/sys/unix"

// timeError is TIME_ERROR of <sys/timex.h>: the clock is not synchronized.
const timeError = 5

// clockSynchronized reports whether the kernel's clock is synchronized. It returns true if this is
// unknown.
func clockSynchronized() bool {
	var t unix.Timex
	state, err := unix.Adjtimex(&t)
	return err != nil || state != timeError
}
