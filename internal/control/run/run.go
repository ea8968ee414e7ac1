package run

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"strings"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/access"
	"github.com/penstock-dev/penstock/internal/control/forge"
	"github.com/penstock-dev/penstock/internal/control/request"
	"github.com/penstock-dev/penstock/internal/control/store"
)

// MaxDepth is how many runs can be above a run.
const MaxDepth = 8

// The paths in the workspace of the delivery's JSON, and of its body as it was sent if that is not
// JSON.
const (
	PayloadPath    = "event-payload.json"
	RawPayloadPath = "event-payload.raw"
)

// The ids under which a worker opens the payload.
const (
	PayloadFile    = "payload"
	RawPayloadFile = "payload-raw"
)

// PayloadOf returns the payload files of a run that a delivery started. raw is the size of the body
// as it was sent; 0 means that it is the JSON.
func PayloadOf(size, raw int64) []penstock.File {
	files := []penstock.File{{ID: PayloadFile, Path: PayloadPath, MimeType: "application/json", Size: size}}
	if raw > 0 {
		files = append(
			files, penstock.File{ID: RawPayloadFile, Path: RawPayloadPath, MimeType: "application/octet-stream", Size: raw},
		)
	}
	return files
}

// The longest texts of a request, in bytes.
const (
	maxPrompt = 1 << 20
	maxTitle  = 500
)

// Origin says what created a run, besides the request.
type Origin struct {
	Source     penstock.Source
	Schedule   *penstock.RunSchedule
	Automation *store.AutomationRow
	TriggerURL string
	Forked     *store.RunRow    // from which the run is forked; nil: none
	Attempt    *penstock.Config // replaces values of the request's configuration; nil: none
}

// Create stores a run and its place in the queue, or the runs of a request for attempts. They are durable
// when it returns.
func (s *Runs) Create(
	ctx context.Context, p penstock.Principal, req penstock.RunRequest, source penstock.Source,
) (Created, error) {
	if req.Attempts != nil || req.Configs != nil {
		return attempts{s, p, req, source}.create(ctx)
	}
	run, err := s.New(ctx, p, req, Origin{Source: source})
	if err != nil {
		return Created{}, err
	}
	created := Created{ID: run.ID, TaskID: run.ID, State: run.State, Outcome: CallStarted}
	if created.Warnings, err = s.catalog.Warnings(ctx, run); err != nil {
		return Created{}, err
	}
	Call{
		SubjectCall: store.SubjectCall{Caller: p, Request: req, Source: source},
		Kind:        store.OccurrenceCall, Scope: "principal " + p.Actor.UID, Subject: req.Subject, WhenBusy: req.WhenBusy,
	}.About(run)
	if run.Claim != nil {
		return StartOn(ctx, s, p, run, func(c Called) Created {
			created.ID, created.TaskID, created.State = c.RunID, c.RunID, c.State
			created.AtCapacity, created.Outcome = c.AtCapacity, c.Outcome
			return created
		})
	}
	if _, wanted := ctx.Value(access.IdempotencyKey{}).(access.Idempotency); wanted {
		// All possible responses are encrypted before the commit.
		kept := map[store.Created]*store.KeptResponse{}
		for _, state := range store.CreatedStates() {
			for _, full := range []bool{false, true} {
				created.State, created.AtCapacity = state, full
				if kept[store.Created{State: state, AtCapacity: full}], err = s.responses.Encode(ctx, p, created); err != nil {
					return Created{}, err
				}
			}
		}
		run.Keep = func(as store.Created) *store.KeptResponse { return kept[as] }
	}
	if err := s.files.putAttachments(ctx, run, req.Attachments); err != nil {
		return Created{}, err
	}
	if !run.Continues {
		created.AtCapacity, err = s.store.Runs.Create(ctx, run)
	} else {
		created.AtCapacity, err = s.continueConversation(ctx, p, run)
	}
	if err != nil {
		s.files.DropRejected(ctx, err, attached(run.Attachments)...)
		return Created{}, err
	}
	created.State = run.State
	return created, nil
}

