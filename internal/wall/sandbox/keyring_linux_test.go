package sandbox

import (
	"fmt"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// keys adds a key of each name to the session keyring, unless it exists.
func keys(names []string) {
	for _, name := range names {
		_, err := unix.KeyctlSearch(unix.KEY_SPEC_SESSION_KEYRING, "user", name, 0)
		fmt.Println(name, "before:", err)
		_, err = unix.AddKey("user", name, []byte("secret"), unix.KEY_SPEC_SESSION_KEYRING)
		fmt.Println(name, "added:", err)
	}
}

// One tree can see neither the worker's keys nor another tree's.
func TestEachSandboxHasItsOwnSessionKeyring(t *testing.T) {
	eachKind(t, func(t *testing.T, s Sandbox) {
		ours, theirs := "ours-"+mark(), "theirs-"+mark()
		// A server that was started in a login session has such a keyring. This one ends with the
		// thread.
		runtime.LockOSThread()
		if _, err := unix.KeyctlInt(unix.KEYCTL_JOIN_SESSION_KEYRING, 0, 0, 0, 0); err != nil {
			t.Skip("no keyrings here:", err)
		}
		if _, err := unix.AddKey("user", ours, []byte("secret"), unix.KEY_SPEC_SESSION_KEYRING); err != nil {
			t.Fatal(err)
		}
		before, added := unix.ENOKEY.Error(), "<nil>"
		if Isolates(s.Kind()) && seccompFilter(false, true) != nil {
			before, added = unix.ENOSYS.Error(), unix.ENOSYS.Error()
		}
		want := fmt.Sprintf(
			"%[1]s before: %[2]s\n%[1]s added: %[3]s\n%[4]s before: %[2]s\n%[4]s added: %[3]s\n", ours, before, added, theirs,
		)
		for range 2 {
			sp := spec(t, "")
			sp.Argv = []string{s.Layout(sp).Exe, "keys", ours, theirs}
			if got := output(t, s, sp); got != want {
				t.Errorf("got\n%swant\n%s", got, want)
			}
		}
		if _, err := unix.KeyctlSearch(unix.KEY_SPEC_SESSION_KEYRING, "user", theirs, 0); err == nil {
			t.Error("a key of a tree is in the worker's keyring")
		}
	})
}
