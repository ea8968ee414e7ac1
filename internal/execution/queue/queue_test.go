package queue_test

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/execution/queue"
)

// leases is a control plane that returns the given work and times the leases with the clock of the
// bubble.
type leases struct {
	work chan penstock.Assignment
	news chan penstock.Signal

	mu     sync.Mutex
	claims []penstock.ClaimRequest // that were not in trouble
	calls  int                     // of Claim in all
	beats  int
	until  map[string]time.Time // when the lease of a run is over
	fail   error                // of every call
	hang   bool                 // calls never return
	lost   bool
	freed  chan struct{} // closed when lost is set
}

func newLeases(runs ...string) *leases {
	l := &leases{
		work: make(chan penstock.Assignment, 100), news: make(chan penstock.Signal), until: map[string]time.Time{},
		freed: make(chan struct{}),
	}
	for _, id := range runs {
		l.work <- penstock.Assignment{Lease: penstock.Lease{RunID: id, Token: "token of " + id}}
	}
	return l
}

func (l *leases) set(change func(*leases)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	change(l)
}

func (l *leases) trouble(ctx context.Context) error {
	l.mu.Lock()
	fail, hang := l.fail, l.hang
	l.mu.Unlock()
	if hang {
		<-ctx.Done()
		return ctx.Err()
	}
	return fail
}

func (l *leases) Claim(ctx context.Context, c penstock.ClaimRequest) (penstock.Assignment, error) {
	l.set(func(l *leases) { l.calls++ })
	if err := l.trouble(ctx); err != nil {
		return penstock.Assignment{}, err
	}
	l.set(func(l *leases) { l.claims = append(l.claims, c) })
	if c.Busy >= c.Capacity || c.Stopping {
		return penstock.Assignment{}, penstock.ErrNoWork
	}
	select {
	case a := <-l.work:
		l.set(func(l *leases) { l.until[a.Lease.RunID] = time.Now().Add(penstock.LeaseTime) })
		return a, nil
	case <-time.After(c.Wait):
		return penstock.Assignment{}, penstock.ErrNoWork
	case <-ctx.Done():
		return penstock.Assignment{}, ctx.Err()
	}
}

func (l *leases) Heartbeat(ctx context.Context, lease penstock.Lease, wait time.Duration) (penstock.Signal, error) {
	if err := l.trouble(ctx); err != nil {
		return penstock.Signal{}, err
	}
	l.mu.Lock()
	now := time.Now()
	over := l.lost || now.After(l.until[lease.RunID])
	l.until[lease.RunID] = now.Add(penstock.LeaseTime)
	l.beats++
	l.mu.Unlock()
	if over {
		return penstock.Signal{}, penstock.ErrLeaseLost
	}
	select {
	case s := <-l.news:
		return s, nil
	case <-l.freed:
		return penstock.Signal{}, penstock.ErrLeaseLost
	case <-time.After(wait):
		return penstock.Signal{}, nil
	case <-ctx.Done():
		return penstock.Signal{}, ctx.Err()
	}
}

func (l *leases) leaseLeft(run string) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return time.Until(l.until[run])
}

// start runs a runner with work until stop is called, which waits for its end.
func start(l *leases, capacity int, work func(context.Context, queue.Job)) (r *queue.Runner, stop func()) {
	r = queue.New(queue.Options{
		Leases: l,
		Claim:  penstock.ClaimRequest{WorkerID: "w", Harnesses: []string{"builtin"}, Capacity: capacity},
		Work:   work,
		Log:    slog.New(slog.DiscardHandler),
	})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = r.Run(ctx)
	}()
	return r, func() {
		cancel()
		<-done
	}
}

