package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/execution/acp"
)

// model is a language model, or a substitute.
type model interface {
	// stream requests the next message of a history, and calls emit with each piece of its texts
	// and thoughts. A failure of the provider is a *modelError. The reply then has the usage that
	// was reported before.
	stream(ctx context.Context, r request, emit func(kind partKind, text string)) (reply, error)
}

type request struct {
	model   string // the provider's name for it
	system  string
	tools   []toolSpec
	history []message
}

// toolSpec describes a tool to a model.
type toolSpec struct {
	Name        string
	Description string
	Schema      json.RawMessage
}

type reply struct {
	parts []part
	usage penstock.TokenUsage
	stop  stop
}

// stop is why a model stopped.
type stop int

const (
	stopDone    stop = iota // at its end, or for tool calls
	stopMore                // it wants to continue at once
	stopLength              // its response, or the whole prompt, became too long
	stopRefused             // it, or its provider, refused
)

// modelError is a provider's failure.
type modelError struct {
	provider   string
	status     int // of HTTP; 0 without a response
	message    string
	transient  bool
	retryAfter time.Duration
}

func (e *modelError) Error() string {
	if e.status == 0 {
		return fmt.Sprintf("%s: %s", e.provider, e.message)
	}
	return fmt.Sprintf("%s returned %d: %s", e.provider, e.status, e.message)
}

// closedUntil returns the message with the time at which the provider accepts requests again.
func (e *modelError) closedUntil() string {
	return fmt.Sprintf("%s; it accepts requests again at %s", strings.TrimRight(e.message, ". "),
		time.Now().Add(e.retryAfter).UTC().Format("2006-01-02 15:04 UTC"))
}

// forClient returns the error for the client.
func (e *modelError) forClient(modelID string, attempts int) error {
	return &acp.Error{
		Code:    acp.CodeInternal,
		Message: fmt.Sprintf("model %s: %s", modelID, cut(clean(e.Error()), 2000)),
		Data: mustJSON(map[string]any{
			"provider": e.provider, "model_id": modelID, "status": e.status, "transient": e.transient, "attempts": attempts,
		}),
	}
}

// failure converts an error of a provider's library to a *modelError. An error without an HTTP
// response can be retried.
func failure(provider string, err error) *modelError {
	var moved *redirectError
	return &modelError{provider: provider, message: err.Error(), transient: !errors.As(err, &moved)}
}

// httpFailure returns the error for an HTTP response.
func httpFailure(provider string, status int, message string, header http.Header) *modelError {
	e := &modelError{provider: provider, status: status, message: message}
	e.transient = status == http.StatusRequestTimeout || status == http.StatusConflict ||
		status == http.StatusTooManyRequests || status >= 500
	e.retryAfter = penstock.RetryAfter(header.Get("Retry-After"), header.Get("Date"), time.Now())
	return e
}

// The providers, as in the prefix of a model's id.
const (
	anthropicID = "anthropic"
	openaiID    = "openai"
	googleID    = "google"
	demoID      = "demo"
)

func splitModel(id string) (provider, name string) {
	provider, name, _ = strings.Cut(id, "/")
	return provider, name
}

// vendorKeys are the variables that configure the vendors, by provider.
var vendorKeys = map[string]string{
	anthropicID: "ANTHROPIC_API_KEY", openaiID: "OPENAI_API_KEY", googleID: "GEMINI_API_KEY",
}

// provider finds the provider of a model's canonical id.
func (a *agent) provider(id string) (Provider, bool) {
	name, _ := splitModel(id)
	i := slices.IndexFunc(a.cfg.Providers, func(p Provider) bool { return p.Name == name && p.Key != "" })
	if i < 0 {
		return Provider{}, false
	}
	return a.cfg.Providers[i], true
}

// usable returns an error for a model that cannot be used, with the reason.
func (a *agent) usable(id string) error {
	canonical, known := penstock.CanonicalModelID(id)
	if _, configured := a.provider(canonical); configured || canonical == penstock.ModelOffline {
		return nil
	}
	if !known {
		names := []string{penstock.ModelOffline}
		for _, p := range a.cfg.Providers {
			names = append(names, p.Name+"/…")
		}
		return &acp.Error{
			Code:    acp.CodeInvalidParams,
			Message: fmt.Sprintf("unknown model %q: it must be one of %s", id, strings.Join(names, ", ")),
		}
	}
	name, _ := splitModel(canonical)
	return &acp.Error{
		Code:    acp.CodeAuthRequired,
		Message: fmt.Sprintf("model %s needs a key: set %s", canonical, vendorKeys[name]),
	}
}

// model returns the client for a usable model, and the provider's name for the model.
func (a *agent) model(ctx context.Context, id string) (m model, name string, err error) {
	id, _ = penstock.CanonicalModelID(id)
	_, name = splitModel(id)
	p, configured := a.provider(id)
	if !configured {
		return demo{directives: a.cfg.Directives}, name, nil
	}
	switch cmp.Or(p.API, p.Name) {
	case anthropicID:
		m = newAnthropic(p, a.http)
	case openaiID:
		m = newOpenAI(p, a.http)
	case googleID, "gemini":
		m, err = newGoogle(ctx, p, a.http)
	default:
		err = fmt.Errorf("provider %s: the API %q is not anthropic, openai or gemini", p.Name, p.API)
	}
	return m, name, err
}

// modelClient returns the HTTP client for models. It does not limit the time of a whole response,
// but the time without progress. It follows no redirects, because a key must not go to another
// host.
func modelClient(stall time.Duration) *http.Client {
	transport := &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		ForceAttemptHTTP2:     true,
		IdleConnTimeout:       90 * time.Second,
		TLSHandshakeTimeout:   10 * time.Second,
		ResponseHeaderTimeout: stall,
	}
	return &http.Client{
		Transport: stallTransport{transport, stall},
		CheckRedirect: func(next *http.Request, via []*http.Request) error {
			return &redirectError{from: via[0].URL.Host, to: next.URL.Host}
		},
	}
}

// redirectError means that a server redirects a request.
type redirectError struct{ from, to string }

func (e *redirectError) Error() string {
	return fmt.Sprintf(
		"%s redirects to %s, and redirects are not followed: set the provider's base URL to its final URL", e.from, e.to,
	)
}

var errStalled = errors.New("the model stopped sending its response")

type stallTransport struct {
	next  http.RoundTripper
	limit time.Duration
}

func (t stallTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := t.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	resp.Body = &stallBody{ReadCloser: resp.Body, limit: t.limit}
	return resp, nil
}

// stallBody closes a body if a Read takes too long.
type stallBody struct {
	io.ReadCloser
	limit   time.Duration
	stalled atomic.Bool
}

func (b *stallBody) Read(p []byte) (int, error) {
	timer := time.AfterFunc(b.limit, func() {
		b.stalled.Store(true)
		b.Close()
	})
	defer timer.Stop()
	n, err := b.ReadCloser.Read(p)
	if err != nil && b.stalled.Load() {
		err = errStalled
	}
	return n, err
}
