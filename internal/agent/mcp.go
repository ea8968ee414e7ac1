package agent

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/net/http/httpproxy"

	"github.com/penstock-dev/penstock/internal/acp"
)

const (
	// startTime limits the time until an MCP server has listed its tools.
	startTime = time.Minute

	// callTime limits one call of an MCP tool.
	callTime = 10 * time.Minute

	// closeTime is how long an MCP server has to end by itself.
	closeTime = 2 * time.Second
)

// mcpServer is a connected MCP server.
type mcpServer struct {
	name    string
	session *mcp.ClientSession
	process *process // nil for a remote one
	tools   []tool
}

// startServer connects to a server and lists its tools.
func startServer(ctx context.Context, s *session, described acp.MCPServer, cwd string) (*mcpServer, error) {
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	m := &mcpServer{name: described.Name}
	var said output
	transport, err := m.transport(s, described, cwd, &said)
	if err != nil {
		return nil, err
	}
	client := mcp.NewClient(
		&mcp.Implementation{Name: "penstock-agent", Version: s.agent.cfg.Version},
		&mcp.ClientOptions{Capabilities: &mcp.ClientCapabilities{}},
	)
	m.session, err = client.Connect(ctx, transport, nil)
	if err == nil {
		err = m.listTools(ctx)
	}
	if err != nil {
		m.close()
		if stderr := strings.TrimSpace(said.String()); stderr != "" {
			return nil, fmt.Errorf("%w; it printed: %s", err, cut(clean(stderr), 2000))
		}
		return nil, err
	}
	return m, nil
}

func (m *mcpServer) transport(
	s *session, described acp.MCPServer, cwd string, stderr io.Writer,
) (mcp.Transport, error) {
	switch described.Type {
	case "", "stdio":
		return m.start(s, described, cwd, stderr)
	case "http":
		headers := http.Header{}
		for _, h := range described.Headers {
			headers.Add(h.Name, h.Value)
		}
		return &mcp.StreamableClientTransport{
			Endpoint:             described.URL,
			HTTPClient:           remoteClient(s.env, headers),
			DisableStandaloneSSE: true,
		}, nil
	}
	return nil, fmt.Errorf("servers of type %q are not supported", described.Type)
}

// start runs a stdio server in a process group of its own, so that everything that it starts ends
// with it.
func (m *mcpServer) start(s *session, described acp.MCPServer, cwd string, stderr io.Writer) (mcp.Transport, error) {
	env := slices.Clone(s.env)
	for _, v := range described.Env {
		env = append(env, v.Name+"="+v.Value)
	}
	program, err := lookPath(described.Command, cwd, env)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(program, described.Args...) //nolint:noctx // it lives as long as the session; close ends it
	cmd.Args[0] = described.Command
	cmd.Dir, cmd.Env, cmd.Stderr = cwd, env, stderr
	cmd.SysProcAttr = childAttr()
	cmd.WaitDelay = drainFor
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p := startProcess(cmd)
	if p.err != nil {
		return nil, p.err
	}
	m.process = p
	return &mcp.IOTransport{Reader: out, Writer: in}, nil
}

