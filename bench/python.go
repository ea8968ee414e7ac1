package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/penstock-dev/penstock"
)

const (
	pythonEvents = 10_000
	pythonBatch  = 100 // events that are appended at once
)

// python measures the Python SDK beside bare httpx, in a process of Python's
// that talks to a server of its own.
func (b *bench) python(ctx context.Context) error {
	if _, err := output(ctx, "scripts/python-venv"); err != nil {
		return fmt.Errorf("packages of Python: %w", err)
	}
	url, drop, err := b.freshSQLite(ctx)
	if err != nil {
		return err
	}
	defer drop()
	p, err := b.serve(ctx, url, "--worker=false")
	if err != nil {
		return err
	}
	defer p.stop()
	source, err := newRunSource(ctx, p)
	if err != nil {
		return err
	}
	for n := 0; n < pythonEvents; n += pythonBatch {
		drafts := make([]penstock.Draft, pythonBatch)
		for i := range drafts {
			drafts[i] = penstock.NewDraft(penstock.EventMessageDelta, penstock.Now(), delta(n+i))
		}
		if err := source.worker.Append(ctx, source.lease, drafts); err != nil {
			return err
		}
	}
	cmd := command(ctx, "sdk/python/.venv/bin/python", "sdk/python/bench.py", source.lease.RunID, strconv.Itoa(pythonEvents))
	cmd.Env = []string{"PYTHONPATH=sdk/python/src", "PENSTOCK_BASE_URL=http://" + p.addr, "PENSTOCK_API_KEY=" + apiKey}
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("sdk/python/bench.py: %w", err)
	}
	return b.reportPython(out)
}

func (b *bench) reportPython(out []byte) error {
	var got struct {
		Get     float64 `json:"get"` // seconds
		BareGet float64 `json:"bare_get"`
		Import  float64 `json:"import"`
		Growth  int64   `json:"growth"` // bytes
	}
	if err := json.Unmarshal(out, &got); err != nil {
		return fmt.Errorf("what sdk/python/bench.py says: %w", err)
	}
	b.out.row(row{
		what: "python  GET of a run, p50; bare: httpx", penstock: seconds(got.Get), bare: seconds(got.BareGet),
		ratio: ratio(got.Get, got.BareGet), aim: below(got.Get/got.BareGet, 1.25, "ratio < 1.25"),
	})
	b.out.row(row{what: "python  import, on top of httpx and pydantic", penstock: seconds(got.Import), aim: below(got.Import, .25, "< 250 ms")})
	b.out.row(row{
		what: "python  memory grown over " + count(pythonEvents-1000) + " events", penstock: megabytes(got.Growth),
		aim: below(float64(got.Growth), 5e5, "constant: < 0.5 MB"), // what one read brings is held until it is asked for
	})
	return nil
}

func seconds(s float64) string { return millis(time.Duration(s * float64(time.Second))) }