func TestRunnerFillsItsSlotsAndNoMore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLeases("a", "b", "c", "d", "e")
		var ran sync.Map
		release := make(chan struct{})
		r, stop := start(l, 2, func(_ context.Context, job queue.Job) {
			ran.Store(job.Lease.RunID, true)
			<-release
		})
		count := func() (n int) {
			ran.Range(func(_, _ any) bool { n++; return true })
			return n
		}
		synctest.Wait()
		if got := count(); got != 2 || r.Busy() != 2 {
			t.Errorf("got %d at work with %d slots busy, want 2", got, r.Busy())
		}
		release <- struct{}{}
		synctest.Wait()
		if got := count(); got != 3 {
			t.Errorf("got %d taken after one slot became free, want 3", got)
		}
		close(release)
		synctest.Wait()
		if got := count(); got != 5 {
			t.Errorf("got %d taken in all, want 5", got)
		}
		stop()
	})
}

func TestLeaseIsRenewedWellBeforeItsEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLeases("a")
		least := penstock.LeaseTime
		_, stop := start(l, 1, func(lease context.Context, _ queue.Job) {
			for range 300 { // five minutes
				time.Sleep(time.Second)
				least = min(least, l.leaseLeft("a"))
			}
			if lease.Err() != nil {
				t.Errorf("the lease ended: %v", context.Cause(lease))
			}
		})
		time.Sleep(301 * time.Second)
		stop()
		if least < 20*time.Second {
			t.Errorf("the lease had only %v left at some time", least)
		}
	})
}

// troubles are ways in which no lease can be renewed.
var troubles = map[string]func(*leases){
	"calls fail":         func(l *leases) { l.fail = errors.New("connection refused") },
	"calls never return": func(l *leases) { l.hang = true },
}

// pause waits until the work of a lease must not run any more.
func pause(job queue.Job) {
	for job.Left() > 0 {
		time.Sleep(time.Second / 10)
	}
}

// The work pauses before another worker can get it. If nobody has taken it, it continues.
func TestWorkPausesWhileItsLeaseCannotBeRenewed(t *testing.T) {
	t.Parallel()
	for name, trouble := range troubles {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				l := newLeases("a")
				_, stop := start(l, 1, func(lease context.Context, job queue.Job) {
					time.Sleep(12 * time.Second)
					l.set(trouble)
					pause(job)
					if left := l.leaseLeft("a"); left < 6*time.Second || left > 10*time.Second {
						t.Errorf("paused with %v of the lease left", left)
					}
					time.Sleep(5 * time.Minute)
					l.set(func(l *leases) { // the control plane restarts and keeps the lease
						l.fail, l.hang = nil, false
						l.until["a"] = time.Now().Add(time.Hour)
					})
					time.Sleep(12 * time.Second)
					if lease.Err() != nil || job.Left() < 10*time.Second {
						t.Errorf("after the return the work may run for %v (%v)", job.Left(), context.Cause(lease))
					}
				})
				time.Sleep(10 * time.Minute)
				stop()
			})
		})
	}
}

func TestWorkIsCancelledAfterAllPatience(t *testing.T) {
	t.Parallel()
	for name, trouble := range troubles {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				l := newLeases("a")
				_, stop := start(l, 1, func(lease context.Context, _ queue.Job) {
					time.Sleep(12 * time.Second)
					l.set(trouble)
					began := time.Now()
					<-lease.Done()
					if cause := context.Cause(lease); !errors.Is(cause, queue.ErrNotRenewed) {
						t.Errorf("got cause %v, want ErrNotRenewed", cause)
					}
					if took := time.Since(began); took < 9*time.Minute || took > 12*time.Minute {
						t.Errorf("cancelled after %v", took)
					}
				})
				time.Sleep(15 * time.Minute)
				stop()
			})
		})
	}
}

