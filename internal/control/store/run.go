package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/penstock-dev/penstock"
)

// RunRow is a run with its internal fields.
type RunRow struct {
	penstock.Run
	Team         string
	Personal     bool   // seen by its creator and admins only
	SkillSpec    string // the reference
	SkillID      string // of a skill in a repository, as in the list of skills; "" if it was not found
	AutomationID string
	OnHollow     penstock.OnHollow // of its automation when the run was created; "": alert
	WebhookUID   string
	DeliveryID   string
	Harness      string
	WorkerHost   string
	Image        bool // its environment or runner names a container image or the size of a machine
	Runner       *penstock.RunnerSpec
	Revision     int64  // of its factory's files when the run was created; 0: no factory
	AgentName    string // of its agent in those files
	PromptState  string
	Resumable    bool // another worker can continue from the saved session
	LastSeq      int64
	Consumed     Consumption
	QueuedAt     penstock.Time // only from a claim: since when the run waited
	TimesLost    int           // how often its worker was lost
	// NotGivenSince is when building the run's assignment first failed; 0: it has not failed. It is
	// reset when the agent works, and by a follow-up after the run's end.
	NotGivenSince penstock.Time

	// ReadyAt is when a worker may claim the new run; 0: at once. Not stored with the run.
	ReadyAt penstock.Time

	KeyUID   string   // of the key whose request created it, or its schedule
	Payers   []string // other keys that pay for it: see [penstock.Principal.PaidBy]
	Senders  []string // the keys that pay for follow-ups to its present execution
	AgentUID string
	// MaxCost, in nano-dollars, and MaxTokens are the run's own budget, which Config.Budget shows
	// as it is read. 0: no cap.
	MaxCost, MaxTokens int64
	// Inherited names the runs above this one and their scopes of budgets: see [RunRow.Bequeath].
	Inherited []string
	// BlockedBudget must have room before the run continues: the UID of a budget, or the id of a
	// run for its own; "": no budget blocks the run. NeededCost and NeededTokens are the room.
	BlockedBudget            string
	NeededCost, NeededTokens int64

	endedBefore bool // it was continued after its end

	sealed    int           // sealedYes, sealedNo; 0: not checked yet
	heldAt    penstock.Time // since when a worker holds it
	runMillis int64         // how long workers have held it before heldAt
	size      int64         // approximate size in bytes
}

// Consumption is what a run has consumed, as it is stored.
type Consumption struct {
	Tokens penstock.TokenUsage `json:"tokens"`
	Priced bool                `json:"priced,omitempty"` // at least one call has a known cost
	Cost   int64               `json:"cost,omitempty"`   // in nano-dollars
	Costs  penstock.CallCost   `json:"costs"`
}

// The delivery states of a prompt and of a follow-up.
const (
	PromptWaiting     = "waiting"
	PromptDelivering  = "handed" // to the execution that holds the run
	PromptDelivered   = "delivered"
	PromptUndelivered = "undelivered" // the run ended first
)

// NewRun is a new run with everything that is stored in the same transaction.
type NewRun struct {
	RunRow
	Attachments []Attachment
	Ancestors   []string // the parent and all above it
	Notes       []Note   // on the timeline, after its creation
	// Continues means that ConversationID is a conversation of other runs: see [RunsTx.Continue].
	Continues bool
	// Claim is what the event that starts the run is about; nil: nothing that other events join.
	Claim *Claim
	// ParentNetwork is the network in the parent's request, which limits its children; nil: no
	// limit.
	ParentNetwork *penstock.Network
	// ParentPush is what the parent may push, and ParentOutputs which outputs it may declare, which limits its
	// children; nil: no limit.
	ParentPush    *penstock.PushPolicy
	ParentOutputs *penstock.OutputPolicy
	// Thread is the issue or pull request whose event starts the run; nil: nothing on a forge does.
	Thread *ForgeThread
	// Keep returns the response to store for an Idempotency-Key. If it is nil or returns nil,
	// nothing is stored.
	Keep func(Created) *KeptResponse
}

// Created is what the response to the creation of a run depends on.
type Created struct {
	// State is QUEUED, or BLOCKED or FAILED if a budget of the run is spent.
	State      penstock.State
	AtCapacity bool // no worker has a free slot for a QUEUED run
}

// CreatedStates lists the states that a run can be created in.
func CreatedStates() []penstock.State {
	return []penstock.State{penstock.StateQueued, penstock.StateBlocked, penstock.StateFailed}
}

