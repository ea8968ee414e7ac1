package penstock

// Schedule starts runs on a schedule: the contract's ScheduledAgentItem.
type Schedule struct {
	ID             string             `json:"id"`
	Name           string             `json:"name"`
	Cron           string             `json:"cron_schedule"`
	TimeZone       string             `json:"time_zone"` // IANA, of Cron; never empty
	CatchUp        CatchUp            `json:"catch_up"`  // never empty
	Overlap        Overlap            `json:"overlap"`   // never empty
	Enabled        bool               `json:"enabled"`
	Prompt         string             `json:"prompt"`
	Mode           Mode               `json:"mode"` // of its runs, never empty
	CreatedAt      Time               `json:"created_at"`
	UpdatedAt      Time               `json:"updated_at"`
	Config         *Config            `json:"agent_config,omitempty"`
	AgentUID       string             `json:"agent_uid,omitempty"`
	Metadata       map[string]string  `json:"metadata,omitempty"`
	Environment    *EnvironmentConfig `json:"environment,omitempty"` // that Config names
	CreatedBy      *Actor             `json:"created_by,omitempty"`
	UpdatedBy      *Actor             `json:"updated_by,omitempty"`
	History        *ScheduleHistory   `json:"history,omitempty"`
	LastSpawnError *string            `json:"last_spawn_error"`
	Scope          *Scoped            `json:"scope,omitempty"`
	Upcoming       []Time             `json:"upcoming,omitempty"` // the next five times while enabled
	HealthRules
	Health
}

// ScheduleHistory says when a schedule last fired and will next fire.
type ScheduleHistory struct {
	LastRan *Time `json:"last_ran"`
	NextRun *Time `json:"next_run"`
}

// CatchUp is what a schedule does about times that passed while no server ran.
type CatchUp string

// CatchUpOnce starts one run for all of them. It is the default.
const (
	CatchUpOnce CatchUp = "once"
	CatchUpAll  CatchUp = "all" // a run for each, for the latest 100
	CatchUpNone CatchUp = "none"
)

// Overlap is what a schedule does when a run of it is still live.
type Overlap string

// OverlapAllow starts another one beside it. It is the default.
const (
	OverlapAllow   Overlap = "allow"
	OverlapQueue   Overlap = "queue" // start once it has ended
	OverlapSkip    Overlap = "skip"
	OverlapReplace Overlap = "replace" // cancel it
)
