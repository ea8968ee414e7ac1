package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strconv"
	"sync"
	"time"

	"github.com/penstock-dev/penstock/internal/wall/gateway"
)

// The kinds of processes of this part: a provider, and two ways to it.
const (
	modelProvider = "model-provider"
	bareProxy     = "bare-proxy"
	modelGateway  = "model-gateway"
)

const (
	modelPath    = "/model/anthropic/v1/messages"
	modelChunks  = 20
	modelPause   = 20 * time.Millisecond
	modelRounds  = 3
	singleRounds = 20  // of one stream, which gives only one figure
	modelStreams = 500 // maximum number of parallel ones
)

// modelHandler returns the handler of a process of a kind. Target is the provider's address.
func modelHandler(kind, target string) (http.Handler, error) {
	base := &url.URL{Scheme: "http", Host: target}
	switch kind {
	case modelProvider:
		return http.HandlerFunc(provide), nil
	case bareProxy:
		proxy := &httputil.ReverseProxy{
			Transport: gateway.NewTransport(), FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(base) },
		}
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			// Under load a response can come before the transport has seen the end of the body. The
			// server then closes the body, and the transport the stream.
			body, err := io.ReadAll(r.Body)
			if err != nil {
				return
			}
			r.Body = io.NopCloser(bytes.NewReader(body))
			proxy.ServeHTTP(w, r)
		}), nil
	}
	g, err := gateway.New(gateway.Options{Providers: []gateway.Provider{
		{Name: "anthropic", API: gateway.Anthropic, BaseURL: base.String() + "/model/anthropic", Key: "key"},
	}})
	if err != nil {
		return nil, err
	}
	return g.Session(gateway.SessionOptions{Settled: func(gateway.Call) {}}), nil
}

