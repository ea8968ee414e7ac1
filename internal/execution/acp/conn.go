package acp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"
	"time"
)

const (
	// Limits of the queues between the goroutines of a connection, in each direction.
	maxQueuedItems = 1024
	maxQueuedBytes = 16 << 20

	// maxServing limits the peer's simultaneous requests.
	maxServing = 128

	// flushTime limits the writing of the last responses after the peer has closed its end.
	flushTime = 5 * time.Second
)

const methodCancelRequest = "$/cancel_request"

// side holds the functions of one end for received messages. All three are called from one
// goroutine, in the order of arrival.
type side struct {
	// request returns the function that computes the response to a request. That function runs in
	// its own goroutine with ctx.
	request func(ctx context.Context, method string, params json.RawMessage) func() (any, error)
	notify  func(ctx context.Context, method string, params json.RawMessage)
	garbage func(line []byte, reason error)
}

// conn is one end of a connection. It has three goroutines: the reader parses and queues, the
// dispatcher delivers in order, and the writer writes. So a slow callback, or a peer that does not
// read, blocks only itself.
type conn struct {
	rw      io.ReadWriteCloser
	side    side
	maxLine int
	in      *queue[incoming]
	out     *queue[outgoing]

	mu      sync.Mutex
	lastID  int64
	pending map[int64]chan<- reply
	serving map[string]context.CancelCauseFunc
	cancel  context.CancelCauseFunc // of run's context
	ended   error                   // the error of all later calls
}

type incoming struct {
	msg     message
	garbage []byte
	reason  error // why garbage is not a message
}

type outgoing struct {
	line []byte
	call int64 // the call that waits for the response; 0: no call
}

type reply struct {
	result json.RawMessage
	err    error
}

func newConn(rw io.ReadWriteCloser) *conn {
	return &conn{
		rw:      rw,
		maxLine: maxLine,
		in:      newQueue[incoming](maxQueuedItems, maxQueuedBytes),
		out:     newQueue[outgoing](maxQueuedItems, maxQueuedBytes),
		pending: map[int64]chan<- reply{},
		serving: map[string]context.CancelCauseFunc{},
	}
}

// run works until the peer closes its end, ctx ends or close is called. It returns the reason, or
// nil if the peer closed its end. It waits for the handlers, whose ctx ends with the connection,
// but not for a Read that Close cannot interrupt.
func (c *conn) run(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(ErrClosed)
	c.mu.Lock()
	c.cancel = cancel
	c.mu.Unlock()
	defer c.rw.Close()
	stop := context.AfterFunc(ctx, func() { c.stop(context.Cause(ctx)) })
	defer stop()

	go c.read(ctx)
	written := make(chan struct{})
	go func() {
		defer close(written)
		c.write()
	}()

	handling, cancelHandlers := context.WithCancelCause(ctx)
	defer cancelHandlers(ErrClosed)
	var serving sync.WaitGroup
	for {
		item, ok := c.in.pop()
		if !ok {
			break
		}
		c.dispatch(ctx, handling, item, &serving)
	}

	reason := c.in.reason()
	c.end(reason)
	cancelHandlers(ErrClosed)
	serving.Wait()
	c.out.close(closed(reason))
	late := time.AfterFunc(flushTime, func() { c.rw.Close() })
	defer late.Stop()
	select {
	case <-written:
	case <-time.After(flushTime + time.Second):
	}
	if errors.Is(reason, errPeerGone) {
		return nil
	}
	return reason
}

// stop ends the connection from this end. If run is active, it returns reason.
func (c *conn) stop(reason error) {
	c.in.close(reason)
	c.out.close(closed(reason))
	c.rw.Close()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cancel != nil {
		c.cancel(reason)
	}
}

func closed(reason error) error {
	if errors.Is(reason, ErrClosed) {
		return reason
	}
	return fmt.Errorf("%w: %w", ErrClosed, reason)
}

func (c *conn) read(ctx context.Context) {
	lines := newLineReader(c.rw, c.maxLine)
	for {
		line, err := lines.next()
		if errors.Is(err, io.EOF) {
			err = errPeerGone
		}
		if err != nil {
			c.in.close(err)
			return
		}
		var item incoming
		if item.msg, item.reason = parseLine(line); item.reason != nil {
			item.garbage = line
		}
		if c.in.push(ctx, item, len(line)) != nil {
			return
		}
	}
}

// write ends at the first error. Earlier messages of the peer still count, so only the calls that
// were never sent fail here.
func (c *conn) write() {
	for {
		o, ok := c.out.pop()
		if !ok {
			return
		}
		if _, err := c.rw.Write(o.line); err != nil {
			reason := fmt.Errorf("%w: write: %w", ErrClosed, err)
			for _, unsent := range append([]outgoing{o}, c.out.drop(reason)...) {
				c.complete(unsent.call, reply{err: reason})
			}
			return
		}
	}
}

// dispatch handles one item. Responses are sent with ctx. Handlers run with handling, which ends
// earlier, so that they can still respond during the flush.
func (c *conn) dispatch(ctx, handling context.Context, item incoming, serving *sync.WaitGroup) {
	msg := item.msg
	switch {
	case item.reason != nil:
		c.side.garbage(item.garbage, item.reason)
	case msg.isResponse():
		c.settle(msg)
	case msg.isRequest():
		c.serve(ctx, handling, msg, serving)
	case msg.Method == methodCancelRequest:
		c.cancelServing(msg.Params)
	default:
		c.side.notify(handling, msg.Method, msg.Params)
	}
}

