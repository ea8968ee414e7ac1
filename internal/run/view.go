package run

import (
	"context"
	"fmt"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/access"
	"github.com/penstock-dev/penstock/internal/catalog"
	"github.com/penstock-dev/penstock/internal/store"
)

// sees reports whether a run exists for the caller.
func sees(p penstock.Principal, r store.RunRow) bool {
	if p.RunID != "" {
		return r.ID == p.RunID
	}
	return !r.Personal || p.May(penstock.ScopeAdmin) || r.Creator != nil && r.Creator.UID == p.Actor.UID
}

// viewer is for whom runs are listed, those that sees allows. An agent was told
// of the whole conversation that it goes on with.
func viewer(p penstock.Principal) store.Viewer {
	return store.Viewer{Team: p.Team, UID: p.Actor.UID, All: p.May(penstock.ScopeAdmin) || p.RunID != ""}
}

// visibleRun reads a run that exists for the caller.
func (s *Runs) visibleRun(ctx context.Context, p penstock.Principal, id string) (store.RunRow, error) {
	if !penstock.ValidID(id) {
		return store.RunRow{}, penstock.NotFound("run", id)
	}
	r, err := s.store.Run(ctx, p.Team, id)
	if err == nil && !sees(p, r) {
		err = penstock.NotFound("run", id)
	}
	return r, err
}

// readableRun is a run that the caller may read: with the scope, or its own.
func (s *Runs) readableRun(ctx context.Context, p penstock.Principal, id string) (store.RunRow, error) {
	if p.RunID == "" {
		if err := access.Require(p, penstock.ScopeRunsRead); err != nil {
			return store.RunRow{}, err
		}
	}
	return s.visibleRun(ctx, p, id)
}

// writableRun is a run that the caller may steer.
func (s *Runs) writableRun(ctx context.Context, p penstock.Principal, id string) (store.RunRow, error) {
	if err := access.Require(p, penstock.ScopeRunsWrite); err != nil {
		return store.RunRow{}, err
	}
	return s.visibleRun(ctx, p, id)
}

// Read answers one run.
func (s *Runs) Read(ctx context.Context, p penstock.Principal, id string) (penstock.Run, error) {
	r, err := s.readableRun(ctx, p, id)
	if err != nil {
		return penstock.Run{}, err
	}
	runs, err := s.Present(ctx, []store.RunRow{r})
	if err != nil {
		return penstock.Run{}, err
	}
	showOnlySkill(&runs[0])
	return runs[0], nil
}

// List answers one page of the runs that exist for the caller.
func (s *Runs) List(ctx context.Context, p penstock.Principal, q penstock.RunQuery) (penstock.RunPage, error) {
	if err := access.Require(p, penstock.ScopeRunsRead); err != nil {
		return penstock.RunPage{}, err
	}
	list, err := s.store.ListRuns(ctx, viewer(p), q)
	if err != nil {
		return penstock.RunPage{}, err
	}
	runs, err := s.Present(ctx, list.Rows)
	if err != nil {
		return penstock.RunPage{}, err
	}
	for i := range runs {
		showOnlySkill(&runs[i])
	}
	page := penstock.RunPage{Runs: runs[:fitPage(runs, list.Bytes)]}
	if n := len(page.Runs); n < len(runs) || list.More {
		page.PageInfo = penstock.PageInfo{HasNext: true, NextCursor: list.After(n)}
	}
	return page, nil
}

// fitPage is how many runs a page holds, one at least where there is one. Their
// texts in the database are longer as JSON, up to six times.
func fitPage(runs []penstock.Run, bytes int64) int {
	if 6*bytes <= penstock.MaxPageBytes {
		return len(runs)
	}
	size := 100 // of the rest of the page
	for i, r := range runs {
		if size += len(mustMarshal(r)) + 1; size > penstock.MaxPageBytes && i > 0 {
			return i
		}
	}
	return len(runs)
}

// showOnlySkill shows the only entry of skills as skill_spec, too, where clients
// look for it. A worker is not told so: it would be a skill to run.
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

