package share

import (
	"context"
	"errors"
	"fmt"
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
// returns the first errors together, and how many more there were.
func Sweep[T any](size int, rows func(after T) ([]T, error), do func(T) error) error {
	var after T
	var failed []error
	more := 0
	for {
		page, err := rows(after)
		for _, row := range page {
			after = row
			switch err := do(row); {
			case err == nil:
			case len(failed) < shownErrors:
				failed = append(failed, err)
			default:
				more++
			}
		}
		if err == nil && len(page) == size {
			continue
		}
		if more > 0 {
			failed = append(failed, fmt.Errorf("%d more errors", more))
		}
		return errors.Join(append(failed, err)...)
	}
}

// shownErrors bounds the errors of a [Sweep], which are logged at each pass.
const shownErrors = 10

// Drain calls a function until it handles less than the limit.
func Drain(limit int, some func(limit int) (int, error)) error {
	for {
		if n, err := some(limit); err != nil || n < limit {
			return err
		}
	}
}
