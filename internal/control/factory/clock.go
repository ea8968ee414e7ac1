package factory

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/run"
	"github.com/penstock-dev/penstock/internal/control/share"
	"github.com/penstock-dev/penstock/internal/control/store"
)

// SetClocks replaces the clocks of an automation. An unchanged trigger keeps its times. The
// clocks of a disabled automation have no next time.
func SetClocks(
	row store.AutomationRow, before *store.AutomationRow, clocks []store.Clock, now penstock.Time,
) ([]store.Clock, error) {
	var next []store.Clock
	for n, t := range row.Triggers {
		if t.Schedule == nil {
			continue
		}
		c := store.Clock{AutomationUID: row.UID, N: n}
		if i := slices.IndexFunc(clocks, func(c store.Clock) bool { return sameClock(before, c.N, *t.Schedule) }); i >= 0 {
			c.LastAt, c.LastError, c.NextAt = clocks[i].LastAt, clocks[i].LastError, clocks[i].NextAt
			clocks = slices.Delete(slices.Clone(clocks), i, i+1)
		}
		switch {
		case !row.Enabled:
			c.NextAt = 0
		case c.NextAt == 0 || !before.Enabled:
			times, err := parseClock(*t.Schedule)
			if err != nil {
				return nil, penstock.Invalid(fmt.Sprintf("/triggers/%d/schedule", n), "%s", err)
			}
			c.NextAt = times.next(now)
		}
		next = append(next, c)
	}
	return next, nil
}

func sameClock(before *store.AutomationRow, n int, c penstock.CronTrigger) bool {
	if n >= len(before.Triggers) || before.Triggers[n].Schedule == nil {
		return false
	}
	old := before.Triggers[n].Schedule
	return old.Cron == c.Cron && old.Timezone == c.Timezone
}

// FireClocks decides the times of automations' own clocks that have come by now. Every replica does
// this. If several see the same time, the transaction lets only one win.
func (s *Schedules) FireClocks(ctx context.Context, now penstock.Time) error {
	return share.Sweep(fireBatch, func(after store.Due) ([]store.Due, error) {
		return s.store.Automations.Due(ctx, now, after.UID, fireBatch)
	}, func(d store.Due) error {
		if err := s.fireAutomation(ctx, d, now); err != nil {
			return fmt.Errorf("start a run of automation %s: %w", d.UID, err)
		}
		return nil
	})
}

// dueClock is a clock of an automation whose time has come.
type dueClock struct {
	store.Clock
	dueTimes
	trigger penstock.CronTrigger
	next    penstock.Time
	problem string                 // the clock cannot be read; "": it can
	others  []*store.OccurrenceRow // of times that start nothing
}

func (c dueClock) key() string { return clockKey(c.trigger) }

// clockKey identifies a clock of an automation. It stays the same if triggers before it come and go.
func clockKey(c penstock.CronTrigger) string { return cmp.Or(c.Timezone, "UTC") + " " + c.Cron }

func (s *Schedules) dueClocks(ctx context.Context, d store.Due, now penstock.Time) ([]dueClock, error) {
	var clocks []dueClock
	src := clockSource(d.AutomationRow)
	for _, c := range d.Clocks {
		if c.N >= len(d.Triggers) || d.Triggers[c.N].Schedule == nil {
			continue // changed in the meantime: the clock is not advanced
		}
		due := dueClock{Clock: c, trigger: *d.Triggers[c.N].Schedule}
		due.trigger.CatchUp = cmp.Or(due.trigger.CatchUp, penstock.CatchUpOnce)
		times, err := parseClock(due.trigger)
		if err != nil { // stored by another release; without a next time, it does not fire
			due.problem = err.Error()
			row := src.occurrence(c.NextAt, d.UID)
			row.Tick, row.Clock, row.Reason = row.UID, due.key(), due.problem
			due.others = append(due.others, &row)
		} else {
			due.next = times.nextAfter(c.NextAt, now)
			due.dueTimes, err = s.dueTimes(ctx, src, times, due.trigger.CatchUp, timeOf{d.UID, due.key(), c.NextAt}, now)
			if err != nil {
				return nil, err
			}
			due.others = append(due.others, src.missed(due.dueTimes, due.trigger.CatchUp, d.UID, due.key()))
		}
		clocks = append(clocks, due)
	}
	return clocks, nil
}

// clockTick is a tick of clocks: they start one run together.
type clockTick struct {
	at     penstock.Time
	clocks []dueClock // in the order of triggers; the first one says what happens if the tick overlaps
	times  []penstock.Time
}

