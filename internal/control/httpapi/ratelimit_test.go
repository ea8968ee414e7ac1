package httpapi

import (
	"testing"
	"time"

	"github.com/penstock-dev/penstock/internal/control/share"
)

func TestLimiterSlides(t *testing.T) {
	t.Parallel()
	start := time.Unix(1_700_000_000, 0)
	l := newLimiter(3)
	at := func(seconds float64) decision {
		return l.take("k", start.Add(time.Duration(seconds*float64(time.Second))))
	}
	for i, moment := range []float64{0, 30, 59} {
		if v := at(moment); !v.admitted || v.remaining != 2-i {
			t.Fatalf("request %d: got %+v, want it admitted with %d left", i, v, 2-i)
		}
	}
	if v := at(59.5); v.admitted || v.reset != 500*time.Millisecond {
		t.Errorf("fourth request: got %+v, want it refused for 500ms", v)
	}
	if v := at(60); !v.admitted {
		t.Errorf("a minute after the first: got %+v, want it admitted", v)
	}
	if v := at(61); v.admitted || v.reset != 29*time.Second {
		t.Errorf("got %+v, want it refused until the second is a minute old", v)
	}
	if v := at(1000); !v.admitted || v.remaining != 2 {
		t.Errorf("long after: got %+v, want a fresh budget", v)
	}
	if v := at(990); !v.admitted || v.remaining != 1 {
		t.Errorf("after the clock stepped back: got %+v, want it counted", v)
	}
}

// No window of a minute may have more than the quota.
func TestLimiterNeverExceedsItsQuota(t *testing.T) {
	t.Parallel()
	const quota = 7
	l := newLimiter(quota)
	now := time.Unix(1_700_000_000, 0)
	var admitted []time.Time
	for i := range 5000 {
		now = now.Add(time.Duration(i*7919%4000) * time.Millisecond)
		if l.take("k", now).admitted {
			admitted = append(admitted, now)
		}
	}
	if len(admitted) < 100 {
		t.Fatalf("only %d requests were admitted", len(admitted))
	}
	for i := quota; i < len(admitted); i++ {
		if gap := admitted[i].Sub(admitted[i-quota]); gap < share.WindowLength {
			t.Fatalf("%d requests within %s", quota+1, gap)
		}
	}
}

func TestLimiterForgetsQuietNames(t *testing.T) {
	t.Parallel()
	l := newLimiter(1)
	now := time.Unix(1_700_000_000, 0)
	for i := range 1000 {
		l.take(time.Unix(int64(i), 0).String(), now)
	}
	l.take("last", now.Add(2*share.WindowLength))
	if got := len(l.names); got != 1 {
		t.Errorf("got %d names, want 1", got)
	}
}

func TestARequestInProgressIsDetected(t *testing.T) {
	t.Parallel()
	f := newIdempotency(nil)
	if !f.begin("a") || f.begin("a") || !f.begin("b") {
		t.Error("a key can be under way once, whatever the others do")
	}
	f.end("a")
	if !f.begin("a") {
		t.Error("a key that has ended can begin again")
	}
}

func BenchmarkLimiter(b *testing.B) {
	l := newLimiter(1 << 30)
	b.ReportAllocs()
	for b.Loop() {
		l.take("key", time.Now())
	}
}
