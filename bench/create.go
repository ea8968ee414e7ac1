package main

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// createBody is the request for a run, as an integration would send it, of about 2 KB.
func createBody(name string) string {
	prompt := strings.Repeat("Look at the failing job of this morning, find its cause and open a pull request. ", 20)
	return fmt.Sprintf(`{"title": "Fix the build", "prompt": %q, "config": {"name": %q, "model_id": "demo/offline", `+
		`"max_duration_minutes": 30, `+
		`"env": {"LANG": "C.UTF-8"}}, "metadata": {"repository": "github.com/acme/shop", `+
		`"ci.job": "https://ci.example.com/acme/shop/4711"}}`, prompt,
		name)
}

const createPath = "/agent/runs"

// create measures how many runs per second are accepted. Each is durable before its response.
func (b *bench) create(ctx context.Context) error {
	return b.onEach(func(e engine) error { return b.createOn(ctx, e) })
}

func (b *bench) createOn(ctx context.Context, e engine) error {
	p, end, err := b.serveFresh(ctx, e.fresh)
	if err != nil {
		return err
	}
	defer end()
	post := request("POST", createPath, createBody("nightly"))
	t, err := newTarget(ctx, e.name, p, connections, post)
	if err != nil {
		return err
	}
	defer t.close()
	size, err := t.conns[0].do(post)
	if err != nil {
		return err
	}
	bare, err := b.bareTarget(ctx, size, connections, post)
	if err != nil {
		return err
	}
	defer bare.close()
	defer bare.stop()
	if err := takeTurns(ctx, 5, 2*time.Second, bare, t); err != nil {
		return err
	}
	b.reportTarget(t, bare, map[string]loadAims{"sqlite": {.28, maxTail}, "postgres": {.17, maxTail}}[e.name])
	return nil
}

const connections = 64

func (b *bench) bareTarget(ctx context.Context, response, connections int, requests ...[]byte) (*target, error) {
	p, err := startBare(ctx, bareRuns, response)
	if err != nil {
		return nil, err
	}
	t, err := newTarget(ctx, "bare", p, connections, requests...)
	if err != nil {
		p.stop()
	}
	return t, err
}

// loadAims are the minimum rate and the maximum p99, both relative to the bare server. 0 means no
// aim.
type loadAims struct{ share, tail float64 }

const maxTail = 2.5

// reportTarget prints the results of t next to the bare server's in the same run.
func (b *bench) reportTarget(t, bare *target, aims loadAims) {
	share := t.against(bare, rate)
	r := row{
		what: t.name + "  requests/s", penstock: count(t.median(rate)), bare: count(bare.median(rate)),
		ratio: fmt.Sprintf("%.2f", share),
	}
	if aims.share > 0 {
		r.aim = atLeast(share, aims.share, fmt.Sprintf("ratio ≥ %.3g", aims.share))
	}
	b.out.row(r)
	b.out.row(latency(t, bare, "CPU for each", cpu))
	b.out.row(latency(t, bare, "p50", p50))
	r = latency(t, bare, "p99", p99)
	if aims.tail > 0 {
		r.aim = upTo(t.median(p99)/bare.median(p99), aims.tail, fmt.Sprintf("ratio ≤ %.3g", aims.tail))
	}
	b.out.row(r)
}

// latency returns the row of one figure of t, next to the bare server's.
func latency(t, bare *target, what string, figure func(round) float64) row {
	return row{
		what: t.name + "  " + what, penstock: millis(time.Duration(t.median(figure))),
		bare: millis(time.Duration(bare.median(figure))), ratio: ratio(t.median(figure), bare.median(figure)),
	}
}
