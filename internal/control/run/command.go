package run

import (
	"context"
	"errors"
	"fmt"
	"slices"
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

// How a command is tried that the server cannot follow, and how many comments of a thread are answered with a comment.
const (
	maxCommandTries = 20 // for more than half a day
	answersEvery    = time.Hour
	maxAnswers      = 10 // in this time; the others only get a reaction
)

// ObeyCommands does what people have told runs in comments on forges, each once. Every replica does this.
func (s *Outputs) ObeyCommands(ctx context.Context) error {
	list, err := s.runs.store.Forges.Commands(ctx, penstock.Now(), commandBatch)
	if err != nil {
		return err
	}
	for _, c := range list {
		err := s.obey(ctx, c)
		if err == nil || ctx.Err() != nil {
			continue
		}
		s.log.Error("cannot follow a comment", "connection_uid", c.Connection, "repository", c.Repository,
			"comment", c.Comment, "tries", c.Tries+1, "error", err)
		if c.Tries+1 < maxCommandTries {
			err = s.runs.store.Forges.PostponeCommand(ctx, c, retryAt(c.Tries+1, 0))
		} else {
			err = s.followed(ctx, refusal(c, "The server could not do it."), nil)
		}
		if err != nil {
			return err
		}
	}
	return ctx.Err()
}

// refusal returns a command with the answer that it is not followed.
func refusal(c store.ForgeCommand, why string) store.ForgeCommand {
	c.Reaction, c.Answer = reactionRefused, why
	return c
}

// refused is why a command is not followed. People may read it who may not see the run.
type refused string

func (r refused) Error() string { return string(r) }

// obey follows a command, or answers why that is not possible.
func (s *Outputs) obey(ctx context.Context, c store.ForgeCommand) error {
	c.Reaction = reactionDone
	do, err := s.follow(ctx, &c)
	if err == nil {
		err = s.followed(ctx, c, do)
	}
	if why, is := errors.AsType[refused](err); is {
		return s.followed(ctx, refusal(c, string(why)), nil)
	}
	known, is := errors.AsType[*penstock.Error](err)
	if !is || known.Code.OurFault() {
		return err
	}
	s.log.Info("a comment has no effect", "connection_uid", c.Connection, "comment", c.Comment, "error", err)
	switch known.Code {
	case penstock.CodeBudgetExceeded:
		c = refusal(c, "That is not possible now, because a budget is spent.")
	case penstock.CodeNotAuthorized:
		c = refusal(c, "This run takes no messages from here.")
	default:
		c = refusal(c, "That is not possible now. The run says why.")
	}
	return s.followed(ctx, c, nil)
}

// follow returns what a command does, nil if it is only answered.
func (s *Outputs) follow(ctx context.Context, c *store.ForgeCommand) (func(*store.Tx) error, error) {
	found, known, err := s.forges.RunsOf(ctx, *c)
	if err != nil {
		return nil, err
	}
	var runs []store.RunRow
	for _, f := range found {
		run, err := s.runs.store.Runs.Find(ctx, c.Team, f.ID)
		if err != nil {
			return nil, err
		}
		runs = append(runs, run)
	}
	switch {
	case len(runs) == 0:
		return nil, refused("The run was removed, or is not for this repository any more.")
	case c.Command == forge.CommandStop:
		return s.stopAll(ctx, c, runs)
	case !known: // the connection was deleted
		return nil, refused("The connection was deleted.")
	case c.Command == forge.CommandHelp:
		return nil, s.answer(ctx, c, func() (string, error) { return commandHelp, nil })
	case c.Command == forge.CommandStatus:
		return nil, s.answer(ctx, c, func() (string, error) { return s.statuses(ctx, c, runs) })
	case c.Command == forge.CommandReady || c.Command == forge.CommandHold:
		return nil, refused(fmt.Sprintf("`%s` is not supported yet.\n\n%s", c.Command, commandHelp))
	}
	return s.say(ctx, c, meant(runs))
}

// meant returns the run of a thread to which a message goes: one that waits for an answer, or else one that has not
// ended, or else the newest.
func meant(runs []store.RunRow) store.RunRow {
	for _, fits := range []func(store.RunRow) bool{
		func(r store.RunRow) bool { return r.State == penstock.StateBlocked && r.BlockedBudget == "" },
		func(r store.RunRow) bool { return !r.State.Done() },
	} {
		if i := slices.IndexFunc(runs, fits); i >= 0 {
			return runs[i]
		}
	}
	return runs[0]
}

// answer answers a command with a text, unless the thread has had many.
func (s *Outputs) answer(ctx context.Context, c *store.ForgeCommand, text func() (string, error)) error {
	n, err := s.runs.store.Forges.CountAnswers(ctx, *c, penstock.Now().Add(-answersEvery))
	if err == nil && n < maxAnswers {
		c.Answer, err = text()
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

// speakerOf is who speaks for a person on a forge: the automation of the run or, without one, the connection. The keys
// that pay for the run pay for the message. The forge has said that the person may write to the repository, or act in a
// private one.
func (s *Outputs) speakerOf(ctx context.Context, run store.RunRow, c store.ForgeCommand) (penstock.Principal, error) {
	p := penstock.Principal{
		Team: run.Team, Scopes: []penstock.Scope{penstock.ScopeRunsWrite},
		Makers: run.Payers,
		Actor:  penstock.Actor{Type: "service_account", UID: c.Connection, DisplayName: whereFrom(c)},
	}
	if run.AutomationID == "" {
		if run.KeyUID != "" {
			p.Makers = penstock.MorePayers(p.Makers, run.KeyUID)
		}
		return p, nil
	}
	a, err := s.runs.store.Automations.ByUID(ctx, run.AutomationID)
	if penstock.CodeOf(err) == penstock.CodeNotFound {
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
func (s *Outputs) stopAll(
	ctx context.Context, c *store.ForgeCommand, runs []store.RunRow,
) (func(*store.Tx) error, error) {
	runs = slices.DeleteFunc(runs, func(r store.RunRow) bool { return r.State.Done() })
	if len(runs) == 0 {
		return nil, refused("The run has ended already.")
	}
	slices.SortFunc(runs, func(a, b store.RunRow) int { return strings.Compare(a.ID, b.ID) })
	by := make([]penstock.Principal, len(runs))
	for i, run := range runs {
		var err error
		if by[i], err = s.speakerOf(ctx, run, *c); err != nil {
			return nil, err
		}
	}
	return func(tx *store.Tx) error {
		for i, run := range runs {
			if err := CancelIn(ctx, tx, by[i], run.ID); err != nil {
				return err
			}
		}
		return nil
	}, nil
}

// statuses says how the runs of a thread are.
func (s *Outputs) statuses(ctx context.Context, c *store.ForgeCommand, runs []store.RunRow) (string, error) {
	var text strings.Builder
	for _, run := range runs[:min(len(runs), 5)] {
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
func (s *Outputs) say(ctx context.Context, c *store.ForgeCommand, run store.RunRow) (func(*store.Tx) error, error) {
	p, err := s.speakerOf(ctx, run, *c)
	if err == nil {
		err = s.runs.checkSenderPrice(ctx, p, run)
	}
	if err != nil {
		return nil, err
	}
	message := c.Message
	switch c.Command {
	case forge.CommandRetry:
		message = "Try again."
	case forge.CommandRebase:
		message = "Bring your branch up to date with the base of its pull request, by a rebase, resolve what conflicts, " +
			"and push it."
	}
	f := store.Followup{
		ID: penstock.NewID(), Creator: p.Actor.UID, Mode: run.Mode,
		Message: fmt.Sprintf("%s has written to you:\n\n%s", whereFrom(*c), message),
	}
	return func(tx *store.Tx) error {
		if err := spoken(ctx, tx, p, run); err != nil {
			return err
		}
		_, err := addFollowup(ctx, tx, p, run, f, func(now store.RunRow) error {
			if c.Command == forge.CommandRetry && !restarts(now) {
				return refused("The run has not ended.")
			}
			return nil
		})
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
	if err := s.postpone(ctx, connection, result.Wait); err != nil {
		return true, err
	}
	again := penstock.Time(0)
	if result.Again && c.Tries < maxStatusTries {
		again = retryAt(c.Tries, result.Wait)
	}
	ctx, done := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer done()
	return true, s.runs.store.Forges.KeepAnswer(ctx, c, again)
}
