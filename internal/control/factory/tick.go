package factory

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/definition"
	"github.com/penstock-dev/penstock/internal/control/request"
	"github.com/penstock-dev/penstock/internal/control/run"
	"github.com/penstock-dev/penstock/internal/control/store"
)

// checkTicks checks what a schedule or a clock at a pointer says about missed and overlapping times.
func checkTicks(
	bad func(pointer, format string, args ...any), at string, catchUp penstock.CatchUp, overlap penstock.Overlap,
) {
	if ups := definition.CatchUps(); catchUp != "" && !slices.Contains(ups, catchUp) {
		bad(at+"/catch_up", "must be one of %s", request.Enumerated(ups))
	}
	if overlaps := definition.Overlaps(); overlap != "" && !slices.Contains(overlaps, overlap) {
		bad(at+"/overlap", "must be one of %s", request.Enumerated(overlaps))
	}
}

// maxWaiting is how many times of one source wait for a run to end. Later ones are skipped.
const maxWaiting = 100

// source is a schedule, or an automation with clocks of its own.
type source struct {
	id         string // also the schedule's id in the runs that it starts
	scheduleID string // "" of an automation
	name       string
	team       string
	owner      string // of a personal schedule
}

func (s source) canceller() penstock.Principal {
	return penstock.Principal{
		Team: s.team, Actor: penstock.Actor{Type: "service_account", UID: s.id, DisplayName: "a later time of " + s.name},
	}
}

// occurrence returns a new row of the ledger.
func (s source) occurrence(due penstock.Time, automationUID string) store.OccurrenceRow {
	return store.OccurrenceRow{
		Occurrence: store.Occurrence{
			UID: penstock.NewID(), Kind: store.OccurrenceTick, ScheduleID: s.scheduleID, AutomationUID: automationUID,
			DueAt: due, Fate: store.FateFailed, RunIDs: []string{},
		},
		Team: s.team, Source: s.id, Owner: s.owner,
	}
}

// candidate is a run that a time may start, and its row in the ledger.
type candidate struct {
	row store.OccurrenceRow
	run *store.NewRun // nil: row.Reason says why none could be made; several may share one
}

// paused makes the candidate skip its time if failures have paused what would start its run.
func (c *candidate) paused(f *penstock.Failures, what string) bool {
	if f == nil {
		return false
	}
	c.row.Fate, c.row.Reason = store.FateSkipped, f.Skips(what)
	return true
}

// full makes the candidate skip its time if there is a reason why the factory starts no run.
func (c *candidate) full(why string) {
	if why != "" {
		c.row.Fate, c.row.Reason, c.run = store.FateSkipped, why, nil
	}
}

// tick is a time that has come, with all that it may start.
type tick struct {
	overlap    penstock.Overlap
	candidates []candidate
}

// newTick makes one tick of candidates.
func newTick(overlap penstock.Overlap, candidates []candidate) tick {
	for i := range candidates {
		candidates[i].row.Tick = candidates[0].row.UID
	}
	return tick{cmp.Or(overlap, penstock.OverlapAllow), candidates}
}

// decide gives each tick its fate, oldest first. It writes the ledger, and creates and cancels
// runs, in the transaction that advances the source. It returns the rows as it has written them.
func (s source) decide(
	ctx context.Context, tx *store.Tx, ticks []tick, now penstock.Time,
) ([]store.OccurrenceRow, error) {
	live, waiting, err := s.busy(ctx, tx, ticks)
	if err != nil {
		return nil, err
	}
	var written []store.OccurrenceRow
	for i, m := range ticks {
		var rows []store.OccurrenceRow
		fate, reason := m.heldBack(live, waiting, slices.ContainsFunc(ticks[i+1:], tick.replaces))
		if fate == "" {
			rows, live, err = s.start(ctx, tx, m, live, now, tx.Occurrences().Add)
		} else {
			rows, err = m.record(ctx, tx, fate, reason, now)
		}
		if err != nil {
			return nil, err
		}
		if fate == store.FateWaiting && len(rows) > 0 {
			waiting++
		}
		written = append(written, rows...)
	}
	return written, nil
}

// replaces reports whether the tick starts a run that replaces earlier ones.
func (m tick) replaces() bool {
	starts := func(c candidate) bool { return c.run != nil }
	return m.overlap == penstock.OverlapReplace && slices.ContainsFunc(m.candidates, starts)
}

