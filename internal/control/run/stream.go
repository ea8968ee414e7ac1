package run

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/store"
)

// PollEvery is how often a waiter polls without a nudge.
const PollEvery = 2 * time.Second

// streamBatch is the largest number of events that a listener gets at once.
const streamBatch = 200

// hub shares one wake-up and one read of the log's end among all listeners of
// a run in this process.
type hub struct {
	s    *Streams
	mu   sync.Mutex
	runs map[string]*tail
}

// tail follows the log of one run for its listeners. It keeps the last events, so that a
// thousand listeners cost one query.
type tail struct {
	listeners int
	stop      context.CancelFunc

	mu     sync.Mutex
	recent []penstock.Event // the end of the log as far as it was read, at most keepRecent
	from   int64            // the sequence before the first of recent
	state  penstock.StateData
	last   int64         // the run's last sequence when state was read
	next   chan struct{} // closed when there is more
}

const keepRecent = 1000

// Stream is one listener of a run's log.
type Stream struct {
	s       *Streams
	run     string
	tail    *tail
	after   int64
	release func()
}

// Watch follows the log of a run after the given sequence number; 0 starts at the beginning.
// The caller closes the stream.
func (s *Streams) Watch(ctx context.Context, p penstock.Principal, runID string, after int64) (*Stream, error) {
	run, err := s.runs.readableRun(ctx, p, runID)
	if err != nil {
		return nil, err
	}
	if after < 0 || after > run.LastSeq {
		return nil, penstock.Errorf(
			penstock.CodeInvalidRequest, "the run has no event %d: its last event is %d", after, run.LastSeq,
		)
	}
	t, release := s.hub.join(ctx, run)
	return &Stream{s: s, run: runID, tail: t, after: after, release: release}, nil
}

// Close ends the stream.
func (st *Stream) Close() { st.release() }

// AtEnd reports whether the run has ended and the stream has returned its last event.
func (st *Stream) AtEnd() bool {
	st.tail.mu.Lock()
	defer st.tail.mu.Unlock()
	return st.endReached()
}

func (st *Stream) endReached() bool {
	t := st.tail
	return t.state.State.Done() && st.after >= t.last
}

// Done returns the data of the event `done` after Next has returned io.EOF.
func (st *Stream) Done() penstock.StateData {
	st.tail.mu.Lock()
	defer st.tail.mu.Unlock()
	return st.tail.state
}

// Next waits for new events and returns them. It returns io.EOF when the run has ended and all
// events were returned.
func (st *Stream) Next(ctx context.Context) ([]penstock.Event, error) {
	for {
		events, wait, err := st.ready(ctx)
		if err != nil || len(events) > 0 {
			return events, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-wait:
		}
	}
}

func (st *Stream) ready(ctx context.Context) ([]penstock.Event, <-chan struct{}, error) {
	t := st.tail
	t.mu.Lock()
	if st.after < t.from { // older than what is kept
		t.mu.Unlock()
		events, err := st.s.publicEvents(ctx, st.run, st.after)
		if err != nil {
			return nil, nil, err
		}
		if len(events) > 0 {
			st.after = events[len(events)-1].Seq
			return events, nil, nil
		}
		t.mu.Lock()
		st.after = max(st.after, t.from) // deltas that are gone
	}
	defer t.mu.Unlock()
	first := len(t.recent)
	for first > 0 && t.recent[first-1].Seq > st.after {
		first--
	}
	if events := t.recent[first:min(len(t.recent), first+streamBatch)]; len(events) > 0 {
		st.after = events[len(events)-1].Seq
		return events, nil, nil
	}
	if st.endReached() {
		return nil, nil, io.EOF
	}
	return nil, t.next, nil
}

