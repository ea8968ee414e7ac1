package penstock

import (
	"context"
	"errors"
	"io"
	"time"
)

// Lease is a worker's right to one execution. Every write about the execution
// carries it; once it is lost or ended each of them is ErrLeaseLost.
type Lease struct {
	RunID       string `json:"run_id"`
	ExecutionID int    `json:"execution_id"`
	Token       string `json:"token"`
}

// LeaseTime is how long a lease holds after it was taken or renewed, by the
// database's clock. A worker that cannot renew ends its sandboxes before that.
const LeaseTime = 30 * time.Second

// What a Control answers besides failures of transport and storage.
var (
	ErrNoWork    = errors.New("no work is waiting for this worker")
	ErrLeaseLost = errors.New("the lease is lost: the run was cancelled, ended or given to another worker")
)

// Control is what a worker needs of the control plane, in process or over
// HTTP. Every method is safe to repeat after an error of transport.
type Control interface {
	// Claim takes one run that waits and that this worker can execute. It waits
	// for one up to c.Wait, then answers ErrNoWork. The call also tells the
	// control plane that the worker is there.
	Claim(ctx context.Context, c ClaimRequest) (Assignment, error)

	// Heartbeat renews the lease at once, then waits up to wait for something
	// that the worker should know, and answers with it. ErrLeaseLost tells to
	// drop the execution: the caller has been told CANCELLED already, or another
	// worker has it.
	Heartbeat(ctx context.Context, l Lease, wait time.Duration) (Signal, error)

	// Append adds events to the log. A draft of type state moves the run
	// (CLAIMED → PENDING → INPROGRESS); every other move is Finish's. Once the
	// lease is over one thing can still be told, once: that the sandbox is gone,
	// by a draft of the moment vm_shutdown alone.
	Append(ctx context.Context, l Lease, drafts []Draft) error

	// Finish ends a turn. Where it answers prompts, follow-ups waited: the run
	// is INPROGRESS still and the worker goes on with them. Otherwise the run is
	// in r.State and the lease is over.
	Finish(ctx context.Context, l Lease, r Result) ([]Prompt, error)

	// Open reads a file of the execution: an attachment, a webhook's body, the
	// saved session.
	Open(ctx context.Context, l Lease, f File) (io.ReadCloser, error)

	// Save stores what the execution made: an artifact (answered with its uid)
	// or the session to be resumed later.
	Save(ctx context.Context, l Lease, u Upload, content io.Reader) (uid string, err error)
}

// ClaimRequest says what a worker can take.
type ClaimRequest struct {
	WorkerID    string        `json:"worker_id"`   // of this process, made at its start
	Host        string        `json:"worker_host"` // matched against config.worker_host
	Local       bool          `json:"local"`       // embedded in serve
	Version     string        `json:"version"`
	Harnesses   []string      `json:"harnesses"`
	Models      []string      `json:"models"`  // what its providers' keys allow, prefixes such as "anthropic/"; none: any
	Sandbox     string        `json:"sandbox"` // bubblewrap, process, …
	StrictImage bool          `json:"strict_image"`
	Platform    string        `json:"platform"` // such as linux/x86_64
	Capacity    int           `json:"capacity"` // slots in all
	Busy        int           `json:"busy"`     // slots in use
	Stopping    bool          `json:"stopping"` // takes no more: only says good-bye
	Wait        time.Duration `json:"wait"`
}

