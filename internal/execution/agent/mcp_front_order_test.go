package agent

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

const (
	initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}` + "\n"
	makeCall   = `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"x"}}` + "\n"
)

// Whichever of the two is seen first, the end of the server or of its agent: the report names the
// end of the server if that is why it does not work. A server that did work is not reported.
func TestAFrontWhoseServerAndAgentEndTogether(t *testing.T) {
	t.Parallel()
	states := map[string]string{ // of the server, and its command
		"silent":  "exec sleep 600",
		"idle":    serves(welcome),
		"working": `read -r line; echo '{"jsonrpc":"2.0","id":1,` + welcome + `}'; exec sleep 600`,
	}
	const crashed, gaveUp = "it ended (signal: user defined signal 1)", "had not responded after "
	for _, test := range []struct {
		state  string
		signal syscall.Signal // SIGTERM: the agent ends all processes below the front
		want   string         // of the report; "": it is not reported
	}{
		{"silent", syscall.SIGUSR1, crashed},
		{"silent", syscall.SIGTERM, gaveUp},
		{"silent", syscall.SIGKILL, gaveUp},
		{"idle", syscall.SIGUSR1, ""},
		{"idle", syscall.SIGTERM, ""},
		{"working", syscall.SIGUSR1, crashed},
		{"working", syscall.SIGTERM, ""},
	} {
		for _, first := range []string{"server", "agent"} {
			for _, how := range []string{"closes", "signals"} {
				t.Run(fmt.Sprintf("%s, %s, %s first, %s", test.state, test.signal, first, how), func(t *testing.T) {
					t.Parallel()
					f, pid := newFrontedState(t, &front{lingerFor: timeout}, test.state, states[test.state])
					leave := f.stop
					if how == "closes" {
						leave = func() {
							_ = f.in.Close()
							<-f.front.left
						}
					}
					if first == "agent" {
						leave()
						_ = syscall.Kill(pid, test.signal) // an idle one may be gone
					} else {
						f.kill(pid, test.signal)
						leave()
					}
					err := f.end()
					reasons := f.reasons()
					if test.want == "" && (err != nil || len(reasons) > 0) {
						t.Errorf("the result is %v, and the reports %q", err, reasons)
					}
					if test.want != "" && (err == nil || len(reasons) != 1 || !strings.Contains(reasons[0], test.want)) {
						t.Errorf("the result is %v, and the reports %q; want %q", err, reasons, test.want)
					}
				})
			}
		}
	}
}

// A server that ends is reported if its agent stays, however it ended.
func TestAFrontWhoseServerEndsAlone(t *testing.T) {
	t.Parallel()
	for state, script := range map[string]string{"silent": "exec sleep 600", "idle": serves(welcome)} {
		for _, signal := range []syscall.Signal{syscall.SIGUSR1, syscall.SIGTERM, syscall.SIGKILL} {
			t.Run(fmt.Sprintf("%s, %s", state, signal), func(t *testing.T) {
				t.Parallel()
				f, pid := newFrontedState(t, &front{lingerFor: time.Millisecond}, state, script)
				f.kill(pid, signal)
				want := fmt.Sprintf("it ended (signal: %s)", signal)
				eventually(t, "it is reported", func() bool { return len(f.reasons()) > 0 })
				_ = f.in.Close()
				if err := f.end(); err == nil || len(f.reasons()) != 1 || f.reasons()[0] != want {
					t.Errorf("the result is %v, and the reports %q; want %q", err, f.reasons(), want)
				}
			})
		}
	}
}

// A server may end as soon as its agent starts and leaves it, and its child may keep its output open.
func TestAFrontOfAnAgentThatOnlyStartsItsServer(t *testing.T) {
	t.Parallel()
	f, pid := newFrontedState(t, &front{lingerFor: time.Hour}, "new", "sleep 600 & exec sleep 600")
	_ = f.in.Close()
	<-f.front.left
	_ = syscall.Kill(pid, syscall.SIGUSR1)
	if err := f.end(); err == nil || len(f.reasons()) != 1 || !strings.Contains(f.reasons()[0], "user defined signal 1") {
		t.Errorf("the result is %v, and the reports %q", err, f.reasons())
	}
}

// newFrontedState starts a front and a shell script as its server, brings the server into a state, and
// returns its process id.
func newFrontedState(t *testing.T, set *front, state, script string) (f *fronted, pid int) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "pid")
	f = startFronted(t, set, "sh", "-c", "echo $$ > '"+file+"'; "+script)
	eventually(t, "the server has started", func() bool {
		raw, _ := os.ReadFile(file)
		pid, _ = strconv.Atoi(strings.TrimSpace(string(raw)))
		return pid > 0 && strings.HasSuffix(string(raw), "\n")
	})
	if state == "new" {
		return f, pid
	}
	f.write(initialize)
	<-f.front.asked
	lines := bufio.NewReader(f.lines)
	if state != "silent" {
		if line, err := lines.ReadString('\n'); err != nil || !strings.Contains(line, `"result"`) {
			t.Fatalf("got %q, %v", line, err)
		}
	}
	if state == "working" {
		f.write(makeCall)
		id, _ := jsonrpc.MakeID(float64(2))
		eventually(t, "the call is being made", func() bool {
			f.front.mu.Lock()
			defer f.front.mu.Unlock()
			return f.front.pending[id] != ""
		})
	}
	go func() { _, _ = io.Copy(io.Discard, lines) }()
	return f, pid
}

func (f *fronted) write(text string) {
	f.t.Helper()
	if _, err := io.WriteString(f.in, text); err != nil {
		f.t.Fatal(err)
	}
}

// kill ends a process with a signal, and returns when it is gone.
func (f *fronted) kill(pid int, signal syscall.Signal) {
	f.t.Helper()
	if err := syscall.Kill(pid, signal); err != nil {
		f.t.Fatal(err)
	}
	eventually(f.t, "the process is gone", func() bool { return !alive(pid) })
}

// A server that ends before it reads is reported like any other. The front's write to it is SIGPIPE,
// which is not the end of the agent. The server lives longer than lingerTime after it.
func TestTheProcessOfAFrontWhoseServerDoesNotRead(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	gate, report := filepath.Join(dir, "gate"), filepath.Join(dir, "report")
	cmd := exec.CommandContext(t.Context(), os.Args[0], "my server", report, "sh", "-c",
		"exec <&-; echo 'no database' >&2; while [ ! -e '"+gate+"' ]; do sleep 0.01; done; sleep 1; exit 3")
	cmd.Env = append(os.Environ(), "PENSTOCK_TEST_FRONT=1")
	in, err := cmd.StdinPipe()
	out, errOut := cmd.StdoutPipe()
	printed, errPrinted := cmd.StderrPipe()
	if err := errors.Join(err, errOut, errPrinted, cmd.Start()); err != nil {
		t.Fatal(err)
	}
	log := bufio.NewReader(printed)
	for _, step := range []struct{ wait, then string }{
		{"no database", initialize + "not a message\n"}, // its input is closed
		{"that is no message", ""},                      // the front has sent the first line to it
	} {
		line, err := log.ReadString('\n')
		for err == nil && !strings.Contains(line, step.wait) {
			line, err = log.ReadString('\n')
		}
		if err != nil {
			t.Fatalf("%q is missing: %v", step.wait, err)
		}
		if _, err := io.WriteString(in, step.then); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(gate, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	const want = "it ended (exit status 3); it printed: no database"
	if answer, err := bufio.NewReader(out).ReadString('\n'); err != nil || !strings.Contains(answer, want) {
		t.Errorf("the agent got %q, %v", answer, err)
	}
	if text, err := os.ReadFile(report); err != nil || !strings.Contains(string(text), want) {
		t.Errorf("the worker got %q, %v", text, err)
	}
	_ = in.Close()
	_, _ = io.Copy(io.Discard, log)
	_ = cmd.Wait()
}

// A server sees the end of its input, and may end by itself.
func TestAFrontLetsItsServerEnd(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "saved")
	f, _ := newFrontedState(t, &front{lingerFor: time.Hour, close: timeout}, "idle", serves(welcome)+": > '"+file+"'")
	_ = f.in.Close()
	if err := f.end(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(file); err != nil {
		t.Error("the server was killed")
	}
}

// What a server has started ends with it.
func TestAFrontEndsWhatADeadServerHasStarted(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "child")
	f := newFronted(t, timeout, "sh", "-c", "sleep 600 </dev/null >/dev/null 2>&1 & echo $! > '"+file+"'; exit 3")
	if err := f.connect(); err == nil {
		t.Fatal("the agent was not told")
	}
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	child, err := strconv.Atoi(strings.TrimSpace(string(raw)))
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "its child is gone", func() bool { return !alive(child) })
}

// A server that has started may take longer for a call than for its start.
func TestAFrontWhoseServerIsSlow(t *testing.T) {
	t.Parallel()
	const start = 10 * time.Second
	f := newFronted(t, start, "sh", "-c", `read -r line; echo '{"jsonrpc":"2.0","id":1,`+welcome+`}'
		read -r line; sleep 11; echo '{"jsonrpc":"2.0","id":2,"result":{}}'; exec cat >/dev/null`)
	lines := bufio.NewReader(f.lines)
	for _, ask := range []string{initialize, makeCall} {
		f.write(ask)
		if line, err := lines.ReadString('\n'); err != nil || !strings.Contains(line, `"result"`) {
			t.Fatalf("got %q, %v", line, err)
		}
	}
}

// An agent that sends too much is told so, and not that its server is broken in another way.
func TestAFrontOfAnAgentThatSendsTooMuch(t *testing.T) {
	t.Parallel()
	f, _ := newFrontedState(t, &front{}, "idle", serves(welcome))
	long := `{"jsonrpc":"2.0","id":2,"method":"` + strings.Repeat("a", maxMessage+1<<20)
	go func() { _, _ = io.WriteString(f.in, long) }() // until the front ends
	const want = "the agent sent it a message of more than 16 MiB"
	if err := f.end(); err == nil || len(f.reasons()) != 1 || f.reasons()[0] != want {
		t.Errorf("the result is %v, and the reports %q", err, f.reasons())
	}
	_ = f.in.Close()
}

// A server that is too late gets no second answer, and its failure is known before its end, for which an
// agent may not wait.
func TestAFrontOfAServerThatIsTooLate(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "pid")
	f := startFronted(t, &front{start: 100 * time.Millisecond}, "sh", "-c",
		"echo $$ > '"+file+`'; while read -r line; do :; done; echo '{"jsonrpc":"2.0","id":1,`+welcome+`}'`)
	f.write(initialize)
	eventually(t, "it is reported", func() bool { return len(f.reasons()) > 0 })
	// The front's answer waits for us, so it has not done more.
	if raw, err := os.ReadFile(file); err == nil { // otherwise it was not that far
		if pid, _ := strconv.Atoi(strings.TrimSpace(string(raw))); pid > 0 && !alive(pid) {
			t.Error("the server ended before the report")
		}
	}
	lines := bufio.NewReader(f.lines)
	if line, err := lines.ReadString('\n'); err != nil || !strings.Contains(line, "did not respond within 100ms") {
		t.Errorf("the agent got %q, %v", line, err)
	}
	if rest, _ := io.ReadAll(lines); len(rest) > 0 {
		t.Errorf("the agent got more: %q", rest)
	}
}
