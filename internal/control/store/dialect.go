package store

import (
	"context"
	"database/sql/driver"
	"errors"
	"io"
	"iter"
	"net"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/penstock-dev/penstock"
)

// dialect holds the differences between the engines.
type dialect struct {
	name string

	// now is an expression for the database's clock, in epoch milliseconds.
	now string
	// lock is the end of a SELECT whose rows the transaction will change. A run is always locked
	// before its queue row. skipRun locks the run of a join named r, and skips runs that another
	// transaction has locked.
	lock, skipRun string
	// lockBudgets selects from the teams of a condition, and excludes the transactions with
	// shareBudgets of these teams until the transaction ends. nil: the engine has one writer.
	lockBudgets, shareBudgets func(condition string) string
	// bytewise is the end of a sort key that is compared byte by byte, as in Go.
	bytewise string
	// finds selects from the search index the ids of the runs whose text contains the word at the
	// placeholder. wordArg prepares the word for it.
	finds   func(placeholder string) string
	wordArg func(word string) string
	// contains reports whether the bytes of a column contain those at the placeholder.
	contains func(column, placeholder string) string
	// number reads a number from an object in a column of JSON text, or NULL.
	number func(column, key string) string
	// unindex removes a run from the search index, before its row of searchTable is removed. With
	// "", the database updates the index itself.
	unindex string
	// index adds rows to searchTable and to the search index.
	index func(ctx context.Context, tx *Tx, rows [][]any) error
	// committers is the number of simultaneous transactions of the group commit.
	committers int64
	// batchWithin limits the time of one of them; 0 disables the limit.
	batchWithin time.Duration

	// begin starts a write transaction; end commits it or rolls it back.
	begin func(ctx context.Context, s *Store, tx *Tx) (end func(commit bool) error, err error)
	// insert adds rows in few statements. It may report an error only with a later statement of the
	// transaction, or with its commit.
	insert func(ctx context.Context, tx *Tx, t table, rows [][]any) error
	// insertNew adds rows at once. It returns how many rows it added or changed, without the rows
	// that t.conflict skips.
	insertNew func(ctx context.Context, tx *Tx, t table, rows [][]any) (int64, error)
	// transient reports whether the transaction may be repeated after an error.
	transient func(error) bool
	// away reports whether the storage failed: connection lost, disk full, read-only. unique
	// reports whether a row exists already.
	away, unique func(error) bool
}

// unavailableFor is the Retry-After of responses while the storage is away.
const unavailableFor = 5 * time.Second

// errUnknownCommit: a COMMIT was sent, and its result is unknown. The transaction may have been
// committed.
var errUnknownCommit = errors.New("the result of the commit is unknown")

// mapError is the only place that turns errors of the driver into ours.
func (d *dialect) mapError(err error) error {
	var known *penstock.Error
	switch {
	case err == nil || errors.As(err, &known):
		return err
	case errors.Is(err, errUnknownCommit):
		return &penstock.Error{
			Code: penstock.CodeUnavailable,
			Detail: "the database does not respond, and the request may still be done: retry it with the same " +
				"Idempotency-Key",
			RetryAfter: unavailableFor, Cause: err,
		}
	case d.away(err) || connectionLost(err):
		return &penstock.Error{
			Code:       penstock.CodeUnavailable,
			Detail:     "the database cannot be written or reached at the moment; nothing was stored",
			RetryAfter: unavailableFor, Cause: err,
		}
	}
	return err
}

func connectionLost(err error) bool {
	var netErr net.Error
	return errors.Is(err, driver.ErrBadConn) || errors.Is(err, pgconn.ErrConnClosed) ||
		errors.Is(err, io.ErrUnexpectedEOF) || errors.As(err, &netErr) ||
		errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

// table describes rows for a bulk insert.
type table struct {
	name    string
	columns []column
	// conflict ends the statement, such as ON CONFLICT DO NOTHING.
	conflict string
	// cuts are numbers of columns, ascending, that are enough if no row has a value for the
	// columns after them. Their default in the schema must be the zero value.
	cuts []int
}

// onConflict returns the table with another end of the statement.
func (t table) onConflict(conflict string) table {
	t.conflict = conflict
	return t
}

// narrow omits the last columns if no row has a value for them, because each bound value costs
// time.
func (t table) narrow(rows [][]any) (table, [][]any) {
	for _, n := range t.cuts {
		if slices.ContainsFunc(rows, func(row []any) bool { return slices.ContainsFunc(row[n:], given) }) {
			continue
		}
		narrowed := make([][]any, len(rows))
		for i, row := range rows {
			narrowed[i] = row[:n]
		}
		t.columns = t.columns[:n]
		return t, narrowed
	}
	return t, rows
}

func given(value any) bool { return value != any("") && value != any(int64(0)) }

type column struct{ name, kind string } // kind: text, bigint or bytea

// columns reads "id text, n bigint".
func columns(spec string) []column {
	var out []column
	for part := range strings.SplitSeq(spec, ",") {
		name, kind, _ := strings.Cut(strings.TrimSpace(part), " ")
		out = append(out, column{name, kind})
	}
	return out
}

func (t table) names() string {
	names := make([]string, len(t.columns))
	for i, c := range t.columns {
		names[i] = c.name
	}
	return strings.Join(names, ", ")
}

// placeholders returns "$from, …, $from+n-1".
func placeholders(from, n int) string {
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteByte('$')
		b.WriteString(strconv.Itoa(from + i))
	}
	return b.String()
}

// flag returns a bool as the engines store it.
func flag(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// chunks splits items into statements and yields the arguments of each. Only a few sizes occur, so
// that their prepared statements are kept.
func chunks[T any](items []T, args func(T) []any) iter.Seq[[]any] {
	return func(yield func([]any) bool) {
		for _, size := range insertSizes {
			for len(items) >= size {
				var all []any
				for _, item := range items[:size] {
					all = append(all, args(item)...)
				}
				if !yield(all) {
					return
				}
				items = items[size:]
			}
		}
	}
}

// sets is chunks into fewer statements: they are filled up with zero values, which must choose nothing.
func sets[T any](items []T, args func(T) []any) iter.Seq[[]any] {
	return func(yield func([]any) bool) {
		for some := range slices.Chunk(items, maxSet) {
			var all []any
			for _, item := range some {
				all = append(all, args(item)...)
			}
			var none T
			for n := len(some); n&(n-1) != 0; n++ {
				all = append(all, args(none)...)
			}
			if !yield(all) {
				return
			}
		}
	}
}

// one is the arguments of an item that has one.
func one[T any](item T) []any { return []any{item} }

// maxSet bounds the items of one statement.
const maxSet = 64

// insertSizes are the possible numbers of rows of one statement, so that there are few prepared
// statements.
var insertSizes = []int{32, 16, 8, 4, 2, 1}
