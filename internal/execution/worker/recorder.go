package worker

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/supply/secret"
)

// Limits for sending events to the control plane.
const (
	batchTime  = 50 * time.Millisecond // how long an event waits for others
	batchBytes = 64 << 10              // batches of this size are sent at once
	queueBytes = 1 << 20               // may wait in the queue; then Record blocks
	callTime   = 10 * time.Second      // for the response to one call

	// Limits of the events of one execution, far above normal use. They prevent an agent from
	// filling the server's disk with messages.
	maxRecorded = 1 << 30 // bytes of data, with an overhead for each event
	perEvent    = 512
)

// errRecorded ends an execution that exceeds these limits.
var errRecorded = errors.New("the run reached the limit of recorded events")

// errClosed is returned by a closed recorder.
var errClosed = errors.New("the execution is over")

// recorder cleans the events of one execution and appends them to the log, in order and in batches.
// It retries a failed append while the lease is active. Meanwhile the queue fills up, Record
// blocks, and finally the agent slows down. It drops only events that the control plane rejects as
// invalid.
type recorder struct {
	append func(ctx context.Context, drafts []penstock.Draft) error
	mask   *secret.Masker
	log    *slog.Logger
	stop   func(error) // called when the lease is lost, or with errRecorded
	most   int64       // maxRecorded

	mu      sync.Mutex
	wake    *sync.Cond // signals changes of the fields below
	queue   []penstock.Draft
	bytes   int
	all     int64 // bytes of all events queued so far
	last    int64 // number of the last queued draft
	done    int64 // drafts up to this number are appended
	urgent  int64 // drafts up to this number do not wait for a batch
	failed  error // the error that stopped appending
	streams map[string]*stream
}

// stream is a message that comes in deltas.
type stream struct {
	cleaner cleaner
	masked  *secret.Stream
}

func newRecorder(
	mask *secret.Masker, log *slog.Logger, stop func(error), add func(context.Context, []penstock.Draft) error,
) *recorder {
	r := &recorder{append: add, mask: mask, log: log, stop: stop, most: maxRecorded, streams: map[string]*stream{}}
	r.wake = sync.NewCond(&r.mu)
	return r
}

// Record queues an event. It waits while the queue is full, and does nothing
// once the lease is lost.
func (r *recorder) Record(d penstock.Draft) {
	r.mu.Lock()
	defer r.mu.Unlock()
	d, ok := r.fit(d)
	if !ok {
		return
	}
	for r.failed == nil && r.bytes > 0 && r.bytes+len(d.Data) > queueBytes {
		r.wake.Wait()
	}
	if r.failed != nil {
		return
	}
	if d.Type == penstock.EventMessage && d.Key != "" {
		r.supersede(d.Key)
	}
	r.last++
	d.N = r.last
	r.queue = append(r.queue, d)
	r.bytes += len(d.Data)
	if r.all += int64(len(d.Data)) + perEvent; r.all > r.most {
		r.stop(errRecorded)
	}
	r.wake.Broadcast()
}

// supersede removes the deltas of a complete message from the queue.
func (r *recorder) supersede(key string) {
	r.queue = slices.DeleteFunc(r.queue, func(d penstock.Draft) bool {
		gone := d.Type == penstock.EventMessageDelta && d.Key == key
		if gone {
			r.bytes -= len(d.Data)
		}
		return gone
	})
}

// fit cleans an event. It returns false if nothing of the event can be sent (yet).
func (r *recorder) fit(d penstock.Draft) (penstock.Draft, bool) {
	if d.Type == penstock.EventMessageDelta {
		return r.fitDelta(d)
	}
	if d.Type == penstock.EventMessage {
		delete(r.streams, d.Key)
	}
	if data := clean(d.Data, r.mask); data != nil {
		d.Data = data
		return d, true
	}
	short, ok := leftOut(d)
	if !ok {
		r.log.Warn("event is too large to record", "type", d.Type, "bytes", len(d.Data))
		return d, false
	}
	if short.Data = clean(short.Data, r.mask); short.Data == nil {
		return d, false
	}
	return short, true
}

