package main_test

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/testkit"
)

const maxBody = 262_144

// text returns a JSON string of n bytes.
func text(n int) string { return `"` + strings.Repeat("x", n-2) + `"` }

func nested(depth int) string {
	return strings.Repeat("[", depth) + strings.Repeat("]", depth)
}

// Bodies of every kind, with a length and in chunks. Each delivery is either accepted or logged
// with the reason for its rejection.
func TestBodiesOfDeliveries(t *testing.T) {
	t.Parallel()
	h := serveHooks(t, testkit.ServeOptions{Args: noWorker})
	w := h.tokenHook("bodies")
	s := newSender(t)
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	_, _ = z.Write([]byte(`{"a": 1}`))
	_ = z.Close()
	const accepted, invalid, large = penstock.OutcomeAccepted, penstock.OutcomeRejectedJSON, penstock.OutcomeRejectedSize
	tests := []struct {
		name, body string
		want       penstock.Outcome
		header     string // of Content-Encoding
		kind       string // Content-Type; "": text/plain
	}{
		{name: "an object", body: `{"a": 1}`, want: accepted},
		{name: "null", body: "null", want: accepted},
		{name: "a number that no float holds", body: "9007199254740993e400", want: accepted},
		{name: "white space around the value", body: " \t\r\n[1]\r\n\t ", want: accepted},
		{name: "equal keys", body: `{"a": 1, "a": 2}`, want: accepted},
		{name: "half a surrogate pair", body: `"\ud800"`, want: accepted},
		{name: "the other half", body: `{"a": ["x\udfff"]}`, want: accepted},
		{name: "a surrogate pair the wrong way round", body: `{"a": "\udc00\ud800"}`, want: accepted},
		{name: "half a surrogate pair in keys", body: `{"\ud800": {"\udc00x": 1}, "\ud800": 2}`, want: accepted},
		{
			name: "half a surrogate pair deep inside",
			body: strings.Repeat(`{"a":[`, 300) + `"\uD83D"` + strings.Repeat("]}", 300), want: accepted,
		},
		{name: "half an escape", body: `"\ud8"`, want: invalid},
		{name: "as large as may be", body: text(maxBody), want: accepted},
		{name: "one byte larger", body: text(maxBody + 1), want: large},
		{name: "white space over the limit", body: "1" + strings.Repeat(" ", maxBody), want: large},
		{name: "much larger", body: text(3 * maxBody), want: large},
		{name: "as deep as may be", body: nested(10_000), want: accepted},
		{name: "one level deeper", body: nested(10_001), want: invalid},
		{name: "as deep as fits", body: strings.Repeat("[", maxBody), want: invalid},
		{name: "deep objects", body: strings.Repeat(`{"":`, 10_001) + "1" + strings.Repeat("}", 10_001), want: invalid},
		{name: "invalid UTF-8", body: "\"\xff\"", want: invalid},
		{name: "a surrogate as UTF-8", body: "\"\xed\xa0\x80\"", want: invalid},
		{name: "an overlong character", body: "\"\xc0\xaf\"", want: invalid},
		{name: "a byte order mark", body: "\xef\xbb\xbf{}", want: accepted},
		{name: "UTF-16", body: "\xff\xfe{\x00}\x00", want: invalid},
		{name: "empty", body: "", want: invalid},
		{name: "white space alone", body: " \r\n", want: invalid},
		{name: "two values", body: "{}{}", want: invalid},
		{name: "two values on two lines", body: "{}\n{}\n", want: invalid},
		{name: "a value and a comma", body: "{},", want: invalid},
		{name: "a value cut off", body: `{"a": "b`, want: invalid},
		{name: "NaN", body: `{"a": NaN}`, want: invalid},
		{name: "a NUL behind the value", body: "{}\x00", want: invalid},
		{name: "a control character in a string", body: "\"\x01\"", want: invalid},
		{name: "a form", body: "payload=%7B%7D", want: invalid},
		{
			name: "a form in parts", kind: "multipart/form-data; boundary=b",
			body: "--b\r\nContent-Disposition: form-data; name=\"payload\"\r\n\r\n{}\r\n--b--\r\n", want: invalid,
		},
		{
			name: "a form in parts said to be JSON", kind: "application/json",
			body: "--b\r\nContent-Type: application/json\r\n\r\n{\"part\": 1}\r\n--b--\r\n", want: invalid,
		},
		{name: "XML", kind: "application/xml", body: `<?xml version="1.0"?><event id="1"><a>{}</a></event>`, want: invalid},
		{
			name: "XML with entities", kind: "text/xml",
			body: `<!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/passwd">]><a>&b;</a>`, want: invalid,
		},
		{
			name: "SOAP said to be JSON", kind: "application/json",
			body: `<soap:Envelope xmlns:soap="x"><soap:Body/></soap:Envelope>`, want: invalid,
		},
		{name: "JSON said to be XML", kind: "application/xml", body: `{"kind": "xml"}`, want: accepted},
		{
			name: "JSON said to be a form in parts", kind: "multipart/form-data; boundary=b", body: `{"kind": "multipart"}`,
			want: accepted,
		},
		{name: "JSON behind a guard against scripts", body: ")]}'\n{}", want: invalid},
		{name: "compressed", body: zipped.String(), header: "gzip", want: invalid},
		{name: "compressed without saying so", body: zipped.String(), want: invalid},
		{name: "said to be compressed", body: `{"b": 1}`, header: "gzip", want: invalid},
		{name: "said to be as it is", body: `{"c": 1}`, header: "identity", want: accepted},
	}
	status := map[penstock.Outcome]int{
		accepted: http.StatusAccepted, invalid: http.StatusBadRequest, large: http.StatusRequestEntityTooLarge,
	}
	for _, test := range tests {
		for _, chunked := range []bool{false, true} {
			name := fmt.Sprintf("%s, in chunks: %v", test.name, chunked)
			header := bearer(
				w, "X-Penstock-Delivery-Id", strings.ReplaceAll(name, " ", "_"), "Content-Type", cmp.Or(test.kind, "text/plain"),
			)
			if test.header != "" {
				header["Content-Encoding"] = test.header
			}
			var body io.Reader = strings.NewReader(test.body)
			if chunked {
				body = struct{ io.Reader }{body} // of unknown length
			}
			got, err := s.try(t.Context(), http.MethodPost, h.url(w), header, body)
			if err != nil || got.status != status[test.want] {
				t.Errorf("%s: got %d (%v), want %d: %s", name, got.status, err, status[test.want], got.body)
				continue
			}
			newest := h.log(w, "")[0]
			if newest.Outcome != test.want || newest.HTTPStatus != got.status {
				t.Errorf("%s: got %s in the log with the status %d", name, newest.Label, newest.HTTPStatus)
			}
			if test.header == "gzip" && newest.Reason != "content_encoding" {
				t.Errorf("%s: got the reason %q, want content_encoding", name, newest.Reason)
			}
			known := []string{"invalid_json", "form", "content_encoding"}
			if test.want == invalid && (!slices.Contains(known, newest.Reason) || newest.Detail == "" ||
				newest.Label != "Rejected (invalid JSON)") {
				t.Errorf("%s: got %s %q in the log", name, newest.Label, newest.Reason)
			}
			if want := int64(len(test.body)); newest.Size != want && test.want != large {
				t.Errorf("%s: got the size %d, want %d", name, newest.Size, want)
			}
			payload := send(t, h.Server, http.MethodGet, h.hookPath(w)+"/deliveries/"+newest.ID+"/payload", "")
			switch {
			case test.want == accepted && (payload.status != http.StatusOK || string(payload.body) != test.body):
				t.Errorf(
					"%s: got %d and %d bytes of payload, want the %d that were sent", name, payload.status, len(payload.body),
					len(test.body),
				)
			case test.want != accepted && payload.status != http.StatusNotFound:
				t.Errorf("%s: got %d for a payload that is not kept", name, payload.status)
			}
		}
	}
}

