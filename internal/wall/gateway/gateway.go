// Package gateway is the model gateway: the only way from a sealed agent to a model
// provider. It holds the provider keys, so that the agent holds none.
//
// A Gateway holds the providers and the connections to them. A Session is one execution's view of
// it: an http.Handler for /model/<provider>/… that forwards a short list of calls and refuses
// everything else, in the provider's own error format. Bytes pass unchanged, except for credentials
// and one option that asks for usage.
//
// The package checks what a request asks the provider to do, since a provider can itself
// reach the network and other people's data. It reads usage from the responses, and keeps
// no body.
package gateway

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"strings"
	"time"
)

// DefaultMaxRequestBytes bounds a request body if Options does not. It is twice what
// Anthropic accepts.
const DefaultMaxRequestBytes = 64 << 20

// Options configure a Gateway.
type Options struct {
	Providers []Provider
	Log       *slog.Logger // nil discards
	// Transport sends the requests; nil means NewTransport(). It must not decompress
	// responses and must not follow redirects.
	Transport http.RoundTripper
	// MaxRequestBytes bounds the body of one request; 0 means DefaultMaxRequestBytes.
	MaxRequestBytes int64
}

// Gateway forwards calls to model providers. It is safe for concurrent use.
type Gateway struct {
	providers map[string]*upstream
	log       *slog.Logger
	transport http.RoundTripper
	maxBody   int64
	proxy     *httputil.ReverseProxy
}

// New checks the providers. It connects to none of them.
func New(opts Options) (*Gateway, error) {
	g := &Gateway{
		providers: map[string]*upstream{}, log: opts.Log, transport: opts.Transport, maxBody: opts.MaxRequestBytes,
	}
	g.log = cmp.Or(g.log, slog.New(slog.DiscardHandler))
	if g.transport == nil {
		g.transport = NewTransport()
	}
	g.maxBody = cmp.Or(g.maxBody, DefaultMaxRequestBytes)
	var errs []error
	for _, p := range opts.Providers {
		p.Key = strings.TrimSpace(p.Key) // a key from a file often has a line end
		base, err := p.check()
		if err == nil && g.providers[p.Name] != nil {
			err = fmt.Errorf("provider %s is configured twice", p.Name)
		}
		if err != nil {
			errs = append(errs, err)
			continue
		}
		g.providers[p.Name] = &upstream{Provider: p, base: base}
	}
	g.proxy = g.newProxy()
	return g, errors.Join(errs...)
}

// NewTransport returns the transport of a Gateway whose Options name none. It has limits
// for connecting and for TLS, and none for the response: a model may think for minutes, and
// the agent decides when to stop waiting. It honors the usual proxy variables.
func NewTransport() *http.Transport {
	const connect = 10 * time.Second
	dialer := &net.Dialer{Timeout: connect, KeepAlive: 15 * time.Second}
	return &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           dialer.DialContext,
		TLSHandshakeTimeout:   connect,
		ForceAttemptHTTP2:     true,
		DisableCompression:    true, // the gateway asks for identity itself
		MaxIdleConns:          1024,
		MaxIdleConnsPerHost:   256,
		IdleConnTimeout:       90 * time.Second,
		ExpectContinueTimeout: time.Second,
	}
}

// Models returns the ids of a provider's models without prefix: the configured ones, or else the
// ones that it lists itself.
func (g *Gateway) Models(ctx context.Context, provider string) ([]string, error) {
	u, ok := g.providers[provider]
	if !ok {
		return nil, fmt.Errorf("provider %q is not configured", provider)
	}
	if len(u.Models) > 0 {
		return u.Models, nil
	}
	return u.listModels(ctx, g.transport)
}

// Find returns the provider of a model by the id that ModelID makes, and the model as the
// provider knows it.
func (g *Gateway) Find(id string) (p Provider, model string, ok bool) {
	for _, u := range g.providers {
		if name, found := strings.CutPrefix(id, u.ModelID("")); found && name != "" && u.Vendor == "" {
			return u.Provider, name, true
		}
	}
	return Provider{}, "", false
}

// Provider returns a provider by its name.
func (g *Gateway) Provider(name string) (p Provider, ok bool) {
	u, ok := g.providers[name]
	if !ok {
		return Provider{}, false
	}
	return u.Provider, true
}
