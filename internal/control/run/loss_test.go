package run

import (
	"testing"
	"time"
)

// A server that slept, or whose clock was set, is awake again after the time that workers need.
func TestAwake(t *testing.T) {
	t.Parallel()
	for name, jump := range map[string]time.Duration{
		"started": 0, "slept": time.Hour, "clock set back": -time.Hour, "clock set back a little": -time.Millisecond,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var w wakefulness
			now := time.Unix(1_000_000, 0)
			if jump != 0 {
				w.awake(now)
				now = now.Add(jump)
			}
			for rest := time.Duration(0); rest < 2*restTime; rest += time.Second {
				if got, want := w.awake(now.Add(rest)), rest > restTime; got != want {
					t.Fatalf("after %s: got %v", rest, got)
				}
			}
		})
	}
}
