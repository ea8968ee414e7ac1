package main_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/testkit"
)

// stallsOnce is a server whose first response starts and never ends. Later responses are complete.
type stallsOnce struct {
	*httptest.Server
	first   atomic.Bool
	stalled chan struct{} // closed once the first response has started
	dropped chan struct{} // closed once its caller has gone
}

func newStallsOnce(t *testing.T) *stallsOnce {
	t.Helper()
	s := &stallsOnce{stalled: make(chan struct{}), dropped: make(chan struct{})}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, "data: begun\n\n")
		if s.first.Swap(true) {
			fmt.Fprint(w, "data: [DONE]\n\n")
			return
		}
		_ = http.NewResponseController(w).Flush()
		close(s.stalled)
		<-r.Context().Done()
		close(s.dropped)
	}))
	t.Cleanup(s.Close)
	return s
}

// waitFor waits until c is closed.
func waitFor(t *testing.T, c <-chan struct{}, what string) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(testkit.Patience * timeout):
		t.Fatalf("%s: still not after %s", what, timeout)
	}
}

// processesOf lists the processes that have the id of a run in their arguments or environment.
func processesOf(id string) []string {
	var found []string
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		arguments, _ := os.ReadFile(filepath.Join(dir, "cmdline"))
		environment, _ := os.ReadFile(filepath.Join(dir, "environ"))
		if strings.Contains(string(arguments)+string(environment), id) {
			found = append(found, strings.ReplaceAll(string(arguments), "\x00", " "))
		}
	}
	return found
}

// A worker is killed while its run waits for a model and for a host behind the proxy. Both
// connections and all processes of the run end, and another worker completes the run.
func TestAWorkerIsKilledAmidProxiedCalls(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, database string) {
		provider, host := newStallsOnce(t), newStallsOnce(t)
		address, err := url.Parse(host.URL)
		if err != nil {
			t.Fatal(err)
		}
		config := writeFile(t, "penstock.yaml", fmt.Sprintf(`
network: {allow: [{host: 127.0.0.1, ports: [%s]}]}
providers:
  local: {api: openai, base_url: %s/v1, models: [test]}
`, address.Port(), provider.URL))
		s := testkit.Serve(t, testkit.ServeOptions{
			Database: database, Args: []string{"--no-worker", "--config", config},
		})
		env := client(s)
		start := func() *testkit.Worker {
			return startWorker(t, s, "--config", config, "--private-network", "127.0.0.0/8")
		}
		first := start()
		id := startRun(t, env, "demo: run curl -sN --noproxy '' "+host.URL+" & "+
			`curl -sN http://127.0.0.1:3128/model/local/v1/chat/completions -H 'Content-Type: application/json' `+
			`-d '{"model":"test","stream":true,"messages":[{"role":"user","content":"hi"}]}'; wait; echo both ended`,
			"--model", penstock.ModelOffline)
		waitFor(t, provider.stalled, "the model is asked")
		waitFor(t, host.stalled, "the host is asked")
		if len(processesOf(id)) == 0 {
			t.Fatal("the processes of the run are not found")
		}

		first.Kill9()
		waitFor(t, provider.dropped, "the call of the model ends")
		waitFor(t, host.dropped, "the request to the host ends")
		testkit.Eventually(t, timeout, func() error {
			if left := processesOf(id); len(left) > 0 {
				return fmt.Errorf("the worker left these processes: %q", left)
			}
			return nil
		})
		second := start()
		testkit.Exec(t, database, "UPDATE queue SET lease_until = 1") // not in half a minute
		happens(t, s, id, "run_claimed", 2)
		testkit.Eventually(t, timeout, func() error { return inState(t, env, id, penstock.StateSucceeded) })
		said := string(send(t, s, http.MethodGet, "/agent/runs/"+id+"/conversation", "").body)
		_, output, _ := strings.Cut(said, `"output":"`)
		if strings.Count(output, "begun") != 2 || strings.Count(output, "[DONE]") != 2 ||
			!strings.Contains(output, "both ended") {
			t.Errorf("the run says %s", said)
		}
		second.Stop()
	})
}
