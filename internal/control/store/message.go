package store

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/penstock-dev/penstock"
)

// The states of a message.
const (
	messageWaiting   = "waiting"
	messageDelivered = "delivered"
	messageFailed    = "failed" // all attempts failed
)

// MessageRow is a message to one endpoint.
type MessageRow struct {
	EndpointUID string
	ID          string // the same to each endpoint
	Type        penstock.EndpointEvent
	HappenedAt  penstock.Time
	Data        penstock.EndpointData // without URL
	Path        string                // of the URL
	State       string
	Attempts    int // since it was written or replayed
	NextAt      penstock.Time
}

var messageFields = newResource("endpoint_messages", "m",
	textColumn("endpoint_uid", func(r *MessageRow) *string { return &r.EndpointUID }),
	textColumn("id", func(r *MessageRow) *string { return &r.ID }),
	textColumn("type", func(r *MessageRow) *penstock.EndpointEvent { return &r.Type }),
	numberColumn("happened_at", func(r *MessageRow) *penstock.Time { return &r.HappenedAt }),
	jsonColumn("data", func(r *MessageRow) *penstock.EndpointData { return &r.Data }),
	textColumn("path", func(r *MessageRow) *string { return &r.Path }),
	textColumn("state", func(r *MessageRow) *string { return &r.State }),
	numberColumn("attempts", func(r *MessageRow) *int { return &r.Attempts }),
	numberColumn("next_at", func(r *MessageRow) *penstock.Time { return &r.NextAt }),
)

// Announcement is something that happened, of which endpoints get a message.
type Announcement struct {
	Type penstock.EndpointEvent
	At   penstock.Time
	Data penstock.EndpointData // without URL
	Path string                // in the API, of what it is about
}

// hasEndpoints is an expression for whether an endpoint may want a message. A statement that runs anyway
// returns it, so that nothing is read for a state change without endpoints.
const hasEndpoints = "EXISTS (SELECT 1 FROM event_endpoints WHERE enabled = 1)"

// Announce writes a message to each enabled endpoint of the team that wants it, in the transaction of what it is
// about. So no message is lost, and none is sent of something that was rolled back.
func (es EndpointsTx) Announce(ctx context.Context, team string, list ...Announcement) error {
	if len(list) == 0 {
		return nil
	}
	endpoints, err := es.enabled(ctx)
	if err != nil || len(endpoints) == 0 {
		return err
	}
	var rows [][]any
	for _, a := range list {
		id := "msg_" + penstock.NewID()
		for _, e := range endpoints {
			if e.Team == team && e.Wants(a.Type, a.Data.FactoryUID) {
				rows = append(rows, messageFields.row(&MessageRow{
					EndpointUID: e.UID, ID: id, Type: a.Type, HappenedAt: a.At, Data: a.Data, Path: a.Path, State: messageWaiting,
				}))
			}
		}
	}
	if len(rows) == 0 {
		return nil
	}
	es.tx.Nudge(TopicEndpoints)
	return es.tx.insert(ctx, messageFields.table, rows)
}

// enabled lists the enabled endpoints, and reads them once in a transaction.
func (es EndpointsTx) enabled(ctx context.Context) ([]EndpointRow, error) {
	if es.tx.endpoints != nil {
		return es.tx.endpoints, nil
	}
	list, err := readEndpoints(ctx, es.tx, "WHERE e.enabled = 1 ORDER BY e.uid")
	if err != nil {
		return nil, err
	}
	es.tx.endpoints = list
	return list, nil
}

// runAnnouncement describes an event of a run.
func runAnnouncement(
	event penstock.EndpointEvent, at penstock.Time, r RunRow, state penstock.State, seq int64,
) Announcement {
	return Announcement{
		Type: event, At: at, Path: "/api/v1/agent/runs/" + r.ID,
		Data: penstock.EndpointData{
			RunID: r.ID, State: state, Sequence: seq, FactoryUID: r.FactoryUID, AutomationUID: r.AutomationID,
		},
	}
}

// exceeded describes that a shared budget has no room for a run.
func exceeded(at penstock.Time, r RunRow, to penstock.State, seq int64, m *penstock.StatusMessage) []Announcement {
	if m == nil || m.Budget == nil || m.Budget.BudgetUID == r.ID {
		return nil
	}
	a := runAnnouncement(EventBudgetExceeded, at, r, to, seq)
	a.Data.BudgetUID, a.Path = m.Budget.BudgetUID, "/api/v1/budgets/"+m.Budget.BudgetUID
	return []Announcement{a}
}

