package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/access"
	"github.com/penstock-dev/penstock/internal/control/request"
	"github.com/penstock-dev/penstock/internal/control/store"
)

// Control returns the interface for workers.
func (s *Executions) Control() penstock.Control { return control{s} }

type control struct{ s *Executions }

// Claim implements penstock.Control.
func (c control) Claim(ctx context.Context, req penstock.ClaimRequest) (penstock.Assignment, error) {
	if req.Stopping {
		return penstock.Assignment{}, errors.Join(penstock.ErrNoWork, c.s.store.Queue.Goodbye(ctx, req.WorkerID))
	}
	if err := c.s.store.Queue.Hello(ctx, req); err != nil {
		return penstock.Assignment{}, err
	}
	if req.Local {
		c.s.localWorker.Store(true)
	}
	if req.Busy >= req.Capacity {
		return penstock.Assignment{}, penstock.ErrNoWork
	}
	nudged, stop := c.s.store.Nudges.Subscribe(store.TopicQueue)
	defer stop()
	over := time.After(req.Wait)
	for ctx.Err() == nil {
		a, err := c.s.claim(ctx, req)
		if !errors.Is(err, penstock.ErrNoWork) {
			return a, err
		}
		select {
		case <-ctx.Done():
		case <-over:
			return a, err
		case <-nudged:
		case <-time.After(PollEvery):
		}
	}
	return penstock.Assignment{}, ctx.Err()
}

// claim takes one run, delivers its first prompt and builds the assignment.
func (s *Executions) claim(ctx context.Context, c penstock.ClaimRequest) (penstock.Assignment, error) {
	if waits, err := s.store.Queue.WorkWaits(ctx); err != nil || !waits {
		return penstock.Assignment{}, errors.Join(penstock.ErrNoWork, err)
	}
	agentKey := access.NewKey()
	h := store.Holding{Token: penstock.NewUID(), SessionID: penstock.NewID(), AgentKey: access.HashKey(agentKey)}
	var run store.RunRow
	var prompts []penstock.Prompt
	start := time.Now()
	err := s.store.Write(ctx, func(tx *store.Tx) (err error) {
		h.Choose = func(run store.RunRow) (given store.ChosenPrompt, err error) {
			prompts, given, err = s.choosePrompt(ctx, tx, run)
			return given, err
		}
		if c.Launch { // the prompt is delivered when the execution is adopted
			h.Choose = nil
		}
		run, err = tx.Queue().Claim(ctx, c, h)
		return err
	})
	if err != nil {
		return penstock.Assignment{}, err
	}
	s.metrics.claimed(time.Since(start), penstock.Now().Sub(run.QueuedAt))
	a := penstock.Assignment{
		Lease:   penstock.Lease{RunID: run.ID, ExecutionID: run.ExecutionID, Token: h.Token},
		Prompts: prompts, APIKey: agentKey,
	}
	if c.Launch {
		a.APIKey = ""
		err = s.describeLaunch(ctx, &a, run, h.SessionID)
	} else {
		err = s.buildAssignment(ctx, &a, run, h.SessionID)
	}
	return s.assigned(ctx, a, run, err)
}

// assigned returns a claimed or adopted assignment. If it could not be built, it ends or requeues the
// run.
func (s *Executions) assigned(
	ctx context.Context, a penstock.Assignment, run store.RunRow, err error,
) (penstock.Assignment, error) {
	if denied, ok := errors.AsType[*access.GrantError](err); ok {
		return penstock.Assignment{}, s.endNotGranted(ctx, a.Lease, denied)
	}
	if err != nil {
		err = errors.Join(err, s.requeueUnassigned(ctx, a.Lease, err)) // if that fails, the lease expires
		return a, fmt.Errorf("gather what run %s needs: %w", run.ID, err)
	}
	return a, nil
}

// assignmentTime is how long, after the first failure, the server retries to build a run's
// assignment. A shorter queue timeout takes precedence.
const assignmentTime = 10 * time.Minute

// requeueUnassigned returns a run to the end of the queue because its assignment could not be
// built. After too many attempts it ends the run.
func (s *Executions) requeueUnassigned(ctx context.Context, l penstock.Lease, cause error) error {
	ended, why := false, "."
	if known, ok := errors.AsType[*penstock.Error](cause); ok {
		why = ": " + known.Explain() + "."
	}
	err := s.store.Write(ctx, func(tx *store.Tx) error {
		ended = false
		run, err := tx.Executions().Held(ctx, l)
		if err != nil {
			return err
		}
		tried := penstock.Now().Sub(run.NotGivenSince)
		if run.NotGivenSince == 0 || tried < min(assignmentTime, s.queueTimeout) {
			return requeue(ctx, tx, run, store.NotGiven)
		}
		ended = true
		return s.end(ctx, tx, run, &penstock.Result{State: penstock.StateError, Message: &penstock.StatusMessage{
			Message:   fmt.Sprintf("The server could not build the run's assignment for %s%s", tried.Round(time.Second), why),
			ErrorCode: penstock.CodeInternal,
		}})
	})
	if err == nil && ended {
		s.metrics.finished(penstock.StateError)
	}
	return err
}

