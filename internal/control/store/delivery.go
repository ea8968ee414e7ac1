package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/penstock-dev/penstock"
)

// DeliveryHead is how much of a payload its event type and summary are read from.
const DeliveryHead = 4096

// SearchedDeliveries is how many payloads one page of a search reads at most.
const SearchedDeliveries = 500

// IDAt returns the smallest id of a time: an id of [NewID] that sorts before it is older.
func IDAt(t penstock.Time) string {
	digits := fmt.Sprintf("%012x", max(0, int64(t))&(1<<48-1))
	return digits[:8] + "-" + digits[8:] + "-7000-8000-000000000000"
}

// numbered is the number of the webhook whose UID is $1.
const numbered = "(SELECT number FROM webhooks WHERE uid = $1)"

// outcomeNumber returns the number of an outcome in the log: its index in penstock.Outcomes.
func outcomeNumber(o penstock.Outcome) int64 { return int64(slices.Index(penstock.Outcomes(), o)) }

// numberedOutcome reads an outcome from its number.
type numberedOutcome penstock.Outcome

// Scan is called by database/sql.
func (o *numberedOutcome) Scan(value any) error {
	var n sql.NullInt64
	if err := n.Scan(value); err != nil {
		return err
	}
	*o = numberedOutcome(penstock.Outcomes()[n.Int64])
	return nil
}

// selectDeliveries selects entries of the log of the webhook $1.
var selectDeliveries = "SELECT " + deliveryFields.selected + ", substr(d.body, 1, " +
	strconv.Itoa(DeliveryHead) + ") FROM deliveries d "

// scanDelivery reads an entry and its position in the log.
func scanDelivery(webhookUID string, scan func(...any) error) (Delivery, int64, error) {
	var row deliveryRow
	if err := scan(append(deliveryFields.into(&row), &row.Head)...); err != nil {
		return Delivery{}, 0, err
	}
	d := row.Delivery
	d.WebhookUID, d.Label, d.Runs = webhookUID, d.Outcome.Label(), []string{}
	d.IdentitySource = cmp.Or(d.IdentitySource, penstock.IdentityNone)
	if d.Matches == nil {
		d.Matches = []DeliveryMatch{}
	}
	if d.Headers == nil {
		d.Headers = map[string]string{}
	}
	for i := range d.Matches {
		m := &d.Matches[i]
		m.Explain(d.Head != nil)
		if m.RunID != "" {
			d.Runs = append(d.Runs, m.RunID)
		}
	}
	return d, row.n, nil
}

// onPage joins entries, d, with their positions.
const onPage = "d.webhook = page.webhook AND d.outcome = page.outcome AND d.n = page.n"

// startedNoRun holds for accepted entries of which no run exists.
var startedNoRun = "runs = 0 AND outcome = " + strconv.FormatInt(outcomeNumber(penstock.OutcomeAccepted), 10) +
	" AND reason <> '" + ReasonHandshake + "'"

// condition is a condition of a query on deliveries, with its arguments. Each argument is written
// as a question mark; the text has no other.
type condition struct {
	text string
	args []any
}

func (c *condition) and(text string, args ...any) {
	c.text += " AND " + text
	c.args = append(c.args, args...)
}

// numbered returns the text with placeholders, the first with the number first.
func (c *condition) numbered(first int) string {
	parts := strings.Split(c.text, "?")
	for i := range parts[1:] {
		parts[i] += "$" + strconv.Itoa(first+i)
	}
	return strings.Join(parts, "")
}

// newest is a subquery for the webhook, outcome and n of the newest entries, at most limit, in the
// log of the webhook $1. They come before $2, meet the condition and have one of the outcomes, whose
// numbers follow as arguments. Each outcome is one range of the index, so that a rare one is found
// at once.
func newest(outcomes []penstock.Outcome, limit int, only condition) (table string, args []any) {
	atMost := strconv.Itoa(limit)
	args = slices.Clone(only.args)
	var parts []string
	for i, o := range outcomes {
		parts = append(parts, `SELECT *
			FROM (
				SELECT webhook, outcome, n
				FROM deliveries
				WHERE webhook = `+numbered+" AND n < $2"+only.numbered(3)+
			" AND outcome = "+placeholders(i+3+len(only.args), 1)+`
				ORDER BY n DESC
				LIMIT `+atMost+") AS o"+strconv.Itoa(i))
		args = append(args, outcomeNumber(o))
	}
	return "(SELECT * FROM (" + strings.Join(parts, " UNION ALL ") + ") AS merged ORDER BY n " +
		"DESC LIMIT " + atMost + ")", args
}

