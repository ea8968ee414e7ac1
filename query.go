package penstock

import "encoding/json"

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
	FactoryUIDs   []string // any of these
	FactoryOnly   bool     // runs of any factory
	WebhookUID    string
	ArtifactType  ArtifactType
	Metadata      map[string]string // all of these, at most 5
	Text          string            // each word must be in the title, prompt or skill, ignoring case
}

// EmptyEnvironment is the value of the environment filter that selects runs
// without an environment.
const EmptyEnvironment = "empty-environment"

// Limits of lists.
const (
	DefaultLimit      = 20
	MaxLimit          = 500
	MaxMetadataFilter = 5
	MaxPageBytes      = 4 << 20  // of JSON; a page of runs ends before this, but has at least one run
	MaxListedPrompt   = 16 << 10 // bytes of a prompt in a list
)

// RunPage is one page of runs.
type RunPage struct {
	Runs     []Run    `json:"runs"`
	PageInfo PageInfo `json:"page_info"`
}

// PageInfo says whether a next page exists, and its cursor.
type PageInfo struct {
	HasNext    bool   `json:"has_next_page"`
	NextCursor string `json:"next_cursor,omitempty"`
}

// HandoffAttachment is a file that was sent with a run.
type HandoffAttachment struct {
	ID          string `json:"attachment_id"`
	Filename    string `json:"filename"`
	DownloadURL string `json:"download_url"`
	MimeType    string `json:"mime_type,omitempty"`
}

// ArtifactUpload describes an artifact that a caller adds.
type ArtifactUpload struct {
	Type ArtifactType `json:"artifact_type"`
	Data ArtifactData `json:"data"`
}

// ArtifactItem is an artifact with its uid: the contract's ArtifactResponse.
type ArtifactItem struct {
	UID       string          `json:"artifact_uid"`
	Type      ArtifactType    `json:"artifact_type"`
	CreatedAt Time            `json:"created_at"`
	RunID     string          `json:"run_id,omitempty"`
	Data      json.RawMessage `json:"data"`
}

// ModelList lists the models that a run can name.
type ModelList struct {
	Default string      `json:"default_model_id"`
	Models  []ModelInfo `json:"models"`
}

// ConnectedWorker sums up the workers of one host.
type ConnectedWorker struct {
	Host        string `json:"worker_host"`
	Connections int    `json:"connection_count"`
	Capacity    int    `json:"capacity"` // simultaneous runs of all its workers
	Busy        int    `json:"busy"`
	ConnectedAt Time   `json:"connected_at"`
	LastSeenAt  Time   `json:"last_seen_at"`
	Launchers   int    `json:"launcher_count"` // how many of them are launchers
	// Executions lists the executions of runs that the caller can see. The ones that have not
	// started come first.
	Executions []WorkerExecution `json:"executions"`
}

// MaxWorkerExecutions limits the executions of all workers together in a response.
const MaxWorkerExecutions = 500

// WorkerExecution is a run that a connected worker has.
type WorkerExecution struct {
	RunID       string `json:"run_id"`
	ExecutionID int    `json:"execution_id"`
	Title       string `json:"title"`
	State       State  `json:"state"`
	Since       Time   `json:"since"` // when the state, or what it waits for, began
	// Waiting is set from the claim of a launcher until the worker in the Pod has started.
	Waiting *PodWait `json:"waiting,omitempty"`
}

// PodWait says what keeps the Pod of an execution from starting.
type PodWait struct {
	Reason  string `json:"reason,omitempty"` // one word, such as ImagePullBackOff; "": nothing unusual
	Message string `json:"message"`
}

// HarnessInfo is an agent program that runs can name.
type HarnessInfo struct {
	Name    string   `json:"name"`
	Version string   `json:"version,omitempty"` // of an installed agent
	Models  []string `json:"models"`            // ids of models that it can use; none: unknown, or its own
	Usable  bool     `json:"usable"`
	Reason  string   `json:"reason,omitempty"` // why it is not usable
	Workers int      `json:"workers"`          // connected workers that take runs for it
}

// SkillQuery selects skills in the repositories of environments.
type SkillQuery struct {
	Repo             string // owner/repo; empty: all
	Refresh          bool   // read the repositories again first
	SortBy           string // name (default) or last_run
	IncludeMalformed bool
}

// AgentSkillItem is a skill with the places where it was found.
type AgentSkillItem struct {
	Name     string         `json:"name"`
	Variants []SkillVariant `json:"variants"`
}

// SkillVariant is one place of a skill.
type SkillVariant struct {
	ID           string             `json:"id"` // owner/repo:path/SKILL.md
	Description  string             `json:"description"`
	BasePrompt   string             `json:"base_prompt"`
	Source       SkillSource        `json:"source"`
	Environments []SkillEnvironment `json:"environments"`
	LastRunAt    *Time              `json:"last_run_timestamp"`
	Error        string             `json:"error,omitempty"` // why it is malformed
	Notes        []string           `json:"notes,omitempty"` // what is odd about its file
}

// SkillSource says where the file is.
type SkillSource struct {
	Owner      string `json:"owner"`
	Name       string `json:"name"`
	SkillPath  string `json:"skill_path"`
	WorkerHost string `json:"worker_host,omitempty"`
}

// SkillEnvironment is an environment with the repository of a skill.
type SkillEnvironment struct {
	UID  string `json:"uid"`
	Name string `json:"name"`
}