// The order of the checks, and the checks that happen before the body is read.
func TestOrderOfChecks(t *testing.T) {
	t.Parallel()
	h := serveHooks(t, testkit.ServeOptions{Args: noWorker})
	token, github := h.tokenHook("token"), h.githubHook("github")
	tooLarge, broken := text(maxBody+1), `{"a"`
	s := newSender(t)
	for name, test := range map[string]struct {
		w      penstock.Webhook
		header map[string]string
		body   string
		want   int
	}{
		"a wrong token before the size": {
			token, map[string]string{"Authorization": "Bearer x"}, tooLarge, http.StatusUnauthorized,
		},
		"a wrong token before the JSON": {
			token, map[string]string{"Authorization": "Bearer x"}, broken, http.StatusUnauthorized,
		},
		"a basic credential": {
			token, map[string]string{"Authorization": "Basic " + token.Secret}, "{}", http.StatusUnauthorized,
		},
		"a token in the query":              {token, nil, "{}", http.StatusUnauthorized},
		"the size behind the token":         {token, bearer(token), tooLarge, http.StatusRequestEntityTooLarge},
		"the JSON behind the token":         {token, bearer(token), broken, http.StatusBadRequest},
		"no signature before the size":      {github, nil, tooLarge, http.StatusUnauthorized},
		"the size before a signature":       {github, signed("x"), tooLarge, http.StatusRequestEntityTooLarge},
		"a wrong signature before the JSON": {github, signed("x"), broken, http.StatusUnauthorized},
		"the JSON behind the signature":     {github, signed(broken), broken, http.StatusBadRequest},
		"the older signature, which is SHA1": {
			github, map[string]string{"X-Hub-Signature": "sha1=0000"}, "{}", http.StatusUnauthorized,
		},
	} {
		url := h.url(test.w)
		if name == "a token in the query" {
			url += "?token=" + token.Secret + "&access_token=" + token.Secret
		}
		if got := s.post(url, test.header, test.body); got.status != test.want {
			t.Errorf("%s: got %d, want %d: %s", name, got.status, test.want, got.body)
		}
	}

	// The server does not ask for the body of an unauthenticated delivery.
	for name, test := range map[string]struct {
		path, header string
		want         int
	}{
		"wrong token":  {"/webhooks/w/" + token.UID, "Authorization: Bearer x\r\n", http.StatusUnauthorized},
		"no signature": {"/webhooks/w/" + github.UID, "", http.StatusUnauthorized},
		"no such":      {"/webhooks/w/" + penstock.NewUID(), "", http.StatusNotFound},
		"said too large": {
			"/webhooks/w/" + token.UID, "Authorization: Bearer " + token.Secret + "\r\nContent-Length: 262145\r\n",
			http.StatusRequestEntityTooLarge,
		},
	} {
		if !strings.Contains(test.header, "Content-Length") {
			test.header += "Content-Length: 262144\r\n"
		}
		got := wire(t, h, "POST "+test.path+" HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\n"+test.header+"\r\n")
		if got.status != test.want {
			t.Errorf("%s: got %d, want %d before the body", name, got.status, test.want)
		}
	}
}

