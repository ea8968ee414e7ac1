package run

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/forge"
	"github.com/penstock-dev/penstock/internal/control/store"
)

// commandBatch is how many commands are read at once.
const commandBatch = 100

// How a command is answered.
const (
	reactionDone    = "+1"
	reactionRefused = "confused"
)

const commandHelp = "Below an issue or a pull request with a run, begin a comment with my name, and then one of " +
	"these:\n\n" +
	"| | |\n| --- | --- |\n" +
	"| `stop` | cancels the run |\n" +
	"| `retry` | lets a run that has ended try again |\n" +
	"| `rebase` | lets the run bring its branch up to date with its base |\n" +
	"| `status` | says how the run is |\n" +
	"| anything else | is a message to the run, and the answer if it has asked something |"

// ObeyCommands does what people have told runs in comments on forges, each once. Every replica does this.
func (s *Outputs) ObeyCommands(ctx context.Context) error {
	list, err := s.runs.store.Forges.Commands(ctx, commandBatch)
	if err != nil {
		return err
	}
	var failed error
	for _, c := range list {
		if err := s.obey(ctx, c); err != nil { // another one may be possible
			failed = errors.Join(failed, fmt.Errorf("follow the command in comment %d of %s: %w", c.Comment, c.Repository, err))
		}
	}
	return failed
}

// obey follows a command, or answers why that is not possible.
func (s *Outputs) obey(ctx context.Context, c store.ForgeCommand) error {
	runs, err := s.forges.ThreadRuns(ctx, c)
	if err != nil {
		return err
	}
	if c.Reaction = reactionDone; len(runs) == 0 {
		c.Reaction, c.Answer = reactionRefused, "The run was removed."
		return s.followed(ctx, c, func(*store.Tx) error { return nil })
	}
	var do func(*store.Tx) error
	switch c.Command {
	case forge.CommandStop:
		do, err = s.stopAll(ctx, &c, runs)
	case forge.CommandHelp:
		c.Answer = commandHelp
	case forge.CommandStatus:
		c.Answer, err = s.statuses(ctx, c, runs)
	case forge.CommandReady, forge.CommandHold:
		c.Reaction, c.Answer = reactionRefused, fmt.Sprintf("`%s` is not supported yet.\n\n%s", c.Command, commandHelp)
	default:
		do, err = s.say(ctx, &c, runs[0])
	}
	if err != nil {
		return err
	}
	err = s.followed(ctx, c, do)
	if known, is := errors.AsType[*penstock.Error](err); is && !known.Code.OurFault() {
		c.Reaction, c.Answer = reactionRefused, "That is not possible: "+known.Explain()+"."
		if known.Code == penstock.CodeBudgetExceeded { // whose name and sums are nobody's business there
			c.Answer = "That is not possible now, because a budget is spent."
		}
		return s.followed(ctx, c, nil)
	}
	return err
}

// followed records that a command is followed, together with what it does.
func (s *Outputs) followed(ctx context.Context, c store.ForgeCommand, do func(*store.Tx) error) error {
	c.DoneAt = penstock.Now()
	return s.runs.store.WriteReserved(ctx, func(tx *store.Tx) error {
		ours, err := tx.Forges().DoCommand(ctx, c)
		if err != nil || !ours || do == nil {
			return err
		}
		return do(tx)
	})
}

// speakerOf is who speaks for a person on a forge: the automation of the run, whose keys pay for what it does. The
// forge says that the person may write to the repository, or act in a private one.
func (s *Outputs) speakerOf(ctx context.Context, run store.RunRow, c store.ForgeCommand) (penstock.Principal, error) {
	p := penstock.Principal{
		Team: run.Team, Scopes: []penstock.Scope{penstock.ScopeRunsWrite},
		Actor: penstock.Actor{Type: "service_account", UID: run.Creator.UID, DisplayName: whereFrom(c)},
	}
	if run.AutomationID == "" {
		p.Makers = penstock.MorePayers(run.Payers, run.KeyUID)
		return p, nil
	}
	a, err := s.runs.store.Automations.ByUID(ctx, run.AutomationID)
	if penstock.CodeOf(err) == penstock.CodeNotFound {
		p.Makers = run.Payers
		return p, nil
	}
	p.Actor.UID, p.Makers = a.Actor().UID, a.PaidBy
	return p, err
}

