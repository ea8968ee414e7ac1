package factory

import (
	"slices"
	"time"

	"github.com/netresearch/go-cron"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/store"
)

const (
	// onTime is how late a time may be decided and still not be missed.
	onTime = time.Minute
	// maxCaughtUp is for how many missed times a schedule that catches up on all starts runs.
	maxCaughtUp = 100
	// maxCounted bounds how far missed times are counted: about the minutes of a week.
	maxCounted = 10_000
)

// dueTimes are the times of a schedule that have come since it was decided last.
type dueTimes struct {
	start  []penstock.Time // these start runs, oldest first
	missed *store.MissedTicks
}

// due sorts the times from first, which has come, to now.
func (c cronTimes) due(first, now penstock.Time, catchUp penstock.CatchUp) dueTimes {
	n := 1
	if catchUp == penstock.CatchUpAll {
		n = maxCaughtUp
	}
	times := c.latest(first, now, n+1)
	late := times[:max(len(times)-n, 0)]
	d := dueTimes{start: times[len(late):]}
	if catchUp == penstock.CatchUpNone && now.Sub(d.start[0]) > onTime {
		late, d.start = times, nil
	}
	if len(late) > 0 {
		d.missed = &store.MissedTicks{First: first, Last: late[len(late)-1]}
		d.missed.Count, d.missed.AtLeast = c.count(first, d.missed.Last)
	}
	return d
}

// latest returns the last times from first to now, at most n.
func (c cronTimes) latest(first, now penstock.Time, n int) []penstock.Time {
	// No schedule has more than one time in a minute.
	for window := time.Duration(n) * time.Minute; ; window *= 4 {
		from := c.start(first, now.Add(-window))
		times := []penstock.Time{}
		for at := from; at != 0 && at <= now; at = c.after(at) {
			times = append(times, at)
		}
		if from == first || len(times) >= n {
			return slices.Clone(times[max(len(times)-n, 0):])
		}
	}
}

// start returns the first time at or after at, and first if at is before it.
func (c cronTimes) start(first, at penstock.Time) penstock.Time {
	if at <= first {
		return first
	}
	if every, constant := c.Schedule.(cron.ConstantDelaySchedule); constant {
		past := at.Sub(first)
		return at.Add(-(past % every.Delay))
	}
	return c.next(at - 1)
}

// after returns the time that follows a time of the schedule. @every keeps its rhythm.
func (c cronTimes) after(at penstock.Time) penstock.Time {
	if every, constant := c.Schedule.(cron.ConstantDelaySchedule); constant {
		return at.Add(every.Delay)
	}
	return c.next(at)
}

// count counts the times from first to last, and reports whether there are more than it counted.
func (c cronTimes) count(first, last penstock.Time) (n int, more bool) {
	if every, constant := c.Schedule.(cron.ConstantDelaySchedule); constant {
		return int(last.Sub(first)/every.Delay) + 1, false
	}
	for at := first; at != 0 && at <= last; at = c.after(at) {
		if n == maxCounted {
			return n, true
		}
		n++
	}
	return n, false
}
