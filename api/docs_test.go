package api_test

import (
	"compress/gzip"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v4"

	"github.com/penstock-dev/penstock/api"
)

const origin = "https://penstock.example.com"

var docs = api.Docs(origin)

func get(t *testing.T, path string, header map[string]string) *httptest.ResponseRecorder {
	t.Helper()
	req := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
	for name, value := range header {
		req.Header.Set(name, value)
	}
	w := httptest.NewRecorder()
	docs.ServeHTTP(w, req)
	return w
}

func body(t *testing.T, path string) string {
	t.Helper()
	w := get(t, path, nil)
	if w.Code != http.StatusOK {
		t.Fatalf("%s: got status %d", path, w.Code)
	}
	return w.Body.String()
}

func htmlPages() []string {
	pages := []string{"/docs", "/docs/errors"}
	for _, info := range api.ErrorInfos() {
		pages = append(pages, "/docs/errors/"+info.Code)
	}
	return pages
}

func TestDocsAreServedWithTheirHeaders(t *testing.T) {
	t.Parallel()
	for path, contentType := range map[string]string{
		"/docs":                  "text/html; charset=utf-8",
		"/docs/":                 "text/html; charset=utf-8",
		"/docs/errors":           "text/html; charset=utf-8",
		"/docs/errors/conflict":  "text/html; charset=utf-8",
		"/docs/style.css":        "text/css; charset=utf-8",
		"/docs/openapi.yaml":     "application/yaml",
		"/docs/openapi.json":     "application/json",
		"/docs/errors/no_such":   "text/plain; charset=utf-8",
		"/docs/reference.tmpl":   "text/plain; charset=utf-8",
		"/docs/../openapi.yaml":  "text/plain; charset=utf-8",
		"/docs/errors/conflict/": "text/html; charset=utf-8",
	} {
		w := get(t, path, nil)
		wantStatus := http.StatusOK
		if strings.HasPrefix(contentType, "text/plain") {
			wantStatus = http.StatusNotFound
		}
		if w.Code != wantStatus {
			t.Errorf("%s: got status %d, want %d", path, w.Code, wantStatus)
		}
		for header, want := range map[string]string{
			"Content-Type":           contentType,
			"X-Content-Type-Options": "nosniff",
			"Content-Security-Policy": "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; " +
				"frame-ancestors 'none'",
		} {
			if got := w.Header().Get(header); got != want {
				t.Errorf("%s: got %s %q, want %q", path, header, got, want)
			}
		}
		if cached := w.Header().Get("ETag") != "" && w.Header().Get("Cache-Control") != ""; cached != (wantStatus == 200) {
			t.Errorf("%s: has ETag and Cache-Control: %t", path, cached)
		}
	}
}

func TestDocsAreNotSentTwice(t *testing.T) {
	t.Parallel()
	for _, encoding := range []string{"", "gzip, deflate, br"} {
		header := map[string]string{"Accept-Encoding": encoding}
		tag := get(t, "/docs", header).Header().Get("ETag")
		for _, condition := range []string{tag, "W/" + tag, `"other", ` + tag, "*"} {
			header["If-None-Match"] = condition
			w := get(t, "/docs", header)
			if w.Code != http.StatusNotModified || w.Body.Len() > 0 || w.Header().Get("ETag") != tag {
				t.Errorf("If-None-Match %s: got %d with %d bytes", condition, w.Code, w.Body.Len())
			}
		}
		header["If-None-Match"] = `"other"`
		if w := get(t, "/docs", header); w.Code != http.StatusOK {
			t.Errorf("If-None-Match of something else: got %d", w.Code)
		}
	}
}

