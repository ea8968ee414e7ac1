package egress

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/penstock-dev/penstock"
)

// exchange is one request on its way through the forwarder.
type exchange struct {
	target     target
	account    *account
	credential credential
	headers    http.Header // of an MCP server
	watch      *pullWatch  // nil if the request creates no pull request
}

// credential is the header that replaces the agent's. The zero value replaces nothing.
type credential struct {
	header, value string
}

type exchangeKey struct{}

func exchangeOf(ctx context.Context) *exchange {
	ex, ok := ctx.Value(exchangeKey{}).(*exchange)
	if !ok {
		panic("a request in the forwarder has no exchange")
	}
	return ex
}

// forwarder carries requests to hosts: it decides on each request, adds credentials, and streams the
// response.
type forwarder struct {
	policy      *Policy
	secrets     func(name string) (string, bool) // nil: no secret has a value
	pullRequest func(PullRequest)
	push        func(host string, port int, path string) http.Handler // nil: the policy decides
	ledger      *ledger
	dialer      *dialer
	carrier     *httputil.ReverseProxy // of an exchange
}

func newForwarder(o Options, l *ledger, d *dialer) *forwarder {
	f := &forwarder{
		policy: o.Policy, secrets: o.Secret, pullRequest: o.PullRequest, push: o.Push, ledger: l, dialer: d,
	}
	f.carrier = f.newCarrier(o.Log)
	return f
}

// close closes the kept connections to hosts. No request may be in progress.
func (f *forwarder) close() {
	if transport, ok := f.carrier.Transport.(*http.Transport); ok {
		transport.CloseIdleConnections()
	}
}

// serve decides on one request and forwards it.
func (f *forwarder) serve(w http.ResponseWriter, r *http.Request, t target) {
	path := r.URL.EscapedPath()
	if path == "" {
		path = "/"
	}
	if f.servePush(w, r, t) {
		return
	}
	d, secret := f.policy.decideRequest(t, r.Method, path)
	if next, push := announcesPush(r, path); push && d.Allowed {
		// git shows why the first request of a push is refused, but not the second.
		if second, _ := f.policy.decideRequest(t, http.MethodPost, next); !second.Allowed {
			d = second
		}
	}
	if !d.Allowed {
		f.refuse(w, t.host, t.port, http.StatusForbidden, d.Reason)
		return
	}
	if reason := f.checkUpgrade(r, t, path); reason != "" {
		f.refuse(w, t.host, t.port, http.StatusForbidden, fmt.Sprintf("%s is refused: %s.", t, reason))
		return
	}
	ex := &exchange{target: t}
	var err error
	if ex.credential, err = f.credentialFor(secret); err != nil {
		f.fail(w, t, err)
		return
	}
	if ex.headers, err = f.mcpHeaders(t, path); err != nil {
		f.fail(w, t, err)
		return
	}
	limits := f.policy.limitsOf(t, r.Method, path, secret, ex.headers)
	if reason := limits.override(r); reason != "" {
		f.refuse(w, t.host, t.port, http.StatusForbidden, fmt.Sprintf("%s is refused: %s.", t, reason))
		return
	}
	mode := ModeHTTP
	if t.secure {
		mode = ModeInspect
		ex.watch = watchPull(r, t, path)
	}
	if r.Body != nil && r.Body != http.NoBody {
		r.Body = clientBody{r.Body}
	}
	ex.account = f.ledger.begin(t, mode)
	if err := f.ledger.send(ex.account, headerSize(r)); err != nil {
		f.fail(w, t, err)
		return
	}
	f.carrier.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), exchangeKey{}, ex)))
}

// clientBody is the body of an agent's request. Its errors come from the agent.
type clientBody struct{ io.ReadCloser }

func (b clientBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if _, known := errors.AsType[*overrideError](err); err != nil && err != io.EOF && !known {
		err = &bodyError{err}
	}
	return n, err
}

// bodyError is the error of a body that cannot be read, such as one whose chunks have more than one
// meaning (RFC 9112 §7.1).
type bodyError struct{ err error }

func (e *bodyError) Error() string { return e.err.Error() }

