// Package store owns every SQL statement. One text serves SQLite and
// PostgreSQL: times are epoch milliseconds, ids are text made by us, JSON is
// text, placeholders are $1 $2 … in the order of their first appearance.
// Differences between the engines are fields of [dialect].
//
// The statements are in parts, by subject: db.Runs.List reads, and
// tx.Runs().Move writes in a transaction. subject.go lists them.
//
// Writes go through [Store.Write], one transaction each, or through the group
// commit ([Runs.Create], [Events.Append]), many members in one transaction.
// Subscribers are notified after the commit. A nudge is only a hint: the rows
// are the truth.
package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/penstock-dev/penstock"
)

// Options opens a store.
type Options struct {
	// URL is sqlite:///absolute/path/of/file.db or postgres://…, as pgx reads it.
	URL string
	Log *slog.Logger
	// Metrics is called after every group commit with its size and duration; may be nil.
	Metrics func(members int, took time.Duration)
	// AsIs opens a schema of any version without migrating it, for example to back it up
	// while another release serves. If SchemaVersion returns another version than this
	// release's, only Backup may be called.
	AsIs bool
	// Reserve keeps room on the disk of a SQLite database for [Store.WriteReserved].
	Reserve bool
	// Fault is called before each statement of a transaction is sent, and with [Committed] after a commit. Its error
	// takes the place of the result, so that a test can kill a server there; may be nil.
	Fault func(at string) error
}

// Committed says to [Options.Fault] that a transaction was committed, and that its caller does not know it yet.
const Committed = "committed"

// Errors of [Open] for a PostgreSQL database.
var (
	// ErrUnreachable: the database cannot be reached, or accepts no connection now.
	ErrUnreachable = errors.New("the database cannot be reached")
	// ErrURL: the URL is invalid, or the server rejects its user, or has no such database.
	ErrURL = errors.New("the database URL cannot be used")
)

// Store is an open database. It is safe for concurrent use.
type Store struct {
	Nudges *Nudges

	Keys      Keys
	Members   Members
	Sessions  Sessions
	Secrets   Secrets
	Responses Responses
	Settings  Settings

	Environments Environments
	Prebuilds    Prebuilds

	Runs          Runs
	Events        Events
	Conversations Conversations
	Followups     Followups
	Files         Files

	Queue      Queue
	Executions Executions

	Budgets Budgets
	Calls   Calls
	Usage   Usage

	Automations Automations
	Schedules   Schedules
	Occurrences Occurrences

	Webhooks   Webhooks
	Deliveries Deliveries
	Subjects   Subjects

	Forges    Forges
	Endpoints Endpoints

	Factories    Factories
	Identities   Identities
	Definitions  Definitions
	Repositories Repositories

	groupRoles  func(issuer string, groups []string) []penstock.Role // may be nil
	log         *slog.Logger
	fault       func(at string) error // may be nil
	d           *dialect
	read        *sql.DB
	stmts       *statements   // of the read pool
	writer      *writer       // SQLite's one writing connection; nil for PostgreSQL
	checkpoints *checkpointer // nil for PostgreSQL
	reserve     *reserve      // nil for PostgreSQL, and without Options.Reserve
	commits     *committer
	zones       sync.Map // of budgets, by name
	close       []func() error
}

