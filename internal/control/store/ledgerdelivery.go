package store

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/penstock-dev/penstock"
)

// loggedDelivery is what the ledger reads of an entry in the log of deliveries.
type loggedDelivery struct {
	deliveryRow
	at      string // its position in the ledger
	ours    bool   // its webhook is of the team, and exists
	payload bool   // it is stored
}

// selectLogged reads entries of the log.
func (l ledger) selectLogged(from, team string) string {
	which := ""
	if l.q.NoConnections {
		which = " AND w.factory_uid <> ''"
	}
	return `SELECT d.n, d.id, COALESCE(w.uid, ''), CASE WHEN w.uid IS NULL THEN 0 ELSE 1 END, d.outcome,
			d.received_at, d.reason, d.detail, d.duplicate_of, d.matches, CASE WHEN d.body IS NULL THEN 0 ELSE 1 END
		FROM deliveries d ` + from + `
		LEFT JOIN webhooks w ON w.number = d.webhook AND w.deleted_at = 0 AND w.team = ` + team + which
}

// deliveries reads the log of deliveries: of one webhook in the order of that log, and else in the order of ids.
func (l ledger) deliveries(ctx context.Context) (rows []ledgerRow, end string, err error) {
	window := l.limit + 1 // almost every delivery has a row
	if l.q.AutomationUID != "" || l.q.Fate != "" {
		window = ledgerWindow
	}
	outcomes := outcomesOf(l.q.Fate)
	if len(outcomes) == 0 {
		return nil, "", nil
	}
	statement, args, err := l.selectLog(outcomes, window)
	if err != nil {
		return nil, "", err
	}
	log, err := l.readLog(ctx, statement, args)
	if err != nil {
		return nil, "", err
	}
	if len(log) == window {
		end = log[window-1].at
	}
	log = slices.DeleteFunc(log, func(d loggedDelivery) bool { return !d.ours })
	events, err := l.s.Subjects.OfDeliveries(ctx, aboutSubjects(log))
	if err != nil {
		return nil, "", err
	}
	for _, d := range log {
		for _, row := range d.occurrences(events[d.ID]) {
			if l.chooses(row.Occurrence) && (row.at != l.after.at || row.n > l.after.n) {
				rows = append(rows, row)
			}
		}
	}
	return rows[:min(len(rows), l.limit+1)], end, nil
}

// selectLog returns the statement that reads entries with some outcomes, at most window.
func (l ledger) selectLog(outcomes []penstock.Outcome, window int) (statement string, args []any, err error) {
	if l.q.WebhookUID == "" {
		statement = l.selectLogged("", "$1") + fmt.Sprintf(" WHERE d.id <= $2 ORDER BY d.id DESC LIMIT %d", window)
		return statement, []any{l.v.Team, l.after.at}, nil
	}
	before := int64(math.MaxInt64)
	if l.after.at != newestPosition {
		last, err := strconv.ParseInt(l.after.at, 10, 64)
		if err != nil {
			return "", nil, badCursor()
		}
		before = last + 1 // it may have more rows
	}
	page, of := newest(outcomes, window, condition{})
	args = append(append([]any{l.q.WebhookUID, before}, of...), l.v.Team)
	statement = l.selectLogged("JOIN "+page+" AS page ON "+onPage, placeholders(len(args), 1))
	return statement + " ORDER BY d.n DESC", args, nil
}

func (l ledger) readLog(ctx context.Context, statement string, args []any) ([]loggedDelivery, error) {
	rows, err := l.s.query(ctx, statement, args...)
	list, err := collect(l.s, rows, err, "logged deliveries", func(d *loggedDelivery) []any {
		return []any{
			&d.n, &d.ID, &d.WebhookUID, &d.ours, (*numberedOutcome)(&d.Outcome), &d.ReceivedAt, &d.Reason, &d.Detail,
			&d.DuplicateOf, &document{into: &d.Matches}, &d.payload,
		}
	})
	for i := range list {
		d := &list[i]
		if d.at = d.ID; l.q.WebhookUID != "" {
			d.at = fmt.Sprintf("%019d", d.n) // compares as text
		}
	}
	return list, err
}