// remoteClient adds the headers, which may contain secrets, only to requests to the server itself.
// It follows no redirects. A sealed session has its proxy and its certificates in env, which is not
// the environment of this process.
func remoteClient(env []string, headers http.Header) *http.Client {
	variables := map[string]string{}
	for _, entry := range env {
		name, value, _ := strings.Cut(entry, "=")
		variables[name] = value
	}
	transport := &http.Transport{ForceAttemptHTTP2: true, TLSHandshakeTimeout: startTime}
	proxy := httpproxy.Config{
		HTTPProxy:  cmp.Or(variables["http_proxy"], variables["HTTP_PROXY"]),
		HTTPSProxy: cmp.Or(variables["https_proxy"], variables["HTTPS_PROXY"]),
		NoProxy:    cmp.Or(variables["no_proxy"], variables["NO_PROXY"]),
	}
	find := proxy.ProxyFunc()
	transport.Proxy = func(r *http.Request) (*url.URL, error) { return find(r.URL) }
	if bundle, err := os.ReadFile(variables["SSL_CERT_FILE"]); err == nil {
		roots := x509.NewCertPool()
		roots.AppendCertsFromPEM(bundle)
		transport.TLSClientConfig = &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
	}
	return &http.Client{
		Transport:     headerTransport{transport, headers},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

type headerTransport struct {
	next    http.RoundTripper
	headers http.Header
}

func (t headerTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	maps.Copy(r.Header, t.headers)
	return t.next.RoundTrip(r)
}

// close ends the server and everything that it has started.
func (m *mcpServer) close() {
	if m.session != nil {
		// Nothing can be done if closing fails.
		_ = m.session.Close()
	}
	if m.process == nil {
		return
	}
	select {
	case <-m.process.exited:
	case <-time.After(closeTime):
	}
	m.process.kill()
	m.process.reap()
}

func (m *mcpServer) listTools(ctx context.Context) error {
	if m.session.InitializeResult().Capabilities.Tools == nil {
		return nil
	}
	for t, err := range m.session.Tools(ctx, nil) {
		if err != nil {
			return fmt.Errorf("list its tools: %w", err)
		}
		m.tools = append(m.tools, tool{
			name: mcpToolName(m.name, t.Name), public: toolCallMCP, kind: acp.ToolOther,
			description: t.Description, schema: objectSchema(t.InputSchema), prepare: m.prepare(t.Name),
		})
	}
	return nil
}

// objectSchema returns a tool's schema. Providers require the schema of an object.
func objectSchema(schema any) json.RawMessage {
	object, ok := schema.(map[string]any)
	if !ok || object["type"] != "object" {
		return json.RawMessage(`{"type":"object"}`)
	}
	return mustJSON(object)
}

// mcpToolName returns the name of a tool for the model, with characters and a length that every
// provider accepts.
func mcpToolName(server, tool string) string {
	const most = 64
	name := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-' {
			return r
		}
		return '_'
	}, "mcp__"+server+"__"+tool)
	if len(name) <= most {
		return name
	}
	h := fnv.New32a()
	h.Write([]byte(name))
	return fmt.Sprintf("%s_%08x", name[:most-9], h.Sum32())
}

// shownCall is the report of a call to the client.
type shownCall struct {
	Server    string          `json:"server"`
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments"`
}

func (m *mcpServer) prepare(name string) func(*session, json.RawMessage) (prepared, error) {
	return func(_ *session, input json.RawMessage) (prepared, error) {
		return prepared{
			title: m.name + ": " + name,
			shown: mustJSON(shownCall{m.name, name, input}),
			run: func(ctx context.Context, _ *call) (result, error) {
				return m.call(ctx, name, input)
			},
		}, nil
	}
}

func (m *mcpServer) call(ctx context.Context, name string, input json.RawMessage) (result, error) {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	response, err := m.session.CallTool(ctx, &mcp.CallToolParams{Name: name, Arguments: input})
	if errors.Is(err, context.DeadlineExceeded) {
		return result{}, fmt.Errorf("the MCP server did not respond within %s", callTime)
	}
	if err != nil {
		return result{}, err
	}
	return result{text: cut(contentText(response), maxReadBytes), failed: response.IsError}, nil
}

// contentText returns a result as text. It names parts that are not text.
func contentText(response *mcp.CallToolResult) string {
	var texts []string
	for _, c := range response.Content {
		switch c := c.(type) {
		case *mcp.TextContent:
			texts = append(texts, c.Text)
		case *mcp.EmbeddedResource:
			if c.Resource != nil && c.Resource.Text != "" {
				texts = append(texts, c.Resource.Text)
			} else {
				texts = append(texts, "[a binary resource was left out]")
			}
		case *mcp.ResourceLink:
			texts = append(texts, "[resource "+c.URI+"]")
		default:
			texts = append(texts, fmt.Sprintf("[%T was left out]", c))
		}
	}
	if len(texts) == 0 && response.StructuredContent != nil {
		if raw, err := json.Marshal(response.StructuredContent); err == nil {
			texts = append(texts, string(raw))
		}
	}
	return strings.Join(texts, "\n")
}
