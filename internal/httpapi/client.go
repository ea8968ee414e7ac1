package httpapi

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"mime/multipart"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/problem"
)

// ClientOptions says where the control plane is. Server and Key are required.
type ClientOptions struct {
	Server string      // origin; https, or http to this machine
	Plain  bool        // http to another machine is allowed, too: the network between is trusted
	Key    string      // with the scope worker
	TLS    *tls.Config // nil: the system's roots
}

// Client is a penstock.Control over HTTP. Where the server cannot be reached,
// or is starting or stopping, a call is repeated for as long as a lease lasts;
// after that the error is the worker's.
type Client struct {
	base, key string
	http      *http.Client
}

var _ penstock.Control = (*Client)(nil)

// NewClient checks the options; it does not connect. The key would be readable
// on the way to another machine without TLS, so that is refused.
func NewClient(o ClientOptions) (*Client, error) {
	u, err := url.Parse(o.Server)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return nil, fmt.Errorf("the server's address must be https://host, not %q", o.Server)
	}
	if u.Scheme == "http" && !o.Plain && !loopback(u.Hostname()) {
		return nil, fmt.Errorf("the server %q is on another machine, so its address must begin with https", o.Server)
	}
	transport := &http.Transport{
		Proxy: http.ProxyFromEnvironment, TLSClientConfig: o.TLS, ForceAttemptHTTP2: true,
		DialContext:         (&net.Dialer{Timeout: 10 * time.Second}).DialContext,
		TLSHandshakeTimeout: 10 * time.Second, IdleConnTimeout: 90 * time.Second,
		MaxIdleConnsPerHost: 64, // a worker's executions all call one server
		HTTP2:               &http.HTTP2Config{SendPingTimeout: silentFor, PingTimeout: silentFor},
	}
	return &Client{
		base: strings.TrimRight(o.Server, "/") + Base + "/worker/", key: o.Key,
		http: &http.Client{
			Transport: transport,
			CheckRedirect: func(
				*http.Request, []*http.Request,
			) error {
				return http.ErrUseLastResponse
			}, // the key goes nowhere else
		},
	}, nil
}

// silentFor is how long the server may send nothing until it is asked for a sign of
// life, and how long that may take: together well within a lease. All calls share a
// connection over HTTP/2, which else would go on to be used for a quarter of an hour
// after the network has forgotten it.
const silentFor = 5 * time.Second

func loopback(host string) bool {
	addr, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && addr.IsLoopback()
}

// Claim implements penstock.Control.
func (c *Client) Claim(ctx context.Context, claim penstock.ClaimRequest) (penstock.Assignment, error) {
	var a penstock.Assignment
	err := c.call(ctx, "claim", claim, &a, claim.Wait)
	return a, err
}

// Heartbeat implements penstock.Control.
func (c *Client) Heartbeat(ctx context.Context, l penstock.Lease, wait time.Duration) (penstock.Signal, error) {
	var s penstock.Signal
	err := c.call(ctx, "heartbeat", heartbeatBody{l, wait}, &s, wait)
	return s, err
}

// Append implements penstock.Control.
func (c *Client) Append(ctx context.Context, l penstock.Lease, drafts []penstock.Draft) error {
	return c.call(ctx, "append", appendBody{l, drafts}, nil, 0)
}

// Finish implements penstock.Control.
func (c *Client) Finish(ctx context.Context, l penstock.Lease, r penstock.Result) ([]penstock.Prompt, error) {
	var a finishAnswer
	err := c.call(ctx, "finish", finishBody{l, r}, &a, 0)
	return a.Prompts, err
}

// Open implements penstock.Control. An error while the content is read is not
// repeated.
func (c *Client) Open(ctx context.Context, l penstock.Lease, f penstock.File) (io.ReadCloser, error) {
	resp, err := c.try(ctx, 0, func(ctx context.Context) (*http.Request, error) {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, c.base+"file?id="+url.QueryEscape(f.ID), nil)
		if err == nil {
			r.Header.Set(leaseHeader, formatLease(l))
		}
		return r, err
	})
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", f.Path, err)
	}
	return resp.Body, nil
}

// Save implements penstock.Control. It is repeated where content is absent or
// can be rewound.
func (c *Client) Save(ctx context.Context, l penstock.Lease, u penstock.Upload, content io.Reader) (string, error) {
	meta, err := json.Marshal(u, lenient)
	if err != nil {
		return "", fmt.Errorf("save %s: %w", u.ID, err)
	}
	sent := false
	resp, err := c.try(ctx, 0, func(ctx context.Context) (*http.Request, error) {
		if err := rewind(content, sent); err != nil {
			return nil, err
		}
		sent = true
		body, contentType := saveForm(meta, content)
		r, err := http.NewRequestWithContext(ctx, http.MethodPut, c.base+"save", body)
		if err == nil {
			r.Header.Set("Content-Type", contentType)
			r.Header.Set(leaseHeader, formatLease(l))
		}
		return r, err
	})
	if err != nil {
		return "", fmt.Errorf("save %s: %w", u.ID, err)
	}
	defer resp.Body.Close()
	var a saveAnswer
	if err := json.UnmarshalRead(resp.Body, &a); err != nil {
		return "", fmt.Errorf("save %s: %w", u.ID, err)
	}
	return a.UID, nil
}

