package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

const (
	dashboardRuns  = 100_000
	dashboardLoads = 5
)

// dashboard measures the dashboard in Chromium: the first load of the page Runs with many runs, how
// fast this list shows another page or a filtered list, and how smoothly the page of a run is drawn
// while events arrive.
func (b *bench) dashboard(ctx context.Context) error {
	chromium, err := exec.LookPath("chromium")
	if err != nil {
		return errors.New("Chromium is missing (on Debian: apt-get install chromium)") //nolint:staticcheck // a name
	}
	if _, err := output(ctx, "scripts/npm-ci", "web"); err != nil {
		return fmt.Errorf("packages of npm: %w", err)
	}
	for i, e := range b.engines() {
		if err := b.manyRuns(ctx, chromium, e, i == 0); err != nil {
			return fmt.Errorf("%s: %w", e.name, err)
		}
	}
	return b.openRuns(ctx, chromium)
}

// manyRuns measures the list of many runs on an engine. It measures the first load only on request,
// because that hardly depends on the engine.
func (b *bench) manyRuns(ctx context.Context, chromium string, e engine, load bool) error {
	url, drop, err := e.fresh(ctx)
	if err != nil {
		return err
	}
	defer drop()
	start := time.Now()
	if err := b.fill(ctx, e.name, url, dashboardRuns); err != nil {
		return fmt.Errorf("fill: %w", err)
	}
	if err := fillSearch(ctx, e.name, url); err != nil {
		return fmt.Errorf("fill the search: %w", err)
	}
	b.progressf(
		"%s: filled with %s runs in %s", e.name, count(dashboardRuns), time.Since(start).Round(100*time.Millisecond),
	)
	p, err := b.serve(ctx, url, "--worker=false")
	if err != nil {
		return err
	}
	defer p.stop()
	if load {
		var got firstLoad
		if err := b.browse(ctx, chromium, p, &got, "load", strconv.Itoa(dashboardLoads)); err != nil {
			return err
		}
		b.reportLoad(e.name, got)
	}
	var got listTimes
	if err := b.browse(ctx, chromium, p, &got, "list"); err != nil {
		return err
	}
	b.reportLists(e.name, got)
	return nil
}

// openRuns measures the page of a run that has just begun, and the page of a long run.
func (b *bench) openRuns(ctx context.Context, chromium string) error {
	p, end, err := b.serveFresh(ctx, b.freshSQLite)
	if err != nil {
		return err
	}
	defer end()
	for _, before := range []int{0, 5000} {
		source, err := newRunSource(ctx, p)
		if err != nil {
			return err
		}
		w := &work{runSource: source}
		if err := w.begin(ctx, before); err != nil {
			return fmt.Errorf("the events before: %w", err)
		}
		var got frameTimes
		if err := w.during(
			ctx, func() error { return b.browse(ctx, chromium, p, &got, "frames", source.lease.RunID) },
		); err != nil {
			return err
		}
		b.reportFrames(before, got)
	}
	return nil
}

// browse runs a script of web/bench in Node, which drives Chromium on the dashboard of p. It
// decodes the script's output into out.
func (b *bench) browse(ctx context.Context, chromium string, p *process, out any, name string, args ...string) error {
	script := "web/bench/" + name + ".mjs"
	cmd := command(ctx, "node", append([]string{script}, args...)...)
	cmd.Env = []string{
		"HOME=" + b.dir, "PATH=/usr/local/bin:/usr/bin:/bin", "PENSTOCK_BASE_URL=http://" + p.addr,
		"PENSTOCK_API_KEY=" + apiKey, "CHROMIUM=" + chromium,
	}
	said, err := cmd.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		fmt.Fprintf(os.Stderr, "%s", exit.Stderr)
		reason, _, _ := strings.Cut(string(exit.Stderr), "\n")
		return fmt.Errorf("%s: %s", script, reason)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", script, err)
	}
	if err := json.Unmarshal(said, out); err != nil {
		return fmt.Errorf("what %s says: %w", script, err)
	}
	return nil
}

// times are in milliseconds, as a browser measures them.
type times []float64

