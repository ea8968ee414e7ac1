package store

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/penstock-dev/penstock"
)

// OccurrenceQuery chooses occurrences. An empty field chooses all.
type OccurrenceQuery struct {
	AutomationUID string
	ScheduleID    string
	WebhookUID    string
	Kind          OccurrenceKind
	Fate          Fate
	// NoDeliveries leaves deliveries out: the caller may not see their log.
	NoDeliveries bool
	// NoConnections leaves the deliveries of connections to forges out.
	NoConnections bool
	Cursor        string
	Limit         int
}

// ledgerWindow is how many entries of a log one page reads at most, to find those that the query chooses.
const ledgerWindow = 1000

// newestPosition comes before every position in the ledger: no id is larger.
const newestPosition = "ffffffff-ffff-ffff-ffff-ffffffffffff"

// position is the place of an occurrence in the ledger. at is an id that begins with its time; in the log of one
// webhook, it is the place in that log. n numbers the occurrences of one delivery.
type position struct {
	at string
	n  int
}

type ledgerRow struct {
	position
	Occurrence
}

// ledger reads one page of all occurrences. Each of its sources returns its first rows after a position, in their
// order, at most one more than the page has. end is where a source has stopped reading before it had so many, or
// "" at the end of the source.
type ledger struct {
	s     *Store
	v     Viewer
	q     OccurrenceQuery
	limit int
	after position
}

// List returns one page of the occurrences that the viewer may see, newest first, and the cursor of
// the next one, or "". Ticks have rows of their own. Deliveries, and calls and dispatches about a subject, are read
// from their logs, and other calls and dispatches from the runs that they started. A page reads a bounded part of
// each log, so it may have few rows, or none, and a next page.
func (os Occurrences) List(
	ctx context.Context, v Viewer, q OccurrenceQuery,
) (list []Occurrence, next string, err error) {
	l := ledger{
		s: os.s, v: v, limit: cmp.Or(q.Limit, penstock.DefaultLimit), after: position{at: newestPosition, n: -1},
	}
	after := q.Cursor
	q.Cursor, q.Limit = "", 0
	l.q = q
	filter := "occurrences:" + fingerprintOf(q, v)
	if after != "" {
		c, err := decodeCursor(after, filter)
		if err != nil {
			return nil, "", err
		}
		if l.after.n, err = strconv.Atoi(c.Value); err != nil {
			return nil, "", badCursor()
		}
		l.after.at = c.ID
	}
	rows, end, err := l.read(ctx)
	if err != nil {
		return nil, "", err
	}
	list = []Occurrence{}
	for _, r := range rows {
		list = append(list, r.Occurrence)
	}
	if end.at != "" {
		next = cursor{Filter: filter, Value: strconv.Itoa(end.n), ID: end.at}.encode()
	}
	return list, next, nil
}

// read merges the sources. end is the position of the last row if there may be more.
func (l ledger) read(ctx context.Context) (rows []ledgerRow, end position, err error) {
	for _, source := range l.sources() {
		part, stopped, err := source(ctx)
		if err != nil {
			return nil, end, err
		}
		rows = append(rows, part...)
		if stopped != "" {
			end = position{max(end.at, stopped), math.MaxInt32}
		}
	}
	// Older rows may come after some that a source has not read yet.
	rows = slices.DeleteFunc(rows, func(r ledgerRow) bool { return r.at < end.at })
	slices.SortFunc(rows, func(a, b ledgerRow) int {
		return cmp.Or(strings.Compare(b.at, a.at), cmp.Compare(a.n, b.n))
	})
	if len(rows) > l.limit {
		rows = rows[:l.limit]
		end = rows[l.limit-1].position
	}
	return rows, end, nil
}

type ledgerSource func(context.Context) (rows []ledgerRow, end string, err error)

// sources returns those that can have what the query chooses.
func (l ledger) sources() (list []ledgerSource) {
	q := l.q
	wants := func(kinds ...OccurrenceKind) bool { return q.Kind == "" || slices.Contains(kinds, q.Kind) }
	if wants(OccurrenceTick) && q.WebhookUID == "" {
		list = append(list, l.ticks)
	}
	if q.ScheduleID != "" {
		return list
	}
	if wants(OccurrenceDelivery) && !q.NoDeliveries {
		list = append(list, l.deliveries)
	}
	if !wants(OccurrenceCall, OccurrenceDispatch) || q.WebhookUID != "" {
		return list
	}
	if q.AutomationUID == "" { // a call about a subject is of no automation
		list = append(list, l.calls)
	}
	if q.Fate == "" || q.Fate == FateStarted {
		list = append(list, l.runs)
	}
	return list
}

// chooses reports whether the query chooses an occurrence that its statement does not check.
func (l ledger) chooses(o Occurrence) bool {
	q := l.q
	return (q.AutomationUID == "" || q.AutomationUID == o.AutomationUID) && (q.Fate == "" || q.Fate == o.Fate) &&
		(q.Kind == "" || q.Kind == o.Kind)
}

