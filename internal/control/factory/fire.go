package factory

import (
	"cmp"
	"context"
	"errors"
	"strings"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/access"
	"github.com/penstock-dev/penstock/internal/control/forge"
	"github.com/penstock-dev/penstock/internal/control/request"
	"github.com/penstock-dev/penstock/internal/control/run"
	"github.com/penstock-dev/penstock/internal/control/store"
	"github.com/penstock-dev/penstock/internal/control/trigger"
)

// RunTemplate is the common part of all runs of an automation, resolved once: agent,
// configuration, environment. It does not follow later changes. It is safe for concurrent use.
type RunTemplate struct {
	run     store.NewRun
	title   penstock.TitleTemplate
	subject penstock.SubjectTemplate
	rules   penstock.SubjectRules
	runs    *run.Runs
	catalog *run.Catalog
}

// Cause is why an automation starts one run.
type Cause struct {
	Source     penstock.Source
	At         penstock.Time
	schedule   *penstock.RunSchedule
	WebhookUID string
	DeliveryID string
	TriggerURL string
	Payload    trigger.Value            // of the delivery, for the title and the subject
	Scheme     penstock.SignatureScheme // of the webhook
	Place      string                   // the forge and the repository of an event of a connection
	Threads    []store.PullThread       // to which the pull request of the event belongs
	Repository *penstock.RunRepository  // of an event of a connection: the run works on it, unless its agent says on what
	Thread     *store.ForgeThread       // the issue or pull request of an event of a connection
	Creator    *penstock.Actor          // who starts the run by hand; nil: the automation
	KeyUID     string                   // of the creator
	PaidBy     []string                 // keys that pay for the run, besides the automation's own
	Envelope   string                   // what the prompt says about the event, after the automation's own; "": nothing
}

// automationRun creates the run that an automation starts for a cause.
func (s *Automations) automationRun(ctx context.Context, a store.AutomationRow, on Cause) (*store.NewRun, error) {
	t, err := s.ResolveAutomation(ctx, a)
	if err != nil {
		return nil, err
	}
	return t.Stamp(ctx, on)
}

// full returns why an event must not start a run, or "": its factory has as many open pull requests as the settings of
// the run allow. The run of a thread that has one of them may change it. subjectUID is the thread, "" if the run has a
// claim or none.
func (s *Automations) full(ctx context.Context, started *store.NewRun, subjectUID string) (string, error) {
	n, err := s.open.Ask(ctx, started.FactoryUID, func(ctx context.Context) (int64, error) {
		return s.store.Forges.CountOpen(ctx, started.Team, started.FactoryUID)
	})
	if err != nil {
		return "", err
	}
	why := run.WhyFull(started.RunRow, n)
	claim := ""
	if started.Claim != nil {
		claim = started.Claim.Key
	}
	if why == "" || subjectUID == "" && claim == "" {
		return why, nil
	}
	has, err := s.store.Forges.HasOpen(ctx, started.Team, started.FactoryUID, subjectUID, claim)
	if err != nil || has {
		return "", err
	}
	return why, nil
}

// byHand is the note in the prompt of a run that no event started.
const byHand = "Somebody started this run by hand. No event belongs to it, and there is no event-payload.json."

// Run starts a run of an automation without an event, even if the automation is disabled. An
// automation that is broken is a conflict.
func (s *Automations) Run(
	ctx context.Context, p penstock.Principal, factoryUID, uid string, source penstock.Source,
) (run.Created, error) {
	if err := access.Require(p, penstock.ScopeRunsWrite); err != nil {
		return run.Created{}, err
	}
	factory, err := s.store.Factories.Find(ctx, p.Team, factoryUID)
	if err != nil {
		return run.Created{}, err
	}
	row, err := s.store.Automations.Find(ctx, factory.UID, uid)
	if err != nil {
		return run.Created{}, err
	}
	started, err := s.automationRun(ctx, row, Cause{
		Source: source, At: penstock.Now(), Envelope: byHand, Creator: &p.Actor, KeyUID: p.KeyUID, PaidBy: p.Makers,
	})
	if why, broken := WhyBroken(err); broken {
		err = penstock.Errorf(penstock.CodeConflict, "the automation cannot start runs: %s", why)
	}
	if err != nil {
		return run.Created{}, err
	}
	warnings, err := s.catalog.Warnings(ctx, started)
	if err != nil {
		return run.Created{}, err
	}
	return access.Act(ctx, s.responses, p, func(tx *store.Tx) (run.Created, error) {
		full, err := tx.Runs().Create(ctx, started)
		return run.Created{
			ID: started.ID, TaskID: started.ID, State: started.State, AtCapacity: full,
			Outcome: run.CallStarted, Warnings: warnings,
		}, err
	})
}