func (c *conn) settle(msg message) {
	id, err := strconv.ParseInt(string(msg.ID), 10, 64)
	r := reply{result: msg.Result}
	if msg.Error != nil {
		r.err = msg.Error
	}
	if err == nil && c.complete(id, r) {
		return
	}
	c.mu.Lock()
	known := err == nil && id > 0 && id <= c.lastID
	c.mu.Unlock()
	if !known { // ignore the response to an abandoned call
		c.side.garbage(msg.ID, errors.New("a response to an unknown request"))
	}
}

// complete gives r to the call that waits for it. It returns false if no call waits.
func (c *conn) complete(id int64, r reply) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	waiting, ok := c.pending[id]
	if ok {
		delete(c.pending, id)
		waiting <- r
	}
	return ok
}

func (c *conn) serve(ctx, handling context.Context, msg message, serving *sync.WaitGroup) {
	handling, cancel := context.WithCancelCause(handling)
	id := string(msg.ID)
	c.mu.Lock()
	_, twice := c.serving[id]
	busy := len(c.serving) >= maxServing
	if !twice && !busy {
		c.serving[id] = cancel
	}
	c.mu.Unlock()
	if twice || busy {
		cancel(nil)
		c.respond(ctx, msg.ID, nil, &Error{
			Code: CodeInvalidRequest, Message: "too many concurrent requests, or a request ID that is in use",
		})
		return
	}
	respond := c.side.request(handling, msg.Method, msg.Params)
	serving.Go(func() {
		result, err := respond()
		c.mu.Lock()
		delete(c.serving, id)
		c.mu.Unlock()
		cancel(nil)
		c.respond(ctx, msg.ID, result, err)
	})
}

// cancelServing ends the context of one of the peer's requests. The request still gets a response:
// the result of its handler.
func (c *conn) cancelServing(params json.RawMessage) {
	var p struct {
		RequestID json.RawMessage `json:"requestId"`
	}
	if json.Unmarshal(params, &p) != nil {
		return
	}
	c.mu.Lock()
	cancel := c.serving[string(p.RequestID)]
	c.mu.Unlock()
	if cancel != nil {
		cancel(context.Canceled)
	}
}

func (c *conn) respond(ctx context.Context, id json.RawMessage, result any, err error) {
	if result == nil {
		result = struct{}{}
	}
	msg := message{ID: id}
	if err == nil {
		msg.Result, err = encodeValue(result)
	}
	if err != nil {
		msg.Result = nil
		msg.Error = asError(err)
	}
	// It fails only if nobody can read it.
	_ = c.send(ctx, msg, 0)
}

func asError(err error) *Error {
	var e *Error
	switch {
	case errors.As(err, &e):
		return e
	case errors.Is(err, context.Canceled):
		return &Error{Code: CodeRequestCancelled, Message: "the request was cancelled"}
	}
	return &Error{Code: CodeInternal, Message: err.Error()}
}

// call sends a request and waits for the response, which it decodes into result unless that is nil.
// The error is the peer's *Error, the cause of ctx (after a $/cancel_request to the peer), or
// ErrClosed with the reason.
func (c *conn) call(ctx context.Context, method string, params, result any) error {
	raw, err := encodeValue(params)
	if err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	response := make(chan reply, 1)
	c.mu.Lock()
	if c.ended != nil {
		defer c.mu.Unlock()
		return fmt.Errorf("%s: %w", method, c.ended)
	}
	c.lastID++
	id := c.lastID
	c.pending[id] = response
	c.mu.Unlock()

	msg := message{ID: json.RawMessage(strconv.FormatInt(id, 10)), Method: method, Params: raw}
	if err := c.send(ctx, msg, id); err != nil {
		c.complete(id, reply{})
		return fmt.Errorf("%s: %w", method, err)
	}
	select {
	case r := <-response:
		if r.err != nil {
			return fmt.Errorf("%s: %w", method, r.err)
		}
		if result == nil {
			return nil
		}
		if err := json.Unmarshal(r.result, result); err != nil {
			return fmt.Errorf("%s: read the response: %w", method, err)
		}
		return nil
	case <-ctx.Done():
		c.complete(id, reply{})
		c.giveUp(ctx, msg.ID)
		return fmt.Errorf("%s: %w", method, context.Cause(ctx))
	}
}

// giveUp notifies the peer that nobody waits for its response any more.
func (c *conn) giveUp(ctx context.Context, id json.RawMessage) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 100*time.Millisecond)
	defer cancel()
	// This is optional: a peer that does not read notices the end of the connection.
	_ = c.notify(ctx, methodCancelRequest, map[string]json.RawMessage{"requestId": id})
}

// notify queues a notification. It waits if the peer reads too slowly.
func (c *conn) notify(ctx context.Context, method string, params any) error {
	raw, err := encodeValue(params)
	if err == nil {
		err = c.send(ctx, message{Method: method, Params: raw}, 0)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	return nil
}

func (c *conn) send(ctx context.Context, msg message, call int64) error {
	line, err := encodeLine(msg)
	if err != nil {
		return err
	}
	if len(line) > c.maxLine {
		return fmt.Errorf("a message of %d bytes exceeds the limit of the peer", len(line))
	}
	return c.out.push(ctx, outgoing{line, call}, len(line))
}

// end makes every waiting and every later call fail.
func (c *conn) end(reason error) {
	reason = closed(reason)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = reason
	for id, waiting := range c.pending {
		delete(c.pending, id)
		waiting <- reply{err: reason}
	}
}