// New checks a request and resolves everything that a run stores. It writes nothing.
func (s *Runs) New(
	ctx context.Context, p penstock.Principal, req penstock.RunRequest, from Origin,
) (*store.NewRun, error) {
	if err := access.Require(p, penstock.ScopeRunsWrite); err != nil {
		return nil, err
	}
	req.Config = cmp.Or(req.Config, &penstock.Config{})
	if req.Skill != "" {
		config := *req.Config
		config.SkillSpec, req.Config = req.Skill, &config
	}
	checked := req
	if from.Attempt != nil {
		checked.Config = from.Attempt.Over(req.Config)
	}
	if errs := s.checkRequest(checked); errs != nil {
		return nil, penstock.InvalidFields(errs...)
	}
	if err := access.MayName(p, "/config", checked.Config); err != nil {
		return nil, err
	}
	id, now := penstock.NewID(), penstock.Now()
	run := &store.NewRun{RunRow: store.RunRow{
		Run: penstock.Run{
			ID: id, RootID: id, ConversationID: penstock.NewID(), State: penstock.StateQueued, ExecutionID: 1,
			Prompt: req.Prompt,
			Mode:   req.Mode, Interactive: req.Interactive != nil && *req.Interactive, CreatedAt: now, UpdatedAt: now,
			Source: from.Source, Schedule: from.Schedule, TriggerURL: from.TriggerURL, Creator: &p.Actor, Executor: &p.Actor,
			Metadata: req.Metadata,
		},
		Team: p.Team, Personal: req.Team != nil && !*req.Team, KeyUID: p.KeyUID, Payers: p.Makers,
	}}
	if from.Automation != nil {
		run.AutomationID, run.OnHollow = from.Automation.UID, from.Automation.OnHollow
	}
	for _, step := range []func(context.Context, penstock.Principal, penstock.RunRequest, *store.NewRun) error{
		s.setParent, s.setConversation, s.configFrom(from), s.setExecutor, s.checkPrice,
	} {
		if err := step(ctx, p, req, run); err != nil {
			return nil, err
		}
	}
	run.Title = title(req.Title, req.Prompt, run)
	return run, nil
}

func title(given, prompt string, run *store.NewRun) string {
	if given = strings.TrimSpace(given); given != "" {
		return given
	}
	return cmp.Or(penstock.DeriveTitle(prompt), run.Config.Name, "Untitled run")
}

// checkRequest returns all errors that the request alone shows.
func (s *Runs) checkRequest(req penstock.RunRequest) []penstock.FieldError {
	var errs []penstock.FieldError
	bad := func(pointer, format string, args ...any) {
		errs = append(errs, penstock.FieldError{Pointer: pointer, Detail: fmt.Sprintf(format, args...)})
	}
	if strings.TrimSpace(req.Prompt) == "" && req.Config.SkillSpec == "" && len(req.Config.Skills) == 0 &&
		req.ConversationID == "" {
		bad("/prompt", "is required unless skill, config.skill_spec, config.skills or conversation_id is given")
	}
	request.Text(bad, "/prompt", req.Prompt, maxPrompt)
	request.Text(bad, "/title", req.Title, maxTitle)
	if !req.Mode.Valid() {
		bad("/mode", "must be normal, plan or orchestrate")
	}
	if req.ConversationID != "" && !penstock.ValidID(req.ConversationID) {
		bad("/conversation_id", "is not a valid conversation id")
	}
	if req.ParentID != "" && !penstock.ValidID(req.ParentID) {
		bad("/parent_run_id", "is not a valid run id")
	}
	errs = append(errs, checkSubject(req)...)
	errs = append(errs, CheckMetadata(req.Metadata)...)
	errs = append(errs, checkProvenance(req.Metadata)...)
	errs = append(errs, checkAttachments(req.Attachments)...)
	errs = append(errs, req.Config.Check("/config", s.harnesses)...)
	errs = append(errs, s.catalog.CheckRepositories("/config/repositories", req.Config.Repositories)...)
	if req.Skill != "" { // the configuration has it now
		for i := range errs {
			if errs[i].Pointer == "/config/skill_spec" {
				errs[i].Pointer = "/skill"
			}
		}
	}
	return errs
}

// setParent sets the parent of the run, and inherits its metadata.
func (s *Runs) setParent(ctx context.Context, p penstock.Principal, req penstock.RunRequest, run *store.NewRun) error {
	if req.ParentID == "" {
		return nil
	}
	parent, err := s.visibleRun(ctx, p, req.ParentID)
	if penstock.CodeOf(err) == penstock.CodeNotFound {
		return penstock.Invalid("/parent_run_id", "there is no run %q", req.ParentID)
	}
	if err != nil {
		return err
	}
	if parent.Depth+1 > MaxDepth {
		return penstock.Invalid(
			"/parent_run_id", "the run would be %d levels deep; at most %d are allowed", parent.Depth+1, MaxDepth,
		)
	}
	if run.Ancestors, err = s.store.Runs.Ancestors(ctx, parent.ID); err != nil {
		return err
	}
	run.ParentID, run.RootID, run.Depth = parent.ID, parent.RootID, parent.Depth+1
	if parent.Network != nil {
		run.ParentNetwork = parent.Network.Request
	}
	run.ParentPush, run.ParentOutputs = new(forge.Push(parent.Config)), new(forge.Outputs(parent.Config))
	run.Ancestors, run.Inherited = append(run.Ancestors, parent.ID), parent.Bequeath()
	merged, err := s.inherited(ctx, parent)
	if err != nil {
		return err
	}
	maps.Copy(merged, req.Metadata)
	if len(merged) > MaxMetadataKeys {
		return penstock.Invalid(
			"/metadata", "has %d keys together with those of the parent run; at most %d are allowed", len(merged),
			MaxMetadataKeys,
		)
	}
	run.Metadata = merged
	return nil
}