// describeLaunch adds what a launcher needs: the run, its environment and runner, and the login for
// the registry of its image.
func (s *Executions) describeLaunch(
	ctx context.Context, a *penstock.Assignment, row store.RunRow, sessionID string,
) error {
	// The row was read while the run was waiting, so Present would look for its position in the
	// queue.
	row.State, row.SessionID = penstock.StateClaimed, sessionID
	runs, err := s.runs.Present(ctx, []store.RunRow{row})
	if err != nil {
		return err
	}
	a.Run = runs[0]
	if limit := row.Config.MaxDurationMinutes; limit != nil {
		a.TimeLimit = time.Duration(*limit) * time.Minute
	}
	if uid := row.Config.EnvironmentID; uid != "" {
		environment, err := s.store.Environments.KeptSpec(ctx, row.Team, uid)
		if err != nil {
			return err
		}
		a.Environment = &environment
		if a.RetiredLayers, err = s.store.Prebuilds.Retired(ctx, uid); err != nil {
			return err
		}
	}
	a.Runner = row.Runner
	a.RegistryLogin, a.RegistryHosts, err = s.secrets.GrantRegistry(
		ctx, row.Team, penstock.ImageOf(a.Runner, a.Environment),
	)
	return err
}

// buildAssignment adds the run, its secrets, its environment, its files and its session.
func (s *Executions) buildAssignment(
	ctx context.Context, a *penstock.Assignment, row store.RunRow, sessionID string,
) error {
	err := s.describeLaunch(ctx, a, row, sessionID)
	if err != nil {
		return err
	}
	if a.Secrets, err = s.secrets.Grant(ctx, row); err != nil {
		return err
	}
	if err := s.giveNetwork(ctx, a, row); err != nil {
		return err
	}
	if a.Skills, err = s.skills.SkillFolders(ctx, row); err != nil {
		return err
	}
	attachments, err := s.store.Files.Attachments(ctx, row.ID)
	if err != nil {
		return err
	}
	given, err := s.store.Followups.GivenAttachments(ctx, row.ID)
	if err != nil {
		return err
	}
	for _, p := range a.Prompts {
		for _, f := range p.Files { // sent with their prompt
			given[f.ID] = false
		}
	}
	for _, at := range attachments {
		// Files of a waiting follow-up are sent with its prompt.
		if delivered, followup := given[at.ID]; delivered || !followup {
			a.Files = append(a.Files, at.File())
		}
	}
	if row.DeliveryID != "" {
		size, raw, err := s.store.Deliveries.PayloadSizes(ctx, row.DeliveryID)
		if err != nil {
			return err
		}
		a.Files = append(a.Files, PayloadOf(size, raw)...)
	}
	saved, err := s.store.Conversations.Session(ctx, row.ConversationID)
	switch {
	case err == nil && saved.Harness == row.Harness:
		a.Session = &penstock.SavedSession{
			SessionID: saved.SessionID, Harness: saved.Harness, File: penstock.File{ID: sessionFile, Size: saved.Size},
		}
	case err != nil && penstock.CodeOf(err) != penstock.CodeNotFound:
		return err
	}
	if err := s.giveCheckpoint(ctx, a, row); err != nil {
		return err
	}
	events, err := s.store.Conversations.Events(ctx, store.Viewer{All: true}, row.ConversationID)
	if err != nil {
		return err
	}
	a.History = history(penstock.Converse(row.ConversationID, events).Steps, a.Prompts)
	if row.ForkedFrom == nil || a.Checkpoint == nil || a.Checkpoint.Turn > 0 {
		return nil
	}
	before, err := s.historyOfFork(ctx, row, a.Checkpoint.PromptID)
	a.History = append(before, a.History...)
	return err
}

// history omits the step of the current prompts, follow-ups that were never delivered, and superseded
// turns.
func history(steps []penstock.Step, prompts []penstock.Prompt) []penstock.Step {
	steps = slices.DeleteFunc(steps, func(s penstock.Step) bool { return s.Undelivered() || s.Superseded })
	for i, step := range steps {
		for _, p := range prompts {
			if step.ID == p.ID {
				return steps[:i]
			}
		}
	}
	return steps
}

