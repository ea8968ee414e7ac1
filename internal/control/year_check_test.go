package control_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/store"
	"github.com/penstock-dev/penstock/internal/testkit"
)

func number(text string) int {
	n, _ := strconv.Atoi(text)
	return n
}

func (y *year) rows(query string, args ...any) [][]string {
	y.T.Helper()
	return testkit.Rows(y.T, y.URL, query, args...)
}

// countFates lists how many rows of a table have each fate.
func countFates(table string) string {
	return "(SELECT string_agg(fate || ' ' || n, ', ') FROM (SELECT fate, count(*) AS n FROM " + table +
		" GROUP BY fate) AS f)"
}

// text reads a text from an object in the column data.
func (y *year) text(key string) string {
	if y.Deps.Store.Engine() == "sqlite" {
		return "data ->> '" + key + "'"
	}
	return "CAST(data AS json) ->> '" + key + "'"
}

// none fails if a query has rows.
func (y *year) none(what, query string) {
	y.T.Helper()
	if list := y.rows(query); len(list) > 0 {
		y.T.Errorf("%d %s: %v", len(list), what, list[:min(len(list), 5)])
	}
}

const liveRuns = "SELECT id, state FROM runs WHERE state NOT IN ('SUCCEEDED', 'FAILED', 'ERROR', 'CANCELLED')"

// check fails where something was lost, happened twice, or went silent.
func (y *year) check() {
	y.none("occurrences without a fate", "SELECT uid FROM occurrences WHERE fate = 'waiting'")
	y.none("events without a fate", "SELECT uid FROM subject_events WHERE fate = 'waiting'")
	y.none("runs that did not end", liveRuns)
	for _, s := range y.sources {
		y.checkTimes(s)
	}
	y.checkStarts()
	y.checkEvents()
	y.checkMessages()
	y.checkSent()
	if y.Deps.Store.Engine() == "sqlite" {
		y.checkPlans()
	}
	for id, deadline := range y.stalls {
		y.T.Errorf("run %s stalled at %s, and nobody was told", id, deadline)
	}
}

// checkStarts compares the runs of times with the occurrences that started them.
func (y *year) checkStarts() {
	started := map[string]int{}
	for _, row := range y.rows("SELECT uid, run_ids FROM occurrences WHERE fate = 'started'") {
		ids := strings.Split(strings.Trim(row[1], ","), ",")
		if ids[0] == "" {
			y.T.Errorf("occurrence %s started no run", row[0])
		}
		for _, id := range ids {
			started[id]++
		}
	}
	for _, row := range y.rows("SELECT id FROM runs WHERE schedule_id <> '' AND parent_id = ''") {
		if n := started[row[0]]; n != 1 {
			y.T.Errorf("run %s was started by %d times", row[0], n)
		}
		delete(started, row[0])
	}
	if len(started) > 0 {
		y.T.Errorf("times have started runs that are not there: %v", started)
	}
}

