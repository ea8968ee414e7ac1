package factory

import (
	"cmp"
	"context"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/store"
)

// changeTimes gives times of a schedule their fate that its change leaves behind.
func changeTimes(
	ctx context.Context, tx *store.Tx, before, after store.ScheduleRow, now penstock.Time,
) error {
	switch {
	case !before.Enabled:
		return nil
	case !after.Enabled:
		return skipTimes(ctx, tx, before, "paused", now)
	case before.Overlap == penstock.OverlapQueue && after.Overlap != penstock.OverlapQueue:
		reason := "The schedule was changed while this waited: its overlap is no longer queue."
		if err := tx.Occurrences().SkipWaiting(ctx, before.ID, "", reason, now); err != nil {
			return err
		}
	}
	if before.Cron == after.Cron && before.TimeZone == after.TimeZone {
		return nil
	}
	return skipDue(ctx, tx, before, "changed", now)
}

// skipTimes skips all times of a schedule that have come and started nothing. what happened to it is
// paused or deleted.
func skipTimes(
	ctx context.Context, tx *store.Tx, before store.ScheduleRow, what string, now penstock.Time,
) error {
	reason := "The schedule was " + what + " while this waited."
	if err := tx.Occurrences().SkipWaiting(ctx, before.ID, "", reason, now); err != nil {
		return err
	}
	return skipDue(ctx, tx, before, what, now)
}

// skipDue skips the times of a schedule, and of the automations that fire with it, which have come and are not
// decided yet.
func skipDue(
	ctx context.Context, tx *store.Tx, before store.ScheduleRow, what string, now penstock.Time,
) error {
	if before.NextAt == 0 || before.NextAt > now {
		return nil
	}
	times, err := timesOf(before)
	if err != nil {
		return nil //nolint:nilerr // it never fires
	}
	with, err := automationsWith(ctx, before, tx.Automations().OfSchedule)
	if err != nil {
		return err
	}
	reason := "The schedule was " + what + " before a server decided this time."
	for _, automation := range append([]store.AutomationRow{{}}, with...) {
		next := timeOf{automation.UID, "", before.NextAt}
		if err := sourceOf(before).skip(ctx, tx, times, next, before.CatchUp, reason, now); err != nil {
			return err
		}
	}
	return nil
}

// skipClocks gives times of clocks their fate that a change of their automation leaves behind: those that
// wait, and those that have come and are not decided yet. after is nil if it is deleted.
func skipClocks(
	ctx context.Context, tx *store.Tx, before store.AutomationRow, clocks []store.Clock, after *store.AutomationRow,
	now penstock.Time,
) error {
	what := "changed"
	switch {
	case !before.Enabled:
		return nil
	case after == nil:
		what = "deleted"
	case !after.Enabled:
		what = "disabled"
	}
	src := clockSource(before)
	kept, queues := clocksAfter(after)
	waited := "The automation was " + what + " while this waited."
	if !queues {
		if err := tx.Occurrences().SkipWaiting(ctx, src.id, "", waited, now); err != nil {
			return err
		}
	}
	reason := "The automation was " + what + " before a server decided this time."
	for _, c := range clocks {
		if c.N >= len(before.Triggers) || before.Triggers[c.N].Schedule == nil {
			continue
		}
		trigger := *before.Triggers[c.N].Schedule
		times, err := parseClock(trigger)
		if err != nil || kept[clockKey(trigger)] {
			continue // one that cannot be read never fires
		}
		next := timeOf{src.id, clockKey(trigger), c.NextAt}
		if err := tx.Occurrences().SkipWaiting(ctx, src.id, next.clock, waited, now); err != nil {
			return err
		}
		if err := src.skip(ctx, tx, times, next, trigger.CatchUp, reason, now); err != nil {
			return err
		}
	}
	return nil
}

// clocksAfter returns the keys of the clocks that an automation has after a change, and whether one of
// them queues. after is nil if it is deleted.
func clocksAfter(after *store.AutomationRow) (kept map[string]bool, queues bool) {
	kept = map[string]bool{}
	if after == nil || !after.Enabled {
		return kept, false
	}
	for _, t := range after.Triggers {
		if t.Schedule != nil {
			kept[clockKey(*t.Schedule)] = true
			queues = queues || t.Schedule.Overlap == penstock.OverlapQueue
		}
	}
	return kept, queues
}

// skip skips the times from next to now, which no server has decided and no server will.
func (s source) skip(
	ctx context.Context, tx *store.Tx, times cronTimes, next timeOf, catchUp penstock.CatchUp, reason string,
	now penstock.Time,
) error {
	if next.at == 0 || next.at > now {
		return nil
	}
	due := times.due(next.at, now, penstock.CatchUpOnce)
	last := s.occurrence(due.start[0], next.automationUID)
	last.Tick, last.Clock, last.Fate, last.Reason = last.UID, next.clock, store.FateSkipped, reason
	catchUp = cmp.Or(catchUp, penstock.CatchUpOnce)
	return addDecided(ctx, tx, now, s.missed(due, catchUp, next.automationUID, next.clock), &last)
}