// Open connects, brings the schema up to date and starts the group commit. A
// database of a newer release is rejected. No error shows the URL's password.
func Open(ctx context.Context, o Options) (*Store, error) {
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	if o.Metrics == nil {
		o.Metrics = func(int, time.Duration) {}
	}
	s := &Store{log: o.Log, Nudges: newNudges(), fault: o.Fault}
	s.setSubjects()
	scheme, _, _ := strings.Cut(o.URL, "://")
	var err error
	switch scheme {
	case "sqlite":
		err = s.openSQLite(ctx, strings.TrimPrefix(o.URL, "sqlite://"))
	case "postgres", "postgresql":
		err = s.openPostgres(ctx, o.URL)
	default:
		return nil, errors.New("the database URL must start with sqlite:// or postgres://")
	}
	if err == nil && !o.AsIs {
		err = s.migrate(ctx)
	}
	if path, ok := strings.CutPrefix(o.URL, "sqlite://"); err == nil && ok && o.Reserve {
		s.reserve, err = openReserve(path)
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	s.commits = newCommitter(s, o.Metrics)
	return s, nil
}

// Close waits for the group commits under way, then disconnects.
func (s *Store) Close() error {
	if s.commits != nil {
		s.commits.stop()
	}
	var errs []error
	for _, end := range slices.Backward(s.close) {
		errs = append(errs, end())
	}
	return errors.Join(errs...)
}

// Engine is "sqlite" or "postgres".
func (s *Store) Engine() string { return s.d.name }

// Shared reports whether other servers may use the same database.
func (s *Store) Shared() bool { return s.writer == nil }

// Ping returns an error if the database does not respond or cannot be written.
func (s *Store) Ping(ctx context.Context) error {
	return s.Write(ctx, func(tx *Tx) error {
		return tx.Settings().Set(ctx, "ping", fmt.Sprint(time.Now().UnixMilli()))
	})
}

// Tx is one write transaction.
type Tx struct {
	s       *Store
	conn    *sql.Conn
	stmts   *statements // nil: the driver keeps prepared statements itself
	waiting []statement
	topics  []string
	// endpoints are the enabled ones, as the transaction has read them; nil: it has not.
	endpoints []EndpointRow
	hasTurn   bool // SQLite: the caller holds the writer's token, for several transactions

	committer int64 // number of the committer whose transaction it is; 0 also without a committer
}

// statement is a statement whose result is not needed. On PostgreSQL it is sent together with the
// statements before and after it.
type statement struct {
	text string
	args []any
	// alike: PostgreSQL may keep its plan, because no content of the tables makes another one
	// better.
	alike bool
}

// flush runs the waiting statements. It returns how many rows their last insert changed.
func (tx *Tx) flush(ctx context.Context) (touched int64, err error) {
	if len(tx.waiting) == 0 {
		return 0, nil
	}
	waiting := tx.waiting
	tx.waiting = nil
	if err := tx.s.fails(waiting[0].text); err != nil {
		return 0, err
	}
	return sendPostgres(ctx, tx.conn, waiting)
}

// Nudge notifies the topic's subscribers after the commit.
func (tx *Tx) Nudge(topic string) { tx.topics = append(tx.topics, topic) }

// writeAttempts bounds how often a transaction runs that loses to another one (deadlock,
// serialization failure).
const writeAttempts = 5

// Write runs fn in one transaction, commits it, and notifies the subscribers that fn nudged. If the
// database ends the transaction in favor of another one, fn runs again, so it must have no effects
// outside of the transaction. While the database is away or full, the error is
// resource_unavailable. If ctx ended and nothing was stored, the error is ctx's.
func (s *Store) Write(ctx context.Context, fn func(*Tx) error) error {
	for attempt := 1; ; attempt++ {
		err := s.writeOnce(ctx, &Tx{s: s}, fn)
		if connectionLost(err) && ctx.Err() != nil && !errors.Is(err, errUnknownCommit) {
			return ctx.Err() // the driver closes a connection whose caller is gone
		}
		if err == nil || attempt == writeAttempts || !s.d.transient(err) {
			return s.d.mapError(err)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(rand.N(time.Duration(attempt) * 10 * time.Millisecond)):
		}
	}
}

func (s *Store) writeOnce(ctx context.Context, tx *Tx, fn func(*Tx) error) error {
	end, err := s.d.begin(ctx, s, tx)
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	done := false
	defer func() {
		if !done { // fn failed, and its error is the one to return; or it panicked
			_ = end(false)
		}
	}()
	if err := fn(tx); err != nil {
		return err
	}
	done = true
	if err := end(true); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	if err := s.fails(Committed); err != nil {
		return err
	}
	s.Nudges.notify(tx.topics)
	return nil
}

// fails returns the error that a test wants here.
func (s *Store) fails(at string) error {
	if s.fault == nil {
		return nil
	}
	return s.fault(at)
}

// send sends the statements that wait before another one.
func (tx *Tx) send(ctx context.Context, next string) error {
	if _, err := tx.flush(ctx); err != nil {
		return err
	}
	return tx.s.fails(next)
}

// querier is the store or a transaction, for reads.
type querier interface {
	query(ctx context.Context, text string, args ...any) (*sql.Rows, error)
	row(ctx context.Context, text string, args ...any) scanner
	store() *Store
}

// scanner is a *sql.Row, or an error.
type scanner interface{ Scan(into ...any) error }

type noRow struct{ err error }

func (n noRow) Scan(...any) error { return n.err }

func (s *Store) store() *Store { return s }

func (tx *Tx) store() *Store { return tx.s }

func (s *Store) query(ctx context.Context, text string, args ...any) (*sql.Rows, error) {
	if stmt := s.stmts.prepared(ctx, s.read, text); stmt != nil {
		return stmt.QueryContext(ctx, args...)
	}
	return s.read.QueryContext(ctx, text, args...)
}

func (s *Store) row(ctx context.Context, text string, args ...any) scanner {
	if stmt := s.stmts.prepared(ctx, s.read, text); stmt != nil {
		return stmt.QueryRowContext(ctx, args...)
	}
	return s.read.QueryRowContext(ctx, text, args...)
}

func (tx *Tx) query(ctx context.Context, text string, args ...any) (*sql.Rows, error) {
	if err := tx.send(ctx, text); err != nil {
		return nil, err
	}
	if stmt := tx.stmts.prepared(ctx, tx.conn, text); stmt != nil {
		return stmt.QueryContext(ctx, args...)
	}
	return tx.conn.QueryContext(ctx, text, args...)
}

func (tx *Tx) row(ctx context.Context, text string, args ...any) scanner {
	if err := tx.send(ctx, text); err != nil {
		return noRow{err}
	}
	if stmt := tx.stmts.prepared(ctx, tx.conn, text); stmt != nil {
		return stmt.QueryRowContext(ctx, args...)
	}
	return tx.conn.QueryRowContext(ctx, text, args...)
}

// exec runs a statement and returns how many rows it touched.
func (tx *Tx) exec(ctx context.Context, text string, args ...any) (int64, error) {
	if err := tx.send(ctx, text); err != nil {
		return 0, err
	}
	var res sql.Result
	var err error
	if stmt := tx.stmts.prepared(ctx, tx.conn, text); stmt != nil {
		res, err = stmt.ExecContext(ctx, args...)
	} else {
		res, err = tx.conn.ExecContext(ctx, text, args...)
	}
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

// insert adds rows that a table's ON CONFLICT clause may turn into updates.
func (tx *Tx) insert(ctx context.Context, t table, rows [][]any) error {
	return tx.s.d.insert(ctx, tx, t, rows)
}

// insertNew is insert, and returns how many rows are new.
func (tx *Tx) insertNew(ctx context.Context, t table, rows [][]any) (int64, error) {
	return tx.s.d.insertNew(ctx, tx, t, rows)
}

// maxStatements bounds the statements kept prepared: the texts of lists vary
// with their filters.
const maxStatements = 400

// statements keeps prepared statements for SQLite, whose driver parses a text
// at every call. A nil *statements keeps none.
type statements struct {
	mu      sync.Mutex
	m       map[string]*sql.Stmt
	inserts map[insertion]string
}

func newStatements() *statements {
	return &statements{m: map[string]*sql.Stmt{}, inserts: map[insertion]string{}}
}

type preparer interface {
	PrepareContext(ctx context.Context, text string) (*sql.Stmt, error)
}

// Statements lists the texts of the statements that are kept prepared: on PostgreSQL, none.
func (s *Store) Statements() []string {
	var texts []string
	for _, k := range []*statements{s.stmts, s.writer.kept()} {
		if k != nil {
			k.mu.Lock()
			texts = slices.AppendSeq(texts, maps.Keys(k.m))
			k.mu.Unlock()
		}
	}
	slices.Sort(texts)
	return slices.Compact(texts)
}

func (w *writer) kept() *statements {
	if w == nil {
		return nil
	}
	return w.stmts
}

// prepared returns nil if the text should run unprepared.
func (k *statements) prepared(ctx context.Context, on preparer, text string) *sql.Stmt {
	if k == nil {
		return nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if stmt, ok := k.m[text]; ok || len(k.m) >= maxStatements {
		return stmt
	}
	stmt, err := on.PrepareContext(ctx, text)
	if err != nil {
		return nil // the call itself returns the error
	}
	k.m[text] = stmt
	return stmt
}
