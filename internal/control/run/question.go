package run

import (
	"context"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/access"
	"github.com/penstock-dev/penstock/internal/control/store"
)

// Questions answers the questions of runs that are BLOCKED. A run is BLOCKED at most once in an execution, so the
// execution identifies the question. A question that is over is a conflict, and nothing changes.
type Questions struct{ runs *Runs }

// Answer is [Runs.FollowUp] for a question.
func (s *Questions) Answer(
	ctx context.Context, p penstock.Principal, id string, execution int, message string,
) (FollowupAccepted, error) {
	if execution < 1 {
		return FollowupAccepted{}, errQuestionOver()
	}
	run, err := s.runs.writableRun(ctx, p, id)
	if err != nil {
		return FollowupAccepted{}, err
	}
	return s.runs.followUpRun(ctx, p, run, FollowupRequest{Message: message, question: execution}, FollowupAccepted{})
}

// Cancel is [Runs.Cancel] for a run that still waits, for an answer or for room in a budget.
func (s *Questions) Cancel(ctx context.Context, p penstock.Principal, id string, execution int) error {
	if _, err := s.runs.writableRun(ctx, p, id); err != nil {
		return err
	}
	_, err := access.ActBy(ctx, s.runs.responses, p, s.runs.store.WriteReserved, func(tx *store.Tx) (string, error) {
		return id, cancelActive(
			ctx, tx, p, id, false, func(run store.RunRow) error { return blockedIn(run, execution) },
		)
	})
	return err
}

// asksIn returns an error unless the run waits for the answer to the question of an execution.
func asksIn(run store.RunRow, execution int) error {
	if run.BlockedBudget != "" {
		return errQuestionOver()
	}
	return blockedIn(run, execution)
}

// blockedIn returns an error unless the run has been BLOCKED since an execution.
func blockedIn(run store.RunRow, execution int) error {
	if run.State != penstock.StateBlocked || run.ExecutionID != execution {
		return errQuestionOver()
	}
	return nil
}

func errQuestionOver() error {
	return penstock.Errorf(penstock.CodeConflict, "the question is over: the run no longer waits for its answer")
}