// checkUpgrade returns the reason to refuse an upgrade. Only WebSocket is forwarded: with any other
// protocol the proxy could not read the requests. Without h2c, a client continues with HTTP/1.1
// (RFC 9110 §7.8).
func (f *forwarder) checkUpgrade(r *http.Request, t target, path string) string {
	protocol := r.Header.Get("Upgrade")
	if protocol == "" {
		return ""
	}
	if len(r.Header.Values("Upgrade")) > 1 || !strings.EqualFold(protocol, "websocket") {
		r.Header.Del("Upgrade")
		return ""
	}
	if !f.policy.unlimitedMethods(t, path) {
		return "a WebSocket sends data without a method, and the rules for this host limit the methods. " +
			"To allow it, add a rule for the host without methods"
	}
	return ""
}

// credentialFor returns the header of a rule's credential. Errors never contain the value.
func (f *forwarder) credentialFor(c *penstock.NetworkCredential) (credential, error) {
	if c == nil {
		return credential{}, nil
	}
	value, err := f.secret(c.Secret)
	if err != nil {
		return credential{}, fmt.Errorf("the credential of its rule: %w", err)
	}
	switch c.As {
	case penstock.CredentialBasic:
		user := c.User
		if user == "" {
			user = "x-access-token"
		}
		return credential{"Authorization", "Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+value))}, nil
	case penstock.CredentialBearer:
		return credential{"Authorization", "Bearer " + value}, nil
	}
	return credential{c.Header, value}, nil
}

// headerSize is about what the header of r has in bytes.
func headerSize(r *http.Request) int {
	size := len(r.Method) + len(r.RequestURI) + len(r.Host) + 30
	for name, values := range r.Header {
		for _, value := range values {
			size += len(name) + len(value) + 4
		}
	}
	return size
}

// newCarrier returns the handler that sends a request and streams its response. It never
// follows a redirect, and writes each request anew, so that the host reads the same request as
// the proxy did.
func (f *forwarder) newCarrier(log *slog.Logger) *httputil.ReverseProxy {
	return &httputil.ReverseProxy{
		Transport:      f.newTransport(),
		FlushInterval:  -1,
		ErrorLog:       slog.NewLogLogger(log.Handler(), slog.LevelDebug),
		Rewrite:        f.rewrite,
		ModifyResponse: f.receive,
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) {
			f.fail(w, exchangeOf(r.Context()).target, err)
		},
	}
}

// rewrite runs after the headers that Connection names have been removed: a client cannot have
// the credential removed by naming it there.
func (f *forwarder) rewrite(pr *httputil.ProxyRequest) {
	ex := exchangeOf(pr.Out.Context())
	pr.Out.URL.Scheme, pr.Out.URL.Host = ex.target.scheme(), net.JoinHostPort(ex.target.host, strconv.Itoa(ex.target.port))
	pr.Out.Host = ex.target.authority()
	pr.Out.URL.RawQuery, pr.Out.URL.ForceQuery = pr.In.URL.RawQuery, pr.In.URL.ForceQuery
	pr.Out.Trailer = nil
	for _, name := range []string{"Authorization", "Private-Token"} {
		if carriesPlaceholder(pr.Out.Header.Get(name)) {
			pr.Out.Header.Del(name)
		}
	}
	maps.Copy(pr.Out.Header, ex.headers)
	if ex.credential.header != "" {
		pr.Out.Header.Set(ex.credential.header, ex.credential.value)
	}
	if ex.watch != nil {
		pr.Out.Header.Set("Accept-Encoding", "identity")
	}
	if pr.Out.Body != nil && pr.Out.Body != http.NoBody {
		if ex.watch != nil {
			pr.Out.Body = ex.watch.request(pr.Out.Body)
		}
		pr.Out.Body = &upload{ReadCloser: pr.Out.Body, ledger: f.ledger, account: ex.account}
	}
}

func carriesPlaceholder(value string) bool {
	scheme, rest, _ := strings.Cut(value, " ")
	if strings.EqualFold(scheme, "basic") {
		if decoded, err := base64.StdEncoding.DecodeString(rest); err == nil {
			value = string(decoded)
		}
	}
	return strings.Contains(value, Placeholder)
}

