package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
)

// The size of a replica's pool, without the connection that listens.
const (
	postgresConnections = 24
	leastConnections    = 4 // two committers, and readers beside them
	mostConnections     = 1000
)

// PoolParameter is the parameter of a PostgreSQL URL that sets the size of the pool. It has the name
// that it has for pgx's own pool. Only the store knows it.
const PoolParameter = "pool_max_conns"

// DriverParameters are parameters of a URL that PostgreSQL's own programs refuse: the store's, its
// driver's, and a setting of the server.
func DriverParameters() []string {
	return []string{
		PoolParameter, idleTimeout,
		"default_query_exec_mode", "statement_cache_capacity", "description_cache_capacity",
	}
}

// idleTimeout bounds how long a transaction may be idle between two statements. Then PostgreSQL
// ends it and releases its locks. A replica whose machine is gone cannot do so, and the operating
// system of the database would notice only hours later.
const idleTimeout = "idle_in_transaction_session_timeout"

func (s *Store) openPostgres(ctx context.Context, url string) error {
	config, err := pgx.ParseConfig(url)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrURL, err)
	}
	connections, err := poolSize(config.RuntimeParams)
	if err != nil {
		return err
	}
	config.RuntimeParams["application_name"] = "penstock"
	// Without prepared statements, the server may be a pooler of connections, which refuses these
	// parameters, and on which a connection cannot listen.
	pooled := config.DefaultQueryExecMode != pgx.QueryExecModeCacheStatement
	if !pooled {
		// A cached generic plan of a query over a table that grew took up to 2.2 s.
		config.RuntimeParams["plan_cache_mode"] = "force_custom_plan"
		if _, set := config.RuntimeParams[idleTimeout]; !set {
			config.RuntimeParams[idleTimeout] = strconv.FormatInt(silentFor.Milliseconds(), 10)
		}
	}
	config.ConnectTimeout = 5 * time.Second
	config.DialFunc = dialPostgres
	s.d = postgresDialect()
	s.read = stdlib.OpenDB(*config)
	s.read.SetMaxOpenConns(connections)
	s.read.SetMaxIdleConns(connections)
	s.read.SetConnMaxIdleTime(5 * time.Minute)
	s.close = append(s.close, s.read.Close)
	if err := s.read.PingContext(ctx); err != nil {
		return notConnected(s.d, err)
	}
	if pooled {
		s.log.Info("no notifications from the database without prepared statements; polling for changes of other servers")
		return nil
	}
	s.listen(ctx, config)
	return nil
}

// poolSize takes the size of the pool out of the parameters, which the server would refuse.
func poolSize(parameters map[string]string) (int, error) {
	text, given := parameters[PoolParameter]
	if !given {
		return postgresConnections, nil
	}
	delete(parameters, PoolParameter)
	n, err := strconv.Atoi(text)
	if err != nil || n < leastConnections || n > mostConnections {
		return 0, fmt.Errorf("%w: %s must be a whole number from %d to %d, not %q",
			ErrURL, PoolParameter, leastConnections, mostConnections, text)
	}
	return n, nil
}

// notConnected distinguishes errors for which another attempt may succeed.
func notConnected(d *dialect, err error) error {
	code := postgresCode(err)
	switch {
	case strings.HasPrefix(code, "28") || code == "3D000" ||
		code == "42501": // not authenticated, no such database, may not connect
		return fmt.Errorf("%w: %w", ErrURL, err)
	case d.away(err) || connectionLost(err):
		return fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	return fmt.Errorf("connect to the database: %w", err)
}

func postgresDialect() *dialect {
	return &dialect{
		name:     "postgres",
		now:      "CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT)",
		lock:     " FOR UPDATE",
		skipRun:  " FOR UPDATE OF r SKIP LOCKED",
		bytewise: ` COLLATE "C"`,

		lockBudgets:  inOrder("pg_advisory_xact_lock"),
		shareBudgets: inOrder("pg_advisory_xact_lock_shared"),

		committers: 2, batchWithin: batchWithin,
		contains: func(column, placeholder string) string {
			return "position(CAST(" + placeholder + " AS bytea) IN " + column + ") > 0"
		},
		number: func(column, key string) string {
			return "CAST(CAST(NULLIF(" + column + ", '') AS json) ->> '" + key + "' AS double precision)"
		},
		finds: func(placeholder string) string {
			return `SELECT run_id
			FROM run_search
			WHERE text LIKE ` + placeholder
		},
		wordArg: func(word string) string {
			return "%" + strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(word) + "%"
		},
		begin:     beginPostgres,
		insert:    insertUnnest,
		insertNew: insertNewUnnest,
		index:     indexPostgres,
		transient: func(err error) bool {
			code := postgresCode(err)
			return code == "40001" || code == "40P01" || claimedFirst(err) // serialization failure, deadlock
		},
		unique: func(err error) bool { return postgresCode(err) == "23505" },
		away: func(err error) bool {
			code := postgresCode(err)
			switch code {
			case "25006", "25P03", "53100", "53200", "53300", "57P01", "57P02", "57P03", "58030", "40001", "40P01":
				// Read-only, stood still, disk full, out of memory, too many connections,
				// shutdown, I/O error, lost races.
				return true
			}
			var connect *pgconn.ConnectError
			return claimedFirst(err) || strings.HasPrefix(code, "08") || errors.As(err, &connect) ||
				errors.Is(err, context.DeadlineExceeded) && code == ""
		},
	}
}

// inOrder locks the budgets of the teams that a condition selects, in one order for all transactions.
func inOrder(lock string) func(condition string) string {
	return func(condition string) string {
		return "SELECT " + lock + `(hashtextextended('budgets of ' || uid, 0))
			FROM (SELECT uid FROM teams WHERE ` + condition + ` ORDER BY uid) AS t`
	}
}

func postgresCode(err error) string {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		return e.Code
	}
	return ""
}

