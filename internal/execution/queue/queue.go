// Package queue runs leased work. It claims work while slots are free, and renews each lease
// until its work has returned. If a lease cannot be renewed, the work must pause its processes before
// the lease expires ([Job.Left]). It continues once the lease is renewed, which the control plane
// allows if nobody else has taken the work.
//
// There are two ways to stop. [Runner.Drain] claims no more and finishes the current work.
// If the context of [Runner.Run] is cancelled, the runner also claims no more, but asks the current
// work to requeue its runs. In both cases, leases are renewed until the last work has returned.
package queue

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/penstock-dev/penstock"
)

// ErrNotRenewed is the cause of work that ended because its lease could not be renewed for too long.
// The work can report nothing more, and another worker may have it.
var ErrNotRenewed = errors.New("the lease could not be renewed for too long")

// errReturned ends the renewals of finished work.
var errReturned = errors.New("the work has returned")

// How the runner paces itself.
const (
	claimWait     = 10 * time.Second // of one claim; with callTime well within a lease
	heartbeatWait = 5 * time.Second  // of one heartbeat
	callTime      = 5 * time.Second  // for the response to a call, in addition to its wait
	presence      = 15 * time.Second // between calls that only report that a busy worker is alive
	minClaim      = 20 * time.Millisecond
	minHeartbeat  = time.Second
	minBackoff    = 100 * time.Millisecond
	maxBackoff    = 10 * time.Second
)

// Leases is the source of work: the part of penstock.Control that a Runner needs.
type Leases interface {
	Claim(ctx context.Context, c penstock.ClaimRequest) (penstock.Assignment, error)
	Heartbeat(ctx context.Context, l penstock.Lease, wait time.Duration) (penstock.Signal, error)
}

// Job is work under a lease.
type Job struct {
	penstock.Assignment
	// Followups gets a value when the control plane reports waiting follow-ups. It holds at
	// most one.
	Followups <-chan struct{}
	// Interrupts gets the number of the turn to end. It holds the latest one, and may get the
	// same one repeatedly.
	Interrupts <-chan int
	// HandBack is closed when the worker stops and should requeue the work. The lease continues
	// until Work returns.
	HandBack <-chan struct{}
	// Left returns how long the processes of the work may run from now on. At zero or less they must
	// not run, because another worker may have the work.
	Left func() time.Duration
}

// Options say what to run and how.
type Options struct {
	Leases Leases
	// Claim is the template of claims. Capacity is the number of slots, 1 by default. The
	// runner sets Busy, Stopping and Wait.
	Claim penstock.ClaimRequest
	// Update, unless it is nil, brings a copy of the template up to date before each claim.
	Update func(*penstock.ClaimRequest)
	// Work executes one assignment and returns when all of it has ended. The context is the lease: it
	// ends with the cause penstock.ErrLeaseLost when the control plane ended the lease. It ends with
	// ErrNotRenewed after Patience, and when the lease expires while the runner stops.
	Work func(lease context.Context, job Job)
	// Held are assignments that another process has claimed and left. Run works on them first.
	Held []penstock.Assignment
	Log  *slog.Logger
	// LeaseTime is how long a lease is valid; penstock.LeaseTime by default.
	LeaseTime time.Duration
	// Margin is how long before the end of a lease its work must pause. It needs this time to stop its
	// processes. 7 s by default.
	Margin time.Duration
	// Patience is how long renewals of a lease may fail before its work is cancelled. It does not count
	// the time for which this process is stopped or the machine sleeps. 10 min by default.
	Patience time.Duration
}

// Runner claims and executes work.
type Runner struct {
	o     Options
	slots chan struct{} // one is taken for each active job, and for the next claim
	busy  atomic.Int64

	mu      sync.Mutex
	drained bool
	stop    func() // ends the claims of Run; nil before Run
}

// New creates a runner. It does nothing until Run.
func New(o Options) *Runner {
	o.Claim.Capacity = max(o.Claim.Capacity, 1)
	o.LeaseTime = cmp.Or(o.LeaseTime, penstock.LeaseTime)
	o.Margin = cmp.Or(o.Margin, 7*time.Second)
	o.Patience = cmp.Or(o.Patience, 10*time.Minute)
	return &Runner{o: o, slots: make(chan struct{}, o.Claim.Capacity)}
}

// Drain makes Run claim no more work, and return after the current work. It cancels an active
// claim.
func (r *Runner) Drain() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.drained = true
	if r.stop != nil {
		r.stop()
	}
}

