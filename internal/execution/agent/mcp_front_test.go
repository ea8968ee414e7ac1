package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/penstock-dev/penstock/internal/execution/acp"
)

// fronted is a front with its agent, which is a strict MCP client: a line that is no message ends its
// connection.
type fronted struct {
	t      *testing.T
	front  *front
	client *mcp.ClientSession
	in     *io.PipeWriter // of the front
	lines  *io.PipeReader // what the front writes
	stderr syncedText
	report string
	stop   func()
	ended  chan error // the result of run
}

type syncedText struct {
	mu   sync.Mutex
	text strings.Builder
}

func (s *syncedText) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

func (s *syncedText) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

func newFronted(t *testing.T, start time.Duration, argv ...string) *fronted {
	t.Helper()
	return startFronted(t, &front{start: start}, argv...)
}

// startFronted starts a front with the limits of set; 0 is a front's own limit, and for start a patient one.
func startFronted(t *testing.T, set *front, argv ...string) *fronted {
	t.Helper()
	f := &fronted{t: t, report: filepath.Join(t.TempDir(), "reports"), ended: make(chan error, 1)}
	read, write := io.Pipe()
	in, lines := io.Pipe()
	f.in, f.lines = write, in
	ctx, cancel := context.WithCancel(t.Context())
	f.stop = cancel
	f.front = newFront(&front{
		env: os.Environ(), name: "my server", report: f.report, start: cmp.Or(set.start, timeout),
		lingerFor: cmp.Or(set.lingerFor, lingerTime), close: cmp.Or(set.close, closeTime),
		in: read, out: lines, err: &f.stderr,
	})
	done := make(chan struct{})
	go func() {
		defer close(done)
		f.ended <- f.front.run(ctx, argv)
		_ = lines.Close()
	}()
	t.Cleanup(func() {
		_ = write.Close()
		cancel()
		_ = in.Close()
		<-done
	})
	return f
}

// mode is the command line of the test binary as a stdio server.
func mode(name string) []string { return []string{"env", "PENSTOCK_TEST_MCP=" + name, os.Args[0]} }

func (f *fronted) connect() error {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(f.t.Context(), timeout)
	defer cancel()
	client := mcp.NewClient(&mcp.Implementation{Name: "agent", Version: "1"}, nil)
	var err error
	f.client, err = client.Connect(ctx, &mcp.IOTransport{Reader: f.lines, Writer: f.in}, nil)
	return err
}

func (f *fronted) call(tool, input string) (string, error) {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(f.t.Context(), timeout)
	defer cancel()
	response, err := f.client.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: json.RawMessage(input)})
	if err != nil {
		return "", err
	}
	return contentText(response), nil
}

// end returns what run returned.
func (f *fronted) end() error {
	f.t.Helper()
	select {
	case err := <-f.ended:
		f.ended <- err
		return err
	case <-time.After(timeout):
		f.t.Fatal("the front has not ended")
		return nil
	}
}

// reasons are the reports for the worker.
func (f *fronted) reasons() (list []string) {
	f.t.Helper()
	text, err := os.ReadFile(f.report)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		f.t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		var failed acp.ServerFailure
		if err := json.Unmarshal([]byte(line), &failed); err != nil || failed.Name != "my server" {
			f.t.Errorf("the report %q: %v", line, err)
		}
		list = append(list, failed.Reason)
	}
	return list
}

func TestAFrontForwardsOnlyMessages(t *testing.T) {
	t.Parallel()
	f := newFronted(t, timeout, mode("noisy")...)
	if err := f.connect(); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if got, err := f.call("greet", `{"name":"Ada"}`); err != nil || !strings.Contains(got, "hello Ada") {
			t.Fatalf("got %q, %v", got, err)
		}
	}
	_ = f.client.Close()
	if err := f.end(); err != nil || len(f.reasons()) > 0 {
		t.Errorf("it was reported: %v, %q", err, f.reasons())
	}
	logged := f.stderr.String()
	if !strings.Contains(logged, "Server listening") || !strings.Contains(logged, "my server") {
		t.Errorf("the log does not name the server and what it printed: %.1000q", logged)
	}
	if len(logged) > maxFrontLog {
		t.Errorf("the log has %d bytes", len(logged))
	}
}

// serves is a shell command that serves an initialize with a body. It does not know other requests.
func serves(body string) string {
	return `while read -r line; do
		id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
		case $line in
		*'"initialize"'*) printf '{"jsonrpc":"2.0","id":%s,` + body + `}\n' "$id" ;;
		*'"id"'*) printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"method not found"}}\n' "$id" ;;
		esac
	done; `
}

const (
	welcome = `"result":{"protocolVersion":"2025-06-18","capabilities":{},"serverInfo":{"name":"s","version":"1"}}`
	refusal = `"error":{"code":-1,"message":"no license"}`
)

