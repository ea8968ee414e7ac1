package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kong"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/run"
)

// connection holds the common flags of all commands that call a server.
type connection struct {
	Server         string         `group:"connection" default:"http://127.0.0.1:8080" env:"PENSTOCK_BASE_URL" help:"URL of the server; may end in /api/v1."`
	KeyFile        string         `group:"connection" type:"path" env:"PENSTOCK_KEY_FILE" placeholder:"FILE" help:"File with the API key; by default PENSTOCK_API_KEY, or a prompt."`
	TrustedProxies []netip.Prefix `group:"connection" env:"PENSTOCK_TRUSTED_PROXIES" placeholder:"CIDR" help:"Networks in which commands may reach the server over plain HTTP. On this machine, plain HTTP is always allowed."`

	resultFlags

	factory string // that --factory names
	last    lastRuns
}

// factoryConnection is the connection of commands about resources of a factory.
type factoryConnection struct {
	connection
	Factory string `placeholder:"UID|NAME" help:"Factory of the ${noun}; required if there are several factories."`
}

// AfterApply passes the factory on.
func (c *factoryConnection) AfterApply(std *stdio, parsed *kong.Context) error {
	c.factory = c.Factory
	return c.connection.AfterApply(std, parsed)
}

// dial creates a client of the server. It sends a request only to find the run that @last means.
func (c *connection) dial(ctx context.Context, std *stdio) (*client, error) {
	base, err := checkServer(ctx, c.Server, c.TrustedProxies)
	if err != nil {
		return nil, err
	}
	key, err := std.apiKey(c.KeyFile)
	if err != nil {
		return nil, err
	}
	transport := &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           (&net.Dialer{Timeout: 10 * time.Second}).DialContext,
		TLSHandshakeTimeout:   10 * time.Second,
		ResponseHeaderTimeout: time.Minute,
		TLSClientConfig:       &tls.Config{MinVersion: tls.VersionTLS12},
		ForceAttemptHTTP2:     true,
	}
	client := &client{
		base: base, key: key, std: std, data: std.format.data(),
		http: &http.Client{Transport: transport, CheckRedirect: checkRedirect},
	}
	return client, c.last.resolve(ctx, client)
}

// checkServer parses the address of a server, which may end in /api/v1. It rejects http, except on
// loopback and trusted networks, because the key would not be encrypted.
func checkServer(ctx context.Context, address string, trusted []netip.Prefix) (*url.URL, error) {
	address = strings.TrimRight(strings.TrimSuffix(strings.TrimRight(address, "/"), "/api/v1"), "/")
	base, err := serverURL("--server", address)
	if err != nil || base.Scheme == "https" {
		return base, err
	}
	addrs, err := net.DefaultResolver.LookupNetIP(ctx, "ip", base.Hostname())
	if err != nil {
		return nil, exitf(exitUnavailable, "look up the server: %w", err)
	}
	for _, addr := range addrs {
		inside := func(p netip.Prefix) bool { return p.Contains(addr.Unmap()) }
		if !addr.Unmap().IsLoopback() && !slices.ContainsFunc(trusted, inside) {
			return nil, exitf(
				exitUsage,
				"--server %s: plain HTTP would expose the API key; use https or, if the network is safe, add it to "+
					"--trusted-proxies",
				address,
			)
		}
	}
	return base, nil
}

// client calls the public API. It retries calls if that is safe. Every POST has an Idempotency-Key
// that is created once per call.
type client struct {
	base *url.URL
	key  string
	http *http.Client
	std  *stdio
	data bool // print results as data, see [resultFormat]

	last   string // the ID of the run that @last means; "" if it was not named
	warned bool   // a response had warnings, which were printed
}

// Limits of one call. A whole response may take callTime. The client does not wait longer than
// maxRetryAfter, even if the server asks for it.
const (
	maxAttempts   = 4
	callTime      = 2 * time.Minute
	maxRetryAfter = 60 * time.Second
	maxAnswer     = 256 << 20
)

// checkRedirect follows signed links. It never sends the key from https to http, or to another
// server, which includes another port and a subdomain. It never lets a redirect turn a write into a
// read.
func checkRedirect(next *http.Request, via []*http.Request) error {
	first := via[0]
	if first.Method != http.MethodGet || len(via) > 5 ||
		via[len(via)-1].URL.Scheme == "https" && next.URL.Scheme != "https" {
		return http.ErrUseLastResponse
	}
	if next.URL.Host != first.URL.Host {
		next.Header.Del("Authorization")
	}
	return nil
}