func TestSecurityHeadersComeOnce(t *testing.T) {
	t.Parallel()
	h := serveHooks(t, testkit.ServeOptions{Args: noWorker})
	token, github := h.tokenHook("token"), h.githubHook("github")
	standard := h.hook(
		map[string]any{"name": "standard", "auth_mode": "signature", "signature_scheme": "standard_webhooks"},
	)
	right := "Authorization: Bearer " + token.Secret + "\r\n"
	signature := "X-Hub-Signature-256: " + signed("{}")["X-Hub-Signature-256"] + "\r\n"
	for name, test := range map[string]struct {
		w      penstock.Webhook
		header string
	}{
		"two tokens, both right":      {token, right + right},
		"two tokens, the first right": {token, right + "Authorization: Bearer x\r\n"},
		"two tokens, the last right":  {token, "Authorization: Bearer x\r\n" + right},
		"two tokens in one line":      {token, "Authorization: Bearer x, Bearer " + token.Secret + "\r\n"},
		"a folded line":               {token, "Authorization: Bearer\r\n " + token.Secret + "x\r\n"},
		"two signatures, both right":  {github, signature + signature},
		"two signatures, a right one": {github, signature + "X-Hub-Signature-256: sha256=00\r\n"},
		"two signatures in one line":  {github, strings.TrimSpace(signature) + ", sha256=00\r\n"},
		"two names of a signature":    {github, signature + strings.ToUpper("X-Hub-Signature-256") + ": sha256=00\r\n"},
		"two ids of a signed delivery": {
			standard, "webhook-id: a\r\nwebhook-id: b\r\nwebhook-timestamp: 1\r\nwebhook-signature: v1,AA==\r\n",
		},
		"two times of a signed message": {
			standard, "webhook-id: a\r\nwebhook-timestamp: 1\r\nwebhook-timestamp: 1\r\nwebhook-signature: v1,AA==\r\n",
		},
	} {
		got := wire(t, h, "POST /webhooks/w/"+test.w.UID+" HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n"+test.header+"\r\n{}")
		if got.status != http.StatusUnauthorized {
			t.Errorf("%s: got %d, want 401", name, got.status)
		}
	}
	if got := wire(
		t, h, "POST /webhooks/w/"+token.UID+" HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n"+right+"\r\n{}",
	); got.status != http.StatusAccepted {
		t.Errorf("got %d for the right token, once", got.status)
	}
	if n := h.outcomes(token)[penstock.OutcomeAccepted] + h.outcomes(github)[penstock.OutcomeAccepted]; n != 1 {
		t.Errorf("%d deliveries were accepted, want the one", n)
	}
}

