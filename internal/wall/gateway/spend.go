package gateway

import (
	"context"
	"crypto/rand"
	"net/http"
	"sync"
	"time"

	"github.com/penstock-dev/penstock"
)

// Spend counts calls before they are sent. The worker implements it over its Control.
type Spend interface {
	// Reserve counts a call. While the control plane does not respond, it waits and tries again,
	// until ctx ends. After any other error the call is not sent.
	Reserve(ctx context.Context, r penstock.Reservation) (penstock.Reserved, error)
	// Settle reports what a call has used, and returns once the control plane knows or never
	// will. The end of the session does not interrupt it.
	Settle(s penstock.Settlement)
}

// spending is what a session knows about its own reservations.
type spending struct {
	settling sync.WaitGroup
	spendMu  sync.Mutex
	inFlight int           // reservations that are not settled
	freed    chan struct{} // closed when one is; nil without a waiting call
	exceeded *Refusal      // the first refusal of a budget: all later calls get it
}

// askEvery is how long a call waits for a reservation that this session does not know, such as one
// from an earlier execution.
const askEvery = 2 * time.Second

// count reserves the bound of a call, and puts the limit of its output into the body. If the
// agent hangs up or the session ends meanwhile, it ends the handler.
func (s *Session) count(ctx context.Context, r *http.Request, c *activeCall) *Refusal {
	b := c.checked.bound
	if b == nil {
		return nil
	}
	asking := &asking{s: s, c: c, header: r.Header, id: rand.Text()}
	refusal, err := asking.reserve(ctx)
	over := refusal == nil && ctx.Err() != nil
	if asking.unclear || over && asking.granted {
		s.settle(penstock.Settlement{ID: asking.id, Unsent: true}, asking.granted)
	}
	if over {
		panic(http.ErrAbortHandler)
	}
	if err != nil {
		if s.done.Err() == nil {
			s.g.log.ErrorContext(ctx, "cannot count a call to a model", "provider", c.u.Name, "error", err)
		}
		refusal = refuse("", "The call was not sent because it could not be counted against the budgets of the run.")
	}
	if refusal != nil {
		refusal.Model, refusal.Tools = c.Model, c.Tools
		return refusal
	}
	if c.reserved.Capped {
		c.checked.edits = merge(c.checked.edits, b.limitEdits(c.body, c.reserved.Output))
	}
	c.checked.root = nil
	return nil
}

// asking is a call that asks for its reservation.
type asking struct {
	s       *Session
	c       *activeCall
	header  http.Header
	id      string
	counted bool // the provider was asked to count the prompt
	lowers  bool // the output may be lowered
	granted bool
	unclear bool // the request failed: the call may be reserved or may be soon
}

// reserve asks until the call may be sent, or returns why it must not be. It first asks for the whole bound. If
// that has no room, the provider counts the prompt, which is far less than its bytes; and if
// that has none, and no other call is about to free some, the output is lowered.
func (a *asking) reserve(ctx context.Context) (*Refusal, error) {
	s, b := a.s, a.c.checked.bound
	for {
		if refusal := s.latched(); refusal != nil {
			return refusal, nil
		}
		if err := context.Cause(ctx); err != nil {
			return nil, err
		}
		freed, others := s.watch()
		ask := b.reservation(a.id, !a.lowers)
		// Not ctx: if the agent hangs up now, the response still says whether anything is reserved.
		got, err := s.opts.Spend.Reserve(s.done, ask)
		switch {
		case err != nil:
			a.unclear = true
			return nil, err
		case got.Refusal == nil && !got.Wait:
			a.granted, a.c.reservation, a.c.reserved = true, &ask, got
			s.reserved()
			return nil, nil //nolint:nilnil // no refusal is the good end
		case got.Refusal != nil && got.Refusal.Budget == nil: // the request itself is refused
			return a.refusal(*got.Refusal), nil
		case !a.counted:
			a.counted = true
			if a.countPrompt(ctx) {
				continue
			}
		}
		switch {
		case got.Wait || others:
			wait(ctx, freed)
			a.lowers = false
		case !a.lowers:
			a.lowers = true
		default:
			return s.latch(a.refusal(*got.Refusal)), nil
		}
	}
}

// refusal explains to the agent why the call is not sent.
func (a *asking) refusal(spend penstock.SpendRefusal) *Refusal {
	refusal := refuse("", spend.Detail)
	refusal.Spend = &spend
	return refusal
}

// wait returns when a reservation is settled, after a while, or with ctx.
func wait(ctx context.Context, freed <-chan struct{}) {
	timer := time.NewTimer(askEvery)
	defer timer.Stop()
	select {
	case <-freed:
	case <-timer.C:
	case <-ctx.Done():
	}
}

// watch returns a channel that closes when the next reservation is settled, and whether there
// are any.
func (s *spending) watch() (freed <-chan struct{}, others bool) {
	s.spendMu.Lock()
	defer s.spendMu.Unlock()
	if s.freed == nil {
		s.freed = make(chan struct{})
	}
	return s.freed, s.inFlight > 0
}

func (s *spending) reserved() {
	s.spendMu.Lock()
	defer s.spendMu.Unlock()
	s.inFlight++
}

// Settled returns once no reservation of the session is open.
func (s *Session) Settled() {
	for {
		freed, others := s.watch()
		if !others {
			return
		}
		<-freed
	}
}

// settle reports a call in the background, so that the agent does not wait for it. It frees a
// reservation that is held.
func (s *Session) settle(settlement penstock.Settlement, held bool) {
	s.settling.Go(func() {
		s.opts.Spend.Settle(settlement)
		s.spendMu.Lock()
		defer s.spendMu.Unlock()
		if held {
			s.inFlight--
		}
		if s.freed != nil {
			close(s.freed)
			s.freed = nil
		}
	})
}

// latch keeps the first refusal of a budget. The run stops with it, so no later call of the
// session may be sent, even if it were small enough.
func (s *spending) latch(refusal *Refusal) *Refusal {
	s.spendMu.Lock()
	defer s.spendMu.Unlock()
	if s.exceeded == nil {
		s.exceeded = refusal
		if s.freed != nil { // calls that wait are refused as well
			close(s.freed)
			s.freed = nil
		}
	}
	exceeded := *s.exceeded
	return &exceeded
}

func (s *spending) latched() *Refusal {
	s.spendMu.Lock()
	defer s.spendMu.Unlock()
	if s.exceeded == nil {
		return nil
	}
	exceeded := *s.exceeded
	return &exceeded
}
