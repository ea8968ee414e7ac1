package forge

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/store"
)

// Target is the repository of an output.
type Target struct {
	ForgeUID, Connection, Path string
	URL                        string // that git clones
}

// Target finds the repository of a run that an output means: the one at path, owner/name, or the only one that has
// a connection. detail says what is wrong.
func (c *Connections) Target(
	ctx context.Context, use Use, list []penstock.RunRepository, path string,
) (to Target, detail string, err error) {
	rows, err := c.store.Forges.List(ctx, use.Team)
	if err != nil {
		return to, "", err
	}
	var found []Target
	var names []string
	for _, row := range rows {
		for _, grant := range pushGrants(row.Forge, list) {
			if row.MayUse(use.Factory, grant.Path) != "" {
				continue
			}
			names = append(names, grant.Path)
			if path == "" || strings.EqualFold(path, grant.Path) {
				found = append(found, Target{row.UID, row.Name, grant.Path, grant.URL})
			}
		}
	}
	switch {
	case len(names) == 0:
		return to, "the run has no repository with a connection", nil
	case len(found) == 0:
		return to, "must be a repository of the run: " + strings.Join(names, ", "), nil
	case len(found) > 1:
		return to, "is needed, because the run has several: " + strings.Join(names, ", "), nil
	}
	return found[0], "", nil
}

// Publication is an output that is to be done.
type Publication struct {
	Use

	Row          store.OutputRow
	Repositories []penstock.RunRepository // of the run
	Link         string                   // to the run
	Label        string                   // of a new pull request; "": none
	Requester    string
	Cost         int64 // of the run so far, in nano-dollars
}

// Published says what has come of a try. Without Done and Failed, it is to be tried again, after Wait or later.
type Published struct {
	Done, Failed bool
	URL          string
	Number       int64
	Problem      string
	Wait         time.Duration
	PullRequest  *store.PullRequest // what is now known of it; nil: nothing new
}

func failedf(format string, args ...any) Published {
	return Published{Failed: true, Problem: fmt.Sprintf(format, args...)}
}

// publishing is one try.
type publishing struct {
	Publication

	api   api
	forge penstock.Forge
	known []store.PullRequest // of the thread
	owner store.BranchOwner
	ref   string // of the repository in the run
}

// Publish does an output once. Whatever an earlier try has done on the forge is found again, so that an output whose
// result is unknown is done once. The error is about this server, not the forge.
func (c *Connections) Publish(ctx context.Context, p Publication) (Published, error) {
	row, err := c.store.Forges.Find(ctx, p.Team, p.Row.Connection)
	if penstock.CodeOf(err) == penstock.CodeNotFound {
		return failedf("The connection %s was deleted.", p.Row.Target.Connection), nil
	}
	if err != nil {
		return Published{}, err
	}
	path := p.Row.Target.Repository
	if reason := row.MayUse(p.Factory, path); reason != "" {
		return failedf("It cannot be done: %s.", reason), nil
	}
	t, err := c.open(row)
	if err != nil {
		return Published{}, err
	}
	w := publishing{Publication: p, api: c.api(row.Forge, t.Token), forge: row.Forge}
	w.owner = store.BranchOwner{
		Team: p.Team, Repository: strings.ToLower(row.CloneURL(path)), Owner: p.Row.Owner, RunID: p.Row.RunID,
	}
	for _, grant := range pushGrants(row.Forge, p.Repositories) {
		if strings.EqualFold(grant.Path, path) {
			w.ref = grant.Ref
		}
	}
	if w.known, err = c.store.Forges.PullRequests(ctx, w.owner); err != nil {
		return Published{}, err
	}
	if p.Row.Kind == penstock.OutputComment {
		return w.comment(ctx), nil
	}
	return w.pullRequest(ctx), nil
}

// stopped says what a failure of the forge means for an output.
func (w publishing) stopped(failed *failure) Published {
	out := Published{Problem: fmt.Sprintf("%s: %s.", w.forge.Name, failed.text), Wait: failed.wait}
	out.Failed = failed.kind == lacking || failed.kind == foreign
	return out
}

// pullRequest opens the pull request of the thread, or changes it.
func (w publishing) pullRequest(ctx context.Context) Published {
	base, wrong, failed := w.base(ctx)
	if failed != nil {
		return w.stopped(failed)
	}
	if wrong != "" {
		return failedf("%s", wrong)
	}
	branch := w.Row.Payload.Branch
	i := slices.IndexFunc(w.known, func(r store.PullRequest) bool { return r.Base == base })
	if i >= 0 {
		now, failed := w.api.readPull(ctx, w.Row.Target.Repository, w.known[i].Number)
		switch {
		case failed != nil && failed.status != http.StatusNotFound: // it may have been deleted
			return w.stopped(failed)
		case now.Open && now.Head != branch:
			return failedf("The pull request %s is open, of the branch %s: push to that one.", now.URL, now.Head)
		case now.Open:
			return w.change(ctx, base, now, w.known[i].Written)
		}
	}
	now, found, failed := w.api.findPull(ctx, w.Row.Target.Repository, branch, base)
	switch {
	case failed != nil:
		return w.stopped(failed)
	case found && !strings.Contains(now.Body, w.marker()):
		out := w.done(base, now, "Somebody else has opened it; its text stays as it is.")
		return out
	case found: // by a try whose result is unknown
		return w.change(ctx, base, now, written(now))
	}
	now, failed = w.api.createPull(ctx, w.Row.Target.Repository, newPull{
		Title: w.title(), Body: w.text(), Head: branch, Base: base,
		Draft: w.Row.Payload.Draft == nil || *w.Row.Payload.Draft,
	})
	if failed != nil {
		return w.notCreated(failed, base)
	}
	out := w.done(base, now, "")
	if w.Label != "" {
		if failed := w.api.addLabels(ctx, w.Row.Target.Repository, now.Number, []string{w.Label}); failed != nil {
			out.Problem = fmt.Sprintf("The label %s was not set: %s.", w.Label, failed.text)
		}
	}
	return out
}