// inherited returns the metadata that a child inherits from its parent. The metadata about the
// trigger of the root comes from the root's own row, never from a value that a caller may have set.
func (s *Runs) inherited(ctx context.Context, parent store.RunRow) (map[string]string, error) {
	metadata, started := map[string]string{}, false
	for key, value := range parent.Metadata {
		if isProvenance(key) {
			started = true
			continue
		}
		metadata[key] = value
	}
	if !started {
		return metadata, nil
	}
	root := parent
	if parent.RootID != parent.ID {
		var err error
		root, err = s.store.Runs.Find(ctx, parent.Team, parent.RootID)
		if penstock.CodeOf(err) == penstock.CodeNotFound { // it is no longer kept
			return metadata, nil
		}
		if err != nil {
			return nil, err
		}
	}
	maps.Copy(metadata, Provenance(root.AutomationID, root.WebhookUID, root.DeliveryID))
	return metadata, nil
}

// setConversation continues the conversation that the request names.
func (s *Runs) setConversation(
	ctx context.Context, p penstock.Principal, req penstock.RunRequest, run *store.NewRun,
) error {
	if req.ConversationID == "" {
		return nil
	}
	// This includes all runs: the run takes over the saved session of the newest one.
	last, err := s.store.Conversations.Run(ctx, store.Viewer{Team: p.Team, All: true}, req.ConversationID)
	if penstock.CodeOf(err) == penstock.CodeNotFound || err == nil && !sees(p, last) {
		return penstock.Invalid("/conversation_id", "there is no conversation %q", req.ConversationID)
	}
	if err != nil {
		return err
	}
	run.ConversationID, run.Continues = req.ConversationID, true
	return nil
}

// continueConversation stores a run that continues a conversation of other runs. It is a
// conflict while another run of the conversation is active.
func (s *Runs) continueConversation(
	ctx context.Context, p penstock.Principal, run *store.NewRun,
) (atCapacity bool, err error) {
	err = s.store.Write(ctx, func(tx *store.Tx) error {
		floor, err := tx.Conversations().Enter(ctx, run.ConversationID, speaks(p))
		if err != nil {
			return err
		}
		if floor.Talking != "" {
			return errConversationBusy(floor.Talking)
		}
		atCapacity, err = tx.Runs().Continue(ctx, floor, run)
		return err
	})
	if s.responses.LostRace(ctx, p, err) {
		err = access.ErrReplay
	}
	return atCapacity, err
}

func errConversationBusy(runID string) error {
	return &penstock.Error{
		Code: penstock.CodeConflict, Retryable: true,
		Detail: fmt.Sprintf("run %s is still active in this conversation; send it a follow-up instead", runID),
	}
}

// setExecutor honors on_behalf_of.
func (s *Runs) setExecutor(
	ctx context.Context, p penstock.Principal, req penstock.RunRequest, run *store.NewRun,
) error {
	if req.OnBehalfOf == "" {
		return nil
	}
	allowed := p.May(penstock.ScopeAdmin)
	if !allowed && p.AgentUID != "" {
		agent, err := s.store.Identities.Find(ctx, p.Team, p.AgentUID)
		if err != nil {
			return err
		}
		allowed = agent.OnBehalfOfEnabled
	}
	if !allowed {
		return penstock.Errorf(
			penstock.CodeNotAuthorized,
			"on_behalf_of needs an admin's key, or the key of an agent that has on_behalf_of_enabled",
		)
	}
	person, err := s.store.Keys.Principal(ctx, p.Team, req.OnBehalfOf)
	if penstock.CodeOf(err) == penstock.CodeNotFound {
		return penstock.Invalid("/on_behalf_of", "this team has no member with the uid %q", req.OnBehalfOf)
	}
	run.Executor = &person
	return err
}
