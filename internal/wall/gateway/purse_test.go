package gateway_test

import (
	"context"
	"math/big"
	"sync"
	"testing"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/supply/price"
	"github.com/penstock-dev/penstock/internal/wall/gateway"
)

// purse is a budget in memory with the rules of the control plane.
type purse struct {
	cap int64 // in nano-dollars; 0: no cap

	mu      sync.Mutex
	held    map[string]int64
	asked   []penstock.Reservation
	granted map[string]penstock.Reservation
	settled map[string]penstock.Settlement
	spent   int64
	most    int64 // that was spent and held at once
	wake    chan struct{}
}

func newPurse(limit int64) *purse {
	return &purse{
		cap: limit, held: map[string]int64{}, granted: map[string]penstock.Reservation{},
		settled: map[string]penstock.Settlement{}, wake: make(chan struct{}),
	}
}

// cost is the most that a reservation can cost with an output.
func cost(r penstock.Reservation, output int64) int64 {
	pico := new(big.Int).Mul(big.NewInt(output), big.NewInt(r.OutputPrice))
	pico.Mul(pico, big.NewInt(r.Completions)).Add(pico, big.NewInt(999))
	nano := pico.Quo(pico, big.NewInt(1000))
	return nano.Add(nano, big.NewInt(r.InputCost)).Int64()
}

func (p *purse) reservedNow() (sum int64) {
	for _, n := range p.held {
		sum += n
	}
	return sum
}

// Reserve implements gateway.Spend.
func (p *purse) Reserve(ctx context.Context, r penstock.Reservation) (penstock.Reserved, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked = append(p.asked, r)
	if p.cap == 0 {
		p.held[r.ID], p.granted[r.ID] = 0, r
		return penstock.Reserved{Output: r.Output}, ctx.Err()
	}
	if r.Unbounded != "" {
		return refusal(penstock.CodeBudgetExceeded, "The request was not sent: "+r.Unbounded+".", nil), nil
	}
	if r.Unpriced {
		return refusal(penstock.CodeUnpricedModel, "The model has no price.", nil), nil
	}
	held := p.reservedNow()
	for output := r.Output; ; output = max(r.LeastOutput, p.affordable(r, p.spent+held)) {
		if needed := cost(r, output); p.spent+held+needed <= p.cap {
			p.held[r.ID] = needed
			p.granted[r.ID] = r
			p.most = max(p.most, p.spent+held+needed)
			return penstock.Reserved{Capped: true, Output: output}, nil
		}
		if output == r.LeastOutput {
			break
		}
	}
	if held > 0 && p.spent+cost(r, r.LeastOutput) <= p.cap {
		return penstock.Reserved{Wait: true}, nil
	}
	return refusal(penstock.CodeBudgetExceeded, "The budget of this run has no room for another call.",
		&penstock.BudgetShortage{
			BudgetUID: "run", SpentUSD: penstock.USDOf(p.spent), CapUSD: penstock.USDOf(p.cap),
			NeededUSD: penstock.USDOf(cost(r, r.LeastOutput)),
		}), nil
}

func (p *purse) affordable(r penstock.Reservation, spent int64) int64 {
	left := p.cap - spent - r.InputCost
	if left < 0 || r.OutputPrice == 0 {
		return 0
	}
	return left * 1000 / r.OutputPrice / r.Completions
}

func refusal(code penstock.Code, detail string, b *penstock.BudgetShortage) penstock.Reserved {
	return penstock.Reserved{Refusal: &penstock.SpendRefusal{Code: code, Detail: detail, Pause: b != nil, Budget: b}}
}

// Settle implements gateway.Spend.
func (p *purse) Settle(s penstock.Settlement) {
	p.mu.Lock()
	defer p.mu.Unlock()
	held, ok := p.held[s.ID]
	if !ok {
		return
	}
	delete(p.held, s.ID)
	p.settled[s.ID] = s
	close(p.wake)
	p.wake = make(chan struct{})
	switch {
	case s.Unsent:
	case s.Cost == nil:
		p.spent += held
	default:
		p.spent += s.Cost.Total()
	}
}

// one returns the only counted call.
func (p *purse) one(t *testing.T) (penstock.Reservation, penstock.Settlement) {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.granted) != 1 || len(p.settled) != 1 {
		t.Fatalf("%d calls are counted and %d settled", len(p.granted), len(p.settled))
	}
	for id, r := range p.granted {
		return r, p.settled[id]
	}
	panic("unreachable")
}

// spendPrices lists a model of each API with every kind of price.
const spendPrices = `
models:
  anthropic/claude-x:
    window: 200000
    max_output: 64000
    regions: {us: 1.1}
    tools: {web_search: 10}
    rates:
    - {input: 3, output: 15, cache_read: 0.3, cache_write: 3.75, cache_write_long: 6}
    - {above: 100000, input: 6, output: 22.5, cache_read: 0.6, cache_write: 7.5, cache_write_long: 12}
    - {tiers: [fast], input: 18, output: 90, cache_read: 1.8, cache_write: 22.5, cache_write_long: 36}
  openai/gpt-x:
    window: 400000
    max_output: 128000
    tools: {web_search: 10}
    rates:
    - {input: 1.25, output: 10, cache_read: 0.125, cache_write: 1.5, cache_write_long: 3}
    - {tiers: [priority], input: 2.5, output: 20, cache_read: 0.25, cache_write: 3}
    - {tiers: [flex], input: 0.625, output: 5, cache_read: 0.06}
  google/gemini-x:
    window: 1000000
    max_output: 65536
    rates:
    - {input: 0.3, output: 2.5, cache_read: 0.03, audio: 1, audio_cache_read: 0.1}
    - {above: 200000, input: 0.6, output: 4, audio: 2}
    - {tiers: [priority], input: 0.54, output: 4.5, audio: 1.8}
  openai/gpt-plain: {input: 1, output: 2}
`

func table(t *testing.T) *price.Table { return priceTable(t, spendPrices) }

func priceTable(t *testing.T, text string) *price.Table {
	t.Helper()
	list, err := price.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// spending returns the options of a session that counts against a purse.
func spending(t *testing.T, p *purse) gateway.SessionOptions {
	t.Helper()
	return gateway.SessionOptions{Spend: p, Prices: table(t)}
}