// endAtDrain calls stop when Drain is called, or at once if it was called before.
func (r *Runner) endAtDrain(stop func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stop = stop
	if r.drained {
		stop()
	}
}

// Busy returns the number of active jobs.
func (r *Runner) Busy() int { return int(r.busy.Load()) }

// Run claims and runs work until ctx ends or Drain is called. It returns when
// all work has returned.
func (r *Runner) Run(ctx context.Context) error {
	claiming, stop := context.WithCancel(ctx)
	defer stop()
	r.endAtDrain(stop)
	var jobs sync.WaitGroup
	begin := func(a penstock.Assignment, claimed time.Time) {
		r.busy.Add(1)
		jobs.Go(func() {
			defer r.freeSlot()
			defer r.busy.Add(-1)
			_ = r.execute(ctx, a, claimed)
		})
	}
	for _, a := range r.o.Held {
		if !r.takeSlot(claiming) {
			break
		}
		begin(a, time.Now())
	}
	for r.takeSlot(claiming) {
		a, claimed, ok := r.next(claiming)
		if !ok {
			r.freeSlot()
			break
		}
		begin(a, claimed)
	}
	r.goodbye(ctx)
	jobs.Wait()
	return nil
}

// Once executes one assignment, and returns when its work has returned: held or, if it is nil, the
// next one that it can claim. It returns nil, or the cause for which the lease ended before the work
// returned. A lease that ends because the work has reported its result can be such a cause. If ctx
// ends before the claim, Once returns nil.
func (r *Runner) Once(ctx context.Context, held *penstock.Assignment) error {
	claiming, stop := context.WithCancel(ctx)
	defer stop()
	r.endAtDrain(stop)
	if held != nil {
		return r.execute(ctx, *held, time.Now())
	}
	defer r.goodbye(ctx)
	a, claimed, ok := r.next(claiming)
	if !ok {
		return nil
	}
	return r.execute(ctx, a, claimed)
}

// next claims one assignment. It returns false when ctx ends.
func (r *Runner) next(ctx context.Context) (a penstock.Assignment, claimed time.Time, ok bool) {
	for failures := 0; ctx.Err() == nil; {
		start := time.Now()
		a, err := r.claim(ctx, penstock.ClaimRequest{Wait: claimWait, Busy: r.Busy()})
		switch {
		case err == nil:
			return a, start, true
		case ctx.Err() != nil:
		case errors.Is(err, penstock.ErrNoWork):
			failures = 0
			sleep(ctx, minClaim-time.Since(start))
		default:
			failures++
			r.o.Log.WarnContext(ctx, "cannot claim work", "attempt", failures, "error", err)
			sleep(ctx, backoff(failures))
		}
	}
	return a, claimed, false
}

// takeSlot waits for a free slot, and regularly reports that the worker is alive. It returns
// false when the runner must claim no more.
func (r *Runner) takeSlot(ctx context.Context) bool {
	tick := time.NewTicker(presence)
	defer tick.Stop()
	for ctx.Err() == nil {
		select {
		case r.slots <- struct{}{}:
			return true
		case <-ctx.Done():
		case <-tick.C:
			// It must not get work, even if a slot becomes free at this moment: nobody would execute it.
			_, _ = r.claim(ctx, penstock.ClaimRequest{Busy: r.o.Claim.Capacity})
		}
	}
	return false
}

func (r *Runner) freeSlot() { <-r.slots }

// claim calls the control plane with the common fields of all claims.
func (r *Runner) claim(ctx context.Context, c penstock.ClaimRequest) (penstock.Assignment, error) {
	full := r.o.Claim
	if r.o.Update != nil {
		r.o.Update(&full)
	}
	full.Busy, full.Wait, full.Stopping = c.Busy, c.Wait, c.Stopping
	ctx, cancel := context.WithTimeout(ctx, c.Wait+callTime)
	defer cancel()
	return r.o.Leases.Claim(ctx, full)
}

// goodbye reports that the worker claims no more. It is optional: the control plane also
// forgets a worker that stops calling.
func (r *Runner) goodbye(ctx context.Context) {
	_, err := r.claim(context.WithoutCancel(ctx), penstock.ClaimRequest{Busy: r.Busy(), Stopping: true})
	if err != nil && !errors.Is(err, penstock.ErrNoWork) {
		r.o.Log.InfoContext(ctx, "cannot report to the control plane that this worker stops", "error", err)
	}
}

