package agent

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/penstock-dev/penstock/internal/execution/acp"
)

const (
	// codeServerFailed is the code of the errors that the front returns for its server: one of those that
	// JSON-RPC leaves to implementations.
	codeServerFailed = -32000

	// methodInitialize begins a session. An agent may have asked something else before, to find out
	// whether the server knows a newer protocol, in which there are no sessions.
	methodInitialize = "initialize"

	// askedWithin is how long the front of a server that does not start waits for a request to answer.
	askedWithin = 10 * time.Second

	// lingerTime is how close together a server and its agent end if one may be the cause of the
	// other. Some agents kill a front half a second after they have asked it to end.
	lingerTime = 300 * time.Millisecond

	// maxFrontLog limits what a front and its server write to the standard error, in bytes. A pipe holds
	// as much, so an agent that does not read it does not stop the server.
	maxFrontLog = 32 << 10
)

// front stands between an agent that is not ours and a stdio MCP server. It forwards only messages. If
// the server does not work, it writes that to a file for the worker, answers the agent's requests with
// the reason, and ends.
type front struct {
	name      string // of the server
	report    string // file for the worker; "": none
	env       []string
	start     time.Duration // startTime
	lingerFor time.Duration // lingerTime
	close     time.Duration // closeTime
	in        io.ReadCloser // the agent's messages
	out       io.Writer     // messages for the agent
	err       io.Writer     // for what is no message

	printed output
	left    chan struct{} // closed when the agent has closed in
	asked   chan struct{} // closed at the agent's first request

	mu      sync.Mutex // guards the fields below, and writes to out
	pending map[jsonrpc.ID]string
	since   time.Time // of the first request
	ready   bool      // the server has started: it has answered one
	problem error     // why the server does not work
}

// Front is the hidden command that a worker puts before the stdio MCP servers of other agents. Its
// arguments are the name of the server, the file for reports, and the server's command line. The server
// gets env, which is the environment of this process. It returns the exit code.
func Front(args, env []string) int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	defer stop()
	// A write to an agent that is gone would end this process before it has ended the server. A write to a
	// server that is gone is the same signal, so it says nothing about the agent.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	if len(args) < 3 {
		return 1
	}
	f := newFront(&front{
		name: args[0], report: args[1], env: env, start: startTime, lingerFor: lingerTime, close: closeTime,
		in: os.Stdin, out: os.Stdout, err: os.Stderr,
	})
	if f.run(ctx, args[2:]) != nil {
		return 1
	}
	return 0
}

// newFront completes a front, of which the fields above printed are set.
func newFront(f *front) *front {
	f.left, f.asked, f.pending = make(chan struct{}), make(chan struct{}), map[jsonrpc.ID]string{}
	f.err = &firstBytes{w: f.err, left: maxFrontLog}
	return f
}

// run serves the agent until it ends the connection, ctx ends, or the server does not work, which is the
// error.
func (f *front) run(ctx context.Context, argv []string) error {
	err := f.serve(ctx, argv)
	if err == nil {
		return nil
	}
	select {
	case <-f.asked:
		f.linger(ctx, f.close) // an agent may see the end of the connection before the answer
	default:
		f.linger(ctx, askedWithin)
	}
	return err
}

// linger answers the agent until it ends the connection, for a limited time.
func (f *front) linger(ctx context.Context, limit time.Duration) {
	select {
	case <-f.left:
	case <-ctx.Done():
	case <-time.After(limit):
	}
}

