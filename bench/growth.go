package main

import (
	"context"
	"database/sql" //nolint:depguard // sizes of tables, which the product does not need
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/penstock-dev/penstock"
)

const (
	growthRuns   = 300
	growthEvents = 100 // of each of these runs
)

// growth measures the disk that deliveries and runs take, by table, and how fast retention removes
// deliveries. Deliveries come through the server until there are a twentieth of -deliveries. SQL
// copies the others, without bodies.
func (b *bench) growth(ctx context.Context) error {
	return b.onEach(func(e engine) error { return b.growthOn(ctx, e) })
}

func (b *bench) growthOn(ctx context.Context, e engine) error {
	database, drop, err := e.fresh(ctx)
	if err != nil {
		return err
	}
	defer drop()
	empty, err := b.serve(ctx, database, "--worker=false") // which creates the tables
	if err != nil {
		return err
	}
	empty.stop()
	var webhook string
	for _, step := range []struct {
		what string
		do   func() (n int64, err error)
	}{
		{"a delivery of 2 KB", func() (n int64, err error) {
			webhook, n, err = b.growLog(ctx, database, int64(b.log/20))
			return n, err
		}},
		{"a delivery without its body", func() (int64, error) {
			return int64(b.log), fillLog(ctx, e.name, database, webhook, b.log)
		}},
		{fmt.Sprintf("a run of %d events", growthEvents), func() (int64, error) {
			return growthRuns, b.growRuns(ctx, database)
		}},
	} {
		before, err := tableSizes(ctx, e.name, database)
		if err != nil {
			return err
		}
		n, err := step.do()
		if err != nil {
			return fmt.Errorf("%s: %w", step.what, err)
		}
		after, err := tableSizes(ctx, e.name, database)
		if err != nil {
			return err
		}
		b.showGrowth(e.name+"  "+step.what, before, after, n)
	}
	return b.clearLog(ctx, e, database)
}

// showGrowth prints how much each table has grown for one of n things, indexes included.
func (b *bench) showGrowth(what string, before, after map[string]int64, n int64) {
	const least = 16 // bytes; less is the page that a table begins with
	var all int64
	for _, table := range slices.Sorted(maps.Keys(after)) {
		grown := after[table] - before[table]
		if table != writtenAhead {
			all += grown
		}
		if grown/n >= least {
			b.out.row(row{what: what + ": " + table, penstock: count(float64(grown)/float64(n)) + " B"})
		}
	}
	b.out.row(row{what: what, penstock: count(float64(all)/float64(n)) + " B"})
}

// growLog sends at least this many deliveries to a new webhook. It returns its uid and their number.
func (b *bench) growLog(ctx context.Context, database string, enough int64) (uid string, sent int64, err error) {
	t := &hookTarget{}
	defer t.close()
	if err := b.openHooks(ctx, t, "", database, hookOptions{filter: unmatched}); err != nil {
		return "", 0, err
	}
	t.resume()
	if t.conns, err = dialAll(ctx, t.addr, connections); err != nil {
		return "", 0, err
	}
	for t.sends.sent.Load() < enough {
		if _, err := t.load(ctx, time.Second); err != nil {
			return "", 0, err
		}
	}
	return t.sends.uids[0], t.sends.sent.Load(), t.sends.verify(ctx, t.process)
}

// growRuns creates runs, and executes them as a worker does.
func (b *bench) growRuns(ctx context.Context, database string) error {
	p, err := b.serve(ctx, database, "--worker=false")
	if err != nil {
		return err
	}
	defer p.stop()
	for range growthRuns {
		source, err := newRunSource(ctx, p)
		if err != nil {
			return err
		}
		agent := &work{runSource: source}
		if err := agent.begin(ctx, growthEvents); err != nil {
			return err
		}
		if _, err := source.worker.Finish(ctx, source.lease, penstock.Result{State: penstock.StateSucceeded}); err != nil {
			return err
		}
	}
	return sleep(ctx, settled) // the search indexes them in the background
}

// clearLog measures how fast a server removes the log, because its entries are too old.
func (b *bench) clearLog(ctx context.Context, e engine, database string) error {
	db, err := openFor(e.name, database)
	if err != nil {
		return err
	}
	defer db.Close()
	p, err := b.serve(ctx, database, "--worker=false", "--retain-deliveries=1s", "--retain-deliveries-at-least=0")
	if err != nil {
		return err
	}
	defer p.stop()
	var first, left int64
	var start time.Time
	for {
		if err := db.QueryRowContext(ctx, "SELECT count(*) FROM deliveries").Scan(&left); err != nil {
			return err
		}
		if left == first || start.IsZero() { // it has not begun: it does so once a minute
			start, first = time.Now(), max(first, left)
		}
		if took := time.Since(start); left == 0 || took > retentionTime {
			b.out.row(row{
				what: e.name + "  retention, deliveries/s", penstock: count(float64(first-left) / took.Seconds()),
			})
			return nil
		}
		if err := sleep(ctx, time.Second); err != nil {
			return err
		}
	}
}

// retentionTime bounds how long retention is watched.
const retentionTime = time.Minute

// writtenAhead stands for all that a PostgreSQL server has ever written to its log.
const writtenAhead = "write-ahead log"

// tableSizes returns the bytes of each table with its indexes, and with what it keeps elsewhere.
func tableSizes(ctx context.Context, engine, database string) (map[string]int64, error) {
	db, err := openFor(engine, database)
	if err != nil {
		return nil, err
	}
	defer db.Close()
	rows, err := db.QueryContext(ctx, map[string]string{
		"sqlite": `SELECT m.tbl_name, sum(s.pgsize)
			FROM dbstat AS s JOIN sqlite_schema AS m ON m.name = s.name
			WHERE s.aggregate = 1
			GROUP BY 1`,
		"postgres": `SELECT relname, pg_total_relation_size(oid)
			FROM pg_class
			WHERE relkind = 'r' AND relnamespace = current_schema()::regnamespace
			UNION ALL SELECT '` + writtenAhead + `', (pg_current_wal_lsn() - '0/0'::pg_lsn)::bigint`,
	}[engine])
	if err != nil {
		return nil, fmt.Errorf("read the sizes of the tables: %w", err)
	}
	return scanSizes(rows)
}

func scanSizes(rows *sql.Rows) (map[string]int64, error) {
	defer rows.Close()
	sizes := map[string]int64{}
	for rows.Next() {
		var table string
		var size int64
		if err := rows.Scan(&table, &size); err != nil {
			return nil, err
		}
		sizes[table] = size
	}
	return sizes, rows.Err()
}
