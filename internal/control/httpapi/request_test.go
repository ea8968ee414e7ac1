package httpapi_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/request"
	"github.com/penstock-dev/penstock/internal/control/run"
)

func TestProblemsHaveTheirShape(t *testing.T) {
	t.Parallel()
	w := start(t)
	a := w.must(http.StatusBadRequest, "POST", "/api/v1/agent/runs", `{"prompt": "x", "config": {"harness": {"type": 7}}}`)
	var got request.Problem
	a.into(t, &got)
	want := request.Problem{
		Type: w.url + "/docs/errors/invalid_request", Title: "Invalid request", Status: 400,
		Error:    "Invalid request: /config/harness/type: must be a string, not a number",
		Detail:   "/config/harness/type: must be a string, not a number",
		Instance: "/api/v1/agent/runs",
		Errors:   []penstock.FieldError{{Pointer: "/config/harness/type", Detail: "must be a string, not a number"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for name, want := range map[string]string{
		"Content-Type": "application/problem+json", "X-Should-Retry": "false", "Cache-Control": "no-store",
		"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "X-Frame-Options": "DENY",
	} {
		if got := a.header.Get(name); got != want {
			t.Errorf("header %s: got %q, want %q", name, got, want)
		}
	}
	if page := w.do("GET", got.Type, nil, "Authorization", ""); page.status != http.StatusOK {
		t.Errorf("the page that type names: got %d", page.status)
	}
}

func TestBodiesOfTheWrongKindAreRefused(t *testing.T) {
	t.Parallel()
	w := start(t)
	large := `{"prompt": "` + strings.Repeat("x", run.MaxBodyBytes) + `"}`
	tests := []struct {
		name, body string
		headers    []string
		status     int
		want       string
	}{
		{
			"a form, as curl -d sends it", `{"prompt": "x"}`,
			[]string{"Content-Type", "application/x-www-form-urlencoded"},
			400,
			"Content-Type: application/json",
		},
		{
			"another character set", `{"prompt": "x"}`,
			[]string{"Content-Type", "application/json; charset=latin1"},
			400,
			"Content-Type: application/json",
		},
		{"compressed", `{"prompt": "x"}`, []string{"Content-Encoding", "gzip"}, 400, "without Content-Encoding"},
		{"empty", ``, nil, 400, "the body is empty"},
		{"too large", large, nil, 413, "exceeds the limit"},
		{"no type at all", `{"prompt": "x"}`, []string{"Content-Type", ""}, 200, "run_id"},
		{
			"JSON by a longer name", `{"prompt": "x"}`,
			[]string{"Content-Type", "application/vnd.x+json; charset=UTF-8"},
			200,
			"run_id",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			a := w.do("POST", "/api/v1/agent/runs", tt.body, tt.headers...)
			if a.status != tt.status || !strings.Contains(a.body, tt.want) {
				t.Errorf("got %d %s, want %d with %q", a.status, a.body, tt.status, tt.want)
			}
		})
	}
	// The body exceeds the allowance for attachments by one byte, without an announced length.
	endless := io.MultiReader(strings.NewReader(`{"prompt": "`), io.LimitReader(letters{}, 46<<20))
	if a := w.do("POST", "/api/v1/agent/runs", endless); a.status != 413 {
		t.Errorf("too large, without an announced length: got %d", a.status)
	}
}

// letters never end.
type letters struct{}

func (letters) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

// A caller that disconnects in the middle of its body starts nothing. The log does not show an
// error.
func TestAnIncompleteBodyStartsNothing(t *testing.T) {
	t.Parallel()
	w := start(t)
	id := w.newRun("x")
	g := w.work(w.svc.Executions.Control())
	_, worker := w.newKey(penstock.ScopeWorker)
	artifact, kind := form(t, "file", "@0123456789")
	upload := "--b\r\nContent-Disposition: form-data; name=\"upload\"\r\n\r\n" +
		`{"id":"` + penstock.NewID() + `","type":"FILE","artifact":{"filename":"a","mime_type":"text/plain"}}` +
		"\r\n--b\r\nContent-Disposition: form-data; name=\"content\"; filename=\"content\"\r\n\r\nthe beginning"
	lease := fmt.Sprintf("%s/%d/%s", g.a.Lease.RunID, g.a.Lease.ExecutionID, g.a.Lease.Token)
	tests := []struct{ name, method, path, key, body, headers string }{
		{"a run", "POST", "/api/v1/agent/runs", w.admin, `{"prompt": "half a`, "Content-Type: application/json"},
		{
			"an artifact", "POST", "/api/v1/agent/runs/" + id + "/artifacts", w.admin, string(artifact[:len(artifact)-30]),
			"Content-Type: " + kind,
		},
		{
			"a worker's file", "PUT", "/api/v1/worker/save", worker, upload,
			"Content-Type: multipart/form-data; boundary=b\r\nX-Penstock-Lease: " + lease,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", strings.TrimPrefix(w.url, "http://"))
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			_, _ = fmt.Fprintf(conn, "%s %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Length: 100000\r\n"+
				"%s\r\n\r\n%s",
				tt.method, tt.path, tt.key, tt.headers, tt.body)
			if half, ok := conn.(*net.TCPConn); !ok || half.CloseWrite() != nil {
				t.Fatal("the connection cannot be closed half")
			}
			resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil {
				t.Fatal(err)
			}
			_ = resp.Body.Close()
			if resp.StatusCode != http.StatusBadRequest {
				t.Errorf("got %d, want 400", resp.StatusCode)
			}
		})
	}
	var page run.Page
	w.must(http.StatusOK, "GET", "/api/v1/agent/runs", nil).into(t, &page)
	if len(page.Runs) != 1 || len(page.Runs[0].Artifacts) != 0 {
		t.Errorf("got %+v, want the one run without artifacts", page.Runs)
	}
	if log := w.log.String(); strings.Contains(log, `"level":"ERROR"`) {
		t.Errorf("the log has an error: %s", log)
	}
}

func TestAttachmentsHaveALimitOfTheirOwn(t *testing.T) {
	t.Parallel()
	w := start(t)
	run := func(prompt int, files ...int) penstock.RunRequest {
		req := penstock.RunRequest{Prompt: strings.Repeat("p", prompt)}
		for i, size := range files {
			req.Attachments = append(req.Attachments, penstock.Attachment{
				FileName: string(rune('a'+i)) + ".bin", MimeType: "application/octet-stream", Data: make([]byte, size),
			})
		}
		return req
	}
	const mb = 1 << 20
	for name, tt := range map[string]struct {
		req  penstock.RunRequest
		want int
	}{
		"25 MB of attachments":        {run(10, 12*mb, 13*mb), 200},
		"a byte more":                 {run(10, 12*mb, 13*mb, 1), 413},
		"10 MB beside an attachment":  {run(10*mb, mb), 413},
		"a long prompt, within 10 MB": {run(900<<10, mb), 200},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if a := w.do("POST", "/api/v1/agent/runs", tt.req); a.status != tt.want {
				t.Errorf("got %d %.300s, want %d", a.status, a.body, tt.want)
			}
		})
	}
}