// checkPlans fails if a statement reads all rows of a table that grows with each run or event.
func (y *year) checkPlans() {
	r := y.servers[0].rules
	for _, do := range []func(context.Context) error{
		r.Schedules.ClearOccurrences, r.Endpoints.ClearOld, r.Deliveries.ClearLogs,
		r.Deliveries.ClearCounts, r.Upkeep.RemoveOldRuns, r.Executions.SettleAbandoned, r.Executions.EndOverdue,
		r.Executions.ResumeFunded,
	} {
		if err := do(y.T.Context()); err != nil {
			y.T.Error(err)
		}
	}
	if _, err := y.Deps.Store.Subjects.Old(y.T.Context(), 1, "", 1); err != nil { // nothing is so old
		y.T.Error(err)
	}
	y.Write(func(tx *store.Tx) error {
		_, err := tx.Subjects().Remove(y.T.Context(), "0", 1)
		return err
	})
	partial := map[string]bool{}
	for _, row := range y.rows("SELECT name FROM sqlite_master WHERE type = 'index' AND sql LIKE '%WHERE%'") {
		partial[row[0]] = true
	}
	grows := regexp.MustCompile(`\b(runs|events|occurrences|subjects|subject_events|deliveries|followups|calls|` +
		`endpoint_messages|payloads)(?: AS)? (\w+)`)
	scan := regexp.MustCompile(`^(?:SCAN (\w+)(?: USING (?:COVERING )?INDEX (\w+))?` +
		`|SEARCH (\w+) USING (?:COVERING )?INDEX sqlite_autoindex_\w+ \(\w+>\?\))`)
	argument := regexp.MustCompile(`\$\d+|\?`)
	read := 0
	for _, text := range y.Deps.Store.Statements() {
		if strings.HasPrefix(text, "BEGIN") || strings.HasPrefix(text, "COMMIT") || strings.HasPrefix(text, "ROLLBACK") {
			continue
		}
		of := map[string]bool{}
		for _, m := range grows.FindAllStringSubmatch(text, -1) {
			of[m[1]], of[m[2]] = true, true
		}
		read++
		for _, row := range y.rows("EXPLAIN QUERY PLAN " + argument.ReplaceAllString(text, "''")) {
			if m := scan.FindStringSubmatch(row[3]); m != nil && of[m[1]+m[3]] && !partial[m[2]] {
				y.T.Errorf("%s: %s", row[3], text)
			}
		}
	}
	if read < 50 {
		y.T.Errorf("%d statements are known", read)
	}
}

// checkTimes compares the times of a source with its occurrences.
func (y *year) checkTimes(s *source) {
	want, end := map[int64]bool{}, penstock.TimeOf(y.end)
	for at := s.first; !at.After(y.end); at = at.Add(s.every) {
		want[int64(penstock.TimeOf(at))] = true
	}
	// A server whose clock is behind can fire for a time just before the source was made.
	rows := y.rows(`SELECT due_at, fate, missed
		FROM occurrences
		WHERE source = $1 AND due_at > $2 AND due_at <= $3
		ORDER BY due_at, uid`, s.id, int64(penstock.TimeOf(y.begun)), int64(end))
	got, missed := map[string]int{}, 0
	for _, row := range rows {
		if row[1] != string(store.FateMissed) {
			got[row[0]]++
			continue
		}
		var m store.MissedTicks
		if err := json.Unmarshal([]byte(row[2]), &m); err != nil {
			y.T.Fatal(err)
		}
		missed += m.Count
	}
	for at, n := range got {
		var ms int64
		_, _ = fmt.Sscan(at, &ms)
		if n != 1 || !want[ms] {
			y.T.Errorf("%s has %d fates at %s", s.id, n, penstock.Time(ms))
		}
	}
	if len(got)+missed != len(want) {
		y.T.Errorf("%s had %d times, of which %d have a fate and %d were missed", s.id, len(want), len(got), missed)
	}
	y.counts.Times += len(want)
}

// checkEvents compares the events of the webhooks with what became of them.
func (y *year) checkEvents() {
	fates := map[string][2]string{}
	for _, row := range y.rows("SELECT delivery_id, fate, run_id FROM subject_events") {
		if _, twice := fates[row[0]]; twice {
			y.T.Errorf("the event %s has two fates", row[0])
		}
		fates[row[0]] = [2]string{row[1], row[2]}
	}
	for id, f := range fates {
		received := f[1] != ""
		dropped := f[0] == string(store.FateSkipped) || f[0] == string(store.FateSuperseded)
		if prompts := len(y.received.In[id]); received == dropped || prompts > 1 ||
			prompts != 1 && received && !y.broken[f[1]] || prompts > 0 && !received {
			y.T.Errorf("the event %s, %s, of run %q is in %d prompts", id, f[0], f[1], prompts)
		}
	}
	y.checkSilences()
	y.none("runs on one subject", `SELECT r.subject_uid, count(*) FROM runs r
		WHERE r.subject_uid <> '' AND r.finished_at = 0 GROUP BY r.subject_uid HAVING count(*) > 1`)
}

