package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/access"
	"github.com/penstock-dev/penstock/internal/control/forge"
	"github.com/penstock-dev/penstock/internal/control/request"
	"github.com/penstock-dev/penstock/internal/control/share"
	"github.com/penstock-dev/penstock/internal/control/store"
	"github.com/penstock-dev/penstock/internal/supply/git"
	"github.com/penstock-dev/penstock/internal/supply/secret"
)

// Outputs are what agents declare to be done on forges.
type Outputs struct {
	runs      *Runs
	forges    *forge.Connections
	responses *access.Responses
	log       *slog.Logger
	pause     time.Duration // between two outputs of a connection

	sending share.Singly // by connection
}

// OutputRequest declares an output.
type OutputRequest struct {
	Kind       penstock.OutputKind `json:"kind"`
	Repository string              `json:"repository,omitempty"` // owner/name; needed if the run has several
	Title      string              `json:"title,omitempty"`
	Body       string              `json:"body,omitempty"`
	Branch     string              `json:"branch,omitempty"` // the last one that the run has pushed when absent
	Base       string              `json:"base,omitempty"`
	Draft      *bool               `json:"draft,omitempty"` // as the settings of the run say when absent
}

// OutputList is what lists of outputs return.
type OutputList struct {
	Outputs []penstock.Output `json:"outputs"`
}

// Limits of outputs.
const (
	maxOutputTitle = 255
	maxOutputBody  = 64 << 10
	maxOutputList  = 200
	maxOutputRead  = 10 * maxOutputList // with the outputs of runs that the caller cannot see
	maxRefusals    = 3                  // of a forge, one after the other, until an output fails
)

// Declare stores an output of a run's agent. It is done after the turn, if the turn ends well. Only the key of an
// execution can declare, for its own run, while a turn is in progress.
func (s *Outputs) Declare(
	ctx context.Context, p penstock.Principal, runID string, req OutputRequest,
) (penstock.Output, error) {
	run, err := s.runs.visibleRun(ctx, p, runID)
	if err != nil {
		return penstock.Output{}, err
	}
	if p.RunID == "" {
		return penstock.Output{}, penstock.Errorf(penstock.CodeNotAuthorized,
			"only the agent of a run declares outputs, from its sandbox")
	}
	mask, err := s.runs.files.secrets.MaskOf(ctx, run)
	if err != nil {
		return penstock.Output{}, err
	}
	if errs := checkOutput(&req, mask); errs != nil {
		return penstock.Output{}, penstock.InvalidFields(errs...)
	}
	row, err := s.aim(ctx, run, req)
	if err != nil {
		return penstock.Output{}, err
	}
	return access.Act(ctx, s.responses, p, func(tx *store.Tx) (penstock.Output, error) {
		err := addOutput(ctx, tx, p.Execution, &row, forge.Outputs(run.Config))
		return row.Output, err
	})
}