// Note is a timeline event that a run is created with.
type Note struct {
	TimelineEvent string
	Payload       map[string]any
}

var (
	metadataTable  = table{name: "run_metadata", columns: columns("team text, key text, value text, run_id text")}
	ancestorsTable = table{name: "run_ancestors", columns: columns("ancestor text, run_id text")}
)

type createRun struct {
	result
	run        *NewRun
	atCapacity bool
	rows       runRows
	unfunded   *unfunded // a budget of the run is spent; nil: it is QUEUED
	held       *runRows  // instead of rows, if it is unfunded
}

// runRows are the rows of a run.
type runRows struct {
	run                                                      []any
	queue, events, metadata, ancestors, attachments, threads [][]any
}

// newCreateRun makes the rows before the transaction, because others wait for the transaction.
func newCreateRun(r *NewRun) *createRun {
	r.State, r.StatusMessage = penstock.StateQueued, nil // an attempt that was rolled back may have changed them
	return &createRun{run: r, rows: rowsOf(r)}
}

func rowsOf(r *NewRun) runRows {
	first := firstEvents(r)
	r.LastSeq, r.PromptState = int64(len(first)), PromptWaiting
	rows := runRows{run: runFields.row(&r.RunRow), threads: threadRows(r)}
	if r.State == penstock.StateQueued {
		rows.queue = [][]any{queueFields.row(r.place(r.CreatedAt))}
	}
	for i, d := range first {
		rows.events = append(rows.events, eventFields.row(eventAt(r.ID, r.ExecutionID, int64(i+1), d)))
	}
	for k, v := range r.Metadata {
		rows.metadata = append(rows.metadata, []any{r.Team, k, v, r.ID})
	}
	for _, a := range r.Ancestors {
		rows.ancestors = append(rows.ancestors, []any{a, r.ID})
	}
	for i, a := range r.Attachments {
		rows.attachments = append(rows.attachments, attachmentFields.row(&attachmentRecord{a, r.ID, i}))
	}
	return rows
}

func (c *createRun) key() string   { return c.run.ID }
func (c *createRun) join(g *group) { g.creates = append(g.creates, c) }

// Create stores a run, QUEUED, with its first events, its queue entry and the kept response,
// through the group commit. If a budget of the run is spent, it is BLOCKED or FAILED instead, which
// run.State says then, and not in the queue. atCapacity reports that no worker had a free slot for it. If the key of
// the kept response exists already, the error is ErrReplay.
func (rs Runs) Create(ctx context.Context, run *NewRun) (atCapacity bool, err error) {
	if run.Continues {
		return false, Floor{}.in(run.ConversationID)
	}
	m := newCreateRun(run)
	if err := rs.s.commits.do(ctx, m); err != nil {
		return false, err // the committer may still use m
	}
	return m.atCapacity, nil
}

// Continue stores a run that continues a conversation, by its floor.
func (rs RunsTx) Continue(ctx context.Context, floor Floor, run *NewRun) (atCapacity bool, err error) {
	if err := floor.in(run.ConversationID); err != nil {
		return false, err
	}
	return rs.create(ctx, run)
}

// Create stores a run within the transaction. A run that continues a conversation needs [RunsTx.Continue].
func (rs RunsTx) Create(ctx context.Context, run *NewRun) (atCapacity bool, err error) {
	if run.Continues {
		return false, Floor{}.in(run.ConversationID)
	}
	return rs.create(ctx, run)
}

func (rs RunsTx) create(ctx context.Context, run *NewRun) (atCapacity bool, err error) {
	m := newCreateRun(run)
	if err := rs.createAll(ctx, []*createRun{m}); err != nil {
		return false, err
	}
	return m.atCapacity, m.err
}

