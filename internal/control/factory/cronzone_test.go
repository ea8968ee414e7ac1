package factory

import (
	"archive/zip"
	"fmt"
	"go/build"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/penstock-dev/penstock"
)

// allZones lists the zones of the time zone database, without those whose clocks agree with another
// one from one time to another.
func allZones(t *testing.T, from, to time.Time) []*time.Location {
	t.Helper()
	archive, err := zip.OpenReader(filepath.Join(build.Default.GOROOT, "lib", "time", "zoneinfo.zip"))
	if err != nil {
		t.Skipf("no list of time zones: %v", err)
	}
	defer archive.Close()
	var zones []*time.Location
	seen := map[string]bool{}
	for _, f := range archive.File {
		if strings.HasSuffix(f.Name, "/") {
			continue
		}
		zone, err := time.LoadLocation(f.Name)
		if err != nil {
			t.Fatal(err)
		}
		if rules := fmt.Sprint(changesOf(zone, from, to)); !seen[rules] {
			seen[rules] = true
			zones = append(zones, zone)
		}
	}
	if len(zones) < 80 {
		t.Fatalf("only %d time zones", len(zones))
	}
	return zones
}

// zoneChange is a change of the clocks of a zone by some seconds.
type zoneChange struct {
	at            time.Time
	before, after int
}

func changesOf(zone *time.Location, from, to time.Time) []zoneChange {
	_, offset := from.In(zone).Zone()
	list := []zoneChange{{from, offset, offset}}
	for at := from.In(zone); ; {
		_, at = at.ZoneBounds()
		if at.IsZero() || at.After(to) {
			return list
		}
		_, after := at.Zone()
		list = append(list, zoneChange{at, list[len(list)-1].after, after})
	}
}

// oracle finds the times of a schedule in the slow way: it watches the clock minute by minute.
type oracle struct {
	cron   string
	hourly bool
	fires  func(wall time.Time) bool
}

var oracles = []oracle{
	{"* * * * *", true, func(time.Time) bool { return true }},
	{"*/20 * * * *", true, func(wall time.Time) bool { return wall.Minute()%20 == 0 }},
	{"7 0-23 * * *", true, func(wall time.Time) bool { return wall.Minute() == 7 }},
	{"0 0 * * *", false, func(wall time.Time) bool { return wall.Hour()+wall.Minute() == 0 }},
	{"15,30 0-3 * * *", false, func(wall time.Time) bool {
		return wall.Hour() < 4 && (wall.Minute() == 15 || wall.Minute() == 30)
	}},
	{"* 2,23 * * *", false, func(wall time.Time) bool { return wall.Hour() == 2 || wall.Hour() == 23 }},
	{"0 */2 * * 0", false, func(wall time.Time) bool {
		return wall.Weekday() == time.Sunday && wall.Hour()%2 == 0 && wall.Minute() == 0
	}},
	{"59 1,2 20-31 * *", false, func(wall time.Time) bool {
		return wall.Day() >= 20 && (wall.Hour() == 1 || wall.Hour() == 2) && wall.Minute() == 59
	}},
}

// between returns the times after one time and until another.
func (o oracle) between(zone *time.Location, from, to time.Time) []penstock.Time {
	var times []penstock.Time
	shown := wallClock(from.In(zone))
	for at := from.Add(time.Minute); !at.After(to); at = at.Add(time.Minute) {
		wall := wallClock(at.In(zone))
		due := o.hourly && o.fires(wall)
		for m := shown.Add(time.Minute); !o.hourly && !m.After(wall) && !due; m = m.Add(time.Minute) {
			due = o.fires(m)
		}
		if due {
			times = append(times, penstock.TimeOf(at))
		}
		if wall.After(shown) {
			shown = wall
		}
	}
	return times
}

// TestTimesAroundEachChangeOfTheClocks compares the times with the oracle, also as seen from moments
// between them.
func TestTimesAroundEachChangeOfTheClocks(t *testing.T) {
	t.Parallel()
	from, to := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2038, 1, 1, 0, 0, 0, 0, time.UTC)
	const around = 6 * time.Hour
	seen := map[string]bool{}
	for _, zone := range allZones(t, from, to) {
		for _, change := range changesOf(zone, from, to) {
			// A change of the same size on the same weekday at the same hour is tested once.
			wall := change.at.UTC().Add(time.Duration(change.before) * time.Second)
			kind := fmt.Sprint(wall.Weekday(), wall.Hour(), wall.Minute(), change.after-change.before)
			if seen[kind] {
				continue
			}
			seen[kind] = true
			for _, o := range oracles {
				times, err := parseCronIn(o.cron, zone)
				if err != nil {
					t.Fatal(err)
				}
				begin := change.at.Truncate(time.Minute).Add(-around)
				end := change.at.Add(around)
				want := o.between(zone, begin, end)
				if got := times.timesUntil(penstock.TimeOf(begin), penstock.TimeOf(end)); !slices.Equal(got, want) {
					t.Fatalf("%q in %s around %s:\ngot  %v\nwant %v", o.cron, zone, change.at, got, want)
				}
				times.checkSeen(t, zone, penstock.TimeOf(begin), want)
			}
		}
	}
	t.Logf("%d kinds of changes", len(seen))
}

func (c cronTimes) timesUntil(after, last penstock.Time) []penstock.Time {
	var times []penstock.Time
	for at := c.next(after); at != 0 && at <= last; at = c.next(at) {
		times = append(times, at)
	}
	return times
}

// checkSeen checks that a time is the next one from each moment since the one before it.
func (c cronTimes) checkSeen(t *testing.T, zone *time.Location, before penstock.Time, times []penstock.Time) {
	t.Helper()
	for _, at := range times {
		step := max(at.Sub(before)/7, time.Millisecond)
		for from := before; from < at; from = from.Add(step) {
			if got := c.next(from); got != at {
				t.Fatalf("in %s: the next time after %s is %s, but after %s it is %s", zone, before, at, from, got)
			}
		}
		if got := c.next(at - 1); got != at {
			t.Fatalf("in %s: the next time after %s is %s, not %s", zone, at-1, got, at)
		}
		before = at
	}
}

// TestEachDayHasItsTime counts the times of daily schedules over the days around each change of the
// clocks.
func TestEachDayHasItsTime(t *testing.T) {
	t.Parallel()
	from, to := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2038, 1, 1, 0, 0, 0, 0, time.UTC)
	const days = 4
	for _, zone := range allZones(t, from, to) {
		for _, text := range []string{"0 0 * * *", "15 2 * * *", "30 2 * * *", "30 23 * * *"} {
			times, err := parseCronIn(text, zone)
			if err != nil {
				t.Fatal(err)
			}
			for _, change := range changesOf(zone, from, to) {
				year, month, day := change.at.In(zone).Date()
				first := time.Date(year, month, day-2, 0, 0, 0, 0, zone)
				last := time.Date(year, month, day-2+days, 0, 0, 0, 0, zone)
				all := times.timesUntil(penstock.TimeOf(first)-1, penstock.TimeOf(last)-1)
				if len(all) != days {
					t.Errorf("%q in %s around %s: got %v, want one for each of %d days", text, zone, change.at, all, days)
				}
			}
		}
	}
}