// aim returns the output that a request means: its repository and branch.
func (s *Outputs) aim(ctx context.Context, run store.RunRow, req OutputRequest) (store.OutputRow, error) {
	to, detail, err := s.forges.Target(ctx, forgeUse(run), run.Config.Repositories, req.Repository)
	if err != nil {
		return store.OutputRow{}, err
	}
	if detail != "" {
		return store.OutputRow{}, penstock.Invalid("/repository", "%s", detail)
	}
	now := penstock.Now()
	row := store.OutputRow{
		Team: run.Team, Connection: to.ForgeUID, Owner: branchOwner(run), Repository: strings.ToLower(to.URL),
		Output: penstock.Output{
			UID: penstock.NewID(), RunID: run.ID, Kind: req.Kind, State: penstock.OutputDeclared,
			Target:    penstock.OutputTarget{Connection: to.Connection, Repository: to.Path},
			Payload:   penstock.OutputPayload{Title: req.Title, Body: req.Body},
			CreatedAt: now, UpdatedAt: now,
		},
	}
	if req.Kind != penstock.OutputPullRequest {
		return row, nil
	}
	pushed, err := s.runs.store.Forges.BranchesOf(ctx, store.BranchOwner{
		Team: run.Team, Repository: to.URL, Owner: row.Owner,
	})
	if err != nil {
		return row, err
	}
	branch := cmp.Or(req.Branch, append(pushed, "")[0])
	switch {
	case branch == "":
		return row, penstock.Errorf(penstock.CodeConflict,
			"the run has pushed no branch to %s: push one first, with git push", to.Path)
	case !slices.Contains(pushed, branch):
		return row, penstock.Invalid("/branch", "must be a branch that the run has pushed to %s: %s", to.Path,
			cmp.Or(strings.Join(pushed, ", "), "there are no such branches yet"))
	}
	if req.Base == branch {
		return row, penstock.Invalid("/base", "must be another branch than the one that is pushed")
	}
	policy := forge.Outputs(run.Config)
	if detail := s.forges.CheckBase(ctx, run.Team, to, policy, req.Base); detail != "" {
		return row, penstock.Invalid("/base", "%s", detail)
	}
	draft := policy.Draft
	if req.Draft != nil {
		draft = *req.Draft
	}
	row.Payload.Branch, row.Payload.Base, row.Payload.Draft = branch, req.Base, &draft
	return row, nil
}

// addOutput stores an output for the turn in progress, if the policy of the run allows one more.
func addOutput(
	ctx context.Context, tx *store.Tx, execution int, row *store.OutputRow, policy penstock.OutputPolicy,
) error {
	run, err := tx.Runs().Lock(ctx, row.RunID)
	if err != nil {
		return err
	}
	prompt := run.ID
	if run.PromptState != store.PromptDelivering {
		delivering, err := tx.Followups().List(ctx, run.ID, store.PromptDelivering)
		if err != nil {
			return err
		}
		prompt = ""
		for _, f := range delivering {
			prompt = f.ID
		}
	}
	if run.State != penstock.StateInProgress || prompt == "" || run.ExecutionID != execution {
		return penstock.Errorf(penstock.CodeConflict, "an output can only be declared while a turn is in progress")
	}
	if row.Turn, err = tx.Files().Turn(ctx, run.ID, prompt); err != nil {
		return err
	}
	if err := checkLimits(ctx, tx, *row, policy); err != nil {
		return err
	}
	if err := checkOpen(ctx, tx, run, *row, policy); err != nil {
		return err
	}
	if err := tx.Forges().AddOutput(ctx, *row); err != nil {
		return err
	}
	return tx.Events().Append(ctx, run.ID, row.Event(row.CreatedAt))
}

// checkLimits returns an error if the turn can declare no more outputs of a kind.
func checkLimits(ctx context.Context, tx *store.Tx, row store.OutputRow, policy penstock.OutputPolicy) error {
	n, all, err := tx.Forges().CountOutputs(ctx, row.RunID, row.Turn, row.Kind)
	limit := policy.Limits.Of(row.Kind)
	switch {
	case err != nil:
		return err
	case limit == 0:
		return penstock.Errorf(penstock.CodeConflict,
			"the settings of the run (forge.outputs.limits) allow no outputs of the kind %s", row.Kind)
	case n >= limit:
		return penstock.Errorf(penstock.CodeConflict, "the turn has declared %d outputs of the kind %s already, the maximum",
			n, row.Kind)
	case all >= penstock.MaxOutputs:
		return penstock.Errorf(penstock.CodeConflict, "the turn has declared %d outputs already, the maximum", all)
	}
	return nil
}

// checkOpen returns an error if a pull request would be one more than may be open of the factory. A thread may always
// change its own.
func checkOpen(
	ctx context.Context, tx *store.Tx, run store.RunRow, row store.OutputRow, policy penstock.OutputPolicy,
) error {
	if row.Kind != penstock.OutputPullRequest || run.FactoryUID == "" {
		return nil
	}
	own, err := tx.Forges().ThreadHasOpen(ctx, store.BranchOwner{
		Team: row.Team, Repository: row.Repository, Owner: row.Owner,
	}, row.Payload.Base)
	if err != nil || own {
		return err
	}
	n, err := tx.Forges().CountOpen(ctx, row.Team, run.FactoryUID)
	if err == nil && n >= policy.OpenLimit {
		err = penstock.Errorf(penstock.CodeConflict, "%s. Ask for one to be merged or closed", fullSentence(n, policy))
	}
	return err
}

