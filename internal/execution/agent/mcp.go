package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/penstock-dev/penstock/internal/execution/acp"
)

const (
	// startTime limits the time until an MCP server has listed its tools. All servers of a session start
	// at the same time.
	startTime = time.Minute

	// legacyTime limits the first attempt at a server whose URL ends in /sse. Some servers with the
	// transport HTTP+SSE never respond to it.
	legacyTime = 10 * time.Second

	// callTime limits one call of an MCP tool.
	callTime = 10 * time.Minute

	// closeTime is how long an MCP server has to end by itself.
	closeTime = 2 * time.Second

	// maxConnects limits how often a session connects to one server without a call that succeeds, so that
	// it does not restart a broken one for ever.
	maxConnects = 5

	// maxNoise limits how many lines of a server that are no messages are logged.
	maxNoise = 20
)

// mcpServer is an MCP server of a session. One that does not work stays in the session: a call of its
// tools connects to it again.
type mcpServer struct {
	described acp.MCPServer
	required  bool
	owner     *session
	cwd       string
	tools     []tool

	// The fields below change with the connection. Only the session's turn and its start use them.
	connects int
	client   *mcp.ClientSession // nil: not connected
	process  *process           // nil for a remote one
	remote   *remoteClient      // nil for a local one
	printed  *output            // what a local one wrote besides its messages
	release  context.CancelFunc // ends the connection
	problem  string             // why it does not work; "" if it does
}

// connect connects to the server and lists its tools.
func (m *mcpServer) connect(ctx context.Context) error {
	m.disconnect()
	if m.connects++; m.connects > maxConnects {
		return fmt.Errorf("it failed %d times, and is not started again", maxConnects)
	}
	limit := m.owner.agent.cfg.ServerStart
	if m.described.Type != "http" {
		return m.attempt(ctx, limit, m.start)
	}
	at, err := url.Parse(m.described.URL)
	if err != nil || at.Host == "" {
		return errors.New("its URL is not valid")
	}
	headers := http.Header{}
	for _, h := range m.described.Headers {
		headers.Add(h.Name, h.Value)
	}
	m.remote = newRemoteClient(m.owner.env, at, headers)
	sse := strings.HasSuffix(strings.TrimRight(at.Path, "/"), "/sse")
	first := limit
	if sse {
		first = min(limit, legacyTime)
	}
	err = m.attempt(ctx, first, func() (mcp.Transport, error) {
		return &mcp.StreamableClientTransport{
			Endpoint: m.described.URL, HTTPClient: &m.remote.Client, DisableStandaloneSSE: true,
		}, nil
	})
	if err == nil || ctx.Err() != nil || !sse && !m.remote.old() {
		return m.remote.explain(err)
	}
	err = m.remote.explain(err)
	m.remote = newRemoteClient(m.owner.env, at, headers)
	legacy := m.attempt(ctx, limit, func() (mcp.Transport, error) {
		return &mcp.SSEClientTransport{Endpoint: m.described.URL, HTTPClient: &m.remote.Client}, nil
	})
	switch {
	case legacy == nil:
		return nil
	case m.remote.strayed():
		return errOtherHost
	}
	return err
}

// attempt connects through one transport. The connection lives until release, and not only as long as
// ctx, because one transport uses the context of its beginning for all of it.
func (m *mcpServer) attempt(ctx context.Context, limit time.Duration, open func() (mcp.Transport, error)) error {
	life, end := context.WithCancelCause(context.WithoutCancel(ctx))
	m.release = func() { end(context.Canceled) }
	stop := context.AfterFunc(ctx, func() { end(context.Cause(ctx)) })
	defer stop()
	late := time.AfterFunc(limit, func() { end(fmt.Errorf("it was not ready within %s", limit)) })
	defer late.Stop()
	transport, err := open()
	if err == nil {
		client := mcp.NewClient(
			&mcp.Implementation{Name: "penstock-agent", Version: m.owner.agent.cfg.Version},
			&mcp.ClientOptions{Capabilities: &mcp.ClientCapabilities{}},
		)
		m.client, err = client.Connect(life, transport, nil)
	}
	if err == nil {
		err = m.listTools(life)
	}
	if err != nil {
		p, printed := m.process, m.printed
		ended := life.Err() == nil && m.ended()
		if life.Err() != nil {
			err = context.Cause(life)
		}
		m.disconnect()
		return withOutput(err, ended, p, printed)
	}
	m.problem = ""
	return nil
}

