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
	Wait    time.Duration // for how long the forge wants none
}

// Show lets a thread say how its run is, in the one comment that is about the run. A first try whose result is unknown
// is found again, and a comment that somebody has deleted is not written again. The error is about this server.
func (c *Connections) Show(ctx context.Context, s Status) (Shown, error) {
	out := Shown{Thread: s.Thread}
	row, err := c.store.Forges.Find(ctx, s.Team, s.Thread.Connection)
	if penstock.CodeOf(err) == penstock.CodeNotFound || err == nil && row.MayUse(s.Factory, s.Thread.Repository) != "" {
		return out, nil
	}
	if err != nil {
		return out, err
	}
	t, err := c.open(row)
	if err != nil {
		return out, err
	}
	text := s.markdown()
	sum := sha256.Sum256([]byte(text))
	shown := hex.EncodeToString(sum[:])
	if out.Thread.Comment == store.NoComment || shown == out.Thread.Shown {
		out.Thread.Tries = 0
		return out, nil
	}
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
		a.react(ctx, *t) // nobody misses it
	} else if t.Comment == 0 && a.forge.Bot != nil {
		found, has, failed := a.findComment(ctx, t.Repository, t.Number, mark, a.forge.Bot.ID)
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
		t.Comment = store.NoComment
		return nil
	}
	return failed
}

// react shows at once that an event was heard.
func (a api) react(ctx context.Context, t store.ForgeThread) {
	segments := []string{"issues", number(t.Number), "reactions"}
	if t.Cause > 0 {
		segments = []string{"issues", "comments", number(t.Cause), "reactions"}
	}
	_, _ = a.in(ctx, http.MethodPost, t.Repository, segments, nil, map[string]string{"content": "eyes"}, nil)
}

// maxQuoted is how many characters a comment has of what an agent says.
const maxQuoted = 4000

func (s Status) markdown() string {
	text := fmt.Sprintf("[Run of Penstock](%s) %s", s.Link, s.Text)
	quoted := strings.TrimSpace(s.Quoted)
	if cut(quoted, maxQuoted) != quoted {
		quoted = cut(quoted, maxQuoted) + " …"
	}
	if quoted != "" {
		text += "\n\n> " + strings.ReplaceAll(strings.TrimSpace(neutral(quoted, nil)), "\n", "\n> ")
	}
	return text
}
