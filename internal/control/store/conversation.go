package store

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"

	"github.com/penstock-dev/penstock"
)

// Runs lists the runs of a conversation that v may see, oldest first.
func (c Conversations) Runs(ctx context.Context, v Viewer, id string) ([]string, error) {
	return c.s.strings(ctx, runsOfConversation+" ORDER BY id", id, v.UID, flag(v.All))
}

const runsOfConversation = `SELECT id
	FROM runs
	WHERE conversation_id = $1 AND (personal = 0 OR creator = $2 OR $3 = 1)`

// Run returns the newest run of a conversation of v's team that v may see.
func (c Conversations) Run(ctx context.Context, v Viewer, conversationID string) (RunRow, error) {
	r, err := c.s.d.runBy(ctx, c.s, `r.id = (
			SELECT max(id)
			FROM (`+runsOfConversation+` AND team = $4) AS c
		)`, conversationID, v.UID, flag(v.All), v.Team)
	if penstock.CodeOf(err) == penstock.CodeNotFound {
		err = penstock.NotFound("conversation", conversationID)
	}
	return r, err
}

// SteeredRun returns the active run of a conversation of v's team, or else the newest one. v must
// be able to see it.
func (c Conversations) SteeredRun(ctx context.Context, v Viewer, conversationID string) (RunRow, error) {
	r, err := c.s.d.runBy(ctx, c.s, "r.id = ("+runsOfConversation+` AND team = $4
		ORDER BY CASE WHEN state IN ('SUCCEEDED', 'FAILED', 'ERROR', 'CANCELLED') THEN 1 ELSE 0 END, id DESC
		LIMIT 1)`, conversationID, v.UID, flag(v.All), v.Team)
	if penstock.CodeOf(err) == penstock.CodeNotFound {
		err = penstock.NotFound("conversation", conversationID)
	}
	return r, err
}

// Events returns the events that form a conversation, from all its runs that v may see,
// oldest first. It orders whole executions, because an older run can continue after a newer one.
func (c Conversations) Events(ctx context.Context, v Viewer, conversationID string) ([]penstock.Event, error) {
	events, err := c.s.Events.selectWhere(ctx, eventsOfConversation, conversationID, v.UID, flag(v.All))
	return inTurn(events), err
}

// Outline is [Conversations.Events] without the data of the events.
func (c Conversations) Outline(ctx context.Context, v Viewer, conversationID string) ([]penstock.Event, error) {
	events, err := c.s.Events.read(ctx, eventOutline, eventsOfConversation, conversationID, v.UID, flag(v.All))
	return inTurn(events), err
}

// Part returns the events of a conversation in a run's log, from one sequence number to
// another, inclusive.
func (c Conversations) Part(ctx context.Context, runID string, from, to int64) ([]penstock.Event, error) {
	where := "run_id = $1 AND seq >= $2 AND seq <= $3 AND " + inConversation + " ORDER BY seq"
	return c.s.Events.selectWhere(ctx, where, runID, from, to)
}

const (
	inConversation       = "type IN ('message', 'action', 'action_result', 'state')"
	eventsOfConversation = "run_id IN (" + runsOfConversation + ") AND " + inConversation + " ORDER BY run_id, seq"
)

// inTurn sorts executions by the time of their request. The first event of each has that time by a
// server's clock. Later events may use a worker's clock. Executions of one run always keep their
// order.
func inTurn(events []penstock.Event) []penstock.Event {
	type part struct {
		asked  penstock.Time
		events []penstock.Event
	}
	var list []part
	for i, e := range events {
		asked := e.At
		if i > 0 && events[i-1].RunID == e.RunID {
			last := &list[len(list)-1]
			if events[i-1].ExecutionID == e.ExecutionID {
				last.events = append(last.events, e)
				continue
			}
			asked = max(asked, last.asked)
		}
		list = append(list, part{asked, []penstock.Event{e}})
	}
	slices.SortStableFunc(list, func(a, b part) int { return cmp.Compare(a.asked, b.asked) })
	ordered := make([]penstock.Event, 0, len(events))
	for _, x := range list {
		ordered = append(ordered, x.events...)
	}
	return ordered
}

// Bound is what a caller must be allowed to put text before the agent of a conversation. The agent
// knows what all runs of the conversation knew, also those that are no longer kept.
type Bound struct {
	Secrets  bool     `json:"secrets,omitempty"`  // a request for a run named managed secrets
	Personal []string `json:"personal,omitempty"` // the creators of personal runs, each once
}

