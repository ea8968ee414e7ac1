package gateway_test

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/penstock-dev/penstock/internal/supply/price"
	"github.com/penstock-dev/penstock/internal/testkit"
	"github.com/penstock-dev/penstock/internal/wall/gateway"
)

// TestTheCapHoldsHoweverACallEnds lets agents and a provider end calls in every way. The provider
// bills what it generates before it sends any of it, waits, buffers, lies about what it has used so
// far, breaks off, reports errors in good responses, stands behind a proxy that fails, and compresses.
// The agent hangs up whenever it likes. No budget may be crossed by the bill, and no ledger may be below
// it.
//
// `make cap` sets PENSTOCK_CAP_SCHEDULES: this test plays a hundredth of them.
func TestTheCapHoldsHoweverACallEnds(t *testing.T) {
	t.Parallel()
	schedules := uint64(40)
	if text := os.Getenv("PENSTOCK_CAP_SCHEDULES"); text != "" {
		n, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		schedules = max(1, n/100)
	}
	t.Run("gateway", func(t *testing.T) {
		w := &meterWorld{t: t, prices: table(t)}
		for seed := range schedules {
			w.play(seed)
			if t.Failed() {
				break
			}
		}
		testkit.ReportCap(t, "calls that someone ends", testkit.Cap{
			Schedules: int64(schedules), Calls: w.calls, Over: w.over, Difference: w.difference, Open: w.open,
		})
	})
}

// meterWorld sums up what the schedules have shown.
type meterWorld struct {
	t      *testing.T
	prices *price.Table

	calls, over, difference, open int64
}

// gatewayTo returns a gateway before a provider.
func gatewayTo(t *testing.T, url string) *gateway.Gateway {
	t.Helper()
	g, err := gateway.New(gateway.Options{Providers: []gateway.Provider{
		{Name: "anthropic", API: gateway.Anthropic, BaseURL: url},
		{Name: "openai", API: gateway.OpenAI, BaseURL: url + "/v1"},
		{Name: "gemini", API: gateway.Gemini, BaseURL: url},
	}})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// play sends the calls of one session under a budget, and compares its ledger with the bill. Each schedule
// has a provider of its own: it may read a request only after the agent has gone.
func (w *meterWorld) play(seed uint64) {
	dice := rand.New(rand.NewPCG(seed, 3))
	p := newPurse(int64(10+dice.IntN(150)) * 1_000_000)
	provider := &meter{prices: w.prices, dice: rand.New(rand.NewPCG(seed, 4))}
	server := httptest.NewServer(provider)
	session := gatewayTo(w.t, server.URL).Session(gateway.SessionOptions{Spend: p, Prices: w.prices})
	relay := httptest.NewServer(session)
	defer relay.Close()
	var agents sync.WaitGroup
	for range 2 + dice.IntN(10) {
		call := drawMeterCall(dice)
		agents.Go(func() { call.send(w.t, relay.URL) })
	}
	if dice.IntN(4) == 0 { // the worker ends the turn
		agents.Go(func() {
			pause(w.t.Context(), 20*time.Millisecond)
			session.EndTurn()
			session.Close()
		})
	}
	agents.Wait()
	session.Close()
	server.Close() // waits for the requests that it has begun to read
	p.mu.Lock()
	defer p.mu.Unlock()
	bill := provider.bill
	w.calls += provider.calls
	exact := true
	for _, s := range p.settled {
		if s.Unknown || s.Estimated {
			w.open++
			exact = false
		}
	}
	if bill > p.cap {
		w.over += bill - p.cap
	}
	if exact {
		w.difference += p.spent - bill
	}
	if bill > p.cap || p.spent < bill || exact && p.spent != bill {
		w.t.Errorf("schedule %d: the provider bills %d, the budget has %d, and the ledger %d:\n%s", seed, bill, p.cap,
			p.spent, strings.Join(provider.log, "\n"))
	}
}

// pause waits, unless ctx ends.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// meterCall is a request of an agent, and when the agent hangs up.
type meterCall struct {
	path, body string
	bytes      int           // that it reads; -1: all
	patience   time.Duration // how long it waits; 0: for ever
}

func drawMeterCall(dice *rand.Rand) meterCall {
	limit := 1 + dice.IntN(2000)
	stream := dice.IntN(4) > 0
	c := meterCall{bytes: -1}
	switch dice.IntN(4) {
	case 0:
		thinking := []string{`{"type":"disabled"}`, `{"type":"adaptive"}`}[dice.IntN(2)]
		c.path = "/model/anthropic/v1/messages"
		c.body = fmt.Sprintf(`{"model":"claude-x","max_tokens":%d,"stream":%t,"thinking":%s,"tools":[{"name":"write",`+
			`"input_schema":{"type":"object"}}],"messages":[]}`, limit, stream, thinking)
	case 1:
		second := []string{
			"", "", `,"enable_thinking":true,"thinking_budget":1500`, `,"chat_template_kwargs":{"enable_thinking":true,` +
				`"thinking_budget":1200}`, `,"thinking":{"type":"enabled","budget_tokens":700}`, `,"reasoning_effort":"high"`,
		}[dice.IntN(6)]
		c.path = "/model/openai/v1/chat/completions"
		c.body = fmt.Sprintf(`{"model":"gpt-x","max_tokens":%d,"stream":%t,"n":%d%s,"messages":[]}`,
			limit, stream, 1+dice.IntN(2), second)
	case 2:
		c.path = "/model/openai/v1/responses"
		c.body = fmt.Sprintf(`{"model":"gpt-x","max_output_tokens":%d,"stream":%t,"store":false,"input":"hi"}`,
			16+limit, stream)
	default:
		call := "generateContent"
		if stream {
			call = "streamGenerateContent?alt=sse"
		}
		c.path = "/model/gemini/v1beta/models/gemini-x:" + call
		c.body = fmt.Sprintf(`{"contents":[],"generationConfig":{"maxOutputTokens":%d,"candidateCount":%d,`+
			`"thinkingConfig":{"thinkingBudget":0}}}`, limit, 1+dice.IntN(2))
	}
	switch dice.IntN(3) {
	case 0:
		c.bytes = dice.IntN(1500)
	case 1:
		c.patience = time.Duration(1+dice.IntN(60)) * time.Millisecond
	}
	return c
}

func (c meterCall) send(t *testing.T, relay string) {
	ctx, hangUp := context.WithCancel(t.Context())
	defer hangUp()
	if c.patience > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.patience)
		defer cancel()
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, relay+c.path, strings.NewReader(c.body))
	if err != nil {
		t.Error(err)
		return
	}
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		return // a cut
	}
	defer res.Body.Close()
	if c.bytes < 0 {
		_, _ = io.Copy(io.Discard, res.Body)
		return
	}
	_, _ = io.CopyN(io.Discard, res.Body, int64(c.bytes))
}