// announceThresholds writes the messages of thresholds that budgets have reached with a call of a run.
func (es EndpointsTx) announceThresholds(ctx context.Context, runID string, reached []Announcement) error {
	if len(reached) == 0 {
		return nil
	}
	endpoints, err := es.enabled(ctx)
	if err != nil || len(endpoints) == 0 {
		return err
	}
	run, err := es.tx.s.d.runBy(ctx, es.tx, "r.id = $1", runID)
	if err != nil {
		return err
	}
	for i := range reached {
		a := &reached[i]
		switch {
		case a.Type == EventRunBudgetThreshold:
			a.Path = "/api/v1/agent/runs/" + runID
		case run.Personal: // the budget is the team's, the run is not
			continue
		}
		a.Data.RunID, a.Data.FactoryUID, a.Data.AutomationUID = runID, run.FactoryUID, run.AutomationID
		a.Data.State, a.Data.Sequence = run.State, run.LastSeq
	}
	if run.Personal {
		reached = slices.DeleteFunc(reached, func(a Announcement) bool { return a.Type == EventRunBudgetThreshold })
	}
	return es.Announce(ctx, run.Team, reached...)
}

// announceCreated writes the messages of runs that were created in the transaction.
func (es EndpointsTx) announceCreated(ctx context.Context, members []*createRun) error {
	var list []Announcement
	team := ""
	for _, m := range members {
		if m.err != nil || m.run.Personal {
			continue
		}
		if team != "" && team != m.run.Team {
			if err := es.Announce(ctx, team, list...); err != nil {
				return err
			}
			list = nil
		}
		team = m.run.Team
		list = append(list, runAnnouncement(EventRunCreated, m.run.CreatedAt, m.run.RunRow, m.run.State, 1))
		if event := EventOf(m.run.State); event != "" { // a budget blocks or refuses it
			list = append(list, runAnnouncement(event, m.run.CreatedAt, m.run.RunRow, m.run.State, m.run.LastSeq))
			list = append(list, exceeded(m.run.CreatedAt, m.run.RunRow, m.run.State, m.run.LastSeq, m.run.StatusMessage)...)
		}
	}
	return es.Announce(ctx, team, list...)
}

// announceMove writes the messages of a move. seq is the number of its last event in the run's log. A hollow run
// that its automation fails has no other message than each that is FAILED.
func (es EndpointsTx) announceMove(ctx context.Context, m Move, at penstock.Time, seq int64, hollow bool) error {
	event := EventOf(m.To)
	if event == "" || m.Run.Personal {
		return nil
	}
	list := []Announcement{runAnnouncement(event, at, m.Run, m.To, seq)}
	if hollow && m.To == penstock.StateSucceeded && m.Run.OnHollow != penstock.HollowNone {
		list = append(list, runAnnouncement(EventRunHollow, at, m.Run, m.To, seq))
	}
	if m.Message != nil {
		list = append(list, exceeded(at, m.Run, m.To, seq, m.Message)...)
	}
	return es.Announce(ctx, m.Run.Team, list...)
}

// AnnounceStall writes the messages of a run that has stalled; seq is of the event that says so.
func (es EndpointsTx) AnnounceStall(ctx context.Context, r RunRow, seq int64) error {
	if r.Personal {
		return nil
	}
	return es.Announce(ctx, r.Team, runAnnouncement(EventRunStalled, penstock.Now(), r, r.State, seq))
}

const schedulePath = "/api/v1/agent/schedules/"

// sourceAnnouncement describes an event of an automation, or of a schedule if automationUID is "".
func sourceAnnouncement(
	event penstock.EndpointEvent, at penstock.Time, factoryUID, automationUID, scheduleID string,
) Announcement {
	path := "/api/v1/factory/" + factoryUID + "/automations/" + automationUID
	if automationUID == "" {
		path = schedulePath + scheduleID
	}
	return Announcement{Type: event, At: at, Path: path, Data: penstock.EndpointData{
		FactoryUID: factoryUID, AutomationUID: automationUID, ScheduleID: scheduleID,
	}}
}

// AnnouncePause writes the messages of an automation that was disabled.
func (es EndpointsTx) AnnouncePause(ctx context.Context, a AutomationRow) error {
	paused := sourceAnnouncement(EventAutomationPaused, penstock.Now(), a.FactoryUID, a.UID, "")
	return es.Announce(ctx, a.Team, paused)
}

// announceFailures writes the messages of the automation or schedule of a run, which failures have degraded or
// paused.
func (es EndpointsTx) announceFailures(
	ctx context.Context, event penstock.EndpointEvent, r RunRow, at penstock.Time,
) error {
	if r.Personal {
		return nil
	}
	schedule := ""
	if r.AutomationID == "" {
		schedule = scheduleID(r.Schedule)
	}
	a := sourceAnnouncement(event, at, r.FactoryUID, r.AutomationID, schedule)
	a.Data.RunID = r.ID
	return es.Announce(ctx, r.Team, a)
}