// claimedFirst reports whether another transaction has stored a new subject first.
func claimedFirst(err error) bool {
	e, ok := errors.AsType[*pgconn.PgError](err)
	return ok && e.Code == "23505" && e.ConstraintName == "subjects_claim"
}

func beginPostgres(ctx context.Context, s *Store, tx *Tx) (func(bool) error, error) {
	conn, err := s.read.Conn(ctx)
	if err != nil {
		return nil, err
	}
	tx.conn, tx.waiting = conn, []statement{{text: "BEGIN"}}
	return func(commit bool) error {
		defer conn.Close()
		if commit {
			tx.waiting = append(tx.waiting, statement{text: "COMMIT"})
			if _, err = tx.flush(ctx); err == nil {
				return nil
			}
			if commitUnknown(err) {
				err = fmt.Errorf("%w: %w", errUnknownCommit, err)
			}
		}
		tx.waiting = nil
		// The transaction holds locks, so it must end even if the caller is gone.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), rollbackWithin)
		defer cancel()
		if _, failed := conn.ExecContext(ctx, "ROLLBACK"); failed != nil {
			_ = conn.Raw(func(any) error { return driver.ErrBadConn }) // closes it
		}
		return err
	}, nil
}

const rollbackWithin = 5 * time.Second

// batchWithin is how long a group commit waits for the database: as long as its callers do. A
// connection that does not respond is closed then.
const batchWithin = 30 * time.Second

// commitUnknown reports whether a transaction may be committed although its COMMIT returned this
// error: the server has not reported the result, or was asked to stop, which it also reports after a
// commit while it waits for a standby.
func commitUnknown(err error) bool {
	if code := postgresCode(err); code != "" {
		return strings.HasPrefix(code, "57P0")
	}
	lost := connectionLost(err) || errors.Is(err, context.DeadlineExceeded)
	return lost && !pgconn.SafeToRetry(err) && !errors.Is(err, driver.ErrBadConn)
}

// sendPostgres runs statements by one exchange with the server, up to the first
// that fails, and returns how many rows the last insert changed. If the server turns a
// COMMIT into a ROLLBACK because of an earlier error, the error is
// pgx.ErrTxCommitRollback.
func sendPostgres(ctx context.Context, conn *sql.Conn, statements []statement) (touched int64, err error) {
	statements = planOnce(statements)
	batch := &pgx.Batch{}
	for _, s := range statements {
		batch.Queue(s.text, s.args...)
	}
	err = conn.Raw(func(raw any) error {
		c, ok := raw.(*stdlib.Conn)
		if !ok {
			return fmt.Errorf("%T is no connection to PostgreSQL", raw)
		}
		results := c.Conn().SendBatch(ctx, batch)
		for range statements {
			done, err := results.Exec()
			if err == nil && done.String() == "ROLLBACK" {
				err = pgx.ErrTxCommitRollback
			}
			if err != nil {
				_ = results.Close() // the first error is the one to return
				return err
			}
			if done.Insert() {
				touched = done.RowsAffected()
			}
		}
		return results.Close()
	})
	return touched, err
}

