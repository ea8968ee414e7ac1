package store

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/penstock-dev/penstock"
)

// maxActionKey bounds the id of an action in the key of its event, in bytes.
const maxActionKey = 200

// actionKey returns the key of an action's event: its id, and for a result its state before that.
// [evidenceOf] reads the key instead of the data, which may be long. The key is "" if d is neither.
func actionKey(d penstock.Draft) string {
	if d.Type != penstock.EventAction && d.Type != penstock.EventActionResult {
		return ""
	}
	var b struct {
		ID       string `json:"id"`
		ActionID string `json:"action_id"`
		State    string `json:"state"`
	}
	if json.Unmarshal(d.Data, &b) != nil {
		return ""
	}
	id := b.ID
	if d.Type == penstock.EventActionResult {
		id = b.ActionID
	}
	if len(id) > maxActionKey {
		sum := sha256.Sum256([]byte(id))
		id = hex.EncodeToString(sum[:])
	}
	if d.Type == penstock.EventAction {
		return id
	}
	if b.State != penstock.ActionFailed && b.State != penstock.ActionDenied {
		b.State = "" // an agent may send any other
	}
	return b.State + ":" + id
}

// evidenceReader is a transaction or the store.
type evidenceReader interface {
	query(ctx context.Context, sql string, args ...any) (*sql.Rows, error)
	row(ctx context.Context, sql string, args ...any) scanner
}

// Evidence counts what a run has done so far.
func (rs Runs) Evidence(ctx context.Context, run RunRow) (penstock.Evidence, error) {
	e, err := evidenceOf(ctx, rs.s, run.ID, run.PromptState)
	return e, rs.s.d.mapError(err)
}

// evidenceOf counts stored rows, so that a repeated batch or a retry counts nothing twice.
func evidenceOf(ctx context.Context, q evidenceReader, runID, promptState string) (e penstock.Evidence, err error) {
	var repositories string
	err = q.row(ctx, `SELECT
		(SELECT COUNT(*) FROM followups WHERE run_id = $1 AND state IN ('handed', 'delivered')),
		(
			SELECT COALESCE(SUM(CASE WHEN calls > 0 THEN calls ELSE 1 END), 0)
			FROM calls
			WHERE run_id = $1 AND reported = 0 AND state <> 'unsent'
		),
		COALESCE((SELECT repositories FROM changes WHERE run_id = $1), '')`,
		runID).Scan(&e.Turns, &e.ModelCalls, &repositories)
	if err != nil {
		return e, fmt.Errorf("count what run %s has done: %w", runID, err)
	}
	if promptState == PromptDelivering || promptState == PromptDelivered {
		e.Turns++
	}
	var changes penstock.SavedChanges
	if err := unmarshal(repositories, &changes); err != nil {
		return e, fmt.Errorf("read the changes of run %s: %w", runID, err)
	}
	for _, r := range changes.Repositories {
		e.FilesChanged += len(r.Files) + r.FilesOmitted
	}
	if e.Outputs, err = outputsOf(ctx, q, runID); err != nil {
		return e, fmt.Errorf("count the outputs of run %s: %w", runID, err)
	}
	if err := countActions(ctx, q, runID, &e); err != nil {
		return e, fmt.Errorf("count the actions of run %s: %w", runID, err)
	}
	return e, nil
}

// outputsOf counts outputs that were not discarded, artifacts whose content is stored, and pull requests that the
// proxy observed. The artifact of an output has its uid.
func outputsOf(ctx context.Context, q evidenceReader, runID string) (n int, err error) {
	if err := q.row(ctx, `SELECT count(*)
		FROM outputs o
		WHERE o.run_id = $1 AND o.state <> 'discarded' AND NOT EXISTS (
			SELECT 1 FROM artifacts a WHERE a.uid = o.uid
		)`, runID).Scan(&n); err != nil {
		return 0, err
	}
	rows, err := q.query(ctx, "SELECT type, data FROM artifacts WHERE run_id = $1", runID)
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	for rows.Next() {
		var kind penstock.ArtifactType
		var text string
		if err := rows.Scan(&kind, &text); err != nil {
			return 0, err
		}
		switch kind {
		case penstock.ArtifactPlan, penstock.ArtifactFile, penstock.ArtifactScreenshot:
			n++
		case penstock.ArtifactPullRequest:
			var data penstock.ArtifactData
			if err := unmarshal(text, &data); err != nil {
				return 0, err
			}
			if data.Observed != nil && *data.Observed {
				n++
			}
		}
	}
	return n, rows.Err()
}

// countActions counts each action of an execution once. Its last result says whether it failed. An
// action that a release before this one stored has no key; it counts, and did not fail.
func countActions(ctx context.Context, q evidenceReader, runID string, e *penstock.Evidence) error {
	rows, err := q.query(ctx, `SELECT execution_id, seq, type, key
		FROM events
		WHERE run_id = $1 AND type IN ('action', 'action_result')
		ORDER BY seq`, runID)
	if err != nil {
		return err
	}
	defer rows.Close()
	type action struct {
		execution int
		id        string
	}
	failed := map[action]bool{}
	for rows.Next() {
		var execution int
		var seq int64
		var kind penstock.EventType
		var key string
		if err := rows.Scan(&execution, &seq, &kind, &key); err != nil {
			return err
		}
		switch {
		case key == "" && kind == penstock.EventAction:
			e.Actions++
		case kind == penstock.EventAction:
			if a := (action{execution, key}); !failed[a] {
				failed[a] = false
			}
		case key != "":
			state, id, _ := strings.Cut(key, ":")
			failed[action{execution, id}] = state != ""
		}
	}
	e.Actions += len(failed)
	for _, f := range failed {
		if f {
			e.FailedActions++
		}
	}
	return rows.Err()
}

// ending returns the evidence to store with a move, nil to leave it unchanged, and why a SUCCEEDED
// run is hollow. unread are the follow-ups that the move gives up.
func (rs RunsTx) ending(ctx context.Context, m Move, unread []Followup) (*penstock.Evidence, string, error) {
	if !m.Run.State.Held() || m.To.Held() {
		return nil, "", nil
	}
	e, err := evidenceOf(ctx, rs.tx, m.Run.ID, m.Run.PromptState)
	if err != nil {
		return nil, "", err
	}
	for _, f := range unread {
		if f.State == PromptDelivering {
			e.Turns--
		}
	}
	if m.To != penstock.StateSucceeded || m.ActionsUnknown || m.Run.Harness == penstock.HarnessCommand {
		return &e, "", nil
	}
	return &e, e.Hollow(), nil
}
