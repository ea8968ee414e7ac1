package factory

import (
	"github.com/penstock-dev/penstock"
)

// ScheduleRequest creates or replaces a schedule.
type ScheduleRequest struct {
	Name     string            `json:"name"`
	Cron     string            `json:"cron_schedule"`
	Enabled  *bool             `json:"enabled,omitempty"` // true when absent on create; required on replace
	Prompt   string            `json:"prompt,omitempty"`
	Mode     penstock.Mode     `json:"mode,omitempty"`
	Skill    string            `json:"skill,omitempty"`
	Config   *penstock.Config  `json:"agent_config,omitempty"`
	AgentUID string            `json:"agent_uid,omitempty"`
	Metadata map[string]string `json:"metadata,omitempty"`
	Team     *bool             `json:"team,omitempty"`
}
