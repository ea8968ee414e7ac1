package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
)

// python compares the Python SDK with bare httpx, in a Python process with its own server.
func (b *bench) python(ctx context.Context) error {
	if _, err := output(ctx, "scripts/python-venv"); err != nil {
		return fmt.Errorf("packages of Python: %w", err)
	}
	p, run, stop, err := b.longRun(ctx)
	if err != nil {
		return err
	}
	defer stop()
	cmd := command(ctx, "sdk/python/.venv/bin/python", "sdk/python/bench.py", run, strconv.Itoa(sdkEvents))
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
	b.out.row(
		row{
			what: "python  import, on top of httpx and pydantic", penstock: seconds(got.Import),
			aim: below(got.Import, .25, "< 250 ms"),
		},
	)
	b.out.row(row{
		what: "python  memory grown over " + count(sdkEvents-1000) + " events", penstock: megabytes(got.Growth),
		aim: below(float64(got.Growth), 5e5, "constant: < 0.5 MB"), // the data of one read is buffered until it is requested
	})
	return nil
}
