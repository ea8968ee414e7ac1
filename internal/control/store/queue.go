package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/penstock-dev/penstock"
)

// GivenUp is how long before its end a worker gives a lease up that it cannot renew: after that, no
// sandbox of it is left.
const GivenUp = 6 * time.Second

// WorkerSeenFor is how long a worker counts as connected after its last request.
const WorkerSeenFor = 45 * time.Second

// Holding is what a claim records.
type Holding struct {
	Token     string
	SessionID string
	AgentKey  string // SHA-256 of the key of the execution, hex
	// Choose selects the agent's first prompt, in the transaction of the claim; nil selects
	// none.
	Choose func(RunRow) (ChosenPrompt, error)
}

// ChosenPrompt is the prompt that the agent receives, as it is recorded.
type ChosenPrompt struct {
	Prompt string // the state of the run's own prompt; "": unchanged
	Events []penstock.Draft
}

// Claim assigns a run to the worker: of the runs that it can execute, the one that has waited
// longest. The run becomes CLAIMED under a lease, and is returned as it was before.
// penstock.ErrNoWork: no such run waits.
func (qu QueueTx) Claim(ctx context.Context, c penstock.ClaimRequest, h Holding) (RunRow, error) {
	run, err := qu.longestWaiting(ctx, c)
	if err != nil {
		return run, err
	}
	taken, err := qu.tx.exec(ctx, `UPDATE queue
		SET token = $1, worker_id = $2, agent_key = $3, lease_until = `+qu.tx.s.d.now+` + $4
		WHERE run_id = $5 AND token = ''`,
		h.Token, c.WorkerID, h.AgentKey, penstock.LeaseTime.Milliseconds(), run.ID)
	if err != nil {
		return run, fmt.Errorf("lease run %s: %w", run.ID, err)
	}
	if taken == 0 {
		return run, penstock.ErrNoWork
	}
	return run, qu.beginExecution(ctx, run, c, h)
}

// longestWaiting reads the run to claim, and locks it until the transaction ends.
func (qu QueueTx) longestWaiting(ctx context.Context, c penstock.ClaimRequest) (RunRow, error) {
	if len(c.Harnesses) == 0 {
		return RunRow{}, penstock.ErrNoWork
	}
	args := []any{c.Host, flag(c.StrictImage), c.Platform}
	for _, harness := range c.Harnesses {
		args = append(args, harness)
	}
	provider := ""
	if len(c.Models) > 0 {
		provider = " AND q.provider IN ('', " + placeholders(len(args)+1, len(c.Models)) + ")"
	}
	for _, model := range c.Models {
		args = append(args, model)
	}
	row := qu.tx.row(ctx, "SELECT "+runColumns+", q.enqueued_at"+runFrom+`
		JOIN queue q ON q.run_id = r.id
		WHERE q.token = '' AND q.ready_at <= `+qu.tx.s.d.now+`
			AND (q.worker_host = '' OR q.worker_host = $1)
			AND q.image <= 1 - $2
			AND (q.platform = '' OR q.platform = $3)
			AND q.harness IN (`+placeholders(4, len(c.Harnesses))+`)`+provider+`
		ORDER BY q.enqueued_at, q.run_id
		LIMIT 1`+qu.tx.s.d.skipRun, args...)
	var queuedAt penstock.Time
	run, err := scanRun(row, &queuedAt)
	if errors.Is(err, sql.ErrNoRows) {
		return run, penstock.ErrNoWork
	}
	if err != nil {
		return run, fmt.Errorf("look for work: %w", err)
	}
	run.QueuedAt = queuedAt
	return run, nil
}

// execution is the row of an execution that a claim begins.
type execution struct {
	run   RunRow
	claim penstock.ClaimRequest
	Holding
}

