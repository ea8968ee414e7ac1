package main_test

import (
	"compress/gzip"
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
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/run"
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

// billing is a provider that bills each call by the tag in the prompt, before it sends anything. It says
// little of what it has generated until the end, waits, buffers, compresses, breaks off, and stands behind
// a proxy that fails. It holds some calls until the fault of the round.
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

// billed is what the provider does with one call.
type billed struct {
	tag           string
	stream        bool
	input, output int64
	fate          float64
	delay         time.Duration
	held          chan struct{} // until it is closed, the call waits
	begun         time.Time
}

// draw reads a request.
func (b *billing) draw(r *http.Request) (c billed, ok bool) {
	body, err := io.ReadAll(r.Body)
	var request struct {
		Stream    bool  `json:"stream"`
		MaxTokens int64 `json:"max_tokens"`
		Thinking  int64 `json:"thinking_budget"`
	}
	if err != nil || json.Unmarshal(body, &request) != nil || !strings.HasSuffix(r.URL.Path, "/chat/completions") {
		return c, false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	c = billed{
		tag: string(tagged.Find(body)), stream: request.Stream, begun: time.Now(), fate: b.rng.Float64(), held: b.held,
		input: int64(len(body) / 3), output: b.rng.Int64N(request.MaxTokens + request.Thinking + 1),
		delay: time.Duration(b.rng.IntN(30)) * time.Millisecond,
	}
	b.calls++
	close(b.reach)
	b.reach = make(chan struct{})
	return c, true
}

func (b *billing) charge(tag string, input, output int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.bills[tag] += input*billedInput + output*billedOutput
}

func (b *billing) serve(w http.ResponseWriter, r *http.Request) {
	c, ok := b.draw(r)
	switch {
	case !ok:
		http.Error(w, "not a call", http.StatusNotFound)
	case c.fate < 0.06: // the provider fails before it works
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusInternalServerError)
		_, _ = io.WriteString(w, `{"error":{"message":"broken"}}`)
	case c.fate < 0.3:
		b.fail(w, r, c)
	default:
		b.charge(c.tag, c.input, c.output)
		if c.fate > 0.85 {
			select {
			case <-c.held:
			case <-r.Context().Done():
				return
			}
		}
		c.wait(r)
		c.respond(w)
	}
}

// wait lasts as long as the provider takes.
func (c billed) wait(r *http.Request) {
	timer := time.NewTimer(c.delay)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-r.Context().Done():
	}
}

// fail bills what can be generated until the failure.
func (b *billing) fail(w http.ResponseWriter, r *http.Request, c billed) {
	if c.stream && c.fate > 0.16 {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, firstChunk)
		_ = http.NewResponseController(w).Flush()
	}
	c.wait(r)
	output := min(c.output, int64(time.Since(c.begun).Seconds()*10_000))
	if r.Context().Err() != nil { // nobody stops it any more
		output = c.output
	}
	b.charge(c.tag, c.input, output)
	switch {
	case c.stream && c.fate > 0.22:
		_, _ = io.WriteString(w, `data: {"error":{"message":"overloaded","code":502}}`+"\n\ndata: [DONE]\n\n")
	case c.fate > 0.16:
		panic(http.ErrAbortHandler)
	default:
		http.Error(w, "<html><h1>502 Bad Gateway</h1></html>", []int{500, 502, 503, 504}[int(c.fate*1000)%4])
	}
}

const firstChunk = `data: {"id":"x","model":"m","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":` +
	`{"name":"write","arguments":""}}]}}]}` + "\n\n"

func (c billed) respond(w http.ResponseWriter) {
	usage := fmt.Sprintf(`"usage":{"prompt_tokens":%d,"completion_tokens":%d}`, c.input, c.output)
	text := `{"id":"x","model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"x"}}],` + usage + `}`
	kind := "application/json"
	if c.stream {
		text = firstChunk + `data: {"id":"x","model":"m","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}` +
			"\n\n" + `data: {"id":"x","model":"m","choices":[],` + usage + "}\n\ndata: [DONE]\n\n"
		kind = "text/event-stream"
	}
	w.Header().Set("Content-Type", kind)
	if c.fate > 0.75 && c.fate < 0.85 {
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		defer z.Close()
		_, _ = io.WriteString(z, text)
		return
	}
	_, _ = io.WriteString(w, text)
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
		w.worker.Kill9() // not Stop: it may have started a moment ago, and not catch signals yet
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
		Database: database, Args: []string{"--no-worker", "--config", w.config},
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
			testkit.Eventually(w.t, 3*timeout, func() error { return isOver(w.t, env, id) }) // its calls wait for the provider
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

// start makes an agent send calls, 16 at a time. Some agents hang up soon.
func (w *capWorld) start(r cappedRun) (id string) {
	w.t.Helper()
	patience := []string{"20", "0.0@", "0.@"}[w.rng.IntN(3)] // @ is the number of the call
	second := []string{"", `"enable_thinking":true,"thinking_budget":300,`}[w.rng.IntN(2)]
	prompt := fmt.Sprintf(`demo: run seq %d | xargs -P 16 -I@ curl -sN --max-time %s -o /dev/null `+
		`http://127.0.0.1:3128/model/billing/v1/chat/completions -H 'Content-Type: application/json' `+
		`-d '{"model":"m","max_tokens":400,%s"stream":%t,"messages":[{"role":"user","content":"%s"}]}'; echo all calls ended`,
		10+w.rng.IntN(40), patience, second, w.rng.IntN(2) == 0, r.tag)
	body, err := json.Marshal(penstock.RunRequest{Prompt: prompt, Config: &penstock.Config{
		ModelID: penstock.ModelOffline, Budget: &penstock.Budget{MaxCostUSD: penstock.USDOf(r.limit)},
	}})
	if err != nil {
		w.t.Fatal(err)
	}
	var created run.Created
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
	var usage run.RunUsage
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
