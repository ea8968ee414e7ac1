package factory_test

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/store"
)

// logged is a row of the log of deliveries.
type logged struct {
	id, duplicateOf, replayOf string
	number                    int // of its event, if it was accepted
}

// lastLogged returns the position of the last row of the log.
func (s *sequence) lastLogged() string {
	return s.db.Rows("SELECT COALESCE(max(n), 0) FROM deliveries")[0][0]
}

// log reads the rows of the log after a position.
func (s *sequence) log(after string) (list []logged) {
	for _, row := range s.db.Rows(`SELECT id, duplicate_of, replay_of, body
		FROM deliveries
		WHERE n > $1 AND webhook = $2
		ORDER BY n`, after, s.number) {
		of := struct {
			N int `json:"n"`
		}{N: -1}
		if row[1] == "" {
			if err := json.Unmarshal([]byte(row[3]), &of); err != nil {
				s.T.Fatal(err)
			}
		}
		list = append(list, logged{row[0], row[1], row[2], of.N})
	}
	return list
}

// verify checks that each event was accepted once, and what became of it.
func (s *sequence) verify(before string) {
	log := s.log(before)
	s.readLog(len(log))
	if s.atOnce {
		s.recallEnds()
	}
	accepted, replays, known := map[string]*event{}, map[string]*event{}, map[string]bool{}
	for _, r := range s.replays {
		replays[r.id] = r
	}
	for _, row := range log {
		if known[row.id] = true; row.duplicateOf != "" {
			s.verifyDuplicate(row)
			continue
		}
		e := s.events[row.number]
		if row.replayOf != "" {
			if row.replayOf != e.id {
				s.failf("the replay %s is of %s, not of event %s", row.id, row.replayOf, e.identity)
			}
			if e = replays[row.id]; e == nil { // the person got no response
				of := s.events[row.number]
				e = &event{action: of.action, starter: of.starter, minute: of.minute, id: row.id, first: -1}
			}
			delete(replays, row.id)
		} else if row.id != e.id {
			s.failf("event %s was accepted as %s; its sender was told %s", e.identity, row.id, e.id)
		}
		accepted[row.id] = e
	}
	for _, e := range s.events {
		if accepted[e.id] != e {
			s.failf("event %s was lost", e.identity)
		}
		for _, a := range e.answers {
			if !known[a.DeliveryID] || a.DuplicateOf != "" && a.DuplicateOf != e.id {
				s.failf("event %s got the response %+v", e.identity, a)
			}
		}
	}
	if delete(replays, ""); len(replays) > 0 { // what got no response may not have happened
		s.failf("replays were lost: %v", replays)
	}
	s.verifyFates(accepted)
	for id, of := range s.messages {
		if !s.received.Has(id) && !s.ended[of] {
			s.failf("nobody saw the message %s of a person to run %s", id, of)
		}
	}
	s.counts.Again += s.received.Again
}

// recallEnds finds runs that did not end well and went on at once, so that nobody saw it.
func (s *sequence) recallEnds() {
	for _, id := range s.runs {
		if len(s.db.Rows(`SELECT 1
			FROM events
			WHERE run_id = $1 AND type = 'state'
				AND (data LIKE '%"CANCELLED"%' OR data LIKE '%"FAILED"%' OR data LIKE '%"ERROR"%')
			LIMIT 1`, id)) > 0 {
			s.ended[id] = true
		}
	}
}

// verifyDuplicate fails if something came of a double.
func (s *sequence) verifyDuplicate(row logged) {
	d := s.shown[row.id]
	prompts := s.received.In[row.id]
	if d.Outcome != penstock.OutcomeDuplicate || len(d.Runs) > 0 || len(d.Matches) > 0 || len(prompts) > 0 {
		s.failf("the double %s has the outcome %s, the matches %+v, the runs %v and the prompts %v",
			row.id, d.Outcome, d.Matches, d.Runs, prompts)
	}
}

// readLog reads the last deliveries as people see them.
func (s *sequence) readLog(n int) {
	page, err := s.server().Deliveries.List(
		s.T.Context(), s.Admin, s.factory, s.webhook.UID, penstock.DeliveryQuery{Limit: max(n, 1)},
	)
	if err != nil {
		s.T.Fatal(err)
	}
	s.shown = make(map[string]store.Delivery, n)
	for _, d := range page.Deliveries {
		s.shown[d.ID] = d
	}
}

// verifyFates fails unless each event is in one prompt or has a fate that says why not, and each run was started by
// one event.
func (s *sequence) verifyFates(accepted map[string]*event) {
	starts := map[string]int{}
	for id, e := range accepted {
		matches := slices.DeleteFunc(slices.Clone(s.shown[id].Matches), func(m store.DeliveryMatch) bool {
			return len(s.starts) > 1 && m.FailedAt != nil && *m.FailedAt != "" // of the other automation
		})
		if len(matches) != 1 {
			s.failf("the event %s has the matches %v", id, s.shown[id].Matches)
			continue
		}
		m := matches[0]
		if m.Fate == store.FateStarted {
			starts[m.RunID]++
		}
		received, dropped := m.RunID != "", m.Fate == store.FateSkipped || m.Fate == store.FateSuperseded ||
			m.Fate == "" && m.Reason != ""
		if m.Fate == store.FateWaiting || received == dropped {
			s.failf("the event %s has the fate %s and the run %q", id, m.Fate, m.RunID)
		}
		for _, prompt := range s.received.In[id] {
			if text := s.received.Text(prompt); !strings.HasPrefix(text, promptOf(e.starter)) {
				s.failf("the event %s of the automation %s came with the prompt %q", id, e.starter, text)
			}
		}
		if prompts := len(s.received.In[id]); prompts != 1 && received && !s.ended[m.RunID] || prompts > 0 && !received {
			s.failf("the event %s, %s, is in %d prompts", id, m.Fate, prompts)
		}
		if dropped && !s.mayDrop(e, m.Fate) {
			s.failf("nobody saw the event %s in step %d: %s (%s)", id, e.first, m.Fate, m.Reason)
		}
	}
	for _, id := range s.runs {
		if starts[id] != 1 {
			s.failf("%d events started the run %s", starts[id], id)
		}
	}
	if len(starts) != len(s.runs) {
		s.failf("events started the runs %v, of which %v are there", starts, s.runs)
	}
	s.counts.Runs += len(s.runs)
}

// mayDrop reports whether nobody needs to see an event. The last one is always seen, unless it starts nothing, a person
// has cancelled the run since, or the pull request was closed since or had changed before it was closed.
func (s *sequence) mayDrop(e *event, fate store.Fate) bool {
	if e.action != "opened" || e.first < 0 || s.cancelled >= e.first {
		return true
	}
	since := func(other *event) bool {
		return other != e && (other.first < 0 || other.last >= e.first)
	}
	all := slices.Concat(s.events, s.replays)
	if fate == store.FateSuperseded {
		return slices.ContainsFunc(all, since)
	}
	return slices.ContainsFunc(all, func(other *event) bool {
		return other.action == "closed" && (other.minute >= e.minute || since(other))
	})
}