// with adds what a run of the conversation knew.
func (b Bound) with(run RunRow) Bound {
	b.Secrets = b.Secrets || run.RequestedSecrets()
	if creator := uidOf(run.Creator); run.Personal && !slices.Contains(b.Personal, creator) {
		b.Personal = append(b.Personal, creator)
	}
	return b
}

// bound reads what a conversation requires of those who speak in it.
func (c ConversationsTx) bound(ctx context.Context, conversationID string) (b Bound, err error) {
	err = c.tx.row(ctx, "SELECT bound FROM conversations WHERE id = $1", conversationID).Scan(&document{into: &b})
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return b, fmt.Errorf("read conversation %s: %w", conversationID, err)
	}
	rows, err := c.tx.query(ctx, `SELECT personal, creator, config, config_sources
		FROM runs
		WHERE conversation_id = $1`, conversationID)
	if err != nil {
		return b, fmt.Errorf("read conversation %s: %w", conversationID, err)
	}
	defer rows.Close()
	for rows.Next() { // one by one, because together they may be large
		run := RunRow{Run: penstock.Run{Creator: &penstock.Actor{}}}
		config, sources := document{into: &run.Config}, document{into: &run.ConfigSources}
		if err := rows.Scan(&run.Personal, &run.Creator.UID, &config, &sources); err != nil {
			return b, fmt.Errorf("read conversation %s: %w", conversationID, err)
		}
		b = b.with(run)
	}
	return b, rows.Err()
}

// remember keeps what a run that is removed adds to the bound of its conversation, as long as the
// conversation has a saved session.
func (c ConversationsTx) remember(ctx context.Context, run RunRow) error {
	var before Bound
	err := c.tx.row(ctx, "SELECT bound FROM conversations WHERE id = $1"+c.tx.s.d.lock, run.ConversationID).
		Scan(&document{into: &before})
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read conversation %s: %w", run.ConversationID, err)
	}
	_, err = c.tx.exec(ctx, `UPDATE conversations
		SET bound = $1
		WHERE id = $2`, marshal(before.with(run)), run.ConversationID)
	return wrapf(err, "remember who may speak in conversation %s", run.ConversationID)
}

// Bind begins a conversation whose agent knows what a bound is about.
func (c ConversationsTx) Bind(ctx context.Context, team, conversationID string, b Bound) error {
	if err := savedFields.add(ctx, c.tx, &Session{ConversationID: conversationID, Team: team}); err != nil {
		return fmt.Errorf("begin conversation %s: %w", conversationID, err)
	}
	_, err := c.tx.exec(ctx, `UPDATE conversations
		SET bound = $1
		WHERE id = $2`, marshal(b), conversationID)
	return wrapf(err, "remember who may speak in conversation %s", conversationID)
}

// Floor is the right to put text before the agent of a conversation in this transaction. Only
// [ConversationsTx.Enter] grants it.
type Floor struct {
	conversation string
	Talking      string // the active run of the conversation, or ""
}

// in returns an error if the caller has not entered the conversation, which is a bug.
func (f Floor) in(conversationID string) error {
	if f.conversation == "" || f.conversation != conversationID {
		return fmt.Errorf("the caller has not entered conversation %s", conversationID)
	}
	return nil
}

// Enter locks a conversation until the transaction ends, and grants the floor unless may returns an
// error for what the conversation requires.
func (c ConversationsTx) Enter(ctx context.Context, conversationID string, may func(Bound) error) (Floor, error) {
	talking, err := c.talking(ctx, conversationID)
	if err != nil {
		return Floor{}, err
	}
	bound, err := c.bound(ctx, conversationID)
	if err == nil {
		err = may(bound)
	}
	if err != nil {
		return Floor{}, err
	}
	return Floor{conversationID, talking}, nil
}

// talking locks the runs of a conversation, and returns the active one, or "".
func (c ConversationsTx) talking(ctx context.Context, conversationID string) (runID string, err error) {
	if lock := c.tx.s.d.lock; lock != "" {
		// Ordered by id, like every transaction that locks several runs.
		if _, err := c.tx.exec(
			ctx, "SELECT 1 FROM runs WHERE conversation_id = $1 ORDER BY id"+lock, conversationID,
		); err != nil {
			return "", fmt.Errorf("lock conversation %s: %w", conversationID, err)
		}
	}
	err = c.tx.row(ctx, `SELECT id
		FROM runs
		WHERE conversation_id = $1 AND state NOT IN ('SUCCEEDED', 'FAILED', 'ERROR', 'CANCELLED')
		ORDER BY id
		LIMIT 1`, conversationID).Scan(&runID)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return "", fmt.Errorf("read conversation %s: %w", conversationID, err)
	}
	return runID, nil
}

