package factory

import (
	"context"
	"fmt"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/access"
	"github.com/penstock-dev/penstock/internal/control/run"
	"github.com/penstock-dev/penstock/internal/control/share"
	"github.com/penstock-dev/penstock/internal/control/store"
)

// startWaiting starts what waited for the runs of its source to end, the oldest time of each source.
func (s *Schedules) startWaiting(ctx context.Context, now penstock.Time) error {
	return share.Sweep(fireBatch, func(after []store.OccurrenceRow) ([][]store.OccurrenceRow, error) {
		last := ""
		if after != nil {
			last = after[0].UID
		}
		return s.store.Occurrences.Waiting(ctx, last, fireBatch)
	}, func(waiting []store.OccurrenceRow) error {
		if err := s.startTogether(ctx, waiting, now); err != nil {
			return fmt.Errorf("start what waits: %w", err)
		}
		return nil
	})
}

// restart is what a source that waited starts now.
type restart struct {
	source
	tick tick
	// current reports whether the source is still the one that tick was made from.
	current func(context.Context, *store.Tx) (bool, error)
	ticked  func(context.Context, *store.Tx, []store.OccurrenceRow) error
}

// startTogether starts the occurrences of one tick, which waited, if no run of their source is live,
// and skips those that start nothing any more.
func (s *Schedules) startTogether(ctx context.Context, waiting []store.OccurrenceRow, now penstock.Time) error {
	if len(waiting) == 0 {
		return nil
	}
	made, err := s.restartOf(ctx, waiting, now)
	if err != nil {
		return err
	}
	ready := tick{overlap: penstock.OverlapQueue}
	for _, o := range waiting {
		ready.candidates = append(ready.candidates, made.candidate(o))
	}
	return s.store.Write(ctx, func(tx *store.Tx) error {
		if made.current != nil {
			if same, err := made.current(ctx, tx); err != nil || !same {
				return err
			}
		}
		live, err := tx.Occurrences().Live(ctx, waiting[0].Source)
		if err != nil || len(live) > 0 {
			return err
		}
		rows, _, err := made.start(ctx, tx, ready, nil, now, tx.Occurrences().Decide)
		if err != nil || made.ticked == nil {
			return err
		}
		return made.ticked(ctx, tx, rows)
	})
}

// candidate returns what an occurrence that waited starts.
func (a restart) candidate(o store.OccurrenceRow) candidate {
	c := candidate{row: o}
	c.row.Fate = store.FateSkipped
	c.row.Reason = "It no longer fires at this time."
	for _, made := range a.tick.candidates {
		if made.row.AutomationUID != o.AutomationUID || made.row.Clock != o.Clock {
			continue
		}
		if c.run = made.run; c.run == nil {
			c.row.Fate, c.row.Reason = made.row.Fate, made.row.Reason
		}
	}
	return c
}

// restartOf makes what a source that waited may start now, or says why it starts nothing any more.
func (s *Schedules) restartOf(ctx context.Context, waiting []store.OccurrenceRow, now penstock.Time) (restart, error) {
	o := waiting[0]
	if o.ScheduleID == "" {
		return s.clockRestart(ctx, waiting, now)
	}
	r, err := s.store.Schedules.Find(ctx, store.Viewer{Team: o.Team, All: true}, o.ScheduleID)
	if penstock.CodeOf(err) == penstock.CodeNotFound || err == nil && !r.Enabled {
		return restart{}, nil
	}
	if err != nil {
		return restart{}, err
	}
	with, err := automationsWith(ctx, r, s.store.Automations.OfSchedule)
	if err != nil {
		return restart{}, err
	}
	m, err := s.tickOf(ctx, r, with, o.DueAt, now)
	return restart{
		source: sourceOf(r), tick: m,
		current: func(ctx context.Context, tx *store.Tx) (bool, error) {
			found, err := tx.Schedules().Lock(ctx, store.Viewer{Team: r.Team, All: true}, r.ID)
			if penstock.CodeOf(err) == penstock.CodeNotFound {
				return false, nil
			}
			return found.Version == r.Version && found.Enabled, err
		},
		ticked: func(ctx context.Context, tx *store.Tx, rows []store.OccurrenceRow) error {
			return ticked(ctx, tx, r, rows, now)
		},
	}, err
}

// ClearOccurrences removes old occurrences.
func (s *Schedules) ClearOccurrences(ctx context.Context) error {
	if s.keepFor <= 0 {
		return nil
	}
	before := penstock.Now().Add(-s.keepFor)
	return share.ClearInBatches(
		ctx, func() (int, error) { return s.store.Occurrences.Clear(ctx, before, share.BatchSize) },
	)
}

// OccurrenceQuery chooses occurrences.
type OccurrenceQuery = store.OccurrenceQuery

// OccurrencePage is one page of what was due to start work, newest first.
type OccurrencePage struct {
	Occurrences []store.Occurrence `json:"occurrences"`
	PageInfo    store.PageInfo     `json:"page_info"`
}

// Occurrences returns one page of what was due to start work, newest first. Deliveries need the scope of their log:
// without it, they are left out, and a query that is only about them is refused.
func (s *Schedules) Occurrences(
	ctx context.Context, p penstock.Principal, q store.OccurrenceQuery,
) (OccurrencePage, error) {
	if err := access.Require(p, penstock.ScopeRunsRead); err != nil {
		return OccurrencePage{}, err
	}
	if err := access.Require(p, penstock.ScopeFactoriesManage); err != nil {
		if q.Kind == store.OccurrenceDelivery || q.WebhookUID != "" {
			return OccurrencePage{}, err
		}
		q.NoDeliveries = true
	}
	if access.Require(p, penstock.ScopeForgesManage) != nil || p.IsAgent() {
		q.NoConnections = true
	}
	list, next, err := s.store.Occurrences.List(ctx, run.ViewerOf(p), q)
	if access.Require(p, penstock.ScopeFactoriesRead) != nil {
		for i := range list {
			if list[i].AutomationUID != "" && list[i].Fate == store.FateFailed {
				list[i].Reason = "" // it says what is wrong with the automation
			}
		}
	}
	return OccurrencePage{Occurrences: list, PageInfo: store.PageInfo{HasNext: next != "", NextCursor: next}}, err
}

// OccurrenceKinds lists the kinds.
func OccurrenceKinds() []store.OccurrenceKind {
	return []store.OccurrenceKind{
		store.OccurrenceTick, store.OccurrenceDelivery, store.OccurrenceCall, store.OccurrenceDispatch,
	}
}

// Fates lists the fates.
func Fates() []store.Fate {
	return []store.Fate{
		store.FateWaiting, store.FateStarted, store.FateContinued, store.FateMerged, store.FateSuperseded,
		store.FateNoMatch, store.FateDuplicate, store.FateRejected, store.FateSkipped, store.FateMissed, store.FateFailed,
	}
}