// outcomesOf returns the outcomes of the deliveries that can have a fate; "": any.
func outcomesOf(fate Fate) []penstock.Outcome {
	switch fate {
	case "":
		return penstock.Outcomes()
	case FateDuplicate:
		return []penstock.Outcome{penstock.OutcomeDuplicate}
	case FateRejected:
		return []penstock.Outcome{
			penstock.OutcomeRejectedAuth, penstock.OutcomeRejectedJSON, penstock.OutcomeRejectedSize,
		}
	case FateMissed:
		return nil
	default:
		return []penstock.Outcome{penstock.OutcomeAccepted}
	}
}

// aboutSubjects lists the deliveries that are about a subject.
func aboutSubjects(log []loggedDelivery) (ids []string) {
	for _, d := range log {
		if slices.ContainsFunc(d.Matches, func(m DeliveryMatch) bool { return m.SubjectUID != "" }) {
			ids = append(ids, d.ID)
		}
	}
	return ids
}

// occurrences returns what became of a delivery. It has none if it only tested the URL, and none for a subject that
// is no longer kept.
func (d loggedDelivery) occurrences(events []SubjectEventRow) (rows []ledgerRow) {
	o := Occurrence{
		UID: d.ID, Kind: OccurrenceDelivery, WebhookUID: d.WebhookUID, DeliveryID: d.ID,
		DueAt: d.ReceivedAt, DecidedAt: d.ReceivedAt, RunIDs: []string{},
	}
	switch {
	case d.Outcome == penstock.OutcomeDuplicate:
		o.Fate, o.Reason = FateDuplicate, "Delivery "+d.DuplicateOf+" came before with the same identity."
		if d.Reason == ReasonReplayed {
			o.Reason = "Delivery " + d.DuplicateOf + " came before with the same signed bytes."
		}
	case d.Outcome != penstock.OutcomeAccepted:
		o.Fate, o.Reason = FateRejected, cmp.Or(d.Detail, d.Outcome.Label())
	case d.Reason == ReasonHandshake:
		return nil
	case len(d.Matches) == 0:
		o.Fate, o.Reason = FateNoMatch, cmp.Or(d.Detail, "No automation waited for deliveries of the webhook.")
	default:
		for n, m := range d.Matches {
			m.Explain(d.payload)
			if one, known := matchOccurrence(o, m, events); known {
				rows = append(rows, ledgerRow{position{d.at, n}, one})
			}
		}
		return rows
	}
	return []ledgerRow{{position{at: d.at}, o}}
}

// matchOccurrence returns what became of a delivery, o, for one automation.
func matchOccurrence(
	o Occurrence, m DeliveryMatch, events []SubjectEventRow,
) (one Occurrence, known bool) {
	o.UID, o.AutomationUID, o.Reason = o.DeliveryID+"."+m.UID, m.UID, m.Reason
	if i := slices.IndexFunc(events, func(e SubjectEventRow) bool { return e.Decides(m) }); i >= 0 {
		one = occurrenceOf(events[i])
		one.AutomationUID, one.WebhookUID = m.UID, o.WebhookUID
		return one, true
	}
	switch {
	case m.SubjectUID != "" && m.WouldTrigger:
		return o, false
	case m.Fate != "":
		o.Fate = m.Fate
	case m.WouldTrigger:
		o.Fate, o.RunIDs = FateStarted, []string{m.RunID}
	case m.FailedAt == nil: // it had no run to continue, or its subject was closed
		o.Fate = FateSkipped
	case *m.FailedAt == FailedAtAutomation:
		o.Fate = FateFailed
	default:
		o.Fate = FateNoMatch
	}
	return o, true
}
