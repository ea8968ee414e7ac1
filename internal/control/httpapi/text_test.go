package httpapi_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"net/url"
	"strings"
	"testing"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/httpapi"
	"github.com/penstock-dev/penstock/internal/control/store"
	"github.com/penstock-dev/penstock/internal/testkit"
)

// unstorable are texts that PostgreSQL neither stores nor compares.
var unstorable = []string{"\x00", "a\x00b", "\xff", "a\xed\xa0\x80"}

// Callers can alter a cursor. One that no database accepts is an invalid cursor.
func TestCursorsWithTextsThatPostgreSQLRejects(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, url string) {
		w := start(t, func(s *settings) { s.storeURL = url })
		d := &driver{world: w, seen: map[string]string{}}
		d.makeWebhooks()
		for range 2 {
			w.newRun("look")
			w.must(http.StatusCreated, "POST", "/api/v1/factory", map[string]any{"name": penstock.NewUID()})
		}
		factory := "/api/v1/factory/" + d.seen["factory"]
		lists := []string{
			"/api/v1/factory?", factory + "/webhooks/" + d.seen["webhook"] + "/deliveries?", factory + "/definition/history?",
		}
		for _, by := range []string{"updated_at", "created_at", "title", "agent"} {
			lists = append(lists, "/api/v1/agent/runs?sort_by="+by, "/api/v1/agent/runs?sort_order=asc&sort_by="+by)
		}
		for _, list := range lists {
			var page struct {
				Info store.PageInfo `json:"page_info"`
			}
			w.must(http.StatusOK, "GET", list+"&limit=1", nil).into(t, &page)
			cursor := page.Info.NextCursor
			if cursor == "" {
				t.Fatalf("%s has one page", list)
			}
			w.must(http.StatusOK, "GET", list+"&cursor="+cursor, nil)
			for _, bad := range spoiled(cursor) {
				a := w.do("GET", list+"&cursor="+bad, nil)
				if a.status != http.StatusBadRequest || !strings.Contains(a.body, "cursor") {
					t.Errorf("%s with the cursor %s: got %d %s, want a 400 that names it", list, bad, a.status, a.body)
				}
			}
		}
	})
}

// spoiled are valid-looking cursors with a text that no database accepts.
func spoiled(cursor string) []string {
	all := []string{"%00", "%FF", cursor + "%00", base64.RawURLEncoding.EncodeToString([]byte("\x00"))}
	text, err := base64.RawURLEncoding.DecodeString(cursor)
	var fields map[string]string
	if err != nil || json.Unmarshal(text, &fields) != nil {
		return all // it is a number
	}
	for name := range fields {
		for _, bad := range []string{`"\u0000"`, `"a\u0000b"`, `"1\u0000"`, "\"\x00\"", `{}`, `""`} {
			if bad == `""` && name == "v" {
				continue // a run without a title has none
			}
			spoilt := map[string]json.RawMessage{}
			for other, value := range fields {
				spoilt[other], _ = json.Marshal(value)
			}
			spoilt[name] = json.RawMessage(bad)
			var out []string
			for key, value := range spoilt {
				out = append(out, fmt.Sprintf("%q:%s", key, value))
			}
			all = append(all, base64.RawURLEncoding.EncodeToString([]byte("{"+strings.Join(out, ",")+"}")))
		}
	}
	return all
}

// Whatever a caller sends in a path, a query, a header, a body or a form, the database never gets a
// text that it refuses. No response is a 5xx.
func TestTextsThatPostgreSQLRejects(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, url string) {
		forge := testkit.NewForge(t, t.TempDir())
		w := start(t, func(s *settings) { s.storeURL, s.forge, s.idp = url, forge, testkit.NewIDP(t, nil) })
		d := &driver{world: w, seen: map[string]string{"forge url": forge.URL}, storeURL: url}
		d.callWell()
		operations := d.operations()
		t.Run("paths", func(*testing.T) { d.spoilPaths() })
		t.Run("queries", func(*testing.T) { d.spoilQueries(operations) })
		t.Run("bodies", func(*testing.T) { d.spoilBodies(operations) })
		t.Run("headers", func(*testing.T) { d.spoilHeaders() })
		t.Run("forms", func(*testing.T) { d.spoilForms() })
	})
}

// taken sends a request that may be refused, but must not fail.
func (d *driver) taken(what, method, path string, body any, headers ...string) (status int) {
	d.t.Helper()
	a := d.do(method, path, body, headers...)
	if a.status >= http.StatusInternalServerError {
		d.t.Errorf("%s: %s %s: got %d %s", what, method, path, a.status, a.body)
	}
	return a.status
}

func (d *driver) spoilPaths() {
	for _, r := range httpapi.Routes() {
		parts := strings.Split(r.Pattern, "/")
		for at, part := range parts {
			if !strings.HasPrefix(part, "{") {
				continue
			}
			for _, text := range unstorable {
				path := make([]string, len(parts))
				for i, other := range parts {
					switch {
					case i == at:
						path[i] = url.PathEscape(text)
					case strings.HasPrefix(other, "{"):
						path[i] = d.seen["factory"]
					default:
						path[i] = other
					}
				}
				if got := d.taken("path", r.Method, strings.Join(path, "/"), "{}"); got < 400 {
					d.t.Errorf("%s %s with %q: got %d", r.Method, r.Pattern, text, got)
				}
			}
		}
	}
}