func TestDocsAreCompressedForClientsThatAcceptIt(t *testing.T) {
	t.Parallel()
	for accept, want := range map[string]string{
		"gzip": "gzip", "br, GZIP;q=0.5": "gzip", "": "", "br": "", "gzip;q=0": "", "gzip; q=0.0": "", "identity": "",
	} {
		h := get(t, "/docs", map[string]string{"Accept-Encoding": accept}).Header()
		if got := h.Get("Content-Encoding"); got != want {
			t.Errorf("Accept-Encoding %q: got %q, want %q", accept, got, want)
		}
		if h.Get("Vary") != "Accept-Encoding" {
			t.Errorf("Accept-Encoding %q: Vary is %q", accept, h.Get("Vary"))
		}
	}
	zipped, err := gzip.NewReader(get(t, "/docs", map[string]string{"Accept-Encoding": "gzip"}).Body)
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(zipped)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != body(t, "/docs") {
		t.Error("the compressed page is not the same page")
	}
}

func TestDocsAreReadOnly(t *testing.T) {
	t.Parallel()
	for method, want := range map[string]int{"HEAD": 200, "POST": 405, "DELETE": 405} {
		w := httptest.NewRecorder()
		api.Docs("").ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), method, "/docs", nil))
		if w.Code != want || want == 200 && w.Body.Len() > 0 || want == 405 && w.Header().Get("Allow") != "GET, HEAD" {
			t.Errorf("%s: got %d, %d bytes, Allow %q", method, w.Code, w.Body.Len(), w.Header().Get("Allow"))
		}
	}
}

func TestTheReferenceShowsEverything(t *testing.T) {
	t.Parallel()
	page := body(t, "/docs")
	for _, op := range operations(t) {
		for _, want := range []string{`id="` + op.OperationID + `"`, "<code>/api/v1" + op.path + "</code>"} {
			if !strings.Contains(page, want) {
				t.Errorf("%s is not shown: no %s", op, want)
			}
		}
	}
	for name, schema := range load(t).Components.Schemas {
		if !strings.Contains(page, `id="schema-`+name+`"`) {
			t.Errorf("the schema %s is not shown", name)
		}
		for property := range schema.Value.Properties {
			if !strings.Contains(page, `<code class="name">`+property+`</code>`) {
				t.Errorf("%s.%s is not shown", name, property)
			}
		}
	}
}

var (
	idPattern   = regexp.MustCompile(`\bid="([^"]*)"`)
	hrefPattern = regexp.MustCompile(`\b(?:href|src)="([^"]*)"`)
)

func TestEveryLinkOfThePagesLeadsSomewhere(t *testing.T) {
	t.Parallel()
	ids := map[string][]string{}
	pages := map[string]string{}
	for _, path := range htmlPages() {
		pages[path] = body(t, path)
		for _, m := range idPattern.FindAllStringSubmatch(pages[path], -1) {
			if slices.Contains(ids[path], m[1]) {
				t.Errorf("%s: the id %s stands there twice", path, m[1])
			}
			ids[path] = append(ids[path], m[1])
		}
	}
	for path, page := range pages {
		for _, m := range hrefPattern.FindAllStringSubmatch(page, -1) {
			target, fragment, hasFragment := strings.Cut(m[1], "#")
			if target == "" {
				target = path
			}
			if w := get(t, target, nil); w.Code != http.StatusOK {
				t.Errorf("%s: the link %s leads to a %d", path, m[1], w.Code)
			}
			if hasFragment && !slices.Contains(ids[target], fragment) {
				t.Errorf("%s: the link %s leads to no such place", path, m[1])
			}
		}
	}
}

// The browser would not load anything that the policy forbids.
func TestThePagesNeedNoScriptAndNobodyElse(t *testing.T) {
	t.Parallel()
	forbidden := regexp.MustCompile(
		`(?i)<script|<style|\sstyle=|\son[a-z]+=|javascript:|<iframe|<img|(?:src|href)="(?:https?:)?//`,
	)
	for _, path := range htmlPages() {
		page := body(t, path)
		if found := forbidden.FindString(page); found != "" {
			t.Errorf("%s has %q", path, found)
		}
		if !strings.Contains(page, `<html lang="en">`) || !strings.Contains(page, `<main id="main"`) ||
			strings.Count(page, "<h1>") != 1 {
			t.Errorf("%s lacks what a screen reader needs", path)
		}
	}
	if found := regexp.MustCompile(`url\(|@import`).FindString(body(t, "/docs/style.css")); found != "" {
		t.Errorf("the stylesheet has %q", found)
	}
}

