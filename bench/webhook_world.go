package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/penstock-dev/penstock"
)

// deliveries creates requests with distinct deliveries, as GitHub sends them, to several webhooks
// in turn. All have the same body, so the client computes only the id of each, unless it has commits.
type deliveries struct {
	factories []string
	uids      []string
	commits   int64    // how many commits the bodies name in turn; 0: always the same
	buffers   [][]byte // one request for each connection
	sent      atomic.Int64
}

// deliveryBody is an event of about 2 KB.
func deliveryBody() string {
	commit := `{"id": "%040x", "message": "Fix the build of the shop, part %d", "timestamp": "2026-03-01T12:00:00Z",
		"added": [], "modified": ["internal/shop/cart.go", "internal/shop/price.go"],
		"author": {"name": "Ada Example", "email": "ada@example.com", "username": "ada"}, "distinct": true}`
	commits := make([]string, 6)
	for i := range commits {
		commits[i] = fmt.Sprintf(commit, i+4711, i)
	}
	return `{"ref": "refs/heads/main", "before": "6113728f27ae82c7b1a177c8d03f9e96e0adf246", 
		"after": "0d1a26e67d8f5eaf1f6ba5c57fc3c7d91ac0fd1c", "created": false, "forced": false,
		"repository": {"id": 186853002, "name": "shop", "full_name": "acme/shop", "private": true, "default_branch": "main"},
		"commits": [` + strings.Join(commits, ", ") + `], "pusher": {"name": "ada", "email": "ada@example.com"}}`
}

// The filters of the automations. The body matches the first one, and all but the last condition of
// the second.
const (
	matching = `{"ref": ["refs/heads/main", "refs/heads/next"], "repository": {"full_name": ["acme/shop"], ` +
		`"private": {"not_in": [false]}}}`
	unmatched = `{"ref": ["refs/heads/main", "refs/heads/next"], "repository": {"full_name": ["acme/shop"], ` +
		`"private": {"not_in": [true]}}}`
)

// newDeliveries creates the webhooks of the options on a server, with their automations.
func newDeliveries(ctx context.Context, p *process, o hookOptions) (*deliveries, error) {
	const perFactory = 20
	webhooks := max(1, o.webhooks)
	d := &deliveries{commits: o.commits}
	for len(d.uids) < webhooks {
		var factory penstock.Factory
		if err := p.call(
			ctx, "POST", "/factory", map[string]any{"name": fmt.Sprintf("acme-%d", len(d.factories))}, &factory,
		); err != nil {
			return nil, err
		}
		d.factories = append(d.factories, factory.UID)
		var ids []string
		for range min(perFactory, webhooks-len(d.uids)) {
			var w penstock.Webhook
			if err := p.call(ctx, "POST", "/factory/"+factory.UID+"/webhooks", map[string]any{
				"name": fmt.Sprintf("hook-%d", len(ids)), "auth_mode": penstock.AuthSignature, "signature_scheme": "github",
				"secret": hookSecret,
			}, &w); err != nil {
				return nil, err
			}
			ids = append(ids, w.UID)
		}
		for i := range max(1, o.automations) {
			of := map[string]any{"webhook_ids": ids, "payload": json.RawMessage(o.filter)}
			automation := map[string]any{
				"name": fmt.Sprintf("fix-%d", i), "prompt": "Find out what the push has broken, and fix it.",
				"triggers": []any{
					map[string]any{"provider": penstock.ProviderWebhook, "event": penstock.EventReceived, "filter": of},
				},
			}
			if o.subject != "" {
				automation["subject"] = o.subject
			}
			if err := p.call(ctx, "POST", "/factory/"+factory.UID+"/automations", automation, nil); err != nil {
				return nil, err
			}
		}
		d.uids = append(d.uids, ids...)
	}
	slices.Sort(d.uids) // which are random: neighbors in the database are not neighbors in time
	return d, nil
}

// call sends a request to the API, and decodes its response into out unless that is nil.
func (p *process) call(ctx context.Context, method, path string, in, out any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, method, "http://"+p.addr+"/api/v1"+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", "Bearer "+apiKey)
	r.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		return err
	}
	if res.StatusCode > http.StatusCreated {
		return fmt.Errorf("%s %s: %s %s", method, path, res.Status, text)
	}
	if out == nil {
		return nil
	}
	return json.Unmarshal(text, out)
}

// open allocates the requests for this many connections.
func (d *deliveries) open(connections int) {
	body := deliveryBody()
	for range connections {
		d.buffers = append(d.buffers, fmt.Appendf(nil, "POST /webhooks/w/%s HTTP/1.1\r\nX-GitHub-Delivery: "+
			"00000000-0000-11f0-8000-4c9367dc0958\r\nHost: bench\r\n"+
			"User-Agent: GitHub-Hookshot/bench\r\nContent-Type: application/json\r\nX-GitHub-Event: push\r\n%s: %s\r\n"+
			"Content-Length: %d\r\n\r\n%s",
			d.uids[0], signatureHeader, signature([]byte(body)), len(body), body))
	}
}

// request returns the next request of a connection. It is valid until the next call for this
// connection. Its id is a UUID of version 1, like GitHub's. It begins with the low bits of a clock
// (RFC 9562 §5.1) by which 10,000 deliveries arrive per second, or with random bits.
func (d *deliveries) request(conn int, random bool) []byte {
	const (
		uidAt   = len("POST /webhooks/w/")
		idAt    = uidAt + len("0123456789abcdefghijkl HTTP/1.1\r\nX-GitHub-Delivery: ")
		clockAt = idAt + len("00000000-0000-11f0-8000-")
		ticks   = 1000               // of 100 ns, from one delivery to the next
		mix     = 0x9e3779b97f4a7c15 // an odd number: no two products are equal
	)
	n := uint64(d.sent.Add(1)) //nolint:gosec // a count
	r := d.buffers[conn]
	if d.commits > 0 {
		signed, body, _ := bytes.Cut(r, []byte("\r\n\r\n"))
		_, after, _ := bytes.Cut(body, []byte(`"after": "`))
		hexDigits(after[:12], n%uint64(d.commits))
		_, value, _ := bytes.Cut(signed, []byte(signatureHeader+": "))
		copy(value, signature(body))
	}
	copy(r[uidAt:], d.uids[n%uint64(len(d.uids))])
	first := n * ticks
	if random {
		first = n * mix >> 32
	}
	hexDigits(r[idAt:idAt+8], first)
	hexDigits(r[clockAt:clockAt+12], n)
	return r
}

// hexDigits fills text with the lowest hexadecimal digits of n.
func hexDigits(text []byte, n uint64) {
	for i := range text {
		text[len(text)-1-i] = "0123456789abcdef"[n>>(4*i)&15]
	}
}

// verify reports deliveries that got a response but are not counted as accepted.
func (d *deliveries) verify(ctx context.Context, p *process) error {
	var accepted int64
	for _, factory := range d.factories {
		var list struct{ Webhooks []penstock.Webhook }
		if err := p.call(ctx, "GET", "/factory/"+factory+"/webhooks", nil, &list); err != nil {
			return err
		}
		for _, w := range list.Webhooks {
			accepted += w.Counts.Accepted
		}
	}
	if accepted != d.sent.Load() {
		return fmt.Errorf("%d deliveries were sent, %d accepted", d.sent.Load(), accepted)
	}
	return nil
}