// fitDelta masks secrets across the deltas of a message. Text that may be the beginning of a secret
// waits for the next delta.
func (r *recorder) fitDelta(d penstock.Draft) (penstock.Draft, bool) {
	var delta penstock.MessageDelta
	if json.Unmarshal(d.Data, &delta) != nil {
		return d, false
	}
	s := r.streams[delta.ID]
	if s == nil {
		s = &stream{masked: r.mask.Stream()}
		r.streams[delta.ID] = s
	}
	if delta.Text = s.masked.Write(s.cleaner.write(delta.Text)); delta.Text == "" {
		return d, false
	}
	return penstock.NewDraft(d.Type, d.At, delta), true
}

// Flush returns once all earlier events are in the log, or returns the error that prevents it.
func (r *recorder) Flush() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	mine := r.last
	r.urgent = mine
	r.wake.Broadcast()
	for r.failed == nil && r.done < mine {
		r.wake.Wait()
	}
	if r.done >= mine {
		return nil
	}
	return r.failed
}

// Close makes Run return. It drops events that are not appended yet.
func (r *recorder) Close() { r.fail(errClosed) }

func (r *recorder) fail(reason error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.failed == nil {
		r.failed = reason
	}
	r.queue, r.bytes = nil, 0
	r.wake.Broadcast()
}

// Run appends recorded events until Close, or until lease ends.
func (r *recorder) Run(lease context.Context) {
	defer context.AfterFunc(lease, func() { r.fail(context.Cause(lease)) })()
	for {
		batch, ok := r.next()
		if !ok {
			return
		}
		if err := r.send(lease, batch); err != nil {
			r.fail(err)
			if errors.Is(err, penstock.ErrLeaseLost) {
				r.stop(err)
			}
			return
		}
		r.mu.Lock()
		r.done = batch[len(batch)-1].N
		r.wake.Broadcast()
		r.mu.Unlock()
	}
}

// next waits for a batch: the events within batchTime. It returns earlier if the batch is urgent or
// large enough.
func (r *recorder) next() ([]penstock.Draft, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for len(r.queue) == 0 && r.failed == nil {
		r.wake.Wait()
	}
	if r.failed != nil {
		return nil, false
	}
	waited := false
	timer := time.AfterFunc(batchTime, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		waited = true
		r.wake.Broadcast()
	})
	defer timer.Stop()
	for !waited && r.failed == nil && r.bytes < batchBytes && r.urgent < r.queue[0].N {
		r.wake.Wait()
	}
	if r.failed != nil {
		return nil, false
	}
	n, size := 0, 0
	for n < len(r.queue) && (n == 0 || size+len(r.queue[n].Data) <= maxEvent) {
		size += len(r.queue[n].Data)
		n++
	}
	batch := r.queue[:n:n]
	r.queue = r.queue[n:]
	r.bytes -= size
	r.wake.Broadcast()
	return batch, true
}

// send appends a batch, and retries until it succeeds. If the control plane rejects a batch, it
// sends one event at a time, so that only the invalid event is lost.
func (r *recorder) send(lease context.Context, batch []penstock.Draft) error {
	err := retry(lease, func(ctx context.Context) error { return r.append(ctx, batch) })
	var refused *penstock.Error
	switch {
	case lease.Err() != nil || !errors.As(err, &refused):
		return err
	case len(batch) == 1 && batch[0].Type == penstock.EventState:
		return err // later events would be wrong without it
	case len(batch) == 1:
		r.log.ErrorContext(lease, "the control plane rejected an event", "type", batch[0].Type, "error", err)
		return nil
	}
	for _, d := range batch {
		if err := r.send(lease, []penstock.Draft{d}); err != nil {
			return err
		}
	}
	return nil
}

// retry repeats a call until the control plane accepts or rejects it, or reports that the lease is
// lost. It retries after errors of transport and storage. When the context ends, it returns the
// cause.
func retry(lease context.Context, call func(context.Context) error) error {
	pause := 50 * time.Millisecond
	for {
		ctx, cancel := context.WithTimeout(lease, callTime)
		err := call(ctx)
		cancel()
		var refused *penstock.Error
		switch {
		case err == nil, errors.Is(err, penstock.ErrLeaseLost):
			return err
		case lease.Err() != nil:
			return errors.Join(context.Cause(lease), err)
		case errors.As(err, &refused) && !refused.Code.Retryable() && !refused.Retryable:
			return err
		}
		select {
		case <-lease.Done():
			return errors.Join(context.Cause(lease), err)
		case <-time.After(pause):
		}
		pause = min(2*pause, 2*time.Second)
	}
}
