// Package queue runs leased work: it claims while slots are free, renews every
// lease until its work has returned, and ends the work of a lease that cannot be
// kept while there is still time to clear away what the work has started.
//
// There are two ways to stop. [Runner.Drain] takes no more and finishes what is
// in hand; the end of [Runner.Run]'s context also asks for what is in hand to
// be handed back. In both, leases are renewed until the last work has returned.
package queue

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/penstock-dev/penstock"
)

// ErrNotRenewed is the cause with which work ends whose lease could not be
// renewed in time: nothing more can be said about it, and another worker may
// have it in [Options.Margin].
var ErrNotRenewed = errors.New("the lease could not be renewed in time")

// errReturned ends the renewals of work that is over.
var errReturned = errors.New("the work has returned")

// How the runner paces itself.
const (
	claimWait     = 10 * time.Second // of one claim; with callTime well within a lease
	heartbeatWait = 5 * time.Second  // of one heartbeat
	callTime      = 5 * time.Second  // for a call to be answered, beside its wait
	presence      = 15 * time.Second // between calls that only say that a busy worker is there
	minClaim      = 20 * time.Millisecond
	minHeartbeat  = time.Second
	minBackoff    = 100 * time.Millisecond
	maxBackoff    = 10 * time.Second
)

// Leases is where work comes from: the part of penstock.Control that is needed.
type Leases interface {
	Claim(ctx context.Context, c penstock.ClaimRequest) (penstock.Assignment, error)
	Heartbeat(ctx context.Context, l penstock.Lease, wait time.Duration) (penstock.Signal, error)
}

// Job is work under a lease.
type Job struct {
	penstock.Assignment
	// Followups gets a value when the control plane has said that follow-ups
	// wait. It holds at most one.
	Followups <-chan struct{}
	// Interrupts gets the turn that is to be ended, by its number. It holds the
	// latest one, and may get the same one often.
	Interrupts <-chan int
	// HandBack is closed when the work should be given back: this worker stops.
	// The lease goes on until Work returns.
	HandBack <-chan struct{}
}

// Options say what to run and how.
type Options struct {
	Leases Leases
	// Claim says what this worker can take; Capacity is the number of slots, 1
	// by default. Busy, Stopping and Wait are filled in.
	Claim penstock.ClaimRequest
	// Work executes one assignment and returns when nothing of it is left. The
	// context is the lease: it ends with the cause penstock.ErrLeaseLost when
	// the control plane took it away, with ErrNotRenewed when it runs out.
	Work func(lease context.Context, job Job)
	Log  *slog.Logger
	// LeaseTime is how long a lease holds; penstock.LeaseTime by default.
	LeaseTime time.Duration
	// Margin is how long before its end a lease that cannot be renewed is given
	// up: what Work needs to clear away. 7 s by default.
	Margin time.Duration
}

// Runner takes work and sees it through.
type Runner struct {
	o     Options
	slots chan struct{} // one taken for each work in hand, and for the claim of the next
	busy  atomic.Int64

	mu      sync.Mutex
	drained bool
	stop    func() // ends the claims of Run; nil before Run
}

// New makes a runner. It does nothing until Run.
func New(o Options) *Runner {
	o.Claim.Capacity = max(o.Claim.Capacity, 1)
	if o.LeaseTime == 0 {
		o.LeaseTime = penstock.LeaseTime
	}
	if o.Margin == 0 {
		o.Margin = 7 * time.Second
	}
	return &Runner{o: o, slots: make(chan struct{}, o.Claim.Capacity)}
}

// Drain makes Run take no more work and return once what is in hand is done. A
// claim on its way is cancelled.
func (r *Runner) Drain() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.drained = true
	if r.stop != nil {
		r.stop()
	}
}

// endAtDrain calls stop when Drain is called, or at once if it was.
func (r *Runner) endAtDrain(stop func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stop = stop
	if r.drained {
		stop()
	}
}

// Busy is how much work is in hand.
func (r *Runner) Busy() int { return int(r.busy.Load()) }

// Run claims and runs work until ctx ends or Drain is called. It returns when
// all work has returned.
func (r *Runner) Run(ctx context.Context) error {
	claiming, stop := context.WithCancel(ctx)
	defer stop()
	r.endAtDrain(stop)
	var jobs sync.WaitGroup
	var failures int
	for r.takeSlot(claiming) {
		start := time.Now()
		a, err := r.claim(claiming, penstock.ClaimRequest{Wait: claimWait, Busy: r.Busy()})
		switch {
		case err == nil:
			failures = 0
			r.busy.Add(1)
			jobs.Go(func() {
				defer r.freeSlot()
				defer r.busy.Add(-1)
				r.run(ctx, a, start)
			})
			continue
		case claiming.Err() != nil:
		case errors.Is(err, penstock.ErrNoWork):
			failures = 0
			sleep(claiming, minClaim-time.Since(start))
		default:
			failures++
			r.o.Log.WarnContext(ctx, "cannot claim work", "attempt", failures, "error", err)
			sleep(claiming, backoff(failures))
		}
		r.freeSlot()
	}
	r.goodbye(ctx)
	jobs.Wait()
	return nil
}

