package factory

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/store"
)

func TestTimesThatHaveCome(t *testing.T) {
	t.Parallel()
	at := func(text string) penstock.Time {
		var at penstock.Time
		if err := at.UnmarshalText([]byte(text)); err != nil {
			t.Fatal(err)
		}
		return at
	}
	missed := func(count int, first, last string) *store.MissedTicks {
		return &store.MissedTicks{Count: count, First: at(first), Last: at(last)}
	}
	for name, c := range map[string]struct {
		cron, zone, first, now string
		catchUp                penstock.CatchUp
		start                  []string
		starts                 int // instead of start
		missed                 *store.MissedTicks
	}{
		"on time": {
			cron: "0 3 * * *", first: "2027-01-05T03:00:00Z", now: "2027-01-05T03:00:01Z", catchUp: "once",
			start: []string{"2027-01-05T03:00:00Z"},
		},
		"a night without a server": {
			cron: "0 3 * * *", first: "2027-01-05T03:00:00Z", now: "2027-01-05T09:00:00Z", catchUp: "once",
			start: []string{"2027-01-05T03:00:00Z"},
		},
		"a night without a server, none": {
			cron: "0 3 * * *", first: "2027-01-05T03:00:00Z", now: "2027-01-05T09:00:00Z", catchUp: "none",
			missed: missed(1, "2027-01-05T03:00:00Z", "2027-01-05T03:00:00Z"),
		},
		"a week without a server": {
			cron: "0 3 * * *", first: "2027-01-05T03:00:00Z", now: "2027-01-11T09:00:00Z", catchUp: "once",
			start: []string{"2027-01-11T03:00:00Z"}, missed: missed(6, "2027-01-05T03:00:00Z", "2027-01-10T03:00:00Z"),
		},
		"a week without a server, all": {
			cron: "0 3 * * *", first: "2027-01-09T03:00:00Z", now: "2027-01-11T09:00:00Z", catchUp: "all",
			start: []string{"2027-01-09T03:00:00Z", "2027-01-10T03:00:00Z", "2027-01-11T03:00:00Z"},
		},
		"a week without a server, none, back at a time of it": {
			cron: "0 3 * * *", first: "2027-01-09T03:00:00Z", now: "2027-01-11T03:00:30Z", catchUp: "none",
			start: []string{"2027-01-11T03:00:00Z"}, missed: missed(2, "2027-01-09T03:00:00Z", "2027-01-10T03:00:00Z"),
		},
		"more than 100": {
			cron: "* * * * *", first: "2027-01-05T03:00:00Z", now: "2027-01-05T06:00:30Z", catchUp: "all",
			starts: 100, missed: missed(81, "2027-01-05T03:00:00Z", "2027-01-05T04:20:00Z"),
		},
		"a clock that jumped thirty years": {
			cron: "* * * * *", first: "2027-01-05T03:00:00Z", now: "2057-01-05T03:00:30Z", catchUp: "once",
			start: []string{"2057-01-05T03:00:00Z"},
			missed: &store.MissedTicks{
				Count: maxCounted, AtLeast: true, First: at("2027-01-05T03:00:00Z"), Last: at("2057-01-05T02:59:00Z"),
			},
		},
		"an interval keeps its rhythm": {
			cron: "@every 7m", first: "2027-01-05T03:00:00.123Z", now: "2027-01-05T03:30:00Z", catchUp: "all",
			start: []string{
				"2027-01-05T03:00:00.123Z", "2027-01-05T03:07:00.123Z", "2027-01-05T03:14:00.123Z", "2027-01-05T03:21:00.123Z",
				"2027-01-05T03:28:00.123Z",
			},
		},
		"an interval over years": {
			cron: "@every 90s", first: "2027-01-05T03:00:00Z", now: "2037-01-05T03:00:10Z", catchUp: "once",
			start: []string{"2037-01-05T03:00:00Z"}, missed: missed(3506880, "2027-01-05T03:00:00Z", "2037-01-05T02:58:30Z"),
		},
		"the hour that summer skips": {
			cron: "30 2 * * *", zone: "Europe/Berlin",
			first: "2027-03-27T01:30:00Z", now: "2027-03-29T12:00:00Z", catchUp: "all",
			start: []string{"2027-03-27T01:30:00Z", "2027-03-28T01:00:00Z", "2027-03-29T00:30:00Z"},
		},
		"one that summer skips, back within the hour after it": {
			cron: "30 1,2 * * *", zone: "Europe/Berlin",
			first: "2027-03-28T00:30:00Z", now: "2027-03-28T01:10:00Z", catchUp: "all",
			start: []string{"2027-03-28T00:30:00Z", "2027-03-28T01:00:00Z"},
		},
		"the hour that autumn repeats": {
			cron: "30 2 * * *", zone: "Europe/Berlin",
			first: "2027-10-30T00:30:00Z", now: "2027-11-01T12:00:00Z", catchUp: "all",
			start: []string{"2027-10-30T00:30:00Z", "2027-10-31T00:30:00Z", "2027-11-01T01:30:00Z"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			place, err := parsePlace(c.zone)
			if err != nil {
				t.Fatal(err)
			}
			times, err := parseCronIn(c.cron, place)
			if err != nil {
				t.Fatal(err)
			}
			got := times.due(at(c.first), at(c.now), c.catchUp)
			if diff := cmp.Diff(c.missed, got.missed); diff != "" {
				t.Errorf("missed, -want +got:\n%s", diff)
			}
			if c.starts > 0 {
				if len(got.start) != c.starts {
					t.Errorf("%d times start runs, not %d", len(got.start), c.starts)
				}
				return
			}
			want := []penstock.Time{}
			for _, text := range c.start {
				want = append(want, at(text))
			}
			if diff := cmp.Diff(want, append([]penstock.Time{}, got.start...)); diff != "" {
				t.Errorf("start, -want +got:\n%s", diff)
			}
			if next := times.nextAfter(at(c.first), at(c.now)); next <= at(c.now) {
				t.Errorf("next at %s, which has passed", next)
			}
		})
	}
}

func TestLateTimesCostLittle(t *testing.T) {
	t.Parallel()
	times, err := parseCronIn("* * * * *", time.UTC)
	if err != nil {
		t.Fatal(err)
	}
	now := penstock.Now()
	if got := times.latest(now.Add(-50*365*24*time.Hour), now, maxCaughtUp+1); len(got) != maxCaughtUp+1 {
		t.Errorf("%d times", len(got))
	}
}
