package httpapi_test

import (
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/access"
	"github.com/penstock-dev/penstock/internal/control/run"
	"github.com/penstock-dev/penstock/internal/testkit"
)

func TestARepeatedRequestGetsTheSameResponse(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, url string) {
		w := start(t, func(s *settings) { s.storeURL = url })
		once := []string{"Idempotency-Key", "k 1"}
		body := `{"prompt": "only once", "metadata": {"a": "1"}}`
		first := w.must(http.StatusOK, "POST", "/api/v1/agent/runs", body, once...)
		again := w.must(http.StatusOK, "POST", "/api/v1/agent/runs", body, once...)
		if again.header.Get("Idempotent-Replayed") != "true" || again.field("run_id") != first.field("run_id") {
			t.Errorf("got %v %s, want the first response %s replayed", again.header, again.body, first.body)
		}
		if first.header.Get("Idempotent-Replayed") != "" {
			t.Error("the first response says that it was replayed")
		}
		clash := w.must(http.StatusConflict, "POST", "/api/v1/agent/runs", `{"prompt": "another"}`, once...)
		if clash.header.Get("X-Should-Retry") != "false" {
			t.Errorf("another body: got X-Should-Retry %q", clash.header.Get("X-Should-Retry"))
		}
		w.must(http.StatusOK, "POST", "/api/v1/agent/run", body, once...) // another path
		id := first.field("run_id")
		for _, action := range []struct{ path, body string }{{"followups", `{"message": "and this"}`}, {"cancel", ""}} {
			first := w.must(http.StatusOK, "POST", "/api/v1/agent/runs/"+id+"/"+action.path, action.body, once...)
			again := w.must(http.StatusOK, "POST", "/api/v1/agent/runs/"+id+"/"+action.path, action.body, once...)
			if again.header.Get("Idempotent-Replayed") != "true" || again.body != first.body {
				t.Errorf("%s: got %s, want %s again", action.path, again.body, first.body)
			}
		}
		w.must(http.StatusConflict, "POST", "/api/v1/agent/runs/"+id+"/cancel?cascade=true", nil, once...)
	})
}

func TestAFailedRequestStoresNoResponse(t *testing.T) {
	t.Parallel()
	w := start(t)
	once := []string{"Idempotency-Key", "k"}
	w.must(http.StatusBadRequest, "POST", "/api/v1/agent/runs", `{}`, once...)
	w.must(http.StatusOK, "POST", "/api/v1/agent/runs", `{"prompt": "mended"}`, once...)
}

func TestOneTimeSecretsAreReplayedToo(t *testing.T) {
	t.Parallel()
	w := start(t)
	once := []string{"Idempotency-Key", "k"}
	body := access.KeyRequest{Name: "ci", Scopes: []penstock.Scope{penstock.ScopeRunsRead}}
	first := w.must(http.StatusCreated, "POST", "/api/v1/keys", body, once...)
	again := w.must(http.StatusCreated, "POST", "/api/v1/keys", body, once...)
	if again.field("key") != first.field("key") {
		t.Errorf("got key %q, want %q", again.field("key"), first.field("key"))
	}
}

func TestBadIdempotencyKeysAreRefused(t *testing.T) {
	t.Parallel()
	w := start(t)
	for name, key := range map[string]string{"300 characters": strings.Repeat("k", 300), "not ASCII": "schlüssel"} {
		a := w.do("POST", "/api/v1/agent/runs", `{"prompt": "x"}`, "Idempotency-Key", key)
		if a.status != 400 || !strings.Contains(a.body, "Idempotency-Key") {
			t.Errorf("%s: got %d %s", name, a.status, a.body)
		}
	}
	r := w.request("POST", "/api/v1/agent/runs", `{"prompt": "x"}`)
	r.Header["Idempotency-Key"] = []string{""}
	if a := w.send(r); a.status != 400 {
		t.Errorf("empty: got %d", a.status)
	}
	r = w.request("POST", "/api/v1/agent/runs", `{"prompt": "x"}`)
	r.Header["Idempotency-Key"] = []string{"a", "b"}
	if a := w.send(r); a.status != 400 {
		t.Errorf("two: got %d", a.status)
	}
	w.must(http.StatusOK, "POST", "/api/v1/agent/runs", `{"prompt": "x"}`, "Idempotency-Key", strings.Repeat("k", 255))
}

// Many concurrent requests with one key create one run. Each gets that response or is told to
// retry.
func TestOneIdempotencyKeyCreatesOneRun(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, url string) {
		servers := []*world{start(t, func(s *settings) { s.storeURL = url })}
		if strings.HasPrefix(url, "postgres") { // two replicas on one database
			servers = append(servers, start(t, func(s *settings) { s.storeURL, s.api.Rules = url, servers[0].svc }))
		}
		var mu sync.Mutex
		var running sync.WaitGroup
		ids, refused := map[string]int{}, 0
		for i := range 40 {
			running.Go(func() {
				a := servers[i%len(servers)].do("POST", "/api/v1/agent/runs", `{"prompt": "x"}`, "Idempotency-Key", "same")
				mu.Lock()
				defer mu.Unlock()
				switch {
				case a.status == 200:
					ids[a.field("run_id")]++
				case a.status == 409 && a.header.Get("X-Should-Retry") == "true":
					refused++
				default:
					t.Errorf("got %d %s", a.status, a.body)
				}
			})
		}
		running.Wait()
		if len(ids) != 1 {
			t.Errorf("got runs %v (%d told to come back), want one", ids, refused)
		}
		var page run.Page
		servers[0].must(http.StatusOK, "GET", "/api/v1/agent/runs", nil).into(t, &page)
		if len(page.Runs) != 1 {
			t.Errorf("got %d runs in the list, want one", len(page.Runs))
		}
	})
}
