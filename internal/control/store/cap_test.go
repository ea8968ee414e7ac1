package store_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"testing"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/store"
	"github.com/penstock-dev/penstock/internal/testkit"
)

// TestTheCapHoldsInRandomSchedules runs random histories of calls, budgets and faults against two
// servers with one database. A provider bills each call that reaches it, whether its settlement
// arrives or not. No budget may be crossed by the bill, and the ledger must be the bill, except
// for the calls whose usage never came.
//
// `make cap` sets PENSTOCK_CAP_SCHEDULES to the number of histories on SQLite. PostgreSQL gets a
// tenth of them, but at least 50.
func TestTheCapHoldsInRandomSchedules(t *testing.T) {
	t.Parallel()
	schedules := 100
	if text := os.Getenv("PENSTOCK_CAP_SCHEDULES"); text != "" {
		var err error
		if schedules, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	const perStore = 2000 // so that a database stays small
	for part := range (schedules + perStore - 1) / perStore {
		first, end := uint64(part*perStore), uint64(min(schedules, (part+1)*perStore))
		t.Run(fmt.Sprint(first), func(t *testing.T) {
			testkit.Engines(t, func(t *testing.T, url string) {
				last := end
				if t.Name()[len(t.Name())-len("sqlite"):] != "sqlite" {
					last = first + max(min(50, end-first), (end-first)/10)
				}
				servers := []*store.Store{testkit.OpenStore(t, url), testkit.OpenStore(t, url)}
				var all audit
				for seed := first; seed < last && !t.Failed(); seed++ {
					s := newHistory(t, servers, seed)
					s.play()
					all.add(s.audit())
				}
				testkit.ReportCap(t, "random schedules", testkit.Cap{
					Schedules: int64(last - first), Calls: all.billed, Over: all.over, Difference: all.difference, Open: all.open,
				})
			})
		})
	}
}

// audit compares the ledger of a history with the bill.
type audit struct{ billed, over, difference, open int64 }

func (a *audit) add(b audit) {
	a.billed += b.billed
	a.over += b.over
	a.difference += b.difference
	a.open += b.open
}

// history is a random schedule of one root run, its child and their calls.
type history struct {
	t       *testing.T
	seed    uint64
	rng     *rand.Rand
	servers []*store.Store
	root    *store.NewRun
	leases  []penstock.Lease // of the root and of its child
	calls   []*billedCall
	caps    []*billedCap
}

// billedCap is a budget of a history.
type billedCap struct {
	name  string
	limit int64
	row   *store.BudgetRow // nil for the root's own budget
}

// billedCall is a call with its provider's bill.
type billedCall struct {
	run     int
	lease   penstock.Lease
	ask     penstock.Reservation
	granted *penstock.Reserved
	over    bool // no more is done with it
	sent    bool
	bill    penstock.CallCost
	settled penstock.Settlement
}

func newHistory(t *testing.T, servers []*store.Store, seed uint64) *history {
	t.Helper()
	h := &history{t: t, seed: seed, rng: rand.New(rand.NewPCG(seed, 7)), servers: servers}
	agent, key := penstock.NewUID(), penstock.NewUID()
	var own float64
	if h.chance(0.7) {
		own = float64(h.between(1, 60)) / 4
	}
	s := servers[0]
	root, lease := working(t, s, func(r *store.NewRun) {
		capped(own, 0)(r)
		r.AgentUID, r.KeyUID = agent, key
	})
	h.root, h.leases = root, []penstock.Lease{lease}
	_, child := working(t, s, func(r *store.NewRun) {
		r.ParentID, r.Inherited, r.AgentUID = root.ID, root.Bequeath(), "helper"
	})
	h.leases = append(h.leases, child)
	if own > 0 {
		h.caps = append(h.caps, &billedCap{"the root's own", penstock.NanosOf(own), nil})
	}
	if h.chance(0.6) {
		h.addBudget("agent", agent)
	}
	if h.chance(0.3) {
		h.addBudget("key", key)
	}
	calls := h.between(2, 14)
	if h.chance(0.02) {
		calls = 64
	}
	for range calls {
		h.calls = append(h.calls, h.newCall())
	}
	return h
}

func (h *history) chance(p float64) bool         { return h.rng.Float64() < p }
func (h *history) between(low, high int64) int64 { return low + h.rng.Int64N(high-low+1) }
func (h *history) server() *store.Store          { return h.servers[h.rng.IntN(len(h.servers))] }

func (h *history) addBudget(scope penstock.BudgetScope, uid string) {
	b := mustAddBudget(h.t, h.server(), func(b *store.BudgetRow) {
		b.Scope, b.ScopeUID, b.MaxCostUSD = scope, uid, float64(h.between(1, 60))/4
	})
	h.caps = append(h.caps, &billedCap{
		string(scope) + " " + uid, penstock.NanosOf(b.MaxCostUSD), &b,
	})
}

func (h *history) newCall() *billedCall {
	run := h.rng.IntN(2)
	r := penstock.Reservation{
		ID: penstock.NewID(), Provider: "anthropic", Model: "m", Completions: h.between(1, 2),
		InputTokens: h.between(1, 4000),
		InputCost:   h.between(0, usd), OutputPrice: h.between(1, usd), Output: h.between(1, 1500),
	}
	r.LeastOutput = r.Output
	if h.chance(0.7) {
		r.LeastOutput = h.between(1, r.Output)
	}
	return &billedCall{run: run, lease: h.leases[run], ask: r}
}

// play takes steps until each call has ended. Several calls take a step at once.
func (h *history) play() {
	for range 500 {
		if h.chance(0.04) {
			h.crash(h.rng.IntN(2))
		}
		if h.chance(0.04) {
			h.raise()
		}
		if h.chance(0.02) && len(h.caps) < 5 {
			h.addBudgetLate()
		}
		var steps []func() error
		for _, c := range h.calls {
			if !c.over && h.chance(0.4) {
				steps = append(steps, h.step(c))
			}
		}
		h.together(steps)
		if h.done() {
			return
		}
	}
	for _, c := range h.calls {
		c.over = true // it waited until its agent hung up
	}
}

func (h *history) done() bool {
	for _, c := range h.calls {
		if !c.over {
			return false
		}
	}
	return true
}

func (h *history) together(steps []func() error) {
	var all sync.WaitGroup
	for _, step := range steps {
		all.Go(func() {
			if err := step(); err != nil {
				h.t.Errorf("schedule %d: %v", h.seed, err)
			}
		})
	}
	all.Wait()
}

// step chooses the next step of a call. The choice is made here, so that a seed repeats it.
func (h *history) step(c *billedCall) func() error {
	s, again := h.server(), h.server()
	repeats, lost, hangsUp := h.chance(0.1), h.chance(0.08), h.chance(0.05)
	if c.granted == nil {
		return func() error { return c.reserve(s, again, repeats, lost, hangsUp) }
	}
	if !c.sent {
		if hangsUp {
			c.settled = penstock.Settlement{Unsent: true}
			return func() error { return c.settle(s, again, repeats) }
		}
		h.send(c)
		return func() error { return nil }
	}
	switch dies := h.chance(0.1); {
	case dies: // the settlement never arrives
		c.over = true
		return func() error { return nil }
	case h.chance(0.1):
		c.settled = penstock.Settlement{Unknown: true}
	default:
		bill := c.bill
		c.settled = penstock.Settlement{Cost: &bill, Tokens: penstock.TokenUsage{Input: 1, Output: 1}}
		if h.chance(0.1) { // the stream was cut: the rest is an upper bound
			c.settled.Estimated = true
			bill.Output = c.ask.Cost(c.granted.Output) - bill.Input
		}
	}
	return func() error { return c.settle(s, again, repeats) }
}

// send lets the provider bill the call, up to the reservation.
func (h *history) send(c *billedCall) {
	c.sent = true
	output := c.ask
	output.InputCost = 0
	c.bill = penstock.CallCost{
		Input: h.between(0, c.ask.InputCost), Output: output.Cost(h.between(0, c.granted.Output)),
	}
	if h.chance(0.3) { // as much as it may
		c.bill = penstock.CallCost{Input: c.ask.InputCost, Output: output.Cost(c.granted.Output)}
	}
}

// reserve reserves the call. If the response is lost, the worker asks another server, or the agent
// disconnects first.
func (c *billedCall) reserve(s, again *store.Store, repeats, lost, hangsUp bool) error {
	got, err := s.Calls.Reserve(context.Background(), c.lease, c.ask)
	if err == nil && repeats {
		got, err = again.Calls.Reserve(context.Background(), c.lease, c.ask)
	}
	switch {
	case errors.Is(err, penstock.ErrLeaseLost) || got.Refusal != nil:
		c.over = true
		return nil
	case err != nil:
		return fmt.Errorf("reserve: %w", err)
	case got.Wait:
		c.over = hangsUp
		return nil
	}
	if c.granted, c.over = &got, lost; lost && hangsUp { // the worker got no grant, but releases the call
		c.settled = penstock.Settlement{Unsent: true}
		return c.settle(again, s, repeats)
	}
	return nil
}

func (c *billedCall) settle(s, again *store.Store, repeats bool) error {
	c.over, c.settled.ID = true, c.ask.ID
	servers := []*store.Store{s}
	if repeats {
		servers = append(servers, again)
	}
	for _, s := range servers {
		err := s.Write(context.Background(), func(tx *store.Tx) error {
			_, _, err := tx.Calls().Settle(context.Background(), c.lease, c.settled)
			return err
		})
		if err != nil {
			return fmt.Errorf("settle: %w", err)
		}
	}
	return nil
}

// crash kills the worker of a run. Another one takes over the run. The first worker's calls are in
// flight, and nobody settles them.
func (h *history) crash(run int) {
	id := h.leases[run].RunID
	s := h.server()
	if err := s.Write(h.t.Context(), func(tx *store.Tx) error {
		row, err := tx.Runs().Lock(h.t.Context(), id)
		if err != nil {
			return err
		}
		return tx.Runs().Requeue(h.t.Context(), row, store.LeaseLost)
	}); err != nil {
		h.t.Fatal(err)
	}
	_, h.leases[run] = mustClaim(h.t, s, "host")
	for _, to := range []penstock.State{penstock.StatePending, penstock.StateInProgress} {
		if err := move(h.t, s, id, to); err != nil {
			h.t.Fatal(err)
		}
	}
	for _, c := range h.calls {
		switch {
		case c.run != run || c.over:
		case c.granted == nil:
			c.lease = h.leases[run] // the new agent makes the call
		default:
			if !c.sent && h.chance(0.5) {
				h.send(c) // it was on its way
			}
			c.over = true
		}
	}
}

// raise raises the root's own budget.
func (h *history) raise() {
	for _, limit := range h.caps {
		if limit.row != nil {
			continue
		}
		limit.limit += h.between(1, 4) * usd
		if err := h.server().Write(h.t.Context(), func(tx *store.Tx) error {
			return tx.Budgets().SetRunBudget(h.t.Context(), h.root.Team, h.root.ID, limit.limit, 0)
		}); err != nil {
			h.t.Fatal(err)
		}
	}
}

// addBudgetLate adds a budget after much was spent. What was reserved before does not count as
// crossing it.
func (h *history) addBudgetLate() {
	h.addBudget("agent", h.root.AgentUID)
	added := h.caps[len(h.caps)-1]
	spent := spentOf(h.t, h.server(), *added.row)
	added.limit = max(added.limit, spent.SpentCost+spent.ReservedCost)
}

// audit compares the ledger with the bill.
func (h *history) audit() (a audit) {
	ledger := map[string]store.Call{}
	for _, l := range h.leases {
		calls, err := h.server().Calls.List(h.t.Context(), l.RunID)
		if err != nil {
			h.t.Fatal(err)
		}
		for _, c := range calls {
			ledger[c.ID] = c
		}
	}
	var bill int64
	for _, c := range h.calls {
		cost := c.bill.Total()
		bill += cost
		row := ledger[c.ask.ID]
		if c.sent {
			a.billed++
		}
		exact := row.State == store.CallSettled && !row.Unknown && !row.Estimated
		switch {
		case c.sent && row.ID == "", row.State == store.CallUnsent && cost > 0, row.Cost < cost, exact && row.Cost != cost:
			h.t.Errorf("schedule %d: the provider bills %d for call %s, and the ledger has %+v", h.seed, cost, row.ID, row)
		case row.State == store.CallReserved || row.Unknown || row.Estimated:
			a.open++
		default:
			a.difference += row.Cost - cost
		}
	}
	for _, limit := range h.caps {
		if over := bill - limit.limit; over > 0 {
			a.over += over
			h.t.Errorf("schedule %d: the bill is %d nano-dollars, and the budget of %s has %d",
				h.seed, bill, limit.name, limit.limit)
		}
	}
	return a
}
