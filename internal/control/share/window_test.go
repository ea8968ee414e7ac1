package share_test

import (
	"net/netip"
	"testing"
	"time"

	"github.com/penstock-dev/penstock/internal/control/share"
)

func TestWindowSlides(t *testing.T) {
	t.Parallel()
	start := time.Unix(1_700_000_000, 0)
	at := func(seconds float64) time.Time { return start.Add(time.Duration(seconds * float64(time.Second))) }
	var w share.Window
	for _, moment := range []float64{0, 0, 30, 59} {
		w.Add(at(moment), time.Second)
	}
	for _, test := range []struct {
		at    float64
		total int
		until map[int]time.Duration // by limit
	}{
		{59.5, 4, map[int]time.Duration{
			5: 0, 4: 500 * time.Millisecond, 3: 500 * time.Millisecond, 2: 30500 * time.Millisecond, 1: 59500 * time.Millisecond,
		}},
		{60, 2, map[int]time.Duration{3: 0, 2: 30 * time.Second}},
		{90, 1, map[int]time.Duration{1: 29 * time.Second}},
		{89, 1, map[int]time.Duration{1: 30 * time.Second}}, // the clock stepped back
		{1000, 0, map[int]time.Duration{1: 0}},
	} {
		if got := w.Total(at(test.at)); got != test.total {
			t.Errorf("at %g: got %d events, want %d", test.at, got, test.total)
		}
		for limit, want := range test.until {
			if got := w.Until(limit, at(test.at)); got != want {
				t.Errorf("at %g: fewer than %d in %s, want %s", test.at, limit, got, want)
			}
		}
	}
	if w.Add(at(1000), time.Second); w.Quiet(at(1059)) || !w.Quiet(at(1060)) {
		t.Error("a window is quiet a minute after its last event")
	}
}

func TestNetwork(t *testing.T) {
	t.Parallel()
	tests := []struct {
		a, b string
		same bool
	}{
		{"2001:db8::1", "2001:db8::2:3", true},
		{"2001:db8::1", "2001:db8:0:1::1", false},
		{"192.0.2.1", "192.0.2.1", true},
		{"192.0.2.1", "192.0.2.2", false},
		{"192.0.2.1", "::ffff:192.0.2.1", true},
		{"::ffff:192.0.2.1", "::ffff:192.0.2.2", false},
	}
	for _, tt := range tests {
		if got := share.Network(netip.MustParseAddr(tt.a)) == share.Network(netip.MustParseAddr(tt.b)); got != tt.same {
			t.Errorf("%s and %s: got %v, want %v", tt.a, tt.b, got, tt.same)
		}
	}
}

// An event of a busy window counts until the end of its second, and no caller has to wait longer
// than a minute.
func TestWindowRoundsUp(t *testing.T) {
	t.Parallel()
	start := time.Unix(1_700_000_000, 0)
	var busy, calm share.Window
	at := start.Add(100 * time.Millisecond)
	busy.Add(at, share.WindowTick(301))
	calm.Add(at, share.WindowTick(300))
	if wait := busy.Until(1, at); wait != share.WindowLength {
		t.Errorf("busy: wait %s, want %s", wait, share.WindowLength)
	}
	if end := at.Add(share.WindowLength); busy.Total(end) != 1 || busy.Total(end.Add(900*time.Millisecond)) != 0 {
		t.Error("busy: the event is not counted until the end of its second")
	}
	if end := at.Add(share.WindowLength); calm.Total(end.Add(-time.Millisecond)) != 1 || calm.Total(end) != 0 {
		t.Error("calm: the event is not counted for a minute")
	}
}