func fullSentence(n int64, policy penstock.OutputPolicy) string {
	return fmt.Sprintf("the factory has reached its limit of open pull requests: %d of %d are open or wait to be opened "+
		"(forge.outputs.pullRequest.openLimit)", n, policy.OpenLimit)
}

// WhyFull returns why an event must not start a run of a factory which has n pull requests that are open or wait to
// be opened, or "". A run that can open none needs no place.
func WhyFull(run store.RunRow, n int64) string {
	policy := forge.Outputs(run.Config)
	if policy.Limits.PullRequest == 0 || n < policy.OpenLimit {
		return ""
	}
	return "It starts no run: " + fullSentence(n, policy) + "."
}

// checkOutput checks a request by itself, and masks its texts.
func checkOutput(req *OutputRequest, mask *secret.Masker) (errs []penstock.FieldError) {
	bad := func(pointer, format string, args ...any) {
		errs = append(errs, penstock.FieldError{Pointer: pointer, Detail: fmt.Sprintf(format, args...)})
	}
	request.Text(bad, "/title", req.Title, maxOutputTitle)
	request.Text(bad, "/body", req.Body, maxOutputBody)
	if errs != nil {
		return errs
	}
	noTitle, noBody := checkPublished(bad, "/title", &req.Title, mask), checkPublished(bad, "/body", &req.Body, mask)
	switch req.Kind {
	case penstock.OutputPullRequest:
		if noTitle || strings.ContainsFunc(req.Title, unicode.IsControl) {
			bad("/title", "is required for a pull request, in one line")
		}
		for pointer, name := range map[string]string{"/branch": req.Branch, "/base": req.Base} {
			if name != "" && (len(name) > maxOutputTitle || git.CheckRef(name) != nil) {
				bad(pointer, "must be the name of a branch")
			}
		}
	case penstock.OutputComment:
		if noBody {
			bad("/body", "is required for a comment")
		}
		for pointer, given := range map[string]bool{
			"/title": req.Title != "", "/branch": req.Branch != "", "/base": req.Base != "", "/draft": req.Draft != nil,
		} {
			if given {
				bad(pointer, "is only for a pull request")
			}
		}
	default:
		bad("/kind", "must be one of %s", request.Enumerated(penstock.OutputKinds()))
	}
	return errs
}

// checkPublished masks a text, and checks it as people will read it. It returns whether it is empty then.
func checkPublished(
	bad func(pointer, format string, args ...any), pointer string, text *string, mask *secret.Masker,
) (empty bool) {
	plain := forge.Plain(*text)
	if found := cmp.Or(secret.FindCredential(*text), secret.FindCredential(plain)); found != "" {
		bad(pointer, "has %s: leave it out", found)
	}
	if masked := mask.String(*text); masked != *text {
		*text, plain = masked, forge.Plain(masked)
	}
	if mask.Found(plain) {
		bad(pointer, "has a secret of the run, in parts: leave it out")
	}
	return strings.TrimSpace(plain) == ""
}