// serve runs the server. It returns nil if the agent ended first. Otherwise the server does not work,
// which the worker and the agent know when it returns.
func (f *front) serve(ctx context.Context, argv []string) error {
	p, in, out, err := f.startServer(argv)
	if err != nil {
		go func() { _ = f.fromAgent(io.Discard) }()
		return f.fail(err)
	}
	log := slog.New(slog.NewTextHandler(f.err, nil))
	ended, sent := make(chan error, 1), make(chan error, 1)
	go func() { ended <- f.fromServer(NewMessageLines(out, logNoise(log, f.name, &f.printed))) }()
	go func() { sent <- f.fromAgent(in) }()
	err = f.wait(ctx, p, ended, sent)
	over := errors.Is(err, io.EOF)
	if over && p.endsWithin(f.close) {
		p.kill() // what it has started
		p.reap()
		return f.fail(f.endOf(ctx, p))
	}
	if over {
		err = errors.New("it closed its output")
	}
	if err != nil { // before the end of the server, which takes longer than some agents let us live
		err = f.fail(withOutput(err, false, p, &f.printed))
	}
	_ = in.Close()
	p.endsWithin(f.close)
	p.kill()
	p.reap()
	return err
}

func (f *front) startServer(argv []string) (p *process, in io.WriteCloser, out io.ReadCloser, err error) {
	program, err := lookPath(argv[0], ".", f.env)
	if err != nil {
		return nil, nil, nil, err
	}
	cmd := exec.Command(program, argv[1:]...) //nolint:noctx // serve ends it, with its whole group
	cmd.Args[0] = argv[0]
	cmd.Env, cmd.Stderr = f.env, io.MultiWriter(&f.printed, f.err)
	return startServer(cmd)
}

// wait returns when the connection is over: nil if the agent ended it, io.EOF if the server did.
func (f *front) wait(ctx context.Context, p *process, ended, sent <-chan error) error {
	asked, exited := f.asked, p.exited
	var late, drained <-chan time.Time
	for {
		select {
		case err := <-ended:
			return err
		case err := <-sent:
			if errors.Is(err, errLongMessage) {
				return errors.New("the agent sent it a message of more than 16 MiB")
			}
			return f.afterAgent(p, ended)
		case <-ctx.Done():
			return f.afterAgent(p, ended)
		case <-asked:
			asked, late = nil, time.After(f.start)
		case <-late:
			if f.unanswered() != nil {
				return fmt.Errorf("it did not respond within %s", f.start)
			}
			late = nil
		case <-exited: // a child may keep its output open
			exited, drained = nil, time.After(drainFor)
		case <-drained:
			return io.EOF
		}
	}
}

// afterAgent returns the result of wait for an agent that has left. If the server ends now, it may have
// ended first, and the agent may have left because of that. The server's input is still open, so the
// agent's end is not the cause.
func (f *front) afterAgent(p *process, ended <-chan error) error {
	gaveUp := f.unanswered()
	if f.idle() {
		return nil
	}
	select {
	case err := <-ended:
		return err
	case <-p.exited: // a child may keep its output open
		return io.EOF
	case <-time.After(f.lingerFor):
		return gaveUp
	}
}

// endOf returns why the connection is over, for a server that ended by itself and is reaped: nil if the
// agent ended it. Some agents end all processes below a front before they leave it.
func (f *front) endOf(ctx context.Context, p *process) error {
	status, _ := p.cmd.ProcessState.Sys().(syscall.WaitStatus)
	killed := status.Signaled() && (status.Signal() == syscall.SIGTERM || status.Signal() == syscall.SIGKILL)
	gaveUp := f.unanswered()
	if f.idle() || killed {
		f.linger(ctx, f.lingerFor)
		if ctx.Err() != nil || closed(f.left) {
			return gaveUp
		}
	}
	return withOutput(io.EOF, true, p, &f.printed)
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// idle reports whether the server has started and has no requests to answer.
func (f *front) idle() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.ready && len(f.pending) == 0
}

// unanswered returns an error if the agent has asked the server something, and it has not started.
func (f *front) unanswered() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ready || f.since.IsZero() {
		return nil
	}
	return fmt.Errorf("it had not responded after %s, when the agent gave up", time.Since(f.since).Round(time.Millisecond))
}