func TestUnknownPathsAndMethods(t *testing.T) {
	t.Parallel()
	w := start(t)
	tests := []struct {
		name, method, path string
		status             int
		allow              string
	}{
		{"nothing there", "GET", "/api/v1/agent/walks", 404, ""},
		{"a trailing slash", "GET", "/api/v1/agent/runs/", 404, ""},
		{"a path that is not clean", "GET", "/api/v1//agent/runs", 404, ""},
		{"dots", "GET", "/api/v1/agent/../me", 404, ""},
		{"NUL", "GET", "/api/v1/agent/runs/%00", 404, ""},
		{"bad UTF-8", "GET", "/api/v1/agent/runs/%ff", 404, ""},
		{"another method", "DELETE", "/api/v1/agent/runs", 405, "GET, HEAD, POST"},
		{"another method of one that is only sent", "GET", "/api/v1/agent/runs/x/cancel", 405, "POST"},
		{"a method that nobody has heard of", "BREW", "/api/v1/me", 405, "GET, HEAD"},
		{"OPTIONS without CORS", "OPTIONS", "/api/v1/me", 405, "GET, HEAD"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			a := w.do(tt.method, tt.path, nil)
			if a.status != tt.status || a.header.Get("Allow") != tt.allow ||
				a.header.Get("Content-Type") != "application/problem+json" {
				t.Errorf("got %d, Allow %q, %s: %s", a.status, a.header.Get("Allow"), a.header.Get("Content-Type"), a.body)
			}
		})
	}
	if a := w.do("HEAD", "/api/v1/me", nil); a.status != 200 || a.body != "" || a.header.Get("Content-Length") == "" {
		t.Errorf("HEAD: got %d %q, length %q", a.status, a.body, a.header.Get("Content-Length"))
	}
}