// planOnce lets PostgreSQL keep the plans of statements that are alike: planning takes a sixth of
// its time. It plans the statements after them each time, as usual.
func planOnce(statements []statement) []statement {
	first := slices.IndexFunc(statements, func(s statement) bool { return s.alike })
	if first < 0 {
		return statements
	}
	end := first + 1
	for end < len(statements) && statements[end].alike {
		end++
	}
	const mode = "SET LOCAL plan_cache_mode = "
	once := slices.Concat(statements[:first], []statement{{text: mode + "force_generic_plan"}}, statements[first:end])
	if end < len(statements) && statements[end].text == "COMMIT" {
		return append(once, statements[end:]...) // which ends the mode
	}
	return append(append(once, statement{text: mode + "force_custom_plan"}), statements[end:]...)
}

// insertUnnest sends all rows as one statement with an array per column, together
// with the statements after it.
func insertUnnest(_ context.Context, tx *Tx, t table, rows [][]any) error {
	if len(rows) > 0 {
		tx.waiting = append(tx.waiting, unnest(t, rows))
	}
	return nil
}

func insertNewUnnest(ctx context.Context, tx *Tx, t table, rows [][]any) (int64, error) {
	if len(rows) == 0 {
		return 0, nil
	}
	tx.waiting = append(tx.waiting, unnest(t, rows))
	added, err := tx.flush(ctx)
	return added, wrapf(err, "insert into %s", t.name)
}

func unnest(t table, rows [][]any) statement {
	args := make([]any, len(t.columns))
	from := make([]string, len(t.columns))
	for i, c := range t.columns {
		from[i] = "$" + strconv.Itoa(i+1) + "::" + c.kind + "[]"
		switch c.kind {
		case "bigint":
			args[i] = gather[int64](rows, i)
		case "bytea":
			args[i] = gather[[]byte](rows, i)
		default:
			args[i] = gather[string](rows, i)
		}
	}
	return statement{
		"INSERT INTO " + t.name + " (" + t.names() + ") SELECT * FROM unnest(" + strings.Join(from, ", ") + ") " + t.conflict,
		args, true,
	}
}

func gather[T any](rows [][]any, i int) []T {
	out := make([]T, len(rows))
	for n, row := range rows {
		out[n], _ = row[i].(T) // the table's columns say so
	}
	return out
}

// channel is where replicas notify each other of changed topics.
const channel = "penstock"

// listen receives the nudges of other replicas until the store is closed. It reconnects after a
// lost connection; polling finds what was missed.
func (s *Store) listen(ctx context.Context, config *pgx.ConnConfig) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan struct{})
	s.Nudges.remote = s.notifier(ctx) // closed after what follows, which ends ctx
	s.close = append(s.close, func() error { cancel(); <-done; return nil })
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			err := s.listenOnce(ctx, config)
			if ctx.Err() == nil {
				s.log.Warn("lost the database notification connection; reconnecting", "error", err)
				pause(ctx, time.Second)
			}
		}
	}()
}

func (s *Store) listenOnce(ctx context.Context, config *pgx.ConnConfig) error {
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	if _, err := conn.Exec(ctx, "LISTEN "+channel); err != nil {
		return err
	}
	for {
		n, err := conn.WaitForNotification(ctx)
		if err != nil {
			return err
		}
		var topics []string
		if json.Unmarshal([]byte(n.Payload), &topics) == nil {
			s.Nudges.notifyLocal(topics)
		}
	}
}

// notifyAtOnce bounds a NOTIFY payload: the protocol allows 8,000 bytes.
const notifyAtOnce = 100

// notifier sends topics to the other replicas from one goroutine, many in one
// NOTIFY: each takes a lock that all commits share.
func (s *Store) notifier(ctx context.Context) func([]string) {
	wake := make(chan struct{}, 1)
	pending := newTopicSet()
	done := make(chan struct{})
	s.close = append(s.close, func() error { <-done; return nil })
	go func() {
		defer close(done)
		for {
			select {
			case <-ctx.Done():
				return
			case <-wake:
			}
			for topics := pending.take(notifyAtOnce); len(topics) > 0; topics = pending.take(notifyAtOnce) {
				payload, _ := json.Marshal(topics) // strings always can be
				if _, err := s.read.ExecContext(ctx, "SELECT pg_notify($1, $2)", channel, string(payload)); err != nil &&
					!errors.Is(err, sql.ErrConnDone) && ctx.Err() == nil {
					s.log.Warn("cannot notify the other replicas; they find the change by polling", "error", err)
				}
			}
		}
	}()
	return func(topics []string) {
		pending.add(topics)
		select {
		case wake <- struct{}{}:
		default:
		}
	}
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