// idMargin is more than the time between the id of an entry and its position in the log.
const idMargin = time.Minute

// received adds the bounds of the query in time. Ids begin with the time, so their index shows
// where in the log the range begins and ends.
func (c *condition) received(q penstock.DeliveryQuery) {
	if q.ReceivedAfter != 0 {
		c.and("n >= COALESCE((SELECT n FROM deliveries WHERE id < ? ORDER BY id DESC LIMIT 1), 0)",
			IDAt(q.ReceivedAfter.Add(-idMargin)))
		c.and("received_at > ?", int64(q.ReceivedAfter))
	}
	if q.ReceivedBefore != 0 {
		c.and("n <= COALESCE((SELECT n FROM deliveries WHERE id > ? ORDER BY id LIMIT 1), ?)",
			IDAt(q.ReceivedBefore.Add(idMargin)), int64(math.MaxInt64))
		c.and("received_at < ?", int64(q.ReceivedBefore))
	}
}

// List returns one page of a webhook's log, newest first.
func (ds Deliveries) List(
	ctx context.Context, webhookUID string, q penstock.DeliveryQuery,
) (list []Delivery, next string, err error) {
	limit := cmp.Or(q.Limit, penstock.DefaultDeliveries)
	outcomes := q.Outcomes
	if len(outcomes) == 0 {
		outcomes = penstock.Outcomes()
	}
	filter, only := "deliveries:"+webhookUID+fmt.Sprint(outcomes), condition{}
	if q.NoRun {
		filter += "no_run"
		only.and(startedNoRun)
	}
	if q.ReceivedAfter != 0 || q.ReceivedBefore != 0 {
		filter += fmt.Sprintf("received%d-%d", q.ReceivedAfter, q.ReceivedBefore)
		only.received(q)
	}
	if q.Search != "" {
		filter += "search" + q.Search
	}
	before := int64(math.MaxInt64)
	if q.Cursor != "" {
		c, err := decodeCursor(q.Cursor, filter)
		if err != nil {
			return nil, "", err
		}
		if before, err = strconv.ParseInt(c.ID, 10, 64); err != nil {
			return nil, "", badCursor()
		}
	}
	var last int64
	if q.Search == "" {
		page, args := newest(outcomes, limit+1, only)
		list, last, err = ds.read(ctx, webhookUID, page, "", append([]any{before}, args...), limit)
	} else if slices.Contains(outcomes, penstock.OutcomeAccepted) {
		list, last, err = ds.search(ctx, webhookUID, q.Search, before, only, limit)
	}
	if err != nil || last == 0 {
		return append([]Delivery{}, list...), "", err
	}
	return list, cursor{Filter: filter, ID: strconv.FormatInt(last, 10)}.encode(), nil
}

// read reads the entries of a page, newest first, that meet the condition, whose arguments
// are the last of args. last is the position of the last one if there are more than limit.
func (ds Deliveries) read(
	ctx context.Context, webhookUID, page, where string, args []any, limit int,
) (list []Delivery, last int64, err error) {
	rows, err := ds.s.query(
		ctx, selectDeliveries+"JOIN "+page+" AS page ON "+onPage+where+" ORDER BY page.n DESC",
		append([]any{webhookUID}, args...)...,
	)
	if err != nil {
		return nil, 0, ds.s.d.mapError(fmt.Errorf("list deliveries: %w", err))
	}
	defer rows.Close()
	list = []Delivery{}
	var position int64
	for rows.Next() {
		d, n, err := scanDelivery(webhookUID, rows.Scan)
		if err != nil {
			return nil, 0, fmt.Errorf("list deliveries: %w", err)
		}
		if len(list) == limit { // one more than requested
			last = position
			break
		}
		list, position = append(list, d), n
	}
	return list, last, ds.s.d.mapError(rows.Err())
}