func (l ledger) ticks(ctx context.Context) (rows []ledgerRow, end string, err error) {
	var w where
	w.add("o.team = ?", l.v.Team)
	if !l.v.All {
		w.add("(o.owner = '' OR o.owner = ?)", l.v.UID)
	}
	for _, f := range []struct{ column, value string }{
		{"o.schedule_id", l.q.ScheduleID}, {"o.automation_uid", l.q.AutomationUID}, {"o.fate", string(l.q.Fate)},
	} {
		if f.value != "" {
			w.add(f.column+" = ?", f.value)
		}
	}
	w.add("o.uid < ?", l.after.at)
	text, args := w.numbered(1)
	found, err := readOccurrences(ctx, l.s, fmt.Sprintf("%s ORDER BY o.uid DESC LIMIT %d", text, l.limit+1), args...)
	for _, o := range found {
		rows = append(rows, ledgerRow{position{at: o.UID}, o.Occurrence})
	}
	return rows, "", err
}

// selectCalls reads calls and dispatches about subjects of the team $1.
var selectCalls = "SELECT " + subjectEventFields.selected + `, COALESCE(s.subject, ''), COALESCE(s.uid, '')
	FROM subject_events e
	LEFT JOIN subjects s ON s.uid = e.subject_uid AND s.team = $1
	WHERE e.kind <> 'delivery' AND e.uid < $2
	ORDER BY e.uid DESC
	LIMIT ` + strconv.Itoa(ledgerWindow)

func (l ledger) calls(ctx context.Context) (rows []ledgerRow, end string, err error) {
	return readLedger(ctx, l, "calls about subjects", selectCalls, []any{l.v.Team, l.after.at},
		func(scan func(...any) error) (row ledgerRow, shown bool, err error) {
			var e SubjectEventRow
			var ours string
			err = scan(subjectEventFields.into(&e, &e.Subject, &ours)...)
			o := occurrenceOf(e)
			o.DeliveryID = "" // calls have the id of their request there
			return ledgerRow{position{at: e.UID}, o}, ours != "", err
		})
}

// selectCalled reads runs of the team $1, and whether a call without a subject started them that the viewer may see:
// a dispatch alone names the ticket of an agent's run.
var selectCalled = `SELECT r.id, r.created_at, r.automation_id, r.subject,
		CASE WHEN r.agent_uid <> '' AND r.metadata LIKE '%"ticket_id":%' AND r.metadata LIKE '%"ticket_source":%'
			THEN 'dispatch' ELSE 'call' END,
		CASE WHEN r.team = $1 AND r.parent_id = '' AND r.subject_uid = '' AND r.delivery_id = '' AND r.schedule_id = ''
			AND (r.personal = 0 OR r.creator = $2 OR $3 = 1) THEN 1 ELSE 0 END
	FROM runs r
	WHERE r.id < $4
	ORDER BY r.id DESC
	LIMIT ` + strconv.Itoa(ledgerWindow)

func (l ledger) runs(ctx context.Context) (rows []ledgerRow, end string, err error) {
	args := []any{l.v.Team, l.v.UID, flag(l.v.All), l.after.at}
	return readLedger(ctx, l, "runs of calls", selectCalled, args,
		func(scan func(...any) error) (row ledgerRow, shown bool, err error) {
			o := Occurrence{Fate: FateStarted}
			err = scan(&o.UID, &o.DueAt, &o.AutomationUID, &o.Subject, &o.Kind, &shown)
			o.DecidedAt, o.RunIDs = o.DueAt, []string{o.UID}
			return ledgerRow{position{at: o.UID}, o}, shown, err
		})
}

// readLedger reads the rows of a source with at most [ledgerWindow] entries, until it has enough for a page.
func readLedger(
	ctx context.Context, l ledger, what, statement string, args []any,
	scan func(func(...any) error) (row ledgerRow, shown bool, err error),
) (rows []ledgerRow, end string, err error) {
	found, err := l.s.query(ctx, statement, args...)
	if err != nil {
		return nil, "", l.s.d.mapError(fmt.Errorf("list %s: %w", what, err))
	}
	defer found.Close()
	for read := 1; found.Next(); read++ {
		row, shown, err := scan(found.Scan)
		if err != nil {
			return nil, "", fmt.Errorf("list %s: %w", what, err)
		}
		if shown && l.chooses(row.Occurrence) {
			rows = append(rows, row)
		}
		if len(rows) > l.limit {
			return rows, "", nil
		}
		if read == ledgerWindow {
			end = row.at
		}
	}
	return rows, end, l.s.d.mapError(found.Err())
}

// occurrenceOf returns the occurrence of an event about a subject.
func occurrenceOf(e SubjectEventRow) Occurrence {
	o := Occurrence{
		UID: e.UID, Kind: e.Kind, DeliveryID: e.DeliveryID, Subject: e.Subject, DueAt: e.DueAt, DecidedAt: e.DecidedAt,
		Fate: e.Fate, Reason: e.Reason, RunIDs: []string{},
	}
	if e.RunID != "" {
		o.RunIDs = append(o.RunIDs, e.RunID)
	}
	return o
}