// whereFrom says who has written a comment, and where.
func whereFrom(c store.ForgeCommand) string {
	return fmt.Sprintf("%s in %s#%d", c.Author, c.Repository, c.Number)
}

// stopAll cancels all runs of a thread that have not ended.
func (s *Outputs) stopAll(ctx context.Context, c *store.ForgeCommand, runs []string) (func(*store.Tx) error, error) {
	live := 0
	by := make([]penstock.Principal, len(runs))
	for i, id := range runs {
		run, err := s.runs.store.Runs.Find(ctx, c.Team, id)
		if err != nil {
			return nil, err
		}
		if by[i], err = s.speakerOf(ctx, run, *c); err != nil {
			return nil, err
		}
		if !run.State.Done() {
			live++
		}
	}
	if live == 0 {
		c.Reaction, c.Answer = reactionRefused, "The run has ended already."
	}
	return func(tx *store.Tx) error {
		for i, id := range runs {
			if err := CancelIn(ctx, tx, by[i], id); err != nil {
				return err
			}
		}
		return nil
	}, nil
}

// statuses says how the runs of a thread are.
func (s *Outputs) statuses(ctx context.Context, c store.ForgeCommand, runs []string) (string, error) {
	var text strings.Builder
	for _, id := range runs[:min(len(runs), 5)] {
		run, err := s.runs.store.Runs.Find(ctx, c.Team, id)
		if err != nil {
			return "", err
		}
		said, quoted, err := s.statusOf(ctx, run, c.Repository)
		if err != nil {
			return "", err
		}
		status := forge.Status{Link: s.linkOf(run), Text: said, Quoted: quoted}
		text.WriteString(status.Markdown() + "\n\n")
	}
	return strings.TrimSpace(text.String()), nil
}

// say sends a message of a person to a run.
func (s *Outputs) say(ctx context.Context, c *store.ForgeCommand, id string) (func(*store.Tx) error, error) {
	run, err := s.runs.store.Runs.Find(ctx, c.Team, id)
	if err != nil {
		return nil, err
	}
	p, err := s.speakerOf(ctx, run, *c)
	if err != nil {
		return nil, err
	}
	message := c.Message
	switch c.Command {
	case forge.CommandRetry:
		if message = "Try again."; !restarts(run) {
			c.Reaction, c.Answer = reactionRefused, "The run has not ended."
			return nil, nil //nolint:nilnil // there is nothing to do
		}
	case forge.CommandRebase:
		message = "Bring your branch up to date with the base of its pull request, by a rebase, resolve what conflicts, " +
			"and push it."
	}
	f := store.Followup{
		ID: penstock.NewID(), Creator: p.Actor.UID, Mode: run.Mode,
		Message: fmt.Sprintf("%s has written to you:\n\n%s", whereFrom(*c), message),
	}
	return func(tx *store.Tx) error {
		_, err := followUp(ctx, tx, p, run, f, 0)
		return err
	}, nil
}

// answerNext gives the next due answer of a connection. It returns false if none is due.
func (s *Outputs) answerNext(ctx context.Context, connection string, now penstock.Time) (bool, error) {
	c, found, err := s.runs.store.Forges.ClaimAnswer(ctx, connection, now, now.Add(outputLease))
	if err != nil || !found {
		return false, err
	}
	try, cancel := context.WithTimeout(ctx, outputTry)
	defer cancel()
	result, err := s.forges.Answer(try, c)
	if err != nil {
		return true, err
	}
	if result.Wait > 0 {
		if err := s.runs.store.Forges.Postpone(ctx, connection, penstock.Now().Add(result.Wait)); err != nil {
			return true, err
		}
	}
	again := penstock.Time(0)
	if result.Again && c.Tries < maxStatusTries {
		again = retryAt(c.Tries, result.Wait)
	}
	ctx, done := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer done()
	return true, s.runs.store.Forges.KeepAnswer(ctx, c, again)
}
