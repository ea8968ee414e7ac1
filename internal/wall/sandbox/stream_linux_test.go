package sandbox

import (
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// All other processes of a sandbox can read its first process, so it must not hold the program's
// streams.
func TestBubblewrapDoesNotHoldTheStandardStreams(t *testing.T) {
	t.Parallel()
	s := open(t, Bubblewrap)
	sp := spec(t, `for fd in 0 1; do readlink /proc/1/fd/$fd; done; { cat > /proc/1/fd/1; } 2>/dev/null; echo said`)
	want := "/dev/null\n/dev/null\nsaid\n"
	if SeparatesSockets() { // which also hides everything that bwrap has
		want = "said\n"
	}
	if got := output(t, s, sp); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// A socket serves a program like a pipe, but no other process can open it.
func TestSockets(t *testing.T) {
	eachKind(t, func(t *testing.T, s Sandbox) {
		sp := spec(
			t, `cat; readlink /proc/$$/fd/1 | cut -d : -f 1; sh -c 'echo forged > /proc/$PPID/fd/1' || echo refused; exit 3`,
		)
		sp.Sockets, sp.Stderr = true, io.Discard
		r := start(t, s, sp)
		text := strings.Repeat("a line of the protocol\n", 100_000)
		go func() {
			_, _ = io.WriteString(r.Stdin(), text)
			_ = r.Stdin().Close()
		}()
		got, err := io.ReadAll(r.Stdout())
		if err != nil {
			t.Fatal(err)
		}
		exit, err := r.Wait()
		if err != nil || exit.Code != 3 {
			t.Errorf("got %v, %v", exit, err)
		}
		if diff := cmp.Diff("socket\nrefused\n", strings.TrimPrefix(string(got), text)); diff != "" {
			t.Error(diff)
		}
	})
}
