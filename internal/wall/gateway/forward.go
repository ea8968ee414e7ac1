package gateway

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptrace"
	"net/http/httputil"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/penstock-dev/penstock"
)

// newProxy creates the proxy of all sessions. The data of a request is in its context.
func (g *Gateway) newProxy() *httputil.ReverseProxy {
	return &httputil.ReverseProxy{
		Transport:      g.transport,
		Rewrite:        rewrite,
		FlushInterval:  -1,
		ModifyResponse: onResponse,
		ErrorHandler:   g.failed,
		ErrorLog:       slog.NewLogLogger(g.log.Handler(), slog.LevelDebug),
		BufferPool:     &buffers{},
	}
}

// forward sends a call, passes its response on and settles it.
func (s *Session) forward(w http.ResponseWriter, r *http.Request, c *activeCall) {
	c.body = apply(c.body, c.checked.edits)
	c.RequestBytes = int64(len(c.body))
	var sent atomic.Bool
	trace := &httptrace.ClientTrace{WroteHeaders: func() { sent.Store(true) }}
	ctx, end := c.upstream(r.Context())
	defer end()
	defer func() { // also if the proxy panics to cut the agent's connection
		c.Sent = c.Status != 0 || sent.Load()
		c.settle()
	}()
	c.begun = time.Now()
	s.g.proxy.ServeHTTP(w, r.WithContext(httptrace.WithClientTrace(ctx, trace)))
}

func callOf(r *http.Request) *activeCall {
	c, _ := r.Context().Value(callKey{}).(*activeCall)
	return c
}

// forwardedHeaders are the headers of requests that reach a provider: the content of the request, what
// the vendors' SDKs and the agents say about themselves, and what a call needs. Any other header may
// choose a model, an account, an address or how the body is read.
var forwardedHeaders = []string{
	"Accept", "Content-Length", "Content-Type", "User-Agent", "Idempotency-Key",
	"Anthropic-Beta", "Anthropic-Version", "Anthropic-Dangerous-Direct-Browser-Access", "X-App", "X-Client-App",
	"X-Claude-Code-Session-Id", "X-Claude-Code-Agent-Id", "X-Claude-Code-Parent-Agent-Id",
	"Openai-Beta", "Originator", "Version", "Session-Id", "Session_id", "Conversation_id", "Thread-Id",
	"X-Client-Request-Id",
	"X-Codex-Beta-Features", "X-Codex-Installation-Id", "X-Codex-Turn-Metadata", "X-Codex-Turn-State", "X-Codex-Window-Id",
	"X-Codex-Parent-Thread-Id", "X-Openai-Subagent", "X-Openai-Internal-Codex-Responses-Lite",
	"X-Responsesapi-Include-Timing-Metrics",
	"X-Goog-Api-Client",
	"X-Dashscope-Authtype", "X-Dashscope-Cachecontrol", "X-Dashscope-Useragent",
	"X-Session-Affinity", "X-Session-Id", "X-Parent-Session-Id", "Http-Referer", "X-Title",
}

// stainless begins the headers in which OpenAI's and Anthropic's SDKs describe themselves.
const stainless = "X-Stainless-"

func rewrite(r *httputil.ProxyRequest) {
	c := callOf(r.In)
	out := r.Out
	out.URL, out.Host = c.target, ""
	out.Trailer, out.TransferEncoding = nil, nil
	c.cleanHeader(out.Header)
	out.Body, out.ContentLength, out.GetBody = http.NoBody, 0, nil
	if c.body != nil {
		out.Body, out.ContentLength = &sentBody{data: c.body}, int64(len(c.body))
		out.Header.Set("Content-Length", strconv.Itoa(len(c.body)))
		c.body = nil
	}
}

// cleanHeader turns the header of an agent's request into the header of a request to the provider.
func (c *activeCall) cleanHeader(h http.Header) {
	for name := range h {
		if !strings.HasPrefix(name, stainless) && !slices.Contains(forwardedHeaders, name) {
			delete(h, name)
		}
	}
	c.u.authorize(h, c.key(), c.runKey())
	h.Set("Accept-Encoding", "identity")
}

// sentBody releases a body once it was sent: the request lives as long as its response, and a long
// stream must not keep a large prompt in memory.
type sentBody struct {
	mu   sync.Mutex
	data []byte
}

// Read implements io.Reader.
func (b *sentBody) Read(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.data) == 0 {
		b.data = nil
		return 0, io.EOF
	}
	n := copy(p, b.data)
	b.data = b.data[n:]
	return n, nil
}

// Close implements io.Closer.
func (b *sentBody) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.data = nil
	return nil
}

var errRedirect = errors.New("the provider redirects")

