package forge

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/store"
)

// Status is what the thread of a run is to say.
type Status struct {
	Use

	Thread store.ForgeThread // as it was claimed
	Link   string            // to the run
	Text   string            // in Markdown, about the run
	Quoted string            // what the agent says about it; "": nothing
}

// Shown is what has come of a try.
type Shown struct {
	Thread  store.ForgeThread
	Problem string        // why the thread does not say it; "": it does, or must not
	Again   bool          // it is worth another try
	Asked   bool          // the forge was asked
	Wait    time.Duration // for how long the forge wants none
}

// Show lets a thread say how its run is, in the one comment that is about the run. A first try whose result is unknown
// is found again, and a comment that somebody has deleted is not written again. The error is about this server.
func (c *Connections) Show(ctx context.Context, s Status) (Shown, error) {
	out := Shown{Thread: s.Thread}
	row, err := c.store.Forges.Find(ctx, s.Team, s.Thread.Connection)
	reason := "the connection was deleted"
	if err == nil {
		reason = row.MayUse(s.Factory, s.Thread.Repository)
	} else if penstock.CodeOf(err) != penstock.CodeNotFound {
		return out, err
	}
	if reason != "" {
		out.Thread.Comment, out.Problem = store.NoComment, "It cannot be said any more: "+reason+"."
		return out, nil
	}
	t, err := c.open(row)
	if err != nil {
		c.log.Error("cannot say how a run is", "run_id", s.Thread.RunID, "error", err)
		out.Problem, out.Again = fmt.Sprintf("The tokens of %s cannot be decrypted.", row.Name), true
		return out, nil
	}
	text := s.Markdown()
	sum := sha256.Sum256([]byte(text))
	shown := hex.EncodeToString(sum[:])
	if out.Thread.Comment == store.NoComment || shown == out.Thread.Shown {
		out.Thread.Tries = 0
		return out, nil
	}
	out.Asked = true
	failed := c.api(row.Forge, t.Token).say(ctx, &out.Thread, text)
	if failed == nil {
		out.Thread.Shown, out.Thread.Tries, out.Thread.Refused = shown, 0, 0
		return out, nil
	}
	out.Problem, out.Again, out.Wait = fmt.Sprintf("%s: %s.", row.Name, failed.text), true, failed.wait
	if out.Thread.Refused++; failed.kind == noAnswer || failed.kind == refused {
		out.Thread.Refused = 0
	}
	return out, nil
}

// say writes the status comment of a thread, or changes it.
func (a api) say(ctx context.Context, t *store.ForgeThread, text string) *failure {
	mark := "<!-- penstock run " + t.RunID + " -->"
	text += "\n\n" + mark
	if t.Comment == 0 && t.Tries == 1 {
		failed := a.react(ctx, t.Repository, causeOf(*t), "eyes")
		if failed != nil && failed.kind == noAnswer { // which it would not do for the comment either
			return failed
		}
	} else if t.Comment == 0 {
		found, has, failed := a.ownComment(ctx, t.Repository, t.Number, mark)
		if failed != nil {
			return failed
		}
		if has {
			t.Comment = found.ID
		}
	}
	if t.Comment == 0 {
		added, failed := a.addComment(ctx, t.Repository, t.Number, text)
		t.Comment = added.ID
		return failed
	}
	_, failed := a.in(ctx, http.MethodPatch, t.Repository, []string{"issues", "comments", number(t.Comment)}, nil,
		map[string]string{"body": text}, nil)
	if failed != nil && (failed.status == http.StatusNotFound || failed.status == http.StatusGone) {
		// If the issue is there, the comment was deleted. Otherwise the token may read it again later.
		issue := []string{"issues", number(t.Number)}
		if _, hidden := a.in(ctx, http.MethodGet, t.Repository, issue, nil, nil, nil); hidden != nil {
			return hidden
		}
		t.Comment = store.NoComment
		return nil
	}
	return failed
}

// causeOf is the path of what has started a run.
func causeOf(t store.ForgeThread) []string {
	if t.Cause > 0 {
		return []string{"issues", "comments", number(t.Cause)}
	}
	return []string{"issues", number(t.Number)}
}

// maxQuoted is how many characters a comment has of what an agent says.
const maxQuoted = 4000

// Markdown is what a comment says.
func (s Status) Markdown() string {
	text := fmt.Sprintf("[Run of Penstock](%s) %s", s.Link, s.Text)
	// In a quote, a tab has another width, which can end a code block: mentions in code count, too.
	quoted := strings.TrimSpace(strings.ReplaceAll(s.Quoted, "\t", "    "))
	if cut(quoted, maxQuoted) != quoted {
		quoted = cut(quoted, maxQuoted) + " …"
	}
	if quoted = strings.TrimSpace(neutralEverywhere(quoted, nil)); quoted != "" {
		text += "\n\n> " + strings.ReplaceAll(quoted, "\n", "\n> ")
	}
	return text
}
