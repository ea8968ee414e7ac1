package main_test

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/testkit"
)

// wired is a request as bytes, with the expected outcome.
type wired struct {
	name    string
	headers string // in addition to the headers of a valid delivery
	body    string
	want    []int // the statuses of all responses; a final 200 means that the connection stays open
	// change rewrites the whole request.
	change func(string) string
}

// exchange sends bytes and reads all responses. If the connection stays open, exchange finally
// requests /healthz, so that a hidden request would be served first.
func exchange(t *testing.T, h *hooked, text string) (statuses []int) {
	t.Helper()
	conn := dial(t, h)
	defer conn.Close()
	_, _ = io.WriteString(conn, text) // it may be cut off
	in := bufio.NewReader(conn)
	for asked := false; ; {
		res, err := http.ReadResponse(in, nil)
		if err != nil {
			return statuses
		}
		_, _ = io.Copy(io.Discard, res.Body)
		_ = res.Body.Close()
		statuses = append(statuses, res.StatusCode)
		if !res.Close && !asked {
			asked = true
			_, _ = io.WriteString(conn, "GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
		}
	}
}

// hidden starts a delivery without a credential. A server that reads it as a separate request logs
// Rejected (auth).
func hidden(w penstock.Webhook) string {
	return "POST /webhooks/w/" + w.UID + " HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}"
}

func replaced(from, to string) func(string) string {
	return func(text string) string { return strings.Replace(text, from, to, 1) }
}

// Requests that two parsers may read differently: where a request ends, how long its body is, which
// headers it has. Each is refused, or read in the only way that RFC 9112 allows.
func TestAmbiguousRequestsAreRejected(t *testing.T) {
	t.Parallel()
	h := serveHooks(t, testkit.ServeOptions{Args: noWorker})
	w := h.tokenHook("wire")
	for i, test := range slices.Concat(lengths(w), lines(), codings(w), chunked(w), trailers(w)) {
		text := "POST /webhooks/w/" + w.UID + " HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + w.Secret +
			fmt.Sprintf("\r\nX-Penstock-Delivery-Id: d-%d\r\n", i) + test.headers + "\r\n" + test.body
		if test.change != nil {
			text = test.change(text)
		}
		before := h.outcomes(w)
		if got := exchange(t, h, text); !slices.Equal(got, test.want) {
			t.Errorf("%s: got the responses %v, want %v", test.name, got, test.want)
		}
		after := h.outcomes(w)
		for outcome, status := range map[penstock.Outcome]int{
			penstock.OutcomeAccepted: 202, penstock.OutcomeRejectedAuth: 401,
		} {
			want := len(slices.DeleteFunc(slices.Clone(test.want), func(s int) bool { return s != status }))
			if got := after[outcome] - before[outcome]; got != want {
				t.Errorf("%s: %d more entries of %s in the log, want %d", test.name, got, outcome.Label(), want)
			}
		}
		if test.want != nil && test.want[0] == http.StatusAccepted {
			newest := h.log(w, "outcome=accepted")[0]
			payload := send(t, h.Server, http.MethodGet, h.hookPath(w)+"/deliveries/"+newest.ID+"/payload", "")
			if got := string(payload.body); got != "{}" && newest.Size == 2 {
				t.Errorf("%s: got the body %q", test.name, got)
			}
		}
	}
}

func lengths(w penstock.Webhook) []wired {
	return []wired{
		{name: "one length", headers: "Content-Length: 2\r\n", body: "{}", want: []int{202, 200}},
		{
			name: "two different lengths", headers: "Content-Length: 2\r\nContent-Length: 3\r\n", body: "{}" + hidden(w),
			want: []int{400},
		},
		{
			name: "the longer one first", headers: "Content-Length: 3\r\nContent-Length: 2\r\n", body: "{}" + hidden(w),
			want: []int{400},
		},
		{
			name: "two equal lengths", headers: "Content-Length: 2\r\nContent-Length: 2\r\n", body: "{}", want: []int{202, 200},
		}, // §6.3
		{name: "a list of lengths", headers: "Content-Length: 2, 2\r\n", body: "{}", want: []int{400}},
		{name: "a sign", headers: "Content-Length: +2\r\n", body: "{}", want: []int{400}},
		{name: "less than nothing", headers: "Content-Length: -2\r\n", body: "{}", want: []int{400}},
		{name: "hex", headers: "Content-Length: 0x2\r\n", body: "{}", want: []int{400}},
		{name: "no number", headers: "Content-Length: \r\n", body: "{}", want: []int{400}},
		{name: "more than any number", headers: "Content-Length: 99999999999999999999\r\n", body: "{}", want: []int{400}},
		{name: "a space before the colon", headers: "Content-Length : 2\r\n", body: "{}", want: []int{400}},
		{name: "more than the length", headers: "Content-Length: 2\r\n", body: "{}" + hidden(w), want: []int{202, 401}},
	}
}

func lines() []wired {
	length := "Content-Length: 2\r\n"
	return []wired{
		{
			name: "a folded header", headers: "X-Other: a\r\n b\r\n" + length, body: "{}", want: []int{202, 200},
		}, // §5.2: a space
		{name: "a folded length", headers: "Content-Length:\r\n 2\r\n", body: "{}", want: []int{202, 200}},
		{name: "a fold before all headers", headers: length, body: "{}", change: replaced("Host", " Host"), want: []int{400}},
		{
			name: "bare LF", headers: length, body: "{}",
			change: func(s string) string { return strings.ReplaceAll(s, "\r\n", "\n") }, want: []int{202, 200},
		}, // §2.2
		{name: "bare CR", headers: "X-Other: a\rTransfer-Encoding: chunked\r\n" + length, body: "{}", want: []int{400}},
		{name: "NUL", headers: "X-Other: a\x00b\r\n" + length, body: "{}", want: []int{400}},
		{name: "a header without a name", headers: ": a\r\n" + length, body: "{}", want: []int{400}},
		{name: "a header without a colon", headers: "X-Other\r\n" + length, body: "{}", want: []int{400}},
		{name: "two hosts", headers: length, body: "{}", change: replaced("Host: x", "Host: x\r\nHost: y"), want: []int{400}},
		{name: "no host", headers: length, body: "{}", change: replaced("Host: x\r\n", ""), want: []int{400}},
		{
			name: "an empty line before", headers: length, body: "{}", change: func(s string) string { return "\r\n" + s },
			want: []int{400},
		},
		{
			name: "headers without end", headers: "X-Other: " + strings.Repeat("a", 100_000) + "\r\n" + length, body: "{}",
			want: []int{431},
		},
		{name: "no version", change: replaced(" HTTP/1.1", ""), want: []int{400}},
	}
}

func codings(w penstock.Webhook) []wired {
	const one, end = "2\r\n{}\r\n", "0\r\n\r\n"
	both := "Content-Length: 6\r\nTransfer-Encoding: chunked\r\n"
	return []wired{
		// If both are present, chunks count, and the server then closes the connection (§6.1).
		{name: "a length and chunks", headers: both, body: one + end + hidden(w), want: []int{202}},
		{name: "chunks that end before the length", headers: both, body: end + hidden(w), want: []int{400}},
		{
			name: "chunks and a length", headers: "Transfer-Encoding: chunked\r\nContent-Length: 4\r\n",
			body: one + end + hidden(w), want: []int{202},
		},
		{name: "chunks in capitals", headers: "Transfer-Encoding: CHUNKED\r\n", body: one + end, want: []int{202}},
		{
			name: "chunked twice", headers: "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", body: one + end,
			want: []int{501},
		},
		{name: "compressed chunks", headers: "Transfer-Encoding: gzip, chunked\r\n", body: one + end, want: []int{501}},
		{name: "identity", headers: "Transfer-Encoding: identity\r\nContent-Length: 2\r\n", body: "{}", want: []int{501}},
		{
			name: "an unknown coding", headers: "Transfer-Encoding: xchunked\r\nContent-Length: 2\r\n", body: "{}",
			want: []int{501},
		},
		{
			name: "a vertical tab", headers: "Transfer-Encoding: \x0bchunked\r\nContent-Length: 2\r\n", body: "{}",
			want: []int{400},
		},
		{
			name: "a space before the colon of the coding", headers: "Transfer-Encoding : chunked\r\nContent-Length: 2\r\n",
			body: "{}", want: []int{400},
		},
		{
			name: "chunks in HTTP/1.0", headers: "Transfer-Encoding: chunked\r\n", body: one + end,
			change: replaced("HTTP/1.1", "HTTP/1.0"), want: []int{400},
		},
	}
}

func chunked(w penstock.Webhook) (all []wired) {
	for name, test := range map[string]struct {
		body string
		want []int // nil: it is no HTTP, and cut off
	}{
		"extensions":                   {"2;a=b;c=\"d\"\r\n{}\r\n0;x\r\n\r\n", []int{202}},
		"zeros before a length":        {"0000000002\r\n{}\r\n0\r\n\r\n", []int{202}},
		"thousands of chunks":          {strings.Repeat("1\r\n1\r\n", 20_000) + "0\r\n\r\n", []int{202}},
		"what comes behind the chunks": {"2\r\n{}\r\n0\r\n\r\n" + hidden(w), []int{202}},
		"bare LF in an extension":      {"2;a\nb\r\n{}\r\n0\r\n\r\n", nil},
		"bare LF":                      {"2\n{}\n0\n\n", nil},
		"bare LF behind the data":      {"2\r\n{}\n0\r\n\r\n", nil},
		"a length as in C":             {"0x2\r\n{}\r\n0\r\n\r\n", nil},
		"a length with a sign":         {"+2\r\n{}\r\n0\r\n\r\n", nil},
		"a length below zero":          {"-2\r\n{}\r\n0\r\n\r\n", nil},
		"a length over 64 bits":        {"10000000000000002\r\n{}\r\n0\r\n\r\n", nil},
		"a length that is too large":   {"3\r\n{}\r\n0\r\n\r\n", nil},
		"nothing behind the data":      {"2\r\n{}0\r\n\r\n", nil},
		"an extension without end":     {"2;" + strings.Repeat("a", 100_000) + "\r\n{}\r\n0\r\n\r\n", nil},
		"a flood of extensions":        {strings.Repeat("1;"+strings.Repeat("a", 4000)+"\r\n1\r\n", 300) + "0\r\n\r\n", nil},
	} {
		all = append(
			all, wired{name: "chunks: " + name, headers: "Transfer-Encoding: chunked\r\n", body: test.body, want: test.want},
		)
	}
	return all
}

func trailers(w penstock.Webhook) []wired {
	const coding, body = "Transfer-Encoding: chunked\r\n", "2\r\n{}\r\n0\r\n"
	return []wired{
		{name: "trailers", headers: coding, body: body + "X-Other: a\r\n\r\n", want: []int{202}},
		{
			name: "a flood of trailers", headers: coding,
			body: body + strings.Repeat("X-Other: "+strings.Repeat("a", 1000)+"\r\n", 500) + "\r\n",
		},
		{
			name: "the credential behind the body", headers: "Trailer: Authorization\r\n" + coding,
			body:   body + "Authorization: Bearer " + w.Secret + "\r\n\r\n",
			change: replaced("Authorization", "X-None"), want: []int{401},
		},
	}
}
