package factory

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/share"
	"github.com/penstock-dev/penstock/internal/control/store"
)

// fireBatch is how many due schedules are read at once.
const fireBatch = 100

// FireDue decides the times of schedules that have come by now, and starts what waited for a run to
// end. Every replica does this. If several see the same time, the transaction lets only one win.
func (s *Schedules) FireDue(ctx context.Context, now penstock.Time) error {
	failed := share.Sweep(fireBatch, func(after store.ScheduleRow) ([]store.ScheduleRow, error) {
		return s.store.Schedules.Due(ctx, now, after, fireBatch)
	}, func(r store.ScheduleRow) error {
		if err := s.fire(ctx, r, now); err != nil {
			return fmt.Errorf("start a run of schedule %s: %w", r.ID, err)
		}
		return nil
	})
	return errors.Join(failed, s.startWaiting(ctx, now))
}

// fire sets one schedule to its next time, decides those that have come, and creates their runs and
// the runs of the automations that fire with it. If its owner can fix the cause of an error, fire
// records the error and the schedule continues. Any other error leaves it due.
func (s *Schedules) fire(ctx context.Context, r store.ScheduleRow, now penstock.Time) error {
	src := sourceOf(r)
	c, err := timesOf(r)
	if err != nil { // stored by another release: without a next time it does not fire
		return s.stop(ctx, r, "cron_schedule "+err.Error(), now)
	}
	times, err := s.dueTimes(ctx, src, c, r.CatchUp, timeOf{at: r.NextAt}, now)
	if err != nil {
		return err
	}
	missed := []*store.OccurrenceRow{src.missed(times, r.CatchUp, "", "")}
	with, err := automationsWith(ctx, r, s.store.Automations.OfSchedule)
	if err != nil {
		return err
	}
	for _, a := range with {
		missed = append(missed, src.missed(times, r.CatchUp, a.UID, ""))
	}
	var ticks []tick
	for _, at := range times.start {
		m, err := s.tickOf(ctx, r, with, at, now)
		if err != nil {
			return err
		}
		ticks = append(ticks, m)
	}
	return s.store.Write(ctx, func(tx *store.Tx) error {
		first, err := tx.Schedules().Advance(ctx, r, c.nextAfter(r.NextAt, now))
		if err != nil || !first {
			return err
		}
		if err := addDecided(ctx, tx, now, missed...); err != nil {
			return err
		}
		rows, err := src.decide(ctx, tx, ticks, now)
		if err != nil {
			return err
		}
		return ticked(ctx, tx, r, rows, now)
	})
}

// stop records why a schedule has no next time.
func (s *Schedules) stop(ctx context.Context, r store.ScheduleRow, problem string, now penstock.Time) error {
	row := sourceOf(r).occurrence(r.NextAt, "")
	row.Tick, row.DecidedAt, row.Reason = row.UID, now, problem
	return s.store.Write(ctx, func(tx *store.Tx) error {
		first, err := tx.Schedules().Advance(ctx, r, 0)
		if err != nil || !first {
			return err
		}
		if _, err := tx.Occurrences().Add(ctx, row); err != nil {
			return err
		}
		return ticked(ctx, tx, r, []store.OccurrenceRow{row}, now)
	})
}

// ticked records what the times of a schedule have started.
func ticked(
	ctx context.Context, tx *store.Tx, r store.ScheduleRow, rows []store.OccurrenceRow, now penstock.Time,
) error {
	if len(rows) == 0 {
		return nil
	}
	lastAt, problem := outcomeOf(rows, r.LastAt, now)
	return tx.Schedules().Ticked(ctx, r.ID, lastAt, problem)
}

func sourceOf(r store.ScheduleRow) source {
	src := source{id: r.ID, scheduleID: r.ID, name: r.Name, team: r.Team}
	if r.Personal {
		src.owner = r.CreatedBy.UID
	}
	return src
}

// tickOf makes the runs that a schedule may start at a time: its own first, and then the runs
// of automations.
func (s *Schedules) tickOf(
	ctx context.Context, r store.ScheduleRow, with []store.AutomationRow, at, now penstock.Time,
) (tick, error) {
	own := candidate{row: sourceOf(r).occurrence(at, "")}
	skipped := own.paused(r.Paused, "schedule")
	if r.Orphaned != 0 { // a request on its way has created it
		own.full(orphaned)
		skipped = true
	}
	if skipped {
		all, err := s.candidatesWith(ctx, r, with, at, now)
		return newTick(r.Overlap, append([]candidate{own}, all...)), err
	}
	run, err := s.runs.New(ctx, creatorOf(r), requestOf(r), originOf(r))
	var known *penstock.Error
	switch {
	case err == nil:
		own.run = run
	case errors.As(err, &known) && !known.Code.OurFault():
		own.row.Reason = known.Explain()
	default:
		return tick{}, err
	}
	all, err := s.candidatesWith(ctx, r, with, at, now)
	return newTick(r.Overlap, append([]candidate{own}, all...)), err
}

// clockAhead is how far the clocks of servers may differ.
const clockAhead = time.Minute

// Replan gives schedules and clocks their next time anew where it is too late, as after a clock of
// a machine that was ahead: they would be silent until then. A time that has another fate than missed
// gets no second one.
func (s *Schedules) Replan(ctx context.Context, now penstock.Time) error {
	failed := share.Sweep(fireBatch, func(after store.ScheduleRow) ([]store.ScheduleRow, error) {
		return s.store.Schedules.Enabled(ctx, after.ID, fireBatch)
	}, func(r store.ScheduleRow) error {
		if c, err := timesOf(r); err == nil && r.NextAt > c.next(now.Add(clockAhead)) {
			return s.store.Schedules.Replan(ctx, r, c.next(now))
		}
		return nil
	})
	return errors.Join(failed, s.planClocks(ctx, now))
}
