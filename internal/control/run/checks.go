package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/forge"
	"github.com/penstock-dev/penstock/internal/control/store"
)

// LookAtPulls asks forges about open pull requests, and tells their runs of checks that have failed. It is called
// every 30 seconds.
func (s *Outputs) LookAtPulls(ctx context.Context) error {
	return s.forges.LookAtPulls(ctx, checkReports{s.runs})
}

// checkReports tells runs that the checks of what they have pushed have failed: a [forge.ChecksFollower].
type checkReports struct{ runs *Runs }

const maxNamedChecks = 20 // in the timeline

// Waits reports whether the run of a pull request may want to be told of failed checks. A run that works is asked
// again when it can be told.
func (c checkReports) Waits(ctx context.Context, pull store.SeenPull) (bool, error) {
	run, err := c.runOf(ctx, pull)
	if err == nil {
		err = hears(run, store.SubjectRow{})
	}
	if errors.Is(err, ErrEventsStay) {
		return false, nil
	}
	return err == nil, err
}

// runOf returns the run that works on the subject of a pull request or, without a subject, that has opened it.
func (c checkReports) runOf(ctx context.Context, pull store.SeenPull) (run store.RunRow, err error) {
	id, about := strings.TrimPrefix(pull.Owner, ownerRun), ""
	if uid, is := strings.CutPrefix(pull.Owner, ownerSubject); is {
		var subject store.Subject
		if subject, err = c.runs.store.Subjects.Find(ctx, pull.Team, uid); err == nil && subject.ClosedAt > 0 {
			err = ErrEventsStay
		}
		id, about = subject.RunID, uid
	}
	if err == nil {
		run, err = c.runs.store.Runs.Find(ctx, pull.Team, id)
	}
	if penstock.CodeOf(err) == penstock.CodeNotFound || err == nil && run.SubjectUID != about {
		err = ErrEventsStay
	}
	return run, err
}

// hears returns ErrEventsStay unless a run about a subject may be told of failed checks in its present state.
func hears(run store.RunRow, subject store.SubjectRow) error {
	goesOn := run.State == penstock.StateInProgress ||
		run.State.Done() && subject.ContinuesWith(run.State, run.FinishedAt, penstock.Now())
	if !goesOn || subject.ClosedAt > 0 || forge.Outputs(run.Config).Followups.Checks == 0 {
		return ErrEventsStay
	}
	return nil
}

// Follow tells the run of a pull request of the checks that have failed, once for each commit. After as many commits
// as the settings of the run allow, it asks a person instead.
func (c checkReports) Follow(ctx context.Context, failed forge.FailedChecks) error {
	seen, err := c.runOf(ctx, failed.Pull)
	if errors.Is(err, ErrEventsStay) {
		return nil
	}
	if err != nil {
		return err
	}
	text, err := json.MarshalIndent(failed.Failed, "", "  ")
	if err != nil {
		return err
	}
	files, err := c.runs.files.putFollowupAttachments(ctx, seen.ID, []FollowupAttachment{
		{FileName: "failed-checks.json", MimeType: "application/json", Data: text},
	})
	if err != nil {
		return err
	}
	told, err := c.write(ctx, seen, failed, files)
	if notNow(err) || err == nil && !told { // otherwise, nobody knows whether the file is stored
		for _, key := range attached(files) {
			c.runs.files.DropBlob(ctx, key)
		}
	}
	if notNow(err) && penstock.CodeOf(err) != "" { // it may have no room for files
		_, err = c.write(ctx, seen, failed, nil)
	}
	if notNow(err) {
		return nil
	}
	return err
}

