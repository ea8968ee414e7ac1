package store

import (
	"strings"

	"github.com/penstock-dev/penstock"
)

// runFields are the columns of a run. Columns that few runs use come last, after those that runs of
// webhooks use, because an insert omits unused columns at the end.
var runFields = newResource("runs", "r",
	textColumn("id", func(r *RunRow) *string { return &r.ID }),
	textColumn("team", func(r *RunRow) *string { return &r.Team }),
	textColumn("state", func(r *RunRow) *penstock.State { return &r.State }),
	textColumn("title", func(r *RunRow) *string { return &r.Title }),
	textColumn("prompt", func(r *RunRow) *string { return &r.Prompt }),
	textColumn("mode", func(r *RunRow) *penstock.Mode { return &r.Mode }),
	flagColumn("interactive", func(r *RunRow) *bool { return &r.Interactive }),
	textColumn("source", func(r *RunRow) *penstock.Source { return &r.Source }),
	numberColumn("created_at", func(r *RunRow) *penstock.Time { return &r.CreatedAt }),
	numberColumn("updated_at", func(r *RunRow) *penstock.Time { return &r.UpdatedAt }),
	numberColumn("execution_id", func(r *RunRow) *int { return &r.ExecutionID }),
	numberColumn("last_seq", func(r *RunRow) *int64 { return &r.LastSeq }),
	textColumn("prompt_state", func(r *RunRow) *string { return &r.PromptState }),
	storedText("creator", func(r *RunRow) string { return uidOf(r.Creator) }),
	storedText("executor", func(r *RunRow) string { return uidOf(r.Executor) }),
	flagColumn("personal", func(r *RunRow) *bool { return &r.Personal }),
	jsonColumn("config", func(r *RunRow) **penstock.Config { return &r.Config }),
	jsonColumn("config_sources", func(r *RunRow) *map[string]string { return &r.ConfigSources }),
	storedText("name", func(r *RunRow) string { return r.Config.Name }),
	storedText("model_id", func(r *RunRow) string { return r.Config.ModelID }),
	textColumn("harness", func(r *RunRow) *string { return &r.Harness }),
	textColumn("conversation_id", func(r *RunRow) *string { return &r.ConversationID }),
	textColumn("root_id", func(r *RunRow) *string { return &r.RootID }),
	textColumn("key_uid", func(r *RunRow) *string { return &r.KeyUID }),
	jsonColumn("metadata", func(r *RunRow) *map[string]string { return &r.Metadata }),
	textColumn("automation_id", func(r *RunRow) *string { return &r.AutomationID }),
	textColumn("webhook_uid", func(r *RunRow) *string { return &r.WebhookUID }),
	textColumn("delivery_id", func(r *RunRow) *string { return &r.DeliveryID }),
	textColumn("factory_uid", func(r *RunRow) *string { return &r.FactoryUID }),
	textColumn("trigger_url", func(r *RunRow) *string { return &r.TriggerURL }),
	numberColumn("definition_revision", func(r *RunRow) *int64 { return &r.Revision }),
	textColumn("subject_uid", func(r *RunRow) *string { return &r.SubjectUID }),
	textColumn("subject", func(r *RunRow) *string { return &r.Subject }),
	textColumn("continues", func(r *RunRow) *string { return &r.ContinuesID }),
	numberColumn("events_count", func(r *RunRow) *int64 { return &r.EventsCount }),
	storedText("environment_id", func(r *RunRow) string { return r.Config.EnvironmentID }),
	textColumn("worker_host", func(r *RunRow) *string { return &r.WorkerHost }),
	textColumn("skill", func(r *RunRow) *string { return &r.SkillSpec }),
	jsonColumn("skill_info", func(r *RunRow) **penstock.Skill { return &r.Skill }),
	storedText("schedule_id", func(r *RunRow) string { return scheduleID(r.Schedule) }),
	jsonColumn("schedule_info", func(r *RunRow) **penstock.RunSchedule { return &r.Schedule }),
	textColumn("parent_id", func(r *RunRow) *string { return &r.ParentID }),
	numberColumn("depth", func(r *RunRow) *int { return &r.Depth }),
	textColumn("agent_name", func(r *RunRow) *string { return &r.AgentName }),
	jsonColumn("runner", func(r *RunRow) **penstock.RunnerSpec { return &r.Runner }),
	flagColumn("image", func(r *RunRow) *bool { return &r.Image }),
	textColumn("skill_id", func(r *RunRow) *string { return &r.SkillID }),
	storedFlag("skill_found", func(r *RunRow) bool { return r.skillFound() }),
	jsonColumn("network", func(r *RunRow) **penstock.NetworkPolicy { return &r.Network }),
	textColumn("agent_uid", func(r *RunRow) *string { return &r.AgentUID }),
	numberColumn("max_cost", func(r *RunRow) *int64 { return &r.MaxCost }).from(maxCost),
	numberColumn("max_tokens", func(r *RunRow) *int64 { return &r.MaxTokens }).from(maxTokens),
	listColumn("inherited", func(r *RunRow) *[]string { return &r.Inherited }),
	listColumn("payers", func(r *RunRow) *[]string { return &r.Payers }),
	textColumn("on_hollow", func(r *RunRow) *penstock.OnHollow { return &r.OnHollow }),
	jsonColumn("forked_from", func(r *RunRow) **penstock.ForkedFrom { return &r.ForkedFrom }),
	textColumn("fork_group", func(r *RunRow) *string { return &r.ForkGroup }),

	// These get their values later.
	numberColumn("started_at", func(r *RunRow) *penstock.Time { return &r.StartedAt }).unset(),
	numberColumn("finished_at", func(r *RunRow) *penstock.Time { return &r.FinishedAt }).unset(),
	numberColumn("run_ms", func(r *RunRow) *int64 { return &r.runMillis }).unset(),
	numberColumn("held_at", func(r *RunRow) *penstock.Time { return &r.heldAt }).unset(),
	flagColumn("resumable", func(r *RunRow) *bool { return &r.Resumable }).unset(),
	jsonColumn("status_message", func(r *RunRow) **penstock.StatusMessage { return &r.StatusMessage }).unset(),
	textColumn("session_id", func(r *RunRow) *string { return &r.SessionID }).unset(),
	textColumn("location", func(r *RunRow) *string { return &r.Location }).unset(),
	jsonColumn("usage", func(r *RunRow) *Consumption { return &r.Consumed }).unset(),
	numberColumn("sealed", func(r *RunRow) *int { return &r.sealed }).unset(),
	numberColumn("times_lost", func(r *RunRow) *int { return &r.TimesLost }).unset(),
	numberColumn("not_given_since", func(r *RunRow) *penstock.Time { return &r.NotGivenSince }).unset(),
	textColumn("blocked_budget", func(r *RunRow) *string { return &r.BlockedBudget }).unset(),
	numberColumn("needed_cost", func(r *RunRow) *int64 { return &r.NeededCost }).unset(),
	numberColumn("needed_tokens", func(r *RunRow) *int64 { return &r.NeededTokens }).unset(),
	listColumn("senders", func(r *RunRow) *[]string { return &r.Senders }).unset(),
	jsonColumn("evidence", func(r *RunRow) **penstock.Evidence { return &r.Evidence }).unset(),
	textColumn("hollow", func(r *RunRow) *string { return &r.HollowReason }).unset(),
	flagColumn("ended_before", func(r *RunRow) *bool { return &r.endedBefore }).unset(),
	jsonColumn("stalled", func(r *RunRow) **penstock.Stalled { return &r.Stalled }).unset(),
).cutAfter("metadata", "definition_revision", "events_count")