// deliverPrompt delivers the next prompt of the execution. It returns none if none is waiting.
func (s *Executions) deliverPrompt(ctx context.Context, tx *store.Tx, run store.RunRow) ([]penstock.Prompt, error) {
	prompts, given, err := s.choosePrompt(ctx, tx, run)
	if err != nil || len(prompts) == 0 {
		return nil, err
	}
	if given.Prompt != "" {
		if err := tx.Runs().SetPrompt(ctx, run.ID, given.Prompt); err != nil {
			return nil, err
		}
	}
	return prompts, tx.Events().Append(ctx, run.ID, given.Events...)
}

// choosePrompt returns the next prompt: the run's own, or one follow-up. The caller stores the
// choice.
func (s *Executions) choosePrompt(
	ctx context.Context, tx *store.Tx, run store.RunRow,
) (prompts []penstock.Prompt, given store.ChosenPrompt, err error) {
	var p penstock.Prompt
	events := []string{""} // of the run's own prompt
	switch run.PromptState {
	case store.PromptWaiting, store.PromptDelivering:
		p = penstock.Prompt{
			ID: run.ID, Text: run.Prompt, Mode: run.Mode, Redelivered: run.PromptState == store.PromptDelivering,
		}
		given.Prompt = store.PromptDelivering
	default:
		waiting, err := tx.Followups().List(ctx, run.ID, store.PromptWaiting)
		if err != nil || len(waiting) == 0 {
			return nil, given, err
		}
		f := waiting[0]
		p, events = promptOf(f), []string{f.ID}
		if run.PromptState == store.PromptUndelivered { // cancelled before the agent saw its prompt
			p.Text, events = run.Prompt+"\n\n"+f.Message, []string{"", f.ID}
			given.Prompt = store.PromptDelivered
		}
		if err := tx.Followups().Deliver(ctx, f.ID); err != nil {
			return nil, given, err
		}
	}
	attached := p.Files
	for _, followupID := range events {
		if err := withEvents(ctx, tx, run, followupID, &p); err != nil {
			return nil, given, err
		}
	}
	given.Events = promptEvents(run, p, attached)
	return []penstock.Prompt{p}, given, nil
}

// promptOf returns a follow-up as a prompt.
func promptOf(f store.Followup) penstock.Prompt {
	return penstock.Prompt{
		ID: f.ID, Text: f.Message, Mode: f.Mode, Followup: true, Redelivered: f.Redelivered,
		Files: store.FilesOf(f.Attachments),
	}
}

// promptEvents returns the events of a delivered prompt with its attachments. A redelivered prompt does not appear
// twice in the conversation.
func promptEvents(run store.RunRow, p penstock.Prompt, attached []penstock.File) []penstock.Draft {
	now := penstock.Now()
	var drafts []penstock.Draft
	if !p.Redelivered {
		text := p.Text
		if text == "" && run.SkillSpec != "" {
			text = "Use the skill " + run.SkillSpec + "."
		}
		content := []penstock.Block{penstock.Text(text)}
		if len(attached) > 0 {
			content = append(content, store.AttachmentsBlock(attached))
		}
		message := penstock.NewDraft(
			penstock.EventMessage, now, penstock.Message{ID: p.ID, Role: penstock.RoleUser, Content: content, Timestamp: now},
		)
		message.Key = "" // it has no deltas to remove
		drafts = append(drafts, message)
	}
	if p.Followup {
		payload := map[string]any{"followup_id": p.ID}
		if p.Redelivered {
			payload["redelivered"] = true
		}
		drafts = append(drafts, penstock.Timeline(now, timelineFollowupDelivered, payload))
	}
	return drafts
}

// Heartbeat implements penstock.Control.
func (c control) Heartbeat(ctx context.Context, l penstock.Lease, wait time.Duration) (penstock.Signal, error) {
	nudged, stop := c.s.store.Nudges.Subscribe(store.RunTopic(l.RunID))
	defer stop()
	if err := c.s.store.Executions.Renew(ctx, l); err != nil {
		return penstock.Signal{}, err
	}
	over := time.After(wait)
	for {
		signal, err := c.s.store.Executions.Holds(ctx, l)
		if err != nil || signal != (penstock.Signal{}) {
			return signal, err
		}
		select {
		case <-ctx.Done():
			return penstock.Signal{}, ctx.Err()
		case <-over:
			return penstock.Signal{}, nil
		case <-nudged:
		case <-time.After(PollEvery):
		}
	}
}

