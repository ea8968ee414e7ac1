package factory_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/factory"
	"github.com/penstock-dev/penstock/internal/testkit/testworld"
)

// clocked creates an automation with clocks.
func (w *world) clocked(home string, clocks ...penstock.CronTrigger) penstock.Automation {
	req := factory.AutomationRequest{Name: new("clocked"), Prompt: new("go"), Triggers: &[]penstock.Trigger{}}
	for _, c := range clocks {
		*req.Triggers = append(*req.Triggers, cronTrigger(c))
	}
	return w.createAutomation(home, req)
}

func cronTrigger(c penstock.CronTrigger) penstock.Trigger {
	return penstock.Trigger{Provider: penstock.ProviderSchedule, Event: penstock.EventCronFired, Schedule: &c}
}

// changeClocks sends back the triggers of an automation as a client read them, with a change.
func (w *world) changeClocks(
	home string, a penstock.Automation, change func([]penstock.Trigger) []penstock.Trigger,
) ([]penstock.CronTrigger, error) {
	w.T.Helper()
	sent, err := json.Marshal(a.Triggers)
	if err != nil {
		w.T.Fatal(err)
	}
	var triggers []penstock.Trigger
	if err := json.Unmarshal(sent, &triggers); err != nil {
		w.T.Fatal(err)
	}
	triggers = change(triggers)
	after, err := w.Resources.UpdateAutomation(
		w.T.Context(), w.Admin, home, a.UID, factory.AutomationRequest{Triggers: &triggers},
	)
	var clocks []penstock.CronTrigger
	for _, t := range after.Triggers {
		c := *t.Schedule
		c.NextRun, c.LastRun = 0, 0
		clocks = append(clocks, c)
	}
	return clocks, err
}

func TestAClientThatKnowsOneSpellingOfAZone(t *testing.T) {
	worlds(t, nil, func(w *world) {
		home := w.createFactory("zones", "zones").UID
		a := w.clocked(home, penstock.CronTrigger{Cron: "0 9 * * *", Timezone: "Europe/Berlin"})
		change := func(c func(*penstock.CronTrigger)) (string, error) {
			clocks, err := w.changeClocks(home, a, func(list []penstock.Trigger) []penstock.Trigger {
				c(list[0].Schedule)
				return list
			})
			if err != nil {
				return "", err
			}
			if clocks[0].Timezone != clocks[0].TimeZone {
				w.T.Errorf("the response has timezone %q and time_zone %q", clocks[0].Timezone, clocks[0].TimeZone)
			}
			return clocks[0].Timezone, nil
		}
		for i, c := range []struct {
			change func(*penstock.CronTrigger)
			want   string
		}{
			{func(c *penstock.CronTrigger) { c.Timezone = "Asia/Tokyo" }, "Asia/Tokyo"},
			{func(c *penstock.CronTrigger) { c.TimeZone = "Asia/Tokyo" }, "Asia/Tokyo"},
			{func(c *penstock.CronTrigger) { c.Timezone, c.Cron, c.Name = "UTC", " 5 9 * * *", "new" }, "UTC"},
			{func(c *penstock.CronTrigger) { c.TimeZone, c.Timezone = "Asia/Tokyo", "" }, "Asia/Tokyo"},
			{func(c *penstock.CronTrigger) { c.TimeZone, c.Timezone = "Asia/Tokyo", "Asia/Tokyo" }, "Asia/Tokyo"},
			{func(*penstock.CronTrigger) {}, "Europe/Berlin"},
		} {
			if got, err := change(c.change); got != c.want || err != nil {
				w.T.Errorf("%d: got %q, %v, want %q", i, got, err, c.want)
			}
			if _, err := w.changeClocks(home, a, func(list []penstock.Trigger) []penstock.Trigger {
				list[0].Schedule.Timezone, list[0].Schedule.TimeZone = "Europe/Berlin", ""
				return list
			}); err != nil {
				w.T.Fatal(err)
			}
		}
		for pointer, c := range map[string]func(*penstock.CronTrigger){
			"/triggers/0/schedule/time_zone: differs": func(c *penstock.CronTrigger) {
				c.Timezone, c.TimeZone = "Asia/Tokyo", "Asia/Seoul"
			},
			"/triggers/0/schedule/time_zone: must be an IANA": func(c *penstock.CronTrigger) { c.TimeZone = "Mars/X" },
			"/triggers/0/schedule/timezone: must be an IANA":  func(c *penstock.CronTrigger) { c.Timezone = "Mars/X" },
		} {
			_, err := change(c)
			testworld.WantCode(w.T, err, penstock.CodeInvalidRequest, pointer)
		}
	})
}