// ResolveAutomation resolves the template of the automation's runs. If the automation is
// broken, it returns a *penstock.Error, and [WhyBroken] returns the reason.
func (s *Automations) ResolveAutomation(ctx context.Context, a store.AutomationRow) (*RunTemplate, error) {
	factory, err := s.store.Factories.Find(ctx, a.Team, a.FactoryUID)
	if err != nil {
		return nil, err
	}
	agent, err := agentOf(factory, a.Agent)
	if err != nil {
		return nil, err
	}
	title, err := penstock.ParseTitle(a.Title)
	if err != nil {
		return nil, penstock.Invalid("/title", "%s", err)
	}
	subject, err := penstock.ParseSubject(a.Subject)
	if err != nil {
		return nil, penstock.Invalid("/subject", "%s", err)
	}
	p := penstock.Principal{
		Team: a.Team, Actor: a.Actor(), Scopes: []penstock.Scope{penstock.ScopeRunsWrite}, Makers: a.PaidBy,
	}
	made, err := s.runs.New(
		ctx, p, penstock.RunRequest{Prompt: a.Prompt, Title: a.Name, AgentIdentityUID: agent}, run.Origin{Automation: &a},
	)
	if err != nil {
		return nil, asAutomation(err)
	}
	return &RunTemplate{*made, title, subject, a.SubjectRules, s.runs, s.catalog}, nil
}

// Stamp creates a run from the template. If a key that pays for the run brings a cap on costs, and the model has no
// price, it returns a *penstock.Error, and [WhyBroken] returns the reason.
func (t *RunTemplate) Stamp(ctx context.Context, on Cause) (*store.NewRun, error) {
	started := t.run
	started.ID, started.ConversationID = penstock.NewID(), penstock.NewID()
	started.RootID, started.CreatedAt, started.UpdatedAt = started.ID, on.At, on.At
	started.Source, started.Schedule, started.TriggerURL = on.Source, on.schedule, on.TriggerURL
	started.WebhookUID, started.DeliveryID = on.WebhookUID, on.DeliveryID
	if on.Creator != nil {
		started.Creator, started.KeyUID = on.Creator, on.KeyUID
	}
	started.Payers = penstock.MorePayers(started.Payers, on.PaidBy...)
	if on.Repository != nil {
		if err := t.catalog.WorkOn(ctx, &started, *on.Repository); err != nil {
			return nil, err
		}
	}
	if err := t.runs.CheckPrice(ctx, started.RunRow); err != nil {
		return nil, err
	}
	if on.Thread != nil {
		thread := *on.Thread
		if forge.Outputs(started.Config).Status != penstock.StatusComment {
			thread.Comment = store.NoComment
		}
		started.Thread = &thread
	}
	started.Metadata = run.Provenance(started.AutomationID, on.WebhookUID, on.DeliveryID)
	title := t.title.Title(func(path []string) string { return on.Payload.At(path).Scalar() })
	started.Title = cmp.Or(title, started.Title)
	if on.WebhookUID != "" {
		t.about(&started, on)
	}
	if on.Envelope != "" {
		started.Prompt += "\n\n" + on.Envelope
	}
	return &started, nil
}

// agentOf returns the UID of the automation's agent, or of the foreman if the automation names
// no agent.
func agentOf(factory store.FactoryRow, name string) (string, error) {
	if name == "" {
		return factory.ForemanUID, nil
	}
	var names []string
	for _, a := range factory.Agents {
		if strings.EqualFold(a.Name, name) {
			return a.UID, nil
		}
		names = append(names, a.Name)
	}
	return "", penstock.Invalid("/agent", "%s", request.Unknown("agent of this factory", name, names))
}

// overridePointers maps the fields of a run's request to the fields of an automation.
var overridePointers = map[string]string{
	"/config/model_id": "/model", "/config/runner_id": "/runner", "/agent_identity_uid": "/agent",
}

// asAutomation turns an error about a run's request into an error about the automation.
func asAutomation(err error) error {
	known, ok := errors.AsType[*penstock.Error](err)
	if !ok {
		return err
	}
	for i := range known.Fields {
		known.Fields[i].Pointer = overridePointer(known.Fields[i].Pointer)
	}
	return known
}

func overridePointer(pointer string) string {
	if own, ok := overridePointers[pointer]; ok {
		return own
	}
	return strings.TrimPrefix(pointer, "/config")
}

// WhyBroken returns why an automation cannot start runs, in words for people. ok is false if
// the automation is not at fault and the caller should retry.
func WhyBroken(err error) (reason string, ok bool) {
	known, ok := errors.AsType[*penstock.Error](err)
	if !ok || known.Code.OurFault() {
		return "", false
	}
	if known.Detail != "" {
		return known.Detail, true
	}
	var parts []string
	for _, f := range known.Fields {
		parts = append(parts, f.Detail)
	}
	return strings.Join(parts, "; "), true
}