// join adds a listener; the first one starts the reader.
func (h *hub) join(ctx context.Context, run store.RunRow) (*tail, func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.runs == nil {
		h.runs = map[string]*tail{}
	}
	t := h.runs[run.ID]
	if t == nil {
		ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
		t = &tail{
			stop: stop, from: run.LastSeq, last: run.LastSeq, next: make(chan struct{}), state: stateOf(run),
		}
		h.runs[run.ID] = t
		nudged, unsubscribe := h.s.store.Nudges.Subscribe(store.RunTopic(run.ID))
		go func() {
			defer unsubscribe()
			h.follow(ctx, t, run.ID, run.Team, nudged)
		}()
	}
	t.see(run)
	t.listeners++
	var once sync.Once
	return t, func() { once.Do(func() { h.unsubscribe(run.ID, t) }) }
}

// see records what a new listener knows of the run. The reader may not have had a nudge for it
// yet.
func (t *tail) see(run store.RunRow) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if run.LastSeq > t.last {
		t.state, t.last = stateOf(run), run.LastSeq
		t.wake()
	}
}

// wake notifies all waiters of new events. t must be locked.
func (t *tail) wake() {
	close(t.next)
	t.next = make(chan struct{})
}

func stateOf(run store.RunRow) penstock.StateData {
	return penstock.StateData{State: run.State, ExecutionID: run.ExecutionID, StatusMessage: run.StatusMessage}
}

func (h *hub) unsubscribe(runID string, t *tail) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if t.listeners--; t.listeners == 0 {
		t.stop()
		if h.runs[runID] == t {
			delete(h.runs, runID)
		}
	}
}

// follow reads new events until the last listener leaves.
func (h *hub) follow(ctx context.Context, t *tail, runID, team string, nudged <-chan struct{}) {
	poll := time.NewTicker(PollEvery)
	defer poll.Stop()
	after := t.from
	for {
		behind, err := h.read(ctx, t, runID, team, &after)
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			h.s.log.Warn("cannot read the events of a run; trying again", "run", runID, "error", err)
		}
		if behind {
			continue
		}
		select {
		case <-ctx.Done():
			return
		case <-nudged:
		case <-poll.C:
		}
	}
}

// read adds the events after *after. behind means that more may be ready. It reads the state
// before the events, so that a final state implies that all events up to the last one are
// there.
func (h *hub) read(ctx context.Context, t *tail, runID, team string, after *int64) (behind bool, err error) {
	run, err := h.s.store.Runs.Find(ctx, team, runID)
	if err != nil {
		return false, err
	}
	events, err := h.s.publicEvents(ctx, runID, *after)
	if err != nil {
		return false, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(events) == 0 && run.LastSeq == t.last && run.State == t.state.State {
		return false, nil
	}
	t.recent = append(t.recent, events...)
	if extra := len(t.recent) - keepRecent; extra > 0 {
		t.from = t.recent[extra-1].Seq
		t.recent = append([]penstock.Event(nil), t.recent[extra:]...)
	}
	if len(events) > 0 {
		*after = events[len(events)-1].Seq
	}
	// The state may be older than the events, or than what a listener brought.
	behind = len(events) == streamBatch || max(*after, t.last) > run.LastSeq
	if !behind {
		t.state, t.last = stateOf(run), run.LastSeq
	}
	t.wake()
	return behind, nil
}

func (s *Streams) publicEvents(ctx context.Context, runID string, after int64) ([]penstock.Event, error) {
	events, err := s.store.Events.List(ctx, runID, after, streamBatch)
	for i := range events {
		events[i] = events[i].Public()
	}
	return events, err
}

// writeTranscript writes a run's log as JSON Lines, one event per line, without deltas.
func (s *Streams) writeTranscript(ctx context.Context, w io.Writer, runIDs []string) error {
	out := json.NewEncoder(w)
	for _, id := range runIDs {
		for after := int64(0); ; {
			events, err := s.publicEvents(ctx, id, after)
			if err != nil {
				return err
			}
			if len(events) == 0 {
				break
			}
			after = events[len(events)-1].Seq
			for _, e := range events {
				if e.Type == penstock.EventMessageDelta {
					continue
				}
				if err := out.Encode(e); err != nil {
					return fmt.Errorf("write the transcript of run %s: %w", id, err)
				}
			}
		}
	}
	return nil
}