func (f *forwarder) receive(response *http.Response) error {
	ex := exchangeOf(response.Request.Context())
	if response.StatusCode == http.StatusSwitchingProtocols {
		conn, ok := response.Body.(io.ReadWriteCloser)
		if !ok {
			return errors.New("the host switched protocols without a connection")
		}
		response.Body = &duplex{ReadWriteCloser: conn, ledger: f.ledger, account: ex.account}
		return nil
	}
	if ex.watch != nil {
		response.Body = ex.watch.response(response, f.pullRequest)
	}
	response.Body = &download{ReadCloser: response.Body, account: ex.account}
	return nil
}

func (f *forwarder) newTransport() *http.Transport {
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	transport := &http.Transport{
		Protocols: &protocols, DisableCompression: true,
		MaxIdleConns: idleUpstreams, MaxIdleConnsPerHost: 8, IdleConnTimeout: 90 * time.Second,
		ResponseHeaderTimeout: responseDelay, MaxResponseHeaderBytes: maxResponse, ExpectContinueTimeout: time.Second,
		DialContext: func(ctx context.Context, _, address string) (net.Conn, error) {
			if f.dialer.upstream != nil {
				return f.dialer.dialUpstream(ctx)
			}
			return f.dialer.dialAddress(ctx, address)
		},
		DialTLSContext: func(ctx context.Context, _, address string) (net.Conn, error) {
			conn, err := f.dialer.dialAddress(ctx, address)
			if err != nil {
				return nil, err
			}
			host, _, err := net.SplitHostPort(address)
			if err != nil {
				return nil, err
			}
			return handshake(ctx, conn, clientConfig(host, f.dialer.roots))
		},
	}
	if f.dialer.upstream != nil {
		// DialContext has done the TLS of an https proxy already.
		plain := &url.URL{Scheme: "http", User: f.dialer.upstream.User, Host: f.dialer.upstream.Host}
		transport.Proxy = func(r *http.Request) (*url.URL, error) {
			if r.URL.Scheme == "https" { // DialTLSContext goes through the proxy itself
				return nil, nil //nolint:nilnil // no proxy and no error, as http.Transport wants it
			}
			return plain, nil
		}
	}
	return transport
}

// refuse responds with one sentence and counts the refusal.
func (f *forwarder) refuse(w http.ResponseWriter, host string, port, status int, sentence string) {
	f.ledger.refuse(host, port, sentence)
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, sentence+"\n") //nolint:gosec // plain text with nosniff
}

// fail responds to a request that was allowed but could not be carried.
func (f *forwarder) fail(w http.ResponseWriter, t target, err error) {
	if limit := f.ledger.exhausted(); limit != nil {
		err = limit
	}
	var address *addressError
	var limit uploadError
	var override *overrideError
	if _, malformed := errors.AsType[*bodyError](err); malformed {
		f.refuse(w, t.host, t.port, http.StatusBadRequest, sentence(t, err))
		return
	}
	if errors.As(err, &address) || errors.As(err, &limit) || errors.As(err, &override) {
		f.refuse(w, t.host, t.port, http.StatusForbidden, sentence(t, err))
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(http.StatusBadGateway)
	_, _ = io.WriteString(w, sentence(t, err)+"\n") // the agent may have gone
}

func sentence(t target, err error) string {
	var address *addressError
	var limit uploadError
	var override *overrideError
	var body *bodyError
	switch {
	case errors.As(err, &override):
		return fmt.Sprintf("%s is refused: %s.", t, override)
	case errors.As(err, &body):
		return fmt.Sprintf("The request to %s is refused: its body is malformed: %s.", t, body)
	case errors.As(err, &address):
		return fmt.Sprintf("%s is refused: %s.", t, address)
	case errors.As(err, &limit):
		return fmt.Sprintf("%s is refused: %s.", t, limit)
	}
	return fmt.Sprintf("%s is allowed, but cannot be reached: %s.", t, err)
}
