package control_test

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/penstock-dev/penstock"
)

// waits is how long the sender waits after each attempt that failed, before jitter, as the contract says.
var waits = []time.Duration{
	5 * time.Second, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour, 10 * time.Hour, 10 * time.Hour,
}

// sent is the row of a message, and the calls that brought it.
type sent struct {
	kind, run, state string
	happened         time.Time
	attempts         int // that the server has logged
	calls            []*call
}

// checkSent compares the messages with what the receivers have received.
func (y *year) checkSent() {
	y.none("attempts that were logged twice", `SELECT message_id, endpoint_uid, attempt, count(*)
		FROM endpoint_attempts GROUP BY 1, 2, 3 HAVING count(*) > 1`)
	for _, r := range y.receivers {
		messages := y.messagesOf(r)
		disabled := y.checkDisabled(r)
		y.checkRows(r, messages, disabled)
		for _, c := range r.calls {
			y.counts.Requests++
			if m := messages[c.id]; m != nil {
				m.calls = append(m.calls, c)
			} else if c.id != "" {
				y.T.Errorf("%s received message %s, which is not there", r.name, c.id)
			}
		}
		var ratios []float64
		for id, m := range messages {
			y.checkReceived(r, id, m)
			y.checkOnce(r, id, m)
			if r.name == "quick" || r.name == "flaky" || r.name == "lossy" {
				y.checkPrompt(r, id, m)
			}
			if r.name == "flaky" {
				ratios = append(ratios, y.checkWaits(id, m)...)
			}
		}
		if slices.Sort(ratios); len(ratios) > 30 && ratios[len(ratios)-1]-ratios[0] < 0.1 {
			y.T.Errorf("the waits have no jitter: they are %.2f to %.2f of their times", ratios[0], ratios[len(ratios)-1])
		}
		if r.name == "limited" {
			y.checkHeld(r)
		}
	}
}

// messagesOf reads the messages of a receiver.
func (y *year) messagesOf(r *receiver) map[string]*sent {
	messages := map[string]*sent{}
	for _, row := range y.rows("SELECT id, type, happened_at, state, "+y.text("run_id")+` FROM endpoint_messages
		WHERE endpoint_uid = $1`, r.uid) {
		messages[row[0]] = &sent{
			kind: row[1], happened: time.UnixMilli(int64(number(row[2]))), state: row[3], run: row[4],
		}
	}
	for _, row := range y.rows(`SELECT message_id, count(*)
		FROM endpoint_attempts
		WHERE endpoint_uid = $1
		GROUP BY message_id`, r.uid) {
		messages[row[0]].attempts = number(row[1])
	}
	return messages
}

// checkRows compares the messages of a receiver that was never disabled with what happened.
func (y *year) checkRows(r *receiver, messages map[string]*sent, disabled int) {
	if disabled > 0 {
		return
	}
	chosen := 0
	for _, row := range y.rows("SELECT id, type FROM endpoint_messages WHERE endpoint_uid = $1", y.ledger) {
		if len(r.events) > 0 && !slices.Contains(r.events, penstock.EndpointEvent(row[1])) {
			continue
		}
		chosen++
		if messages[row[0]] == nil {
			y.T.Errorf("%s has no message %s, of %s", r.name, row[0], row[1])
		}
	}
	if chosen != len(messages) {
		y.T.Errorf("%s has %d messages of %d", r.name, len(messages), chosen)
	}
}

// checkReceived fails if a message was lost, or is not what it should be.
func (y *year) checkReceived(r *receiver, id string, m *sent) {
	taken, confirmed := 0, 0
	for _, c := range m.calls {
		if got := c.message; string(got.Type) != m.kind || got.Data.RunID != m.run ||
			got.Timestamp != penstock.TimeOf(m.happened) || !strings.HasPrefix(got.Data.URL, "https://penstock.test/api/") {
			y.T.Errorf("%s received message %s as %+v; it is %+v", r.name, id, got, m)
		}
		if c.taken {
			taken++
			y.counts.Taken++
		}
		if c.status/100 == 2 {
			confirmed++
		}
	}
	always := r.name == "quick" || r.name == "slow" // the others may refuse each of the attempts
	switch {
	case m.state == "delivered" && confirmed == 0:
		y.T.Errorf("message %s counts as delivered, but %s has not confirmed it", id, r.name)
	case m.state == "failed" && always:
		y.T.Errorf("%s was there all the time, but message %s has failed", r.name, id)
	case m.state == "failed" && (m.attempts != len(waits)+1 || r.name != "away" && len(m.calls) < m.attempts):
		y.T.Errorf("message %s to %s has failed after %d attempts, of which it got %d", id, r.name, m.attempts, len(m.calls))
	case m.state == "failed" && confirmed > 0 && !slices.ContainsFunc(m.calls, func(c *call) bool {
		return c.status/100 == 2 && c.cut()
	}):
		y.T.Errorf("message %s has failed, but %s has confirmed it", id, r.name)
	case m.state == "waiting":
		y.T.Errorf("message %s to %s still waits", id, r.name)
	}
	if taken == 0 && always {
		y.T.Errorf("%s has never received message %s", r.name, id)
	}
}