// Present adds what is not in the rows: links, artifacts, the place in the
// queue and what a run waits for.
func (s *Runs) Present(ctx context.Context, rows []store.RunRow) ([]penstock.Run, error) {
	var ids []string
	var queued []store.RunRow
	for _, r := range rows {
		ids = append(ids, r.ID)
		if r.State == penstock.StateQueued {
			queued = append(queued, r)
		}
	}
	var workers []store.Worker
	if len(queued) > 0 {
		var err error
		if workers, err = s.store.Workers(ctx); err != nil {
			return nil, err
		}
	}
	positions, err := s.order.positions(ctx, s.store, workers, queued)
	if err != nil {
		return nil, err
	}
	artifacts, err := s.store.Artifacts(ctx, ids)
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
		if r.State == penstock.StateQueued {
			run.QueuePosition = positions[r.ID]
			if run.StatusMessage == nil {
				run.StatusMessage = Missing(r, workers)
			}
		}
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

// Missing says what no connected worker can do for a run that waits; nil where
// one can.
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
		what = fmt.Sprintf("no connected worker has the harness %q", r.Harness)
	case !platform:
		what = fmt.Sprintf("no connected worker has the platform %s of the runner %q", want.Platform, r.Runner.Name)
	case !provider:
		what = catalog.NoProvider(r.Config.Model())
	case r.Image:
		what = "no connected worker can use the container image of its environment or runner"
	default:
		what = fmt.Sprintf("no connected worker has all that it asks for: the harness %q", want.Harness)
		if want.Host != "" {
			what += fmt.Sprintf(", the host %q", want.Host)
		}
		if want.Platform != "" {
			what += ", the platform " + want.Platform
		}
		if want.Provider != "" {
			what += ", a provider for the model " + catalog.QuotedModel(r.Config.Model())
		}
	}
	return &penstock.StatusMessage{Message: "Waiting: " + what + "."}
}

// UsageOf is what a run has used; nil where nothing is known.
func UsageOf(t store.Consumption) *penstock.Usage {
	total := t.Tokens.Total()
	if total == 0 && t.CostUSD == nil {
		return nil
	}
	return &penstock.Usage{
		TotalTokens: total, InferenceCost: t.CostUSD, InferenceCostUSD: t.CostUSD, Breakdown: t.Breakdown,
	}
}

// Timeline answers the moments of a run, in order.
func (s *Runs) Timeline(ctx context.Context, p penstock.Principal, id string) ([]penstock.TimelineEvent, error) {
	if _, err := s.readableRun(ctx, p, id); err != nil {
		return nil, err
	}
	events, err := s.store.TimelineEvents(ctx, id)
	if err != nil {
		return nil, err
	}
	out := make([]penstock.TimelineEvent, 0, len(events))
	for _, e := range events {
		moment, err := e.Timeline()
		if err != nil {
			return nil, fmt.Errorf("read event %d of run %s: %w", e.Seq, id, err)
		}
		out = append(out, moment)
	}
	return out, nil
}

// seesConversation is nil where a conversation exists for the caller.
func (s *Runs) seesConversation(ctx context.Context, p penstock.Principal, id string) error {
	if err := access.Require(p, penstock.ScopeRunsRead); err != nil {
		return err
	}
	_, err := s.store.RunOfConversation(ctx, viewer(p), id)
	return err
}

// ConversationRedirect is the live session of a conversation, "" when none of
// its runs is being executed. It needs no key: both ids are unguessable, and
// what they lead to needs one.
func (s *Runs) ConversationRedirect(ctx context.Context, id string) (sessionID string, err error) {
	return s.store.LiveSession(ctx, id)
}

// SessionRedirect is the conversation of a session whose sandbox is gone, else
// "". It needs no key, for the same reason.
func (s *Runs) SessionRedirect(ctx context.Context, sessionID string) (conversationID string, err error) {
	return s.store.EndedSession(ctx, sessionID)
}

// RunByReference finds the run that made an artifact with this URL, the newest
// of several.
func (s *Runs) RunByReference(ctx context.Context, p penstock.Principal, url string) (string, error) {
	if err := access.Require(p, penstock.ScopeRunsRead); err != nil {
		return "", err
	}
	ids, err := s.store.RunsByReference(ctx, p.Team, url)
	if err != nil {
		return "", err
	}
	for _, id := range ids {
		if _, err := s.visibleRun(ctx, p, id); err == nil {
			return id, nil
		}
	}
	return "", penstock.Errorf(penstock.CodeNotFound, "no run has made this reference")
}