// takeSlot waits for a free slot, and tells now and then that the worker is
// there. It is false when no more is to be taken.
func (r *Runner) takeSlot(ctx context.Context) bool {
	tick := time.NewTicker(presence)
	defer tick.Stop()
	for ctx.Err() == nil {
		select {
		case r.slots <- struct{}{}:
			return true
		case <-ctx.Done():
		case <-tick.C:
			// A claim without a free slot is never answered with work.
			_, _ = r.claim(ctx, penstock.ClaimRequest{Busy: r.Busy()})
		}
	}
	return false
}

func (r *Runner) freeSlot() { <-r.slots }

// claim calls the control plane with what is the same in all calls filled in.
func (r *Runner) claim(ctx context.Context, c penstock.ClaimRequest) (penstock.Assignment, error) {
	full := r.o.Claim
	full.Busy, full.Wait, full.Stopping = c.Busy, c.Wait, c.Stopping
	ctx, cancel := context.WithTimeout(ctx, c.Wait+callTime)
	defer cancel()
	return r.o.Leases.Claim(ctx, full)
}

// goodbye tells that no more is taken. It is a courtesy: a worker that says
// nothing is forgotten all the same.
func (r *Runner) goodbye(ctx context.Context) {
	_, err := r.claim(context.WithoutCancel(ctx), penstock.ClaimRequest{Busy: r.Busy(), Stopping: true})
	if err != nil && !errors.Is(err, penstock.ErrNoWork) {
		r.o.Log.InfoContext(ctx, "cannot report to the control plane that this worker stops", "error", err)
	}
}

// run executes one assignment, whose lease was taken at claimed or later.
func (r *Runner) run(stop context.Context, a penstock.Assignment, claimed time.Time) {
	lease, end := context.WithCancelCause(context.WithoutCancel(stop))
	defer end(errReturned)
	handBack, followups, interrupts := make(chan struct{}), make(chan struct{}, 1), make(chan int, 1)
	defer context.AfterFunc(stop, func() { close(handBack) })()

	var renewing sync.WaitGroup
	renewing.Go(func() {
		r.renew(lease, end, a.Lease, claimed, func(s penstock.Signal) {
			if s.Followups > 0 {
				select {
				case followups <- struct{}{}:
				default:
				}
			}
			if s.Interrupt > 0 {
				select { // an older one is of a turn that is over
				case <-interrupts:
				default:
				}
				interrupts <- s.Interrupt
			}
		})
	})
	r.o.Work(lease, Job{Assignment: a, Followups: followups, Interrupts: interrupts, HandBack: handBack})
	end(errReturned)
	renewing.Wait()
}

// renew keeps a lease until its context ends, and ends that when the lease is
// lost. What counts is the start of the last renewal that succeeded, by the
// monotonic clock: the control plane cannot have renewed earlier.
func (r *Runner) renew(
	lease context.Context, end context.CancelCauseFunc, l penstock.Lease, good time.Time, notify func(penstock.Signal),
) {
	left := func() time.Duration { return r.o.LeaseTime - r.o.Margin - time.Since(good) }
	expiry := time.AfterFunc(left(), func() { end(ErrNotRenewed) })
	defer expiry.Stop()
	log := r.o.Log.With("run_id", l.RunID, "execution_id", l.ExecutionID)

	wait := time.Duration(0) // the first only makes the lease whole
	for failures := 0; lease.Err() == nil; {
		start := time.Now()
		ctx, cancel := context.WithTimeout(lease, wait+callTime)
		signal, err := r.o.Leases.Heartbeat(ctx, l, wait)
		cancel()
		switch {
		case lease.Err() != nil:
		case errors.Is(err, penstock.ErrLeaseLost):
			end(penstock.ErrLeaseLost)
		case err != nil:
			failures++
			log.WarnContext(
				lease, "cannot renew the lease", "attempt", failures, "left", left().Round(time.Second), "error", err,
			)
			sleep(lease, min(backoff(failures), time.Second))
		default:
			good, failures = start, 0
			expiry.Reset(left())
			notify(signal)
			if wait > 0 {
				sleep(lease, minHeartbeat-time.Since(start))
			}
			wait = heartbeatWait
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
