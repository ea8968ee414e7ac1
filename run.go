package penstock

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// State is the state of a run.
type State string

// The states of a run.
const (
	StateQueued     State = "QUEUED"     // waits for a worker
	StateClaimed    State = "CLAIMED"    // claimed by a worker
	StatePending    State = "PENDING"    // workspace and set-up are being prepared
	StateInProgress State = "INPROGRESS" // the agent works
	StateBlocked    State = "BLOCKED"    // waits for a person; holds no lease and no slot
	StateSucceeded  State = "SUCCEEDED"
	StateFailed     State = "FAILED" // for a cause that the user can fix
	StateError      State = "ERROR"  // for any other cause
	StateCancelled  State = "CANCELLED"
)

// moves lists the states that may follow each state. The store checks it before every conditional
// write.
var moves = map[State][]State{
	StateQueued:     {StateClaimed, StateError, StateBlocked, StateCancelled},
	StateClaimed:    {StatePending, StateQueued, StateFailed, StateError, StateBlocked, StateCancelled},
	StatePending:    {StateInProgress, StateQueued, StateFailed, StateError, StateBlocked, StateCancelled},
	StateInProgress: {StateSucceeded, StateFailed, StateError, StateBlocked, StateQueued, StateCancelled},
	StateBlocked:    {StateQueued, StateFailed, StateCancelled},
	StateSucceeded:  {StateQueued, StateBlocked},
	StateFailed:     {StateQueued},
	StateError:      {StateQueued},
	StateCancelled:  {StateQueued},
}

// States lists every state, in the order of a run's life.
func States() []State {
	return []State{
		StateQueued, StateClaimed, StatePending, StateInProgress, StateBlocked,
		StateSucceeded, StateFailed, StateError, StateCancelled,
	}
}

// Valid reports whether s is one of the states.
func (s State) Valid() bool { _, ok := moves[s]; return ok }

// CanMove reports whether a run may go from s to next.
func (s State) CanMove(next State) bool { return slices.Contains(moves[s], next) }

// Done reports whether the run has ended. A follow-up can start it again.
func (s State) Done() bool {
	switch s {
	case StateSucceeded, StateFailed, StateError, StateCancelled:
		return true
	}
	return false
}

// Held reports whether a worker holds a lease on a run in this state.
func (s State) Held() bool {
	return s == StateClaimed || s == StatePending || s == StateInProgress
}

// Source says what started a run.
type Source string

// Mode says how the agent should handle a prompt.
type Mode string

// The modes; the empty mode is ModeNormal.
const (
	ModeNormal      Mode = "normal"
	ModePlan        Mode = "plan"
	ModeOrchestrate Mode = "orchestrate"
)

// Valid reports whether m is a mode or empty.
func (m Mode) Valid() bool {
	return m == "" || m == ModeNormal || m == ModePlan || m == ModeOrchestrate
}

// Run is one piece of work for an agent: RunItem of the API.
type Run struct {
	ID             string            `json:"run_id"`
	TaskID         string            `json:"task_id"` // the same as ID, deprecated
	Title          string            `json:"title"`
	State          State             `json:"state"`
	Prompt         string            `json:"prompt"`                    // "" if the run has only a skill
	PromptCut      bool              `json:"prompt_truncated,omitzero"` // in a list: longer than MaxListedPrompt
	CreatedAt      Time              `json:"created_at"`
	UpdatedAt      Time              `json:"updated_at"`
	StartedAt      Time              `json:"started_at,omitzero"`
	FinishedAt     Time              `json:"finished_at,omitzero"`
	RunTime        Duration          `json:"run_time,omitzero"` // all executions together
	ExecutionID    int               `json:"execution_id"`      // of the current execution, from 1
	QueuePosition  int               `json:"queue_position,omitzero"`
	StatusMessage  *StatusMessage    `json:"status_message,omitempty"`
	Source         Source            `json:"source,omitempty"`
	SessionID      string            `json:"session_id,omitempty"`
	SessionLink    string            `json:"session_link,omitempty"`
	TriggerURL     string            `json:"trigger_url,omitempty"`
	Creator        *Actor            `json:"creator,omitempty"`
	Executor       *Actor            `json:"executor,omitempty"`
	Config         *Config           `json:"agent_config,omitempty"`
	ConfigSources  map[string]string `json:"agent_config_sources,omitempty"` // where each value came from
	Skill          *Skill            `json:"agent_skill,omitempty"`
	Mode           Mode              `json:"mode,omitempty"`
	Interactive    bool              `json:"interactive,omitzero"`
	ConversationID string            `json:"conversation_id,omitempty"`
	ParentID       string            `json:"parent_run_id,omitempty"`
	RootID         string            `json:"root_run_id,omitempty"`
	Depth          int               `json:"depth,omitzero"` // 0 for a run without a parent
	FactoryUID     string            `json:"factory_uid,omitempty"`
	Metadata       map[string]string `json:"metadata,omitempty"`
	SandboxRunning bool              `json:"is_sandbox_running"`
	Cancellable    bool              `json:"is_run_type_cancellable"`
	Location       string            `json:"execution_location,omitempty"` // REMOTE once a worker has claimed it
	Artifacts      []Artifact        `json:"artifacts,omitempty"`
	Schedule       *RunSchedule      `json:"schedule,omitempty"`
	Scope          *Scoped           `json:"scope,omitempty"`
	Usage          *Usage            `json:"request_usage,omitempty"`
	// Evidence is current. In a list, a run that waits for a worker or is at one has no evidence,
	// because it is not counted there.
	Evidence *Evidence `json:"evidence,omitempty"`
	// Hollow says that the agent ended its work without doing anything, and HollowReason in a sentence
	// why. The run is SUCCEEDED, or FAILED with CodeAgentDidNothing.
	Hollow       bool   `json:"hollow,omitzero"`
	HollowReason string `json:"hollow_reason,omitempty"`
	// Waiting is what the run waits for, now.
	Waiting *Waiting `json:"waiting,omitempty"`
	// Stalled is set while the run works without an event.
	Stalled *Stalled `json:"stalled,omitempty"`

	// Subject is what the events of the run are about; EventsCount is how many it has received.
	Subject     string `json:"subject,omitempty"`
	SubjectUID  string `json:"subject_uid,omitempty"` // of its claim
	EventsCount int64  `json:"events_count,omitzero"`
	ContinuesID string `json:"continues,omitempty"` // the run on the same subject that ended before

	// ForkedFrom is where the files and the conversation of a fork come from. Runs that were forked by
	// one request have the same ForkGroup.
	ForkedFrom *ForkedFrom `json:"forked_from,omitempty"`
	ForkGroup  string      `json:"fork_group,omitempty"`

	// Sealed says whether checks proved that every execution so far was sealed; nil: no execution
	// was checked yet.
	Sealed *bool `json:"sealed,omitempty"`
	// Network stores the layers that were fixed when the run was created, from its runner, factory,
	// agent and request. The layers of server and environment are read at each claim.
	Network *NetworkPolicy `json:"network,omitempty"`
}

