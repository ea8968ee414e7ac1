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
	"github.com/penstock-dev/penstock/internal/control/request"
)

// ClientOptions configures a Client. Server and Key are required.
type ClientOptions struct {
	Server string      // an origin; https, or http on this machine
	Plain  bool        // allow http to another machine, over a trusted network
	Key    string      // with the scope worker
	TLS    *tls.Config // nil: the root certificates of the system
}

// Client is a penstock.Control over HTTP. While the server cannot be reached, or is starting or
// stopping, it repeats a call for the time of a lease. Then it returns the error.
type Client struct {
	base, key string
	http      *http.Client
}

var _ penstock.Control = (*Client)(nil)

// NewClient checks the options. It does not connect. It rejects plain HTTP to another machine,
// because others could read the key.
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
		MaxIdleConnsPerHost: 64, // all executions of a worker call one server
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
			}, // a redirect must not send the key elsewhere
		},
	}, nil
}

// silentFor is the idle time after which the client pings the server, and the time limit for the
// reply. Both together are much shorter than a lease. All calls share a connection over HTTP/2.
// Without pings, the client would use a dead connection for a quarter of an hour.
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

// Adopt implements penstock.Control.
func (c *Client) Adopt(
	ctx context.Context, l penstock.Lease, adoption penstock.Adoption,
) (penstock.Assignment, error) {
	var a penstock.Assignment
	err := c.call(ctx, "adopt", adoptBody{l, adoption}, &a, 0)
	return a, err
}

// ReportLoss implements penstock.Control.
func (c *Client) ReportLoss(ctx context.Context, l penstock.Lease, loss penstock.Loss) error {
	return c.call(ctx, "loss", lossBody{l, loss}, nil, 0)
}

// ReportLayers implements penstock.Control.
func (c *Client) ReportLayers(ctx context.Context, r penstock.LayerReport) ([]string, error) {
	var a layersAnswer
	err := c.call(ctx, "layers", r, &a, 0)
	return a.Retired, err
}

// ClaimBranches implements penstock.Control.
func (c *Client) ClaimBranches(ctx context.Context, l penstock.Lease, claim penstock.PushClaim) ([]string, error) {
	var a branchesAnswer
	err := c.call(ctx, "branches", branchesBody{l, claim}, &a, 0)
	if err == nil && len(a.Refusals) != len(claim.Branches) {
		err = errors.New("the server did not answer for each branch")
	}
	return a.Refusals, err
}

// Reserve implements penstock.Control.
func (c *Client) Reserve(
	ctx context.Context, l penstock.Lease, r penstock.Reservation,
) (penstock.Reserved, error) {
	var reserved penstock.Reserved
	err := c.call(ctx, "reserve", reserveBody{l, r}, &reserved, 0)
	return reserved, err
}

// Settle implements penstock.Control.
func (c *Client) Settle(ctx context.Context, l penstock.Lease, s penstock.Settlement) error {
	return c.call(ctx, "settle", settleBody{l, s}, nil, 0)
}

// Open implements penstock.Control. It does not retry after an error in the content.
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

// Save implements penstock.Control. It retries if content is absent or can be rewound.
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

func rewind(content io.Reader, retry bool) error {
	if content == nil || !retry {
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
	_ = form.WriteField("upload", string(meta)) // writing to a buffer never fails
	if content == nil {
		_ = form.Close()
		return &head, form.FormDataContentType()
	}
	_, _ = form.CreateFormFile("content", "content")
	tail := strings.NewReader("\r\n--" + form.Boundary() + "--\r\n")
	return io.MultiReader(&head, content, tail), form.FormDataContentType()
}

// call sends in as JSON and decodes the response into out.
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

// attemptTime limits one attempt, in addition to its wait.
const attemptTime = 15 * time.Second

// try repeats a request until it gets a response, for the time of a lease. limit limits one
// attempt; 0 disables it. The caller closes the body of the response.
func (c *Client) try(
	ctx context.Context, limit time.Duration, request func(context.Context) (*http.Request, error),
) (*http.Response, error) {
	giveUp := time.Now().Add(penstock.LeaseTime)
	for pause := 50 * time.Millisecond; ; pause = min(2*pause, 2*time.Second) {
		resp, retry, err := c.attempt(ctx, limit, request)
		if err == nil || !retry || errors.Is(err, errSentOnce) || ctx.Err() != nil {
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
) (resp *http.Response, retry bool, err error) {
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
	retry, err = problemOf(resp)
	return nil, retry, err
}

// closing releases the time limit of an attempt once the body is closed.
type closing struct {
	io.ReadCloser
	cancel func()
}

func (c closing) Close() error {
	defer c.cancel()
	return c.ReadCloser.Close()
}

// problemOf converts an error response to an error. retry says whether to repeat the request.
func problemOf(resp *http.Response) (retry bool, err error) {
	if resp.StatusCode == http.StatusConflict {
		switch resp.Header.Get(leaseHeader) {
		case leaseLost:
			return false, penstock.ErrLeaseLost
		case leaseHeld:
			return false, penstock.ErrRenewed
		}
	}
	raw, err := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	var p request.Problem
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
