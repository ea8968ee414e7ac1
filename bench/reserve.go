package main

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/httpapi"
)

// reservations is the number of calls that each execution reserves, in turns with the creation of a
// run.
const reservations = 60

// reserve measures the time that a budget adds before a call to a model, compared with the creation
// of a run on the same server. The worker uses HTTP, like one on another machine.
func (b *bench) reserve(ctx context.Context) error {
	return b.onEach(func(e engine) error {
		for _, atOnce := range []int{1, connections} {
			if err := b.reserveOn(ctx, e, atOnce); err != nil {
				return err
			}
		}
		return nil
	})
}

func (b *bench) reserveOn(ctx context.Context, e engine, atOnce int) error {
	p, end, err := b.serveFresh(ctx, e.fresh)
	if err != nil {
		return err
	}
	defer end()
	worker, err := newWorker(p)
	if err != nil {
		return err
	}
	capped := strings.Replace(createBody("capped"), `"config": {`, `"config": {"budget": {"max_cost_usd": 1000000}, `, 1)
	leases := make([]penstock.Lease, atOnce)
	client, err := dial(ctx, p.addr)
	if err != nil {
		return err
	}
	defer client.Close()
	for i := range leases {
		if _, err := client.do(request("POST", createPath, capped)); err != nil {
			return err
		}
		a, err := worker.Claim(ctx, aWorker(20*time.Second))
		if err != nil {
			return err
		}
		leases[i] = a.Lease
	}
	var t reserveTimes
	var all errgroup.Group
	for _, l := range leases {
		all.Go(func() error { return t.measure(ctx, p, worker, l) })
	}
	if err := all.Wait(); err != nil {
		return err
	}
	b.reportReserve(fmt.Sprintf("%s, %d at once", e.name, atOnce), &t)
	return nil
}

// reserveTimes are the durations of requests.
type reserveTimes struct {
	mu               sync.Mutex
	reserve, creates []time.Duration
}

// measure reserves calls for one execution, in turns with runs that it creates.
func (t *reserveTimes) measure(ctx context.Context, p *process, worker *httpapi.Client, l penstock.Lease) error {
	client, err := dial(ctx, p.addr)
	if err != nil {
		return err
	}
	defer client.Close()
	post := request("POST", createPath, createBody("beside"))
	for range reservations {
		start := time.Now()
		if _, err := client.do(post); err != nil {
			return err
		}
		created := time.Now()
		if _, err := worker.Reserve(ctx, l, penstock.Reservation{
			ID: penstock.NewID(), Provider: "anthropic", Model: "claude", InputTokens: 1000, InputCost: 1000,
			OutputPrice: 1000, Output: 1000, LeastOutput: 1, Completions: 1,
		}); err != nil {
			return err
		}
		reserved := time.Since(created)
		t.mu.Lock()
		t.creates, t.reserve = append(t.creates, created.Sub(start)), append(t.reserve, reserved)
		t.mu.Unlock()
	}
	return nil
}

// mostReserve is how long a reservation may take, relative to a creation.
const mostReserve = 1.5

func (b *bench) reportReserve(what string, t *reserveTimes) {
	for _, q := range []struct {
		name string
		q    float64
	}{{"p50", .5}, {"p99", .99}} {
		reserve, create := quantile(t.reserve, q.q), quantile(t.creates, q.q)
		r := row{
			what: what + "  " + q.name, penstock: millis(reserve), bare: millis(create),
			ratio: ratio(float64(reserve), float64(create)),
		}
		if q.q == .5 {
			r.aim = upTo(float64(reserve), mostReserve*float64(create), "ratio ≤ 1.5")
		}
		b.out.row(r)
	}
}