// Other spellings of a path return 404 with the same bytes. They never redirect, because a redirect
// would repeat a token.
func TestPathsAreNotNormalized(t *testing.T) {
	t.Parallel()
	h := serveHooks(t, testkit.ServeOptions{Args: append(noWorker, "--limit-auth-failures-per-address", "0")})
	token := h.tokenHook("token")
	inURL := h.hook(map[string]any{"name": "in-url", "auth_mode": "url_token"})
	ask := func(path string) reply {
		return wire(
			t, h, "POST "+path+" HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer "+token.Secret+"\r\nContent-Length: 2\r\n\r\n{}",
		)
	}
	nowhere := ask("/webhooks/w/" + penstock.NewUID())
	if nowhere.status != http.StatusNotFound {
		t.Fatalf("got %d for a webhook that there is not", nowhere.status)
	}
	u, secret := token.UID, inURL.Secret
	for _, path := range []string{
		"/webhooks/w/" + swapCase(u), "/webhooks/w/" + strings.ToUpper(u), "/webhooks/w/" + u + "/",
		"/webhooks/w/" + u + "//", "/webhooks/w/" + u + "/.",
		"/webhooks/w/" + u + "/..", "/webhooks/w/" + u + "/../" + u, "/webhooks/w/" + u + "%2F", "/webhooks/w/" + u + "%2f",
		"/webhooks/w%2F" + u, "/webhooks%2Fw/" + u,
		"/webhooks%2fw%2f" + u, "%2Fwebhooks/w/" + u, "//webhooks/w/" + u, "/webhooks//w/" + u, "/webhooks/w//" + u,
		"/webhooks/w/./" + u, "/./webhooks/w/" + u,
		"/webhooks/w/../w/" + u, "/x/../webhooks/w/" + u, "/webhooks/x/../w/" + u, "/webhooks/w/%2e%2e/w/" + u,
		"/webhooks/w/" + u + "/" + token.Secret,
		"/webhooks/w/" + u + ";x", "/webhooks/w/" + u + "%00", "/webhooks/w/" + u + "%20", "/webhooks/w/" + u + "%0a",
		"/webhooks/w/" + u[:21], "/webhooks/w/" + u + "x",
		"/webhooks/w/%" + fmt.Sprintf("%02X", u[0]) + u[1:], "/webhooks/%77/" + u, "/%77ebhooks/w/" + u, "/Webhooks/w/" + u,
		"/webhooks/W/" + u, "/WEBHOOKS/w/" + u,
		"/webhooks/w/", "/webhooks/w", "/webhooks/w/*", `/webhooks\w\` + u, `/webhooks/w/` + u + `\`,
		"/webhooks/w/" + inURL.UID + "/" + secret + "/", "/webhooks/w/" + inURL.UID + "/" + secret + "/x",
		"/webhooks/w/" + inURL.UID + "//" + secret,
		"/webhooks/w/" + inURL.UID + "/./" + secret, "/webhooks/w/" + inURL.UID + "/x/../" + secret,
		"/webhooks/w/" + inURL.UID + "%2F" + secret,
		"/webhooks/w/" + swapCase(inURL.UID) + "/" + secret, "//webhooks/w/" + inURL.UID + "/" + secret,
		"/webhooks/w/" + inURL.UID + "/" + secret + "%2F",
	} {
		got := ask(path)
		if strings.HasPrefix(path, "%") && got.status == http.StatusBadRequest {
			continue // no path at all
		}
		if got.status != http.StatusNotFound || got.header.Get("Location") != "" {
			t.Errorf("POST %s: got %d to %q, want 404", path, got.status, got.header.Get("Location"))
		}
		if strings.HasPrefix(path, "/webhooks/w/") && !bytes.Equal(got.body, nowhere.body) {
			t.Errorf("POST %s: got %s, want the bytes of a webhook that there is not", path, got.body)
		}
		if strings.Contains(string(got.body), secret) || strings.Contains(fmt.Sprint(got.header), secret) {
			t.Errorf("POST %s: the response repeats the token: %s", path, got.body)
		}
	}
	for path, want := range map[string]int{
		"/webhooks/w/" + inURL.UID + "/" + swapCase(secret):                 http.StatusUnauthorized,
		"/webhooks/w/" + inURL.UID + "/" + strings.ToLower(secret):          http.StatusUnauthorized,
		"/webhooks/w/" + inURL.UID + "/" + secret + "x":                     http.StatusUnauthorized,
		"/webhooks/w/" + inURL.UID + "/" + secret[:len(secret)-1]:           http.StatusUnauthorized,
		"/webhooks/w/" + inURL.UID:                                          http.StatusUnauthorized,
		"/webhooks/w/" + inURL.UID + "?token=" + secret:                     http.StatusUnauthorized,
		"/webhooks/w/" + inURL.UID + "/" + secret:                           http.StatusAccepted,
		"/webhooks/w/" + inURL.UID + "/" + secret + "?a=%2F..%2F&b=//x/../": http.StatusAccepted,
		"/webhooks/w/" + u + "?x=y":                                         http.StatusAccepted,
	} {
		if got := ask(path); got.status != want {
			t.Errorf("POST %s: got %d, want %d", path, got.status, want)
		}
	}
	if len(h.log(token, "")) != 1 {
		t.Errorf("got %d entries in the log, want the one delivery", len(h.log(token, "")))
	}
}

func swapCase(s string) string {
	return strings.Map(func(r rune) rune {
		if up := strings.ToUpper(string(r)); up != string(r) {
			return rune(up[0])
		}
		return rune(strings.ToLower(string(r))[0])
	}, s)
}

// 405 comes first, so it does not reveal whether the webhook exists.
func TestOnlyPostIsAccepted(t *testing.T) {
	t.Parallel()
	h := serveHooks(t, testkit.ServeOptions{Args: noWorker})
	w := h.hook(map[string]any{"name": "in-url", "auth_mode": "url_token"})
	s := newSender(t)
	for _, method := range []string{"GET", "PUT", "HEAD", "OPTIONS", "DELETE", "PATCH", "post", "FOO"} {
		var bodies []string
		for _, url := range []string{
			h.url(w), h.URL + "/webhooks/w/" + w.UID, h.URL + "/webhooks/w/" + penstock.NewUID(), h.URL + "/webhooks/w/x/y/z",
		} {
			got, err := s.try(
				t.Context(), method, url,
				map[string]string{"Origin": "https://example.com", "Access-Control-Request-Method": "POST"}, http.NoBody,
			)
			if err != nil || got.status != http.StatusMethodNotAllowed || got.header.Get("Allow") != "POST" {
				t.Errorf("%s: got %d with Allow %q (%v), want 405 with POST", method, got.status, got.header.Get("Allow"), err)
			}
			bodies = append(bodies, string(got.body))
		}
		for _, body := range bodies {
			if body != bodies[0] {
				t.Errorf("%s: the responses differ: %q", method, bodies)
			}
		}
	}
	if n := len(h.log(w, "")); n != 0 {
		t.Errorf("%d entries in the log, want none", n)
	}
}