var executionFields = newResource("executions", "x",
	textColumn("session_id", func(x *execution) *string { return &x.SessionID }),
	textColumn("run_id", func(x *execution) *string { return &x.run.ID }),
	numberColumn("execution_id", func(x *execution) *int { return &x.run.ExecutionID }),
	textColumn("conversation_id", func(x *execution) *string { return &x.run.ConversationID }),
	textColumn("worker_id", func(x *execution) *string { return &x.claim.WorkerID }),
	textColumn("host", func(x *execution) *string { return &x.claim.Host }),
	textColumn("token", func(x *execution) *string { return &x.Token }),
	storedNumber("started_at", func(*execution) penstock.Time { return penstock.Now() }),
)

func (qu QueueTx) beginExecution(ctx context.Context, run RunRow, c penstock.ClaimRequest, h Holding) error {
	if err := executionFields.add(ctx, qu.tx, &execution{run, c, h}); err != nil {
		return fmt.Errorf("begin an execution of run %s: %w", run.ID, err)
	}
	var given ChosenPrompt
	if h.Choose != nil {
		var err error
		if given, err = h.Choose(run); err != nil {
			return err
		}
	}
	err := qu.tx.Runs().Move(ctx, Move{
		Run: run, To: penstock.StateClaimed, TimelineEvent: penstock.TimelineClaimed,
		Payload:   map[string]any{"worker_host": c.Host, "sandbox": c.Sandbox},
		SessionID: h.SessionID, Location: "REMOTE", Prompt: given.Prompt, Events: given.Events,
	})
	if errors.Is(err, ErrMoved) { // cancelled since it was read
		err = penstock.ErrNoWork
	}
	return err
}

// WorkWaits reports whether any run waits for a worker, without a write.
func (qu Queue) WorkWaits(ctx context.Context) (bool, error) {
	var n int
	err := qu.s.row(ctx, `SELECT count(*)
		FROM (SELECT 1 FROM queue WHERE token = '' AND ready_at <= `+qu.s.d.now+` LIMIT 1) AS q`).Scan(&n)
	return n > 0, qu.s.d.mapError(err)
}

// ErrNoTurn is returned for an interrupt of a run whose agent has no active turn.
var ErrNoTurn = errors.New("the agent of the run has no turn in hand")

// Waiting is a run that waits for a worker.
type Waiting struct {
	RunID string
	Since penstock.Time
}

// WaitingSince lists runs that have waited since before t, oldest first, after one in this order.
func (qu Queue) WaitingSince(ctx context.Context, before penstock.Time, after Waiting, limit int) ([]Waiting, error) {
	rows, err := qu.s.query(ctx, `SELECT run_id, enqueued_at
		FROM queue
		WHERE token = '' AND enqueued_at < $1 AND (enqueued_at, run_id) > ($2, $3)
		ORDER BY enqueued_at, run_id
		LIMIT $4`, int64(before), int64(after.Since), after.RunID, limit)
	return collect(qu.s, rows, err, "runs that wait", func(w *Waiting) []any { return []any{&w.RunID, &w.Since} })
}

// Worker is a worker as it last registered.
type Worker struct {
	ID, Host, Version       string
	Platform                string // such as linux/x86_64
	Local, StrictImage      bool
	Launcher                bool // starts each run in a place of its own
	Harnesses               []string
	Providers               []string // prefixes of model ids; empty: unknown
	Agents                  []penstock.AgentState
	Capacity, Busy          int // as the worker reports them
	Working                 int // runs whose leases it has
	ConnectedAt, LastSeenAt penstock.Time
}

// workerFields are the columns of a worker. Each registration stores all of them again, because they
// change while a worker runs: it installs a harness, a check of one ends, or another program takes its id.
var workerFields = newResource("workers", "w",
	textColumn("id", func(w *Worker) *string { return &w.ID }),
	textColumn("host", func(w *Worker) *string { return &w.Host }).editable(),
	textColumn("version", func(w *Worker) *string { return &w.Version }).editable(),
	textColumn("platform", func(w *Worker) *string { return &w.Platform }).editable(),
	flagColumn("local", func(w *Worker) *bool { return &w.Local }).editable(),
	flagColumn("strict_image", func(w *Worker) *bool { return &w.StrictImage }).editable(),
	listColumn("harnesses", func(w *Worker) *[]string { return &w.Harnesses }).editable(),
	listColumn("providers", func(w *Worker) *[]string { return &w.Providers }).editable(),
	jsonColumn("agents", func(w *Worker) *[]penstock.AgentState { return &w.Agents }).editable(),
	numberColumn("capacity", func(w *Worker) *int { return &w.Capacity }).editable(),
	numberColumn("busy", func(w *Worker) *int { return &w.Busy }).editable(),
	numberColumn("connected_at", func(w *Worker) *penstock.Time { return &w.ConnectedAt }),
	numberColumn("last_seen_at", func(w *Worker) *penstock.Time { return &w.LastSeenAt }).editable(),
	// A server of the previous release does not set it during a rolling upgrade.
	flagColumn("launcher", func(w *Worker) *bool { return &w.Launcher }).editable(),
)