// A runner that stops does not wait for a control plane that is away.
func TestStoppedRunnerGivesUpALeaseThatExpires(t *testing.T) {
	t.Parallel()
	for name, trouble := range troubles {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				l := newLeases("a")
				_, stop := start(l, 1, func(lease context.Context, job queue.Job) {
					<-job.HandBack
					<-lease.Done()
					if cause := context.Cause(lease); !errors.Is(cause, queue.ErrNotRenewed) {
						t.Errorf("got cause %v, want ErrNotRenewed", cause)
					}
				})
				time.Sleep(12 * time.Second)
				l.set(trouble)
				began := time.Now()
				stop()
				if took := time.Since(began); took > 45*time.Second {
					t.Errorf("stopped after %v", took)
				}
			})
		})
	}
}

func TestShortOutagesAreTolerated(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLeases("a")
		_, stop := start(l, 1, func(lease context.Context, _ queue.Job) {
			for range 5 {
				l.set(func(l *leases) { l.fail = errors.New("the server restarts") })
				time.Sleep(12 * time.Second)
				l.set(func(l *leases) { l.fail = nil })
				time.Sleep(12 * time.Second)
			}
			if lease.Err() != nil {
				t.Errorf("the lease ended: %v", context.Cause(lease))
			}
		})
		time.Sleep(3 * time.Minute)
		stop()
	})
}

func TestLostLeaseCancelsTheWorkAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLeases("a")
		var after time.Duration
		_, stop := start(l, 1, func(lease context.Context, _ queue.Job) {
			time.Sleep(31 * time.Second)
			lost := time.Now()
			l.set(func(l *leases) { l.lost = true; close(l.freed) })
			<-lease.Done()
			after = time.Since(lost)
			if cause := context.Cause(lease); !errors.Is(cause, penstock.ErrLeaseLost) {
				t.Errorf("got cause %v, want ErrLeaseLost", cause)
			}
		})
		time.Sleep(time.Minute)
		stop()
		if after > time.Second {
			t.Errorf("the work was cancelled after %v", after)
		}
	})
}

func TestHeartbeatChangesReachTheWorkWithoutABusyLoop(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLeases("a")
		_, stop := start(l, 1, func(_ context.Context, job queue.Job) {
			time.Sleep(2 * time.Second)
			l.news <- penstock.Signal{Followups: 1}
			<-job.Followups
			go func() { // every response reports a pending follow-up
				for range 20 {
					l.news <- penstock.Signal{Followups: 1}
				}
			}()
			time.Sleep(10 * time.Second)
			l.set(func(l *leases) {
				if l.beats > 14 {
					t.Errorf("%d heartbeats in 12 s", l.beats)
				}
			})
			time.Sleep(20 * time.Second) // until all have been told
		})
		time.Sleep(time.Minute)
		stop()
	})
}

func TestDrainFinishesClaimedWork(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLeases("a")
		var end time.Time
		r, stop := start(l, 2, func(lease context.Context, job queue.Job) {
			select {
			case <-time.After(2 * time.Minute):
			case <-lease.Done():
				t.Errorf("the lease ended: %v", context.Cause(lease))
			case <-job.HandBack:
				t.Error("the work was asked to be handed back")
			}
			end = time.Now()
		})
		time.Sleep(5 * time.Second)
		r.Drain()
		synctest.Wait()
		l.work <- penstock.Assignment{Lease: penstock.Lease{RunID: "late"}}
		time.Sleep(4 * time.Minute)
		stop()
		if end.IsZero() || len(l.work) != 1 {
			t.Errorf("work in hand ended at %v, %d left in the queue; want the first done and the second left", end, len(l.work))
		}
		last := l.claims[len(l.claims)-1]
		if diff := cmp.Diff(
			penstock.ClaimRequest{WorkerID: "w", Harnesses: []string{"builtin"}, Capacity: 2, Busy: 1, Stopping: true}, last,
		); diff != "" {
			t.Errorf("good-bye (-want +got):\n%s", diff)
		}
	})
}

