package store

import (
	"cmp"
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/penstock-dev/penstock"
)

// maxBatch bounds the members of one group commit, and so how long it locks the rows that it has
// changed.
const maxBatch = 256

// The life of a member.
//
// A caller passes a member to [committer.do] and waits. A committer gathers the members that arrive
// while the transaction before is being committed (SQLite has one committer, PostgreSQL a few), and
// applies them in one transaction: each joins the [group], and the group applies the members of a
// kind together, with statements that they share. After the commit, each caller gets the outcome of
// its own member.
//
// A member whose condition is lost (a lease that another worker has, a rate that is used up) records
// that with fail and leaves the others alone. An error of the transaction is everybody's: the
// members are applied again, each in a transaction of its own, so that a bad one fails alone. They
// are not applied again while the database is away, because each would only wait, nor if the result
// of the commit is unknown, because then the writes might happen twice: every caller gets the error
// that says so. The transaction itself may be a retry of the driver, so fail(nil) resets each member
// before it is applied.
//
// A member is retired when its caller has its result. A caller that stops waiting does not stop its
// member, which may still be committed. After the store is closed, members get errClosed.

// member is one small write of a group commit: data, not a closure, so that members of a kind can
// share statements.
type member interface {
	key() string // members of a kind are applied in this order, so that two batches cannot deadlock
	join(*group)
	// fail records the member's own result: a lost condition is not the batch's error.
	fail(error)
	outcome() error
}

// group holds the members of one transaction by their kind.
type group struct {
	delivers []*deliver
	creates  []*createRun
	appends  []*appendEvents
	reserves []*reserveCall
}

type queued struct {
	member
	done chan error
}

// committer collects the writes that arrive during a transaction, and commits them in the next one.
type committer struct {
	s       *Store
	metrics func(int, time.Duration)
	in      chan queued
	halt    chan struct{}
	stopped chan struct{} // no committer runs any more
	running sync.WaitGroup
}

func newCommitter(s *Store, metrics func(int, time.Duration)) *committer {
	c := &committer{
		s: s, metrics: metrics, in: make(chan queued, maxBatch), halt: make(chan struct{}), stopped: make(chan struct{}),
	}
	for n := range s.d.committers {
		c.running.Go(func() { c.loop(n) })
	}
	return c
}

func (c *committer) stop() {
	close(c.halt)
	c.running.Wait()
	close(c.stopped)
}

var errClosed = errors.New("the store is closed")

// do sends m to a committer and waits for the commit. If the context ends first, m may still be
// committed.
func (c *committer) do(ctx context.Context, m member) error {
	q := queued{m, make(chan error, 1)}
	select {
	case c.in <- q:
	case <-c.halt:
		return errClosed
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case err := <-q.done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	case <-c.stopped:
	}
	select { // the channel may have taken m after the last committer looked
	case err := <-q.done:
		return err
	default:
		return errClosed
	}
}

func (c *committer) loop(n int64) {
	batch := make([]queued, 0, maxBatch)
	for {
		batch = batch[:0]
		select {
		case q := <-c.in:
			batch = append(batch, q)
		case <-c.halt:
			c.drain()
			return
		}
		batch = c.gather(batch)
		c.commit(n, batch)
	}
}

// gather adds the writes that have arrived by now to a batch. It yields once to callers that are
// about to send one: a commit costs as much as ten of its members.
func (c *committer) gather(batch []queued) []queued {
	for waited := false; len(batch) < maxBatch; {
		select {
		case q := <-c.in:
			batch = append(batch, q)
			waited = false
		default:
			if waited {
				return batch
			}
			runtime.Gosched()
			waited = true
		}
	}
	return batch
}

// drain rejects the writes that arrive after the halt.
func (c *committer) drain() {
	for {
		select {
		case q := <-c.in:
			q.done <- errClosed
		default:
			return
		}
	}
}

// commit applies the batch in one transaction. If that fails, it applies one member at a time,
// except where the database is away, or the batch may have been committed.
func (c *committer) commit(n int64, batch []queued) {
	start := time.Now()
	slices.SortStableFunc(batch, func(a, b queued) int {
		return cmp.Compare(a.key(), b.key())
	})
	left, err := batch, c.apply(n, batch)
	if err != nil && len(batch) > 1 {
		for len(left) > 0 && !c.away(err) {
			err = c.apply(n, left[:1])
			left[0].finish(err)
			left = left[1:]
		}
	}
	for _, q := range left {
		q.finish(err)
	}
	c.metrics(len(batch), time.Since(start))
}

func (c *committer) away(err error) bool {
	return penstock.CodeOf(err) == penstock.CodeUnavailable && !c.s.d.transient(err)
}

func (c *committer) apply(n int64, batch []queued) error {
	ctx := context.Background() // one caller must not end the transaction of the others
	if within := c.s.d.batchWithin; within > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, within)
		defer cancel()
	}
	return c.s.Write(ctx, func(tx *Tx) error {
		tx.committer = n
		var g group
		for _, q := range batch {
			q.fail(nil) // the transaction may be a retry
			q.join(&g)
		}
		return tx.applyGroup(ctx, g)
	})
}

// applyGroup applies the members of each kind together.
func (tx *Tx) applyGroup(ctx context.Context, g group) error {
	if err := tx.Budgets().shareOf(ctx, runsOf(g.reserves)); err != nil { // before any lock of a run
		return err
	}
	started, err := tx.Deliveries().deliverBatch(ctx, g.delivers)
	if err != nil {
		return err
	}
	if err := tx.Runs().createAll(ctx, append(started, g.creates...)); err != nil {
		return err
	}
	for _, m := range g.appends {
		if err := tx.Events().appendHeld(ctx, m); err != nil {
			return err
		}
	}
	return tx.Calls().reserve(ctx, g.reserves)
}

// result is the part of a member that keeps its own outcome.
type result struct{ err error }

func (r *result) fail(err error) { r.err = err }
func (r *result) outcome() error { return r.err }

func (q queued) finish(err error) {
	if err == nil {
		err = q.outcome()
	}
	q.done <- err
}