// announceSilence writes the messages of an automation or schedule that is silent from now on, or no longer.
func (es EndpointsTx) announceSilence(ctx context.Context, e Expectation, silent bool) error {
	if e.Personal {
		return nil
	}
	event := EventAutomationBack
	if silent {
		event = EventAutomationSilent
	}
	automation, schedule := e.Source, ""
	if e.FactoryUID == "" {
		automation, schedule = "", e.Source
	}
	return es.Announce(ctx, e.Team, sourceAnnouncement(event, penstock.Now(), e.FactoryUID, automation, schedule))
}

// Send writes one message to an endpoint that was locked, whatever its events are, and returns its id.
func (es EndpointsTx) Send(ctx context.Context, e EndpointRow, a Announcement) (id string, err error) {
	id = "msg_" + penstock.NewID()
	err = messageFields.add(ctx, es.tx, &MessageRow{
		EndpointUID: e.UID, ID: id, Type: a.Type, HappenedAt: a.At, Data: a.Data, Path: a.Path, State: messageWaiting,
	})
	if err != nil {
		return "", fmt.Errorf("write a message to event endpoint %s: %w", e.UID, err)
	}
	es.tx.Nudge(TopicEndpoints)
	return id, nil
}

// Replay sends messages of an endpoint again, with the same ids: one, or if id is "", all that happened since a
// time. It returns how many.
func (es EndpointsTx) Replay(ctx context.Context, endpointUID, id string, since penstock.Time) (int64, error) {
	n, err := es.tx.exec(ctx, `UPDATE endpoint_messages
		SET state = 'waiting', attempts = 0, next_at = 0
		WHERE endpoint_uid = $1 AND ($2 = '' OR id = $2) AND happened_at >= $3`, endpointUID, id, int64(since))
	if err != nil {
		return 0, fmt.Errorf("replay messages of event endpoint %s: %w", endpointUID, err)
	}
	es.tx.Nudge(TopicEndpoints)
	return n, nil
}

// DueEndpoints lists the endpoints with messages to send now to which no server sends.
func (es Endpoints) DueEndpoints(ctx context.Context, now penstock.Time) ([]string, error) {
	return es.s.strings(ctx, `SELECT e.uid
		FROM event_endpoints e
		WHERE e.enabled = 1 AND e.waits_until <= $1 AND e.lease_until < `+es.s.d.now+`
			AND EXISTS (
				SELECT 1
				FROM endpoint_messages m
				WHERE m.endpoint_uid = e.uid AND m.state = 'waiting' AND m.next_at <= $1
			)
		ORDER BY e.uid`, int64(now))
}

// Take leases an endpoint for so many milliseconds, or renews the lease of the token, and returns the messages to
// send now, at most limit, the longest due first. ok is false if another server sends to it, or if it is disabled.
func (es Endpoints) Take(
	ctx context.Context, uid, token string, now penstock.Time, lease int64, limit int,
) (e EndpointRow, due []MessageRow, ok bool, err error) {
	err = es.s.Write(ctx, func(tx *Tx) error {
		ok = false
		n, err := tx.exec(ctx, `UPDATE event_endpoints
			SET token = $1, lease_until = `+tx.s.d.now+` + $2
			WHERE uid = $3 AND enabled = 1 AND waits_until <= $4
				AND (token = $1 OR lease_until < `+tx.s.d.now+`)`, token, lease, uid, int64(now))
		if err != nil || n == 0 {
			return err
		}
		rows, err := readEndpoints(ctx, tx, "WHERE e.uid = $1", uid)
		if err != nil || len(rows) == 0 {
			return err
		}
		e, ok = rows[0], true
		e.Lease = token
		list, err := tx.query(ctx, "SELECT "+messageFields.selected+` FROM endpoint_messages m
			WHERE m.endpoint_uid = $1 AND m.state = 'waiting' AND m.next_at <= $2
			ORDER BY m.next_at, m.id
			LIMIT $3`, uid, int64(now), limit)
		due, err = collect(tx.s, list, err, "messages", func(r *MessageRow) []any { return messageFields.into(r) })
		return err
	})
	return e, due, ok, err
}

// Renew makes a lease last for so many milliseconds from now, unless another server has taken the endpoint.
func (es Endpoints) Renew(ctx context.Context, uid, token string, lease int64) error {
	return es.s.Write(ctx, func(tx *Tx) error {
		_, err := tx.exec(ctx, `UPDATE event_endpoints
			SET lease_until = `+tx.s.d.now+` + $1
			WHERE uid = $2 AND token = $3`, lease, uid, token)
		return err
	})
}

