package main_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/run"
	"github.com/penstock-dev/penstock/internal/testkit"
)

// While the server is away from a worker, calls under a cap wait, and settlements are kept.
func TestCallsWaitForTheServer(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, database string) {
		var calls, marks atomic.Int64
		release := make(chan struct{})
		provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !strings.HasSuffix(r.URL.Path, "/chat/completions") { // the agent is about to make its second call
				marks.Add(1)
				http.NotFound(w, r)
				return
			}
			_, _ = io.Copy(io.Discard, r.Body)
			if calls.Add(1) == 1 {
				<-release
			}
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"model":"m","usage":{"prompt_tokens":100,"completion_tokens":50}}`)
		}))
		t.Cleanup(provider.Close)
		free := sync.OnceFunc(func() { close(release) })
		t.Cleanup(free)
		config := writeFile(t, "penstock.yaml", fmt.Sprintf(cappedPrices, provider.URL))
		s := testkit.Serve(t, testkit.ServeOptions{Database: database, Args: []string{"--no-worker", "--config", config}})
		proxy := testkit.NewProxy(t, strings.TrimPrefix(s.URL, "http://"))
		away := *s
		away.URL = proxy.URL
		startWorker(t, &away, "--config", config)

		const ask = `curl -s http://127.0.0.1:3128/model/billing/v1/chat/completions ` +
			`-H 'Content-Type: application/json' -d '{"model":"m","max_tokens":100}'`
		body, err := json.Marshal(penstock.RunRequest{
			Prompt: "demo: run " + ask + "; curl -s http://127.0.0.1:3128/model/billing/v1/models; " + ask + "; echo made both",
			Config: &penstock.Config{ModelID: penstock.ModelOffline, Budget: &penstock.Budget{MaxCostUSD: 0.01}},
		})
		if err != nil {
			t.Fatal(err)
		}
		var created run.Created
		fromJSON(t, string(send(t, s, http.MethodPost, "/agent/runs", string(body)).body), &created)
		one := func(n *atomic.Int64) func() error {
			return func() error {
				if n.Load() != 1 {
					return fmt.Errorf("got %d", n.Load())
				}
				return nil
			}
		}
		testkit.Eventually(t, time.Minute, one(&calls))
		proxy.Refuse()
		free()
		testkit.Eventually(t, time.Minute, one(&marks))
		usage := func() (u run.RunUsage) {
			fromJSON(t, string(send(t, s, http.MethodGet, "/agent/runs/"+created.ID+"/usage", "").body), &u)
			return u
		}
		if u := usage(); u.Total.UnsettledCalls != 1 || u.Total.Calls != 0 {
			t.Errorf("while the server is away: %+v", u.Total)
		}
		if n := calls.Load(); n != 1 {
			t.Errorf("%d calls were sent while the server was away", n)
		}
		proxy.Pass()
		env := client(s)
		testkit.Eventually(t, timeout, func() error { return inState(t, env, created.ID, penstock.StateSucceeded) })
		testkit.Eventually(t, time.Minute, func() error {
			const bill = 2 * (100*billedInput + 50*billedOutput) / 1e9
			if u := usage().Total; u.Calls != 2 || u.PricedCostUSD != bill || u.UnknownCalls+u.EstimatedCalls > 0 {
				return fmt.Errorf("got %+v, want 2 calls for %v US dollars", u, bill)
			}
			return nil
		})
	})
}