// createTries is how often a pull request is tried that the forge does not accept.
const createTries = 3

// notCreated says what a failure to create a pull request means. It may exist all the same, if the answer makes no
// sense; and a forge may not know yet what was pushed a moment ago.
func (w publishing) notCreated(failed *failure, base string) Published {
	out := w.stopped(failed)
	switch {
	case failed.status < http.StatusMultipleChoices || failed.exists(): // the next try finds it
		out.Failed = false
	case failed.status == http.StatusConflict || failed.status == http.StatusUnprocessableEntity ||
		failed.status == http.StatusNotFound:
		out.Failed = w.Row.Tries >= createTries
		out.Problem = fmt.Sprintf("%s refuses the pull request (%d). Does the branch %s still exist, and has it commits "+
			"that %s does not have?", w.forge.Name, failed.status, w.Row.Payload.Branch, base)
	}
	return out
}

// base returns the base branch of the pull request: the ref of the repository in the run, or its default branch.
func (w publishing) base(ctx context.Context) (base, wrong string, failed *failure) {
	ref := w.ref
	if commitID().MatchString(ref) {
		ref = ""
	}
	base = cmp.Or(w.Row.Payload.Base, ref)
	if base == "" || base != ref {
		normal, failed := w.api.defaultBranch(ctx, w.Row.Target.Repository)
		if failed != nil {
			return "", "", failed
		}
		if base = cmp.Or(base, normal); base != normal {
			return "", fmt.Sprintf("The base must be %s.", strings.Join(slices.DeleteFunc([]string{ref, normal},
				func(s string) bool { return s == "" }), " or ")), nil
		}
	}
	if base == w.Row.Payload.Branch {
		return "", "The base is the branch itself.", nil
	}
	return base, "", nil
}

// change gives an open pull request the text of the output, unless a person has edited it.
func (w publishing) change(ctx context.Context, base string, now pull, before string) Published {
	if written(now) != before {
		return w.done(base, now, "Its text was edited on the forge, and stays as it is.")
	}
	title, text := w.title(), w.text()
	if now.Title == title && now.Body == text {
		return w.done(base, now, "")
	}
	now, failed := w.api.updatePull(ctx, w.Row.Target.Repository, now.Number, title, text)
	if failed != nil {
		return w.stopped(failed)
	}
	return w.done(base, now, "")
}

func (w publishing) done(base string, now pull, problem string) Published {
	sum := written(now)
	if problem != "" { // what somebody else wrote is never what this thread has written
		sum = ""
	}
	return Published{Done: true, URL: now.URL, Number: now.Number, Problem: problem, PullRequest: &store.PullRequest{
		BranchOwner: w.owner, Base: base, Branch: now.Head, URL: now.URL, Number: now.Number, Written: sum,
	}}
}

// written is the digest of a pull request's title and text.
func written(p pull) string {
	sum := sha256.Sum256([]byte(p.Title + "\n" + p.Body))
	return hex.EncodeToString(sum[:])
}

// comment adds a comment to the pull request of the thread.
func (w publishing) comment(ctx context.Context) Published {
	if len(w.known) == 0 {
		return failedf("The run has no pull request in %s.", w.Row.Target.Repository)
	}
	number := w.known[0].Number
	mark := "<!-- penstock output " + w.Row.UID + " -->"
	out := Published{Done: true, Number: number}
	if w.Row.Tries > 1 && w.forge.Bot != nil {
		found, exists, failed := w.api.findComment(ctx, w.Row.Target.Repository, number, mark, w.forge.Bot.ID)
		if failed != nil {
			return w.stopped(failed)
		}
		if exists {
			out.URL = found.URL
			return out
		}
	}
	added, failed := w.api.addComment(ctx, w.Row.Target.Repository, number, w.body()+"\n\n"+mark)
	if failed != nil {
		out := w.stopped(failed)
		// If the answer makes no sense, the comment may be there.
		out.Failed = out.Failed && failed.status >= http.StatusMultipleChoices
		return out
	}
	out.URL = added.URL
	return out
}

// maxPublished is how many characters of a text are published. GitHub takes 65,536.
const maxPublished = 60_000

// body returns the agent's text, in which nothing has an effect.
func (w publishing) body() string {
	text := neutral(w.Row.Payload.Body, nil)
	if short := cut(text, maxPublished); short != text {
		text = closeFence(short) + "\n\n(The rest is left out.)"
	}
	return text
}

// marker is hidden in the text of a pull request, and tells it from others of the same branch.
func (w publishing) marker() string {
	sum := sha256.Sum256([]byte(w.owner.Team + "\n" + w.owner.Repository + "\n" + w.owner.Owner))
	return "<!-- penstock thread " + hex.EncodeToString(sum[:16]) + " -->"
}

// title returns the title of the pull request, in which nothing has an effect.
func (w publishing) title() string {
	return neutralTitle(w.Row.Payload.Title, nil)
}

// text returns the text of the pull request: the agent's, and then what only Penstock writes.
func (w publishing) text() string {
	about := []string{"[Run of Penstock](" + w.Link + ")"}
	if name := neutralTitle(w.Requester, nil); name != "" {
		about = append(about, "requested by "+name)
	}
	about = append(about, fmt.Sprintf("cost so far $%.2f", float64(w.Cost)/1e9))
	return strings.TrimSpace(w.body()) + "\n\n---\n" + strings.Join(about, " · ") + "\n" + w.marker()
}
