package run

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/access"
	"github.com/penstock-dev/penstock/internal/control/store"
)

// ArtifactItem is an artifact with its uid: the contract's ArtifactResponse.
type ArtifactItem struct {
	UID       string                `json:"artifact_uid"`
	Type      penstock.ArtifactType `json:"artifact_type"`
	CreatedAt penstock.Time         `json:"created_at"`
	RunID     string                `json:"run_id,omitempty"`
	Data      json.RawMessage       `json:"data"`
}

// sees reports whether the caller can see a run.
func sees(p penstock.Principal, r store.RunRow) bool {
	if p.RunID != "" {
		return r.ID == p.RunID
	}
	return !r.Personal || p.May(penstock.ScopeAdmin) || r.Creator != nil && r.Creator.UID == p.Actor.UID
}

// viewer describes the caller for lists of runs, by the same rule as sees. An agent can see the
// whole conversation that it continues.
func viewer(p penstock.Principal) store.Viewer {
	return store.Viewer{Team: p.Team, UID: p.Actor.UID, All: p.May(penstock.ScopeAdmin) || p.RunID != ""}
}

// visibleRun reads a run that the caller can see.
func (s *Runs) visibleRun(ctx context.Context, p penstock.Principal, id string) (store.RunRow, error) {
	if !penstock.ValidID(id) {
		return store.RunRow{}, penstock.NotFound("run", id)
	}
	r, err := s.store.Runs.Find(ctx, p.Team, id)
	if err == nil && !sees(p, r) {
		err = penstock.NotFound("run", id)
	}
	return r, err
}

// readableRun returns a run that the caller may read: with the scope, or as its own run.
func (s *Runs) readableRun(ctx context.Context, p penstock.Principal, id string) (store.RunRow, error) {
	if p.RunID == "" {
		if err := access.Require(p, penstock.ScopeRunsRead); err != nil {
			return store.RunRow{}, err
		}
	}
	return s.visibleRun(ctx, p, id)
}

// writableRun returns a run that the caller may steer.
func (s *Runs) writableRun(ctx context.Context, p penstock.Principal, id string) (store.RunRow, error) {
	if err := access.Require(p, penstock.ScopeRunsWrite); err != nil {
		return store.RunRow{}, err
	}
	return s.visibleRun(ctx, p, id)
}

// Read returns one run.
func (s *Runs) Read(ctx context.Context, p penstock.Principal, id string) (penstock.Run, error) {
	r, err := s.readableRun(ctx, p, id)
	if err != nil {
		return penstock.Run{}, err
	}
	if r.State.Held() {
		e, err := s.store.Runs.Evidence(ctx, r)
		if err != nil {
			return penstock.Run{}, err
		}
		r.Evidence = &e
	}
	runs, err := s.Present(ctx, []store.RunRow{r})
	if err != nil {
		return penstock.Run{}, err
	}
	showOnlySkill(&runs[0])
	return runs[0], nil
}

// List returns one page of the runs that the caller can see.
func (s *Runs) List(ctx context.Context, p penstock.Principal, q penstock.RunQuery) (Page, error) {
	if err := access.Require(p, penstock.ScopeRunsRead); err != nil {
		return Page{}, err
	}
	list, err := s.store.Runs.List(ctx, viewer(p), q)
	if err != nil {
		return Page{}, err
	}
	runs, err := s.Present(ctx, list.Rows)
	if err != nil {
		return Page{}, err
	}
	for i := range runs {
		showOnlySkill(&runs[i])
		if !runs[i].State.Done() && runs[i].State != penstock.StateBlocked {
			runs[i].Evidence = nil // it is of when a worker last left the run
		}
	}
	page := Page{Runs: runs[:fitPage(runs, list.Bytes)]}
	if n := len(page.Runs); n < len(runs) || list.More {
		page.PageInfo = store.PageInfo{HasNext: true, NextCursor: list.After(n)}
	}
	return page, nil
}

// fitPage returns how many runs fit on a page, at least one if any exists. As JSON, texts may
// be six times as long as in the database.
func fitPage(runs []penstock.Run, bytes int64) int {
	if 6*bytes <= store.MaxPageBytes {
		return len(runs)
	}
	size := 100 // of the rest of the page
	for i, r := range runs {
		if size += len(mustMarshal(r)) + 1; size > store.MaxPageBytes && i > 0 {
			return i
		}
	}
	return len(runs)
}

// showOnlySkill also shows a single entry of skills as skill_spec, where clients expect it. The
// worker must not see this, because it would run the skill.
func showOnlySkill(r *penstock.Run) {
	c := r.Config
	if c.SkillSpec != "" || len(c.Skills) != 1 {
		return
	}
	c.SkillSpec = c.Skills[0]
	if from, known := r.ConfigSources["skills"]; known {
		r.ConfigSources["skill_spec"] = from
	}
}

// Present adds the values that are not in the rows: links, artifacts, the position in the
// queue, and what a run waits for.
func (s *Runs) Present(ctx context.Context, rows []store.RunRow) ([]penstock.Run, error) {
	var ids []string
	var queued []store.RunRow
	var held []string
	for _, r := range rows {
		ids = append(ids, r.ID)
		if r.State == penstock.StateQueued {
			queued = append(queued, r)
		}
		if r.State.Held() {
			held = append(held, r.ID)
		}
	}
	around, err := readCircumstances(ctx, s, queued, held)
	if err != nil {
		return nil, err
	}
	artifacts, err := s.store.Files.Artifacts(ctx, ids)
	if err != nil {
		return nil, err
	}
	byRun := map[string][]penstock.Artifact{}
	for _, a := range artifacts {
		byRun[a.RunID] = append(byRun[a.RunID], publicArtifact(a))
	}
	runs := make([]penstock.Run, len(rows))
	for i, r := range rows {
		run := r.Run
		run.Network = presentNetwork(run.Network)
		run.Artifacts = byRun[r.ID]
		run.SessionLink = s.publicURL + "/runs/" + r.ID
		run.Scope = scopeOf(r)
		run.Usage = UsageOf(r.Consumed)
		run.QueuePosition = around.positions[r.ID]
		run.Waiting = around.waiting(r)
		addStatus(&run)
		runs[i] = run
	}
	return runs, nil
}