// Duration is written as an ISO 8601 duration in seconds, such as PT12.345S.
type Duration time.Duration

// MarshalText writes the ISO 8601 form.
func (d Duration) MarshalText() ([]byte, error) {
	s := fmt.Sprintf("PT%.3f", time.Duration(d).Seconds())
	return []byte(strings.TrimRight(strings.TrimRight(s, "0"), ".") + "S"), nil
}

// UnmarshalText reads the form that MarshalText writes.
func (d *Duration) UnmarshalText(b []byte) error {
	text, ok := strings.CutPrefix(string(b), "PT")
	std, err := time.ParseDuration(strings.ToLower(text))
	if !ok || err != nil {
		return Invalid("", "must be an ISO 8601 duration in seconds, such as PT1.5S")
	}
	*d = Duration(std)
	return nil
}

// StatusMessage explains a state.
type StatusMessage struct {
	Message   string `json:"message"`
	ErrorCode Code   `json:"error_code,omitempty"`
	Retryable bool   `json:"retryable,omitzero"`
	// Budget is what a run lacks that is BLOCKED or FAILED with CodeBudgetExceeded.
	Budget *BudgetShortage `json:"budget,omitempty"`
}

// Actor is a person or service account in a response.
type Actor struct {
	Type        string `json:"type"` // user or service_account
	UID         string `json:"uid"`
	DisplayName string `json:"display_name,omitempty"`
	Email       string `json:"email,omitempty"`
	PhotoURL    string `json:"photo_url,omitempty"`
}

// Scoped says whether one user or the whole team can see a resource.
type Scoped struct {
	Type string `json:"type"` // User or Team
	UID  string `json:"uid,omitempty"`
}

// RunSchedule names the schedule that started a run.
type RunSchedule struct {
	ID   string `json:"schedule_id"`
	Name string `json:"schedule_name"`
	Cron string `json:"cron_schedule"`
}

// Usage is what a run has consumed so far. Costs are in US dollars. A cost without a known
// price is omitted, never guessed.
type Usage struct {
	TotalTokens      int64          `json:"total_tokens,omitzero"`
	InferenceCost    *float64       `json:"inference_cost,omitempty"`
	ComputeCost      *float64       `json:"compute_cost,omitempty"`
	PlatformCost     *float64       `json:"platform_cost,omitempty"`
	InferenceCostUSD *float64       `json:"inference_cost_usd,omitempty"`
	Breakdown        *CostBreakdown `json:"inference_cost_breakdown_usd,omitempty"`
}

// CostBreakdown splits the inference cost by kind of token.
type CostBreakdown struct {
	Input      float64 `json:"input_cost_usd"`
	CacheRead  float64 `json:"input_cache_read_cost_usd"`
	CacheWrite float64 `json:"input_cache_write_cost_usd"`
	Output     float64 `json:"output_cost_usd"`
}

