package main

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// hookTarget is a server with webhooks that gets deliveries.
type hookTarget struct {
	*target
	sends *deliveries
	undo  []func()
}

// hookOptions configures a server and its load. The zero value is one webhook with one automation
// and no limit.
type hookOptions struct {
	webhooks    int // default 1
	automations int // of each; default 1
	filter      string
	commits     int64  // see deliveries
	subject     string // of the automations; "": none
	random      string // name of the second measurement, with random ids; "": none
	limit       int    // deliveries per minute
	fill        func(
		ctx context.Context, database, webhook string,
	) error // called before the first delivery; may be nil
}

// hookTarget starts a server on a fresh database.
func (b *bench) hookTarget(ctx context.Context, name string, e engine, o hookOptions) (*hookTarget, error) {
	url, drop, err := e.fresh(ctx)
	if err != nil {
		return nil, err
	}
	t := &hookTarget{undo: []func(){drop}}
	if err := b.openHooks(ctx, t, name, url, o); err != nil {
		t.close()
		return nil, err
	}
	return t, nil
}

func (b *bench) openHooks(ctx context.Context, t *hookTarget, name, url string, o hookOptions) error {
	p, err := b.serve(ctx, url, "--worker=false", fmt.Sprintf("--limit-deliveries-per-minute=%d", o.limit))
	if err != nil {
		return err
	}
	t.undo = append(t.undo, p.stop)
	if t.sends, err = newDeliveries(ctx, p, o); err != nil {
		return err
	}
	if o.fill != nil {
		if err := o.fill(ctx, url, t.sends.uids[0]); err != nil {
			return fmt.Errorf("fill: %w", err)
		}
	}
	if t.target, err = newTarget(ctx, name, p, 0); err != nil {
		return err
	}
	t.undo = append(t.undo, t.target.close)
	t.sends.open(connections)
	t.next = func(conn int) []byte { return t.sends.request(conn, false) }
	t.pause() // while the others are created
	return nil
}

// warm opens the connections, because a server closes idle ones, and fills the caches of the
// server.
func (t *hookTarget) warm(ctx context.Context) (err error) {
	if t.conns, err = dialAll(ctx, t.addr, connections); err != nil {
		return err
	}
	for enough := t.sends.sent.Load() + 2*int64(len(t.sends.uids)); ; {
		if _, err = t.load(ctx, time.Second); err != nil || t.sends.sent.Load() >= enough {
			return err
		}
	}
}

func (t *hookTarget) close() {
	for _, undo := range slices.Backward(t.undo) {
		undo()
	}
}

// bareHookTarget returns the bare server for deliveries. It gets the deliveries of like.
func bareHookTarget(ctx context.Context, like *hookTarget) (*target, error) {
	p, err := startBare(ctx, bareHooks, len(`{"delivery_id":"01900000-0000-7000-8000-100000000000"}`))
	if err != nil {
		return nil, err
	}
	t, err := newTarget(ctx, "bare", p, connections)
	if err != nil {
		p.stop()
		return nil, err
	}
	sends := &deliveries{uids: like.sends.uids, commits: like.sends.commits}
	sends.open(connections)
	t.next = func(conn int) []byte { return sends.request(conn, false) }
	return t, nil
}

// turns measures the targets and the bare server in turns, and checks that each response means an
// accepted delivery.
func (b *bench) turns(ctx context.Context, rounds int, targets []*hookTarget) (bare *target, err error) {
	for _, t := range targets {
		t.resume()
		if err := t.warm(ctx); err != nil {
			return nil, fmt.Errorf("%s: %w", t.name, err)
		}
		t.pause()
	}
	if bare, err = bareHookTarget(ctx, targets[0]); err != nil {
		return nil, err
	}
	defer bare.stop()
	defer bare.close()
	all := []*target{bare}
	for _, t := range targets {
		all = append(all, t.target)
	}
	if err := takeTurns(ctx, rounds, 2*time.Second, all...); err != nil {
		return nil, err
	}
	for _, t := range targets {
		t.resume()
		if err := t.sends.verify(ctx, t.process); err != nil {
			return nil, fmt.Errorf("%s: %w", t.name, err)
		}
		t.pause()
	}
	return bare, nil
}

// deliver measures how many deliveries per second are accepted, each durable before its response.
// It does so for deliveries that start nothing, and for deliveries that each start a run.
func (b *bench) deliver(ctx context.Context) error {
	return b.onEach(func(e engine) error { return b.deliverTo(ctx, e) })
}

func (b *bench) deliverTo(ctx context.Context, e engine) error {
	var targets []*hookTarget
	aims := map[*hookTarget]loadAims{}
	for _, c := range []struct {
		name string
		hookOptions
		aims map[string]loadAims
	}{
		{
			"no match",
			hookOptions{filter: unmatched},
			map[string]loadAims{"sqlite": {.40, maxTail}, "postgres": {.25, maxTail}},
		},
		{
			"a run each",
			hookOptions{filter: matching},
			map[string]loadAims{"sqlite": {.20, maxTail}, "postgres": {.125, maxTail}},
		},
		{"no match, limited", hookOptions{filter: unmatched, limit: 10_000_000}, nil},
	} {
		t, err := b.hookTarget(ctx, e.name+"  "+c.name, e, c.hookOptions)
		if err != nil {
			return err
		}
		defer t.close()
		targets = append(targets, t)
		aims[t] = c.aims[e.name]
	}
	bare, err := b.turns(ctx, 5, targets)
	if err != nil {
		return err
	}
	for _, t := range targets {
		b.reportTarget(t.target, bare, aims[t])
	}
	return nil
}