// checkMessages compares the messages of the endpoint with the runs and with the changes of their states.
func (y *year) checkMessages() {
	due := map[string]int{}
	for _, row := range y.rows(`SELECT ` + y.text("state") + `, run_id, count(*)
		FROM events
		WHERE type = 'state'
		GROUP BY 1, 2`) {
		state := penstock.State(row[0])
		if state == penstock.StateBlocked || state == penstock.StateInProgress || state.Done() {
			due[string(store.EventOf(state))+" "+row[1]] = number(row[2])
		}
	}
	for _, row := range y.rows("SELECT id FROM runs") {
		due["run.created "+row[0]]++
	}
	for _, row := range y.rows(`SELECT type, `+y.text("run_id")+`, count(*)
		FROM endpoint_messages
		WHERE endpoint_uid = $1 AND type LIKE 'run.%'
			AND type NOT IN ('run.stalled', 'run.hollow', 'run.budget_threshold')
		GROUP BY 1, 2`, y.ledger) {
		due[row[0]+" "+row[1]] -= number(row[2])
	}
	maps.DeleteFunc(due, func(_ string, n int) bool { return n == 0 })
	if len(due) > 0 {
		y.T.Errorf("changes without a message, or fewer than their messages: %v", due)
	}
	row := y.rows(`SELECT (SELECT count(*) FROM runs), (SELECT count(*) FROM occurrences),
		(SELECT count(*) FROM endpoint_messages),
		(SELECT count(*) FROM endpoint_messages WHERE endpoint_uid = $1 AND type = 'automation.silent'),
		`+countFates("occurrences")+", "+countFates("subject_events"), y.ledger)[0]
	y.T.Logf("%s runs, %s occurrences, %s messages, %s silences", row[0], row[1], row[2], row[3])
	y.T.Logf("times: %s; events: %s", row[4], row[5])
}

// checkSilences compares the silences of the automations of the webhooks with the times between their starts. Servers
// were away for 40 hours at most, and their clocks three hours off.
func (y *year) checkSilences() {
	const expected = 3 * 24 * time.Hour
	for _, a := range y.rows("SELECT uid FROM automations WHERE name LIKE 'events-%'") {
		starts := y.rows(`SELECT created_at AS at FROM runs WHERE automation_id = $1 AND delivery_id <> ''
			UNION SELECT e.decided_at FROM subjects s JOIN subject_events e ON e.subject_uid = s.uid
			WHERE s.automation_uid = $1 AND e.fate IN ('started', 'continued', 'merged_into')
			UNION SELECT $2 UNION SELECT $3 ORDER BY at`, a[0], int64(penstock.TimeOf(y.begun)), int64(penstock.TimeOf(y.end)))
		least, most := 0, 0
		for i, row := range starts[1:] {
			var before, at penstock.Time
			_, _ = fmt.Sscan(starts[i][0], &before)
			_, _ = fmt.Sscan(row[0], &at)
			if at.Sub(before) > expected+44*time.Hour {
				least++
			}
			if at.Sub(before) > expected-4*time.Hour {
				most++
			}
		}
		silent := len(y.rows(`SELECT 1 FROM endpoint_messages
			WHERE type = 'automation.silent' AND `+y.text("automation_uid")+` = $1 AND endpoint_uid = $2`, a[0], y.ledger))
		back := len(y.rows(`SELECT 1 FROM endpoint_messages
			WHERE type = 'automation.recovered' AND `+y.text("automation_uid")+` = $1 AND endpoint_uid = $2`, a[0], y.ledger))
		if silent < least || silent > most || back > silent || back < silent-1 {
			y.T.Errorf("automation %s was silent %d to %d times; %d messages say so, %d that it is over", a[0], least, most,
				silent, back)
		}
	}
}
