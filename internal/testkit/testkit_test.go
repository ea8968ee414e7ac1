package testkit_test

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/penstock-dev/penstock/internal/testkit"
)

// watched is a test that may fail without failing this one.
type watched struct {
	testing.TB
	fatal string
}

func (*watched) Helper() {}

func (w *watched) Fatal(args ...any) { w.fatal = fmt.Sprint(args...) }

func TestEventually(t *testing.T) {
	t.Parallel()
	const limit = testkit.Patience * time.Second
	tests := []struct {
		name  string
		after time.Duration // when it comes true
		want  string
	}{
		{"true at once", 0, ""},
		{"true in time", limit - 100*time.Millisecond, ""},
		{"true at the last look", limit, ""},
		{"true too late", limit + time.Second, fmt.Sprintf("still not after %s: not yet", limit)},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				w := &watched{TB: t}
				testkit.Eventually(w, time.Second, func() error {
					if time.Since(start) < test.after {
						return errors.New("not yet")
					}
					return nil
				})
				if w.fatal != test.want {
					t.Errorf("got %q, want %q", w.fatal, test.want)
				}
				if took := time.Since(start); took > min(test.after, limit)+250*time.Millisecond {
					t.Errorf("took %s", took)
				}
			})
		})
	}
}
