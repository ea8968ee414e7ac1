package penstock_test

import (
	"testing"
	"time"

	"github.com/penstock-dev/penstock"
)

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 27, 10, 0, 0, 0, time.UTC)
	for _, test := range []struct {
		value, date string
		want        time.Duration
	}{
		{"", "", 0},
		{"7", "", 7 * time.Second},
		{" 1.5 ", "", 1500 * time.Millisecond},
		{"0", "", 0},
		{"-3", "", 0},
		{"NaN", "", 0},
		{"Inf", "", 365 * 24 * time.Hour},
		{"1e300", "", 365 * 24 * time.Hour},
		{"soon", "", 0},
		{"Fri, 27 Nov 2026 10:02:00 GMT", "", 2 * time.Minute},
		{"Friday, 27-Nov-26 10:02:00 UTC", "", 2 * time.Minute},
		{"2026-11-27T10:02:00Z", "", 2 * time.Minute},
		{"Fri, 27 Nov 2026 09:02:00 GMT", "", 0},
		{"Fri, 27 Nov 2026 11:02:00 GMT", "Fri, 27 Nov 2026 11:00:00 GMT", 2 * time.Minute}, // its clock is ahead
		{"Fri, 27 Nov 2026 10:02:00 GMT", "yesterday", 2 * time.Minute},
		{"Fri, 32 Nov 2026 10:02:00 GMT", "", 0},
		{"Wed, 27 Nov 2999 10:02:00 GMT", "", 365 * 24 * time.Hour},
	} {
		if got := penstock.RetryAfter(test.value, test.date, now); got != test.want {
			t.Errorf("Retry-After: %s at %q: got %s, want %s", test.value, test.date, got, test.want)
		}
	}
}