// hooks measures the cost of many webhooks with many automations.
func (b *bench) hooks(ctx context.Context) error {
	return b.comparePairs(ctx, "1 webhook, 1 automation", hookOptions{
		filter: unmatched,
	}, "1,000 webhooks of 20", .60, func(engine) hookOptions {
		return hookOptions{filter: unmatched, webhooks: 1000, automations: 20}
	})
}

// longLog measures how a log of many deliveries slows down new ones. It does so with ids in order
// of time, which most senders use, and with random ids.
func (b *bench) longLog(ctx context.Context) error {
	return b.comparePairs(ctx, "empty log", hookOptions{
		filter: unmatched,
	}, count(float64(b.log))+" logged", .80, func(e engine) hookOptions {
		return hookOptions{filter: unmatched, random: "random ids", fill: func(
			ctx context.Context, database, webhook string,
		) error {
			start := time.Now()
			err := fillLog(ctx, e.name, database, webhook, b.log)
			b.progressf(
				"%s: filled with %s deliveries in %s", e.name, count(float64(b.log)), time.Since(start).Round(time.Second),
			)
			return err
		}}
	})
}

// subjects measures what a subject costs a delivery: with one for each, which starts a run as without, and with
// a few, whose runs wait and are told of the others.
func (b *bench) subjects(ctx context.Context) error {
	const each, few = 1 << 40, 200
	for _, c := range []struct {
		name    string
		commits int64
	}{{"a subject each", each}, {"200 subjects", few}} {
		o := hookOptions{filter: matching, commits: c.commits}
		with := o
		with.subject = "{{after}}"
		if err := b.comparePairs(ctx, "no subject", o, c.name, .85, func(engine) hookOptions { return with }); err != nil {
			return err
		}
	}
	return nil
}

// comparePairs measures, on each engine, a server and one with more data. The second one must keep
// at least this share of the rate.
func (b *bench) comparePairs(
	ctx context.Context, lessName string, less hookOptions, moreName string, keeps float64, more func(engine) hookOptions,
) error {
	return b.onEach(func(e engine) error { return b.comparePair(ctx, e, lessName, less, moreName, keeps, more(e)) })
}

func (b *bench) comparePair(
	ctx context.Context, e engine, lessName string, less hookOptions, moreName string, keeps float64, more hookOptions,
) error {
	with, err := b.hookTarget(ctx, e.name+"  "+moreName, e, more)
	if err != nil {
		return err
	}
	defer with.close()
	without, err := b.hookTarget(ctx, e.name+"  "+lessName, e, less)
	if err != nil {
		return err
	}
	defer without.close()
	targets := []*hookTarget{without, with}
	if more.random != "" {
		scattered := with.scattered(with.name + ", " + more.random)
		defer scattered.target.close()
		targets = append(targets, scattered)
	}
	bare, err := b.turns(ctx, 5, targets)
	if err != nil {
		return err
	}
	for _, t := range targets {
		b.reportTarget(t.target, bare, loadAims{})
	}
	for _, t := range targets[1:] {
		kept := t.against(without.target, rate)
		r := row{what: t.name + ", rate kept", ratio: fmt.Sprintf("%.2f", kept)}
		if t == with { // deliveries with random ids have no aim
			r.aim = atLeast(kept, keeps, fmt.Sprintf("≥ %.2f", keeps))
		}
		b.out.row(r)
	}
	return nil
}

// scattered sends deliveries with random ids to the same server.
func (t *hookTarget) scattered(name string) *hookTarget {
	s := &hookTarget{target: &target{process: t.process, name: name}, sends: t.sends}
	s.next = func(conn int) []byte { return t.sends.request(conn, true) }
	return s
}

// start measures the time from a delivery until a waiting worker has its run.
func (b *bench) start(ctx context.Context) error {
	var lanes []*lane
	var sends []*deliveries
	for _, e := range b.engines() {
		t, err := b.hookTarget(ctx, e.name, e, hookOptions{filter: matching})
		if err != nil {
			return err
		}
		defer t.close()
		t.resume()
		l, err := newLane(ctx, e.name, t.process)
		if err != nil {
			return err
		}
		defer l.client.Close()
		lanes, sends = append(lanes, l), append(sends, t.sends)
	}
	for range claims {
		for i, l := range lanes {
			if err := l.once(ctx, sends[i].request(0, false)); err != nil {
				return fmt.Errorf("%s: %w", l.name, err)
			}
		}
	}
	for _, l := range lanes {
		b.out.row(row{what: l.name + "  from the request, p50", penstock: millis(quantile(l.whole, .5))})
		b.out.row(row{what: l.name + "  from the request, p99", penstock: millis(quantile(l.whole, .99))})
		b.out.row(row{what: l.name + "  from its response, p50", penstock: millis(quantile(l.after, .5))})
		b.out.row(row{what: l.name + "  from its response, p99", penstock: millis(quantile(l.after, .99))})
	}
	return nil
}
