package penstock

import (
	"context"
	"errors"
	"io"
	"time"
)

// Lease is a worker's right to one execution. Every write of the execution carries it. After
// the lease is lost or has ended, each write returns ErrLeaseLost.
type Lease struct {
	RunID       string `json:"run_id"`
	ExecutionID int    `json:"execution_id"`
	Token       string `json:"token"`
}

// LeaseTime is how long a lease is valid after a claim or renewal, by the database's clock. A
// worker that cannot renew its lease stops its sandboxes before that.
const LeaseTime = 30 * time.Second

// The errors that a Control returns, besides errors of transport and storage.
var (
	ErrNoWork    = errors.New("no work is waiting for this worker")
	ErrLeaseLost = errors.New("the lease is lost: the run was cancelled, ended or given to another worker")
	// ErrRenewed is returned for a Loss that is not certain: the worker may still be alive.
	ErrRenewed = errors.New("the lease was renewed not long ago")
)

// Control is the part of the control plane that a worker needs, in process or over HTTP. Every
// method can safely be repeated after a transport error.
type Control interface {
	// Heartbeat renews the lease at once. Then it blocks until there is a signal for the worker, but
	// no longer than wait, and returns the signal, if any. ErrLeaseLost means that the worker must
	// drop the execution: the run was cancelled or has ended, or another worker has it.
	Heartbeat(ctx context.Context, l Lease, wait time.Duration) (Signal, error)

	// Append appends events to the log. A draft of the type "state" changes the state of the run,
	// from CLAIMED to PENDING or from PENDING to INPROGRESS. The worker makes all later state
	// changes with Finish. After the lease has ended, one more append is accepted: a draft of the
	// timeline event vm_shutdown, optionally followed by reports about traffic.
	Append(ctx context.Context, l Lease, drafts []Draft) error

	// Finish ends a turn. If it returns prompts, follow-ups were waiting: the run is still
	// INPROGRESS, and the worker continues with them. Otherwise the run is in r.State and the
	// lease has ended.
	Finish(ctx context.Context, l Lease, r Result) ([]Prompt, error)

	Claims
	ledger
	files
}

// branches are what runs push to forges.
type branches interface {
	// ClaimBranches records what a run is about to push, before it does. It returns for each branch why
	// the run must not push it, or "": it belongs to another thread, or to nobody.
	ClaimBranches(ctx context.Context, l Lease, c PushClaim) (refusals []string, err error)
}

// Claims begin executions. A launcher claims some for another process, which adopts them.
type Claims interface {
	// Claim claims one waiting run that this worker can execute. If no run waits, it waits up
	// to c.Wait and returns ErrNoWork. The call also registers the worker with the control
	// plane.
	Claim(ctx context.Context, c ClaimRequest) (Assignment, error)

	// Adopt takes over the execution that a launcher holds under l. One write replaces the token of
	// l, so exactly one of many callers succeeds, and every later write under l returns
	// ErrLeaseLost, also another Adopt. A repeated call with the same Adoption.Token succeeds
	// again. The assignment has the new lease and everything that the launcher did not get: the
	// prompts, which are delivered now, and the secrets.
	Adopt(ctx context.Context, l Lease, a Adoption) (Assignment, error)

	// ReportLoss reports that the process is gone that has adopted l, or was to adopt it. l is the
	// lease of the launcher. The run ends or is requeued, as loss says. ErrLeaseLost means that
	// the execution has ended already; the timeline of the run then has the loss all the same, once,
	// if the loss has a reason and the run has not succeeded. ErrRenewed means that the worker has
	// adopted it or may be alive, so the loss does not count.
	ReportLoss(ctx context.Context, l Lease, loss Loss) error
}

// Adoption describes the process that takes over an execution.
type Adoption struct {
	// Token is chosen by the caller, once, with at least 128 random bits ([NewUID]). It becomes part
	// of the new token.
	Token   string `json:"token"`
	Host    string `json:"worker_host"`
	Sandbox string `json:"sandbox"`
}

// Loss says why the process of an execution is gone.
type Loss struct {
	// Reason is the word of the timeline event pod_lost, such as OOMKilled; "": no event.
	Reason string `json:"reason"`
	// Message ends the run if it is Final, or if the agent's session cannot be resumed.
	Message StatusMessage `json:"message"`
	// State is the final state: FAILED or ERROR.
	State State `json:"state"`
	// Final means that another attempt would end in the same way. Otherwise the run is requeued if
	// that repeats no work.
	Final bool `json:"final,omitzero"`
	// Certain means that all processes of the execution have ended. Otherwise the loss counts only
	// once the lease was not renewed for so long that its worker has stopped its sandbox.
	Certain bool `json:"certain,omitzero"`
	// Unadopted means that the loss counts only if the execution was not adopted yet.
	Unadopted bool `json:"unadopted,omitzero"`
}

