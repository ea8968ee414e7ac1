package httpapi

import (
	"net/http"

	"github.com/penstock-dev/penstock"
)

func (a *API) createSchedule(c *call) error {
	var req penstock.ScheduleRequest
	if err := c.decode(&req); err != nil {
		return err
	}
	schedule, err := a.svc.Schedules.Create(c.ctx(), c.principal, req)
	if err != nil {
		return err
	}
	return c.respond(http.StatusCreated, schedule)
}

func (a *API) listSchedules(c *call) error {
	schedules, err := a.svc.Schedules.List(c.ctx(), c.principal)
	if err != nil {
		return err
	}
	return c.respond(http.StatusOK, map[string][]penstock.Schedule{"schedules": schedules})
}

func (a *API) schedule(c *call) error {
	schedule, err := a.svc.Schedules.Read(c.ctx(), c.principal, c.param("id"))
	if err != nil {
		return err
	}
	return c.respond(http.StatusOK, schedule)
}

func (a *API) scheduleTimes(c *call) error {
	q := c.query()
	clock := penstock.CronTrigger{Cron: q.text("cron"), Timezone: q.text("timezone")}
	if q.err != nil {
		return q.err
	}
	times, err := a.svc.Schedules.ScheduleTimes(clock)
	if err != nil {
		return err
	}
	return c.respond(http.StatusOK, map[string][]penstock.Time{"upcoming": times})
}

func (a *API) replaceSchedule(c *call) error {
	var req penstock.ScheduleRequest
	if err := c.decode(&req); err != nil {
		return err
	}
	schedule, err := a.svc.Schedules.Replace(c.ctx(), c.principal, c.param("id"), req)
	if err != nil {
		return err
	}
	return c.respond(http.StatusOK, schedule)
}

func (a *API) deleteSchedule(c *call) error {
	if err := a.svc.Schedules.Delete(c.ctx(), c.principal, c.param("id")); err != nil {
		return err
	}
	return c.respond(http.StatusOK, map[string]bool{"success": true})
}

func (a *API) pauseSchedule(c *call) error {
	schedule, err := a.svc.Schedules.Pause(c.ctx(), c.principal, c.param("id"))
	if err != nil {
		return err
	}
	return c.respond(http.StatusOK, schedule)
}

func (a *API) resumeSchedule(c *call) error {
	schedule, err := a.svc.Schedules.Resume(c.ctx(), c.principal, c.param("id"))
	if err != nil {
		return err
	}
	return c.respond(http.StatusOK, schedule)
}
