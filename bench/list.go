package main

import (
	"context"
	"fmt"
	"time"
)

// smallList is the size of the list that the large list is compared with.
const smallList = 10_000

// list measures a page of a long list, compared with a page of a short one.
func (b *bench) list(ctx context.Context) error {
	return b.onEach(func(e engine) error { return b.listOn(ctx, e) })
}

func (b *bench) listOn(ctx context.Context, e engine) error {
	return b.comparePages(ctx, e, "runs", listRequests(), func(database string, runs int) error {
		return b.fill(ctx, e.name, database, runs)
	})
}

// comparePages measures pages of a long list of some rows and of a short one, which fill makes.
func (b *bench) comparePages(
	ctx context.Context, e engine, rows string, pages [][]byte, fill func(database string, n int) error,
) error {
	var targets []*target
	size := 0
	for _, n := range []int{smallList, b.runs} {
		url, drop, err := e.fresh(ctx)
		if err != nil {
			return err
		}
		defer drop()
		start := time.Now()
		if err := fill(url, n); err != nil {
			return fmt.Errorf("fill: %w", err)
		}
		b.progressf(
			"%s: filled with %s %s in %s", e.name, count(float64(n)), rows, time.Since(start).Round(100*time.Millisecond),
		)
		p, err := b.serve(ctx, url, "--worker=false")
		if err != nil {
			return err
		}
		defer p.stop()
		t, err := newTarget(ctx, e.name+"  "+count(float64(n))+" "+rows, p, 1, pages...)
		if err != nil {
			return err
		}
		defer t.close()
		if size, err = t.conns[0].do(pages[0]); err != nil {
			return err
		}
		targets = append(targets, t)
	}
	bare, err := b.bareTarget(ctx, size, 1, pages...)
	if err != nil {
		return err
	}
	defer bare.close()
	defer bare.stop()
	if err := takeTurns(ctx, 10, 400*time.Millisecond, append([]*target{bare}, targets...)...); err != nil {
		return err
	}
	b.reportList(targets[0], targets[1], bare)
	return nil
}

func (b *bench) reportList(short, long, bare *target) {
	for _, t := range []*target{short, long} {
		b.out.row(latency(t, bare, "CPU for each", cpu))
		b.out.row(latency(t, bare, "p50", p50))
		b.out.row(latency(t, bare, "p99", p99))
	}
	growth := long.median(p99) / short.median(p99)
	b.out.row(
		row{
			what: long.name + "  p99 to that of the short list", ratio: fmt.Sprintf("%.2f", growth),
			aim: below(growth, 2, "< 2"),
		},
	)
}

// listRequests request the first page for each name and state of the runs that fill creates.
func listRequests() [][]byte {
	var list [][]byte
	for n := range fillNames {
		for _, state := range []string{"SUCCEEDED", "FAILED"} {
			list = append(list, request("GET", fmt.Sprintf("/agent/runs?state=%s&name=nightly-%d", state, n), ""))
		}
	}
	return list
}