// decideOutputs says, at the end of a turn, what happens to its outputs. A person releases the outputs of a fork,
// because the forks of a run do the same work, and all outputs if the settings of the run say so.
func decideOutputs(ctx context.Context, tx *store.Tx, run store.RunRow, r penstock.Result) error {
	list, err := tx.Forges().Undecided(ctx, run.ID)
	if err != nil || len(list) == 0 {
		return err
	}
	interrupted, err := tx.Executions().Interrupted(ctx, run.ID)
	if err != nil {
		return err
	}
	now := penstock.Now()
	if r.State != penstock.StateSucceeded && (r.State != penstock.StateBlocked || interrupted) {
		discarded, err := tx.Forges().DiscardOutputs(ctx, run.ID, false, now)
		if err != nil {
			return err
		}
		return tx.Events().Append(ctx, run.ID, discarded...)
	}
	// A comment is about the pull request of its turn.
	slices.SortStableFunc(list, func(a, b store.OutputRow) int {
		return cmp.Compare(slices.Index(penstock.OutputKinds(), a.Kind), slices.Index(penstock.OutputKinds(), b.Kind))
	})
	var held []penstock.Draft
	hold := run.ForkedFrom != nil || forge.Outputs(run.Config).Approval == penstock.ApprovalAlways
	for i, row := range list {
		if hold {
			row.State = penstock.OutputHeld
			held = append(held, row.Event(now))
		} else {
			row.State, row.QueuedAt, row.DueAt = penstock.OutputQueued, now+penstock.Time(i), now
		}
		if _, err := tx.Forges().ChangeOutput(ctx, row, penstock.OutputDeclared, ""); err != nil {
			return err
		}
	}
	if held == nil {
		return nil
	}
	return tx.Events().Append(ctx, run.ID, held...)
}

// OfRun lists the outputs of a run in the order in which they were declared.
func (s *Outputs) OfRun(ctx context.Context, p penstock.Principal, runID string) (OutputList, error) {
	run, err := s.runs.readableRun(ctx, p, runID)
	if err != nil {
		return OutputList{}, err
	}
	rows, err := s.runs.store.Forges.OutputsOf(ctx, run.ID)
	return listed(rows), err
}

// In lists the oldest outputs of the team in a state. It leaves out runs that the caller cannot see.
func (s *Outputs) In(ctx context.Context, p penstock.Principal, state penstock.OutputState) (OutputList, error) {
	if err := access.Require(p, penstock.ScopeRunsRead); err != nil {
		return OutputList{}, err
	}
	rows, err := s.runs.store.Forges.OutputsIn(ctx, p.Team, state, maxOutputRead)
	if err != nil {
		return OutputList{}, err
	}
	visible := rows[:0]
	for _, row := range rows {
		if len(visible) == maxOutputList {
			break
		}
		_, err := s.runs.visibleRun(ctx, p, row.RunID)
		if err != nil && penstock.CodeOf(err) != penstock.CodeNotFound {
			return OutputList{}, err
		}
		if err == nil {
			visible = append(visible, row)
		}
	}
	return listed(visible), nil
}

func listed(rows []store.OutputRow) OutputList {
	list := OutputList{Outputs: make([]penstock.Output, len(rows))}
	for i, row := range rows {
		list.Outputs[i] = row.Output
	}
	return list
}

// Approve releases an output that is held.
func (s *Outputs) Approve(ctx context.Context, p penstock.Principal, uid string) (penstock.Output, error) {
	held := []penstock.OutputState{penstock.OutputHeld}
	return s.decide(ctx, p, uid, held, func(row *store.OutputRow) {
		now := penstock.Now()
		row.State, row.QueuedAt, row.DueAt = penstock.OutputQueued, now, now
	})
}

// Reject discards an output that is held, or that waits for its forge.
func (s *Outputs) Reject(ctx context.Context, p penstock.Principal, uid string) (penstock.Output, error) {
	waiting := []penstock.OutputState{penstock.OutputHeld, penstock.OutputQueued}
	return s.decide(ctx, p, uid, waiting, func(row *store.OutputRow) {
		row.State, row.Problem = penstock.OutputDiscarded, "A person rejected it."
	})
}

