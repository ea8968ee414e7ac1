package share

import (
	"context"
	"errors"
	"time"
)

// BatchSize is how many log entries one transaction removes. New deliveries wait for this
// transaction.
const BatchSize = 100

// ClearInBatches clears batches until nothing is left. It works at most a quarter of the time.
func ClearInBatches(ctx context.Context, some func() (int, error)) error {
	for {
		start := time.Now()
		n, err := some()
		if err != nil || n < BatchSize {
			return err
		}
		if err := Pause(ctx, 3*time.Since(start)); err != nil {
			return err
		}
	}
}

// Pause waits for d, or until ctx ends.
func Pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// Sweep does something with every row of a list, which it reads a page at a time. rows returns those that follow
// a row, the zero value first, and at most size of them. A row that fails keeps no other from its turn: Sweep
// returns the errors together.
func Sweep[T any](size int, rows func(after T) ([]T, error), do func(T) error) error {
	var after T
	var failed error
	for {
		page, err := rows(after)
		if err != nil {
			return errors.Join(failed, err)
		}
		for _, row := range page {
			failed = errors.Join(failed, do(row))
			after = row
		}
		if len(page) < size {
			return failed
		}
	}
}

// Drain calls a function until it handles less than the limit.
func Drain(limit int, some func(limit int) (int, error)) error {
	for {
		if n, err := some(limit); err != nil || n < limit {
			return err
		}
	}
}
