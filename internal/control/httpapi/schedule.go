package httpapi

import (
	"net/http"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/factory"
)

// schedules holds the handlers of schedules.
type schedules struct {
	rules *factory.Schedules
}

func (h schedules) create(c *call) error {
	var req factory.ScheduleRequest
	if err := c.decode(&req); err != nil {
		return err
	}
	return c.created(h.rules.Create(c.ctx(), c.principal, req))
}

func (h schedules) list(c *call) error {
	schedules, err := h.rules.List(c.ctx(), c.principal)
	return c.ok(map[string][]penstock.Schedule{"schedules": schedules}, err)
}

func (h schedules) read(c *call) error {
	return c.ok(h.rules.Read(c.ctx(), c.principal, c.param("id")))
}

func (h schedules) times(c *call) error {
	q := c.query()
	clock := penstock.CronTrigger{Cron: q.text("cron"), TimeZone: q.text("time_zone"), Timezone: q.text("timezone")}
	if q.err != nil {
		return q.err
	}
	times, err := h.rules.ScheduleTimes(clock)
	return c.ok(map[string][]penstock.Time{"upcoming": times}, err)
}

func (h schedules) replace(c *call) error {
	var req factory.ScheduleRequest
	if err := c.decode(&req); err != nil {
		return err
	}
	return c.ok(h.rules.Replace(c.ctx(), c.principal, c.param("id"), req))
}

func (h schedules) delete(c *call) error {
	if err := h.rules.Delete(c.ctx(), c.principal, c.param("id")); err != nil {
		return err
	}
	return c.respond(http.StatusOK, map[string]bool{"success": true})
}

func (h schedules) pause(c *call) error {
	return c.ok(h.rules.Pause(c.ctx(), c.principal, c.param("id")))
}

func (h schedules) resume(c *call) error {
	return c.ok(h.rules.Resume(c.ctx(), c.principal, c.param("id")))
}

func (h schedules) occurrences(c *call) error {
	q := c.query()
	oq := factory.OccurrenceQuery{
		AutomationUID: q.text("automation_uid"), ScheduleID: q.text("schedule_id"), WebhookUID: q.text("webhook_uid"),
		Kind: oneOf(q, "kind", factory.OccurrenceKinds()...), Fate: oneOf(q, "fate", factory.Fates()...),
		Limit: q.limit(penstock.DefaultLimit), Cursor: q.optional("cursor"),
	}
	if q.err != nil {
		return q.err
	}
	return c.ok(h.rules.Occurrences(c.ctx(), c.principal, oq))
}
