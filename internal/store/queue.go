package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/penstock-dev/penstock"
)

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
		WHERE q.token = ''
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
		FROM (SELECT 1 FROM queue WHERE token = '' LIMIT 1) AS q`).Scan(&n)
	return n > 0, qu.s.d.mapError(err)
}

// holds reports whether the lease is active. The run must be locked: except for a renewal, its
// queue row changes only under that lock.
func (e ExecutionsTx) holds(ctx context.Context, l penstock.Lease) (bool, error) {
	var one int
	err := e.tx.row(ctx, `SELECT 1
		FROM queue
		WHERE run_id = $1 AND token = $2 AND token <> ''`, l.RunID, l.Token).Scan(&one)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look at the lease of run %s: %w", l.RunID, err)
	}
	return true, nil
}

// Held reads the run that l holds, and locks it until the transaction ends.
// penstock.ErrLeaseLost: the lease is no longer active.
func (e ExecutionsTx) Held(ctx context.Context, l penstock.Lease) (RunRow, error) {
	run, err := e.tx.Runs().Lock(ctx, l.RunID)
	if penstock.CodeOf(err) == penstock.CodeNotFound {
		return run, penstock.ErrLeaseLost
	}
	if err != nil {
		return run, err
	}
	held, err := e.holds(ctx, l)
	if err == nil && !held {
		err = penstock.ErrLeaseLost
	}
	return run, err
}

// Turn returns the number of the current turn of a run's execution, from 1.
func (e ExecutionsTx) Turn(ctx context.Context, runID string) (turn int, err error) {
	err = e.tx.row(ctx, "SELECT turn FROM queue WHERE run_id = $1", runID).Scan(&turn)
	return turn, err
}

// MarkTurnCounted records that the usage of a turn was counted. It returns false if it was counted
// before, by a request whose response was lost. A turn without a number is always new.
func (e ExecutionsTx) MarkTurnCounted(ctx context.Context, runID string, turn int) (bool, error) {
	if turn == 0 {
		return true, nil
	}
	n, err := e.tx.exec(ctx, `UPDATE queue
		SET tallied = $1
		WHERE run_id = $2 AND tallied < $1`, turn, runID)
	return n > 0, err
}

// NextTurn begins the next turn.
func (e ExecutionsTx) NextTurn(ctx context.Context, runID string) error {
	_, err := e.tx.exec(ctx, "UPDATE queue SET turn = turn + 1 WHERE run_id = $1", runID)
	return err
}

// Renew extends a lease by penstock.LeaseTime from the database's now.
func (e Executions) Renew(ctx context.Context, l penstock.Lease) error {
	return e.s.Write(ctx, func(tx *Tx) error {
		n, err := tx.exec(ctx, `UPDATE queue
			SET lease_until = `+tx.s.d.now+` + $1
			WHERE run_id = $2 AND token = $3 AND token <> ''`,
			penstock.LeaseTime.Milliseconds(), l.RunID, l.Token)
		if err == nil && n == 0 {
			err = penstock.ErrLeaseLost
		}
		return err
	})
}

// Holds reports whether the lease is active, and returns the signal for its worker.
func (e Executions) Holds(ctx context.Context, l penstock.Lease) (signal penstock.Signal, err error) {
	err = e.s.row(ctx, `SELECT
			(SELECT count(*) FROM followups f WHERE f.run_id = q.run_id AND f.state = 'waiting'),
			CASE
				WHEN q.interrupt = q.turn AND (r.prompt_state = 'handed' OR EXISTS (
					SELECT 1 FROM followups f WHERE f.run_id = q.run_id AND f.state = 'handed'
				)) THEN q.turn
				ELSE 0
			END
		FROM queue q
		JOIN runs r ON r.id = q.run_id
		WHERE q.run_id = $1 AND q.token = $2 AND q.token <> ''`,
		l.RunID, l.Token).Scan(&signal.Followups, &signal.Interrupt)
	if errors.Is(err, sql.ErrNoRows) {
		return signal, penstock.ErrLeaseLost
	}
	return signal, e.s.d.mapError(err)
}

// Interrupt requests the end of the active turn of a worker's agent. asked is false if that was
// requested before. The run must be locked. Without an active turn, the error is ErrNoTurn.
func (e ExecutionsTx) Interrupt(ctx context.Context, runID string) (requested bool, err error) {
	n, err := e.tx.exec(ctx, `UPDATE queue
		SET interrupt = turn
		WHERE run_id = $1 AND token <> '' AND interrupt <> turn
			AND EXISTS (SELECT 1 FROM runs r WHERE r.id = $1 AND r.state = 'INPROGRESS')
			AND (
				EXISTS (SELECT 1 FROM runs r WHERE r.id = $1 AND r.prompt_state = 'handed')
				OR EXISTS (SELECT 1 FROM followups f WHERE f.run_id = $1 AND f.state = 'handed')
			)`, runID)
	if err != nil {
		return false, fmt.Errorf("interrupt run %s: %w", runID, err)
	}
	if n > 0 {
		return true, nil
	}
	before, err := e.Interrupted(ctx, runID)
	if err == nil && !before {
		err = ErrNoTurn
	}
	return false, err
}

// ForgetInterrupt drops the request to end the latest turn of the active execution.
func (e ExecutionsTx) ForgetInterrupt(ctx context.Context, runID string) error {
	_, err := e.tx.exec(ctx, `UPDATE queue
		SET interrupt = 0
		WHERE run_id = $1 AND interrupt <> 0`, runID)
	if err != nil {
		return fmt.Errorf("drop an interrupt of run %s: %w", runID, err)
	}
	return nil
}

// ErrNoTurn is an interrupt of a run whose agent has no active turn.
var ErrNoTurn = errors.New("the agent of the run has no turn in hand")

// Interrupted reports whether the end of the latest turn of the active execution was requested.
func (e ExecutionsTx) Interrupted(ctx context.Context, runID string) (bool, error) {
	var n int
	err := e.tx.row(ctx, `SELECT count(*)
		FROM queue
		WHERE run_id = $1 AND token <> '' AND interrupt = turn`, runID).Scan(&n)
	if err != nil {
		return false, fmt.Errorf("look for an interrupt of run %s: %w", runID, err)
	}
	return n > 0, nil
}

// LostLeases lists runs whose worker has not renewed in time.
func (e Executions) LostLeases(ctx context.Context, limit int) ([]penstock.Lease, error) {
	rows, err := e.s.query(ctx, `SELECT run_id, token
		FROM queue
		WHERE token <> '' AND lease_until < `+e.s.d.now+`
		ORDER BY lease_until
		LIMIT $1`, limit)
	return collect(e.s, rows, err, "lost leases", func(l *penstock.Lease) []any { return []any{&l.RunID, &l.Token} })
}

// Expired reports whether the lease is held and has expired by the database's clock, and prevents
// its renewal until the transaction ends. The run must be locked.
func (e ExecutionsTx) Expired(ctx context.Context, l penstock.Lease) (bool, error) {
	var one int
	err := e.tx.row(
		ctx, `SELECT 1
			FROM queue
			WHERE run_id = $1 AND token = $2 AND lease_until < `+e.tx.s.d.now+e.tx.s.d.lock, l.RunID,
		l.Token,
	).Scan(&one)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}

// Since lists runs that have waited since before t, oldest first.
func (qu Queue) Since(ctx context.Context, before penstock.Time, limit int) ([]string, error) {
	return qu.s.strings(ctx, `SELECT run_id
		FROM queue
		WHERE token = '' AND enqueued_at < $1
		ORDER BY enqueued_at
		LIMIT $2`, int64(before), limit)
}

// Count counts all runs by state.
func (rs Runs) Count(ctx context.Context) (map[penstock.State]int64, error) {
	rows, err := rs.s.query(ctx, "SELECT state, count(*) FROM runs GROUP BY state")
	type count struct {
		state penstock.State
		n     int64
	}
	counts, err := collect(rs.s, rows, err, "counts of runs", func(c *count) []any { return []any{&c.state, &c.n} })
	out := map[penstock.State]int64{}
	for _, c := range counts {
		out[c.state] = c.n
	}
	return out, err
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

// workerFields are the columns of a worker.
var workerFields = newResource("workers", "w",
	textColumn("id", func(w *Worker) *string { return &w.ID }),
	textColumn("host", func(w *Worker) *string { return &w.Host }),
	textColumn("version", func(w *Worker) *string { return &w.Version }),
	textColumn("platform", func(w *Worker) *string { return &w.Platform }),
	flagColumn("local", func(w *Worker) *bool { return &w.Local }),
	flagColumn("strict_image", func(w *Worker) *bool { return &w.StrictImage }),
	listColumn("harnesses", func(w *Worker) *[]string { return &w.Harnesses }),
	listColumn("providers", func(w *Worker) *[]string { return &w.Providers }),
	jsonColumn("agents", func(w *Worker) *[]penstock.AgentState { return &w.Agents }),
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
	return penstock.ProviderPrefix(r.Config.Model())
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
