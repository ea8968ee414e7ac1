package run

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/access"
	"github.com/penstock-dev/penstock/internal/control/request"
	"github.com/penstock-dev/penstock/internal/control/store"
)

// Turns are what callers do with the turns of runs whose files are kept.
type Turns struct{ runs *Runs }

// ForkRequest begins new runs with the files and the conversation of a turn.
type ForkRequest struct {
	Turn   *int64           `json:"turn,omitempty"` // nil: the last one that ended
	Prompt string           `json:"prompt"`
	Count  int              `json:"count,omitempty"`  // 1 when absent
	Config *penstock.Config `json:"config,omitempty"` // replaces values of the run's configuration
	Title  string           `json:"title,omitempty"`
}

// Forked is the response to a ForkRequest.
type Forked struct {
	ForkGroup string               `json:"fork_group"`
	Runs      []penstock.ForkedRun `json:"runs"`
}

// maxForks limits the runs of one request.
const maxForks = 10

// Fork begins new runs with the files and the conversation of a turn of a run. The runs have the
// configuration of the run, resolved for the caller: the caller must have every right that it needs,
// because the files may hold what the run was granted. A turn whose files are not kept is a conflict.
func (s *Turns) Fork(ctx context.Context, p penstock.Principal, id string, req ForkRequest) (Forked, error) {
	source, err := s.runs.writableRun(ctx, p, id)
	if err != nil {
		return Forked{}, err
	}
	if err := checkFork(&req); err != nil {
		return Forked{}, err
	}
	if err := mayFork(p, source); err != nil {
		return Forked{}, err
	}
	group, err := newGroup(req.Count, func(int) (*store.NewRun, error) {
		return s.runs.New(ctx, p, penstock.RunRequest{
			Prompt: req.Prompt, Title: cmp.Or(req.Title, source.Title), Config: req.Config, AgentIdentityUID: source.AgentUID,
			Mode: source.Mode, Team: new(!source.Personal),
		}, Origin{Source: SourceAPI, Forked: &source})
	})
	if err != nil {
		return Forked{}, err
	}
	return access.Act(ctx, s.runs.responses, p, func(tx *store.Tx) (Forked, error) {
		forked := Forked{ForkGroup: group.id}
		var bound store.Bound
		if _, err := tx.Conversations().Enter(ctx, source.ConversationID, func(b store.Bound) error {
			bound = b
			bound.Secrets = b.Secrets || len(source.Config.SecretUses()) > 0
			return speaks(p)(b)
		}); err != nil {
			return forked, err
		}
		if _, err := tx.Runs().Lock(ctx, source.ID); err != nil {
			return forked, err
		}
		from, err := keptTurn(ctx, tx, source.ID, req.Turn)
		if err != nil {
			return forked, err
		}
		for _, run := range group.runs {
			run.ForkedFrom = &penstock.ForkedFrom{RunID: source.ID, Turn: from.Turn}
		}
		if forked.Runs, _, err = group.create(ctx, tx); err != nil {
			return forked, err
		}
		for _, run := range group.runs {
			if err := tx.Files().ForkCheckpoint(ctx, from, run.ID); err != nil {
				return forked, err
			}
			if err := tx.Conversations().Bind(ctx, run.Team, run.ConversationID, bound); err != nil {
				return forked, err
			}
		}
		return forked, nil
	})
}

// group is a fork group: the new runs of one request, which are stored together.
type group struct {
	id   string
	runs []*store.NewRun
}

// newGroup makes a group of n runs. It writes nothing.
func newGroup(n int, one func(i int) (*store.NewRun, error)) (group, error) {
	g := group{id: penstock.NewID()}
	for i := range n {
		run, err := one(i)
		if err != nil {
			return group{}, err
		}
		run.ForkGroup = g.id
		g.runs = append(g.runs, run)
	}
	return g, nil
}

// create stores the runs of the group. atCapacity reports that no worker had a free slot for one of them.
func (g group) create(ctx context.Context, tx *store.Tx) (created []penstock.ForkedRun, atCapacity bool, err error) {
	for _, run := range g.runs {
		full, err := tx.Runs().Create(ctx, run)
		if err != nil {
			return nil, false, err
		}
		atCapacity = atCapacity || full
		created = append(created, penstock.ForkedRun{ID: run.ID, State: run.State})
	}
	return created, atCapacity, nil
}

// keptTurn returns the checkpoint of a turn of a locked run, nil being the last one.
func keptTurn(ctx context.Context, tx *store.Tx, runID string, turn *int64) (store.Checkpoint, error) {
	which := int64(-1)
	if turn != nil {
		which = *turn
	}
	found, err := tx.Files().Checkpoint(ctx, runID, which)
	if penstock.CodeOf(err) != penstock.CodeNotFound {
		return found, err
	}
	if turn == nil {
		return found, penstock.Errorf(penstock.CodeConflict, "the files of no turn of the run are kept")
	}
	return found, penstock.Errorf(
		penstock.CodeConflict, "the files of turn %d are not kept; GET /agent/runs/%s/checkpoints lists the turns", which,
		runID,
	)
}

func checkFork(req *ForkRequest) error {
	var errs []penstock.FieldError
	bad := func(pointer, format string, args ...any) {
		errs = append(errs, penstock.FieldError{Pointer: pointer, Detail: fmt.Sprintf(format, args...)})
	}
	if strings.TrimSpace(req.Prompt) == "" {
		bad("/prompt", "is required")
	}
	request.Text(bad, "/prompt", req.Prompt, maxPrompt)
	request.Text(bad, "/title", req.Title, maxTitle)
	req.Count = cmp.Or(req.Count, 1)
	if req.Count < 1 || req.Count > maxForks {
		bad("/count", "must be from 1 to %d", maxForks)
	}
	if req.Turn != nil && *req.Turn < 0 {
		bad("/turn", "must be 0 or more")
	}
	if errs != nil {
		return penstock.InvalidFields(errs...)
	}
	return nil
}

