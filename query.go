package penstock

// RunQuery selects, sorts and pages runs. Every field that is set narrows the
// result; the fields combine with AND.
type RunQuery struct {
	Limit     int    // 1-500; 0 is 20
	Cursor    string // opaque, from the previous page
	SortBy    string // updated_at (default), created_at, title, agent
	Ascending bool

	States        []State // any of these; empty: all
	Name          string  // config.name
	ModelID       string
	Creator       string
	Executor      string
	Sources       []Source // any of these; empty: all
	Location      string   // LOCAL or REMOTE
	CreatedAfter  Time
	CreatedBefore Time
	UpdatedAfter  Time
	EnvironmentID string // EmptyEnvironment: runs without one
	Skill         string
	ScheduleID    string
	AncestorID    string
	AutomationID  string
	Subject       string
	FactoryUIDs   []string // any of these
	FactoryOnly   bool     // runs of any factory
	WebhookUID    string
	ArtifactType  ArtifactType
	Metadata      map[string]string // all of these, at most 5
	Text          string            // each word must be in the title, prompt or skill, ignoring case
}

// Limits of lists.
const (
	DefaultLimit = 20
	MaxLimit     = 500
)