// heldBack returns the fate of a tick that starts nothing now, and why, or "". replaced says whether a
// later one that is decided with it replaces it.
func (m tick) heldBack(live []store.LiveRun, waiting int, replaced bool) (fate store.Fate, reason string) {
	busy := len(live) > 0 || waiting > 0
	switch {
	case m.overlap == penstock.OverlapReplace && replaced:
		return store.FateSuperseded, "A later time replaced it before it started (overlap is replace)."
	case m.overlap == penstock.OverlapSkip && busy:
		return store.FateSkipped, notEnded(live) + " (overlap is skip)."
	case m.overlap == penstock.OverlapQueue && waiting >= maxWaiting:
		return store.FateSkipped, fmt.Sprintf("%d earlier times wait already (overlap is queue).", waiting)
	case m.overlap == penstock.OverlapQueue && busy:
		return store.FateWaiting, "Starts once the earlier ones have ended (overlap is queue)."
	}
	return "", ""
}

// busy returns what new runs of the source would overlap with, as far as it matters.
func (s source) busy(
	ctx context.Context, tx *store.Tx, ticks []tick,
) (live []store.LiveRun, waiting int, err error) {
	if !slices.ContainsFunc(ticks, func(m tick) bool { return m.overlap != penstock.OverlapAllow }) {
		return nil, 0, nil
	}
	if live, err = tx.Occurrences().Live(ctx, s.id); err != nil {
		return nil, 0, err
	}
	waiting, err = tx.Occurrences().CountWaiting(ctx, s.id)
	return live, waiting, err
}

// start creates the runs of a tick, and returns its rows and the runs that are live then. write
// stores a row, and returns false if the time has its fate already.
func (s source) start(
	ctx context.Context, tx *store.Tx, m tick, live []store.LiveRun, now penstock.Time,
	write func(context.Context, store.OccurrenceRow) (bool, error),
) (rows []store.OccurrenceRow, nowLive []store.LiveRun, err error) {
	earlier := live
	var begun *store.NewRun
	for _, c := range m.candidates {
		c.settle(begun, now)
		first, err := write(ctx, c.row)
		if err != nil {
			return nil, nil, err
		}
		if !first {
			continue
		}
		if c.run != nil && c.run != begun {
			begun = c.run
			if live, err = s.begin(ctx, tx, m.overlap, c, earlier, live); err != nil {
				return nil, nil, err
			}
		}
		if c.run != nil && c.run.State.Done() { // a budget refused it
			c.row.Fate, c.row.Reason = store.FateSkipped, c.run.StatusMessage.Message
			if err := tx.Occurrences().Refuse(ctx, c.row); err != nil {
				return nil, nil, err
			}
		}
		rows = append(rows, c.row)
	}
	return rows, live, nil
}

// begin creates the run of a candidate, and returns what is live then. With the overlap replace, earlier
// runs end once it can work instead of them.
func (s source) begin(
	ctx context.Context, tx *store.Tx, overlap penstock.Overlap, c candidate, earlier, live []store.LiveRun,
) ([]store.LiveRun, error) {
	_, err := tx.Runs().Create(ctx, c.run)
	if err == nil && overlap == penstock.OverlapReplace && c.run.State == penstock.StateQueued {
		live, err = s.replace(ctx, tx, earlier, live, c.row.AutomationUID)
	}
	if err != nil || c.run.State.Done() {
		return live, err
	}
	return append(slices.Clip(live), store.LiveRun{ID: c.run.ID, AutomationUID: c.row.AutomationUID}), nil
}

// replace cancels the earlier runs that a new run of the same automation, or of the schedule itself,
// replaces, and returns what is live then.
func (s source) replace(
	ctx context.Context, tx *store.Tx, earlier, live []store.LiveRun, automationUID string,
) ([]store.LiveRun, error) {
	for _, r := range earlier {
		if r.AutomationUID != automationUID {
			continue
		}
		if err := run.CancelIn(ctx, tx, s.canceller(), r.ID); err != nil {
			return nil, err
		}
		live = slices.DeleteFunc(slices.Clone(live), func(l store.LiveRun) bool { return l.ID == r.ID })
	}
	return live, nil
}