// RunRequest creates a run: the contract's RunAgentRequest.
type RunRequest struct {
	Prompt           string            `json:"prompt,omitempty"`
	Title            string            `json:"title,omitempty"`
	Config           *Config           `json:"config,omitempty"`
	Skill            string            `json:"skill,omitempty"`
	Mode             Mode              `json:"mode,omitempty"`
	ConversationID   string            `json:"conversation_id,omitempty"`
	Attachments      []Attachment      `json:"attachments,omitempty"`
	AgentIdentityUID string            `json:"agent_identity_uid,omitempty"`
	OnBehalfOf       string            `json:"on_behalf_of,omitempty"`
	ParentID         string            `json:"parent_run_id,omitempty"`
	Interactive      *bool             `json:"interactive,omitempty"`
	Team             *bool             `json:"team,omitempty"` // nil means true
	Metadata         map[string]string `json:"metadata,omitempty"`
	// Subject is what the run is about, without placeholders. Calls of one principal about the same reach one run.
	Subject  string   `json:"subject,omitempty"`
	WhenBusy WhenBusy `json:"when_busy,omitempty"` // coalesce when absent
	// Attempts is how many runs to create, in one fork group; nil: one for each of Configs, or else a
	// single run without a group.
	Attempts *int `json:"attempts,omitempty"`
	// Configs has values for each of the runs, which replace the values of Config.
	Configs []Config `json:"configs,omitempty"`
}

// ForkedRun is a run of a fork group that was created now.
type ForkedRun struct {
	ID    string `json:"run_id"`
	State State  `json:"state"`
}

// Attachment is a file sent with a run.
type Attachment struct {
	FileName string `json:"file_name"`
	MimeType string `json:"mime_type"`
	Data     []byte `json:"data"` // base64 in JSON
}

// maxTitle is the longest title of a run, in characters.
const maxTitle = 80

// DeriveTitle derives a title from a prompt: its first line with text, cut at a word, at most
// maxTitle characters.
func DeriveTitle(prompt string) string {
	line := ""
	for l := range strings.Lines(prompt) {
		if line = beginning(l); line != "" {
			break
		}
	}
	return cutTitle(line)
}

// cutTitle cuts a line at a word, after at most maxTitle characters.
func cutTitle(line string) string {
	if utf8.RuneCountInString(line) <= maxTitle {
		return line
	}
	runes := []rune(line)
	cut := string(runes[:maxTitle])
	if i := strings.LastIndexByte(cut, ' '); i > 0 && runes[maxTitle] != ' ' {
		cut = cut[:i]
	}
	return strings.TrimRight(cut, " ")
}

// beginning returns the first words of a line, with one space between them. It stops once it has
// enough for a title, because a prompt is often one line of many kilobytes.
func beginning(line string) string {
	const enough = (maxTitle + 1) * utf8.UTFMax
	var b strings.Builder
	for word := range strings.FieldsFuncSeq(
		line, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) },
	) {
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(word[:min(len(word), enough)])
		if b.Len() >= enough {
			break
		}
	}
	return b.String()
}

// Artifact is a result of a run.
type Artifact struct {
	Type      ArtifactType    `json:"artifact_type"`
	CreatedAt Time            `json:"created_at"`
	Data      json.RawMessage `json:"data"` // by type, as in the contract
}

// ArtifactType is the kind of an artifact.
type ArtifactType string

// The kinds of artifacts.
const (
	ArtifactPlan        ArtifactType = "PLAN"
	ArtifactPullRequest ArtifactType = "PULL_REQUEST"
	ArtifactScreenshot  ArtifactType = "SCREENSHOT"
	ArtifactFile        ArtifactType = "FILE"
	ArtifactReference   ArtifactType = "EXTERNAL_REFERENCE"
)

// ArtifactTypes lists every kind.
func ArtifactTypes() []ArtifactType {
	return []ArtifactType{ArtifactPlan, ArtifactPullRequest, ArtifactScreenshot, ArtifactFile, ArtifactReference}
}

// ArtifactData is the union of the fields of every kind of artifact.
type ArtifactData struct {
	ArtifactUID   string          `json:"artifact_uid,omitempty"`
	DocumentUID   string          `json:"document_uid,omitempty"`
	Branch        string          `json:"branch,omitempty"`
	URL           string          `json:"url,omitempty"`
	Filename      string          `json:"filename,omitempty"`
	Filepath      string          `json:"filepath,omitempty"`
	MimeType      string          `json:"mime_type,omitempty"`
	SizeBytes     int64           `json:"size_bytes,omitzero"`
	Title         string          `json:"title,omitempty"`
	Description   string          `json:"description,omitempty"`
	ReferenceType string          `json:"reference_type,omitempty"`
	Metadata      json.RawMessage `json:"metadata,omitempty"`
	Status        string          `json:"status,omitempty"` // of a PULL_REQUEST
	// Observed says of a PULL_REQUEST that the proxy saw its host confirm it. Otherwise the agent or a
	// client claims it.
	Observed *bool  `json:"observed,omitempty"`
	Content  string `json:"content,omitempty"` // of a PLAN
}