// ledger counts the calls of an execution to models.
type ledger interface {
	// Reserve counts a call to a model before it is sent. A repeated request with the same id
	// reserves nothing twice. Only Reserved without Wait and Refusal lets the worker send the
	// call.
	Reserve(ctx context.Context, l Lease, r Reservation) (Reserved, error)

	// Settle replaces a reservation with what the call has used. It also works after the lease
	// has ended. A repeated settlement of a call changes nothing. ErrLeaseLost means that no such
	// call was reserved under this lease.
	Settle(ctx context.Context, l Lease, s Settlement) error
}

// files are what an execution receives and leaves, also to later ones.
type files interface {
	layers
	branches

	// Open reads a file of the execution: an attachment, a webhook's body, the
	// saved session.
	Open(ctx context.Context, l Lease, f File) (io.ReadCloser, error)

	// Save stores a result of the execution: an artifact, whose UID it returns, the session for a
	// later resume, or the changes, which replace the changes of the turn before.
	Save(ctx context.Context, l Lease, u Upload, content io.Reader) (uid string, err error)
}

// ClaimRequest says which runs a worker can execute.
type ClaimRequest struct {
	WorkerID    string       `json:"worker_id"`   // of this process, created at its start
	Host        string       `json:"worker_host"` // matched against config.worker_host
	Local       bool         `json:"local"`       // embedded in serve
	Version     string       `json:"version"`
	Harnesses   []string     `json:"harnesses"`
	Agents      []AgentState `json:"agents,omitempty"` // installed, usable or not
	Models      []string     `json:"models"`           // prefixes such as "anthropic/" that its keys allow; empty: any
	Sandbox     string       `json:"sandbox"`          // bubblewrap, process, …
	StrictImage bool         `json:"strict_image"`
	Platform    string       `json:"platform"` // such as linux/x86_64
	Capacity    int          `json:"capacity"` // total number of slots
	Busy        int          `json:"busy"`     // slots in use
	Stopping    bool         `json:"stopping"` // the worker is stopping and claims nothing
	// Launch means that another process will adopt the execution. The assignment then has no
	// prompts, secrets and files.
	Launch bool          `json:"launch,omitzero"`
	Wait   time.Duration `json:"wait"`
}

// AgentState is an agent that is installed on a worker.
type AgentState struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	// Reason says why it cannot be used, "" if it can.
	Reason string `json:"reason,omitempty"`
}

// Assignment is everything a worker needs for one execution.
type Assignment struct {
	Lease       Lease               `json:"lease"`
	Run         Run                 `json:"run"` // with Config resolved
	Prompts     []Prompt            `json:"prompts"`
	Environment *EnvironmentSpec    `json:"environment,omitempty"`
	Runner      *RunnerSpec         `json:"runner,omitempty"`
	Skills      []SkillFolder       `json:"skills,omitempty"`  // skills that need no search in repositories
	Files       []File              `json:"files,omitempty"`   // attachments, event-payload.json
	Session     *SavedSession       `json:"session,omitempty"` // to be resumed
	Checkpoint  *AssignedCheckpoint `json:"checkpoint,omitempty"`
	History     []Step              `json:"history,omitempty"` // of the conversation, if a harness cannot load a session
	// Secrets are granted to this run: environment variables of the sandbox, masked in records.
	Secrets map[string]string `json:"secrets,omitempty"`
	// Network decides what the run may reach.
	Network *NetworkPolicy `json:"network,omitempty"`
	// NetworkSecrets are the values of the secrets that Network names, by name. They stay with the
	// worker: a secret that is only here never enters the sandbox.
	NetworkSecrets map[string]string `json:"network_secrets,omitempty"`
	// Pushes are the repositories to which the run may push, through the gate of the worker.
	Pushes []PushGrant `json:"pushes,omitempty"`
	// HarnessSecrets are the secrets of harness_auth_secrets, by harness, such as claude. The
	// gateway of a sealed run sends them to the model provider instead of the worker's own keys.
	// Each is also in Secrets, for a sandbox without a gateway.
	HarnessSecrets map[string]HarnessSecret `json:"harness_secrets,omitempty"`
	// RegistryLogin is USER:PASSWORD for the registry of the image, the value of the secret that the
	// runner or the environment names for it. It stays with the worker.
	RegistryLogin string `json:"registry_login,omitempty"`
	// RegistryHosts are the hosts of that secret. The login goes to no other.
	RegistryHosts []string `json:"registry_hosts,omitempty"`
	// RetiredLayers are the layers of the environment that the run must not get, nor what was made from
	// them.
	RetiredLayers []string `json:"retired_layers,omitempty"`
	// APIKey is the agent's key for its own run. It is valid as long as the lease.
	APIKey    string        `json:"api_key"`
	TimeLimit time.Duration `json:"time_limit,omitzero"` // of max_duration_minutes
}

