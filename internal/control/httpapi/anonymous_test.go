package httpapi_test

import (
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/factory"
	"github.com/penstock-dev/penstock/internal/control/run"
)

const validatePath = "/api/v1/factory-files/validate"

// listed are files as a list.
func listed(files map[string]string) map[string]any {
	list := []map[string]string{}
	for path, content := range files {
		list = append(list, map[string]string{"path": path, "content": content})
	}
	return map[string]any{"files": list}
}

func TestFilesAreValidatedWithoutAKey(t *testing.T) {
	t.Parallel()
	w := start(t)
	w.must(http.StatusCreated, "POST", "/api/v1/secrets", `{"name": "CI_TOKEN", "value": "an-example-value"}`)
	w.must(http.StatusCreated, "POST", "/api/v1/factory", `{"name": "taken"}`)
	files := tree("taken")
	files["webhooks/gone.yaml"] = "secretName: CI_TOKEN\n"
	files["factory.yaml"] = strings.Replace(files["factory.yaml"], "name: taken", "name: Other\nalias: Taken", 1)
	files["webhooks/ci.yaml"] = "secretName: CI_TOKE\n"
	_, reader := w.newKey(penstock.ScopeRunsRead)
	run := w.newRun("x")
	executing := w.work(w.svc.Executions.Control()).a
	for name, authorization := range map[string]string{
		"no key": "", "a key without the scope": "Bearer " + reader, "the key of an execution": "Bearer " + executing.APIKey,
	} {
		for form, body := range map[string]any{"a map": map[string]any{"files": files}, "a list": listed(files)} {
			var got factory.Validated
			w.must(http.StatusOK, "POST", validatePath, body, "Authorization", authorization).into(t, &got)
			if !got.Valid || len(got.Diagnostics) > 0 || got.SchemaVersion != "v1alpha1" ||
				got.Scope.StateDependent != "not_checked" || len(got.NotRun) < 5 {
				t.Errorf("%s, %s: got %+v", name, form, got)
			}
		}
	}
	var got factory.Validated
	w.must(http.StatusOK, "POST", validatePath, listed(files)).into(t, &got)
	var found []string
	for _, d := range got.Diagnostics {
		found = append(found, d.Path+" "+d.Code+" "+d.Nearest)
	}
	if diff := cmp.Diff(
		[]string{"factory.yaml FF_INVALID_VALUE ", "webhooks/ci.yaml FF_INVALID_REFERENCE CI_TOKEN"}, found,
	); diff != "" || got.Scope.StateDependent != "checked" {
		t.Errorf("with a key: %+v (-want +got):\n%s", got, diff)
	}
	files["agents/foreman/agent.md"] = "---\nagentType: BOSS\n---\n"
	files["factory.yaml"] += "title: x\n"
	w.must(http.StatusOK, "POST", validatePath, listed(files), "Authorization", "").into(t, &got)
	if got.Valid || len(got.Diagnostics) != 3 || got.Diagnostics[2].Code != "FF_UNKNOWN_FIELD" ||
		got.Diagnostics[2].Line != 5 {
		t.Errorf("bad files: %+v", got)
	}
	w.must(http.StatusUnauthorized, "POST", validatePath, listed(files), "Authorization", "Bearer psk_wrong")
	w.must(http.StatusOK, "POST", "/api/v1/agent/runs/"+run+"/cancel", nil)
}

func TestListedFilesAreCheckedFirst(t *testing.T) {
	t.Parallel()
	w := start(t)
	for body, want := range map[string]string{
		`{"files": [{"path": "a", "content": "x"}, {"path": "a", "content": "y"}]}`: `/files/1/path: is "a", ` +
			`which is already the path of another file`,
		`{"files": [{"path": "a"}]}`:               "/files/0: must have path and content",
		`{"files": [{"content": "a"}]}`:            "/files/0: must have path and content",
		`{"files": [{"path": 1, "content": "a"}]}`: "/files/0/path: must be a string, not a number",
		`{"files": ["a"]}`:                         "/files/0: must be an object, not a string",
		`{"files": "a"}`:                           "/files: must be an object, not a string",
		`{"files": {"a": null}}`:                   "/files/a: must be a string, not null",
		`{"files": null}`:                          "/files: is required",
		`{}`:                                       "/files: is required",
	} {
		a := w.must(http.StatusBadRequest, "POST", validatePath, body, "Authorization", "")
		if !strings.Contains(a.field("error"), strings.ReplaceAll(want, `"`, `\"`)) {
			t.Errorf("%s: got %s, want %s", body, a.body, want)
		}
	}
	a := w.must(
		http.StatusOK, "POST", validatePath, `{"files": [{"path": "a", "content": "x", "mode": 420}], "strict": true}`,
		"Authorization", "",
	)
	if got := a.header.Get("X-Penstock-Ignored-Fields"); got != "/files/0/mode, /strict" {
		t.Errorf("ignored fields: got %q", got)
	}
	w.must(
		http.StatusRequestEntityTooLarge, "POST", validatePath,
		`{"files": {"a": "`+strings.Repeat("x", run.MaxBodyBytes)+`"}}`, "Authorization", "",
	)
}

// forwarded lets a test be any client.
func forwarded(s *settings) {
	s.api.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
}