// settle sets the fate of a candidate that may start its run now. begun is the run that an earlier
// one of its tick has started.
func (c *candidate) settle(begun *store.NewRun, now penstock.Time) {
	c.row.DecidedAt = now
	if c.run == nil {
		return
	}
	c.row.Fate, c.row.Reason, c.row.RunIDs = store.FateStarted, "", []string{c.run.ID}
	if c.run == begun {
		c.row.Fate = store.FateMerged
	}
}

// record writes one fate for all of the tick.
func (m tick) record(
	ctx context.Context, tx *store.Tx, fate store.Fate, reason string, now penstock.Time,
) ([]store.OccurrenceRow, error) {
	var rows []store.OccurrenceRow
	for _, c := range m.candidates {
		c.row.Fate, c.row.Reason, c.row.DecidedAt = fate, reason, now
		if fate == store.FateWaiting {
			c.row.DecidedAt = 0
		}
		first, err := tx.Occurrences().Add(ctx, c.row)
		if err != nil {
			return nil, err
		}
		if first {
			rows = append(rows, c.row)
		}
	}
	return rows, nil
}

// missed returns a row for times that passed without a decision, or nil.
func (s source) missed(d dueTimes, catchUp penstock.CatchUp, automationUID, clock string) *store.OccurrenceRow {
	if d.missed == nil {
		return nil
	}
	row := s.occurrence(d.missed.Last, automationUID)
	row.Tick, row.Clock, row.Missed, row.Fate = row.UID, clock, d.missed, store.FateMissed
	row.Reason = missedReason(*d.missed, catchUp)
	return &row
}

// addDecided writes rows of times that start nothing.
func addDecided(ctx context.Context, tx *store.Tx, now penstock.Time, rows ...*store.OccurrenceRow) error {
	for _, row := range rows {
		if row == nil {
			continue
		}
		row.DecidedAt = now
		if _, err := tx.Occurrences().Add(ctx, *row); err != nil {
			return err
		}
	}
	return nil
}

// timeOf is the next time of a schedule, of an automation that fires with it, or of a clock.
type timeOf struct {
	automationUID, clock string
	at                   penstock.Time
}

// dueTimes sorts the times from next, which has come, to now, without those that have their fate already:
// they come again after a clock was set back.
func (s *Schedules) dueTimes(
	ctx context.Context, src source, times cronTimes, catchUp penstock.CatchUp, next timeOf, now penstock.Time,
) (dueTimes, error) {
	until, err := s.store.Occurrences.DecidedUntil(ctx, src.id, next.automationUID, next.clock, now)
	if err != nil {
		return dueTimes{}, err
	}
	if until >= next.at {
		next.at = times.after(until)
	}
	if next.at == 0 || next.at > now {
		return dueTimes{}, nil
	}
	return times.due(next.at, now, catchUp), nil
}

func missedReason(m store.MissedTicks, catchUp penstock.CatchUp) string {
	if m.Count == 1 {
		return fmt.Sprintf("No server decided this time within a minute (catch_up is %s).", catchUp)
	}
	count := strconv.Itoa(m.Count)
	if m.AtLeast {
		count = "More than " + count
	}
	return fmt.Sprintf(
		"%s times from %s to %s passed before a server decided them (catch_up is %s).", count, m.First, m.Last, catchUp,
	)
}

func notEnded(live []store.LiveRun) string {
	switch len(live) {
	case 0:
		return "An earlier time still waits"
	case 1:
		return "Run " + live[0].ID + " has not ended"
	}
	var ids []string
	for _, r := range live[:min(len(live), 3)] {
		ids = append(ids, r.ID)
	}
	return "Runs " + strings.Join(ids, ", ") + " have not ended"
}

// outcomeOf returns what a source shows about its last time: when it started a run, and why it started
// none. before is the time until now.
func outcomeOf(rows []store.OccurrenceRow, before, now penstock.Time) (lastAt penstock.Time, problem string) {
	lastAt = before
	for _, row := range rows {
		switch row.Fate {
		case store.FateStarted, store.FateMerged:
			lastAt, problem = now, ""
		case store.FateFailed, store.FateSkipped:
			problem = row.Reason
			if len(row.RunIDs) > 0 { // a budget refused the run
				lastAt = now
			}
		}
	}
	return lastAt, problem
}
