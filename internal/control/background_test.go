package control

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"
)

// A job that runs many times a second logs its failure at most once a second.
func TestWorkThatFailsIsTriedEachSecond(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		err  error
		want int
	}{"done": {nil, 101}, "failed": {errors.New("the disk is full"), 11}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second+time.Millisecond)
				defer cancel()
				tried := 0
				j := job{every: 100 * time.Millisecond, do: func(context.Context) error { tried++; return test.err }}
				j.repeat(ctx, nil, slog.New(slog.DiscardHandler))
				if tried != test.want {
					t.Errorf("tried %d times in ten seconds, want %d", tried, test.want)
				}
			})
		})
	}
}
