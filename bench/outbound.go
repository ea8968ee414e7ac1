package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/penstock-dev/penstock"
)

// outbound measures what event endpoints cost the creation of runs, and how long messages take to 95 receivers
// beside 5 that never answer.
func (b *bench) outbound(ctx context.Context) error {
	return b.onEach(func(e engine) error {
		if err := b.announceOn(ctx, e); err != nil {
			return err
		}
		return b.slowReceivers(ctx, e)
	})
}

// eventNetworks lets a server send to this machine.
const eventNetworks = "--event-private-network=127.0.0.0/8"

// announceOn compares servers without an endpoint, with one that chose other events, and with one whose messages
// are stored and wait, because it asked to wait. To send them is work beside the creation.
func (b *bench) announceOn(ctx context.Context, e engine) error {
	busy, err := receive(ctx, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "3600")
		w.WriteHeader(http.StatusServiceUnavailable)
	})
	if err != nil {
		return err
	}
	defer busy.Close()
	post := request("POST", createPath, createBody("nightly"))
	var all []*target
	for _, c := range []struct {
		name   string
		events []penstock.EndpointEvent
	}{
		{"no endpoint", nil},
		{"one of other events", []penstock.EndpointEvent{"definition.rejected"}},
		{"one of each creation", []penstock.EndpointEvent{"run.created"}},
	} {
		p, end, err := b.serveFresh(ctx, e.fresh, eventNetworks)
		if err != nil {
			return err
		}
		defer end()
		if c.events != nil {
			if err := p.listen(ctx, busy.url, c.events...); err != nil {
				return err
			}
		}
		t, err := newTarget(ctx, e.name+"  "+c.name, p, connections, post)
		if err != nil {
			return err
		}
		defer t.close()
		if _, err := t.conns[0].do(post); err != nil {
			return err
		}
		all = append(all, t)
	}
	if err := takeTurns(ctx, 5, 2*time.Second, all...); err != nil {
		return err
	}
	b.out.row(row{what: all[0].name + "  requests/s", penstock: count(all[0].median(rate))})
	for _, t := range all[1:] {
		kept := t.against(all[0], rate)
		r := row{what: t.name + ", rate kept", penstock: count(t.median(rate)), ratio: fmt.Sprintf("%.2f", kept)}
		if t == all[2] {
			r.aim = atLeast(kept, .9, "≥ 0.90")
		}
		b.out.row(r)
	}
	return nil
}

// listen creates an event endpoint.
func (p *process) listen(ctx context.Context, url string, events ...penstock.EndpointEvent) error {
	return p.call(ctx, "POST", "/event-endpoints", map[string]any{"url": url, "events": events}, nil)
}

// receiver is a server of this process that gets messages.
type receiver struct {
	net.Listener
	url string
}

func receive(ctx context.Context, answer http.HandlerFunc) (*receiver, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	go func() { _ = http.Serve(l, answer) }() //nolint:gosec // of this process alone
	return &receiver{l, "http://" + l.Addr().String()}, nil
}

// slowReceivers measures how long messages take from the change to the receivers that answer.
func (b *bench) slowReceivers(ctx context.Context, e engine) error {
	const quick, hanging, runs, each = 95, 5, 100, 100 * time.Millisecond
	var mu sync.Mutex
	var took []time.Duration
	good, err := receive(ctx, func(_ http.ResponseWriter, r *http.Request) {
		var m penstock.EndpointMessage
		err := json.NewDecoder(r.Body).Decode(&m)
		mu.Lock()
		defer mu.Unlock()
		if err == nil {
			took = append(took, time.Since(time.UnixMilli(int64(m.Timestamp))))
		}
	})
	if err != nil {
		return err
	}
	defer good.Close()
	hang, err := receive(ctx, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	if err != nil {
		return err
	}
	defer hang.Close()
	p, end, err := b.serveFresh(ctx, e.fresh, eventNetworks)
	if err != nil {
		return err
	}
	defer end()
	for i := range quick + hanging {
		url := good.url
		if i%(quick/hanging+1) == 0 {
			url = hang.url
		}
		if err := p.listen(ctx, url, "run.created"); err != nil {
			return err
		}
	}
	c, err := dial(ctx, p.addr)
	if err != nil {
		return err
	}
	defer c.Close()
	post := request("POST", createPath, createBody("nightly"))
	got := func() int {
		mu.Lock()
		defer mu.Unlock()
		return len(took)
	}
	for range runs {
		if _, err := c.do(post); err != nil {
			return err
		}
		if err := sleep(ctx, each); err != nil {
			return err
		}
	}
	for deadline := time.Now().Add(timeout); got() < runs*quick; {
		if time.Now().After(deadline) {
			return fmt.Errorf("%d of %d messages arrived", got(), runs*quick)
		}
		if err := sleep(ctx, each); err != nil {
			return err
		}
	}
	mu.Lock()
	defer mu.Unlock()
	late := quantile(took, .99)
	name := fmt.Sprintf("%s  change to 95 receivers beside 5 that hang", e.name)
	b.out.row(row{what: name + ", p50", penstock: millis(quantile(took, .5))})
	b.out.row(row{what: name + ", p99", penstock: millis(late), aim: upTo(late.Seconds(), 2, "≤ 2 s")})
	return nil
}