// search is deliveries for accepted entries whose payload contains the text. It reads a
// bounded number of payloads. last is also the position of the last one that it has read, if there
// may be more.
func (ds Deliveries) search(
	ctx context.Context, webhookUID, text string, before int64, only condition, limit int,
) (list []Delivery, last int64, err error) {
	page, args := newest([]penstock.Outcome{penstock.OutcomeAccepted}, SearchedDeliveries, only)
	args = append([]any{before}, args...)
	var read, oldest, newestRead int64
	err = ds.s.row(
		ctx, "SELECT count(*), COALESCE(min(n), 0), COALESCE(max(n), 0) FROM "+page+" AS page",
		append([]any{webhookUID}, args...)...,
	).Scan(&read, &oldest, &newestRead)
	if err != nil {
		return nil, 0, ds.s.d.mapError(fmt.Errorf("search deliveries: %w", err))
	}
	args[0] = newestRead + 1 // one that arrives meanwhile must not push out the oldest
	n := len(args) + 2       // after the webhook and args
	where := fmt.Sprintf(" WHERE d.n >= $%d AND %s", n, ds.s.d.contains("d.body", fmt.Sprintf("$%d", n+1)))
	list, last, err = ds.read(ctx, webhookUID, page, where, append(args, oldest, []byte(text)), limit)
	if last == 0 && read == SearchedDeliveries {
		last = oldest
	}
	return list, last, err
}

// Find reads one entry of a webhook's log; absence is penstock.CodeNotFound.
func (ds deliveryReads) Find(ctx context.Context, webhookUID, id string) (Delivery, error) {
	d, _, err := scanDelivery(
		webhookUID, ds.q.row(ctx, selectDeliveries+"WHERE d.webhook = "+numbered+" AND d.id = $2", webhookUID, id).Scan,
	)
	if errors.Is(err, sql.ErrNoRows) {
		return d, penstock.NotFound("delivery", id)
	}
	if err != nil {
		return d, ds.q.store().d.mapError(fmt.Errorf("read delivery %s: %w", id, err))
	}
	return d, nil
}

// KnownFor is how long an address counts as a known sender after one of its deliveries was
// accepted.
const KnownFor = 24 * time.Hour

// KnownSender reports whether the webhook accepted a delivery from the address within [KnownFor].
// The time is not recorded for each delivery, so it may be true for somewhat longer.
func (ds Deliveries) KnownSender(ctx context.Context, webhookUID, clientIP string) (bool, error) {
	var n int
	err := ds.s.row(ctx, `SELECT count(*)
		FROM webhook_senders
		WHERE webhook_uid = $1 AND client_ip = $2 AND last_at > $3`,
		webhookUID, clientIP, int64(penstock.Now().Add(-KnownFor))).Scan(&n)
	return n > 0, ds.s.d.mapError(err)
}

// Verified reports whether the log of the webhook has an accepted delivery of its sender. A test that
// the server sent itself does not count.
func (ds Deliveries) Verified(ctx context.Context, webhookUID string) (bool, error) {
	var n int
	err := ds.s.row(ctx, `SELECT count(*)
		FROM (
			SELECT 1
			FROM deliveries
			WHERE webhook = `+numbered+` AND outcome = $2 AND replay_of = '' AND identity NOT LIKE '`+penstock.TestIdentity+`%'
			LIMIT 1
		) AS accepted`, webhookUID, outcomeNumber(penstock.OutcomeAccepted)).Scan(&n)
	return n > 0, ds.s.d.mapError(err)
}

// DeliverySum is how many deliveries of an hour had one kind of outcome.
type DeliverySum struct {
	Hour int
	Kind string // such as CountAccepted
	N    int64
}

// Sum adds up the outcomes of the deliveries to all of a team's webhooks since from. from
// must be the start of an hour of the last [penstock.MaxStatsHours].
func (ds Deliveries) Sum(ctx context.Context, team string, from penstock.Time) ([]DeliverySum, error) {
	rows, err := ds.s.query(ctx, `SELECT (c.quarter - $1) / 4 AS hour, c.kind, CAST(sum(c.n) AS BIGINT)
		FROM webhooks w
		JOIN webhook_counts c ON c.webhook_uid = w.uid
		WHERE c.quarter >= $1 AND w.team = $2 AND w.deleted_at = 0
		GROUP BY 1, 2`, Quarter(from), team)
	return collect(
		ds.s, rows, err, "sums of deliveries", func(d *DeliverySum) []any { return []any{&d.Hour, &d.Kind, &d.N} },
	)
}