func TestRequestIDs(t *testing.T) {
	t.Parallel()
	w := start(t)
	if got := w.do(
		"GET", "/api/v1/me", nil, "X-Request-Id", "Client-7.b_1",
	).header.Get("X-Request-ID"); got != "Client-7.b_1" {
		t.Errorf("a sane id: got %q", got)
	}
	for _, id := range []string{"two words", `"quoted"`, strings.Repeat("x", 129), "emoji😀"} {
		got := w.do("GET", "/api/v1/me", nil, "X-Request-Id", id).header.Get("X-Request-ID")
		if !penstock.ValidID(got) {
			t.Errorf("%q: got %q, want one of ours", id, got)
		}
	}
}

func TestUnknownFieldsAreIgnoredAndNamed(t *testing.T) {
	t.Parallel()
	w := start(t)
	a := w.must(
		http.StatusOK, "POST", "/api/v1/agent/runs", `{"prompt": "x", "promtp": "y", "config": {"model_idd": "z"}}`,
	)
	if got, want := a.header.Get("X-Penstock-Ignored-Fields"), "/promtp, /config/model_idd"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// Settings of forges limit a run, so a misspelled one, or one of a later release, is an error. It names what is
// allowed.
func TestUnknownSettingsOfForgesAreRefused(t *testing.T) {
	t.Parallel()
	w := start(t)
	var agent penstock.Identity
	w.must(http.StatusCreated, "POST", "/api/v1/agent/identities", `{"name": "a"}`).into(t, &agent)
	for _, test := range []struct{ method, path, body, pointer, allowed string }{
		{
			"POST", "/agent/runs", `{"prompt": "x", "config": {"forge": {"inputs": {}}}}`, "/config/forge/inputs",
			"push, outputs",
		},
		{
			"POST", "/agent/runs", `{"prompt": "x", "config": {"forge": {"outputs": {"review": {}}}}}`,
			"/config/forge/outputs/review", "pull_request, limits, approval, status",
		},
		{
			"POST", "/agent/runs", `{"prompt": "x", "config": {"forge": {"outputs": {"limits": {"issue": 1}}}}}`,
			"/config/forge/outputs/limits/issue", "pull_request, comment",
		},
		{
			"POST", "/agent/runs", `{"prompt": "x", "config": {"forge": {"outputs": {"pull_request": {"openLimit": 1}}}}}`,
			"/config/forge/outputs/pull_request/openLimit", "open_limit, base, draft, labels, reviewers",
		},
		{
			"POST", "/agent/runs", `{"prompt": "x", "config": {"forge": {"followups": {"reviews": true}}}}`,
			"/config/forge/followups/reviews", "checks",
		},
		{
			"POST", "/agent/runs", `{"prompt": "x", "config": {"forge": {"push": {"signing": "ssh"}}}}`,
			"/config/forge/push/signing", "branches, protected_paths, limits, secrets",
		},
		{
			"POST", "/agent/runs", `{"prompt": "x", "configs": [{}, {"forge": {"push": {"limits": {"file": 1}}}}]}`,
			"/configs/1/forge/push/limits/file", "files, bytes, binary",
		},
		{
			"POST", "/agent/schedules", `{"name": "x", "cron_schedule": "@daily", "prompt": "x", "agent_config":
				{"forge": {"push": {"protectedPaths": {}}}}}`, "/agent_config/forge/push/protectedPaths", "branches",
		},
		{
			"PUT", "/agent/identities/" + agent.UID, `{"forge": {"push": {"protected_paths": {"exclude": []}}}}`,
			"/forge/push/protected_paths/exclude", "policy, add, except",
		},
		{
			"POST", "/agent/runs", `{"prompt": "x"` + unknownFieldsBefore + `,
				"config": {"forge": {"who": 1}}}`, "/config/forge/who", "push",
		},
	} {
		a := w.must(http.StatusBadRequest, test.method, "/api/v1"+test.path, test.body)
		if !strings.Contains(a.body, `"pointer":"`+test.pointer+`"`) ||
			!strings.Contains(a.body, "is not a setting of this server; allowed are "+test.allowed) {
			t.Errorf("%s: %s", test.body, a.body)
		}
	}
	// A server of this name has other keys.
	w.must(http.StatusOK, "POST", "/api/v1/agent/runs", `{"prompt": "x", "config": {"mcp_servers":
		{"forge": {"url": "https://forge.example", "push": 1}}, "forge": {"policy": {"branches": [], "limits":
		{"files": 1, "bytes": 1, "binary": 1}, "later": 1}, "output_policy": {"later": 1}}}}`)
}

// unknownFieldsBefore are more unknown fields than a response names.
var unknownFieldsBefore = func() string {
	var b strings.Builder
	for i := range 200 {
		fmt.Fprintf(&b, `, "f%d": 1`, i)
	}
	return b.String()
}()

// The newest public SDK of this API sends these.
func TestRequestsOfOtherClientsOfTheAPI(t *testing.T) {
	t.Parallel()
	w := start(t)
	for name, want := range map[string]struct {
		value  string
		status int
		detail string
	}{
		"secrets": {
			`[{"name": "NONE"}, "NEITHER"]`, 400,
			`{"pointer":"/config/secrets/0","detail":"the team has no managed secret \"NONE\""}`,
		},
		"secrets ":              {`[{"nam": "NONE"}]`, 400, `"/config/secrets/0","detail":"is not a valid name of a secret`},
		"secrets  ":             {`[{"name": 5}]`, 400, `"/config/secrets/0/name","detail":"must be a string, not a number"`},
		"secrets   ":            {`"A"`, 400, `"/config/secrets","detail":"must be an array, not a string"`},
		"idle_timeout_minutes":  {`0`, 200, ""},
		"idle_timeout_minutes ": {`-1`, 400, `"/config/idle_timeout_minutes","detail":"must be from 0 to 60"`},
		"memory_stores":         {`[{"uid": "m1", "access": "read_only", "instructions": "Look things up."}]`, 200, ""},
		"memory_stores ": {
			`[{"uid": "", "access": "write", "instructions": " "}]`, 400,
			`"/config/memory_stores/0/access","detail":"must be read_write or read_only"`,
		},
		"memory_stores  ": {`{"uid": "m1"}`, 400, `"/config/memory_stores","detail":"must be an array, not an object"`},
		"memory_stores   ": {
			`[{"uid": "m1", "access": "read_only", "instructions": "x"}, {"uid": "m1", "access": "read_only", ` +
				`"instructions": "x"}]`,
			400, `"/config/memory_stores/1/uid","detail":"names a memory store that is already listed"`,
		},
		"inference_providers": {
			`{"aws": {"disabled": true, "region": "eu-west-1", "role_arn": "arn:aws:iam::1:role/r"}}`, 200, "",
		},
		"inference_providers ": {
			`{"aws": {"disabled": "yes"}}`, 400,
			`"/config/inference_providers/aws/disabled","detail":"must be true or false, not a string"`,
		},
		"inference_providers  ": {`[]`, 400, `"/config/inference_providers","detail":"must be an object, not an array"`},
		"mcp_servers":           {`{"linear": {"warp_id": "linear"}}`, 200, ""},
		"mcp_servers ": {
			`{"a/b": {"url": "ftp://x"}}`, 400, `"/config/mcp_servers/a~1b/url","detail":"must be an http or https URL"`,
		},
		"mcp_servers  ": {
			`{"x": {"warp_id": "m", "url": "https://x"}}`, 400,
			`"/config/mcp_servers/x/url","detail":"cannot be given together with warp_id`,
		},
		"mcp_servers   ": {
			`{"x": {"url": "https://x", "env": {"A": "b"}}}`, 400,
			`"/config/mcp_servers/x/env","detail":"is allowed only with command"`,
		},
		"mcp_servers    ": {
			`{"x": {"id": "a", "warp_id": "b"}}`, 400,
			`"/config/mcp_servers/x/warp_id","detail":"cannot be given together with id`,
		},
		"worker_host": {`"warp"`, 200, ""},
	} {
		body := `{"prompt": "p", "config": {"` + strings.TrimSpace(name) + `": ` + want.value + `}}`
		if a := w.must(want.status, "POST", "/api/v1/agent/runs", body); !strings.Contains(a.body, want.detail) {
			t.Errorf("%s: got %s\nwant %s", body, a.body, want.detail)
		}
	}
	a := w.must(
		http.StatusBadRequest, "POST", "/api/v1/agent/runs",
		`{"prompt": "p", "config": {"secrets": ["A", {"name": "B", "version": 1}]}}`,
	)
	if got := a.header.Get("X-Penstock-Ignored-Fields"); got != "/config/secrets/1/version" {
		t.Errorf("ignored: got %q", got)
	}
	w.must(
		http.StatusOK, "GET",
		"/api/v1/agent/runs?source=CUSTOM_WEBHOOK&source=API&source=MCP&task_status=running&task_status=failed", nil,
	)
}

func TestTheSourceOfARunIsLimitedToWhatCallersMaySay(t *testing.T) {
	t.Parallel()
	w := start(t)
	for _, said := range []string{"WEBHOOK", "API", "cli", "CLI, CLI", "nonsense"} {
		a := w.must(http.StatusBadRequest, "POST", "/api/v1/agent/run", `{"prompt": "x"}`, "X-Penstock-Source", said)
		if !strings.Contains(a.body, "X-Penstock-Source must be one of CLI, WEB_APP, GITHUB_ACTION") {
			t.Errorf("%q: got %s", said, a.body)
		}
	}
	for said, want := range map[string]string{
		"CLI": "CLI", "WEB_APP": "WEB_APP", "GITHUB_ACTION": "GITHUB_ACTION", "": "API",
	} {
		id := w.must(http.StatusOK, "POST", "/api/v1/agent/run", `{"prompt": "x"}`, "X-Penstock-Source", said).field("run_id")
		if got := w.must(http.StatusOK, "GET", "/api/v1/agent/runs/"+id, nil).field("source"); got != want {
			t.Errorf("%q: got %q, want %q", said, got, want)
		}
	}
}

func TestPagesOfOtherOrigins(t *testing.T) {
	t.Parallel()
	w := start(t, func(s *settings) { s.api.CORSOrigins = []string{"https://app.example"} })
	ask := []string{
		"Access-Control-Request-Method", "POST", "Access-Control-Request-Headers", "authorization", "Authorization", "",
	}
	a := w.do("OPTIONS", "/api/v1/agent/runs", nil, append(ask, "Origin", "https://app.example")...)
	if a.status != 204 || a.header.Get("Access-Control-Allow-Origin") != "https://app.example" ||
		!strings.Contains(a.header.Get("Access-Control-Allow-Headers"), "Idempotency-Key") ||
		a.header.Get("Vary") != "Origin" {
		t.Errorf("preflight: got %d %v", a.status, a.header)
	}
	a = w.do("OPTIONS", "/api/v1/agent/runs", nil, append(ask, "Origin", "https://evil.example")...)
	if a.status != 405 || a.header.Get("Access-Control-Allow-Origin") != "" {
		t.Errorf("preflight of a stranger: got %d %v", a.status, a.header)
	}
	a = w.do("GET", "/api/v1/nothing", nil, "Origin", "https://app.example")
	if a.header.Get("Access-Control-Allow-Origin") != "https://app.example" ||
		!strings.Contains(a.header.Get("Access-Control-Expose-Headers"), "X-Penstock-Warnings, X-Request-Id") {
		t.Errorf("an error: got %v, want it readable too", a.header)
	}
	if a := start(t).do(
		"GET", "/api/v1/me", nil, "Origin", "https://app.example",
	); a.header.Get("Access-Control-Allow-Origin") != "" {
		t.Error("no origin is allowed by default")
	}
}

// A response can be sent back as a request, including its lists.
func TestBodiesThatAreNestedDeeply(t *testing.T) {
	t.Parallel()
	w := start(t)
	id := w.newRun("x")
	nested := func(levels int) string {
		return strings.Repeat(`{"[":`, levels) + `"\\\"}"` + strings.Repeat("}", levels)
	}
	for path, body := range map[string]string{
		"/api/v1/agent/runs/" + id +
			"/artifacts": `{"artifact_type":"EXTERNAL_REFERENCE","data":{"reference_type":"x","url":"https://x.test/",` +
			`"metadata":%s}}`,
		"/api/v1/agent/environments":     `{"providers":{"x":%s}}`,
		"/api/v1/factory-files/validate": `{"files":{},"unknown":%s}`,
	} {
		for levels, want := range map[int]bool{195: true, 300: false, 9_990: false} {
			a := w.do("POST", path, []byte(fmt.Sprintf(body, nested(levels))), "Content-Type", "application/json")
			if taken := a.status < 300; taken != want || !taken && !strings.Contains(a.body, "levels of nested arrays") {
				t.Errorf("%s, %d levels: got %d %.300s", path, levels, a.status, a.body)
			}
		}
	}
	for _, path := range []string{"/api/v1/agent/environments", "/api/v1/agent/runs", "/api/v1/agent/runs/" + id} {
		w.must(http.StatusOK, "GET", path, nil)
	}
	// A filter test accepts the largest delivery.
	payload := `{"filter":{},"payload":` + strings.Repeat("[", 5_000) + strings.Repeat("]", 5_000) + "}"
	uid := w.must(http.StatusCreated, "POST", "/api/v1/factory", map[string]any{"name": "deep"}).field("uid")
	w.must(
		http.StatusOK, "POST", "/api/v1/factory/"+uid+"/test-filter", []byte(payload), "Content-Type", "application/json",
	)
}

func TestWarningsAreHeaders(t *testing.T) {
	t.Parallel()
	w := start(t)
	for _, path := range []string{"/api/v1/agent/runs", "/api/v1/agent/run"} {
		a := w.must(http.StatusOK, "POST", path, `{"prompt": "p", "config": {"model_id": "so\r\nnnet, ü"}}`)
		want := []string{`unknown model "so\r\nnnet\x2c \u00fc": the run waits for a worker that has a provider for it`}
		if got := a.header.Values("X-Penstock-Warnings"); !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", path, got, want)
		}
		if a := w.must(
			http.StatusOK, "POST", path, `{"prompt": "p", "config": {"model_id": "auto"}}`,
		); a.header.Values("X-Penstock-Warnings") != nil {
			t.Errorf("%s: got %q", path, a.header.Values("X-Penstock-Warnings"))
		}
	}
}