// onResponse is called with the header of a response.
func onResponse(res *http.Response) error {
	c := callOf(res.Request)
	c.Status = res.StatusCode
	switch {
	case res.StatusCode == http.StatusSwitchingProtocols:
		return errors.New("the provider switched protocols")
	case res.StatusCode >= 300 && res.StatusCode < 400 && res.Header.Get("Location") != "":
		return errRedirect
	}
	if res.StatusCode >= 400 {
		if compressed(res) { // the key must be found
			if err := decode(res); err != nil {
				return fmt.Errorf("read an error of provider %s: %w", c.u.Name, err)
			}
		}
		if err := c.readProblem(res); err != nil {
			return err
		}
	}
	c.responded(res.StatusCode >= 400)
	c.reader = newReader(c, res)
	c.reader.cut = func() {
		c.Problem = string(c.clean([]byte(c.reader.tally.problem)))
		c.responded(true)
	}
	res.Body = c.reader
	if c.reader.hiding {
		res.Header.Del("Content-Length")
		res.ContentLength = -1
	}
	return nil
}

// clean removes the provider's secrets from a text: some servers quote them.
func (c *activeCall) clean(text []byte) []byte {
	for _, value := range c.u.secrets(c.key()) {
		text = bytes.ReplaceAll(text, []byte(value), []byte("***"))
	}
	return text
}

// readProblem reads the body of an error, and cleans it.
func (c *activeCall) readProblem(res *http.Response) error {
	const most = 1 << 20
	body, err := io.ReadAll(io.LimitReader(res.Body, most))
	if err != nil {
		return fmt.Errorf("read an error of provider %s: %w", c.u.Name, err)
	}
	length := len(body)
	body = c.clean(body)
	c.Problem, c.ownError = penstock.ErrorText(res.Header.Get("Content-Type"), body), isOwnError(res.StatusCode, body)
	if wait := penstock.RetryAfter(res.Header.Get("Retry-After"), res.Header.Get("Date"), time.Now()); wait > 0 {
		c.RetryAfter = time.Now().Add(wait)
	}
	rest := res.Body
	res.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(body), rest), rest}
	if changed := length - len(body); changed != 0 && res.ContentLength >= 0 {
		res.ContentLength -= int64(changed)
		res.Header.Set("Content-Length", strconv.FormatInt(res.ContentLength, 10))
	}
	return nil
}

// failed responds if no response came.
func (g *Gateway) failed(w http.ResponseWriter, r *http.Request, err error) {
	c := callOf(r)
	c.cut = c.gone()
	if r.Context().Err() != nil { // the agent has hung up, or the execution has ended
		panic(http.ErrAbortHandler)
	}
	message := c.u.unreachable(err)
	if errors.Is(err, errRedirect) {
		message = fmt.Sprintf("Provider %s redirects to another address, which the gateway does not follow. Set %s to its "+
			"final address.", c.u.Name, c.u.setting())
	}
	c.Problem = message
	c.responded(true)
	g.log.LogAttrs(r.Context(), slog.LevelWarn, "model provider unreachable", slog.String("provider", c.u.Name),
		slog.String("host", c.u.base.Host), slog.String("error", withoutURL(err)))
	writeError(w, c.u.API, http.StatusBadGateway, message, "")
}

func withoutURL(err error) string {
	if e, ok := errors.AsType[*url.Error](err); ok {
		err = e.Err
	}
	return err.Error()
}

// settle reports a call that has ended.
func (c *activeCall) settle() {
	c.Ended = time.Now()
	if c.reader != nil {
		c.ResponseBytes, c.OutputBytes = c.reader.bytes, c.reader.outputBytes()
		c.Complete = c.reader.complete()
		c.ResponseModel = c.reader.tally.model
		c.Usage = c.reader.tally.total()
		if c.Complete && c.reader.tally.stale {
			c.Usage = nil
		}
		c.cut = c.Status < 400 && c.reader.cutByUs()
	}
	if !c.Operation.Generates() || !c.Sent || c.rejected() {
		c.Usage = &Usage{}
	}
	if c.reservation != nil {
		c.s.settle(c.settlement(), true)
	}
	if c.s.opts.Settled != nil {
		c.s.opts.Settled(c.Call)
	}
}

// buffers are shared by the streams. One is as large as a provider's usual flush.
type buffers struct{ pool sync.Pool }

const bufferSize = 16 << 10

// Get implements httputil.BufferPool.
func (b *buffers) Get() []byte {
	if p, ok := b.pool.Get().(*[bufferSize]byte); ok {
		return p[:]
	}
	return make([]byte, bufferSize)
}

// Put implements httputil.BufferPool.
func (b *buffers) Put(p []byte) { b.pool.Put((*[bufferSize]byte)(p)) }
