package store

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/penstock-dev/penstock"
)

// EndpointRow is an event endpoint with its internal fields.
type EndpointRow struct {
	penstock.EventEndpoint // its URL is the origin, and it has no Secrets
	Team                   string
	Sealed                 []byte // the URL and the secrets
	Lease                  string // of the server that sends to it
	// PaidBy lists the keys that pay for what an answer in Slack causes, besides those that pay for the run.
	PaidBy []string
}

var endpointFields = newResource("event_endpoints", "e",
	textColumn("uid", func(r *EndpointRow) *string { return &r.UID }),
	textColumn("team", func(r *EndpointRow) *string { return &r.Team }),
	textColumn("origin", func(r *EndpointRow) *string { return &r.URL }).editable(),
	bytesColumn("sealed", func(r *EndpointRow) *[]byte { return &r.Sealed }).editable(),
	eventsColumn("events").editable(),
	listColumn("factory_uids", func(r *EndpointRow) *[]string { return &r.FactoryUIDs }).editable(),
	textColumn("description", func(r *EndpointRow) *string { return &r.Description }).editable(),
	textColumn("format", func(r *EndpointRow) *penstock.EndpointFormat { return &r.Format }),
	flagColumn("enabled", func(r *EndpointRow) *bool { return &r.Enabled }).editable(),
	textColumn("disabled_reason", func(r *EndpointRow) *string { return &r.DisabledReason }).editable(),
	numberColumn("created_at", func(r *EndpointRow) *penstock.Time { return &r.CreatedAt }),
	numberColumn("updated_at", func(r *EndpointRow) *penstock.Time { return &r.UpdatedAt }).editable(),
	numberColumn("last_success_at", func(r *EndpointRow) *penstock.Time { return &r.Stats.LastSuccessAt }).unset(),
	numberColumn("last_failure_at", func(r *EndpointRow) *penstock.Time { return &r.Stats.LastFailureAt }).unset(),
	numberColumn("failing_since", func(r *EndpointRow) *penstock.Time { return &r.Stats.FailingSince }).unset(),
	numberColumn("waits_until", func(r *EndpointRow) *penstock.Time { return &r.Stats.WaitsUntil }).unset(),
	textColumn("channel", func(r *EndpointRow) *string { return &r.Channel }).editable(),
	listColumn("may_answer", func(r *EndpointRow) *[]string { return &r.MayAnswer }).editable(),
	listColumn("paid_by", func(r *EndpointRow) *[]string { return &r.PaidBy }).editable(),
)

// eventsColumn is the list of types that an endpoint chose.
func eventsColumn(name string) columnOf[EndpointRow] {
	return columnOf[EndpointRow]{
		column: column{name, "text"},
		value: func(r *EndpointRow) any {
			var list []string
			for _, e := range r.Events {
				list = append(list, string(e))
			}
			return joined(list)
		},
		dest: func(r *EndpointRow) any { return (*eventWords)(&r.Events) },
	}
}

type eventWords []penstock.EndpointEvent

// Scan is called by database/sql.
func (w *eventWords) Scan(value any) error {
	var list words
	if err := list.Scan(value); err != nil {
		return err
	}
	*w = eventWords{}
	for _, e := range list {
		*w = append(*w, penstock.EndpointEvent(e))
	}
	return nil
}

var (
	selectEndpoints = "SELECT " + endpointFields.selected + " FROM event_endpoints e "
	setEndpoint     = endpointFields.update("", "uid = ? AND team = ?")
)

func readEndpoints(ctx context.Context, q querier, where string, args ...any) ([]EndpointRow, error) {
	rows, err := q.query(ctx, selectEndpoints+where, args...)
	return collect(q.store(), rows, err, "event endpoints", func(r *EndpointRow) []any { return endpointFields.into(r) })
}

func readEndpoint(ctx context.Context, q querier, where string, team, uid string) (EndpointRow, error) {
	rows, err := readEndpoints(ctx, q, "WHERE e.uid = $1 AND e.team = $2"+where, uid, team)
	return only(rows, err, "event endpoint", uid)
}

// List lists the endpoints of a team, the oldest first, with the counts of their messages.
func (es Endpoints) List(ctx context.Context, team string) ([]EndpointRow, error) {
	rows, err := readEndpoints(ctx, es.s, "WHERE e.team = $1 ORDER BY e.created_at, e.uid", team)
	for i := range rows {
		if err == nil {
			err = es.count(ctx, &rows[i])
		}
	}
	return rows, err
}

// Find reads one endpoint of a team, with the counts of its messages. Absence is penstock.CodeNotFound.
func (es Endpoints) Find(ctx context.Context, team, uid string) (EndpointRow, error) {
	row, err := readEndpoint(ctx, es.s, "", team, uid)
	if err != nil {
		return row, err
	}
	return row, es.count(ctx, &row)
}