func (c checkReports) write(
	ctx context.Context, seen store.RunRow, failed forge.FailedChecks, files []store.Attachment,
) (told bool, err error) {
	// It has no text of a check, which others may have written. The file has them.
	message := fmt.Sprintf(
		"%d of %d checks of commit %s have failed, which you have pushed to %s for pull request %d of %s.",
		len(failed.Failed), failed.All, failed.Commit, failed.Pull.Branch, failed.Pull.Number, failed.Path,
	)
	if files != nil {
		message += " The attached file has their names, and what they say."
	}
	err = c.runs.store.WriteReserved(ctx, func(tx *store.Tx) (err error) {
		told, err = c.tell(ctx, tx, seen, failed, store.Followup{
			ID: penstock.NewID(), Creator: failed.Pull.Connection, Attachments: files,
			Message: message + " Find the cause, fix it, and push again.",
		})
		return err
	})
	return told, err
}

// tell is Follow in a transaction. It returns false if the run was not told.
func (c checkReports) tell(
	ctx context.Context, tx *store.Tx, seen store.RunRow, failed forge.FailedChecks, f store.Followup,
) (told bool, err error) {
	var subject store.SubjectRow
	if seen.SubjectUID != "" {
		if subject, err = tx.Subjects().Lock(ctx, seen.SubjectUID); err != nil {
			return false, err
		}
		if subject.RunID != seen.ID {
			return false, ErrEventsStay
		}
	}
	// Its creator and its payers have begun the work. It has the scope of an automation, because what others write about
	// checks must not reach a conversation whose request has named secrets.
	p := penstock.Principal{
		Team: seen.Team, Scopes: []penstock.Scope{penstock.ScopeRunsWrite},
		Makers: penstock.MorePayers([]string{seen.KeyUID}, seen.Payers...),
	}
	if seen.Creator != nil {
		p.Actor = *seen.Creator
	}
	may := func(run store.RunRow) error {
		if err := hears(run, subject); err != nil || run.State.Done() {
			return err
		}
		idle, err := tx.Subjects().Idle(ctx, run.ID)
		if err == nil && !idle {
			err = ErrEventsStay
		}
		return err
	}
	red, err := tx.Forges().Red(ctx, seen.Team, failed.Pull.Owner)
	if err != nil {
		return false, err
	}
	if red >= forge.Outputs(seen.Config).Followups.Checks {
		return false, askAboutChecks(ctx, tx, p, seen, failed, may)
	}
	if told, err = tx.Forges().TellChecks(ctx, failed.Pull, failed.Commit); err != nil || !told {
		return false, err
	}
	_, err = addFollowup(ctx, tx, p, seen, f, func(run store.RunRow) error {
		if err := may(run); err != nil {
			return err
		}
		return tx.Events().Append(ctx, run.ID, checksEvent(failed))
	})
	return err == nil, err
}

// askAboutChecks blocks a run whose commits have failed too often without a person in between.
func askAboutChecks(
	ctx context.Context, tx *store.Tx, p penstock.Principal, seen store.RunRow, failed forge.FailedChecks,
	may func(store.RunRow) error,
) error {
	if _, err := floorFor(ctx, tx, seen, p); err != nil {
		return err
	}
	run, err := tx.Runs().Lock(ctx, seen.ID)
	if err == nil {
		err = may(run)
	}
	if err != nil {
		return err
	}
	if err := tx.Events().Append(ctx, run.ID, checksEvent(failed)); err != nil {
		return err
	}
	question := &penstock.StatusMessage{Message: fmt.Sprintf(
		"The checks of pull request %d of %s have failed again, and the run was told as often as its settings allow "+
			"without a person in between. Shall it go on? Any answer lets it continue. To end the work, cancel the run or "+
			"close the pull request.",
		failed.Pull.Number, failed.Path,
	)}
	return askPerson(ctx, tx, run, question)
}

func checksEvent(failed forge.FailedChecks) penstock.Draft {
	names := make([]string, 0, maxNamedChecks)
	for _, check := range failed.Failed[:min(len(failed.Failed), maxNamedChecks)] {
		names = append(names, check.Name)
	}
	return penstock.Timeline(penstock.Now(), penstock.TimelineChecksFailed, map[string]any{
		"repository": failed.Path, "pull_request": failed.Pull.Number, "commit": failed.Commit, "checks": names,
		"failed": len(failed.Failed), "all": failed.All,
	})
}
