package worker

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/wall/gateway"
)

// settleTime is how long the end of an execution waits for the control plane to take its last
// settlements. A call whose settlement is lost counts with its reserved amount.
const settleTime = 5 * time.Second

// spender counts the calls of an execution in the control plane. It implements gateway.Spend.
type spender struct {
	task    *task
	counted atomic.Bool // a call was

	ended context.Context //nolint:containedctx // ends when settlements are given up, after the lease
	end   context.CancelFunc

	mu      sync.Mutex
	refusal *penstock.SpendRefusal // the first of a budget
}

func newSpender(t *task) *spender {
	s := &spender{task: t}
	s.ended, s.end = context.WithCancel(context.WithoutCancel(t.lease))
	return s
}

// Reserve implements gateway.Spend. It tries again until the control plane responds, ctx ends or
// the lease does.
func (s *spender) Reserve(ctx context.Context, r penstock.Reservation) (got penstock.Reserved, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(s.task.lease, func() { cancel(context.Cause(s.task.lease)) })()
	err = retry(ctx, func(ctx context.Context) (err error) {
		got, err = s.task.w.Control.Reserve(ctx, s.task.Lease, r)
		return err
	})
	if err == nil && got.Refusal == nil && !got.Wait {
		s.counted.Store(true)
	}
	return got, err
}

// Settle implements gateway.Spend.
func (s *spender) Settle(settlement penstock.Settlement) {
	err := retry(s.ended, func(ctx context.Context) error {
		return s.task.w.Control.Settle(ctx, s.task.Lease, settlement)
	})
	if err != nil && (!settlement.Unsent || !errors.Is(err, penstock.ErrLeaseLost)) {
		s.task.log.Error("cannot settle a call to a model: it counts as it was reserved", "call", settlement.ID, "error", err)
	}
}

// closing gives up settlements after a while. The caller calls stop once all are done.
func (s *spender) closing() (stop func()) {
	timer := time.AfterFunc(settleTime, s.end)
	return func() {
		timer.Stop()
		s.end()
	}
}

// refused keeps why a call was not sent. A budget without room stops the run, once its calls in
// flight have settled.
func (o *outlet) refused(r gateway.Refusal) {
	o.traffic.refused(r)
	if r.Spend == nil || r.Spend.Budget == nil {
		o.refusedCall(r)
		return
	}
	if !o.spend.keep(*r.Spend) {
		return
	}
	o.served.Go(func() {
		o.models.Settled()
		o.task.stop(errBudget)
	})
}

// keep reports whether the refusal by a budget is the first.
func (s *spender) keep(r penstock.SpendRefusal) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.refusal != nil {
		return false
	}
	s.refusal = &r
	return true
}

// refusedBy returns how a budget has stopped the run, nil if none has.
func (s *spender) refusedBy() *penstock.SpendRefusal {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.refusal
}

// stopped reports whether a budget has stopped the run.
func (s *spender) stopped() bool { return s.refusedBy() != nil }

// endFor is the result of a run that a budget has stopped.
func (s *spender) endFor(result penstock.Result) penstock.Result {
	r := s.refusedBy()
	if r.Pause {
		result.State = penstock.StateBlocked
	}
	result.Message = &penstock.StatusMessage{Message: r.Detail, ErrorCode: r.Code, Budget: r.Budget}
	return result
}