func (es Endpoints) count(ctx context.Context, r *EndpointRow) error {
	type counted struct {
		state string
		n     int64
	}
	rows, err := es.s.query(ctx, `SELECT state, count(*)
		FROM endpoint_messages
		WHERE endpoint_uid = $1
		GROUP BY state`, r.UID)
	list, err := collect(es.s, rows, err, "counts of messages", func(c *counted) []any { return []any{&c.state, &c.n} })
	for _, c := range list {
		switch c.state {
		case messageWaiting:
			r.Stats.Waiting = c.n
		case messageDelivered:
			r.Stats.Delivered = c.n
		case messageFailed:
			r.Stats.Failed = c.n
		}
	}
	return err
}

// Lock reads one endpoint of a team and locks it until the transaction ends.
func (es EndpointsTx) Lock(ctx context.Context, team, uid string) (EndpointRow, error) {
	return readEndpoint(ctx, es.tx, es.tx.s.d.lock, team, uid)
}

// Count returns how many endpoints a team has.
func (es EndpointsTx) Count(ctx context.Context, team string) (n int, err error) {
	err = es.tx.row(ctx, "SELECT count(*) FROM event_endpoints WHERE team = $1", team).Scan(&n)
	return n, err
}

// Add stores a new endpoint.
func (es EndpointsTx) Add(ctx context.Context, r EndpointRow) error {
	err := endpointFields.add(ctx, es.tx, &r)
	return wrapf(err, "store event endpoint %s", r.UID)
}

// Set stores an endpoint that was read and changed in the transaction. One that was disabled and is enabled
// again has not failed yet.
func (es EndpointsTx) Set(ctx context.Context, before, after EndpointRow) error {
	if _, err := es.tx.exec(ctx, setEndpoint, endpointFields.changes(&after, after.UID, after.Team)...); err != nil {
		return fmt.Errorf("store event endpoint %s: %w", after.UID, err)
	}
	if after.Enabled && !before.Enabled {
		if _, err := es.tx.exec(ctx, `UPDATE event_endpoints
			SET failing_since = 0, waits_until = 0
			WHERE uid = $1`, after.UID); err != nil {
			return fmt.Errorf("enable event endpoint %s: %w", after.UID, err)
		}
		es.tx.Nudge(TopicEndpoints)
	}
	return nil
}

// Delete removes an endpoint. Its messages and attempts are removed when they are old.
func (es EndpointsTx) Delete(ctx context.Context, team, uid string) error {
	n, err := es.tx.exec(ctx, "DELETE FROM event_endpoints WHERE uid = $1 AND team = $2", uid, team)
	if err == nil && n == 0 {
		return penstock.NotFound("event endpoint", uid)
	}
	return err
}

// MessageNames are what people call what a message is about: "" if it is not about such a thing, the id if the thing
// is gone.
type MessageNames struct {
	Run, Automation, Schedule, Budget string
	Factory, Webhook                  string // of messages about them, not of what belongs to them
	Endpoint                          string // its description, or its origin
}

// Names reads what people call what a message of a team is about.
func (es Endpoints) Names(ctx context.Context, team string, m MessageRow) (n MessageNames, err error) {
	schedule, factory, webhook := "", "", ""
	switch parts := strings.Split(strings.TrimPrefix(m.Path, "/api/v1/"), "/"); {
	case strings.HasPrefix(m.Path, schedulePath):
		schedule = strings.TrimPrefix(m.Path, schedulePath)
	case len(parts) > 3 && parts[0] == "factory" && parts[2] == "webhooks":
		webhook = parts[3]
	case len(parts) > 1 && parts[0] == "factory" && m.Data.AutomationUID == "":
		factory = parts[1]
	}
	err = es.s.row(ctx, `SELECT
			COALESCE((SELECT title FROM runs WHERE team = $1 AND id = $2), $2),
			COALESCE((SELECT name FROM automations WHERE team = $1 AND uid = $3), $3),
			COALESCE((SELECT name FROM schedules WHERE team = $1 AND id = $4), $4),
			COALESCE((
				SELECT CASE description WHEN '' THEN origin ELSE description END
				FROM event_endpoints
				WHERE team = $1 AND uid = $5
			), $5),
			COALESCE((SELECT name FROM factories WHERE team = $1 AND uid = $6), $6),
			COALESCE((SELECT CASE label WHEN '' THEN name ELSE label END FROM webhooks WHERE team = $1 AND uid = $7), $7)`,
		team, m.Data.RunID, m.Data.AutomationUID, schedule, m.Data.EndpointUID, factory, webhook,
	).Scan(&n.Run, &n.Automation, &n.Schedule, &n.Endpoint, &n.Factory, &n.Webhook)
	if err != nil {
		return n, fmt.Errorf("read the names of message %s: %w", m.ID, err)
	}
	if m.Data.BudgetUID == "" {
		return n, nil
	}
	n.Budget = m.Data.BudgetUID
	budget, err := es.s.Budgets.Find(ctx, team, m.Data.BudgetUID)
	if penstock.CodeOf(err) == penstock.CodeNotFound {
		return n, nil
	}
	if err != nil {
		return n, err
	}
	scopes, err := es.s.Budgets.ScopeNames(ctx, team)
	n.Budget = budget.Name(scopes[budget.ScopeUID])
	return n, err
}

