package share

import (
	"context"
	"errors"
	"sync"
	"time"
)

// SharedRead lets concurrent callers share one read of the store. No result is older than its call:
// a caller during a read gets the next one. The zero value is ready.
type SharedRead[T any] struct {
	mu   sync.Mutex
	keys map[string]*reads[T]
}

// reads are the consecutive reads of one key.
type reads[T any] struct {
	turn  chan struct{} // full while a read is under way
	next  *read[T]      // the next read; nil: nobody waits for it
	users int           // callers of ask
}

type read[T any] struct {
	done  chan struct{}
	value T
	err   error
}

// sharedTime limits a read, which does not end with its caller's context.
const sharedTime = 10 * time.Second

// errNotRead is returned to callers that shared a read that panicked.
var errNotRead = errors.New("the read that was shared with others broke off")

// Ask returns the result of read, which this or another caller runs.
func (s *SharedRead[T]) Ask(ctx context.Context, key string, read func(context.Context) (T, error)) (T, error) {
	all, r, first := s.join(key)
	defer s.release(key, all)
	if !first {
		<-r.done
		return r.value, r.err
	}
	all.turn <- struct{}{}
	defer func() { <-all.turn }()
	defer close(r.done)
	s.begin(all)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), sharedTime)
	defer cancel()
	r.value, r.err = read(ctx)
	return r.value, r.err
}

// join registers the caller for the next read. The first caller runs it.
func (s *SharedRead[T]) join(key string) (all *reads[T], r *read[T], first bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.keys == nil {
		s.keys = map[string]*reads[T]{}
	}
	if all = s.keys[key]; all == nil {
		all = &reads[T]{turn: make(chan struct{}, 1)}
		s.keys[key] = all
	}
	all.users++
	if first = all.next == nil; first {
		all.next = &read[T]{done: make(chan struct{}), err: errNotRead}
	}
	return all, all.next, first
}

// begin closes a read to further callers.
func (s *SharedRead[T]) begin(all *reads[T]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	all.next = nil
}

func (s *SharedRead[T]) release(key string, all *reads[T]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if all.users--; all.users == 0 {
		delete(s.keys, key)
	}
}
