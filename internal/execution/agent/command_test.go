package agent

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/penstock-dev/penstock/internal/execution/acp"
)

func TestCommands(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		input  object
		output string // "" is not checked
		exit   int
		failed bool
	}{
		{"output and errors", object{"command": "echo a; echo b >&2"}, "a\nb\nexit code 0", 0, false},
		{"no output", object{"command": "true"}, "(no output)\nexit code 0", 0, false},
		{"an exit code", object{"command": "exit 7"}, "(no output)\nexit code 7", 7, false},
		{
			"ended by a signal",
			object{"command": "kill -9 $$"},
			"(no output)\nexit code 137 (killed: perhaps the run used more memory than --limit-memory allows)", 137, false,
		},
		{"no such program", object{"command": "nosuchprogram 2>/dev/null"}, "", 127, false},
		{"in a directory", object{"command": "basename $PWD", "cwd": "sub"}, "sub\nexit code 0", 0, false},
		{"nothing to read", object{"command": "cat"}, "(no output)\nexit code 0", 0, false},
		{"bytes that are no text", object{"command": `printf 'a\377\000b'`}, "a\uFFFD\uFFFDb\nexit code 0", 0, false},
		{"bash", object{"command": "[[ a == a ]] && echo ${BASH_VERSION:+yes}"}, "yes\nexit code 0", 0, false},
		{
			"something left behind that is quiet",
			object{"command": "sleep 600 >/dev/null 2>&1 & echo on"},
			"on\nexit code 0",
			0, false,
		},
		{
			"something left behind that holds the output", object{"command": "sleep 600 & echo on"}, "on\nexit code 0", 0, false,
		},
		{"its time is over", object{"command": "echo begun; sleep 600", "timeout_seconds": 5}, "", 143, true},
		{
			"its time is over and it does not care",
			object{"command": "trap '' TERM; echo begun; while :; do sleep 0.1; done", "timeout_seconds": 5},
			"", 137, true,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h := start(t, nil)
			h.write("sub/x", "")
			c := h.use(h.open(), toolRunCommand, tt.input)
			if tt.output != "" && c.Output != tt.output {
				t.Errorf("output %q, want %q", c.Output, tt.output)
			}
			var raw commandOutput
			if err := json.Unmarshal(c.Raw, &raw); err != nil {
				t.Fatal(err)
			}
			if raw.ExitCode != tt.exit || raw.TimedOut != tt.failed || (c.Status == acp.ToolFailed) != tt.failed {
				t.Errorf(
					"exit code %d, timed out %v, status %s; want %d, %v", raw.ExitCode, raw.TimedOut, c.Status, tt.exit, tt.failed,
				)
			}
			if tt.failed && !strings.Contains(c.Output, "begun\nended because its timeout of") {
				t.Errorf("output %q", c.Output)
			}
		})
	}
}

func TestCommandsThatAreNotRun(t *testing.T) {
	t.Parallel()
	h := start(t, nil)
	h.write("file", "")
	id := h.open()
	for _, input := range []object{
		{},
		{"command": ""},
		{"command": "true", "cwd": "/etc"},
		{"command": "true", "cwd": "nope"},
		{"command": "true", "cwd": "file"},
		{"command": 7},
	} {
		if c := h.use(id, toolRunCommand, input); c.Status != acp.ToolFailed {
			t.Errorf("%v: %+v", input, c)
		}
	}
}

func TestLongOutputLosesItsMiddle(t *testing.T) {
	t.Parallel()
	h := start(t, nil)
	c := h.use(h.open(), toolRunCommand, object{"command": "echo first; yes 0123456789 | head -c 10000000; echo last"})
	if !strings.HasPrefix(c.Output, "first\n") || !strings.HasSuffix(c.Output, "last\nexit code 0") ||
		!strings.Contains(c.Output, "bytes left out") {
		t.Errorf("output %q … %q", c.Output[:50], c.Output[len(c.Output)-50:])
	}
	if len(c.Output) > keptHead+keptTail+200 {
		t.Errorf("%d bytes were kept", len(c.Output))
	}
}

func TestKeptOutput(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name       string
		writes     []int
		head, tail int // bytes that are kept of each
		missing    int
	}{
		{"little", []int{10}, 10, 0, 0},
		{"just the head", []int{keptHead}, keptHead, 0, 0},
		{"both, whole", []int{keptHead, keptTail}, keptHead, keptTail, 0},
		{"one too many", []int{keptHead + keptTail + 1}, keptHead, keptTail, 1},
		{
			"much, in pieces",
			[]int{keptHead / 2, keptHead, 3 * keptTail, 5, 2 * keptTail},
			keptHead, keptTail,
			keptHead/2 + 4*keptTail + 5,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var o output
			var all strings.Builder
			for i, n := range tt.writes {
				piece := strings.Repeat(strconv.Itoa(i), n)
				all.WriteString(piece)
				if _, err := o.Write([]byte(piece)); err != nil {
					t.Fatal(err)
				}
			}
			want := all.String()
			if tt.missing > 0 {
				want = fmt.Sprintf("%s\n[… %d bytes left out …]\n%s", want[:tt.head], tt.missing, want[len(want)-tt.tail:])
			}
			if diff := cmp.Diff(want, o.String()); diff != "" {
				t.Errorf("(-want +got):\n%s", cut(diff, 1000))
			}
			if tail, changed := o.tail(4); tail != want[len(want)-4:] || !changed {
				t.Errorf("tail = %q, %v", tail, changed)
			}
			if _, changed := o.tail(4); changed {
				t.Error("nothing was written since, but the tail says so")
			}
		})
	}
}

func TestTheProcessIsUndumpable(t *testing.T) {
	t.Parallel()
	start(t, nil)
	if got, err := unix.PrctlRetInt(unix.PR_GET_DUMPABLE, 0, 0, 0, 0); err != nil || got != 0 {
		t.Errorf("dumpable = %d, %v; want 0", got, err)
	}
}

func TestManyCommandsAtOnce(t *testing.T) {
	t.Parallel()
	h := start(t, nil)
	sessions := make(chan error, 8)
	for i := range cap(sessions) {
		s, err := h.NewSession(h.ctx, acp.NewSessionRequest{Cwd: h.workspace})
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			_, err := h.Prompt(
				h.ctx, s.ID,
				acp.Text(fmt.Sprintf("demo: run sleep 0.2; echo x > out%d\ndemo: run sleep 0.2; echo y >> out%d", i, i)),
			)
			sessions <- err
		}()
	}
	for range cap(sessions) {
		if err := <-sessions; err != nil {
			t.Error(err)
		}
	}
	for i := range cap(sessions) {
		if got := h.read(fmt.Sprint("out", i)); got != "x\ny\n" {
			t.Errorf("out%d = %q", i, got)
		}
	}
}

// The kernel kills a command when the thread that started it ends, so that thread must live as long
// as the command.
func TestACommandOutlivesOtherThreads(t *testing.T) {
	t.Parallel()
	h := start(t, nil)
	id := h.open()
	done := make(chan struct{})
	go func() {
		defer close(done)
		if c := h.use(
			id, toolRunCommand, object{"command": "sleep 2; echo still here"},
		); c.Output != "still here\nexit code 0" {
			t.Errorf("got %q", c.Output)
		}
	}()
	for {
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine
		}()
		<-ended
		select {
		case <-done:
			return
		case <-time.After(time.Millisecond):
		}
	}
}