var (
	runColumns = runFields.selected + ", " + selectActor("r.creator", "c") + ", " + selectActor("r.executor", "e")
	runFrom    = " FROM runs r" + runActors
	runActors  = joinActor("c", "r.creator") + joinActor("e", "r.executor")
)

// scanRun reads the columns of a run, and then more.
func scanRun(row scanner, more ...any) (RunRow, error) {
	var r RunRow
	var creator, executor actorColumns
	actors := append(creator.into(), executor.into()...)
	into := runFields.into(&r, append(actors, more...)...)
	if err := row.Scan(into...); err != nil {
		return r, err
	}
	r.size = 1<<10 + int64(len(r.Title)+len(r.Prompt)+len(r.TriggerURL))
	for _, dest := range into {
		if d, ok := dest.(*document); ok {
			r.size += int64(d.size)
		}
	}
	if r.Config == nil {
		r.Config = &penstock.Config{}
	}
	r.Config.Budget = r.ownBudget()
	r.TaskID = r.ID
	r.Hollow = r.HollowReason != ""
	if r.sealed != 0 {
		r.Sealed = new(r.sealed == sealedYes)
	}
	r.Creator, r.Executor = creator.actor(), executor.actor()
	r.SandboxRunning = r.State == penstock.StatePending || r.State == penstock.StateInProgress
	r.Cancellable = true // regardless of its type
	held := r.runMillis
	if r.heldAt != 0 {
		held += int64(max(0, penstock.Now()-r.heldAt))
	}
	r.RunTime = penstock.Duration(held * 1e6)
	return r, nil
}

func scheduleID(s *penstock.RunSchedule) string {
	if s == nil {
		return ""
	}
	return s.ID
}

// skillFound reports whether the run has a bare skill name that was resolved. In other runs, the
// same name may stand for another skill.
func (r RunRow) skillFound() bool {
	return r.Skill != nil && (r.Skill.BundledID != "" || r.Skill.FullPath != "") && !strings.Contains(r.SkillSpec, ":")
}

// maxCost and maxTokens are the caps of the run's own budget as they are stored. A cap of less than a
// nano-dollar is still a cap.
func maxCost(r *RunRow) any {
	if b := r.Config.Budget; b != nil && b.MaxCostUSD > 0 {
		return max(1, penstock.NanosOf(min(b.MaxCostUSD, penstock.MaxBudgetUSD)))
	}
	return int64(0)
}

func maxTokens(r *RunRow) any {
	if r.Config.Budget == nil {
		return int64(0)
	}
	return r.Config.Budget.MaxTotalTokens
}

// ownBudget is the run's own budget, which may have changed since it was created; nil: it has none.
func (r RunRow) ownBudget() *penstock.Budget {
	if r.MaxCost == 0 && r.MaxTokens == 0 {
		return nil
	}
	return &penstock.Budget{MaxCostUSD: penstock.USDOf(r.MaxCost), MaxTotalTokens: r.MaxTokens}
}
