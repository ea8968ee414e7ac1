package automation

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/netresearch/go-cron"

	"github.com/penstock-dev/penstock"
)

// cronParser reads five fields and descriptors. If both a day of the month and a day of the
// week are given, either matches, as in crontab(5) and POSIX. A leap day is eight years away at
// most.
var cronParser = cron.MustNewParser(
	cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow | cron.Descriptor | cron.DowOrDom,
).
	WithMinEveryInterval(time.Minute).WithMaxSearchYears(8)

// cronTimes are the times of a cron expression in a time zone.
type cronTimes struct {
	cron.Schedule
	place *time.Location
	// If once is set, a local time that occurs twice when the clocks go back fires only the
	// first time. Otherwise, as for an hour of *, it fires in both hours.
	once bool
}

// parseCron reads an expression in UTC. An expression without a next time is an error that
// users may see.
func parseCron(text string) (cronTimes, error) {
	if namesPlace(text) {
		return cronTimes{}, errors.New("must not name a time zone: schedules are in UTC")
	}
	return parseCronIn(text, time.UTC)
}

// CheckCron returns the error of a trigger's cron expression, or nil.
func CheckCron(text string) error {
	_, err := parseCronIn(text, time.UTC)
	return err
}

func namesPlace(text string) bool {
	return strings.HasPrefix(text, "TZ=") || strings.HasPrefix(text, "CRON_TZ=")
}

var cronBound = regexp.MustCompile(`^(?:end|beginning) of range \((\d+)\) (above maximum|below minimum) \((\d+)\)`)

// plainCronError rewrites errors of the parser that call a single number a range.
func plainCronError(err error) string {
	if part := cronBound.FindStringSubmatch(err.Error()); part != nil {
		return fmt.Sprintf("%s is %s of %s", part[1], strings.Replace(part[2], " ", " the ", 1), part[3])
	}
	return err.Error()
}

func parseCronIn(text string, place *time.Location) (cronTimes, error) {
	switch {
	case text == "":
		return cronTimes{}, errors.New("is required")
	case namesPlace(text):
		return cronTimes{}, errors.New("must not name a time zone: use timezone instead")
	}
	schedule, err := cronParser.Parse(text)
	if err != nil {
		return cronTimes{}, fmt.Errorf(
			"%q is not valid: %s; use five fields (minute hour day month weekday), @hourly, @daily, @weekly, @monthly, "+
				"@yearly, or @every with an interval of at least a minute, such as @every 1h30m",
			text, plainCronError(err),
		)
	}
	fields := strings.Fields(text)
	everyHour := text == "@hourly" || strings.HasPrefix(text, "@every") || len(fields) == 5 && fields[1] == "*"
	c := cronTimes{schedule, place, !everyHour}
	if c.next(penstock.Now()) == 0 {
		return cronTimes{}, errors.New("never matches a date")
	}
	return c, nil
}

// parsePlace reads the IANA name of a time zone; "" is UTC.
func parsePlace(name string) (*time.Location, error) {
	place, err := time.LoadLocation(name)
	if err != nil || name == "Local" { // the local zone of this machine, which means nothing elsewhere
		return nil, errors.New("must be an IANA time zone, such as Europe/Berlin")
	}
	return place, nil
}

// next returns the first time after t, or 0. A local time that is skipped when the clocks go
// forward fires at that change.
func (c cronTimes) next(t penstock.Time) penstock.Time {
	at := c.Next(t.Std().In(c.place))
	for c.once && !at.IsZero() && shownBefore(at) {
		at = c.Next(at)
	}
	return penstock.TimeOf(at)
}

// shownBefore reports whether the same local time occurred before because the clocks went back.
func shownBefore(at time.Time) bool {
	changed, _ := at.ZoneBounds()
	if changed.IsZero() {
		return false
	}
	_, before := changed.Add(-time.Second).Zone()
	_, now := at.Zone()
	return at.Sub(changed) < time.Duration(before-now)*time.Second
}

// ScheduleTimes returns at most five next times of a clock. An invalid clock is
// CodeInvalidRequest.
func (s *Schedules) ScheduleTimes(clock penstock.CronTrigger) ([]penstock.Time, error) {
	if errs := checkClock("", clock); errs != nil {
		return nil, penstock.Errorf(
			penstock.CodeInvalidRequest, "query parameter %s", strings.TrimPrefix(errs[0].String(), "/"),
		)
	}
	c, err := parseClock(clock)
	if err != nil {
		return nil, err
	}
	return c.times(penstock.Now(), upcoming), nil
}

// times returns the first n times after t, or fewer if there are no more.
func (c cronTimes) times(t penstock.Time, n int) []penstock.Time {
	times := make([]penstock.Time, 0, n)
	for at := c.next(t); at != 0 && len(times) < n; at = c.next(at) {
		times = append(times, at)
	}
	return times
}

// nextAfter returns the first time after now of a schedule that was last due at last. @every
// keeps its rhythm, and missed times are skipped.
func (c cronTimes) nextAfter(last, now penstock.Time) penstock.Time {
	every, constant := c.Schedule.(cron.ConstantDelaySchedule)
	if !constant || last > now {
		return c.next(now)
	}
	return now.Add(every.Delay - now.Sub(last)%every.Delay)
}
