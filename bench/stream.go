package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/httpapi"
)

const (
	listeners   = 1000
	streamTurns = 3
	turnEvents  = 80 // per turn
	eventPause  = 50 * time.Millisecond
)

// stream measures the delay of a run's events at a thousand listeners.
func (b *bench) stream(ctx context.Context) error {
	p, end, err := b.serveFresh(ctx, b.freshSQLite)
	if err != nil {
		return err
	}
	defer end()
	source, err := newRunSource(ctx, p)
	if err != nil {
		return err
	}
	ours := newAudience(p, source.path(), source.append)
	bare, err := startBare(ctx, bareRuns, 0)
	if err != nil {
		return err
	}
	defer bare.stop()
	echo, err := newEchoSource(ctx, bare)
	if err != nil {
		return err
	}
	theirs := newAudience(bare, "/events", echo.append)
	for _, a := range []*audience{ours, theirs} {
		defer a.leave()
		if err := a.gather(ctx); err != nil {
			return err
		}
	}
	for range streamTurns {
		for _, a := range []*audience{theirs, ours} {
			if err := a.turn(ctx); err != nil {
				return err
			}
		}
	}
	b.reportStream(ours, theirs)
	return nil
}

func (b *bench) reportStream(ours, theirs *audience) {
	expected := float64(listeners * streamTurns * turnEvents)
	got, took := ours.result()
	bareGot, bareTook := theirs.result()
	b.out.row(row{
		what: "sqlite  events received of " + count(expected), penstock: count(float64(got)), bare: count(float64(bareGot)),
		aim: atLeast(float64(got), expected, "every one, once, in order"),
	})
	for _, q := range []struct {
		what string
		q    float64
	}{{"p50", .5}, {"p99", .99}} {
		mine, other := quantile(took, q.q), quantile(bareTook, q.q)
		b.out.row(row{
			what: "sqlite  added latency, " + q.what, penstock: millis(mine), bare: millis(other),
			ratio: ratio(float64(mine), float64(other)),
		})
	}
}

// audience is a thousand listeners of one stream, and the worker that feeds it.
type audience struct {
	p      *process
	path   string
	append func(ctx context.Context, n int) error

	mu       sync.Mutex
	sent     []time.Time // of the n-th event
	received atomic.Int64
	took     [listeners][]time.Duration
	err      error

	cancel  context.CancelFunc
	running sync.WaitGroup
}

func newAudience(p *process, path string, add func(context.Context, int) error) *audience {
	return &audience{p: p, path: path, append: add, cancel: func() {}}
}

// gather connects all listeners.
func (a *audience) gather(ctx context.Context) error {
	ctx, a.cancel = context.WithCancel(ctx)
	for i := range listeners {
		r, err := a.connect(ctx)
		if err != nil {
			return fmt.Errorf("listener %d: %w", i, err)
		}
		a.running.Go(func() {
			if err := a.listen(i, r); err != nil && ctx.Err() == nil {
				a.mu.Lock()
				a.err = errors.Join(a.err, fmt.Errorf("listener %d: %w", i, err))
				a.mu.Unlock()
			}
		})
	}
	return nil
}

func (a *audience) connect(ctx context.Context) (*http.Response, error) {
	c, err := dial(ctx, a.p.addr)
	if err != nil {
		return nil, err
	}
	context.AfterFunc(ctx, func() { _ = c.Close() })
	if _, err := c.Write(request("GET", a.path, "")); err != nil {
		return nil, err
	}
	res, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err == nil && res.StatusCode != http.StatusOK {
		err = errors.New(res.Status)
	}
	return res, err
}

// mark precedes the number of an event in its data.
const mark = "event-"

// listen records when each event arrived. A missing, duplicate or misplaced event is an error, and
// the listener stops.
func (a *audience) listen(i int, res *http.Response) error {
	defer res.Body.Close()
	lines := bufio.NewScanner(res.Body)
	for next := 0; lines.Scan(); {
		_, after, found := bytes.Cut(lines.Bytes(), []byte(mark))
		if !found {
			continue
		}
		now := time.Now()
		digits, _, _ := bytes.Cut(after, []byte(`"`))
		n, err := strconv.Atoi(string(digits))
		if err != nil || n != next {
			return fmt.Errorf("got event %q where %d was next", digits, next)
		}
		a.mu.Lock()
		sent := a.sent[n]
		a.mu.Unlock()
		a.took[i] = append(a.took[i], now.Sub(sent))
		a.received.Add(1)
		next++
	}
	return lines.Err()
}

// turn sends events and waits until all listeners have them, or no more arrive.
func (a *audience) turn(ctx context.Context) error {
	tick := time.NewTicker(eventPause)
	defer tick.Stop()
	for range turnEvents {
		<-tick.C
		a.mu.Lock()
		n := len(a.sent)
		a.sent = append(a.sent, time.Now())
		a.mu.Unlock()
		if err := a.append(ctx, n); err != nil {
			return err
		}
	}
	all := int64(len(a.sent)) * listeners
	for last := int64(-1); a.received.Load() < all && a.received.Load() != last; {
		last = a.received.Load()
		if err := sleep(ctx, 2*time.Second); err != nil {
			return err
		}
	}
	return nil
}

// leave stops the listeners.
func (a *audience) leave() {
	a.cancel()
	a.running.Wait()
}

// result stops the listeners and returns the events that they received.
func (a *audience) result() (received int64, took []time.Duration) {
	a.leave()
	for _, t := range a.took {
		took = append(took, t...)
	}
	return a.received.Load(), took
}

// runSource appends to the log of a run, as its worker.
type runSource struct {
	worker *httpapi.Client
	lease  penstock.Lease
}

func newRunSource(ctx context.Context, p *process) (*runSource, error) {
	c, err := dial(ctx, p.addr)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	if _, err := c.do(request("POST", createPath, createBody("nightly"))); err != nil {
		return nil, err
	}
	worker, err := newWorker(p)
	if err != nil {
		return nil, err
	}
	a, err := worker.Claim(ctx, aWorker(10*time.Second))
	return &runSource{worker, a.Lease}, err
}

func (s *runSource) path() string { return "/agent/runs/" + s.lease.RunID + "/events" }

func (s *runSource) append(ctx context.Context, n int) error {
	if n%100 == 0 { // 5 s of events
		if _, err := s.worker.Heartbeat(ctx, s.lease, 0); err != nil {
			return err
		}
	}
	return s.worker.Append(
		ctx, s.lease, []penstock.Draft{penstock.NewDraft(penstock.EventMessageDelta, penstock.Now(), delta(n))},
	)
}

// delta returns a piece of text as agents send it.
func delta(n int) penstock.MessageDelta {
	return penstock.MessageDelta{
		ID: mark + strconv.Itoa(n), Role: "assistant",
		Text: "The job fails because the cache of the day before is restored into a folder that has moved since. ",
	}
}

// echoSource sends the same events to the bare server.
type echoSource struct{ *conn }

func newEchoSource(ctx context.Context, p *process) (echoSource, error) {
	c, err := dial(ctx, p.addr)
	return echoSource{c}, err
}

func (s echoSource) append(_ context.Context, n int) error {
	draft := penstock.NewDraft(penstock.EventMessageDelta, 0, delta(n))
	_, err := s.do(request("POST", "/append", string(draft.Data)))
	return err
}
