package inside

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// leaveSessionKeyring gives this thread, and everything that it starts, a new session keyring
// (session-keyring(7)). Otherwise each tree would inherit the worker's, and could read the keys of
// the worker's user and of all other trees.
func leaveSessionKeyring() error {
	// Without a name: others can join a keyring that has one, even an empty one.
	_, err := unix.KeyctlInt(unix.KEYCTL_JOIN_SESSION_KEYRING, 0, 0, 0, 0)
	if err == nil || noKeyrings(err) {
		return nil
	}
	return fmt.Errorf("join a new session keyring: %w", err)
}

// noKeyrings reports whether an error means that this machine has no keyrings, or that a filter, as
// container engines install it, forbids them.
func noKeyrings(err error) bool {
	if errors.Is(err, unix.EPERM) {
		_, err = unix.KeyctlGetKeyringID(unix.KEY_SPEC_SESSION_KEYRING, false)
		return errors.Is(err, unix.EPERM)
	}
	return errors.Is(err, unix.ENOSYS)
}
