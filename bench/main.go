// Command bench measures the real binary on this machine and prints one table. Each figure stands
// next to the figure of a bare net/http server that responds to the same request of the same client
// in the same run. On a shared machine, only the ratio of the two is meaningful.
//
// It asserts nothing: the table marks a missed aim, and the exit status is 0. Everything happens on
// 127.0.0.1, with limited counts and times, and in a temporary folder that it removes at the end.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// atMost is the time after which a hanging run ends.
const atMost = 25 * time.Minute

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, atMost)
	defer cancel()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1) //nolint:gocritic // no cleanup is left
	}
}

// bench is one run of the measurements.
type bench struct {
	binary   string
	postgres string // URL of a server in which to create databases; "": no server
	runs     int    // in the large list
	log      int    // deliveries in the long log
	dir      string // of all temporary files
	out      *table
}

func run(ctx context.Context, args []string) error {
	if len(args) == 2 && slices.Contains([]string{bareRuns, bareHooks, modelProvider, bareProxy, modelGateway}, args[0]) {
		// started by this program itself
		return serveBare(ctx, args[0], args[1])
	}
	if len(args) == 2 && slices.Contains([]string{plainRelay, tunnel}, args[0]) {
		return serveRelay(ctx, args[0], args[1])
	}
	b := &bench{out: &table{w: os.Stdout}}
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.StringVar(&b.binary, "binary", "bin/penstock", "the binary to measure, stripped")
	flags.IntVar(&b.runs, "runs", 1_000_000, "runs in the large list")
	flags.IntVar(
		&b.log, "deliveries", 1_000_000, "deliveries in the long log; 10,000,000 take 6 GB and two minutes on each engine",
	)
	only := flags.String("only", "", "measure these parts only, such as create,list")
	sizes := flags.String("sizes", "", "instead, say what fills this binary, which must have its symbols")
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return nil
		}
		return err
	}
	if *sizes != "" {
		return printSizes(os.Stdout, *sizes)
	}
	// The variable in which scripts/with-postgres passes its server.
	//nolint:forbidigo // a command's main is where the environment is read
	b.postgres = os.Getenv("PENSTOCK_TEST_POSTGRES")
	var err error
	if b.binary, err = filepath.Abs(b.binary); err != nil {
		return err
	}
	if _, err := os.Stat(b.binary); err != nil {
		return err
	}
	if b.dir, err = os.MkdirTemp("", "penstock-bench-"); err != nil {
		return err
	}
	defer os.RemoveAll(b.dir)
	return b.measure(ctx, *only)
}

// part is one measurement, with a heading in the table.
type part struct {
	name, heading string
	do            func(context.Context) error
}

func (b *bench) parts() []part {
	return []part{
		{"create", "POST /agent/runs, durable before the response; 64 connections", b.create},
		{"claim", "POST /agent/runs until a worker that waits has the run; one at a time", b.claim},
		{"reserve", "a call to a model is reserved under a budget, beside the creation of a run (bare)", b.reserve},
		{"list", "GET /agent/runs, 20 rows of a state and a name; one connection", b.list},
		{"stream", "one run's live events to 1,000 listeners, 20 events a second", b.stream},
		{"deliver", "POST /webhooks/w/…, 2 KB signed, durable before the response; 64 connections", b.deliver},
		{"hooks", "deliveries to 1,000 webhooks with 20 automations each, beside one with one", b.hooks},
		{"subjects", "deliveries about subjects, beside deliveries that each start a run", b.subjects},
		{"log", "deliveries to a long log, beside an empty one", b.longLog},
		{"outbound", "what event endpoints cost the creation of runs, and how late messages are", b.outbound},
		{"occurrences", "GET /occurrences, 20 rows; one connection", b.occurrences},
		{"growth", "the disk that deliveries and runs take, and how fast retention removes deliveries", b.growth},
		{"start", "a delivery until a worker that waits has its run; one at a time", b.start},
		{"definitions", "factories by files: PUT and POST of 500 files, and 200 repositories", b.definitions},
		{"gateway", "the model gateway, beside a bare reverse proxy", b.gateway},
		{"execute", "runs of demo/offline from creation to end, beside bwrap with a program that ends at once", b.execute},
		{"wall", "what surrounds a sealed run, beside a plain relay and bwrap alone", b.wall},
		{"checkpoint", "what a turn is saved with, and forks", b.checkpoint},
		{"images", "a container image of 250 MB, beside tar and a sandbox without an image", b.images},
		{"memory", "resident memory of serve, as it comes", b.memory},
		{"python", "the Python SDK, 1,000 calls one after the other, in turns with bare httpx", b.python},
		{"typescript", "the TypeScript SDK, beside bare fetch; one call at a time", b.typescript},
		{"dashboard", "the dashboard in Chromium, beside bare pages", b.dashboard},
		{"size", "the binary, stripped", b.size},
	}
}

func (b *bench) measure(ctx context.Context, only string) error {
	if err := b.describeMachine(ctx); err != nil {
		return err
	}
	if b.postgres != "" {
		if err := b.ageLog(ctx); err != nil {
			b.progressf("%s; commits are slower until it is", err)
		}
	}
	wanted := strings.Split(only, ",")
	for _, p := range b.parts() {
		if only != "" && !slices.Contains(wanted, p.name) {
			continue
		}
		b.out.heading(p.heading)
		start := time.Now()
		err := p.do(ctx)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			b.out.note("not measured: " + err.Error())
		}
		b.progressf("%s took %s", p.name, time.Since(start).Round(100*time.Millisecond))
	}
	b.out.footer()
	return nil
}

// progressf reports progress on standard error, so that the table stays clean.
func (b *bench) progressf(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "bench: "+format+"\n", args...)
}

// engine is a kind of database, with a function that creates one.
type engine struct {
	name  string
	fresh func(ctx context.Context) (url string, drop func(), err error)
}

// engines are SQLite and, if a server is available, PostgreSQL.
func (b *bench) engines() []engine {
	list := []engine{{"sqlite", b.freshSQLite}}
	if b.postgres != "" {
		list = append(list, engine{"postgres", b.freshPostgres})
	}
	return list
}

// onEach measures on one engine after the other.
func (b *bench) onEach(do func(engine) error) error {
	for _, e := range b.engines() {
		if err := do(e); err != nil {
			return fmt.Errorf("%s: %w", e.name, err)
		}
	}
	return nil
}
