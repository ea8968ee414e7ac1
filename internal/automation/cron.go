package automation

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/netresearch/go-cron"

	"github.com/penstock-dev/penstock"
)

// cronParser reads five fields and descriptors. A day of the month and a day of
// the week that are both given are alternatives, as in crontab(5) and POSIX. A
// leap day is eight years away at most.
var cronParser = cron.MustNewParser(
	cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow | cron.Descriptor | cron.DowOrDom,
).
	WithMinEveryInterval(time.Minute).WithMaxSearchYears(8)

// cronTimes are the times of a cron expression on the clocks of a place.
type cronTimes struct {
	cron.Schedule
	place *time.Location
	// once: a time that the clocks show twice, in the night in which they go
	// back, counts the first time only. Without it, as for an hour of *, an
	// expression goes on through both hours.
	once bool
}

// parseCron reads an expression in UTC; one that never comes true is an error,
// which can be shown.
func parseCron(text string) (cronTimes, error) {
	if namesPlace(text) {
		return cronTimes{}, errors.New("is in UTC and takes no time zone")
	}
	return parseCronIn(text, time.UTC)
}

// CheckCron says what is wrong with the cron expression of a trigger, nil when
// nothing is.
func CheckCron(text string) error {
	_, err := parseCronIn(text, time.UTC)
	return err
}

func namesPlace(text string) bool {
	return strings.HasPrefix(text, "TZ=") || strings.HasPrefix(text, "CRON_TZ=")
}

func parseCronIn(text string, place *time.Location) (cronTimes, error) {
	switch {
	case text == "":
		return cronTimes{}, errors.New("is required")
	case namesPlace(text):
		return cronTimes{}, errors.New("takes no time zone: give it as timezone")
	}
	schedule, err := cronParser.Parse(text)
	if err != nil {
		return cronTimes{}, fmt.Errorf(
			"must be five fields (minute hour day month weekday), or @hourly, @daily, @weekly, @monthly, @yearly, or @every "+
				"with a minute or more, such as @every 1h30m: %w",
			err,
		)
	}
	fields := strings.Fields(text)
	everyHour := text == "@hourly" || strings.HasPrefix(text, "@every") || len(fields) == 5 && fields[1] == "*"
	c := cronTimes{schedule, place, !everyHour}
	if c.next(penstock.Now()) == 0 {
		return cronTimes{}, errors.New("never comes true: there is no such day")
	}
	return c, nil
}

// parsePlace reads the IANA name of a time zone; "" is UTC.
func parsePlace(name string) (*time.Location, error) {
	place, err := time.LoadLocation(name)
	if err != nil || name == "Local" { // which is this machine's, and says nothing to anybody else
		return nil, errors.New("is not a time zone of the IANA database, such as Europe/Berlin")
	}
	return place, nil
}

// next is the first time after t, 0 where there is none. A time that the clocks
// leave out, in the night in which they go forward, comes when they do.
func (c cronTimes) next(t penstock.Time) penstock.Time {
	at := c.Next(t.Std().In(c.place))
	for c.once && !at.IsZero() && shownBefore(at) {
		at = c.Next(at)
	}
	return penstock.TimeOf(at)
}

// shownBefore reports whether the clocks showed the same time before: they went
// back since, by as much or more.
func shownBefore(at time.Time) bool {
	changed, _ := at.ZoneBounds()
	if changed.IsZero() {
		return false
	}
	_, before := changed.Add(-time.Second).Zone()
	_, now := at.Zone()
	return at.Sub(changed) < time.Duration(before-now)*time.Second
}

// ScheduleTimes are the next times of a clock, at most five. What is wrong with it
// is CodeInvalidRequest.
func (s *Schedules) ScheduleTimes(clock penstock.CronTrigger) ([]penstock.Time, error) {
	if errs := checkClock("", clock); errs != nil {
		return nil, penstock.Errorf(
			penstock.CodeInvalidRequest, "%s %s", strings.TrimPrefix(errs[0].Pointer, "/"), errs[0].Detail,
		)
	}
	c, err := parseClock(clock)
	if err != nil {
		return nil, err
	}
	return c.times(penstock.Now(), upcoming), nil
}

// times are the first n times after t, fewer where there are no more.
func (c cronTimes) times(t penstock.Time, n int) []penstock.Time {
	times := make([]penstock.Time, 0, n)
	for at := c.next(t); at != 0 && len(times) < n; at = c.next(at) {
		times = append(times, at)
	}
	return times
}

// nextAfter is the first time after now of a schedule that was due at last.
// @every keeps its beat; of what was missed nothing is made up for.
func (c cronTimes) nextAfter(last, now penstock.Time) penstock.Time {
	every, constant := c.Schedule.(cron.ConstantDelaySchedule)
	if !constant || last > now {
		return c.next(now)
	}
	return now.Add(every.Delay - now.Sub(last)%every.Delay)
}
