package factory

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock"
)

func nextOf(text string, t penstock.Time) (penstock.Time, error) {
	c, err := parseCronIn(text, time.UTC)
	if err != nil {
		return 0, err
	}
	return c.next(t), nil
}

func nextOfTrigger(c penstock.CronTrigger, t penstock.Time) (penstock.Time, error) {
	times, err := parseClock(c)
	if err != nil {
		return 0, err
	}
	return times.next(t), nil
}

func TestCronExpressions(t *testing.T) {
	t.Parallel()
	at := func(text string) penstock.Time {
		var at penstock.Time
		if err := at.UnmarshalText([]byte(text)); err != nil {
			t.Fatal(err)
		}
		return at
	}
	now := at("2027-01-31T12:34:56.789Z") // a Sunday
	for expression, want := range map[string]string{
		"* * * * *":         "2027-01-31T12:35:00Z",
		"0 3 * * *":         "2027-02-01T03:00:00Z",
		"30 12 * * MON-FRI": "2027-02-01T12:30:00Z",
		"0 0 1 * MON":       "2027-02-01T00:00:00Z",
		"0 0 13 * FRI":      "2027-02-05T00:00:00Z", // either, as in crontab(5)
		"0 0 29 2 *":        "2028-02-29T00:00:00Z",
		"*/20 9-17 * * 7":   "2027-01-31T12:40:00Z",
		"@hourly":           "2027-01-31T13:00:00Z",
		"@daily":            "2027-02-01T00:00:00Z",
		"@weekly":           "2027-02-07T00:00:00Z",
		"@monthly":          "2027-02-01T00:00:00Z",
		"@yearly":           "2028-01-01T00:00:00Z",
		"@every 1h30m":      "2027-01-31T14:04:56Z",
		"@every 1m":         "2027-01-31T12:35:56Z",
	} {
		if got, err := nextOf(expression, now); err != nil || got != at(want) {
			t.Errorf("%q: got %s, %v, want %s", expression, got, err, want)
		}
	}
	for expression, mentions := range map[string]string{
		"":                           "required",
		"* * * *":                    "five fields",
		"0 * * * * *":                "five fields",
		"60 * * * *":                 `the minute "60" is not 0 to 59`,
		"0 24 * * *":                 `the hour "24" is not 0 to 23`,
		"0 9 L * *":                  `the day of the month "L" is not 1 to 31`,
		"0 9 * Janvier *":            `the month "Janvier" is not 1 to 12 or JAN to DEC`,
		"0 9 * * MON#1":              `the weekday "MON#1" is not 0 to 7 or SUN to SAT`,
		"*/0 * * * *":                `the minute "*/0"`,
		"1-2-3 * * * *":              `the minute "1-2-3"`,
		"0 9,x * * *":                `the hour "9,x"`,
		"@every banana":              "this @ form does not exist",
		"\x00 * * * *":               `the minute "\x00"`,
		"0 0 31 2 *":                 "never",
		"0 0 30 2 *":                 "never",
		"@every 59s":                 "with an interval of at least a minute",
		"@every 0s":                  "with an interval of at least a minute",
		"@every -1h":                 "with an interval of at least a minute",
		"@reboot":                    "five fields",
		"@every":                     "five fields",
		"H * * * *":                  `the minute "H" is not`,
		"TZ=Europe/Berlin 0 3 * * *": "time_zone",
		"CRON_TZ=UTC @daily":         "time_zone",
		strings.Repeat("* ", 5000):   "five fields",
	} {
		if _, err := nextOf(expression, now); err == nil || !strings.Contains(err.Error(), mentions) {
			t.Errorf("%.30q: got %v, want an error that mentions %q", expression, err, mentions)
		}
	}
}