func TestValidationsWithoutAKeyAreLimitedByAddress(t *testing.T) {
	t.Parallel()
	w := start(t, forwarded, func(s *settings) { s.api.ValidatesPerMinute = 2 })
	body := map[string]any{"files": tree("x")}
	anonymous := func(status int, address string) response {
		t.Helper()
		return w.must(
			status, "POST", validatePath, body, "Authorization", "", "X-Forwarded-For", address, "X-Forwarded-Proto", "https",
		)
	}
	anonymous(http.StatusOK, "192.0.2.1")
	anonymous(http.StatusOK, "192.0.2.1")
	if a := anonymous(http.StatusTooManyRequests, "192.0.2.1"); a.header.Get("Retry-After") == "" ||
		a.header.Get("X-Should-Retry") != "true" {
		t.Errorf("the 429 has the headers %v", a.header)
	}
	anonymous(http.StatusOK, "192.0.2.2")
	for range 3 { // a key has a rate of its own
		w.must(http.StatusOK, "POST", validatePath, body, "X-Forwarded-For", "192.0.2.1", "X-Forwarded-Proto", "https")
	}
	if got := w.must(
		http.StatusOK, "GET", "/api/v1/limits", nil, "X-Forwarded-Proto", "https",
	).field("validations_per_minute"); got != "2" {
		t.Errorf("the limit is shown as %q", got)
	}
}

// slowBody is a body that is sent once the channel is closed.
type slowBody struct {
	sent <-chan struct{}
	rest io.Reader
}

func (b slowBody) Read(p []byte) (int, error) {
	<-b.sent
	return b.rest.Read(p)
}

// The server holds only a few slow unauthenticated bodies, per address and in total.
func TestValidationsWithoutAKeyAreFewAtOnce(t *testing.T) {
	t.Parallel()
	w := start(t, forwarded)
	send := func(address string, body any) int {
		resp, err := w.client.Do(
			w.request("POST", validatePath, body, "Authorization", "", "X-Forwarded-For", address, "X-Forwarded-Proto", "https"),
		)
		if err != nil {
			t.Error(err)
			return 0
		}
		defer resp.Body.Close()
		return resp.StatusCode
	}
	quick := func(address string) int { return send(address, map[string]any{"files": tree("x")}) }
	release := make(chan struct{})
	var sending sync.WaitGroup
	slow := func(address string) {
		sending.Go(func() {
			status := http.StatusTooManyRequests
			for status == http.StatusTooManyRequests { // a quick one was there
				status = send(address, slowBody{release, strings.NewReader(`{"files": {}}`)})
			}
			if status != http.StatusOK {
				t.Errorf("a slow body: got %d", status)
			}
		})
	}
	for client := range 4 {
		address := fmt.Sprintf("192.0.2.%d", client)
		slow(address)
		slow(address)
		eventually(t, "two requests of an address", func() bool { return quick(address) == http.StatusTooManyRequests })
	}
	eventually(t, "as many as there may be", func() bool { return quick("198.51.100.1") == http.StatusServiceUnavailable })
	w.must(
		http.StatusOK, "POST", validatePath, map[string]any{"files": tree("x")}, "X-Forwarded-Proto", "https",
	) // with a key
	close(release)
	sending.Wait()
	eventually(t, "room for others", func() bool { return quick("198.51.100.1") == http.StatusOK })
}

func TestSchemasAreServedOneByOne(t *testing.T) {
	t.Parallel()
	w := start(t)
	const base = "/api/v1/factory-files/schemas"
	var versions factory.SchemaVersions
	w.must(http.StatusOK, "GET", base, nil, "Authorization", "").into(t, &versions)
	if versions.Current != "v1alpha1" || len(versions.Versions) != 1 ||
		versions.Versions[0] != (factory.SchemaVersion{Version: "v1alpha1", URL: base + "/v1alpha1"}) {
		t.Fatalf("versions: %+v", versions)
	}
	var bundle struct {
		Version   string `json:"schema_version"`
		Documents map[string]map[string]any
	}
	w.must(http.StatusOK, "GET", versions.Versions[0].URL, nil, "Authorization", "").into(t, &bundle)
	if len(versions.Documents) < 9 || len(bundle.Documents) != len(versions.Documents) || bundle.Version != "v1alpha1" {
		t.Errorf("documents: %q, bundle of %d", versions.Documents, len(bundle.Documents))
	}
	for _, document := range versions.Documents {
		for _, name := range []string{document, strings.TrimSuffix(document, ".schema.json")} {
			var schema map[string]any
			w.must(http.StatusOK, "GET", base+"/v1alpha1/"+name, nil, "Authorization", "").into(t, &schema)
			if diff := cmp.Diff(bundle.Documents[document], schema); diff != "" || schema["$id"] != document {
				t.Errorf("%s (-bundle +alone):\n%s", name, diff)
			}
		}
	}
	for path, want := range map[string]string{
		"/v1alpha1/agents.schema.json": "agent.schema.json, automation.schema.json, benchmark-suite.schema.json",
		"/v1alpha1/none":               "is not a document",
		"/v2/agent.schema.json":        "use v1alpha1",
	} {
		if a := w.must(http.StatusNotFound, "GET", base+path, nil, "Authorization", ""); !strings.Contains(a.body, want) {
			t.Errorf("%s: got %s", path, a.body)
		}
	}
}
