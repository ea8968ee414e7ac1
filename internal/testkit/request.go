package testkit

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

// Response is a response with its whole body.
type Response struct {
	Status int
	Header http.Header
	Body   []byte
}

// Request makes one request, like a caller without a client library. header may be nil. Call it
// from the test's own goroutine.
func Request(tb testing.TB, method, url string, header http.Header, body string) Response {
	tb.Helper()
	req, err := http.NewRequestWithContext(tb.Context(), method, url, strings.NewReader(body))
	if err != nil {
		tb.Fatal(err)
	}
	if header != nil {
		req.Header = header
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		tb.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		tb.Fatalf("%s %s: read the response: %v", method, url, err)
	}
	return Response{res.StatusCode, res.Header, text}
}

// Bearer is the header that authenticates with a key.
func Bearer(key string) http.Header { return http.Header{"Authorization": {"Bearer " + key}} }