// clockTicks sorts the times of clocks into ticks, oldest first. Clocks of the same time meet, and
// unless one of them catches up on all, so do all: one run replaces all missed times.
func clockTicks(clocks []dueClock) []clockTick {
	apart := slices.ContainsFunc(clocks, func(c dueClock) bool { return c.trigger.CatchUp == penstock.CatchUpAll })
	var list []clockTick
	for _, c := range clocks {
		for _, at := range c.start {
			i := slices.IndexFunc(list, func(m clockTick) bool { return !apart || m.at == at })
			if i < 0 {
				i, list = len(list), append(list, clockTick{at: at})
			}
			m := &list[i]
			m.at, m.clocks, m.times = max(m.at, at), append(m.clocks, c), append(m.times, at)
		}
	}
	slices.SortFunc(list, func(a, b clockTick) int { return cmp.Compare(a.at, b.at) })
	return list
}

// fireAutomation sets the clocks of an automation to their next times, decides those that have come
// and creates their runs. If the automation is broken, it records why, and the clocks continue. Any
// other error leaves them due.
func (s *Schedules) fireAutomation(ctx context.Context, d store.Due, now penstock.Time) error {
	if d.UID == "" || len(d.Clocks) == 0 {
		return nil // deleted or changed since it was found
	}
	clocks, err := s.dueClocks(ctx, d, now)
	if err != nil {
		return err
	}
	var ticks []tick
	for _, together := range clockTicks(clocks) {
		m, err := s.tickOfClocks(ctx, d.AutomationRow, together, now)
		if err != nil {
			return err
		}
		ticks = append(ticks, m)
	}
	return s.store.Write(ctx, func(tx *store.Tx) error {
		first := false
		for _, c := range clocks {
			advanced, err := tx.Automations().AdvanceClock(ctx, c.Clock, c.next)
			if err != nil {
				return err
			}
			if first = first || advanced; !advanced {
				continue
			}
			if err := addDecided(ctx, tx, now, c.others...); err != nil {
				return err
			}
		}
		if !first {
			return nil
		}
		rows, err := clockSource(d.AutomationRow).decide(ctx, tx, ticks, now)
		if err != nil {
			return err
		}
		return tickedClocks(ctx, tx, clocks, rows, now)
	})
}

// tickedClocks records what the times of clocks have started.
func tickedClocks(
	ctx context.Context, tx *store.Tx, clocks []dueClock, rows []store.OccurrenceRow, now penstock.Time,
) error {
	for _, c := range clocks {
		own := slices.DeleteFunc(slices.Clone(rows), func(row store.OccurrenceRow) bool { return row.Clock != c.key() })
		if len(own) == 0 && c.problem == "" {
			continue
		}
		lastAt, problem := outcomeOf(own, c.LastAt, now)
		if err := tx.Automations().TickedClock(ctx, c.Clock, lastAt, cmp.Or(c.problem, problem)); err != nil {
			return err
		}
	}
	return nil
}

func clockSource(row store.AutomationRow) source {
	return source{id: row.UID, name: row.Name, team: row.Team}
}

// tickOfClocks makes the run that clocks of an automation may start together. The clocks after the
// first one merge into it.
func (s *Schedules) tickOfClocks(
	ctx context.Context, row store.AutomationRow, together clockTick, now penstock.Time,
) (tick, error) {
	run, err := s.automations.automationRun(ctx, row, Cause{
		Source: run.SourceSchedule, At: now, schedule: clockInfo(row, together.clocks[0].N),
	})
	why, broken := WhyBroken(err)
	full := ""
	if err == nil {
		full, err = s.automations.full(ctx, run, "")
	}
	if err != nil && !broken {
		return tick{}, err
	}
	var all []candidate
	for i, c := range together.clocks {
		one := candidate{row: clockSource(row).occurrence(together.times[i], row.UID), run: run}
		one.row.Clock, one.row.Reason = c.key(), why
		one.full(full)
		if one.paused(row.Paused, "automation") {
			one.run = nil
		}
		all = append(all, one)
	}
	return newTick(together.clocks[0].trigger.Overlap, all), nil
}

