package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"sync"
	"time"
)

// conn is a keep-alive connection of a client that uses as little CPU as possible. The bytes of its
// requests are prepared. It reads only the status and the length of a response. So the server gets
// most of the machine.
type conn struct {
	net.Conn
	r *bufio.Reader
}

func dial(ctx context.Context, addr string) (*conn, error) {
	c, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	return &conn{c, bufio.NewReaderSize(c, 64<<10)}, nil
}

// timeout is the maximum time of a response.
const timeout = 30 * time.Second

// do sends a request and reads the response, which must be a 2xx with a Content-Length. size is the
// size of its body.
func (c *conn) do(request []byte) (size int, err error) {
	if err := c.SetDeadline(time.Now().Add(timeout)); err != nil {
		return 0, err
	}
	if _, err := c.Write(request); err != nil {
		return 0, err
	}
	status, err := c.r.ReadSlice('\n')
	if err != nil {
		return 0, err
	}
	refused := !bytes.HasPrefix(status, []byte("HTTP/1.1 2"))
	response := string(bytes.TrimSpace(status))
	size = -1
	for {
		line, err := c.r.ReadSlice('\n')
		if err != nil {
			return 0, err
		}
		if len(line) <= 2 {
			break
		}
		if value, ok := bytes.CutPrefix(line, []byte("Content-Length: ")); ok {
			if size, err = strconv.Atoi(string(bytes.TrimSpace(value))); err != nil {
				return 0, err
			}
		}
	}
	if size < 0 {
		return 0, fmt.Errorf("%s without a Content-Length", response)
	}
	if refused {
		body := make([]byte, size)
		_, _ = io.ReadFull(c.r, body) // the part that has arrived
		return 0, fmt.Errorf("%s: %s", response, body)
	}
	_, err = c.r.Discard(size)
	return size, err
}

// request returns the bytes of a request.
func request(method, path, body string) []byte {
	return fmt.Appendf(nil, "%s /api/v1%s HTTP/1.1\r\nHost: bench\r\nUser-Agent: bench\r\nAuthorization: Bearer %s\r\n"+
		"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
		method, path, apiKey, len(body), body)
}

// target is one of several servers that take turns in a measurement.
type target struct {
	*process
	name     string
	requests [][]byte              // sent in turn, repeatedly
	next     func(conn int) []byte // creates each request of a connection instead; nil: not used
	conns    []*conn
	rounds   []round
}

// round is the result of one turn of a target.
type round struct {
	rate     float64       // responses per second
	cpu      time.Duration // of the process, per response
	p50, p99 time.Duration
}

func newTarget(ctx context.Context, name string, p *process, connections int, requests ...[]byte) (*target, error) {
	conns, err := dialAll(ctx, p.addr, connections)
	return &target{process: p, name: name, requests: requests, conns: conns}, err
}

func dialAll(ctx context.Context, addr string, connections int) (conns []*conn, err error) {
	for range connections {
		c, err := dial(ctx, addr)
		if err != nil {
			return conns, err
		}
		conns = append(conns, c)
	}
	return conns, nil
}

func (t *target) close() {
	for _, c := range t.conns {
		_ = c.Close()
	}
}

// warmUp is the part of each turn that is not measured, because a paused process first runs its
// overdue timers.
const warmUp = 300 * time.Millisecond

// takeTurns measures the targets one after the other, many times, so that other load on the machine
// affects all of them equally. While one is measured, the others are paused.
func takeTurns(ctx context.Context, rounds int, each time.Duration, targets ...*target) error {
	for _, t := range targets {
		t.pause()
	}
	for range rounds {
		for _, t := range targets {
			t.resume()
			_, err := t.load(ctx, warmUp)
			var r round
			if err == nil {
				r, err = t.load(ctx, each)
			}
			t.pause()
			if err != nil {
				return fmt.Errorf("%s: %w", t.name, err)
			}
			t.rounds = append(t.rounds, r)
		}
	}
	return nil
}

// load sends requests on all connections, each after the response to the previous one.
func (t *target) load(ctx context.Context, d time.Duration) (round, error) {
	before, start := t.cpuTime(), time.Now()
	took := make([][]time.Duration, len(t.conns))
	errs := make([]error, len(t.conns))
	var running sync.WaitGroup
	for i, c := range t.conns {
		running.Go(func() {
			for n := i; time.Since(start) < d && errs[i] == nil && ctx.Err() == nil; n++ {
				request := t.request(i, n)
				sent := time.Now()
				_, errs[i] = c.do(request)
				took[i] = append(took[i], time.Since(sent))
			}
		})
	}
	running.Wait()
	for _, err := range errs {
		if err != nil {
			return round{}, err
		}
	}
	all := slices.Concat(took...)
	if len(all) == 0 {
		return round{}, ctx.Err()
	}
	return round{
		rate: float64(len(all)) / time.Since(start).Seconds(),
		cpu:  (t.cpuTime() - before) / time.Duration(len(all)),
		p50:  quantile(all, .5), p99: quantile(all, .99),
	}, ctx.Err()
}

// request returns the n-th request of a connection.
func (t *target) request(conn, n int) []byte {
	if t.next != nil {
		return t.next(conn)
	}
	return t.requests[n%len(t.requests)]
}

// quantile sorts list.
func quantile(list []time.Duration, q float64) time.Duration {
	if len(list) == 0 {
		return 0
	}
	slices.Sort(list)
	return list[int(q*float64(len(list)-1)+.5)]
}

// median returns the median of one figure over the rounds.
func (t *target) median(figure func(round) float64) float64 {
	list := make([]float64, len(t.rounds))
	for i, r := range t.rounds {
		list[i] = figure(r)
	}
	return middle(list)
}

// against returns the median of the ratios of rounds that followed each other. So it does not show
// a slowdown that affected both.
func (t *target) against(other *target, figure func(round) float64) float64 {
	list := make([]float64, min(len(t.rounds), len(other.rounds)))
	for i := range list {
		list[i] = figure(t.rounds[i]) / figure(other.rounds[i])
	}
	return middle(list)
}

func middle(list []float64) float64 {
	if len(list) == 0 {
		return 0
	}
	slices.Sort(list)
	return (list[(len(list)-1)/2] + list[len(list)/2]) / 2
}

func rate(r round) float64 { return r.rate }
func cpu(r round) float64  { return float64(r.cpu) }
func p50(r round) float64  { return float64(r.p50) }
func p99(r round) float64  { return float64(r.p99) }