func (rs RunsTx) createAll(ctx context.Context, members []*createRun) error {
	var rows struct{ runs, events, queue, metadata, ancestors, attachments, threads [][]any }
	if err := rs.tx.Budgets().markUnfunded(ctx, members); err != nil {
		return err
	}
	if err := rs.tx.Queue().markCapacity(ctx, members); err != nil {
		return err
	}
	for _, m := range members {
		if kept, err := rs.keepAnswer(ctx, m); err != nil {
			return err
		} else if !kept {
			m.fail(ErrReplay)
			continue
		}
		of := m.rows
		if m.unfunded != nil {
			of = *m.held
		}
		rows.runs = append(rows.runs, of.run)
		rows.queue = append(rows.queue, of.queue...)
		rows.events = append(rows.events, of.events...)
		rows.metadata = append(rows.metadata, of.metadata...)
		rows.ancestors = append(rows.ancestors, of.ancestors...)
		rows.attachments = append(rows.attachments, of.attachments...)
		rows.threads = append(rows.threads, of.threads...)
	}
	if len(rows.runs) == 0 {
		return nil
	}
	runs, narrowed := runFields.narrow(rows.runs)
	for _, t := range []struct {
		table
		rows [][]any
	}{
		{runs, narrowed},
		{eventFields.table, rows.events},
		{queueFields.table, rows.queue},
		{metadataTable, rows.metadata},
		{ancestorsTable, rows.ancestors},
		{attachmentFields.table, rows.attachments},
		{threadFields.table, rows.threads},
	} {
		if err := rs.tx.insert(ctx, t.table, t.rows); err != nil {
			return err
		}
	}
	rs.tx.Nudge(TopicQueue)
	rs.tx.Nudge(TopicSearch)
	if len(rows.threads) > 0 {
		rs.tx.Nudge(TopicOutputs)
	}
	if err := rs.tx.Endpoints().announceCreated(ctx, members); err != nil {
		return err
	}
	return rs.tx.Budgets().blockUnfunded(ctx, members)
}

func (rs RunsTx) keepAnswer(ctx context.Context, m *createRun) (bool, error) {
	if m.run.Keep == nil {
		return true, nil
	}
	return rs.tx.Responses().keepIfAbsent(ctx, m.run.Keep(Created{m.run.State, m.atCapacity}))
}

func firstEvents(r *NewRun) []penstock.Draft {
	drafts := []penstock.Draft{
		penstock.NewDraft(penstock.EventState, r.CreatedAt, penstock.StateData{
			State: r.State, ExecutionID: r.ExecutionID, StatusMessage: r.StatusMessage,
		}),
		penstock.Timeline(r.CreatedAt, TimelineCreated, map[string]any{"source": string(r.Source)}),
	}
	for _, n := range r.Notes {
		drafts = append(drafts, penstock.Timeline(r.CreatedAt, n.TimelineEvent, n.Payload))
	}
	return drafts
}

// marshal returns JSON for a column, or "" for an absent value.
func marshal(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic("store: a value of ours cannot be marshaled: " + err.Error())
	}
	if s := string(b); s != "null" && s != "{}" {
		return s
	}
	return ""
}

// unmarshal reads a column that marshal wrote. It leaves v unchanged if the column is "".
func unmarshal(column string, v any) error {
	if column == "" {
		return nil
	}
	return json.Unmarshal([]byte(column), v)
}

// Find reads one run of a team; absence is penstock.CodeNotFound.
func (rs Runs) Find(ctx context.Context, team, id string) (RunRow, error) {
	return rs.s.d.runBy(ctx, rs.s, "r.id = $1 AND r.team = $2", id, team)
}

// Lock reads one run and locks it until the transaction ends.
func (rs RunsTx) Lock(ctx context.Context, id string) (RunRow, error) {
	if err := rs.lockRow(ctx, id); err != nil {
		return RunRow{}, err
	}
	return rs.tx.s.d.runBy(ctx, rs.tx, "r.id = $1", id)
}

// lockRow is a statement of its own, so that later statements see everything that was committed
// while it waited.
func (rs RunsTx) lockRow(ctx context.Context, id string) error {
	if rs.tx.s.d.lock == "" { // SQLite has one writer
		return nil
	}
	_, err := rs.tx.exec(ctx, "SELECT 1 FROM runs WHERE id = $1"+rs.tx.s.d.lock, id)
	return wrapf(err, "lock run %s", id)
}

func (d *dialect) runBy(ctx context.Context, q querier, where string, args ...any) (RunRow, error) {
	r, err := scanRun(q.row(ctx, "SELECT "+runColumns+runFrom+" WHERE "+where, args...))
	if errors.Is(err, sql.ErrNoRows) {
		return r, penstock.NotFound("run", fmt.Sprint(args[0]))
	}
	if err != nil {
		return r, d.mapError(fmt.Errorf("read run %v: %w", args[0], err))
	}
	return r, nil
}

// Ancestors lists the runs above one, in no order.
func (rs Runs) Ancestors(ctx context.Context, runID string) ([]string, error) {
	return rs.s.strings(ctx, "SELECT ancestor FROM run_ancestors WHERE run_id = $1", runID)
}

