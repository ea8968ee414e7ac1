package store

import (
	"context"
	"database/sql/driver"
	"errors"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/penstock-dev/penstock"
)

// dialect is what the engines do differently.
type dialect struct {
	name string

	// now is an expression for the database's clock, in epoch milliseconds.
	now string
	// lock ends a SELECT whose rows the transaction is about to change. A run is
	// always locked before its queue row. skipRun locks the run of a join named r
	// and leaves out those that another transaction holds.
	lock, skipRun string
	// bytewise ends a sort key that is compared byte by byte, as Go does.
	bytewise string
	// finds selects the ids of the runs whose text holds the word bound to the
	// placeholder, from the search index; wordArg prepares the word for it.
	finds   func(placeholder string) string
	wordArg func(word string) string
	// number is the number under a key of an object in a column of JSON text, NULL
	// where there is none.
	number func(column, key string) string
	// unindex takes a run out of the search index, before its row of searchTable is
	// removed; "": the index follows by itself.
	unindex string
	// index adds rows of searchTable, and makes the search know them.
	index func(ctx context.Context, tx *Tx, rows [][]any) error
	// committers is how many transactions the group commit has under way.
	committers int64
	// batchWithin is how long one of them may take; 0: as long as it does.
	batchWithin time.Duration

	// begin starts a write transaction; end commits it or rolls it back.
	begin func(ctx context.Context, s *Store, tx *Tx) (end func(commit bool) error, err error)
	// insert adds rows in as few statements as the engine likes. An error may come
	// only with a later statement of the transaction, or with its commit.
	insert func(ctx context.Context, tx *Tx, t table, rows [][]any) error
	// insertNew does so at once and returns how many rows it added or changed, without the
	// rows that t.conflict leaves alone.
	insertNew func(ctx context.Context, tx *Tx, t table, rows [][]any) (int64, error)
	// transient reports an error after which the same transaction may be run again.
	transient func(error) bool
	// away reports an error of the storage, not of ours: connection lost, disk
	// full, read-only. unique reports a row that exists already.
	away, unique func(error) bool
}

// unavailableFor is the Retry-After of responses while the storage is away.
const unavailableFor = 5 * time.Second

// errUnknownCommit: a COMMIT was sent, and its result is unknown. The transaction may have been
// committed.
var errUnknownCommit = errors.New("the result of the commit is unknown")

// mapError makes driver errors ours, here and nowhere else.
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
	return errors.Is(err, driver.ErrBadConn) || errors.Is(err, io.ErrUnexpectedEOF) || errors.As(err, &netErr) ||
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

// narrow leaves out the last columns if no row has a value for them: a column that is not bound
// costs almost nothing.
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

// placeholders is "$from, …, $from+n-1".
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

// flag is a bool as the engines keep it.
func flag(b bool) int64 {
	if b {
		return 1
	}
	return 0
}
