package main

import (
	"context"
	"fmt"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/httpapi"
)

// claims is the number of runs that go from the client to the worker, on each engine.
const claims = 300

// claim measures the time from the creation of a run until a waiting worker has it: insert, wake-up
// and claim. The worker uses HTTP, like one on another machine. The embedded worker is faster.
func (b *bench) claim(ctx context.Context) error {
	post := request("POST", createPath, createBody("nightly"))
	bare, err := b.bareTarget(ctx, 128, 1, post)
	if err != nil {
		return err
	}
	defer bare.close()
	defer bare.stop()
	var lanes []*lane
	for _, e := range b.engines() {
		p, end, err := b.serveFresh(ctx, e.fresh)
		if err != nil {
			return err
		}
		defer end()
		l, err := newLane(ctx, e.name, p)
		if err != nil {
			return err
		}
		defer l.client.Close()
		lanes = append(lanes, l)
	}
	var echoed []time.Duration
	for range claims {
		start := time.Now()
		if _, err := bare.conns[0].do(post); err != nil {
			return err
		}
		echoed = append(echoed, time.Since(start))
		for _, l := range lanes {
			if err := l.once(ctx, post); err != nil {
				return fmt.Errorf("%s: %w", l.name, err)
			}
		}
	}
	for _, l := range lanes {
		b.reportClaim(l, echoed)
	}
	return nil
}

func (b *bench) reportClaim(l *lane, echoed []time.Duration) {
	for _, q := range []struct {
		what string
		q    float64
	}{{"p50", .5}, {"p99", .99}} {
		whole, bare := quantile(l.whole, q.q), quantile(echoed, q.q)
		b.out.row(row{
			what: l.name + "  from the request, " + q.what, penstock: millis(whole), bare: millis(bare),
			ratio: ratio(float64(whole), float64(bare)),
		})
	}
	b.out.row(row{what: l.name + "  from its response, p50", penstock: millis(quantile(l.after, .5))})
	b.out.row(row{what: l.name + "  from its response, p99", penstock: millis(quantile(l.after, .99))})
}

// lane is a client that creates runs and a worker that takes them.
type lane struct {
	name   string
	client *conn
	worker *httpapi.Client
	whole  []time.Duration // from the request to the worker
	after  []time.Duration // from the response, when the run is stored
}

func newLane(ctx context.Context, name string, p *process) (*lane, error) {
	worker, err := newWorker(p)
	if err != nil {
		return nil, err
	}
	client, err := dial(ctx, p.addr)
	return &lane{name: name, client: client, worker: worker}, err
}

func newWorker(p *process) (*httpapi.Client, error) {
	return httpapi.NewClient(httpapi.ClientOptions{Server: "http://" + p.addr, Key: apiKey})
}

// once takes one run from the client to the worker, and out of the queue again.
func (l *lane) once(ctx context.Context, post []byte) error {
	type taken struct {
		at  time.Time
		a   penstock.Assignment
		err error
	}
	got := make(chan taken, 1)
	go func() {
		a, err := l.worker.Claim(ctx, aWorker(20*time.Second))
		got <- taken{time.Now(), a, err}
	}()
	if err := sleep(ctx, 8*time.Millisecond); err != nil { // so that the worker is waiting
		return err
	}
	start := time.Now()
	if _, err := l.client.do(post); err != nil {
		return err
	}
	stored := time.Now()
	t := <-got
	if t.err != nil {
		return t.err
	}
	l.whole = append(l.whole, t.at.Sub(start))
	l.after = append(l.after, max(0, t.at.Sub(stored)))
	_, err := l.worker.Finish(ctx, t.a.Lease, penstock.Result{State: penstock.StateFailed})
	return err
}

// aWorker is a claim that waits this long.
func aWorker(wait time.Duration) penstock.ClaimRequest {
	return penstock.ClaimRequest{
		WorkerID: "bench", Host: "bench", Version: "bench", Harnesses: []string{penstock.HarnessBuiltin}, Sandbox: "process",
		Capacity: 4, Wait: wait,
	}
}
