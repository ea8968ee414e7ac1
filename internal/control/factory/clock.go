package factory

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/store"
)

// parseClock reads a trigger's own schedule.
func parseClock(c penstock.CronTrigger) (cronTimes, error) {
	place, err := parsePlace(c.Timezone)
	if err != nil {
		return cronTimes{}, fmt.Errorf("timezone: %w", err)
	}
	return parseCronIn(c.Cron, place)
}

// checkClock returns all errors of a trigger's own schedule.
func checkClock(at string, c penstock.CronTrigger) []penstock.FieldError {
	var errs []penstock.FieldError
	if _, err := parsePlace(c.Timezone); err != nil {
		errs = append(errs, penstock.FieldError{Pointer: at + "/timezone", Detail: err.Error()})
		c.Timezone = ""
	}
	if _, err := parseClock(c); err != nil {
		errs = append(errs, penstock.FieldError{Pointer: at + "/cron", Detail: err.Error()})
	}
	return errs
}

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

// FireClocks starts the runs that are due at now. Every replica does this. If several see the
// same time, the transaction that creates the run lets only one win. After a downtime, one run
// replaces all missed times.
func (s *Schedules) FireClocks(ctx context.Context, now penstock.Time) error {
	for {
		due, err := s.store.Automations.Due(ctx, now, fireBatch)
		if err != nil {
			return err
		}
		var errs []error
		for _, d := range due {
			if err := s.fireAutomation(ctx, d, now); err != nil {
				errs = append(errs, fmt.Errorf("start a run of automation %s: %w", d.UID, err))
			}
		}
		if len(errs) > 0 || len(due) < fireBatch {
			return errors.Join(errs...)
		}
	}
}

// fireAutomation sets the clocks of an automation to their next times and creates one run for all
// of them. If the automation is broken, it records why, and the clocks continue. Any other error
// leaves them due.
func (s *Schedules) fireAutomation(ctx context.Context, d store.Due, now penstock.Time) error {
	if d.UID == "" || len(d.Clocks) == 0 {
		return nil // deleted or changed since it was found
	}
	run, err := s.automations.automationRun(ctx, d.AutomationRow, Cause{
		Source: penstock.SourceSchedule, At: now, schedule: clockInfo(d.AutomationRow, d.Clocks[0].N),
	})
	var why string
	if err != nil {
		var broken bool
		if why, broken = WhyBroken(err); !broken {
			return err
		}
	}
	return s.store.Write(ctx, func(tx *store.Tx) error {
		first := false
		for _, c := range d.Clocks {
			advanced, err := tx.Automations().AdvanceClock(ctx, c, tickOf(d.AutomationRow, c, now, why))
			if err != nil {
				return err
			}
			first = first || advanced
		}
		if !first || run == nil {
			return nil
		}
		_, err := tx.Runs().Create(ctx, run)
		return err
	})
}

// tickOf returns the next state of a clock that is due at now. why is the reason why it starts
// no run.
func tickOf(row store.AutomationRow, c store.Clock, now penstock.Time, why string) store.Tick {
	tick := store.Tick{LastAt: now}
	if why != "" {
		tick.LastAt, tick.LastError = c.LastAt, why
	}
	if c.N >= len(row.Triggers) || row.Triggers[c.N].Schedule == nil {
		return tick // changed in the meantime: the clock is not advanced
	}
	times, err := parseClock(*row.Triggers[c.N].Schedule)
	if err != nil { // stored by another release; without a next time, it does not fire
		tick.LastError = err.Error()
		return tick
	}
	tick.NextAt = times.nextAfter(c.NextAt, now)
	return tick
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

// runsWith returns the runs of the automations that fire with a schedule. A broken automation
// has no run and reports its own problems.
func (s *Schedules) runsWith(ctx context.Context, r store.ScheduleRow, now penstock.Time) ([]*store.NewRun, error) {
	if r.Personal {
		return nil, nil
	}
	rows, err := s.store.Automations.OfSchedule(ctx, r.Team, r.ID)
	if err != nil {
		return nil, err
	}
	var runs []*store.NewRun
	for _, row := range rows {
		run, err := s.automations.automationRun(
			ctx, row, Cause{Source: penstock.SourceSchedule, At: now, schedule: originOf(r).Schedule, PaidBy: payersOf(r)},
		)
		if err != nil {
			if _, broken := WhyBroken(err); !broken {
				return nil, err
			}
			s.log.Warn(
				"a schedule cannot fire a broken automation", "automation_id", row.UID, "schedule_id", r.ID, "error", err,
			)
			continue
		}
		runs = append(runs, run)
	}
	return runs, nil
}
