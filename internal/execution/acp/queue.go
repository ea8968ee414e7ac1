package acp

import (
	"context"
	"sync"
)

// queue is a bounded FIFO between two goroutines: at most maxItems, and at most maxBytes unless a
// single item is larger. A full queue makes push wait, so that a slow consumer slows the peer down.
type queue[T any] struct {
	maxItems, maxBytes int

	mu     sync.Mutex
	wake   sync.Cond
	items  []sized[T]
	bytes  int
	closed error // the error of push after close
}

type sized[T any] struct {
	value T
	size  int
}

func newQueue[T any](maxItems, maxBytes int) *queue[T] {
	q := &queue[T]{maxItems: maxItems, maxBytes: maxBytes}
	q.wake.L = &q.mu
	return q
}

// push appends v. It waits while the queue is full, and fails with the reason
// of close, or with the cause of ctx.
func (q *queue[T]) push(ctx context.Context, v T, size int) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	full := func() bool {
		return len(q.items) > 0 && (len(q.items) >= q.maxItems || q.bytes+size > q.maxBytes)
	}
	if q.closed == nil && full() {
		stop := context.AfterFunc(ctx, func() {
			q.mu.Lock()
			defer q.mu.Unlock()
			q.wake.Broadcast()
		})
		defer stop()
		for q.closed == nil && full() && ctx.Err() == nil {
			q.wake.Wait()
		}
	}
	if q.closed != nil {
		return q.closed
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	q.items = append(q.items, sized[T]{v, size})
	q.bytes += size
	q.wake.Broadcast()
	return nil
}

// pop takes the first item, and waits for one. It returns false once the queue is closed and empty.
func (q *queue[T]) pop() (T, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.items) == 0 && q.closed == nil {
		q.wake.Wait()
	}
	if len(q.items) == 0 {
		var none T
		return none, false
	}
	first := q.items[0]
	q.items[0] = sized[T]{}
	q.items = q.items[1:]
	q.bytes -= first.size
	q.wake.Broadcast()
	return first.value, true
}

// close makes push fail. Queued items can still be popped. The first reason stays.
func (q *queue[T]) close(reason error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed == nil {
		q.closed = reason
	}
	q.wake.Broadcast()
}

// drop closes the queue and returns all remaining items.
func (q *queue[T]) drop(reason error) []T {
	q.close(reason)
	q.mu.Lock()
	defer q.mu.Unlock()
	var left []T
	for _, item := range q.items {
		left = append(left, item.value)
	}
	q.items, q.bytes = nil, 0
	return left
}

// reason returns why the queue is closed, or nil while it is open.
func (q *queue[T]) reason() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.closed
}