// mayFork returns an error for a caller who could not have given a run what it has: its files may hold it.
func mayFork(p penstock.Principal, source store.RunRow) error {
	uses := source.Config.SecretUses()
	if len(uses) == 0 || p.May(penstock.ScopeSecretsUse) {
		return nil
	}
	names := make([]string, 0, len(uses))
	for _, use := range uses {
		if !slices.Contains(names, use.Name) {
			names = append(names, use.Name)
		}
	}
	return penstock.Errorf(penstock.CodeNotAuthorized, "the files of the run may hold its managed secrets (%s); "+
		"to fork it needs the scope %s, which the key does not have", strings.Join(names, ", "), penstock.ScopeSecretsUse)
}

// historyOfFork returns the conversation of the run from which a run was forked, as far as the turn of a
// message, with what that run was forked from. It is empty if a run is no longer kept.
func (s *Executions) historyOfFork(ctx context.Context, run store.RunRow, lastMessage string) ([]penstock.Step, error) {
	source, err := s.store.Runs.Find(ctx, run.Team, run.ForkedFrom.RunID)
	if penstock.CodeOf(err) == penstock.CodeNotFound {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	events, err := s.store.Conversations.Events(ctx, store.Viewer{All: true}, source.ConversationID)
	if err != nil {
		return nil, err
	}
	until, found := endOfTurn(events, lastMessage)
	own := history(penstock.Converse(source.ConversationID, events[:until]).Steps, nil)
	if source.ForkedFrom == nil {
		return own, nil
	}
	if found {
		forked, err := s.store.Files.Checkpoints(ctx, source.ID)
		if err != nil {
			return nil, err
		}
		if len(forked) > 0 && forked[0].Turn == 0 {
			lastMessage = forked[0].MessageID
		}
	}
	before, err := s.historyOfFork(ctx, source, lastMessage)
	return append(before, own...), err
}

// endOfTurn returns how many events of a conversation there were at the end of the turn of a message: none if
// the conversation does not have it.
func endOfTurn(events []penstock.Event, message string) (n int, found bool) {
	for i, e := range events {
		var m penstock.Message
		if e.Type != penstock.EventMessage || json.Unmarshal(e.Data, &m) != nil ||
			m.Role != penstock.RoleUser && !m.Rewinds() {
			continue
		}
		if found && m.ID != message {
			return i, true
		}
		found = found || m.ID == message
	}
	if !found {
		return 0, false
	}
	return len(events), true
}

// ForkGroup compares the runs that one request has forked.
type ForkGroup struct {
	ForkGroup string        `json:"fork_group"`
	Runs      []ComparedRun `json:"runs"`
}

// ComparedRun is what a run of a fork group has changed and consumed so far.
type ComparedRun struct {
	ID         string               `json:"run_id"`
	Title      string               `json:"title"`
	State      penstock.State       `json:"state"`
	Harness    string               `json:"harness"`
	ModelID    string               `json:"model_id,omitempty"`
	ForkedFrom *penstock.ForkedFrom `json:"forked_from,omitempty"`
	CreatedAt  penstock.Time        `json:"created_at"`
	FinishedAt penstock.Time        `json:"finished_at,omitzero"`
	RunTime    penstock.Duration    `json:"run_time,omitzero"`
	Hollow     bool                 `json:"hollow,omitzero"`
	Usage      *penstock.Usage      `json:"request_usage,omitempty"`
	Changes    ChangeSums           `json:"changes"`
}

// ChangeSums sums up what a run has changed in its repositories.
type ChangeSums struct {
	Repositories int `json:"repositories"`
	Files        int `json:"files"`
	Additions    int `json:"additions"`
	Deletions    int `json:"deletions"`
}

// CompareForks returns the runs of a fork group that the caller may see.
func (s *Turns) CompareForks(ctx context.Context, p penstock.Principal, group string) (ForkGroup, error) {
	if err := access.Require(p, penstock.ScopeRunsRead); err != nil {
		return ForkGroup{}, err
	}
	compared := ForkGroup{ForkGroup: group, Runs: []ComparedRun{}}
	var rows []store.RunRow
	if penstock.ValidID(group) {
		var err error
		if rows, err = s.runs.store.Runs.OfForkGroup(ctx, p.Team, group); err != nil {
			return compared, err
		}
	}
	rows = slices.DeleteFunc(rows, func(r store.RunRow) bool { return !sees(p, r) })
	if len(rows) == 0 {
		return compared, penstock.NotFound("fork group", group)
	}
	runs, err := s.runs.Present(ctx, rows)
	if err != nil {
		return compared, err
	}
	for i, r := range runs {
		changes, err := s.runs.store.Files.Changes(ctx, r.ID)
		if err != nil {
			return compared, err
		}
		compared.Runs = append(compared.Runs, ComparedRun{
			ID: r.ID, Title: r.Title, State: r.State, Harness: rows[i].Harness, ModelID: r.Config.Model(),
			ForkedFrom: r.ForkedFrom, CreatedAt: r.CreatedAt, FinishedAt: r.FinishedAt, RunTime: r.RunTime, Hollow: r.Hollow,
			Usage: r.Usage, Changes: sumChanges(changes.Saved),
		})
	}
	return compared, nil
}