// Descendants lists the runs below one that have not ended.
func (rs RunsTx) Descendants(ctx context.Context, runID string) ([]string, error) {
	rows, err := rs.tx.query(ctx, `SELECT a.run_id
		FROM run_ancestors a
		JOIN runs r ON r.id = a.run_id
		WHERE a.ancestor = $1 AND r.state NOT IN ('SUCCEEDED', 'FAILED', 'ERROR', 'CANCELLED')
		ORDER BY a.run_id`, runID)
	return collect(rs.tx.s, rows, err, "ids", func(v *string) []any { return []any{v} })
}

func (s *Store) strings(ctx context.Context, text string, args ...any) ([]string, error) {
	rows, err := s.query(ctx, text, args...)
	return collect(s, rows, err, "ids", func(v *string) []any { return []any{v} })
}

// only returns the first row of a list that was read to find one. Absence is penstock.CodeNotFound.
func only[T any](list []T, err error, kind, name string) (found T, _ error) {
	if err == nil && len(list) == 0 {
		err = penstock.NotFound(kind, name)
	}
	if err != nil {
		return found, err
	}
	return list[0], nil
}

// wrapf says what was attempted when err happened. It returns nil for nil.
func wrapf(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", fmt.Sprintf(format, args...), err)
}

// collect reads all rows. fields returns the destinations for each row.
func collect[T any](s *Store, rows *sql.Rows, err error, what string, fields func(*T) []any) ([]T, error) {
	if err != nil {
		return nil, s.d.mapError(fmt.Errorf("read %s: %w", what, err))
	}
	defer rows.Close()
	out := []T{}
	for rows.Next() {
		var v T
		if err := rows.Scan(fields(&v)...); err != nil {
			return nil, fmt.Errorf("read %s: %w", what, err)
		}
		out = append(out, v)
	}
	return out, s.d.mapError(rows.Err())
}

// ByReference lists the runs that made an artifact with this URL, newest
// first.
func (rs Runs) ByReference(ctx context.Context, team, url string) ([]string, error) {
	return rs.s.strings(ctx, `SELECT run_id
		FROM artifacts
		WHERE team = $1 AND url = $2 AND url <> ''
		ORDER BY created_at DESC, run_id DESC`, team, url)
}

// Touch marks a run as changed, because lists show something new of it.
func (rs RunsTx) Touch(ctx context.Context, runID string) error {
	_, err := rs.tx.exec(ctx, `UPDATE runs
		SET updated_at = $1
		WHERE id = $2`, int64(penstock.Now()), runID)
	return err
}

// SetSenders records which keys pay for the follow-ups to the present execution of a run.
func (rs RunsTx) SetSenders(ctx context.Context, runID string, keys []string) error {
	_, err := rs.tx.exec(ctx, "UPDATE runs SET senders = $1 WHERE id = $2", joined(keys), runID)
	return wrapf(err, "record who pays for follow-ups to run %s", runID)
}

// OfForkGroup lists the runs of a team that one request has forked, in the order of their creation.
func (rs Runs) OfForkGroup(ctx context.Context, team, group string) ([]RunRow, error) {
	rows, err := rs.s.query(ctx, "SELECT "+runColumns+runFrom+`
		WHERE r.fork_group = $1 AND r.fork_group <> '' AND r.team = $2
		ORDER BY r.id`, group, team)
	if err != nil {
		return nil, fmt.Errorf("list the runs of fork group %s: %w", group, rs.s.d.mapError(err))
	}
	defer rows.Close()
	var list []RunRow
	for rows.Next() {
		r, err := scanRun(rows)
		if err != nil {
			return nil, fmt.Errorf("list the runs of fork group %s: %w", group, err)
		}
		list = append(list, r)
	}
	return list, rows.Err()
}

// SetPrompt records the delivery state of the run's own prompt.
func (rs RunsTx) SetPrompt(ctx context.Context, runID, state string) error {
	_, err := rs.tx.exec(ctx, "UPDATE runs SET prompt_state = $1 WHERE id = $2", state, runID)
	return err
}

// SetResumable records whether another worker can continue from the saved session.
func (rs RunsTx) SetResumable(ctx context.Context, runID string, resumable bool) error {
	_, err := rs.tx.exec(ctx, "UPDATE runs SET resumable = $1 WHERE id = $2", flag(resumable), runID)
	return err
}