// clockRestart makes what clocks of an automation that waited may start now, or says why they start
// nothing any more.
func (s *Schedules) clockRestart(
	ctx context.Context, waiting []store.OccurrenceRow, now penstock.Time,
) (restart, error) {
	row, err := s.store.Automations.ByUID(ctx, waiting[0].AutomationUID)
	if penstock.CodeOf(err) == penstock.CodeNotFound || err == nil && !row.Enabled {
		return restart{}, nil
	}
	if err != nil {
		return restart{}, err
	}
	clocks, err := s.store.Automations.Clocks(ctx, row.UID)
	if err != nil {
		return restart{}, err
	}
	var together clockTick
	for _, c := range clocks {
		if c.N >= len(row.Triggers) || row.Triggers[c.N].Schedule == nil {
			continue
		}
		due := dueClock{Clock: c, trigger: *row.Triggers[c.N].Schedule}
		i := slices.IndexFunc(waiting, func(o store.OccurrenceRow) bool { return o.Clock == due.key() })
		if i >= 0 {
			together.clocks, together.times = append(together.clocks, due), append(together.times, waiting[i].DueAt)
		}
	}
	if len(together.clocks) == 0 {
		return restart{}, nil
	}
	m, err := s.tickOfClocks(ctx, row, together, now)
	return restart{
		source: clockSource(row), tick: m,
		current: func(ctx context.Context, tx *store.Tx) (bool, error) {
			if _, err := tx.Automations().LockClocks(ctx, row.UID); err != nil {
				return false, err
			}
			found, err := tx.Automations().ByUID(ctx, row.UID)
			if penstock.CodeOf(err) == penstock.CodeNotFound {
				return false, nil
			}
			return found.UpdatedAt == row.UpdatedAt && found.Enabled, err
		},
		ticked: func(ctx context.Context, tx *store.Tx, rows []store.OccurrenceRow) error {
			return tickedClocks(ctx, tx, together.clocks, rows, now)
		},
	}, err
}

// planClocks gives clocks their next time anew where it is too late: see [Schedules.Replan].
func (s *Schedules) planClocks(ctx context.Context, now penstock.Time) error {
	return share.Sweep(fireBatch, func(after store.Due) ([]store.Due, error) {
		return s.store.Automations.WithClocks(ctx, after.UID, fireBatch)
	}, func(d store.Due) error {
		var failed error
		for _, c := range d.Clocks {
			failed = errors.Join(failed, s.planClock(ctx, d.AutomationRow, c, now))
		}
		return failed
	})
}

func (s *Schedules) planClock(ctx context.Context, row store.AutomationRow, c store.Clock, now penstock.Time) error {
	if c.NextAt == 0 || c.N >= len(row.Triggers) || row.Triggers[c.N].Schedule == nil {
		return nil
	}
	times, err := parseClock(*row.Triggers[c.N].Schedule)
	if err != nil || c.NextAt <= times.next(now.Add(clockAhead)) {
		return nil //nolint:nilerr // one that cannot be read has no times
	}
	return s.store.Automations.ReplanClock(ctx, c, times.next(now))
}

// clockInfo returns what a run shows about the clock that started it.
func clockInfo(row store.AutomationRow, n int) *penstock.RunSchedule {
	info := penstock.RunSchedule{ID: row.UID, Name: row.Name}
	if n < len(row.Triggers) && row.Triggers[n].Schedule != nil {
		c := row.Triggers[n].Schedule
		info.Name, info.Cron = cmp.Or(c.Name, row.Name), c.Cron
	}
	return &info
}

// automationsWith lists the automations that fire with a schedule. list reads them.
func automationsWith(
	ctx context.Context, r store.ScheduleRow,
	list func(_ context.Context, team, scheduleID string) ([]store.AutomationRow, error),
) ([]store.AutomationRow, error) {
	if r.Personal {
		return nil, nil
	}
	return list(ctx, r.Team, r.ID)
}

// candidatesWith makes the runs of automations that fire with a schedule. A broken automation has no
// run.
func (s *Schedules) candidatesWith(
	ctx context.Context, r store.ScheduleRow, with []store.AutomationRow, at, now penstock.Time,
) ([]candidate, error) {
	var made []candidate
	for _, row := range with {
		c := candidate{row: sourceOf(r).occurrence(at, row.UID)}
		if c.paused(row.Paused, "automation") || c.paused(r.Paused, "schedule") {
			made = append(made, c)
			continue
		}
		var err error
		c.run, err = s.automations.automationRun(
			ctx, row, Cause{Source: run.SourceSchedule, At: now, schedule: originOf(r).Schedule, PaidBy: payersOf(r)},
		)
		if err != nil {
			var broken bool
			if c.row.Reason, broken = WhyBroken(err); !broken {
				return nil, err
			}
		} else {
			why, err := s.automations.full(ctx, c.run, "")
			if err != nil {
				return nil, err
			}
			c.full(why)
		}
		made = append(made, c)
	}
	return made, nil
}
