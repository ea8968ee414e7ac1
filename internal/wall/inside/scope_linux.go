package inside

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// scopes are what Landlock confines to a sandbox (landlock(7)): signals, and connections to
// abstract unix sockets. Their names belong to the network namespace, which is the host's unless
// the sandbox is sealed. Through such a socket, one run could pass another a descriptor of its
// workspace.
const scopes = unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | unix.LANDLOCK_SCOPE_SIGNAL

// scopesABI is the first version of Landlock with scopes. It came with Linux 6.12.
const scopesABI = 6

// SeparatesSockets reports whether the kernel can confine abstract unix sockets to a sandbox of
// kind Bubblewrap that is not sealed. Otherwise runs reach each other's sockets, and the host's.
func SeparatesSockets() bool {
	abi, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	return errno == 0 && abi >= scopesABI
}

// scope restricts this thread, and all that it starts, to the abstract unix sockets and
// processes in the same restriction. It does nothing if the kernel cannot do that. A restricted
// process cannot trace one that is not, so the program of a sandbox cannot use bwrap, nor the
// relay, to leave it.
func scope() error {
	if !SeparatesSockets() {
		return nil
	}
	attr := unix.LandlockRulesetAttr{Scoped: scopes}
	ruleset, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET,
		uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr), 0) //nolint:gosec // unix has no function for it
	if errno != 0 {
		return fmt.Errorf("make a Landlock ruleset: %w", errno)
	}
	defer unix.Close(int(ruleset))
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, ruleset, 0, 0); errno != 0 {
		return fmt.Errorf("restrict by Landlock: %w", errno)
	}
	return nil
}