func TestClocksKeepWhatTheirClientDoesNotKnow(t *testing.T) {
	worlds(t, nil, func(w *world) {
		home := w.createFactory("clocks", "clocks").UID
		const berlin = "Europe/Berlin"
		skip := penstock.CronTrigger{Cron: "0 9 * * *", Timezone: berlin, TimeZone: berlin, Overlap: "skip"}
		all := penstock.CronTrigger{Cron: "0 9 * * *", Timezone: "Asia/Tokyo", TimeZone: "Asia/Tokyo", CatchUp: "all"}
		named := penstock.CronTrigger{Cron: "5 5 * * *", Name: "early", Overlap: "queue", CatchUp: "none"}
		last := penstock.CronTrigger{Cron: "6 6 * * *", Overlap: "replace"}
		a := w.clocked(home, skip, all, named, last)
		old := func(list []penstock.Trigger) []penstock.Trigger { // it does not know these
			for _, t := range list {
				t.Schedule.CatchUp, t.Schedule.Overlap, t.Schedule.TimeZone = "", "", ""
			}
			return list
		}
		with := func(c penstock.CronTrigger, change func(*penstock.CronTrigger)) penstock.CronTrigger {
			change(&c)
			return c
		}
		for name, c := range map[string]struct {
			change func([]penstock.Trigger) []penstock.Trigger
			want   []penstock.CronTrigger
		}{
			"no trigger changes": {old, []penstock.CronTrigger{skip, all, named, last}},
			"the first goes": {
				func(list []penstock.Trigger) []penstock.Trigger { return old(list)[1:] },
				[]penstock.CronTrigger{all, named, last},
			},
			"only the last stays, in another zone": {
				func(list []penstock.Trigger) []penstock.Trigger {
					list[3].Schedule.Timezone = "Asia/Seoul"
					return old(list)[3:]
				},
				[]penstock.CronTrigger{
					with(last, func(c *penstock.CronTrigger) { c.Timezone, c.TimeZone = "Asia/Seoul", "Asia/Seoul" }),
				},
			},
			"one comes before the others": {
				func(list []penstock.Trigger) []penstock.Trigger {
					return append([]penstock.Trigger{cronTrigger(penstock.CronTrigger{Cron: "1 1 * * *"})}, old(list)...)
				},
				[]penstock.CronTrigger{{Cron: "1 1 * * *"}, skip, all, named, last},
			},
			"a time changes": {
				func(list []penstock.Trigger) []penstock.Trigger {
					list[0].Schedule.Cron, list[2].Schedule.Cron = "2 2 * * *", "3 3 * * *"
					list[1], list[2] = list[2], list[1]
					return old(list)
				},
				[]penstock.CronTrigger{
					with(skip, func(c *penstock.CronTrigger) { c.Cron = "2 2 * * *" }),
					with(named, func(c *penstock.CronTrigger) { c.Cron = "3 3 * * *" }), all, last,
				},
			},
			"a client that knows them": {
				func(list []penstock.Trigger) []penstock.Trigger {
					list[0].Schedule.Overlap, list[1].Schedule.CatchUp = penstock.OverlapAllow, penstock.CatchUpOnce
					return list
				},
				[]penstock.CronTrigger{
					with(skip, func(c *penstock.CronTrigger) { c.Overlap = penstock.OverlapAllow }),
					with(all, func(c *penstock.CronTrigger) { c.CatchUp = penstock.CatchUpOnce }), named, last,
				},
			},
		} {
			got, err := w.changeClocks(home, a, c.change)
			if diff := cmp.Diff(c.want, got); diff != "" || err != nil {
				w.T.Errorf("%s: %v, -want +got:\n%s", name, err, diff)
			}
			back := func(list []penstock.Trigger) []penstock.Trigger { return list }
			if _, err := w.changeClocks(home, a, back); err != nil {
				w.T.Fatal(err)
			}
		}
	})
}

func TestAScheduleThatIsReplacedWithOneSpellingOfItsZone(t *testing.T) {
	worlds(t, nil, func(w *world) {
		for i, c := range []struct{ timeZone, timezone, want string }{
			{"", "Asia/Tokyo", "Asia/Tokyo"},
			{"Asia/Tokyo", "", "Asia/Tokyo"},
			{"Europe/Berlin", "Asia/Tokyo", "Asia/Tokyo"},
			{"Asia/Tokyo", "Europe/Berlin", "Asia/Tokyo"},
			{"", "", "Europe/Berlin"},
			{"Asia/Seoul", "Asia/Tokyo", ""},
		} {
			s, _ := w.ticking(func(r *factory.ScheduleRequest) { r.TimeZone = "Europe/Berlin" })
			req := hourly
			req.Enabled, req.TimeZone, req.Timezone = new(true), c.timeZone, c.timezone
			after, err := w.Schedules.Replace(w.T.Context(), w.Admin, s.ID, req)
			if after.TimeZone != c.want || (err != nil) != (c.want == "") {
				w.T.Errorf("%d: got %q, %v, want %q", i, after.TimeZone, err, c.want)
			}
		}
	})
}