var errSentOnce = errors.New("the content cannot be sent a second time")

func rewind(content io.Reader, again bool) error {
	if content == nil || !again {
		return nil
	}
	seeker, ok := content.(io.Seeker)
	if !ok {
		return errSentOnce
	}
	_, err := seeker.Seek(0, io.SeekStart)
	return err
}

// saveForm streams the two parts of a save.
func saveForm(meta []byte, content io.Reader) (body io.Reader, contentType string) {
	var head bytes.Buffer
	form := multipart.NewWriter(&head)
	_ = form.WriteField("upload", string(meta)) // a buffer takes everything
	if content == nil {
		_ = form.Close()
		return &head, form.FormDataContentType()
	}
	_, _ = form.CreateFormFile("content", "content")
	tail := strings.NewReader("\r\n--" + form.Boundary() + "--\r\n")
	return io.MultiReader(&head, content, tail), form.FormDataContentType()
}

// call sends in as JSON and decodes the answer into out.
func (c *Client) call(ctx context.Context, name string, in, out any, wait time.Duration) error {
	body, err := json.Marshal(in, lenient)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	resp, err := c.try(ctx, wait+attemptTime, func(ctx context.Context) (*http.Request, error) {
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base+name, bytes.NewReader(body))
		if err == nil {
			r.Header.Set("Content-Type", "application/json")
		}
		return r, err
	})
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusNoContent {
		return penstock.ErrNoWork
	}
	if out == nil {
		return nil
	}
	if err := json.UnmarshalRead(resp.Body, out, lenient); err != nil {
		return fmt.Errorf("%s: read the response: %w", name, err)
	}
	return nil
}

// attemptTime is how long one attempt may take beside what it waits for.
const attemptTime = 15 * time.Second

// try repeats a request until it is answered, for as long as a lease lasts.
// limit bounds one attempt, 0 does not. The answer's body is the caller's.
func (c *Client) try(
	ctx context.Context, limit time.Duration, request func(context.Context) (*http.Request, error),
) (*http.Response, error) {
	giveUp := time.Now().Add(penstock.LeaseTime)
	for pause := 50 * time.Millisecond; ; pause = min(2*pause, 2*time.Second) {
		resp, again, err := c.attempt(ctx, limit, request)
		if err == nil || !again || errors.Is(err, errSentOnce) || ctx.Err() != nil {
			return resp, err
		}
		wait := pause/2 + rand.N(pause)
		if e, ok := errors.AsType[*penstock.Error](err); ok {
			wait = max(wait, min(e.RetryAfter, 5*time.Second))
		}
		if time.Now().Add(wait).After(giveUp) {
			return nil, err
		}
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(wait):
		}
	}
}

func (c *Client) attempt(
	ctx context.Context, limit time.Duration, request func(context.Context) (*http.Request, error),
) (resp *http.Response, again bool, err error) {
	cancel := func() {}
	if limit > 0 {
		ctx, cancel = context.WithTimeout(ctx, limit)
	}
	r, err := request(ctx)
	if err != nil {
		cancel()
		return nil, false, err
	}
	r.Header.Set("Authorization", "Bearer "+c.key)
	resp, err = c.http.Do(r)
	if err != nil {
		cancel()
		return nil, true, err
	}
	if resp.StatusCode < http.StatusMultipleChoices {
		resp.Body = closing{resp.Body, cancel}
		return resp, false, nil
	}
	defer cancel()
	defer resp.Body.Close()
	again, err = problemOf(resp)
	return nil, again, err
}

// closing releases the attempt's time limit when its answer has been read.
type closing struct {
	io.ReadCloser
	cancel func()
}

func (c closing) Close() error {
	defer c.cancel()
	return c.ReadCloser.Close()
}

// problemOf reads an error's answer back into the error that it was; again says
// whether to repeat the request.
func problemOf(resp *http.Response) (again bool, err error) {
	if resp.StatusCode == http.StatusConflict && resp.Header.Get(leaseHeader) == leaseLost {
		return false, penstock.ErrLeaseLost
	}
	raw, err := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	var p problem.Details
	if err != nil || json.Unmarshal(raw, &p) != nil || p.Type == "" {
		gateway := resp.StatusCode >= http.StatusBadGateway && resp.StatusCode <= http.StatusGatewayTimeout
		return gateway, fmt.Errorf("the server returned %s", resp.Status)
	}
	e := &penstock.Error{
		Code: penstock.Code(path.Base(p.Type)), Detail: p.Detail, Fields: p.Errors, Retryable: p.Retryable,
	}
	if n, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil {
		e.RetryAfter = time.Duration(n) * time.Second
	}
	return p.Retryable, e
}