// provide responds like a model provider: with a stream whose events contain the time at which they
// were sent, or with a whole response.
func provide(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	if !bytes.Contains(body, []byte(`"stream":true`)) {
		response := []byte(`{"id":"msg_1","model":"m","content":[{"type":"text","text":"hello"}],` +
			`"usage":{"input_tokens":100,"output_tokens":20}}`)
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", strconv.Itoa(len(response)))
		_, _ = w.Write(response)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	tick := time.NewTicker(modelPause)
	defer tick.Stop()
	for range modelChunks {
		_, err := fmt.Fprintf(w, "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,"+
			"\"delta\":{\"type\":\"text_delta\",\"text\":\"some words of a model \"},\"t\":%d}\n\n", time.Now().UnixNano())
		if err != nil || http.NewResponseController(w).Flush() != nil {
			return
		}
		select {
		case <-r.Context().Done():
			return
		case <-tick.C:
		}
	}
	_, _ = io.WriteString(w, "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n")
}

// modelRequest returns a request with a body of 4 KB.
func modelRequest(stream bool) []byte {
	body := fmt.Sprintf(`{"model":"m","max_tokens":100,"stream":%v,"messages":[{"role":"user","content":%q}]}`,
		stream, bytes.Repeat([]byte("word "), 800))
	return fmt.Appendf(nil, "POST %s HTTP/1.1\r\nHost: bench\r\nX-Api-Key: placeholder\r\n"+
		"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", modelPath, len(body), body)
}

// streamed is the result of one round of streams over one route.
type streamed struct {
	first, transit []time.Duration
	cpu            time.Duration
	memory         int64
}

// streams opens n parallel streams and reads them to their end.
func (p *process) streams(ctx context.Context, n int) (streamed, error) {
	before := p.cpuTime()
	all := make([]streamed, n)
	errs := make([]error, n)
	var running sync.WaitGroup
	for i := range n {
		running.Go(func() { all[i], errs[i] = p.oneStream(ctx) })
	}
	err := sleep(ctx, modelChunks*modelPause/2)
	memory, memoryErr := p.resident()
	running.Wait()
	out := streamed{cpu: p.cpuTime() - before, memory: memory}
	for _, s := range all {
		out.first = append(out.first, s.first...)
		out.transit = append(out.transit, s.transit...)
	}
	return out, errors.Join(errors.Join(errs...), err, memoryErr)
}

func (p *process) oneStream(ctx context.Context) (streamed, error) {
	var s streamed
	c, err := dial(ctx, p.addr)
	if err != nil {
		return s, err
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(timeout)); err != nil {
		return s, err
	}
	start := time.Now()
	if _, err := c.Write(modelRequest(true)); err != nil {
		return s, err
	}
	lines := bufio.NewScanner(c)
	for lines.Scan() && !bytes.HasPrefix(lines.Bytes(), []byte("event: message_stop")) {
		_, after, found := bytes.Cut(lines.Bytes(), []byte(`"t":`))
		if !found {
			continue
		}
		now := time.Now()
		nanos, err := strconv.ParseInt(string(bytes.TrimRight(after, "}\r")), 10, 64)
		if err != nil {
			return s, err
		}
		if len(s.first) == 0 {
			s.first = append(s.first, now.Sub(start))
		}
		s.transit = append(s.transit, now.Sub(time.Unix(0, nanos)))
	}
	if len(s.transit) < modelChunks {
		return s, errors.Join(fmt.Errorf("a stream ended after %d chunks", len(s.transit)), lines.Err())
	}
	return s, nil
}

// gateway measures the model gateway beside a bare proxy, both in front of one provider.
func (b *bench) gateway(ctx context.Context) error {
	var ways []*process
	provider := ""
	for _, kind := range []string{modelProvider, bareProxy, modelGateway} {
		p, err := startSelf(ctx, kind, provider)
		if err != nil {
			return err
		}
		defer p.stop()
		ways = append(ways, p)
		provider = ways[0].addr
	}
	for _, n := range []int{1, 50, 200, modelStreams} {
		if err := b.modelStreams(ctx, n, ways); err != nil {
			return err
		}
	}
	return b.plainCalls(ctx, ways[1], ways[2])
}

// modelStreams measures n parallel streams: direct, through the bare proxy, and through the
// gateway.
func (b *bench) modelStreams(ctx context.Context, n int, ways []*process) error {
	var sum [3]streamed
	rounds := modelRounds + 1
	if n == 1 {
		rounds = singleRounds + 1
	}
	for round := range rounds {
		for i, p := range ways {
			s, err := p.streams(ctx, n)
			if err != nil {
				return err
			}
			if round == 0 {
				continue // opens the connections
			}
			sum[i].first = append(sum[i].first, s.first...)
			sum[i].transit = append(sum[i].transit, s.transit...)
			sum[i].cpu += s.cpu
			sum[i].memory = max(sum[i].memory, s.memory)
		}
	}
	direct, bare, ours := sum[0], sum[1], sum[2]
	none := quantile(direct.first, .5)
	mine, other := quantile(ours.first, .5)-none, quantile(bare.first, .5)-none
	name := fmt.Sprintf("%d streams  ", n)
	b.out.row(row{
		what: name + "first byte, added, p50", penstock: millis(mine), bare: millis(other),
		ratio: ratio(float64(mine), float64(other)), aim: upTo(float64(mine), 1.25*float64(other), "ratio ≤ 1.25"),
	})
	if n == 200 {
		mine, other := quantile(ours.first, .99), quantile(bare.first, .99)
		b.out.row(row{
			what: name + "first byte, p99", penstock: millis(mine), bare: millis(other),
			ratio: ratio(float64(mine), float64(other)),
			aim:   upTo(float64(mine-other), float64(2*time.Millisecond), "at most 2 ms more"),
		})
	}
	mine, other = quantile(ours.transit, .5), quantile(bare.transit, .5)
	b.out.row(row{
		what: name + "transit of a chunk, p50", penstock: millis(mine), bare: millis(other),
		ratio: ratio(float64(mine), float64(other)), aim: upTo(float64(mine), 1.15*float64(other), "ratio ≤ 1.15"),
	})
	if n == modelStreams {
		scale := float64(1000) / float64(n*(rounds-1))
		mine, other := time.Duration(float64(ours.cpu)*scale), time.Duration(float64(bare.cpu)*scale)
		b.out.row(row{
			what: "CPU for 1,000 streams", penstock: millis(mine), bare: millis(other),
			ratio: ratio(float64(mine), float64(other)),
			aim:   upTo(float64(mine), 1.2*float64(other), "ratio ≤ 1.2"),
		})
		b.out.row(row{
			what: name + "memory", penstock: megabytes(ours.memory), bare: megabytes(bare.memory),
			ratio: ratio(float64(ours.memory), float64(bare.memory)),
			aim:   upTo(float64(ours.memory), 1.3*float64(bare.memory), "ratio ≤ 1.3"),
		})
	}
	return nil
}

func (b *bench) plainCalls(ctx context.Context, bare, ours *process) error {
	theirs, err := newTarget(ctx, bareProxy, bare, 16, modelRequest(false))
	if err != nil {
		return err
	}
	defer theirs.close()
	mine, err := newTarget(ctx, modelGateway, ours, 16, modelRequest(false))
	if err != nil {
		return err
	}
	defer mine.close()
	if err := takeTurns(ctx, 5, time.Second, theirs, mine); err != nil {
		return err
	}
	kept := mine.against(theirs, rate)
	b.out.row(row{
		what: "calls without a stream, per second", penstock: count(mine.median(rate)), bare: count(theirs.median(rate)),
		ratio: fmt.Sprintf("%.2f", kept), aim: atLeast(kept, 0.60, "ratio ≥ 0.60"),
	})
	return nil
}
