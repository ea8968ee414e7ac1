package factory

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/penstock-dev/penstock"
)

// parseClock reads a trigger's own schedule.
func parseClock(c penstock.CronTrigger) (cronTimes, error) {
	place, err := parsePlace(cmp.Or(c.Timezone, c.TimeZone))
	if err != nil {
		return cronTimes{}, fmt.Errorf("timezone: %w", err)
	}
	return parseCronIn(c.Cron, place)
}

// zoneOf joins the two spellings of a zone. field is the spelling that the request has, and the one
// that the problem is about.
func zoneOf(timeZone, timezone string) (zone, field, problem string) {
	zone, field = timeZone, "time_zone"
	switch {
	case timeZone == "" && timezone != "":
		zone, field = timezone, "timezone"
	case timezone != "" && timezone != timeZone:
		return "", field, "differs from timezone, which is another name of this field"
	}
	if _, err := parsePlace(zone); err != nil {
		return "", field, err.Error()
	}
	return zone, field, ""
}

// changedZone resolves two spellings that differ if one of them is the stored zone: the client has
// sent back what it read, and has changed the other. Without a stored zone, it changes nothing.
func changedZone(timeZone, timezone, stored string) (_, _ string) {
	switch {
	case timeZone == "" || timezone == "" || timeZone == timezone || stored == "":
	case timeZone == stored:
		return "", timezone
	case timezone == stored:
		return timeZone, ""
	}
	return timeZone, timezone
}

// givenTriggers returns the triggers of a request without read-only fields. Where a clock replaces a
// stored one, fields that its client may not know keep their values.
func givenTriggers(list, stored []penstock.Trigger) []penstock.Trigger {
	out := slices.Clone(list)
	for i, t := range out {
		if c := t.Schedule; c != nil {
			out[i].Schedule = &penstock.CronTrigger{
				Cron: strings.TrimSpace(c.Cron), Name: strings.TrimSpace(c.Name),
				Timezone: c.Timezone, TimeZone: c.TimeZone, CatchUp: c.CatchUp, Overlap: c.Overlap,
			}
		}
	}
	clocks := clocksOf(out)
	before := clocksBefore(clocks, clocksOf(stored))
	for i, c := range clocks {
		if was := before[i]; was != nil {
			c.TimeZone, c.Timezone = changedZone(c.TimeZone, c.Timezone, cmp.Or(was.Timezone, "UTC"))
			c.CatchUp, c.Overlap = cmp.Or(c.CatchUp, was.CatchUp), cmp.Or(c.Overlap, was.Overlap)
		}
		if zone, _, problem := zoneOf(c.TimeZone, c.Timezone); problem == "" { // else checkClock returns it
			c.TimeZone, c.Timezone = "", zone
		}
	}
	return out
}

func clocksOf(list []penstock.Trigger) []*penstock.CronTrigger {
	var clocks []*penstock.CronTrigger
	for _, t := range list {
		if t.Schedule != nil {
			clocks = append(clocks, t.Schedule)
		}
	}
	return clocks
}

// clocksBefore returns the stored clock that each clock replaces, or nil: the one with its name, or
// else with its expression, if possible in its zone, or else at its place.
func clocksBefore(clocks, stored []*penstock.CronTrigger) []*penstock.CronTrigger {
	before := make([]*penstock.CronTrigger, len(clocks))
	for _, alike := range []func(i, j int) bool{
		func(i, j int) bool { return clocks[i].Name != "" && clocks[i].Name == stored[j].Name },
		func(i, j int) bool {
			return clocks[i].Cron == stored[j].Cron && mayBeIn(*clocks[i], stored[j].Timezone)
		},
		func(i, j int) bool { return clocks[i].Cron == stored[j].Cron },
		func(i, j int) bool { return i == j },
	} {
		for i := range clocks {
			for j, was := range stored {
				if before[i] == nil && !slices.Contains(before, was) && alike(i, j) {
					before[i] = was
				}
			}
		}
	}
	return before
}

// mayBeIn reports whether a spelling of a clock's zone is the given zone.
func mayBeIn(c penstock.CronTrigger, zone string) bool {
	zone = cmp.Or(zone, "UTC")
	return cmp.Or(c.TimeZone, c.Timezone, "UTC") == zone || c.Timezone == zone
}

// checkClock returns all errors of a trigger's own schedule.
func checkClock(at string, c penstock.CronTrigger) []penstock.FieldError {
	var errs []penstock.FieldError
	bad := func(pointer, format string, args ...any) {
		errs = append(errs, penstock.FieldError{Pointer: pointer, Detail: fmt.Sprintf(format, args...)})
	}
	checkTicks(bad, at, c.CatchUp, c.Overlap)
	zone, field, problem := zoneOf(c.TimeZone, c.Timezone)
	if problem != "" {
		bad(at+"/"+field, "%s", problem)
	}
	c.Timezone, c.TimeZone = zone, ""
	if _, err := parseClock(c); err != nil {
		bad(at+"/cron", "%s", err)
	}
	return errs
}
