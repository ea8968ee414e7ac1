package sandbox

import (
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The first process of a sandbox can be read by all others in there, so that it must not
// hold the program's streams.
func TestBubblewrapDoesNotHoldTheStandardStreams(t *testing.T) {
	t.Parallel()
	s := open(t, Bubblewrap)
	sp := spec(t, `for fd in 0 1; do readlink /proc/1/fd/$fd; done; { cat > /proc/1/fd/1; } 2>/dev/null; echo said`)
	want := "/dev/null\n/dev/null\nsaid\n"
	if SeparatesSockets() { // and with that, hides all that bwrap has
		want = "said\n"
	}
	if got := output(t, s, sp); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// What is a socket serves a program as a pipe does, but nobody can open it.
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
