package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
)

// typescript compares the TypeScript SDK with bare fetch, in a Node process with its own server.
func (b *bench) typescript(ctx context.Context) error {
	const folder = "sdk/typescript"
	if _, err := output(ctx, "scripts/npm-ci", folder); err != nil {
		return fmt.Errorf("packages of npm: %w", err)
	}
	if _, err := output(ctx, "node", folder+"/scripts/build.mjs"); err != nil {
		return fmt.Errorf("build the SDK: %w", err)
	}
	p, run, stop, err := b.longRun(ctx)
	if err != nil {
		return err
	}
	defer stop()
	cmd := command(ctx, "node", "--expose-gc", folder+"/bench/bench.mjs", run, strconv.Itoa(sdkEvents))
	cmd.Env = []string{"PENSTOCK_BASE_URL=http://" + p.addr, "PENSTOCK_API_KEY=" + apiKey}
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("%s/bench/bench.mjs: %w", folder, err)
	}
	return b.reportTypescript(out)
}

func (b *bench) reportTypescript(out []byte) error {
	var got struct {
		Get     float64 `json:"get"` // seconds
		BareGet float64 `json:"bare_get"`
		Growth  int64   `json:"growth"` // bytes
	}
	if err := json.Unmarshal(out, &got); err != nil {
		return fmt.Errorf("what bench.mjs says: %w", err)
	}
	b.out.row(row{
		what: "typescript  GET of a run, p50; bare: fetch", penstock: seconds(got.Get), bare: seconds(got.BareGet),
		ratio: ratio(got.Get, got.BareGet), aim: below(got.Get/got.BareGet, 1.25, "ratio < 1.25"),
	})
	b.out.row(row{
		what: "typescript  memory grown over " + count(sdkEvents-1000) + " events", penstock: megabytes(got.Growth),
		aim: below(float64(got.Growth), 1e6, "constant: < 1 MB"), // the data of one read is buffered until it is requested
	})
	return nil
}