// ended reports whether a local server has ended by itself. The end of its output comes a little before.
func (m *mcpServer) ended() bool { return m.process != nil && m.process.endsWithin(drainFor) }

// withOutput adds to an error how a local server ended, and what it printed. The process is reaped.
func withOutput(err error, ended bool, p *process, printed *output) error {
	if p == nil {
		return err
	}
	if ended {
		err = fmt.Errorf("it ended (%s)", p.cmd.ProcessState)
	}
	if text := strings.TrimSpace(printed.String()); text != "" {
		const most = 2000
		return fmt.Errorf("%w; it printed: %s", err, cut(clean(text), most))
	}
	return err
}

// start runs a stdio server in a process group of its own, so that everything that it starts ends
// with it.
func (m *mcpServer) start() (mcp.Transport, error) {
	if kind := m.described.Type; kind != "" && kind != "stdio" {
		return nil, fmt.Errorf("servers of type %q are not supported", kind)
	}
	env := slices.Clone(m.owner.env)
	for _, v := range m.described.Env {
		env = append(env, v.Name+"="+v.Value)
	}
	program, err := lookPath(m.described.Command, m.cwd, env)
	if err != nil {
		return nil, err
	}
	m.printed = &output{}
	cmd := exec.Command(program, m.described.Args...) //nolint:noctx // it lives as long as the session; disconnect ends it
	cmd.Args[0] = m.described.Command
	cmd.Dir, cmd.Env, cmd.Stderr = m.cwd, env, m.printed
	p, in, out, err := startServer(cmd)
	if err != nil {
		return nil, err
	}
	m.process = p
	noise := logNoise(m.owner.agent.cfg.Log, m.described.Name, m.printed)
	return &mcp.IOTransport{Reader: NewMessageLines(out, noise), Writer: in}, nil
}

// startServer starts a stdio server in a process group of its own, and returns its standard input and
// output.
func startServer(cmd *exec.Cmd) (p *process, in io.WriteCloser, out io.ReadCloser, err error) {
	cmd.SysProcAttr = childAttr()
	cmd.WaitDelay = drainFor
	if in, err = cmd.StdinPipe(); err != nil {
		return nil, nil, nil, err
	}
	if out, err = cmd.StdoutPipe(); err != nil {
		return nil, nil, nil, err
	}
	p = startProcess(cmd)
	return p, in, out, p.err
}

// logNoise logs what a server prints to its standard output besides messages. printed keeps it.
func logNoise(log *slog.Logger, name string, printed *output) func(line []byte) {
	lines := 0
	return func(line []byte) {
		const most = 500
		_, _ = printed.Write(append(slices.Clone(line), '\n')) // keeps the end in memory
		if lines++; lines <= maxNoise {
			log.Warn("an MCP server wrote a line that is no message; it was skipped",
				"server", name, "line", cut(clean(string(line)), most))
		}
	}
}

// disconnect ends the connection, and a local server with everything that it has started.
func (m *mcpServer) disconnect() {
	if m.client != nil {
		m.hangUp()
	}
	if m.release != nil {
		m.release()
	}
	if p := m.process; p != nil {
		p.endsWithin(closeTime)
		p.kill()
		p.reap()
	}
	m.client, m.process, m.release = nil, nil, nil
}

// hangUp ends the session at the server, without waiting for a server that hangs.
func (m *mcpServer) hangUp() {
	closed := make(chan struct{})
	client := m.client
	go func() {
		defer close(closed)
		_ = client.Close() // nothing can be done if closing fails
	}()
	select {
	case <-closed:
	case <-time.After(closeTime):
	}
}

// listTools reads the tools of a server. The tools of an earlier connection stay, because the model
// knows them.
func (m *mcpServer) listTools(ctx context.Context) error {
	if m.client.InitializeResult().Capabilities.Tools == nil {
		return nil
	}
	var tools []tool
	for t, err := range m.client.Tools(ctx, nil) {
		if err != nil {
			return fmt.Errorf("list its tools: %w", err)
		}
		tools = append(tools, tool{
			name: mcpToolName(m.described.Name, t.Name), public: toolCallMCP, kind: acp.ToolOther,
			description: t.Description, schema: objectSchema(t.InputSchema), prepare: m.prepare(t.Name),
		})
	}
	if m.tools == nil {
		m.tools = tools
	}
	return nil
}