func TestTheJSONFormIsTheSameDocument(t *testing.T) {
	t.Parallel()
	text := body(t, "/docs/openapi.json")
	var got, want any
	if err := json.Unmarshal([]byte(text), &got); err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(api.OpenAPI, &want); err != nil {
		t.Fatal(err)
	}
	normal, err := json.Marshal(want) // numbers become JSON numbers
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(normal, &want); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("openapi.json (-yaml +json):\n%s", diff)
	}
	if strings.Index(text, `"openapi"`) > strings.Index(text, `"info"`) ||
		strings.Index(text, `"paths"`) > strings.Index(text, `"components"`) {
		t.Error("the order of the document is lost")
	}
}

func TestErrorPages(t *testing.T) {
	t.Parallel()
	if _, ok := api.ErrorPage("<script>"); ok {
		t.Error("there is a page for a code that there is none of")
	}
	page, ok := api.ErrorPage("rate_limited")
	if !ok {
		t.Fatal("there is no page for rate_limited")
	}
	for _, want := range []string{"<h1>Rate limited</h1>", "429", "<code>Retry-After</code>"} {
		if !strings.Contains(string(page), want) {
			t.Errorf("the page of rate_limited lacks %q", want)
		}
	}
}

// A shell runs each example, with a curl that prints its arguments.
func TestTheShellExamplesSendTheDocumentedRequests(t *testing.T) {
	t.Parallel()
	page := body(t, "/docs")
	for _, op := range operations(t) {
		_, after, _ := strings.Cut(page, `<article class="operation" aria-labelledby="`+op.OperationID+`">`)
		_, after, _ = strings.Cut(after, "<figcaption>Request</figcaption><pre><code>")
		command, _, _ := strings.Cut(after, "</code>")
		unescape := strings.NewReplacer("&#34;", `"`, "&#39;", "'", "&lt;", "<", "&gt;", ">", "&amp;", "&")
		args := shellArguments(t, unescape.Replace(command))

		method := "GET"
		var url, sent string
		headers := map[string]string{}
		for i := 0; i < len(args); i++ {
			switch args[i] {
			case "-X":
				i++
				method = args[i]
			case "-H":
				i++
				name, value, _ := strings.Cut(args[i], ": ")
				headers[name] = value
			case "-d":
				i++
				method, sent = "POST", args[i]
			case "-T": // a file, unchanged
				i++
				method, sent = "PUT", "{}"
			case "-N", "-LOJ":
			default:
				url = args[i]
			}
		}
		if slices.Contains(args, "-X") { // it overrides -d
			method = args[slices.Index(args, "-X")+1]
		}
		if path := regexp.MustCompile(`\{[a-zA-Z]+\}`).ReplaceAllString(op.path, `[^/{}]+`); method != op.method ||
			!regexp.MustCompile("^"+origin+"/api/v1"+path+`(\?.*)?$`).MatchString(url) {
			t.Errorf("%s: the example calls %s %s", op, method, url)
		}
		if got := headers["Authorization"]; (got == "Bearer psk_test") != op.keyed() {
			t.Errorf("%s: the example sends the key %q", op, got)
		}
		if _, has := headers["Idempotency-Key"]; has != (op.method == "POST" && op.keyed()) {
			t.Errorf("%s: the example sends an Idempotency-Key: %t", op, has)
		}
		if op.RequestBody != nil && !json.Valid([]byte(sent)) {
			t.Errorf("%s: the example sends %q", op, sent)
		}
	}
}

func shellArguments(t *testing.T, command string) []string {
	t.Helper()
	script := `uuidgen() { echo id; }; PENSTOCK_API_KEY=psk_test; curl() { for a in "$@"; do printf '%s\0' "$a"; done; }; `
	out, err := exec.CommandContext(t.Context(), "sh", "-euc", script+command).CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", command, err, out)
	}
	return strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
}