// Session is the agent's HOME that was saved after a turn of a conversation.
type Session struct {
	ConversationID, Team, Harness, SessionID, Blob string
	Size                                           int64  // before encryption
	SealedKey                                      []byte // of the blob; empty: not encrypted
}

// savedFields are the columns of a saved session.
var (
	savedFields = newResource("conversations", "c",
		textColumn("id", func(v *Session) *string { return &v.ConversationID }),
		textColumn("team", func(v *Session) *string { return &v.Team }),
		textColumn("harness", func(v *Session) *string { return &v.Harness }).editable(),
		textColumn("session_id", func(v *Session) *string { return &v.SessionID }).editable(),
		textColumn("blob", func(v *Session) *string { return &v.Blob }).editable(),
		numberColumn("size", func(v *Session) *int64 { return &v.Size }).editable(),
		bytesColumn("sealed_key", func(v *Session) *[]byte { return &v.SealedKey }).editable(),
		storedNumber("updated_at", func(*Session) penstock.Time { return penstock.Now() }).editable(),
	)
	saveSession = savedFields.upsert("id")
)

// SaveSession replaces a conversation's session and returns its old blob, which nothing refers to
// any more, or "".
func (c ConversationsTx) SaveSession(ctx context.Context, v Session) (old string, err error) {
	err = c.tx.row(ctx, "SELECT blob FROM conversations WHERE id = $1", v.ConversationID).Scan(&old)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return "", err
	}
	_, err = c.tx.exec(ctx, saveSession, savedFields.row(&v)...)
	return old, err
}

// DropSession makes the saved session of a conversation unusable: a run went back to an earlier turn, whose
// checkpoint has an older one.
func (c ConversationsTx) DropSession(ctx context.Context, conversationID string) error {
	_, err := c.tx.exec(ctx, `UPDATE conversations
		SET harness = ''
		WHERE id = $1`, conversationID)
	return wrapf(err, "drop the session of conversation %s", conversationID)
}

// Session reads the saved session of a conversation; absence is penstock.CodeNotFound.
func (c Conversations) Session(ctx context.Context, conversationID string) (Session, error) {
	v := Session{ConversationID: conversationID}
	err := c.s.row(ctx, "SELECT "+savedFields.selected+`
		FROM conversations c
		WHERE c.id = $1`, conversationID).Scan(savedFields.into(&v)...)
	if errors.Is(err, sql.ErrNoRows) {
		return v, penstock.NotFound("saved session of conversation", conversationID)
	}
	return v, c.s.d.mapError(err)
}

// LiveSession returns the session of a conversation's active run, or "".
func (c Conversations) LiveSession(ctx context.Context, conversationID string) (string, error) {
	ids, err := c.s.strings(ctx, `SELECT session_id
		FROM executions
		WHERE conversation_id = $1 AND ended_at = 0
		ORDER BY started_at DESC
		LIMIT 1`, conversationID)
	if err != nil || len(ids) == 0 {
		return "", err
	}
	return ids[0], nil
}

// EndedSession returns the conversation of a session whose sandbox has ended. It returns "" if the
// sandbox still exists, or if the session does not.
func (c Conversations) EndedSession(ctx context.Context, sessionID string) (string, error) {
	ids, err := c.s.strings(ctx, `SELECT conversation_id
		FROM executions
		WHERE session_id = $1 AND ended_at <> 0`, sessionID)
	if err != nil || len(ids) == 0 {
		return "", err
	}
	return ids[0], nil
}

// AttachmentsBlock names the files of a follow-up in its message.
func AttachmentsBlock(files []penstock.File) penstock.Block {
	type attached struct {
		ID        string `json:"attachment_id"`
		Filename  string `json:"filename"`
		MimeType  string `json:"mime_type"`
		SizeBytes int64  `json:"size_bytes"`
		Path      string `json:"path"` // in the workspace
	}
	list := make([]attached, len(files))
	for i, f := range files {
		list[i] = attached{f.ID, path.Base(f.Path), f.MimeType, f.Size, f.Path}
	}
	data, err := json.Marshal(map[string][]attached{"attachments": list})
	if err != nil {
		panic("penstock: files cannot be marshaled: " + err.Error())
	}
	return penstock.Block{Type: penstock.BlockEvent, Name: "attachments", Data: data}
}