func TestSchedulesHandleDaylightSaving(t *testing.T) {
	t.Parallel()
	at := func(text string) penstock.Time {
		parsed, err := time.Parse(time.RFC3339, text)
		if err != nil {
			t.Fatal(err)
		}
		return penstock.TimeOf(parsed)
	}
	for name, test := range map[string]struct {
		cron, place, after string
		want               []string // in UTC
	}{
		"a time that comes twice": {
			"30 2 * * *", "Europe/Berlin", "2026-10-24T12:00:00Z",
			[]string{"2026-10-25T00:30:00.000Z", "2026-10-26T01:30:00.000Z"},
		},
		"several in that hour": {
			"*/30 2 * * *", "Europe/Berlin", "2026-10-24T12:00:00Z",
			[]string{"2026-10-25T00:00:00.000Z", "2026-10-25T00:30:00.000Z", "2026-10-26T01:00:00.000Z"},
		},
		"every hour goes on": {
			"30 * * * *", "Europe/Berlin", "2026-10-25T00:00:00Z",
			[]string{"2026-10-25T00:30:00.000Z", "2026-10-25T01:30:00.000Z", "2026-10-25T02:30:00.000Z"},
		},
		"asked between the two": {
			"30 2 * * *", "Europe/Berlin", "2026-10-25T00:45:00Z", []string{"2026-10-26T01:30:00.000Z"},
		},
		"a time that is left out": {
			"30 2 * * *", "Europe/Berlin", "2026-03-28T12:00:00Z",
			[]string{"2026-03-29T01:00:00.000Z", "2026-03-30T00:30:00.000Z"},
		},
		"asked after the change": {
			"30 2 * * *", "Europe/Berlin", "2026-03-29T01:05:00Z", []string{"2026-03-30T00:30:00.000Z"},
		},
		"several that are left out": {
			"*/5 2 * * *", "Europe/Berlin", "2026-03-28T12:00:00Z",
			[]string{"2026-03-29T01:00:00.000Z", "2026-03-30T00:00:00.000Z"},
		},
		"one that is left out beside one that is not": {
			"30 1,2 * * *", "Europe/Berlin", "2026-03-29T00:00:00Z",
			[]string{"2026-03-29T00:30:00.000Z", "2026-03-29T01:00:00.000Z", "2026-03-29T23:30:00.000Z"},
		},
		"one that is left out, and one at the change": {
			"0 2,3 * * *", "Europe/Berlin", "2026-03-29T00:00:00Z",
			[]string{"2026-03-29T01:00:00.000Z", "2026-03-30T00:00:00.000Z", "2026-03-30T01:00:00.000Z"},
		},
		"all minutes of a few hours": {
			"*/30 1-4 * * *", "America/New_York", "2026-03-08T06:00:00Z",
			[]string{"2026-03-08T06:30:00.000Z", "2026-03-08T07:00:00.000Z", "2026-03-08T07:30:00.000Z"},
		},
		"every hour goes on after the gap": {
			"30 * * * *", "Europe/Berlin", "2026-03-29T00:00:00Z",
			[]string{"2026-03-29T00:30:00.000Z", "2026-03-29T01:30:00.000Z", "2026-03-29T02:30:00.000Z"},
		},
		"every minute goes on after the gap": {
			"* * * * *", "Europe/Berlin", "2026-03-29T00:58:00Z",
			[]string{"2026-03-29T00:59:00.000Z", "2026-03-29T01:00:00.000Z", "2026-03-29T01:01:00.000Z"},
		},
		"all hours as a range": {
			"30 0-23 * * *", "Europe/Berlin", "2026-10-25T00:00:00Z",
			[]string{"2026-10-25T00:30:00.000Z", "2026-10-25T01:30:00.000Z"},
		},
		"every other hour": {
			"0 */2 * * *", "Europe/Berlin", "2026-03-28T22:30:00Z",
			[]string{"2026-03-28T23:00:00.000Z", "2026-03-29T01:00:00.000Z", "2026-03-29T02:00:00.000Z"},
		},
		"every hour where half of one is left out": {
			"0 * * * *", "Australia/Lord_Howe", "2027-10-02T14:00:00Z",
			[]string{"2027-10-02T14:30:00.000Z", "2027-10-02T16:00:00.000Z", "2027-10-02T17:00:00.000Z"},
		},
		"a time in the half hour that is left out": {
			"15 2 * * *", "Australia/Lord_Howe", "2027-10-02T00:00:00Z",
			[]string{"2027-10-02T15:30:00.000Z", "2027-10-03T15:15:00.000Z"},
		},
		"a time after the half hour that is left out": {
			"45 2 * * *", "Australia/Lord_Howe", "2027-10-02T00:00:00Z",
			[]string{"2027-10-02T15:45:00.000Z", "2027-10-03T15:45:00.000Z"},
		},
		"midnight is left out in Chile": {
			"0 0 * * *", "America/Santiago", "2027-09-04T12:00:00Z",
			[]string{"2027-09-05T04:00:00.000Z", "2027-09-06T03:00:00.000Z"},
		},
		"midnight of a date is left out": {
			"0 0 5 9 *", "America/Santiago", "2027-01-01T00:00:00Z",
			[]string{"2027-09-05T04:00:00.000Z", "2028-09-05T03:00:00.000Z"},
		},
		"midnight of a weekday is left out": {
			"@weekly", "America/Santiago", "2027-09-01T00:00:00Z",
			[]string{"2027-09-05T04:00:00.000Z", "2027-09-12T03:00:00.000Z"},
		},
		"midnight is left out in Egypt": {
			"@daily", "Africa/Cairo", "2027-04-29T12:00:00Z",
			[]string{"2027-04-29T22:00:00.000Z", "2027-04-30T21:00:00.000Z"},
		},
		"midnight is left out in Lebanon": {
			"30 0 * * *", "Asia/Beirut", "2027-03-27T12:00:00Z",
			[]string{"2027-03-27T22:00:00.000Z", "2027-03-28T21:30:00.000Z"},
		},
		"the hour before midnight is left out": {
			"30 23 * * *", "America/Nuuk", "2027-03-26T12:00:00Z",
			[]string{"2027-03-27T01:30:00.000Z", "2027-03-28T01:00:00.000Z", "2027-03-29T00:30:00.000Z"},
		},
		"a whole day is left out": {
			"0 9 * * *", "Pacific/Apia", "2011-12-29T12:00:00Z",
			[]string{"2011-12-29T19:00:00.000Z", "2011-12-30T10:00:00.000Z", "2011-12-30T19:00:00.000Z"},
		},
		"every hour of a day that is left out": {
			"0 */1 * * *", "Pacific/Apia", "2011-12-30T08:30:00Z",
			[]string{"2011-12-30T09:00:00.000Z", "2011-12-30T10:00:00.000Z", "2011-12-30T11:00:00.000Z"},
		},
		"winter is the time that deviates": {
			"30 1 * * *", "Europe/Dublin", "2027-03-27T12:00:00Z",
			[]string{"2027-03-28T01:00:00.000Z", "2027-03-29T00:30:00.000Z"},
		},
		"summer time pauses for Ramadan": {
			"30 2 * * *", "Africa/Casablanca", "2027-02-06T12:00:00Z",
			[]string{"2027-02-07T01:30:00.000Z", "2027-02-08T02:30:00.000Z"},
		},
		"summer time goes on after Ramadan": {
			"30 2 * * *", "Africa/Casablanca", "2027-03-13T12:00:00Z",
			[]string{"2027-03-14T02:00:00.000Z", "2027-03-15T01:30:00.000Z"},
		},
		"midnight comes again after it": {
			"0 0 * * *", "Asia/Beirut", "2027-10-30T12:00:00Z",
			[]string{"2027-10-30T22:00:00.000Z", "2027-10-31T22:00:00.000Z"},
		},
		"a change of half an hour": {
			"45 1 * * *", "Australia/Lord_Howe", "2026-04-04T00:00:00Z",
			[]string{"2026-04-04T14:45:00.000Z", "2026-04-05T15:15:00.000Z"},
		},
		"midnight comes twice": {
			"@daily", "America/Havana", "2026-10-31T12:00:00Z", []string{"2026-11-01T04:00:00.000Z", "2026-11-02T05:00:00.000Z"},
		},
		"UTC": {"30 2 * * *", "", "2026-10-24T12:00:00Z", []string{"2026-10-25T02:30:00.000Z", "2026-10-26T02:30:00.000Z"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			next := at(test.after)
			var got []string
			for range test.want {
				var err error
				if next, err = nextOfTrigger(penstock.CronTrigger{Cron: test.cron, Timezone: test.place}, next); err != nil {
					t.Fatal(err)
				}
				got = append(got, next.String())
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
	for _, place := range []string{"Local", "Mars/Base", "../etc", "europe berlin"} {
		if _, err := nextOfTrigger(penstock.CronTrigger{Cron: "@daily", Timezone: place}, 1); err == nil {
			t.Errorf("%q passes for a time zone", place)
		}
	}
}