func (s *Outputs) decide(
	ctx context.Context, p penstock.Principal, uid string, from []penstock.OutputState, set func(*store.OutputRow),
) (penstock.Output, error) {
	if err := access.RefuseAgent(p, "release outputs"); err != nil {
		return penstock.Output{}, err
	}
	row, err := s.runs.store.Forges.Output(ctx, p.Team, uid)
	if err != nil {
		return penstock.Output{}, err
	}
	if _, err := s.runs.writableRun(ctx, p, row.RunID); err != nil {
		if penstock.CodeOf(err) == penstock.CodeNotFound {
			err = penstock.NotFound("output", uid)
		}
		return penstock.Output{}, err
	}
	before := row.State
	set(&row)
	return access.Act(ctx, s.responses, p, func(tx *store.Tx) (penstock.Output, error) {
		if _, err := tx.Runs().Lock(ctx, row.RunID); err != nil {
			return penstock.Output{}, err
		}
		if !slices.Contains(from, before) {
			return penstock.Output{}, penstock.Errorf(penstock.CodeConflict, "the output is %s already", before)
		}
		changed, err := tx.Forges().ChangeOutput(ctx, row, before, "")
		if err != nil {
			return penstock.Output{}, err
		}
		if !changed {
			return penstock.Output{}, penstock.Errorf(penstock.CodeConflict, "the output is being done now")
		}
		event := row.Event(penstock.Now())
		if row.State == penstock.OutputQueued {
			event = penstock.Timeline(penstock.Now(), timelineOutputApproved, map[string]any{
				"output_uid": row.UID, "kind": row.Kind, "by": p.Actor.UID,
			})
		}
		return row.Output, tx.Events().Append(ctx, row.RunID, event)
	})
}

// How outputs are done.
const (
	outputLease  = 3 * time.Minute // longer than a try takes
	outputTry    = 90 * time.Second
	outputPause  = time.Second
	minWait      = time.Minute // after a try that a later one may repeat
	maxWait      = time.Hour
	outputsGiven = 3 * 24 * time.Hour // how long an output is tried
)

// DoDue does the outputs that are due, and lets threads say how their runs are, for each connection one after the
// other.
func (s *Outputs) DoDue(ctx context.Context) error {
	now := penstock.Now()
	due, err := s.runs.store.Forges.DueForges(ctx, now)
	if err != nil {
		return err
	}
	threads, err := s.runs.store.Forges.ThreadForges(ctx, now)
	if err != nil {
		return err
	}
	due = append(due, threads...)
	slices.Sort(due)
	for _, connection := range slices.Compact(due) {
		s.sending.Do(connection, func() error { return s.doAll(ctx, connection) })
	}
	return nil
}

// Wait returns when no output is being done any more.
func (s *Outputs) Wait() { s.sending.Wait() }

// doAll does the outputs of a connection until none is due.
func (s *Outputs) doAll(ctx context.Context, connection string) error {
	for {
		now := penstock.Now()
		row, found, err := s.runs.store.Forges.ClaimOutput(ctx, connection, now, now.Add(outputLease))
		if err == nil && found {
			err = s.do(ctx, row)
		}
		if err != nil && ctx.Err() == nil {
			s.log.Error("cannot do an output; trying again", "connection_uid", connection, "output_uid", row.UID, "error", err)
		}
		if err == nil && !found {
			found, err = s.answerNext(ctx, connection, now)
		}
		asked := found
		if err == nil && !found {
			found, asked, err = s.showNext(ctx, connection, now)
		}
		if err != nil || !found {
			return err
		}
		if asked {
			if err := share.Pause(ctx, s.pause); err != nil {
				return err
			}
		}
	}
}