// Assignment is everything a worker needs for one execution.
type Assignment struct {
	Lease       Lease            `json:"lease"`
	Run         Run              `json:"run"` // with Config resolved
	Prompts     []Prompt         `json:"prompts"`
	Environment *EnvironmentSpec `json:"environment,omitempty"`
	Runner      *RunnerSpec      `json:"runner,omitempty"`
	Skills      []SkillFolder    `json:"skills,omitempty"`  // that no repository has to be looked through for
	Files       []File           `json:"files,omitempty"`   // attachments, event-payload.json
	Session     *SavedSession    `json:"session,omitempty"` // to be resumed
	History     []Step           `json:"history,omitempty"` // of the conversation, for a harness that cannot load
	// Secrets are granted to this run: environment variables of the sandbox, masked in records.
	Secrets map[string]string `json:"secrets,omitempty"`
	// Network decides what the run may reach.
	Network *NetworkPolicy `json:"network,omitempty"`
	// NetworkSecrets are the secrets of Network by their names. They stay with the worker:
	// a secret that is only here never enters the sandbox.
	NetworkSecrets map[string]string `json:"network_secrets,omitempty"`
	// HarnessSecrets are those of harness_auth_secrets by the harness, such as claude. A
	// sealed run's gateway uses them as keys of its upstream, in place of the worker's own.
	// Each is in Secrets, too, for a sandbox without a gateway.
	HarnessSecrets map[string]HarnessSecret `json:"harness_secrets,omitempty"`
	// APIKey is the agent's own, for its own run, as long as the lease.
	APIKey    string        `json:"api_key"`
	TimeLimit time.Duration `json:"time_limit,omitzero"` // of max_duration_minutes
}

// HarnessSecret is a credential that a run has for its harness.
type HarnessSecret struct {
	Name  string `json:"name"` // of the managed secret, such as ANTHROPIC_API_KEY
	Value string `json:"value"`
}

// Prompt is one message to be given to the agent as a turn.
type Prompt struct {
	ID          string `json:"id"` // of the message in the conversation
	Text        string `json:"text"`
	Mode        Mode   `json:"mode,omitempty"`
	Followup    bool   `json:"followup,omitzero"`
	Redelivered bool   `json:"redelivered,omitzero"` // given before, to a worker that died
	Files       []File `json:"files,omitempty"`      // to be put into the workspace first
}

// File names content that Control.Open reads and where it goes in the workspace.
type File struct {
	ID       string `json:"id"`
	Path     string `json:"path"` // relative to the workspace
	MimeType string `json:"mime_type,omitempty"`
	Size     int64  `json:"size"`
}

// SavedSession is the agent's HOME as it was kept after an earlier turn.
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

// Signal is what a heartbeat tells.
type Signal struct {
	Followups int `json:"followups"`          // how many wait; Finish hands them over
	Interrupt int `json:"interrupt,omitzero"` // the turn that is to be ended, 0: none
}

// Result ends a turn.
type Result struct {
	// State is SUCCEEDED, FAILED, ERROR, BLOCKED (the agent asks, Message holds
	// the question), or QUEUED: handed back, to be executed again.
	State   State          `json:"state"`
	Message *StatusMessage `json:"message,omitempty"`
	// Turn is which turn of the execution this ends, from 1: a repeat of a call
	// whose answer was lost is answered with the same prompts. 0: not said.
	Turn int `json:"turn,omitzero"`
	// KeepOpen asks for follow-ups without ending the run: an interactive
	// session in its idle time.
	KeepOpen bool `json:"keep_open,omitzero"`
	// Usage is what this turn consumed.
	Usage *TurnUsage `json:"usage,omitempty"`
}

// TurnUsage is what one turn consumed, as the agent or the gateway reports it.
type TurnUsage struct {
	ModelID string     `json:"model_id,omitempty"`
	Tokens  TokenUsage `json:"tokens"`
	CostUSD *float64   `json:"cost_usd,omitempty"` // where the agent knows it; else from the price list
}

// The most that one turn is believed to have consumed: of each kind of tokens,
// and in US dollars; of a model with a longer name nothing is known. Sums of such turns are numbers still.
const (
	maxTurnTokens = 1_000_000_000_000
	maxTurnCost   = 1_000_000_000
	maxModelID    = 200 // bytes of the model's name
)

// Bounded is what of u can be believed, whoever reports it.
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

// Upload describes what Control.Save stores. Exactly one of Artifact and
// Session is set.
type Upload struct {
	ID       string        `json:"id"` // made by the caller once, so that a repeat stores nothing twice
	Type     ArtifactType  `json:"type,omitempty"`
	Artifact *ArtifactData `json:"artifact,omitempty"`
	Session  *SavedSession `json:"session,omitempty"`
	Size     int64         `json:"size"`
}
