package run

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/store"
)

// leaseBatch bounds one pass over lost leases.
const leaseBatch = 1000

// maxLost is how often a run may lose its worker before it ends: the run itself may crash the
// workers.
const maxLost = 5

// awaitReturn is how long the server leaves an expired lease to its worker if no other worker can execute
// the run. The worker may be stopped, or its machine asleep: then it continues the run. A worker that calls and
// does not have the run any more is not waited for.
const awaitReturn = time.Hour

// SweepLeases returns a job that calls EndLostLeases, to be repeated every second. It takes no lease in
// the first seconds after this server has started, or was stopped, or its machine or database slept.
// Meanwhile, workers renew the leases that have expired only for that reason.
func (s *Executions) SweepLeases() func(context.Context) error {
	var w wakefulness
	awake := func() bool { return w.awake(time.Now().Round(0)) }
	return func(ctx context.Context) error { return s.endLostLeases(ctx, awake) }
}

// wakefulness notices when this process did not run.
type wakefulness struct {
	last, rested time.Time // by the wall clock, which also counts the sleep of a machine
}

// How a server notices that it did not run, and how long it then waits: workers retry a renewal after
// eleven seconds at the latest.
const (
	longPass = 5 * time.Second
	restTime = penstock.LeaseTime / 2
)

// awake reports whether this process has run without a break for some time. It is called at least
// every few seconds. If the clock was set back, it begins anew: rested may be in the far future.
func (w *wakefulness) awake(now time.Time) bool {
	if passed := now.Sub(w.last); passed < 0 || passed > longPass {
		w.rested = now.Add(restTime)
	}
	w.last = now
	return now.After(w.rested)
}

// EndLostLeases requeues or ends the runs of lost workers. It leaves a run to its worker for some time
// if no other worker can execute it.
func (s *Executions) EndLostLeases(ctx context.Context) error {
	return s.endLostLeases(ctx, func() bool { return true })
}

func (s *Executions) endLostLeases(ctx context.Context, awake func() bool) error {
	if !awake() {
		return nil
	}
	var failed error
	for left := 0; ; { // leases that wait for their workers, or cannot end, must not hide the others
		lost, err := s.store.Executions.LostLeases(ctx, leaseBatch, left)
		if err != nil || len(lost) == 0 {
			return errors.Join(failed, err)
		}
		workers, err := s.store.Queue.Workers(ctx)
		if err != nil {
			return errors.Join(failed, err)
		}
		for _, l := range lost {
			if !awake() {
				return failed
			}
			if waits(l, workers) {
				left++
				continue
			}
			if err := s.store.Write(ctx, func(tx *store.Tx) error { return s.endLost(ctx, tx, l) }); err != nil {
				failed = errors.Join(failed, fmt.Errorf("end the lost lease of run %s: %w", l.RunID, err))
				left++
			}
		}
		if len(lost) < leaseBatch {
			return failed
		}
	}
}

// waits reports whether the run waits for its worker.
func waits(l store.LostLease, workers []store.Worker) bool {
	return l.MayReturn && l.Expired < awaitReturn.Milliseconds() &&
		!slices.ContainsFunc(workers, func(w store.Worker) bool { return w.ID != l.WorkerID && w.Can(l.Want) })
}

func (s *Executions) endLost(ctx context.Context, tx *store.Tx, l store.LostLease) error {
	run, err := tx.Runs().Lock(ctx, l.RunID)
	if err != nil {
		return err
	}
	if over, err := tx.Executions().Expired(ctx, l.Lease); err != nil || !over || !run.State.Held() {
		return err
	}
	if err := tx.Endpoints().AnnounceLost(ctx, run); err != nil {
		return err
	}
	if run.TimesLost < maxLost && (run.State != penstock.StateInProgress || run.Resumable) {
		return s.requeueHeld(ctx, tx, run, store.LeaseLost)
	}
	message := "The worker was lost while the agent worked, and the agent's session cannot be resumed."
	if run.TimesLost >= maxLost {
		message = fmt.Sprintf("The run lost its worker %d times.", run.TimesLost+1)
	}
	if err := tx.Followups().MarkDelivered(ctx, &run); err != nil {
		return err
	}
	return tx.Runs().Move(ctx, store.Move{
		Run: run, To: penstock.StateError,
		TimelineEvent: timelineErrored, Payload: map[string]any{"reason": store.LeaseLost},
		Message: &penstock.StatusMessage{Message: message, ErrorCode: penstock.CodeInfrastructureTimeout, Retryable: true},
	})
}