// Release ends a lease, so that any server may send to the endpoint. If nothing was due, a message may have come
// since, whose nudge found the endpoint leased: then Release nudges, too. After a failure it must not, because what
// failed is due again at once.
func (es Endpoints) Release(ctx context.Context, uid, token string, failed bool) error {
	return es.s.Write(ctx, func(tx *Tx) error {
		if !failed {
			tx.Nudge(TopicEndpoints)
		}
		_, err := tx.exec(ctx, `UPDATE event_endpoints
			SET token = '', lease_until = 0
			WHERE uid = $1 AND token = $2`, uid, token)
		return err
	})
}

// Attempted is the result of an attempt.
type Attempted struct {
	Message MessageRow
	EndpointAttempt
	WaitUntil penstock.Time // the endpoint asked to wait so long; 0: it did not
	Gone      bool          // it wants no more messages
	Thread    Thread        // which the message has used; the zero Thread changes nothing
}

// Record stores results of attempts of a lease. It returns false if the lease was lost: then another server
// repeats the attempts. An endpoint that is gone, or has failed for too long, is disabled, and the others get a
// message about it.
func (es Endpoints) Record(ctx context.Context, e EndpointRow, results []Attempted) (kept bool, err error) {
	err = es.s.Write(ctx, func(tx *Tx) error {
		kept = false
		rows, err := readEndpoints(ctx, tx, "WHERE e.uid = $1 AND e.token = $2"+tx.s.d.lock, e.UID, e.Lease)
		if err != nil || len(rows) == 0 {
			return err
		}
		now := rows[0]
		kept = true
		for _, r := range results {
			if err := tx.Endpoints().attempted(ctx, &now, r); err != nil {
				return err
			}
		}
		return tx.Endpoints().answered(ctx, now)
	})
	return kept, err
}

// attempted stores one result.
func (es EndpointsTx) attempted(ctx context.Context, e *EndpointRow, r Attempted) error {
	state := messageWaiting
	switch {
	case r.Succeeded:
		state = messageDelivered
		e.Stats.LastSuccessAt, e.Stats.FailingSince = r.At, 0
	case r.NextAt == 0:
		state = messageFailed
		fallthrough
	default:
		e.Stats.LastFailureAt = r.At
		e.Stats.FailingSince = cmp.Or(e.Stats.FailingSince, r.At)
		e.Stats.WaitsUntil = max(e.Stats.WaitsUntil, r.WaitUntil)
		if r.Gone {
			e.Enabled, e.DisabledReason = false, "The endpoint answered 410 Gone: it wants no more messages."
		}
		if e.Enabled && r.At.Sub(e.Stats.FailingSince) >= DisableAfter {
			e.Enabled, e.DisabledReason = false, "No attempt has succeeded for 5 days."
		}
	}
	if err := attemptFields.add(ctx, es.tx, &attemptRow{r.EndpointAttempt, e.UID}); err != nil {
		return fmt.Errorf("log an attempt of message %s: %w", r.Message.ID, err)
	}
	if err := es.keepThread(ctx, *e, r.Thread, r.At); err != nil {
		return err
	}
	_, err := es.tx.exec(ctx, `UPDATE endpoint_messages
		SET state = $1, attempts = attempts + 1, next_at = $2
		WHERE endpoint_uid = $3 AND id = $4 AND state = 'waiting' AND attempts = $5`,
		state, int64(r.NextAt), e.UID, r.Message.ID, r.Message.Attempts)
	return wrapf(err, "record an attempt of message %s", r.Message.ID)
}

// answered stores what the results say about the endpoint.
func (es EndpointsTx) answered(ctx context.Context, e EndpointRow) error {
	var was int
	if err := es.tx.row(ctx, "SELECT enabled FROM event_endpoints WHERE uid = $1", e.UID).Scan(&was); err != nil {
		return fmt.Errorf("read event endpoint %s: %w", e.UID, err)
	}
	_, err := es.tx.exec(ctx, `UPDATE event_endpoints
		SET last_success_at = $1, last_failure_at = $2, failing_since = $3, waits_until = $4, enabled = $5,
			disabled_reason = $6
		WHERE uid = $7`, int64(e.Stats.LastSuccessAt), int64(e.Stats.LastFailureAt), int64(e.Stats.FailingSince),
		int64(e.Stats.WaitsUntil), flag(e.Enabled), e.DisabledReason, e.UID)
	if err != nil {
		return fmt.Errorf("record the attempts of event endpoint %s: %w", e.UID, err)
	}
	if e.Enabled || was == 0 {
		return nil
	}
	return es.Announce(ctx, e.Team, Announcement{
		Type: EventEndpointDisabled, At: penstock.Now(), Path: "/api/v1/event-endpoints/" + e.UID,
		Data: penstock.EndpointData{EndpointUID: e.UID},
	})
}

// DisableAfter is how long an endpoint may fail before it is disabled.
const DisableAfter = 5 * 24 * time.Hour
