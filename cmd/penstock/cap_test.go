package main_test

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/testkit"
)

// The prices of the billing provider's model, in nano-dollars per token.
const (
	billedInput  = 1000
	billedOutput = 2000
	cappedPrices = `
providers:
  billing:
    api: openai
    base_url: %s/v1
    models: [m]
    prices: {models: {m: {window: 100000, max_output: 4000, input: 1, output: 2}}}
`
)

// billing is a provider that bills each call it receives, by the tag in the prompt. It breaks some
// calls, and holds others until the fault of the round.
type billing struct {
	*httptest.Server
	t *testing.T

	mu    sync.Mutex
	rng   *rand.Rand
	bills map[string]int64 // by tag, in nano-dollars
	calls int64
	reach chan struct{} // closed when another call arrives
	held  chan struct{} // closed while no call is held
}

func newBilling(t *testing.T, seed uint64) *billing {
	t.Helper()
	b := &billing{
		t: t, rng: rand.New(rand.NewPCG(seed, 1)), bills: map[string]int64{},
		reach: make(chan struct{}),
	}
	b.Server = httptest.NewServer(http.HandlerFunc(b.serve))
	t.Cleanup(b.Close)
	return b
}

var tagged = regexp.MustCompile(`tag-[0-9a-z]+`)

func (b *billing) serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	var request struct {
		Stream    bool  `json:"stream"`
		MaxTokens int64 `json:"max_tokens"`
	}
	if err != nil || json.Unmarshal(body, &request) != nil || !strings.HasSuffix(r.URL.Path, "/chat/completions") {
		http.Error(w, "not a call", http.StatusNotFound)
		return
	}
	b.mu.Lock()
	input, output := int64(len(body)/3), b.rng.Int64N(request.MaxTokens+1)
	fate, held := b.rng.Float64(), b.held
	if fate < 0.1 {
		input, output = 0, 0 // the provider fails before it works
	}
	text := strings.Repeat("x", int(output))
	b.bills[string(tagged.Find(body))] += input*billedInput + output*billedOutput
	b.calls++
	close(b.reach)
	b.reach = make(chan struct{})
	b.mu.Unlock()
	if fate < 0.1 {
		http.Error(w, `{"error":{"message":"broken"}}`, http.StatusInternalServerError)
		return
	}
	if fate > 0.8 {
		select {
		case <-held:
		case <-r.Context().Done():
			return
		}
	}
	usage := fmt.Sprintf(`"usage":{"prompt_tokens":%d,"completion_tokens":%d}`, input, output)
	if !request.Stream {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"id":"x","model":"m","choices":[{"index":0,"message":{"role":"assistant","content":%q}}],%s}`,
			text, usage)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	fmt.Fprintf(w, "data: {\"id\":\"x\",\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"content\":%q}}]}\n\n", text)
	if fate < 0.2 { // the stream is cut before its usage
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
	fmt.Fprintf(w, "data: {\"id\":\"x\",\"model\":\"m\",\"choices\":[],%s}\n\ndata: [DONE]\n\n", usage)
}

// await waits until n more calls have arrived, or over is closed.
func (b *billing) await(n int64, over <-chan struct{}) {
	b.mu.Lock()
	target := b.calls + n
	b.mu.Unlock()
	for {
		b.mu.Lock()
		calls, reach := b.calls, b.reach
		b.mu.Unlock()
		if calls >= target {
			return
		}
		select {
		case <-reach:
		case <-over:
			return
		}
	}
}

// hold makes some of the next calls wait until release is called. Without it, all calls proceed.
func (b *billing) hold(some bool) (release func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	held := make(chan struct{})
	b.held = held
	release = sync.OnceFunc(func() { close(held) })
	if !some {
		release()
	}
	return release
}

func (b *billing) bill(tag string) int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.bills[tag]
}

// TestTheCapHoldsWhileProcessesAreKilled lets agents make many calls at once, each run under its
// own budget, and kills the worker or the server with SIGKILL during the calls. `make cap` sets
// PENSTOCK_CAP_RUNS to the number of runs on each engine.
func TestTheCapHoldsWhileProcessesAreKilled(t *testing.T) {
	t.Parallel()
	testkit.TakesLong(t)
	runs := 8
	if text := os.Getenv("PENSTOCK_CAP_RUNS"); text != "" {
		var err error
		if runs, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	testkit.Engines(t, func(t *testing.T, database string) {
		w := newCapWorld(t, database)
		for round := 0; round*runsOfRound < runs && !t.Failed(); round++ {
			w.round(round)
		}
		w.worker.Stop()
		testkit.ReportCap(t, "runs of killed processes", testkit.Cap{
			Schedules: w.runs, Calls: w.provider.calls, Over: w.over, Difference: w.difference, Open: w.open,
		})
		if runs > runsOfRound && w.kills == 0 {
			t.Error("nothing was killed")
		}
	})
}

const runsOfRound = 4

type capWorld struct {
	t        *testing.T
	database string
	config   string
	server   *testkit.Server
	worker   *testkit.Worker
	provider *billing
	rng      *rand.Rand

	kills                        int
	runs, over, difference, open int64
}

func newCapWorld(t *testing.T, database string) *capWorld {
	t.Helper()
	w := &capWorld{t: t, database: database, provider: newBilling(t, 1), rng: rand.New(rand.NewPCG(2, 2))}
	w.config = writeFile(t, "penstock.yaml", fmt.Sprintf(cappedPrices, w.provider.URL))
	w.server = testkit.Serve(t, testkit.ServeOptions{
		Database: database, Args: []string{"--no-worker", "--config", w.config, "--limit-requests-per-minute", "0"},
	})
	w.startWorker()
	return w
}

func (w *capWorld) startWorker() {
	w.worker = startWorker(w.t, w.server, "--config", w.config, "--concurrency", strconv.Itoa(runsOfRound))
}

// round injects one fault during the calls of some runs.
func (w *capWorld) round(n int) {
	env, caps := client(w.server), map[string]cappedRun{}
	holds := w.rng.IntN(2) == 0
	release := w.provider.hold(holds)
	for i := range runsOfRound {
		r := cappedRun{tag: fmt.Sprintf("tag-%dx%d", n, i), limit: int64(4+w.rng.IntN(40)) * 1_000_000}
		caps[w.start(r)] = r
	}
	over := make(chan struct{})
	var settled sync.WaitGroup
	settled.Go(func() {
		defer close(over)
		for id := range caps {
			testkit.Eventually(w.t, timeout, func() error { return isOver(w.t, env, id) })
		}
	})
	reached := 1 + w.rng.Int64N(runsOfRound) // each run makes at least one call, even if the call is held
	if !holds {
		reached *= 8
	}
	w.provider.await(reached, over)
	w.kill(n)
	release()
	settled.Wait()
	for id, r := range caps {
		w.audit(id, r)
	}
}

type cappedRun struct {
	tag   string
	limit int64 // in nano-dollars
}

// start makes an agent send calls, 16 at a time.
func (w *capWorld) start(r cappedRun) (id string) {
	w.t.Helper()
	prompt := fmt.Sprintf(`demo: run seq %d | xargs -P 16 -I@ curl -sN --max-time 20 -o /dev/null `+
		`http://127.0.0.1:3128/model/billing/v1/chat/completions -H 'Content-Type: application/json' `+
		`-d '{"model":"m","max_tokens":400,"stream":%t,"messages":[{"role":"user","content":"%s"}]}'; echo all calls ended`,
		10+w.rng.IntN(40), w.rng.IntN(2) == 0, r.tag)
	body, err := json.Marshal(penstock.RunRequest{Prompt: prompt, Config: &penstock.Config{
		ModelID: penstock.ModelOffline, Budget: &penstock.Budget{MaxCostUSD: penstock.USDOf(r.limit)},
	}})
	if err != nil {
		w.t.Fatal(err)
	}
	var created penstock.RunCreated
	got := send(w.t, w.server, http.MethodPost, "/agent/runs", string(body))
	if json.Unmarshal(got.body, &created) != nil || created.ID == "" {
		w.t.Fatalf("create a run: %s", got.body)
	}
	return created.ID
}

