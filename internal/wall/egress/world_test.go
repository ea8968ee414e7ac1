package egress

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/penstock-dev/penstock"
)

// world is a proxy on loopback with a TLS host, a plain host and its own resolver.
type world struct {
	*Proxy
	address string // of the proxy
	bundle  string
	tls     *httptest.Server
	plain   *httptest.Server

	mu      sync.Mutex
	denials []Denial
	pulls   []PullRequest
	asked   []string // names that were looked up
	names   map[string]string
	seen    []*http.Request
	bodies  []string
	serve   http.HandlerFunc
}

const secretValue = "s3cret-canary-value"

type setup struct {
	rules   []penstock.NetworkRule // without ports, they get the ports of the hosts
	limit   int64
	ceiling *penstock.Network
	request *penstock.Network
	hosts   map[string][]string
	mcp     func(port int) penstock.MCPHeaders
	options func(*Options)
	serve   http.HandlerFunc
}

func newWorld(t *testing.T, s setup) *world {
	t.Helper()
	w := &world{names: map[string]string{}, bundle: t.TempDir(), serve: s.serve}
	operator := w.startHosts(t)
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w.address = listener.Addr().String()
	for i := range s.rules {
		if len(s.rules[i].Ports) == 0 && s.rules[i].Preset == "" {
			s.rules[i].Ports = []int{w.port(), w.plainPort()}
		}
	}
	var mcp []penstock.MCPHeaders
	if s.mcp != nil {
		mcp = append(mcp, s.mcp(w.port()))
	}
	policy, err := Compile(penstock.NetworkPolicy{
		MCP: mcp,
		Layers: []penstock.NetworkLayer{{
			Source: "environment", Name: "ci", Network: penstock.Network{Allow: s.rules, MaxUploadBytes: s.limit},
		}},
		Ceiling: s.ceiling, Request: s.request, SecretHosts: s.hosts,
	})
	if err != nil {
		t.Fatal(err)
	}
	options := Options{
		Policy: policy, LocalAddress: w.address, CA: operator,
		Networks: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")},
		Local: http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			fmt.Fprintf(rw, "local %s", r.URL.Path)
		}),
		Secret: func(name string) (string, bool) { return secretValue, name == "TOKEN" },
		Denied: func(d Denial) { w.mu.Lock(); defer w.mu.Unlock(); w.denials = append(w.denials, d) },
		PullRequest: func(p PullRequest) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.pulls = append(w.pulls, p)
		},
		Resolve: w.resolve,
	}
	if s.options != nil {
		s.options(&options)
	}
	if w.Proxy, err = New(options); err != nil {
		t.Fatal(err)
	}
	if err := w.WriteBundle(w.bundle, w.bundle); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- w.Serve(ctx, listener) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	return w
}

// startHosts returns the CA of the hosts in PEM.
func (w *world) startHosts(t *testing.T) []byte {
	t.Helper()
	handler := http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.mu.Lock()
		w.seen = append(w.seen, r)
		w.bodies = append(w.bodies, string(body))
		serve := w.serve
		w.mu.Unlock()
		if serve != nil {
			r.Body = io.NopCloser(bytes.NewReader(body))
			serve(rw, r)
			return
		}
		fmt.Fprintf(rw, "%s %s", r.Method, r.RequestURI)
	})
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: serial(), Subject: pkix.Name{CommonName: "hosts"}, NotAfter: time.Now().Add(time.Hour),
		DNSNames: []string{"api.example.test", "*.wild.test", "git.example.test", "api.github.com", "github.com"},
		IsCA:     true, BasicConstraintsValid: true, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	w.tls = httptest.NewUnstartedServer(handler)
	w.tls.TLS = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}
	w.tls.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug)
	w.tls.StartTLS()
	w.plain = httptest.NewServer(handler)
	t.Cleanup(w.tls.Close)
	t.Cleanup(w.plain.Close)
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

// resolve returns 127.0.0.1 for each name, unless names has another address.
func (w *world) resolve(_ context.Context, host string) ([]netip.Addr, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked = append(w.asked, host)
	if a, ok := w.names[host]; ok {
		return []netip.Addr{netip.MustParseAddr(a)}, nil
	}
	return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
}

func portOf(s *httptest.Server) int {
	u, _ := url.Parse(s.URL)
	port, _ := strconv.Atoi(u.Port())
	return port
}

func (w *world) port() int      { return portOf(w.tls) }
func (w *world) plainPort() int { return portOf(w.plain) }

// url returns a URL of the TLS host under a name.
func (w *world) url(host, path string) string {
	return "https://" + net.JoinHostPort(host, strconv.Itoa(w.port())) + path
}

// client is a Go client in the sandbox that trusts only the bundle.
func (w *world) client(t *testing.T) *http.Client {
	t.Helper()
	bundle, err := os.ReadFile(filepath.Join(w.bundle, bundlePEM))
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(bundle)
	transport := &http.Transport{
		Proxy:           http.ProxyURL(&url.URL{Scheme: "http", Host: w.address}),
		TLSClientConfig: &tls.Config{RootCAs: pool},
	}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{
		Transport: transport, Timeout: 2 * time.Minute,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// do returns the status and the body, or 0 and the error.
func (w *world) do(t *testing.T, method, target, body string, header ...string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, target, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Add(header[i], header[i+1])
	}
	response, err := w.client(t).Do(r)
	if err != nil {
		return 0, err.Error()
	}
	defer response.Body.Close()
	got, err := io.ReadAll(response.Body)
	if err != nil {
		return 0, err.Error()
	}
	return response.StatusCode, string(got)
}

// raw sends bytes to the proxy. It returns the status of the first response and everything that the
// proxy sent.
func (w *world) raw(t *testing.T, text string) (int, string) {
	t.Helper()
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", w.address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	return exchangeRaw(t, conn, text)
}

func exchangeRaw(t *testing.T, conn net.Conn, text string) (int, string) {
	t.Helper()
	if err := conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(conn, text); err != nil {
		return 0, err.Error()
	}
	var all bytes.Buffer
	response, err := http.ReadResponse(bufio.NewReader(io.TeeReader(conn, &all)), nil)
	if err != nil {
		return 0, err.Error()
	}
	defer response.Body.Close()
	if response.StatusCode == http.StatusOK && response.ContentLength < 0 && len(response.TransferEncoding) == 0 {
		return response.StatusCode, all.String()
	}
	_, _ = io.Copy(io.Discard, response.Body)
	return response.StatusCode, all.String()
}

// inside opens a CONNECT to host and a TLS connection to the proxy, without checking its
// certificate.
func (w *world) inside(t *testing.T, host, serverName string) (net.Conn, error) {
	t.Helper()
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", w.address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	status, text := exchangeRaw(t, conn, fmt.Sprintf("CONNECT %s:%d HTTP/1.1\r\nHost: x\r\n\r\n", host, w.port()))
	if status != http.StatusOK {
		return nil, fmt.Errorf("CONNECT: %d %s", status, text)
	}
	secure := tls.Client(conn, &tls.Config{ServerName: serverName, InsecureSkipVerify: true})
	return secure, secure.HandshakeContext(t.Context())
}

// requests returns the requests that arrived at a host.
func (w *world) requests() []*http.Request {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]*http.Request(nil), w.seen...)
}

// silent fails if a host received anything, or if a name was looked up.
func (w *world) silent(t *testing.T) {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.seen) > 0 {
		t.Errorf("%d requests arrived, the first is %s %s", len(w.seen), w.seen[0].Method, w.seen[0].RequestURI)
	}
	if len(w.asked) > 0 {
		t.Errorf("looked up %q", w.asked)
	}
}