// A server that does not work is reported to the worker and to the agent, in one sentence with its name.
func TestAFrontOfAServerThatDoesNotWork(t *testing.T) {
	t.Parallel()
	late := []string{"did not respond within 2s"}
	for name, test := range map[string]struct {
		argv   []string
		starts bool
		want   []string // late: it has two seconds to start
	}{
		"no program":    {[]string{"no-such-server", "x"}, false, []string{"no-such-server", "not found"}},
		"no file":       {[]string{"/nowhere/server"}, false, []string{"no such file"}},
		"exits at once": {mode("broken"), false, []string{"exit status 3", "cannot reach the database"}},
		"exits with 0":  {[]string{"sh", "-c", "echo usage: server"}, false, []string{"exit status 0", "usage: server"}},
		"never answers": {mode("mute"), false, late},
		"answers only a probe": {
			[]string{"sh", "-c", strings.Replace(serves(welcome), "printf '{\"jsonrpc\"", ": '{\"jsonrpc\"", 1)},
			false,
			late,
		},
		"reads nothing": {[]string{"sleep", "600"}, false, late},
		"closes stdout": {[]string{"sh", "-c", "exec >&-; sleep 600"}, false, []string{"closed its output"}},
		"only reads": {
			[]string{"sh", "-c", "exec >&-; while read -r line; do :; done"},
			false,
			[]string{"closed its output"},
		},
		"exits in a call": {mode("plain"), true, []string{"exit status 7", "out of memory"}},
		"its child stays": {mode("orphan"), true, []string{"exit status 7", "out of memory"}},
		"a long message": {
			[]string{"sh", "-c", `printf '{"jsonrpc":"2.0","id":1,"result":"'; head -c 100000000 /dev/zero | tr '\0' a`},
			false,
			[]string{"more than 16 MiB"},
		},
		"a session that it refuses": {
			[]string{"sh", "-c", serves(refusal)},
			false,
			[]string{"no license"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			start := timeout
			if slices.Equal(test.want, late) {
				start = 2 * time.Second
			}
			f := newFronted(t, start, test.argv...)
			err := f.connect()
			if test.starts {
				if err != nil {
					t.Fatal(err)
				}
				_, err = f.call("die", "{}")
			}
			if err == nil {
				t.Fatal("the agent was not told")
			}
			reasons := f.reasons() // the worker knows before the agent does
			if len(reasons) != 1 {
				t.Fatalf("the reports are %q", reasons)
			}
			for _, want := range test.want {
				if !strings.Contains(err.Error(), want) || !strings.Contains(reasons[0], want) {
					t.Errorf("the agent got %q, and the worker %q; want %q", err, reasons[0], want)
				}
			}
			if !strings.Contains(err.Error(), `"my server"`) && name != "a session that it refuses" {
				t.Errorf("the agent got %q, without the server's name", err)
			}
			_ = f.in.Close()
			_ = f.end()
		})
	}
}

// What a server prints does not count against it, however long it is.
func TestAFrontSkipsALongLine(t *testing.T) {
	t.Parallel()
	f := newFronted(t, timeout, "sh", "-c", "head -c 100000000 /dev/zero | tr '\\0' =; echo; "+serves(welcome))
	if err := f.connect(); err != nil {
		t.Errorf("the session does not start: %v; %q", err, f.reasons())
	}
}

// A server that writes much to its standard error, which no agent reads, is not stopped by that.
func TestAFrontDoesNotWaitForItsLogToBeRead(t *testing.T) {
	t.Parallel()
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	defer write.Close()
	in, toFront := io.Pipe()
	fromFront, out := io.Pipe()
	front := newFront(&front{
		env: os.Environ(), name: "s", start: timeout, lingerFor: lingerTime, close: closeTime, in: in, out: out, err: write,
	})
	done := make(chan error, 1)
	go func() {
		done <- front.run(t.Context(), []string{"sh", "-c", "head -c 300000 /dev/zero | tr '\\0' e >&2; " + serves(welcome)})
		_ = out.Close()
	}()
	f := &fronted{t: t, in: toFront, lines: fromFront}
	if err := f.connect(); err != nil {
		t.Error(err)
	}
	_ = toFront.Close()
	_ = fromFront.Close()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// An agent that gives up sooner than the front is a server that did not start. An agent that ends is not.
func TestAFrontWhoseAgentEnds(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		argv     []string
		say      string
		reported bool
	}{
		"it gives up":     {mode("mute"), initialize, true},
		"it asks nothing": {mode("mute"), "", false},
		"after a session": {[]string{"sh", "-c", serves(welcome) + "exit 1"}, initialize, false},
	} {
		for _, how := range []string{"closes", "signals"} {
			t.Run(name+", "+how, func(t *testing.T) {
				t.Parallel()
				f := newFronted(t, timeout, test.argv...)
				if test.say != "" {
					if _, err := io.WriteString(f.in, test.say); err != nil {
						t.Fatal(err)
					}
				}
				answer := make([]byte, 1)
				if !test.reported && test.say != "" {
					if _, err := io.ReadFull(f.lines, answer); err != nil {
						t.Fatal(err)
					}
				}
				if test.say != "" {
					<-f.front.asked
				}
				go func() { _, _ = io.Copy(io.Discard, f.lines) }()
				if how == "closes" {
					_ = f.in.Close()
				} else {
					f.stop()
				}
				err := f.end()
				if reasons := f.reasons(); (err != nil) != test.reported || (len(reasons) > 0) != test.reported {
					t.Errorf("the result is %v, the reports %q", err, reasons)
				}
			})
		}
	}
}

// Everything that a server has started ends with its front.
func TestAFrontEndsItsServer(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "pid")
	f := newFronted(t, timeout, mode("child:"+file)...)
	if err := f.connect(); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	child, err := strconv.Atoi(string(raw))
	if err != nil {
		t.Fatal(err)
	}
	f.stop()
	_ = f.end()
	eventually(t, "the server's child is gone", func() bool { return !alive(child) })
}