// cut reports whether the result of a request may not be recorded, because its server was cut off.
func (c *call) cut() bool { return overlaps(c.server.cuts, c.at, c.done) }

// checkOnce fails if a receiver has a message twice for no reason.
func (y *year) checkOnce(r *receiver, id string, m *sent) {
	var before *call
	for _, c := range m.calls {
		if !c.taken {
			continue
		}
		if before != nil {
			y.counts.Twice++
			if before.status != 0 && !before.cut() {
				y.T.Errorf("%s has message %s twice, at %s and %s", r.name, id, before.at, c.at)
			}
		}
		before = c
	}
	for i, c := range m.calls { // also what it refused
		if i > 0 && c.at.Before(m.calls[i-1].done) && !m.calls[i-1].cut() {
			y.T.Errorf("%s was sent message %s at %s, during another attempt", r.name, id, c.at)
		}
	}
}

// ready returns when a server was there to do what was due at a time.
func (y *year) ready(at time.Time) time.Time {
	for moved := true; moved; {
		moved = false
		for _, s := range y.lapses {
			if !at.Before(s.from) && at.Before(s.to) {
				at, moved = s.to, true
			}
		}
	}
	return at
}

// checkPrompt fails if a first attempt is late.
func (y *year) checkPrompt(r *receiver, id string, m *sent) {
	const most, off = 2 * time.Second, 3 * time.Hour
	if len(m.calls) == 0 || overlaps(y.wrong, m.happened.Add(-off), m.happened.Add(off)) {
		return
	}
	if late := m.calls[0].at.Sub(y.ready(m.happened)); late > most {
		y.T.Errorf("%s got message %s %s late", r.name, id, late)
	}
}

// checkWaits compares the attempts of a message with their schedule, until a server was cut off, or a clock was wrong.
// It returns the waits, in parts of those without jitter.
func (y *year) checkWaits(id string, m *sent) (ratios []float64) {
	for i, c := range m.calls {
		if c.cut() {
			return ratios
		}
		if c.status/100 == 2 || i == len(m.calls)-1 {
			continue
		}
		if i >= len(waits) {
			y.T.Errorf("message %s has %d attempts", id, len(m.calls))
			return ratios
		}
		next, due := m.calls[i+1].at, c.done.Add(waits[i])
		if overlaps(y.wrong, c.at, next) {
			return ratios
		}
		// A server looks each second.
		if latest := y.ready(due.Add(waits[i]/5 + time.Second)).Add(2 * time.Second); next.Before(due) || next.After(latest) {
			y.T.Errorf("attempt %d of message %s is %s after the one before", i+2, id, next.Sub(c.done))
		} else if y.ready(due).Equal(due) && waits[i] > time.Minute {
			ratios = append(ratios, float64(next.Sub(c.done))/float64(waits[i]))
		}
	}
	return ratios
}

// checkHeld fails if a receiver got something although it had asked to wait for 15 minutes.
func (y *year) checkHeld(r *receiver) {
	for i, c := range r.calls {
		if c.status != 429 || c.cut() {
			continue
		}
		for _, next := range r.calls[i+1:] {
			if next.at.After(c.at) {
				if wait := next.at.Sub(c.at); wait < 15*time.Minute-time.Second && !overlaps(y.wrong, c.at, next.at) {
					y.T.Errorf("%s was asked again after %s, at %s", r.name, wait, next.at)
				}
				break
			}
		}
	}
}

// checkDisabled compares how often an endpoint was disabled and announced with its calls.
func (y *year) checkDisabled(r *receiver) (disabled int) {
	const slack = 7 * time.Hour // of two wrong clocks
	least, most := r.disablements(fiveDays+slack, false), r.disablements(fiveDays-slack, true)
	disabled = len(y.rows(`SELECT 1 FROM endpoint_messages
		WHERE endpoint_uid = $1 AND type = 'endpoint.disabled' AND `+y.text("endpoint_uid")+` = $2`, y.ledger, r.uid))
	y.counts.Disabled += disabled
	if disabled < least || disabled > most {
		y.T.Errorf("%s was disabled %d times, want %d to %d", r.name, disabled, least, most)
	}
	return disabled
}

const fiveDays = 5 * day

// disablements counts how often an endpoint has to be disabled if it may fail for so long. Of the results that a server
// may not have recorded, it counts only the failures if most is true, and only the successes otherwise.
func (r *receiver) disablements(mayFail time.Duration, most bool) (n int) {
	var since time.Time
	disabled, enabled := false, r.enabled
	for _, c := range r.calls {
		for len(enabled) > 0 && !enabled[0].After(c.at) {
			disabled, since, enabled = false, time.Time{}, enabled[1:]
		}
		confirmed := c.status/100 == 2
		switch {
		case disabled || c.cut() && most == confirmed:
		case confirmed:
			since = time.Time{}
		case since.IsZero():
			since = c.at
			fallthrough
		default:
			if c.status == 410 || c.at.Sub(since) >= mayFail {
				n, disabled = n+1, true
			}
		}
	}
	return n
}

func (c *call) String() string {
	return fmt.Sprintf("%s %s %d", c.at.Format(time.DateTime), c.id, c.status)
}