// HarnessSecret is a credential that a run has for its harness.
type HarnessSecret struct {
	Name  string `json:"name"` // of the managed secret, such as ANTHROPIC_API_KEY
	Value string `json:"value"`
}

// Prompt is one message to the agent, which starts a turn.
type Prompt struct {
	ID          string `json:"id"` // of the message in the conversation
	Text        string `json:"text"`
	Mode        Mode   `json:"mode,omitempty"`
	Followup    bool   `json:"followup,omitzero"`
	Redelivered bool   `json:"redelivered,omitzero"` // delivered before, to a worker that was lost
	Files       []File `json:"files,omitempty"`      // written into the workspace first
}

// File names content that Control.Open reads and where it goes in the workspace.
type File struct {
	ID       string `json:"id"`
	Path     string `json:"path"` // relative to the workspace
	MimeType string `json:"mime_type,omitempty"`
	Size     int64  `json:"size"`
}

// SavedSession is the agent's HOME, saved after an earlier turn.
type SavedSession struct {
	SessionID string `json:"session_id"` // the harness's own
	Harness   string `json:"harness"`
	File      File   `json:"file"`
}

// EnvironmentSpec is an environment as it was when the run was claimed.
type EnvironmentSpec struct {
	UID    string            `json:"uid"`
	Config EnvironmentConfig `json:"config"`
}

// Signal is the result of a heartbeat.
type Signal struct {
	Followups int `json:"followups"`          // how many are waiting; Finish delivers them
	Interrupt int `json:"interrupt,omitzero"` // the turn to end; 0: none
}

// Result ends a turn.
type Result struct {
	// State is SUCCEEDED, FAILED, ERROR, BLOCKED (the agent asks a question, which is in
	// Message), or QUEUED (requeue the run).
	State   State          `json:"state"`
	Message *StatusMessage `json:"message,omitempty"`
	// Turn is the number of the turn to end, from 1. A repeated call for the same turn returns
	// the same prompts. 0: unknown.
	Turn int `json:"turn,omitzero"`
	// KeepOpen asks for follow-ups without ending the run, for an idle interactive session.
	KeepOpen bool `json:"keep_open,omitzero"`
	// ActionsUnknown means that the harness reports no actions, so that a run without them is not
	// hollow.
	ActionsUnknown bool `json:"actions_unknown,omitzero"`
	// Usage is what this turn consumed.
	Usage *TurnUsage `json:"usage,omitempty"`
}

// TurnUsage is what one turn consumed, as the agent or the gateway reports it.
type TurnUsage struct {
	ModelID string     `json:"model_id,omitempty"`
	Tokens  TokenUsage `json:"tokens"`
	CostUSD *float64   `json:"cost_usd,omitempty"` // if the agent knows it; otherwise from the price list
}

// The largest consumption that is accepted for one turn: tokens of each kind, and US dollars.
// They keep the sums of turns finite.
const (
	maxTurnTokens = 1_000_000_000_000
	maxTurnCost   = 1_000_000_000
	maxModelID    = 200 // bytes of the model's name
)

// Bounded returns u within these limits, because the reporter is not trusted.
func (u TurnUsage) Bounded() TurnUsage {
	if len(u.ModelID) > maxModelID {
		u.ModelID = ""
	}
	for _, n := range []*int64{&u.Tokens.Input, &u.Tokens.Output, &u.Tokens.CacheRead, &u.Tokens.CacheWrite} {
		*n = min(max(*n, 0), maxTurnTokens)
	}
	if u.CostUSD != nil {
		cost := min(max(*u.CostUSD, 0), maxTurnCost)
		u.CostUSD = &cost
	}
	return u
}

// Upload describes what Control.Save stores. Exactly one of Artifact, Session, Changes and Checkpoint
// is set.
type Upload struct {
	ID         string           `json:"id"` // chosen by the caller once, so that a repeated call stores nothing twice
	Type       ArtifactType     `json:"type,omitempty"`
	Artifact   *ArtifactData    `json:"artifact,omitempty"`
	Session    *SavedSession    `json:"session,omitempty"`
	Changes    *SavedChanges    `json:"changes,omitempty"`
	Checkpoint *SavedCheckpoint `json:"checkpoint,omitempty"`
	Size       int64            `json:"size"`
}