// kill ends the worker or the server while calls are in flight, and starts it again.
func (w *capWorld) kill(n int) {
	switch n % 3 {
	case 0:
		w.worker.Kill9()
		w.startWorker()
		testkit.Exec(w.t, w.database, "UPDATE queue SET lease_until = 1 WHERE token <> ''") // not in half a minute
	case 1:
		w.server.Kill9()
		w.server.Restart()
	default:
		return
	}
	w.kills++
}

// isOver returns an error unless a run is over, also while the server starts again.
func isOver(t *testing.T, env []string, id string) error {
	t.Helper()
	got := call(t, env, "run", "get", id, "-o", "json")
	if got.code != 0 {
		return fmt.Errorf("run get exits with %d: %s", got.code, got.err)
	}
	var run penstock.Run
	fromJSON(t, got.out, &run)
	if state := run.State; !state.Done() && state != penstock.StateBlocked {
		return fmt.Errorf("run %s is %s", id, state)
	}
	return nil
}

// audit compares the provider's bill for a run with its cap and with the ledger.
func (w *capWorld) audit(id string, r cappedRun) {
	w.t.Helper()
	var usage penstock.RunUsage
	got := send(w.t, w.server, http.MethodGet, "/agent/runs/"+id+"/usage", "")
	if err := json.Unmarshal(got.body, &usage); err != nil {
		w.t.Fatalf("read the usage: %v: %s", err, got.body)
	}
	w.runs++
	bill, total := w.provider.bill(r.tag), usage.Total
	ledger := int64(math.Round((total.PricedCostUSD + total.ReservedUSD) * 1e9))
	open := total.UnknownCalls + total.EstimatedCalls + total.UnsettledCalls
	w.open += open
	if bill > r.limit {
		w.over += bill - r.limit
		w.t.Errorf("run %s: the provider bills %d nano-dollars, and the budget has %d", id, bill, r.limit)
	}
	if ledger < bill || ledger > r.limit || open == 0 && ledger != bill {
		w.t.Errorf("run %s: the provider bills %d nano-dollars, and the ledger has %d with %d calls without usage: %s",
			id, bill, ledger, open, got.body)
	}
	if open == 0 {
		w.difference += ledger - bill
	}
}