func scopeOf(r store.RunRow) *penstock.Scoped {
	if r.Personal {
		return &penstock.Scoped{Type: "User", UID: r.Creator.UID}
	}
	return &penstock.Scoped{Type: "Team", UID: r.Team}
}

// Missing returns what a waiting run requires that no connected worker has, or nil if a worker
// can execute it.
func Missing(r store.RunRow, workers []store.Worker) *penstock.StatusMessage {
	want := r.Wants()
	var harness, host, platform, provider bool
	for _, w := range workers {
		if w.Can(want) {
			return nil
		}
		harness = harness || w.Can(store.Want{Harness: want.Harness})
		host = host || w.Can(store.Want{Host: want.Host})
		platform = platform || w.Can(store.Want{Platform: want.Platform})
		provider = provider || w.Can(store.Want{Harness: want.Harness, Provider: want.Provider})
	}
	var what string
	switch {
	case len(workers) == 0:
		what = "no worker is connected"
	case !host:
		what = fmt.Sprintf("no worker of the host %q is connected", r.WorkerHost)
	case !harness:
		return &penstock.StatusMessage{Message: "Waiting: " + NoHarness(r.Harness, workers)}
	case !platform:
		what = fmt.Sprintf("no connected worker has the platform %s of the runner %q", want.Platform, r.Runner.Name)
	case !provider:
		what = NoProvider(r.Config.Model())
	case r.Image:
		what = "no connected worker can use the container image of its environment or runner"
	default:
		what = fmt.Sprintf("no connected worker has everything that the run requires: the harness %q", want.Harness)
		if want.Host != "" {
			what += fmt.Sprintf(", the host %q", want.Host)
		}
		if want.Platform != "" {
			what += ", the platform " + want.Platform
		}
		if want.Provider != "" {
			what += ", a provider for the model " + QuotedModel(r.Config.Model())
		}
	}
	return &penstock.StatusMessage{Message: "Waiting: " + what + "."}
}

// UsageOf returns what a run has consumed, or nil if nothing is known.
func UsageOf(t store.Consumption) *penstock.Usage {
	total := t.Tokens.Total()
	if !t.Priced {
		if total == 0 {
			return nil
		}
		return &penstock.Usage{TotalTokens: total}
	}
	cost := penstock.USDOf(t.Cost)
	return &penstock.Usage{
		TotalTokens: total, InferenceCost: &cost, InferenceCostUSD: &cost, Breakdown: breakdown(t.Costs),
	}
}

// breakdown is nil if only the total is known.
func breakdown(c penstock.CallCost) *penstock.CostBreakdown {
	if c.Total() == 0 {
		return nil
	}
	return new(c.Breakdown())
}

// Timeline returns the timeline events of a run, in order.
func (s *Runs) Timeline(ctx context.Context, p penstock.Principal, id string) ([]penstock.TimelineEvent, error) {
	if _, err := s.readableRun(ctx, p, id); err != nil {
		return nil, err
	}
	events, err := s.store.Events.Timeline(ctx, id)
	if err != nil {
		return nil, err
	}
	out := make([]penstock.TimelineEvent, 0, len(events))
	for _, e := range events {
		event, err := e.Timeline()
		if err != nil {
			return nil, fmt.Errorf("read event %d of run %s: %w", e.Seq, id, err)
		}
		out = append(out, event)
	}
	return out, nil
}

// seesConversation returns nil if the caller can see a conversation.
func (s *Runs) seesConversation(ctx context.Context, p penstock.Principal, id string) error {
	if err := access.Require(p, penstock.ScopeRunsRead); err != nil {
		return err
	}
	_, err := s.store.Conversations.Run(ctx, viewer(p), id)
	return err
}

// ConversationRedirect returns the live session of a conversation, or "" if none of its runs is
// active. It needs no key: nobody can guess the ids, and their pages need a key.
func (s *Runs) ConversationRedirect(ctx context.Context, id string) (sessionID string, err error) {
	return s.store.Conversations.LiveSession(ctx, id)
}

// SessionRedirect returns the conversation of a session whose sandbox has stopped, or else "".
// It needs no key, for the same reason.
func (s *Runs) SessionRedirect(ctx context.Context, sessionID string) (conversationID string, err error) {
	return s.store.Conversations.EndedSession(ctx, sessionID)
}

// RunByReference finds the run that made an artifact with this URL, the newest
// of several.
func (s *Runs) RunByReference(ctx context.Context, p penstock.Principal, url string) (string, error) {
	if err := access.Require(p, penstock.ScopeRunsRead); err != nil {
		return "", err
	}
	ids, err := s.store.Runs.ByReference(ctx, p.Team, url)
	if err != nil {
		return "", err
	}
	for _, id := range ids {
		if _, err := s.visibleRun(ctx, p, id); err == nil {
			return id, nil
		}
	}
	return "", penstock.Errorf(penstock.CodeNotFound, "no run has this reference")
}