// execute executes one assignment. Its lease began at claimed or later. It returns the cause for
// which the lease ended before the work returned, or nil.
func (r *Runner) execute(stop context.Context, a penstock.Assignment, claimed time.Time) error {
	lease, end := context.WithCancelCause(context.WithoutCancel(stop))
	defer end(errReturned)
	handBack, followups, interrupts := make(chan struct{}), make(chan struct{}, 1), make(chan int, 1)
	defer context.AfterFunc(stop, func() { close(handBack) })()

	held := &holding{renewed: claimed, valid: r.o.LeaseTime - r.o.Margin, stop: stop, end: end}
	var renewing sync.WaitGroup
	renewing.Go(func() {
		r.renew(lease, held, a.Lease, func(s penstock.Signal) {
			if s.Followups > 0 {
				select {
				case followups <- struct{}{}:
				default:
				}
			}
			if s.Interrupt > 0 {
				select { // an older one is for a turn that has ended
				case <-interrupts:
				default:
				}
				interrupts <- s.Interrupt
			}
		})
	})
	r.o.Work(lease, Job{
		Assignment: a, Followups: followups, Interrupts: interrupts, HandBack: handBack, Left: held.left,
	})
	end(errReturned)
	renewing.Wait()
	if cause := context.Cause(lease); !errors.Is(cause, errReturned) {
		return cause
	}
	return nil
}

// holding is a lease that a runner renews.
type holding struct {
	valid time.Duration   // after a renewal
	stop  context.Context //nolint:containedctx // ends when the runner stops
	end   context.CancelCauseFunc

	mu      sync.Mutex
	renewed time.Time // when the last successful renewal began: the control plane has not done it earlier
}

// left returns how long the lease is still valid, with a margin.
func (h *holding) left() time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	// The monotonic clock does not count the sleep of a machine. The wall clock does, but may be set
	// back.
	return h.valid - max(time.Since(h.renewed), time.Now().Round(0).Sub(h.renewed.Round(0)))
}

// renewedAt records a successful renewal.
func (h *holding) renewedAt(t time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.renewed = t
}

// renew renews a lease until its context ends. It ends the context when the lease is lost.
func (r *Runner) renew(lease context.Context, h *holding, l penstock.Lease, notify func(penstock.Signal)) {
	log := r.o.Log.With("run_id", l.RunID, "execution_id", l.ExecutionID)
	paused := func() bool { return h.left() <= 0 }
	wait := time.Duration(0) // a renewal that restores the full lease returns at once
	var tried time.Duration  // since the last renewal
	for failures := 0; lease.Err() == nil; {
		start, most := time.Now(), wait+callTime
		ctx, cancel := context.WithTimeout(lease, most)
		signal, err := r.o.Leases.Heartbeat(ctx, l, wait)
		cancel()
		switch {
		case lease.Err() != nil:
		case errors.Is(err, penstock.ErrLeaseLost):
			h.end(penstock.ErrLeaseLost)
		case err != nil:
			failures++
			pause := min(backoff(failures), time.Second)
			tried += min(time.Since(start), most) + pause
			if tried > r.o.Patience || h.stop.Err() != nil && paused() {
				h.end(ErrNotRenewed)
				break
			}
			log.WarnContext(
				lease, "cannot renew the lease", "attempt", failures, "left", h.left().Round(time.Second),
				"paused", paused(), "error", err,
			)
			sleep(lease, pause)
			wait = 0
		default:
			late := paused()
			h.renewedAt(start)
			failures, tried = 0, 0
			notify(signal)
			if wait > 0 {
				sleep(lease, minHeartbeat-time.Since(start))
			}
			if wait = heartbeatWait; paused() { // this process was stopped meanwhile, or the machine slept
				wait = 0
			} else if late {
				log.WarnContext(lease, "the lease was renewed late; nobody else has taken the run")
			}
		}
	}
	switch cause := context.Cause(lease); {
	case errors.Is(cause, errReturned):
	case errors.Is(cause, penstock.ErrLeaseLost):
		log.DebugContext(lease, "lease ended", "cause", cause)
	default:
		log.WarnContext(lease, "lease ended before its work", "cause", cause)
	}
}

// backoff grows from minBackoff to maxBackoff with the number of failures in a
// row, half of it at random, so that workers do not come back all at once.
func backoff(failures int) time.Duration {
	d := maxBackoff
	if failures < 8 {
		d = min(d, minBackoff<<(failures-1))
	}
	return d/2 + rand.N(d/2)
}

// sleep waits for d or until ctx ends.
func sleep(ctx context.Context, d time.Duration) {
	if d <= 0 {
		return
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