// do does a claimed output once, and stores what has come of it.
func (s *Outputs) do(ctx context.Context, row store.OutputRow) error {
	run, err := s.runs.store.Runs.Find(ctx, row.Team, row.RunID)
	if err != nil {
		return err
	}
	label, err := s.label(ctx, run)
	if err != nil {
		return err
	}
	policy := forge.Outputs(run.Config)
	try, cancel := context.WithTimeout(ctx, outputTry)
	defer cancel()
	result, err := s.forges.Publish(try, forge.Publication{
		Use: forgeUse(run), Row: row, Repositories: run.Config.Repositories, Policy: policy,
		Labels: labelsOf(label, policy),
		Link:   s.linkOf(run), Requester: run.Creator.DisplayName, Cost: run.Consumed.Cost,
	})
	if err != nil {
		return err
	}
	lease := row.Lease
	now := penstock.Now()
	first := row.Problem == ""
	row.Lease, row.Problem = "", result.Problem
	row.URL, row.Target.PullRequest = result.URL, result.Number
	if row.Refused++; !result.Refused {
		row.Refused = 0
	}
	switch {
	case result.Done:
		row.State = penstock.OutputDone
	case result.Failed || row.Refused >= maxRefusals || now > row.QueuedAt.Add(outputsGiven):
		row.State = penstock.OutputFailed
	default:
		row.DueAt = retryAt(row.Tries, result.Wait)
	}
	// What has happened on the forge is stored also if the server is being stopped.
	ctx, done := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer done()
	recorded, err := s.isRecorded(ctx, row)
	if err := errors.Join(err, s.postpone(ctx, row.Connection, result.Wait)); err != nil {
		return err
	}
	return s.runs.store.Write(ctx, func(tx *store.Tx) error {
		if _, err := tx.Runs().Lock(ctx, row.RunID); err != nil {
			return err
		}
		if ours, err := tx.Forges().ChangeOutput(ctx, row, penstock.OutputQueued, lease); err != nil || !ours {
			return err
		}
		if result.PullRequest != nil {
			err := tx.Forges().SetPullRequest(ctx, *result.PullRequest)
			if err == nil && !recorded {
				err = s.recordPullRequest(ctx, tx, row, result.Draft)
			}
			if err != nil {
				return err
			}
		}
		if row.State == penstock.OutputQueued && !first {
			return nil
		}
		return tx.Events().Append(ctx, row.RunID, row.Event(now))
	})
}

// labelsOf lists the labels of a new pull request: the one of the factory, and others, each once.
func labelsOf(factory string, policy penstock.OutputPolicy) []string {
	var list []string
	if factory != "" {
		list = append(list, factory)
	}
	for _, label := range policy.Labels {
		if !strings.EqualFold(label, factory) {
			list = append(list, label)
		}
	}
	return list
}

// label returns the label of a factory's pull requests, "" if the run has no factory.
func (s *Outputs) label(ctx context.Context, run store.RunRow) (string, error) {
	if run.FactoryUID == "" {
		return "", nil
	}
	f, err := s.runs.store.Factories.Part(ctx, run.Team, run.FactoryUID)
	if err != nil {
		if penstock.CodeOf(err) == penstock.CodeNotFound {
			return "", nil
		}
		return "", err
	}
	return "factory:" + cmp.Or(f.Alias, f.Name), nil
}

// recordPullRequest adds the pull request to the artifacts of the run, once, if there is room.
func (s *Outputs) recordPullRequest(ctx context.Context, tx *store.Tx, row store.OutputRow, draft bool) error {
	n, _, err := tx.Files().ArtifactTotals(ctx, row.RunID)
	if err != nil || n >= maxArtifacts {
		return err
	}
	status := "open"
	if draft {
		status = "draft"
	}
	_, err = recordArtifact(ctx, tx, store.Artifact{
		UID: row.UID, RunID: row.RunID, Team: row.Team, Type: penstock.ArtifactPullRequest, CreatedAt: penstock.Now(),
		Data: penstock.ArtifactData{
			URL: row.URL, Branch: row.Payload.Branch, Title: row.Payload.Title, Status: status, Observed: new(true),
		},
	})
	return err
}

// isRecorded reports whether an artifact of the run shows the pull request as one that Penstock has seen.
func (s *Outputs) isRecorded(ctx context.Context, row store.OutputRow) (bool, error) {
	list, err := s.runs.store.Files.Artifacts(ctx, []string{row.RunID})
	return slices.ContainsFunc(list, func(a store.Artifact) bool {
		return a.Data.URL == row.URL && a.Data.Observed != nil && *a.Data.Observed
	}), err
}