// Delivery is one entry of a webhook's log: the contract's Delivery.
type Delivery struct {
	ID             string                  `json:"delivery_id"`
	WebhookUID     string                  `json:"webhook_uid"`
	Outcome        penstock.Outcome        `json:"outcome"`
	Label          string                  `json:"label"`
	Reason         string                  `json:"reason,omitempty"`
	Detail         string                  `json:"detail,omitempty"` // why it was rejected, as its sender got it
	Advice         string                  `json:"advice,omitempty"` // what its owner could change; not stored
	Size           int64                   `json:"size"`             // bytes of the body that were read
	ReceivedAt     penstock.Time           `json:"received_at"`
	IdentitySource penstock.IdentitySource `json:"identity_source"`
	DuplicateOf    string                  `json:"duplicate_of,omitempty"`
	HTTPStatus     int                     `json:"http_status"`
	Runs           []string                `json:"runs"`
	Matches        []DeliveryMatch         `json:"matches"`
	ReplayOf       string                  `json:"replay_of,omitempty"`
	Headers        map[string]string       `json:"headers"` // on an allow-list, which has no header with a secret
	PayloadSHA256  string                  `json:"payload_sha256,omitempty"`
	EventType      string                  `json:"event_type,omitempty"` // as the sender names the event
	Summary        string                  `json:"summary,omitempty"`    // the first values of the payload, for people
	ClientIP       string                  `json:"client_ip"`

	// Head is the start of the payload, at most [DeliveryHead] bytes; nil if none is stored.
	Head []byte `json:"-"`
}

// DeliveryMatch says whether a delivery matched one automation, and why not.
type DeliveryMatch struct {
	Automation   string `json:"automation"` // its name
	UID          string `json:"automation_uid"`
	WouldTrigger bool   `json:"would_trigger"`
	RunID        string `json:"run_id,omitempty"`
	// Subject is what the delivery is about for the automation, and Fate what became of it: see
	// [penstock.SubjectRules]. RunID is then the run that has received it.
	Subject    string `json:"subject,omitempty"` // not stored
	SubjectUID string `json:"subject_uid,omitempty"`
	Fate       Fate   `json:"fate,omitempty"` // stored if the automation was paused
	FateReason string `json:"fate_reason,omitempty"`
	// FailedAt is the JSON pointer of the first key of the filter that failed, "" if the whole body
	// failed, or [FailedAtAutomation]. It is nil if the delivery started a run.
	FailedAt *string `json:"failed_at,omitzero"`
	Reason   string  `json:"reason,omitempty"` // the same in words: one sentence
	// Check, Operator, Actual and Expected are the data of Reason: see trigger.Explanation. Rows of
	// earlier versions have none.
	Check    string   `json:"check,omitempty"`
	Operator string   `json:"operator,omitempty"`
	Actual   []string `json:"actual,omitempty"`
	Expected []string `json:"expected,omitempty"`
	// Words are stored instead of Reason, if Operator is set. [DeliveryMatch.Explain] replaces them.
	Words *penstock.MismatchWords `json:"words,omitempty"`
}

// FailedAtAutomation is the FailedAt of a broken automation.
const FailedAtAutomation = "automation"

// Explain replaces the stored words with the sentence. Without its payload, a delivery shows nothing
// that was in the payload.
func (m *DeliveryMatch) Explain(hasPayload bool) {
	if m.Words == nil {
		return
	}
	words := *m.Words
	if !hasPayload && len(m.Actual) > 0 {
		m.Actual, words.Is = nil, "does not match"
		if m.Operator == penstock.OperatorEvent {
			words.Name, words.Is = "the event", "starts nothing"
		}
	}
	m.Reason, m.Words = words.Sentence(), nil
}

// ReasonHandshake is the reason of an accepted delivery that started no run
// because its sender only tested the URL.
const ReasonHandshake = "handshake"
