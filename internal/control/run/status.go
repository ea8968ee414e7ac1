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

func (s *Outputs) linkOf(run store.RunRow) string { return s.runs.publicURL + "/runs/" + run.ID }

// retryAt returns when something is tried again that a forge has not done, and for which it wants no requests.
func retryAt(tries int64, wanted time.Duration) penstock.Time {
	wait := min(maxWait, minWait<<min(tries-1, 10))
	return penstock.Now().Add(max(wait, min(wanted, maxWait)))
}

// postpone lets a forge that wants no requests for some time have none. 0: it wants them.
func (s *Outputs) postpone(ctx context.Context, connection string, wait time.Duration) error {
	if wait == 0 {
		return nil
	}
	return s.runs.store.Forges.Postpone(ctx, connection, penstock.Now().Add(wait))
}

// showNext lets the next due thread of a connection say how its run is. It returns false if none is due.
func (s *Outputs) showNext(ctx context.Context, connection string, now penstock.Time) (found, asked bool, err error) {
	t, found, err := s.runs.store.Forges.ClaimThread(ctx, connection, now, now.Add(outputLease))
	if err == nil && found {
		asked, err = s.show(ctx, t)
	}
	if err != nil && ctx.Err() == nil {
		s.log.Error("cannot say how a run is; trying again", "connection_uid", connection, "run_id", t.RunID, "error", err)
	}
	return found, asked, err
}

// show lets the claimed thread of a run say how the run is. asked reports whether the forge got a request.
func (s *Outputs) show(ctx context.Context, t store.ForgeThread) (asked bool, err error) {
	run, err := s.runs.store.Runs.Find(ctx, t.Team, t.RunID)
	if err != nil {
		return false, err
	}
	status := forge.Status{Use: forgeUse(run), Thread: t, Link: s.linkOf(run)}
	if status.Text, status.Quoted, err = s.statusOf(ctx, run, t.Repository); err != nil {
		return false, err
	}
	try, cancel := context.WithTimeout(ctx, outputTry)
	defer cancel()
	shown, err := s.forges.Show(try, status)
	if err != nil {
		return false, err
	}
	now, again := penstock.Now(), penstock.Time(0)
	gaveUp := !shown.Again || shown.Thread.Refused >= maxRefusals || t.Tries >= maxStatusTries
	if !gaveUp {
		again = retryAt(t.Tries, shown.Wait)
	}
	// What has happened on the forge is stored also if the server is being stopped.
	ctx, done := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer done()
	if err := s.postpone(ctx, t.Connection, shown.Wait); err != nil {
		return true, err
	}
	said := shown.Thread.Refused > maxRefusals || t.Tries > maxStatusTries // that it is not shown
	return shown.Asked, s.runs.store.Write(ctx, func(tx *store.Tx) error {
		if _, err := tx.Runs().Lock(ctx, run.ID); err != nil {
			return err
		}
		ours, err := tx.Forges().KeepThread(ctx, shown.Thread, again, now)
		if err != nil || !ours || !gaveUp || shown.Problem == "" || said {
			return err
		}
		return tx.Events().Append(ctx, run.ID, penstock.Timeline(now, timelineStatusNotShown, map[string]any{
			"repository": t.Repository, "number": t.Number, "problem": shown.Problem,
		}))
	})
}

// statusOf says how a run is, in Markdown and for readers of a repository, and what its agent asks. Other messages
// about a run stay in it: they can have commands, output and hosts.
func (s *Outputs) statusOf(ctx context.Context, run store.RunRow, repository string) (text, asked string, err error) {
	cost := fmt.Sprintf(" Cost so far: $%.2f.", float64(run.Consumed.Cost)/1e9)
	switch {
	case run.State == penstock.StateQueued:
		return "waits for a worker.", "", nil
	case run.State == penstock.StateSucceeded:
		text, err = s.success(ctx, run, repository)
		return text + cost, "", err
	case run.State == penstock.StateCancelled:
		return "was cancelled." + cost, "", nil
	case run.State.Done():
		return "has failed. The run says why." + cost, "", nil
	case run.State != penstock.StateBlocked:
		return "is working on this.", "", nil
	case run.BlockedBudget != "":
		return "waits, because a budget is spent." + cost, "", nil
	case run.StatusMessage != nil && run.StatusMessage.ErrorCode == "":
		asked, err = s.sayable(ctx, run, run.StatusMessage.Message)
	}
	if text = "waits for an answer." + cost; asked == "" {
		text = "waits for an answer. The run says to what." + cost
	}
	return text, asked, err
}

// success says what a run that has succeeded leaves on the forge. Who can read a repository may know nothing of another
// one.
func (s *Outputs) success(ctx context.Context, run store.RunRow, repository string) (string, error) {
	outputs, err := s.runs.store.Forges.OutputsOf(ctx, run.ID)
	if err != nil {
		return "", err
	}
	var urls []string
	held, failed := 0, 0
	for _, o := range outputs {
		switch {
		case o.State == penstock.OutputHeld:
			held++
		case o.State == penstock.OutputFailed:
			failed++
		case o.Kind == penstock.OutputPullRequest && o.State == penstock.OutputDone &&
			strings.EqualFold(o.Target.Repository, repository) && !slices.Contains(urls, o.URL):
			urls = append(urls, o.URL)
		}
	}
	text := "is done."
	switch {
	case len(urls) > 0:
		text = "is done: " + strings.Join(urls, ", ") + "."
	case run.Hollow:
		text = "has ended, and has done nothing."
	}
	if held > 0 {
		text += fmt.Sprintf(" A person has to release %s.", count(held, "output"))
	}
	if failed > 0 {
		text += fmt.Sprintf(" On the forge, %s failed: the run says why.", count(failed, "output"))
	}
	return text, nil
}

// sayable returns a text of an agent if it may be published: without its secrets, and unless the agent may write no
// comments, or a person has to release them.
func (s *Outputs) sayable(ctx context.Context, run store.RunRow, text string) (string, error) {
	if policy := forge.Outputs(run.Config); policy.Approval == penstock.ApprovalAlways || policy.Limits.Comment == 0 {
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