func TestEndOfContextRequeuesWorkWithItsLease(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLeases("a")
		_, stop := start(l, 1, func(lease context.Context, job queue.Job) {
			<-job.HandBack
			time.Sleep(40 * time.Second) // longer than one lease: renewals continue
			if lease.Err() != nil {
				t.Errorf("the lease ended: %v", context.Cause(lease))
			}
		})
		time.Sleep(5 * time.Second)
		stopped := time.Now()
		stop()
		if took := time.Since(stopped); took != 40*time.Second {
			t.Errorf("Run returned after %v, want 40s", took)
		}
	})
}

func TestFailedClaimsAreSpacedOut(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLeases()
		l.fail = errors.New("the database is away")
		_, stop := start(l, 1, nil)
		time.Sleep(5 * time.Minute)
		stop()
		if l.calls < 25 || l.calls > 80 {
			t.Errorf("%d calls in five minutes", l.calls)
		}
	})
}

func TestABusyWorkerStaysConnected(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLeases("a", "b")
		_, stop := start(l, 1, func(_ context.Context, job queue.Job) { <-job.HandBack })
		time.Sleep(61 * time.Second)
		l.set(func(l *leases) {
			if n := len(l.claims); n != 5 {
				t.Errorf("%d calls in a minute, want the claim and four signs of life", n)
			}
		})
		if len(l.work) != 1 {
			t.Errorf("a heartbeat returned work")
		}
		stop()
	})
}

func TestOnceExecutesOneAssignment(t *testing.T) {
	t.Parallel()
	for name, held := range map[string]*penstock.Assignment{
		"claimed": nil, "held": {Lease: penstock.Lease{RunID: "mine"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				l := newLeases("a", "b")
				l.until["mine"] = time.Now().Add(penstock.LeaseTime)
				var ran []string
				r := queue.New(queue.Options{
					Leases: l, Log: slog.New(slog.DiscardHandler),
					Work: func(_ context.Context, job queue.Job) {
						ran = append(ran, job.Lease.RunID)
						time.Sleep(time.Minute) // longer than a lease
					},
				})
				if err := r.Once(t.Context(), held); err != nil {
					t.Errorf("got %v", err)
				}
				want := "a"
				if held != nil {
					want = "mine"
				}
				if diff := cmp.Diff([]string{want}, ran); diff != "" {
					t.Errorf("ran (-want +got):\n%s", diff)
				}
			})
		})
	}
}

func TestOnceReturnsWhyTheLeaseEnded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLeases("a")
		r := queue.New(queue.Options{
			Leases: l, Log: slog.New(slog.DiscardHandler),
			Work: func(lease context.Context, _ queue.Job) {
				l.set(func(l *leases) { l.fail = errors.New("connection refused") })
				<-lease.Done()
			},
			Patience: time.Minute,
		})
		if err := r.Once(t.Context(), nil); !errors.Is(err, queue.ErrNotRenewed) {
			t.Errorf("got %v, want ErrNotRenewed", err)
		}
	})
}

// Work that another process left comes before new claims, and takes slots.
func TestHeldWorkComesFirst(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLeases("new")
		l.until["left"] = time.Now().Add(5 * time.Second) // of the lease; it is renewed at once
		var ran []string
		r := queue.New(queue.Options{
			Leases: l, Log: slog.New(slog.DiscardHandler), Claim: penstock.ClaimRequest{Capacity: 1},
			Held: []penstock.Assignment{{Lease: penstock.Lease{RunID: "left"}}},
			Work: func(lease context.Context, job queue.Job) {
				ran = append(ran, job.Lease.RunID)
				time.Sleep(time.Minute)
				if lease.Err() != nil {
					t.Errorf("the lease of %s ended: %v", job.Lease.RunID, context.Cause(lease))
				}
			},
		})
		ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
		defer cancel()
		_ = r.Run(ctx)
		if diff := cmp.Diff([]string{"left", "new"}, ran); diff != "" {
			t.Errorf("ran (-want +got):\n%s", diff)
		}
	})
}
