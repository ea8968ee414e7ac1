package factorymcp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/penstock-dev/penstock"
)

// maxResponse limits a response of the API that is read as a whole, in bytes.
const maxResponse = 8 << 20

// session is one tool call: the API as its caller may use it.
type session struct {
	*Server

	caller *caller
}

// request is a request to the API, below /api/v1.
type request struct {
	method string // GET if empty
	path   string // escaped; join makes it
	query  url.Values
	body   any    // as JSON; nil: no body
	key    string // Idempotency-Key; empty: none
}

// join makes a path of segments, which may come from the caller.
func join(segments ...string) string {
	escaped := make([]string, len(segments))
	for i, segment := range segments {
		escaped[i] = url.PathEscape(segment)
		if strings.Trim(segment, ".") == "" { // the API has no such path, and routers would resolve it
			escaped[i] = "-"
		}
	}
	return strings.Join(escaped, "/")
}

// apiError is what the API says about a request that failed.
type apiError struct {
	status    int
	text      string // a sentence for the caller
	retryable bool
	after     time.Duration // 0: unknown
}

func (e *apiError) Error() string { return e.text }

// build makes the HTTP request, which looks as if the caller had sent it. Nothing else of the caller's request is
// passed on: no cookie, no origin.
func (s *session) build(ctx context.Context, q request) (*http.Request, error) {
	method := q.method
	if method == "" {
		method = http.MethodGet
	}
	var body []byte
	if q.body != nil {
		var err error
		if body, err = json.Marshal(q.body); err != nil {
			return nil, err
		}
	}
	from := s.caller.request
	ctx = context.WithValue(ctx, http.LocalAddrContextKey, from.Context().Value(http.LocalAddrContextKey))
	target := "/api/v1/" + q.path
	if len(q.query) > 0 {
		target += "?" + q.query.Encode()
	}
	r, err := http.NewRequestWithContext(ctx, method, target, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Host, r.RemoteAddr, r.TLS, r.RequestURI = from.Host, from.RemoteAddr, from.TLS, target
	for _, name := range []string{
		"Authorization", "X-Forwarded-For", "X-Forwarded-Proto", "Forwarded", "Via", "X-Request-Id",
	} {
		if values := from.Header[name]; len(values) > 0 {
			r.Header[name] = values
		}
	}
	if q.body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	if q.key != "" {
		r.Header.Set("Idempotency-Key", q.key)
	}
	return r, nil
}

// open sends a request and returns its response, whose body arrives while the API writes it. Closing the body ends
// the request.
func (s *session) open(ctx context.Context, q request) (*http.Response, error) {
	ctx, cancel := context.WithCancel(ctx)
	r, err := s.build(ctx, q)
	if err != nil {
		cancel()
		return nil, err
	}
	reader, writer := io.Pipe()
	w := &pipeResponse{pipe: writer, header: http.Header{}, begun: make(chan struct{})}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() {
			cause := io.EOF
			if recover() != nil { // the API aborts a response that it cannot complete
				cause = errInterrupted
			}
			w.WriteHeader(http.StatusOK)
			_ = writer.CloseWithError(cause)
		}()
		s.api.ServeHTTP(w, r)
	}()
	end := func() error {
		cancel()
		_ = reader.CloseWithError(context.Canceled)
		<-done
		return nil
	}
	<-w.begun
	return &http.Response{
		StatusCode: w.status, Header: w.header, Body: body{bufio.NewReader(reader), end},
	}, nil
}

var errInterrupted = errors.New("the response of the API was interrupted")

type body struct {
	*bufio.Reader

	end func() error
}

func (b body) Close() error { return b.end() }

// pipeResponse is the response of a request in process.
type pipeResponse struct {
	pipe   *io.PipeWriter
	header http.Header
	status int // 0: not begun
	begun  chan struct{}
}

func (w *pipeResponse) Header() http.Header { return w.header }

func (w *pipeResponse) WriteHeader(status int) {
	if w.status == 0 && status >= http.StatusOK {
		w.status = status
		close(w.begun)
	}
}

func (w *pipeResponse) Write(b []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.pipe.Write(b)
}

// Flush does nothing: nothing is buffered.
func (w *pipeResponse) Flush() {}

// do sends a request and decodes the JSON of the response into result, unless that is nil. An error of the API is an
// *apiError.
func (s *session) do(ctx context.Context, q request, result any) error {
	resp, err := s.open(ctx, q)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	return read(resp, q.path, result)
}

func read(resp *http.Response, path string, result any) error {
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxResponse+1))
	switch {
	case err != nil:
		return fmt.Errorf("read %s: %w", path, err)
	case resp.StatusCode >= http.StatusBadRequest:
		return errorOf(resp, text)
	case len(text) > maxResponse:
		return &apiError{text: "the response is too large for a tool; use the API or the command line"}
	case result == nil || len(text) == 0:
		return nil
	}
	if err := json.Unmarshal(text, result); err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	return nil
}

// errorOf reads the problem details of a response (RFC 9457).
func errorOf(resp *http.Response, text []byte) error {
	var problem struct {
		Error  string `json:"error"`
		Detail string `json:"detail"`
		Errors []struct {
			Pointer string `json:"pointer"`
			Detail  string `json:"detail"`
		} `json:"errors"`
		Retryable bool `json:"retryable"`
	}
	if json.Unmarshal(text, &problem) != nil || problem.Error == "" && problem.Detail == "" {
		return &apiError{
			status: resp.StatusCode, text: "the API responded with " + http.StatusText(resp.StatusCode),
		}
	}
	e := &apiError{status: resp.StatusCode, text: problem.Detail, retryable: problem.Retryable}
	if e.text == "" {
		e.text = problem.Error
	}
	for i, field := range problem.Errors {
		if i == 10 {
			break
		}
		e.text += "\n" + field.Pointer + ": " + field.Detail
	}
	if seconds, err := time.ParseDuration(resp.Header.Get("Retry-After") + "s"); err == nil {
		e.after = seconds
	}
	e.text = penstock.VisibleText(e.text, nil)
	return e
}
