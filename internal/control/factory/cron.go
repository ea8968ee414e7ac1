package factory

import (
	"errors"
	"fmt"
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
	// hourly is set if every hour matches. Such a schedule fires whenever the clock shows one of its
	// times: not in an hour that is skipped, and twice in one that is repeated. For all others, a
	// time has come once the clock shows it, or a later one because it skipped it.
	hourly bool
}

// allHours are the bits of a field of hours that matches every hour.
const allHours = 1<<24 - 1

// CheckCron returns the error of a trigger's cron expression, or nil.
func CheckCron(text string) error {
	_, err := parseCronIn(text, time.UTC)
	return err
}

func namesPlace(text string) bool {
	return strings.HasPrefix(text, "TZ=") || strings.HasPrefix(text, "CRON_TZ=")
}

// cronFields are the fields of an expression in their order, with the values that each allows.
var cronFields = [...]struct{ name, values string }{
	{"minute", "0 to 59"},
	{"hour", "0 to 23"},
	{"day of the month", "1 to 31"},
	{"month", "1 to 12 or JAN to DEC"},
	{"weekday", "0 to 7 or SUN to SAT"},
}

// cronProblem returns what is wrong with an invalid expression. The parser's errors speak of its own code.
func cronProblem(text string) string {
	fields := strings.Fields(text)
	if len(fields) > 0 && strings.HasPrefix(fields[0], "@") {
		return "this @ form does not exist, or its interval is too short"
	}
	if len(fields) != len(cronFields) {
		return fmt.Sprintf("it has %d instead of five fields", len(fields))
	}
	for i, field := range cronFields {
		alone := []string{"*", "*", "*", "*", "*"}
		alone[i] = fields[i]
		if _, err := cronParser.Parse(strings.Join(alone, " ")); err != nil {
			return fmt.Sprintf(
				"the %s %.40q is not %s, nor *, a range, a list or a step of them", field.name, fields[i], field.values,
			)
		}
	}
	return "its fields do not go together"
}

func parseCronIn(text string, place *time.Location) (cronTimes, error) {
	switch {
	case text == "":
		return cronTimes{}, errors.New("is required")
	case namesPlace(text):
		return cronTimes{}, errors.New("must not name a time zone: use time_zone instead")
	}
	schedule, err := cronParser.Parse(text)
	if err != nil {
		return cronTimes{}, fmt.Errorf(
			"%.80q is not valid: %s; use five fields (minute hour day month weekday), @hourly, @daily, @weekly, @monthly, "+
				"@yearly, or @every with an interval of at least a minute, such as @every 1h30m",
			text, cronProblem(text),
		)
	}
	spec, ok := schedule.(*cron.SpecSchedule)
	c := cronTimes{schedule, place, ok && spec.Hour&allHours == allHours}
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

// next returns the first time after t, or 0. It depends on the expression, the zone and t alone, and
// never goes back as t goes on. When the clocks go forward, the skipped times fire together, once, at
// the change, unless every hour matches. When they go back, a time that is shown again does not fire
// again, unless every hour matches.
func (c cronTimes) next(t penstock.Time) penstock.Time {
	if _, constant := c.Schedule.(cron.ConstantDelaySchedule); constant {
		return penstock.TimeOf(c.Next(t.Std()))
	}
	at := t.Std().In(c.place)
	for want := c.Next(c.shown(at)); !want.IsZero(); {
		_, offset := at.Zone()
		found := want.Add(-time.Duration(offset) * time.Second)
		_, change := at.ZoneBounds()
		if change.IsZero() || found.Before(change) {
			return penstock.TimeOf(found)
		}
		at = change
		if c.hourly {
			want = c.Next(wallClock(at).Add(-time.Second)) // from the time of the change on
		} else if !want.After(wallClock(at)) {
			return penstock.TimeOf(at)
		}
	}
	return 0
}

// shown returns the latest time that the clock has shown until now. It is later than what it shows
// while it repeats an hour. If every hour matches, only what it shows counts.
func (c cronTimes) shown(now time.Time) time.Time {
	wall := wallClock(now)
	change, _ := now.ZoneBounds()
	if c.hourly || change.IsZero() {
		return wall
	}
	if last := wallClock(change.Add(-time.Second)); last.After(wall) {
		return last
	}
	return wall
}

// wallClock returns what the clock shows as a time in UTC, where no time is skipped or comes twice.
func wallClock(t time.Time) time.Time {
	_, offset := t.Zone()
	return t.UTC().Add(time.Duration(offset) * time.Second)
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