var sayHello = workerFields.upsert("id")

// Want is what a run requires of a worker. An empty field requires nothing.
type Want struct {
	Harness, Host, Platform string
	Provider                string // prefix of models' ids, such as anthropic/
	Image                   bool
}

// Wants returns what the run requires.
func (r RunRow) Wants() Want {
	return Want{
		Harness: r.Harness, Host: r.WorkerHost, Platform: r.Runner.Platform(), Provider: r.provider(), Image: r.Image,
	}
}

// provider is the prefix of the model's provider, or "" if any worker can execute the run: only the
// built-in agent uses the worker's providers.
func (r RunRow) provider() string {
	if r.Harness != penstock.HarnessBuiltin || r.Config == nil {
		return ""
	}
	return ProviderPrefix(r.Config.Model())
}

// Can reports whether the worker meets the requirements.
func (w Worker) Can(want Want) bool {
	return (want.Harness == "" || slices.Contains(w.Harnesses, want.Harness)) && (want.Host == "" ||
		want.Host == w.Host) &&
		(want.Platform == "" || want.Platform == w.Platform) &&
		(want.Provider == "" || len(w.Providers) == 0 ||
			slices.Contains(w.Providers, want.Provider)) && !(want.Image && w.StrictImage)
}

// deadFor is how long a worker that stopped without notice is kept. A worker that restarts after a
// crash has a new id.
const deadFor = time.Hour

// Hello registers a worker; Goodbye removes it.
func (qu Queue) Hello(ctx context.Context, c penstock.ClaimRequest) error {
	now := penstock.Now()
	return qu.s.Write(ctx, func(tx *Tx) error {
		if _, err := tx.exec(ctx, `DELETE FROM workers
			WHERE last_seen_at < $1`, int64(now.Add(-deadFor))); err != nil {
			return err
		}
		_, err := tx.exec(ctx, sayHello, workerFields.row(&Worker{
			ID: c.WorkerID, Host: c.Host, Version: c.Version, Platform: c.Platform, Local: c.Local,
			StrictImage: c.StrictImage, Harnesses: c.Harnesses, Providers: c.Models, Agents: c.Agents,
			Capacity: c.Capacity, Busy: c.Busy, ConnectedAt: now, LastSeenAt: now, Launcher: c.Launch,
		})...)
		return err
	})
}

// Goodbye removes a worker that stops.
func (qu Queue) Goodbye(ctx context.Context, workerID string) error {
	return qu.s.Write(ctx, func(tx *Tx) error {
		_, err := tx.exec(ctx, "DELETE FROM workers WHERE id = $1", workerID)
		return err
	})
}

// noProvider is the ProviderPrefix of a model that belongs to no provider.
const noProvider = "?"

// maxProvider limits a provider's prefix, in bytes.
const maxProvider = 100

// ProviderPrefix returns the prefix of the model ids of a provider, such as "anthropic/". It is ""
// if no provider is needed: for demo/offline, and without a model. The built-in agent may not know
// the provider.
func ProviderPrefix(modelID string) string {
	if modelID == "" || modelID == penstock.ModelOffline {
		return ""
	}
	id, known := penstock.CanonicalModelID(modelID)
	provider, model, _ := strings.Cut(id, "/")
	switch {
	case known:
	case provider == "" || model == "" || provider == "demo" || len(provider) >= maxProvider:
		return noProvider
	}
	return provider + "/"
}