// Append implements penstock.Control.
func (c control) Append(ctx context.Context, l penstock.Lease, drafts []penstock.Draft) error {
	moves := false
	for _, d := range drafts {
		if err := checkDraft(d); err != nil {
			return err
		}
		moves = moves || d.Type == penstock.EventState
	}
	if !moves {
		err := c.s.store.Events.Append(ctx, l, drafts)
		if gone, reports, ok := sandboxGone(drafts); ok && errors.Is(err, penstock.ErrLeaseLost) {
			err = c.s.store.Write(ctx, func(tx *store.Tx) error { return tx.Events().AppendAfter(ctx, l, gone, reports) })
		}
		return err
	}
	return c.s.store.Write(ctx, func(tx *store.Tx) error {
		if _, err := tx.Executions().Held(ctx, l); err != nil {
			return err
		}
		fresh, err := tx.Events().Fresh(ctx, l, drafts)
		if err != nil {
			return err
		}
		for _, d := range fresh {
			if err := appendOne(ctx, tx, l, d); err != nil {
				return err
			}
		}
		return nil
	})
}

// maxEventKey bounds the id that ties the deltas of a message to it, in bytes.
const maxEventKey = 200

// checkDraft rejects drafts that our workers never write, because listeners would get them
// unchanged. Only the server ends a stream.
func checkDraft(d penstock.Draft) error {
	switch d.Type {
	case penstock.EventState, penstock.EventMessage, penstock.EventMessageDelta, penstock.EventAction,
		penstock.EventActionResult,
		penstock.EventPlan, penstock.EventUsage, penstock.EventArtifact, penstock.EventTimeline:
	case penstock.EventNetwork:
		return checkReport(d)
	default:
		return penstock.Invalid("/type", "must be an event type that workers may write")
	}
	if jsontext.Value(d.Data).Kind() != '{' {
		return penstock.Invalid("/data", "must be a JSON object")
	}
	if len(d.Key) > maxEventKey {
		return penstock.Invalid("/key", "has more than %d bytes", maxEventKey)
	}
	return nil
}

// checkReport rejects a report about traffic that the server cannot store.
func checkReport(d penstock.Draft) error {
	var report penstock.NetworkReport
	if err := json.Unmarshal(d.Data, &report); err != nil {
		return penstock.Invalid("/data", "is not a report about traffic")
	}
	if n := len(report.Hosts); n > store.MaxTrafficHosts {
		return penstock.Invalid("/data/hosts", "has %d hosts; at most %d are allowed", n, store.MaxTrafficHosts)
	}
	for _, h := range report.Hosts {
		if err := h.Check(); err != nil {
			return err
		}
	}
	return nil
}

// sandboxGone returns a new draft if the first draft reports the end of a sandbox, and the drafts
// after it, which must be reports about traffic. The worker has no lease any more, so only the kind
// of the sandbox is copied.
func sandboxGone(drafts []penstock.Draft) (gone penstock.Draft, reports []penstock.Draft, ok bool) {
	var event penstock.TimelineData
	if len(drafts) == 0 || drafts[0].Type != penstock.EventTimeline || json.Unmarshal(drafts[0].Data, &event) != nil ||
		event.Type != penstock.TimelineSandboxGone {
		return gone, nil, false
	}
	reports = drafts[1:]
	if slices.ContainsFunc(reports, func(d penstock.Draft) bool { return d.Type != penstock.EventNetwork }) {
		return gone, nil, false
	}
	payload := map[string]any{}
	if kind, ok := event.Payload["sandbox"].(string); ok && len(kind) <= request.MaxName {
		payload["sandbox"] = kind
	}
	return penstock.Timeline(penstock.Now(), penstock.TimelineSandboxGone, payload), reports, true
}

func appendOne(ctx context.Context, tx *store.Tx, l penstock.Lease, d penstock.Draft) error {
	if d.Type == penstock.EventNetwork {
		return tx.Executions().Report(ctx, l, d)
	}
	if d.Type != penstock.EventState {
		return tx.Events().Append(ctx, l.RunID, d)
	}
	var to penstock.StateData
	if err := json.Unmarshal(d.Data, &to); err != nil {
		return penstock.Invalid("/data", "is not the data of a state event")
	}
	if to.State != penstock.StatePending && to.State != penstock.StateInProgress {
		return penstock.Invalid(
			"/data/state", "must be PENDING or INPROGRESS; to end a turn, call finish",
		)
	}
	run, err := tx.Runs().Lock(ctx, l.RunID)
	if err != nil || run.State == to.State { // reported before
		return err
	}
	if !run.State.CanMove(to.State) {
		return penstock.Errorf(penstock.CodeConflict, "the run is %s and cannot become %s", run.State, to.State)
	}
	return tx.Runs().Move(ctx, store.Move{Run: run, To: to.State, Message: to.StatusMessage})
}

// HasLocalWorker reports whether the worker of this process has made a claim.
func (s *Executions) HasLocalWorker() bool { return s.localWorker.Load() }