// AttemptQuery chooses attempts of an endpoint.
type AttemptQuery struct {
	MessageID string // "": of all
	Cursor    string
	Limit     int
}

var attemptFields = newResource("endpoint_attempts", "a",
	textColumn("uid", func(r *attemptRow) *string { return &r.UID }),
	textColumn("endpoint_uid", func(r *attemptRow) *string { return &r.endpointUID }),
	textColumn("message_id", func(r *attemptRow) *string { return &r.MessageID }),
	textColumn("type", func(r *attemptRow) *penstock.EndpointEvent { return &r.Type }),
	numberColumn("attempt", func(r *attemptRow) *int { return &r.Attempt }),
	numberColumn("at", func(r *attemptRow) *penstock.Time { return &r.At }),
	numberColumn("status", func(r *attemptRow) *int { return &r.Status }),
	textColumn("error", func(r *attemptRow) *string { return &r.Error }),
	textColumn("answer", func(r *attemptRow) *string { return &r.Answer }),
	numberColumn("took_ms", func(r *attemptRow) *int64 { return &r.TookMs }),
	numberColumn("next_at", func(r *attemptRow) *penstock.Time { return &r.NextAt }),
)

type attemptRow struct {
	EndpointAttempt
	endpointUID string
}

// Attempts returns one page of the attempts of an endpoint, newest first, and the cursor of the next one, or "".
func (es Endpoints) Attempts(
	ctx context.Context, endpointUID string, q AttemptQuery,
) (list []EndpointAttempt, next string, err error) {
	var w where
	w.add("a.endpoint_uid = ?", endpointUID)
	if q.MessageID != "" {
		w.add("a.message_id = ?", q.MessageID)
	}
	after, limit := q.Cursor, cmp.Or(q.Limit, penstock.DefaultLimit)
	q.Cursor, q.Limit = "", 0
	rows, next, err := pageByUID(
		w, "a.uid", fingerprintOf(q, Viewer{Team: endpointUID}), after, limit,
		func(where string, args ...any) ([]attemptRow, error) {
			rows, err := es.s.query(ctx, "SELECT "+attemptFields.selected+" FROM endpoint_attempts a WHERE "+where, args...)
			return collect(es.s, rows, err, "attempts", func(r *attemptRow) []any { return attemptFields.into(r) })
		},
		func(r attemptRow) string { return r.UID },
	)
	if err != nil {
		return nil, "", err
	}
	list = []EndpointAttempt{}
	for _, r := range rows {
		r.Succeeded = r.Status/100 == 2 && r.Error == ""
		list = append(list, r.EndpointAttempt)
	}
	return list, next, nil
}

// ClearOld removes messages and attempts from before a time, and threads that were last used before another one, at
// most limit of each. It returns how many it removed.
func (es Endpoints) ClearOld(ctx context.Context, before, threads penstock.Time, limit int) (n int, err error) {
	err = es.s.Write(ctx, func(tx *Tx) error {
		messages, err := tx.exec(ctx, `DELETE FROM endpoint_messages
			WHERE (endpoint_uid, id) IN (
				SELECT endpoint_uid, id
				FROM endpoint_messages
				WHERE happened_at < $1
				ORDER BY happened_at
				LIMIT $2
			)`, int64(before), limit)
		if err != nil {
			return fmt.Errorf("remove old messages: %w", err)
		}
		attempts, err := tx.exec(ctx, `DELETE FROM endpoint_attempts
			WHERE uid IN (SELECT uid FROM endpoint_attempts WHERE at < $1 ORDER BY at LIMIT $2)`, int64(before), limit)
		if err != nil {
			return fmt.Errorf("remove old attempts: %w", err)
		}
		unused, err := tx.Endpoints().clearThreads(ctx, threads, limit)
		n = int(max(messages, attempts, unused))
		return err
	})
	return n, err
}

// EndpointAttempt is one request to an endpoint.
type EndpointAttempt struct {
	UID       string                 `json:"uid"`
	MessageID string                 `json:"message_id"` // the header webhook-id
	Type      penstock.EndpointEvent `json:"type"`
	At        penstock.Time          `json:"at"`
	Attempt   int                    `json:"attempt"`              // of the message, from 1
	Status    int                    `json:"http_status,omitzero"` // 0: the endpoint did not answer
	Succeeded bool                   `json:"succeeded"`            // a status from 200 to 299, without a refusal of Slack
	Error     string                 `json:"error,omitempty"`      // why it has no answer, or what Slack's refusal means
	Answer    string                 `json:"answer,omitempty"`     // its first KiB, masked
	TookMs    int64                  `json:"took_ms,omitzero"`     // not of private addresses
	NextAt    penstock.Time          `json:"next_attempt_at,omitzero"`
}
