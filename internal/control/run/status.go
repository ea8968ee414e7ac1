package run

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/forge"
	"github.com/penstock-dev/penstock/internal/control/store"
	"github.com/penstock-dev/penstock/internal/supply/secret"
)

// maxStatusTries is how often a comment is tried while its forge does not answer: for about three days.
const maxStatusTries = 80

// showNext lets the next due thread of a connection say how its run is. It returns false if none is due.
func (s *Outputs) showNext(ctx context.Context, connection string, now penstock.Time) (bool, error) {
	t, found, err := s.runs.store.Forges.ClaimThread(ctx, connection, now, now.Add(outputLease))
	if err == nil && found {
		err = s.show(ctx, t)
	}
	if err != nil && ctx.Err() == nil {
		s.log.Error("cannot say how a run is; trying again", "connection_uid", connection, "run_id", t.RunID, "error", err)
	}
	return found, err
}

// show lets the claimed thread of a run say how the run is.
func (s *Outputs) show(ctx context.Context, t store.ForgeThread) error {
	run, err := s.runs.store.Runs.Find(ctx, t.Team, t.RunID)
	if err != nil {
		return err
	}
	status := forge.Status{Use: forgeUse(run), Thread: t, Link: s.runs.publicURL + "/runs/" + run.ID}
	if status.Text, status.Quoted, err = s.statusOf(ctx, run); err != nil {
		return err
	}
	try, cancel := context.WithTimeout(ctx, outputTry)
	defer cancel()
	shown, err := s.forges.Show(try, status)
	if err != nil {
		return err
	}
	now, again := penstock.Now(), penstock.Time(0)
	gaveUp := shown.Again && (shown.Thread.Refused >= maxRefusals || t.Tries >= maxStatusTries)
	if shown.Again && !gaveUp {
		wait := min(maxWait, minWait<<min(t.Tries-1, 10))
		again = now.Add(max(wait, min(shown.Wait, maxWait)))
	}
	// What has happened on the forge is stored also if the server is being stopped.
	ctx, done := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer done()
	return s.runs.store.Write(ctx, func(tx *store.Tx) error {
		if _, err := tx.Runs().Lock(ctx, run.ID); err != nil {
			return err
		}
		ours, err := tx.Forges().KeepThread(ctx, shown.Thread, again, now)
		if err != nil || !ours || !gaveUp || shown.Thread.Refused > maxRefusals || t.Tries > maxStatusTries {
			return err
		}
		return tx.Events().Append(ctx, run.ID, penstock.Timeline(now, timelineStatusNotShown, map[string]any{
			"repository": t.Repository, "number": t.Number, "problem": shown.Problem,
		}))
	})
}

// statusOf says how a run is, in Markdown, and what its agent says about that.
func (s *Outputs) statusOf(ctx context.Context, run store.RunRow) (text, quoted string, err error) {
	message := ""
	if run.StatusMessage != nil {
		message = run.StatusMessage.Message
	}
	cost := fmt.Sprintf("Cost so far: $%.2f.", float64(run.Consumed.Cost)/1e9)
	switch {
	case run.State == penstock.StateQueued:
		return "waits for a worker.", "", nil
	case !run.State.Done() && run.State != penstock.StateBlocked:
		return "is working on this.", "", nil
	case run.State == penstock.StateBlocked && run.BlockedBudget != "":
		return "waits, because a budget is spent. " + cost, "", nil
	case run.State == penstock.StateBlocked:
		text = "waits for an answer. " + cost
	case run.State == penstock.StateSucceeded:
		if text, err = s.success(ctx, run); err != nil {
			return "", "", err
		}
		text, message = text+" "+cost, ""
	case run.State == penstock.StateCancelled:
		text, message = "was cancelled. "+cost, ""
	default:
		text = "has failed. " + cost
	}
	if message == "" {
		return text, "", nil
	}
	if quoted, err = s.sayable(ctx, run, message); err == nil && quoted == "" {
		text += " The run says why."
	}
	return text, quoted, err
}

// success says what a run that has succeeded leaves on the forge.
func (s *Outputs) success(ctx context.Context, run store.RunRow) (string, error) {
	outputs, err := s.runs.store.Forges.OutputsOf(ctx, run.ID)
	if err != nil {
		return "", err
	}
	var urls []string
	held := 0
	for _, o := range outputs {
		switch {
		case o.State == penstock.OutputHeld:
			held++
		case o.Kind == penstock.OutputPullRequest && o.State == penstock.OutputDone && !slices.Contains(urls, o.URL):
			urls = append(urls, o.URL)
		}
	}
	text := "is done."
	if len(urls) > 0 {
		text = "is done: " + strings.Join(urls, ", ") + "."
	}
	if held > 0 {
		text += fmt.Sprintf(" A person has to release %s.", count(held, "output"))
	}
	return text, nil
}

// sayable returns a text of an agent if it may be published: without its secrets, and unless a person has to release
// everything that the agent publishes.
func (s *Outputs) sayable(ctx context.Context, run store.RunRow, text string) (string, error) {
	if forge.Outputs(run.Config).Approval == penstock.ApprovalAlways {
		return "", nil
	}
	mask, err := s.runs.files.secrets.MaskOf(ctx, run)
	if err != nil {
		return "", err
	}
	text = mask.String(text)
	plain := forge.Plain(text)
	if cmp.Or(secret.FindCredential(text), secret.FindCredential(plain)) != "" || mask.Found(plain) {
		return "", nil
	}
	return text, nil
}
