package penstock_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock"
)

func TestBudgetPeriods(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		period         penstock.BudgetPeriod
		zone           string
		at, start, end string
	}{
		"a day in UTC": {
			"day", "UTC", "2026-02-03T10:00:00Z", "2026-02-03T00:00:00.000Z", "2026-02-04T00:00:00.000Z",
		},
		"its last instant": {
			"day", "UTC", "2026-02-03T23:59:59.999Z", "2026-02-03T00:00:00.000Z", "2026-02-04T00:00:00.000Z",
		},
		"its first instant": {
			"day", "UTC", "2026-02-03T00:00:00Z", "2026-02-03T00:00:00.000Z", "2026-02-04T00:00:00.000Z",
		},
		"a day that has begun in Berlin but not in UTC": {
			"day", "Europe/Berlin", "2026-02-03T23:30:00Z", "2026-02-03T23:00:00.000Z", "2026-02-04T23:00:00.000Z",
		},
		"a day of 23 hours": {
			"day", "Europe/Berlin", "2026-03-29T10:00:00Z", "2026-03-28T23:00:00.000Z", "2026-03-29T22:00:00.000Z",
		},
		"a day without midnight": {
			"day", "America/Santiago", "2026-09-06T12:00:00Z", "2026-09-06T04:00:00.000Z", "2026-09-07T03:00:00.000Z",
		},
		"a day with two midnights": {
			"day", "America/Havana", "2026-11-01T12:00:00Z", "2026-11-01T04:00:00.000Z", "2026-11-02T05:00:00.000Z",
		},
		"a week from Monday": {
			"week", "UTC", "2026-02-01T10:00:00Z", "2026-01-26T00:00:00.000Z", "2026-02-02T00:00:00.000Z",
		},
		"a week that begins now": {
			"week", "UTC", "2026-02-02T00:00:00Z", "2026-02-02T00:00:00.000Z", "2026-02-09T00:00:00.000Z",
		},
		"a month": {
			"month", "UTC", "2026-12-31T10:00:00Z", "2026-12-01T00:00:00.000Z", "2027-01-01T00:00:00.000Z",
		},
		"a month in New York": {
			"month", "America/New_York", "2026-03-01T04:59:00Z", "2026-02-01T05:00:00.000Z", "2026-03-01T05:00:00.000Z",
		},
	} {
		zone, err := penstock.ParseZone(c.zone)
		if err != nil {
			t.Fatal(err)
		}
		at, err := time.Parse(time.RFC3339Nano, c.at)
		if err != nil {
			t.Fatal(err)
		}
		start, end := c.period.At(penstock.TimeOf(at), zone)
		if got, want := start.String()+" "+end.String(), c.start+" "+c.end; got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
	if start, end := penstock.BudgetTotal.At(penstock.Now(), time.UTC); start != 0 || end != 0 {
		t.Errorf("total: got %d to %d, want no bounds", start, end)
	}
}

func TestBudgetsAreChecked(t *testing.T) {
	t.Parallel()
	good := penstock.SharedBudget{
		Period: penstock.BudgetDay, Action: penstock.BudgetPause, TimeZone: "Europe/Berlin", NotifyAt: []float64{1, 0.5, 0.5},
	}
	if errs := good.Check(); errs != nil {
		t.Errorf("got %v, want no errors", errs)
	}
	if want := []float64{0.5, 1}; !cmp.Equal(good.NotifyAt, want) {
		t.Errorf("got thresholds %v, want %v", good.NotifyAt, want)
	}
	bad := penstock.SharedBudget{
		Period: "year", Action: "stop", TimeZone: "Local", MaxCostUSD: -0.01, NotifyAt: []float64{0, 0.8},
	}
	var got []string
	for _, e := range bad.Check() {
		got = append(got, e.Pointer)
	}
	want := []string{"/period", "/action", "/time_zone", "/max_cost_usd", "/notify_at"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("pointers (-want +got):\n%s", diff)
	}
}