func (t times) quantile(q float64) time.Duration {
	list := make([]time.Duration, len(t))
	for i, ms := range t {
		list[i] = time.Duration(ms * float64(time.Millisecond))
	}
	return quantile(list, q)
}

// over returns how many are longer than a limit.
func (t times) over(limit time.Duration) int {
	n := 0
	for _, ms := range t {
		if ms > float64(limit.Milliseconds()) {
			n++
		}
	}
	return n
}

// firstLoad is the output of load.mjs.
type firstLoad struct {
	Bytes       int64 `json:"bytes"`
	Files       int   `json:"files"`
	Interactive times `json:"interactive"`
	Bare        times `json:"bare"`
	CPU         times `json:"cpu"`
	BareCPU     times `json:"bareCPU"`
}

func (b *bench) reportLoad(engine string, got firstLoad) {
	b.out.row(row{
		what:     fmt.Sprintf("script of Runs, gzipped, in %d files", got.Files),
		penstock: fmt.Sprintf("%.1f KB", float64(got.Bytes)/1e3),
		aim:      below(float64(got.Bytes), 250e3, "< 250 KB"),
	})
	interactive := sideBySide(engine+"  Runs interactive, 4x slower CPU, p50", got.Interactive, got.Bare, .5)
	interactive.aim = below(float64(got.Interactive.quantile(.5)), float64(1500*time.Millisecond), "< 1.5 s")
	b.out.row(interactive)
	b.out.row(sideBySide(engine+"  Runs interactive, 4x slower CPU, longest", got.Interactive, got.Bare, 1))
	b.out.row(sideBySide(engine+"  CPU of its main thread, not slowed, p50", got.CPU, got.BareCPU, .5))
}

// listTimes is the output of list.mjs.
type listTimes struct {
	Paging    times `json:"paging"`
	Filtering times `json:"filtering"`
	Searching times `json:"searching"`
	Bare      times `json:"bare"`
}

func (b *bench) reportLists(engine string, got listTimes) {
	for _, of := range []struct {
		what string
		took times
	}{{"another page", got.Paging}, {"a filter", got.Filtering}, {"a search", got.Searching}} {
		what := engine + "  " + count(dashboardRuns) + " runs  " + of.what
		r := sideBySide(what+", p50", of.took, got.Bare, .5)
		r.aim = below(float64(of.took.quantile(.5)), float64(200*time.Millisecond), "< 200 ms")
		b.out.row(r)
		b.out.row(sideBySide(what+", longest", of.took, got.Bare, 1))
	}
}

// frameTimes is the output of frames.mjs.
type frameTimes struct {
	Frames times   `json:"frames"`
	Bare   times   `json:"bare"`
	Rate   float64 `json:"rate"` // events shown per second
	Busy   float64 `json:"busy"` // share of the time in which the main thread used a processor
}

func (b *bench) reportFrames(before int, got frameTimes) {
	const dropped = 100 * time.Millisecond
	what := "a new run"
	if before > 0 {
		what = "a run of " + count(float64(before)) + " events"
	}
	b.out.row(row{what: what + "  events shown a second", penstock: fmt.Sprintf("%.1f", got.Rate)})
	b.out.row(row{what: what + "  CPU of its main thread", penstock: fmt.Sprintf("%.1f %%", 100*got.Busy)})
	b.out.row(sideBySide(what+"  frame, p99", got.Frames, got.Bare, .99))
	r := sideBySide(what+"  frame, longest", got.Frames, got.Bare, 1)
	r.aim = below(float64(got.Frames.quantile(1)), float64(dropped), "< 100 ms")
	b.out.row(r)
	if n := got.Frames.over(dropped); n > 0 {
		b.out.note(
			fmt.Sprintf("%d of %s frames took longer than %d ms", n, count(float64(len(got.Frames))), dropped.Milliseconds()),
		)
	}
}

// sideBySide returns the row of a quantile of the dashboard and of the bare page.
func sideBySide(what string, took, bare times, q float64) row {
	ours, theirs := took.quantile(q), bare.quantile(q)
	return row{what: what, penstock: millis(ours), bare: millis(theirs), ratio: ratio(float64(ours), float64(theirs))}
}