// call sends body as JSON (nil: no body; a jsontext.Value unchanged) and decodes the
// response into result, unless that is nil. path is below /api/v1 and can have a
// query. It returns the raw response as well.
func (c *client) call(ctx context.Context, method, path string, body, result any) (jsontext.Value, error) {
	sent, _ := body.(jsontext.Value)
	if body != nil && sent == nil {
		var err error
		if sent, err = json.Marshal(body, json.Deterministic(true)); err != nil {
			return nil, fmt.Errorf("%s %s: %w", method, path, err)
		}
	}
	header := http.Header{"Accept": {"application/json"}}
	if method == http.MethodPost {
		header.Set("Idempotency-Key", penstock.NewID())
	}
	var raw []byte
	err := c.retry(ctx, func(ctx context.Context, repeated bool) error {
		ctx, cancel := context.WithTimeout(ctx, callTime)
		defer cancel()
		response, err := c.send(ctx, method, path, header, sent)
		if repeated && method == http.MethodDelete && isStatus(err, http.StatusNotFound) {
			return nil // the first attempt succeeded, but its response was lost
		}
		if err != nil {
			return err
		}
		defer response.Body.Close()
		for _, field := range response.Header.Values("X-Penstock-Ignored-Fields") {
			c.std.notef("the server ignored an unknown field: %s", field)
		}
		for _, warning := range response.Header.Values("X-Penstock-Warnings") {
			c.warned = true
			c.std.notef("warning: %s", warning)
		}
		raw, err = io.ReadAll(io.LimitReader(response.Body, maxAnswer))
		if err != nil {
			return &transportError{c.base, err}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if result != nil && len(raw) > 0 {
		if err := json.Unmarshal(raw, result); err != nil {
			return nil, c.unlikeServer(err)
		}
	}
	return raw, nil
}

// unlikeServer is the error for a response that another program may have sent.
func (c *client) unlikeServer(err error) error {
	return exitf(exitUnavailable, "%s does not respond like a Penstock server: %w", c.base, err)
}

// perform makes a call and prints the response: as complete data, or with show. A nil show prints
// nothing, and so does a response without a body.
func perform[T any](ctx context.Context, c *client, method, path string, body any, show func(T) error) error {
	var result T
	raw, err := c.call(ctx, method, path, body, &result)
	switch {
	case err != nil:
		return err
	case len(raw) == 0:
		return nil
	case c.data:
		return c.std.result(ctx, raw)
	case show == nil:
		return nil
	}
	return show(result)
}

// send makes one request. A response other than 2xx is an *apiError, and a missing response is a
// *transportError. The caller closes the body.
func (c *client) send(
	ctx context.Context, method, path string, header http.Header, body []byte,
) (*http.Response, error) {
	path, query, _ := strings.Cut(path, "?")
	target := c.base.JoinPath("api/v1", path)
	target.RawQuery = query
	request, err := http.NewRequestWithContext(ctx, method, target.String(), bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", method, path, err)
	}
	request.Header = header.Clone()
	request.Header.Set("Authorization", "Bearer "+c.key)
	request.Header.Set("User-Agent", "penstock/"+buildVersion())
	request.Header.Set("X-Penstock-Source", string(run.SourceCLI))
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	response, err := c.http.Do(request)
	if err != nil {
		return nil, &transportError{c.base, err}
	}
	if response.StatusCode/100 != 2 {
		defer response.Body.Close()
		return nil, readProblem(response)
	}
	return response, nil
}

// retry repeats attempt while its error is temporary.
func (c *client) retry(ctx context.Context, attempt func(ctx context.Context, repeated bool) error) error {
	for n := 1; ; n++ {
		err := attempt(ctx, n > 1)
		pause, may := retryable(err, n)
		if err == nil || !may || n == maxAttempts {
			return err
		}
		if sleep(ctx, pause) != nil {
			return err
		}
	}
}

// retryable reports whether to retry a call after err, and the pause before that: the one that the
// server asked for, or 0.2 s, doubled each time, with jitter.
func retryable(err error, attempt int) (time.Duration, bool) {
	pause := time.Duration(float64(100*time.Millisecond<<attempt) * (0.5 + rand.Float64()))
	var api *apiError
	var transport *transportError
	switch {
	case errors.As(err, &api):
		pause = max(pause, api.retryAfter)
		return pause, api.mayRetry && pause <= maxRetryAfter
	case errors.As(err, &transport):
		return pause, !errors.Is(err, context.Canceled)
	}
	return 0, false
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// transportError means that no response arrived.
type transportError struct {
	server *url.URL
	cause  error
}

func (e *transportError) Error() string {
	cause := e.cause
	if inURL, ok := errors.AsType[*url.Error](cause); ok { // its text repeats method and address
		cause = inURL.Err
	}
	return fmt.Sprintf(
		"no response from %s: %v (check that the server is running and that --server or PENSTOCK_BASE_URL is "+
			"correct)", e.server, cause,
	)
}

// Unwrap sets the exit code 69, unless the caller gave up.
func (e *transportError) Unwrap() []error {
	if errors.Is(e.cause, context.Canceled) {
		return []error{e.cause}
	}
	return []error{e.cause, &exitError{exitUnavailable, e.cause}}
}

// apiError is a response that is not 2xx.
type apiError struct {
	status      int
	title       string
	detail      string
	code        penstock.Code
	fields      []penstock.FieldError
	diagnostics []penstock.Diagnostic // of a factory's files
	requestID   string
	mayRetry    bool
	retryAfter  time.Duration
}

// readProblem reads a problem body (RFC 9457). A response without one, such as a proxy's, also
// becomes an apiError.
func readProblem(r *http.Response) *apiError {
	var body struct {
		Type   string                `json:"type"`
		Title  string                `json:"title"`
		Detail string                `json:"detail"`
		Errors []penstock.FieldError `json:"errors"`

		Diagnostics []penstock.Diagnostic `json:"diagnostics"`
	}
	raw, _ := io.ReadAll(io.LimitReader(r.Body, 1<<20)) // shows the part that could be read
	e := &apiError{
		status: r.StatusCode, requestID: r.Header.Get("X-Request-ID"),
		mayRetry: slices.Contains([]int{408, 429, 502, 503, 504}, r.StatusCode),
	}
	if json.Unmarshal(raw, &body) == nil && body.Title != "" {
		e.title, e.detail, e.fields, e.diagnostics = body.Title, body.Detail, body.Errors, body.Diagnostics
		e.code = penstock.Code(body.Type[strings.LastIndexByte(body.Type, '/')+1:])
	} else {
		e.title = http.StatusText(r.StatusCode)
		if to := r.Header.Get("Location"); to != "" {
			e.detail = "redirected to " + to + "; set --server to that URL"
		}
	}
	if said, err := strconv.ParseBool(r.Header.Get("X-Should-Retry")); err == nil {
		e.mayRetry = said
	}
	if seconds, err := strconv.Atoi(r.Header.Get("Retry-After")); err == nil && seconds > 0 {
		e.retryAfter = time.Duration(seconds) * time.Second
	}
	return e
}

func (e *apiError) Error() string {
	var text strings.Builder
	text.WriteString(e.title)
	one := e.detail == "" && len(e.fields) == 1
	switch {
	case one:
		text.WriteString(": " + e.fields[0].String())
	case e.detail != "":
		text.WriteString(": " + e.detail)
	}
	var about []string
	if e.code != "" {
		about = append(about, string(e.code))
	} else {
		about = append(about, fmt.Sprintf("HTTP status %d", e.status))
	}
	if e.requestID != "" {
		about = append(about, "request "+e.requestID)
	}
	text.WriteString(" (" + strings.Join(about, ", ") + ")")
	if e.code == penstock.CodeAuthenticationRequired {
		text.WriteString(
			"\n  set PENSTOCK_API_KEY or --key-file to a valid key; an admin can create one with penstock key create",
		)
	}
	for _, f := range e.fields {
		if !one {
			text.WriteString("\n  " + f.String())
		}
	}
	return text.String()
}

func (e *apiError) Unwrap() error {
	code := exitRefused
	switch {
	case e.status == http.StatusUnauthorized || e.status == http.StatusForbidden:
		code = exitNotAllowed
	case e.status == http.StatusTooManyRequests || e.status >= 500:
		code = exitUnavailable
	}
	return &exitError{code, errors.New(e.title)}
}

func isStatus(err error, status int) bool {
	var api *apiError
	return errors.As(err, &api) && api.status == status
}
