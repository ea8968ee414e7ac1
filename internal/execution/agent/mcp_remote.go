package agent

import (
	"bytes"
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"

	"golang.org/x/net/http/httpproxy"

	"github.com/penstock-dev/penstock"
)

// remoteClient is the HTTP client for one remote MCP server. It sends the headers, which may contain
// secrets, only to the server itself, and follows no redirects.
type remoteClient struct {
	http.Client

	next    http.RoundTripper
	server  *url.URL
	headers http.Header

	mu      sync.Mutex
	problem string // of the latest response that was an error; "" if the latest was none
	status  int    // of that response
	stray   bool   // the server named an address of another host
	legacy  bool   // a POST was answered in the way of the transport HTTP+SSE
}

// newRemoteClient uses the proxy and certificates of a sealed session, which are in env and not in
// the environment of this process.
func newRemoteClient(env []string, server *url.URL, headers http.Header) *remoteClient {
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
	c := &remoteClient{next: transport, server: server, headers: headers}
	c.Transport = c
	c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return c
}

// errOtherHost is returned for a request to another host than the server's.
var errOtherHost = errors.New("the MCP server named an address of another host, which gets no requests")

// RoundTrip implements http.RoundTripper.
func (c *remoteClient) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Scheme != c.server.Scheme || r.URL.Host != c.server.Host { // the endpoint of HTTP+SSE may be any URL
		c.mu.Lock()
		defer c.mu.Unlock()
		c.stray = true
		return nil, errOtherHost
	}
	r = r.Clone(r.Context())
	maps.Copy(r.Header, c.headers)
	resp, err := c.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	if err := c.note(resp); err != nil {
		return nil, errors.Join(err, resp.Body.Close())
	}
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if r.Method == http.MethodPost && kind == "text/event-stream" {
		resp.Body = &firstEvent{ReadCloser: resp.Body, client: c}
	}
	return resp, nil
}

// note keeps what an error says, because the errors of the SDK have only the name of the status.
func (c *remoteClient) note(resp *http.Response) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.problem, c.status = "", 0
	if resp.StatusCode < 300 {
		return nil
	}
	const most = 64 << 10
	body, err := io.ReadAll(io.LimitReader(resp.Body, most))
	if err != nil {
		return err
	}
	rest := resp.Body
	resp.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(body), rest), rest}
	c.status = resp.StatusCode
	c.problem = fmt.Sprintf("it returned %d %s", resp.StatusCode, http.StatusText(resp.StatusCode))
	if text := penstock.ErrorText(resp.Header.Get("Content-Type"), body); text != "" {
		c.problem += ": " + text
	}
	switch {
	case resp.StatusCode == http.StatusUnauthorized:
		c.problem += ". It needs a header with a credential, such as Authorization: check the headers of this MCP server"
	case resp.StatusCode < 400:
		c.problem += ". Redirects are not followed: set the URL of this MCP server to its final address"
	}
	return nil
}

// explain returns an error with what the server said, if its last response was an error.
func (c *remoteClient) explain(err error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case err == nil || c.problem == "":
		return err
	case c.status == http.StatusNotFound: // errors.Is still finds a lost session
		return fmt.Errorf("%s (%w)", c.problem, err)
	}
	return errors.New(c.problem)
}

// old reports whether the server may only have the transport HTTP+SSE of protocol version 2024-11-05.
// By the specification (Transports, Backwards Compatibility), it then rejects the POST with one of
// three statuses. Some servers instead send the first event of that transport.
func (c *remoteClient) old() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.legacy || c.status == http.StatusBadRequest || c.status == http.StatusNotFound ||
		c.status == http.StatusMethodNotAllowed
}

func (c *remoteClient) strayed() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.stray
}

// passing reports whether the latest response was an error that may soon be over. The session goes on.
func (c *remoteClient) passing() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.status == http.StatusTooManyRequests || c.status == http.StatusBadGateway ||
		c.status == http.StatusServiceUnavailable || c.status == http.StatusGatewayTimeout
}

// firstEvent ends a response to a POST that begins with the event endpoint, which exists only in the
// transport HTTP+SSE. Such a response never ends by itself.
type firstEvent struct {
	io.ReadCloser

	client *remoteClient
	begun  bool
}

func (f *firstEvent) Read(p []byte) (int, error) {
	n, err := f.ReadCloser.Read(p)
	if n == 0 || f.begun {
		return n, err
	}
	f.begun = true
	if first := strings.Join(strings.Fields(string(p[:min(n, 64)])), ""); strings.HasPrefix(first, "event:endpoint") {
		f.client.mu.Lock()
		f.client.legacy = true
		f.client.mu.Unlock()
		return 0, io.EOF
	}
	return n, err
}