func (d *driver) spoilQueries(operations []operation) {
	tried := 0
	for _, r := range testkit.NewContract(d.t).Routes() {
		for _, op := range operations {
			path, _, _ := strings.Cut(op.path, "?")
			if op.method != r.Method || !sameRoute(r.Path, path) {
				continue
			}
			for _, name := range r.Query {
				if name == "metadata" {
					name = "metadata[a]"
					d.taken("query", r.Method, path+"?metadata[%00]=a", nil)
					d.taken("query", r.Method, path+"?metadata[%FF]=a", nil)
				}
				for _, text := range unstorable {
					tried++
					if got := d.taken("query", r.Method, path+"?"+name+"="+url.QueryEscape(text), nil); got != http.StatusBadRequest {
						d.t.Errorf("%s %s?%s=%q: got %d, want 400", r.Method, path, name, text, got)
					}
				}
			}
			break
		}
	}
	if tried < 100 {
		d.t.Errorf("%d queries were tried", tried)
	}
}

func sameRoute(pattern, path string) bool {
	want, got := strings.Split(pattern, "/"), strings.Split(path, "/")
	if len(want) != len(got) {
		return false
	}
	for i := range want {
		if want[i] != got[i] && !strings.HasPrefix(want[i], "{") {
			return false
		}
	}
	return true
}

// spoilBodies puts such a text into every text of every body, and beside it.
func (d *driver) spoilBodies(operations []operation) {
	for _, op := range operations {
		if op.body == nil || op.method == "DELETE" {
			continue
		}
		text, err := json.Marshal(op.body)
		if err != nil {
			d.t.Fatal(err)
		}
		for at, c := range text {
			if c != '"' || at+1 == len(text) || strings.IndexByte(`,:}]`, text[at+1]) >= 0 {
				continue // no beginning of a text
			}
			for _, bad := range []string{`\u0000`, "\xff", `\ud800`} {
				d.taken("body", op.method, op.path, string(text[:at+1])+bad+string(text[at+1:]))
			}
		}
	}
	for _, file := range []string{"factory.yaml", "agents/foreman/agent.md", "automations/a/automation.md"} {
		files := tree("acme")
		for line := range strings.SplitSeq(files[file], "\n") {
			key, value, ok := strings.Cut(line, ": ")
			if !ok {
				continue
			}
			for _, bad := range []string{`"\0"`, `"\x00"`, `"\ud800"`, `"\UFFFFFFFF"`} {
				changed := tree("acme")
				changed[file] = strings.Replace(files[file], key+": "+value, key+": "+bad, 1)
				if d.taken(
					"file", "PUT", "/api/v1/factory/"+d.seen["factory"]+"/definition", map[string]any{"files": changed},
				) < 400 {
					d.t.Errorf("%s was applied with %s: %s", file, key, bad)
				}
			}
		}
	}
}

func (d *driver) spoilHeaders() {
	run := "/api/v1/agent/runs/" + d.seen["run"]
	for name, path := range map[string]string{
		"Idempotency-Key": "/api/v1/agent/runs", "X-Penstock-Source": "/api/v1/agent/runs",
		"X-Request-ID": "/api/v1/agent/runs",
		"User-Agent":   "/api/v1/agent/runs", "Penstock-Lease": "/api/v1/worker/heartbeat",
	} {
		d.taken("header "+name, "POST", path, `{"prompt": "x"}`, name, "\xff\xed\xa0\x80")
	}
	for _, header := range [][2]string{
		{"Last-Event-ID", "\xff"},
		{"Authorization", "Bearer \xff"},
		{"Cookie", "penstock_session=\xff"},
		{"If-None-Match", "\xff"},
	} {
		d.taken("header "+header[0], "GET", run+"/events", nil, header[0], header[1])
	}
	for _, r := range httpapi.Routes() {
		if !strings.HasPrefix(r.Pattern, httpapi.Base+"/worker/") {
			continue
		}
		for _, body := range []string{
			`{"worker_id": "a\u0000", "run_id": "\u0000"}`, "{\"worker_id\": \"\xff\"}",
			`{"lease": {"run_id": "\u0000", "execution_id": 1, "token": "\u0000"}}`,
		} {
			d.taken("worker", r.Method, r.Pattern+"?id=%00", body, "X-Penstock-Lease", "x\xff/1/y\xff")
			d.taken("worker", r.Method, r.Pattern+"?id=a%00", body, "X-Penstock-Lease", d.seen["run"]+"/1/y\xff")
		}
	}
}

// spoilForms uploads files whose names and descriptions are such texts.
func (d *driver) spoilForms() {
	for _, bad := range []string{"a\x00b", "\xff", "\xed\xa0\x80"} {
		for _, field := range []string{"artifact_type", "title", "metadata", "description", bad} {
			var body bytes.Buffer
			form := multipart.NewWriter(&body)
			if err := form.WriteField(field, bad); err != nil {
				d.t.Fatal(err)
			}
			part, err := form.CreatePart(textproto.MIMEHeader{
				"Content-Disposition": {`form-data; name="file"; filename="` + bad + `"`}, "Content-Type": {"text/" + bad},
			})
			if err == nil {
				_, err = part.Write([]byte("content"))
			}
			if err == nil {
				err = form.Close()
			}
			if err != nil {
				d.t.Fatal(err)
			}
			d.taken(
				"form", "POST", "/api/v1/agent/runs/"+d.seen["run"]+"/artifacts", body.Bytes(), "Content-Type",
				form.FormDataContentType(),
			)
		}
	}
}