// fromServer forwards the messages of the server until its output ends.
func (f *front) fromServer(lines io.Reader) error {
	messages := bufio.NewReader(lines)
	for {
		line, err := messages.ReadBytes('\n')
		if err != nil {
			return err
		}
		f.response(line)
	}
}

// response forwards a message of the server.
func (f *front) response(line []byte) {
	m, err := jsonrpc.DecodeMessage(line)
	r, ok := m.(*jsonrpc.Response)
	f.mu.Lock()
	defer f.mu.Unlock()
	if err == nil && ok {
		method, asked := f.pending[r.ID]
		if method == methodInitialize && r.Error != nil {
			f.tell(fmt.Errorf("it does not start a session: %w", r.Error))
		}
		f.ready = f.ready || asked && (r.Error == nil || method == methodInitialize)
		delete(f.pending, r.ID)
	}
	if f.problem == nil {
		_, _ = f.out.Write(line) // fails if the agent is gone, which fromAgent sees
	}
}

// fromAgent forwards the agent's messages until it ends the connection or sends too much. If the server
// does not work, it answers them.
func (f *front) fromAgent(server io.Writer) error {
	lines := NewMessageLines(f.in, func(line []byte) {
		fmt.Fprintf(f.err, "the agent wrote a line of %d bytes that is no message; it was skipped\n", len(line))
	})
	messages := bufio.NewReader(lines)
	for {
		line, err := messages.ReadBytes('\n')
		if err != nil {
			if !errors.Is(err, errLongMessage) {
				close(f.left)
			}
			return err
		}
		if f.request(line) == nil {
			_, _ = server.Write(line) // fails if the server has ended, which wait sees
		}
	}
}

// request remembers a request of the agent. It returns an error if the server does not work.
func (f *front) request(line []byte) error {
	m, err := jsonrpc.DecodeMessage(line)
	r, ok := m.(*jsonrpc.Request)
	if err != nil || !ok || !r.IsCall() {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.pending[r.ID] = r.Method
	if f.problem != nil {
		f.answer()
	}
	if f.since.IsZero() {
		f.since = time.Now()
		close(f.asked)
	}
	return f.problem
}

// fail reports that the server does not work, and then answers the agent's requests, so that the worker
// knows before the agent does. It returns the reason. Without one, it does nothing.
func (f *front) fail(reason error) error {
	if reason == nil {
		return nil
	}
	f.tell(reason)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.problem = reason
	f.answer()
	return reason
}

// answer responds to all requests with the problem. The caller holds mu.
func (f *front) answer() {
	text := clean(fmt.Sprintf("the MCP server %q does not work: %s", f.name, f.problem))
	for id := range f.pending {
		line, err := jsonrpc.EncodeMessage(&jsonrpc.Response{
			ID: id, Error: &jsonrpc.Error{Code: codeServerFailed, Message: text},
		})
		if err == nil {
			_, _ = f.out.Write(append(line, '\n'))
		}
		delete(f.pending, id)
	}
}

// tell reports a server that does not work to the worker.
func (f *front) tell(reason error) {
	fmt.Fprintf(f.err, "the MCP server %q does not work: %s\n", f.name, reason)
	line, err := json.Marshal(acp.ServerFailure{Name: f.name, Reason: clean(reason.Error())})
	if err != nil || f.report == "" {
		return
	}
	file, err := os.OpenFile(f.report, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err == nil {
		_, err = file.Write(append(line, '\n'))
		err = errors.Join(err, file.Close())
	}
	if err != nil {
		fmt.Fprintf(f.err, "the worker does not know of it: %s\n", err)
	}
}

// firstBytes writes the first bytes that it gets.
type firstBytes struct {
	mu   sync.Mutex
	w    io.Writer
	left int
}

func (b *firstBytes) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := min(b.left, len(p))
	b.left -= n
	if n > 0 {
		_, _ = b.w.Write(p[:n])
	}
	return len(p), nil
}
