package factory

import (
	"github.com/penstock-dev/penstock"
)

// ScheduleRequest creates or replaces a schedule.
type ScheduleRequest struct {
	Name     string            `json:"name"`
	Cron     string            `json:"cron_schedule"`
	TimeZone string            `json:"time_zone,omitempty"` // IANA; UTC when absent
	Timezone string            `json:"timezone,omitempty"`  // another spelling of it
	CatchUp  penstock.CatchUp  `json:"catch_up,omitempty"`
	Overlap  penstock.Overlap  `json:"overlap,omitempty"`
	Enabled  *bool             `json:"enabled,omitempty"` // true when absent on create; required on replace
	Prompt   string            `json:"prompt,omitempty"`
	Mode     penstock.Mode     `json:"mode,omitempty"`
	Skill    string            `json:"skill,omitempty"`
	Config   *penstock.Config  `json:"agent_config,omitempty"`
	AgentUID string            `json:"agent_uid,omitempty"`
	Metadata map[string]string `json:"metadata,omitempty"`
	Team     *bool             `json:"team,omitempty"`
	HealthRequest
}
