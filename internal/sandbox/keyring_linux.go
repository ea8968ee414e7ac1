package sandbox

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// leaveSessionKeyring gives this thread, and what it will start, a session keyring of
// its own (session-keyring(7)). A process inherits that of its parent otherwise, so that
// each tree could read the keys of whoever started the server, and of all other trees.
func leaveSessionKeyring() error {
	// No name: a keyring with a name, though it be empty, can be joined by others.
	_, err := unix.KeyctlInt(unix.KEYCTL_JOIN_SESSION_KEYRING, 0, 0, 0, 0)
	if err == nil || noKeyrings(err) {
		return nil
	}
	return fmt.Errorf("join a new session keyring: %w", err)
}

// noKeyrings says that keyrings do not exist here: the kernel has none, or a filter, as
// container engines have one, allows no process to use them.
func noKeyrings(err error) bool {
	if errors.Is(err, unix.EPERM) {
		_, err = unix.KeyctlGetKeyringID(unix.KEY_SPEC_SESSION_KEYRING, false)
		return errors.Is(err, unix.EPERM)
	}
	return errors.Is(err, unix.ENOSYS)
}
