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
	"unicode"
	"unicode/utf8"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/store"
)

// Target is the repository of an output.
type Target struct {
	ForgeUID, Connection, Path string
	URL                        string // that git clones
	Ref                        string // in the run; "": the default branch
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
				found = append(found, Target{row.UID, row.Name, grant.Path, grant.URL, grant.Ref})
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
	Labels       []string                 // of a new pull request
	Policy       penstock.OutputPolicy    // of the run
	Requester    string
	Cost         int64 // of the run so far, in nano-dollars
}

// Published says what has come of a try. Without Done and Failed, it is to be tried again, after Wait or later.
type Published struct {
	Done, Failed bool
	Refused      bool // the forge refuses it, or makes no sense: a few times, since it may do so for a moment only
	URL          string
	Number       int64
	Problem      string
	Wait         time.Duration
	Draft        bool               // of the pull request
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
	began int64  // the issue or pull request whose event has started the run; 0: none in this repository

	title, body string // as they are published
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
		c.log.Error("cannot do an output", "output_uid", p.Row.UID, "error", err)
		return Published{Problem: fmt.Sprintf("The tokens of %s cannot be decrypted.", row.Name)}, nil
	}
	w := publishing{
		Publication: p, api: c.api(row.Forge, t.Token), forge: row.Forge,
		title: neutralTitle(p.Row.Payload.Title, nil), body: published(p.Row.Payload.Body),
	}
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
		thread, has, err := c.store.Forges.ThreadOf(ctx, p.Row.RunID)
		if err != nil {
			return Published{}, err
		}
		if has && thread.Connection == row.UID && strings.EqualFold(thread.Repository, path) {
			w.began = thread.Number
		}
		return w.comment(ctx), nil
	}
	return w.pullRequest(ctx), nil
}

// stopped says what a failure of the forge means for an output.
func (w publishing) stopped(failed *failure) Published {
	return Published{
		Problem: fmt.Sprintf("%s: %s.", w.forge.Name, failed.text), Wait: failed.wait,
		Refused: failed.kind == lacking || failed.kind == foreign,
	}
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
	now, before, found, failed := w.open(ctx, func(p pull) bool { return p.Base == base })
	switch {
	case failed != nil:
		return w.stopped(failed)
	case found && now.Head != branch:
		return failedf("The pull request %s is open, of the branch %s: push to that one.", now.URL, now.Head)
	case found:
		return w.change(ctx, now, before)
	}
	now, found, failed = w.api.findPull(ctx, w.Row.Target.Repository, branch, base)
	switch {
	case failed != nil:
		return w.stopped(failed)
	case found && digestOf(now) != digest(w.title, w.body):
		return w.foreign(now, "Somebody else has opened or edited it; its text stays as it is.")
	case found: // a try whose result is unknown has opened it
		return w.equipped(ctx, now)
	}
	now, failed = w.api.createPull(ctx, w.Row.Target.Repository, newPull{
		Title: w.title, Body: w.text(), Head: branch, Base: base,
		Draft: w.Row.Payload.Draft == nil || *w.Row.Payload.Draft,
	})
	if failed != nil {
		return w.notCreated(failed, base)
	}
	return w.equipped(ctx, now)
}

// open finds an open pull request of the thread, and the digest of what it had after the last change.
func (w publishing) open(
	ctx context.Context, wanted func(pull) bool,
) (now pull, before string, found bool, _ *failure) {
	for _, known := range w.known {
		now, failed := w.api.readPull(ctx, w.Row.Target.Repository, known.Number)
		switch {
		case failed != nil && failed.status == http.StatusNotFound: // it was deleted
		case failed != nil:
			return pull{}, "", false, failed
		case now.Open && now.Head == known.Branch && wanted(now):
			return now, known.Written, true, nil
		}
	}
	return pull{}, "", false, nil
}

// equipped is done for a new pull request, which gets its labels and reviewers. What the forge refuses of them is a
// problem, and no reason to try again: the pull request is there.
func (w publishing) equipped(ctx context.Context, now pull) Published {
	path := w.Row.Target.Repository
	var problems []string
	refused, why := each(w.Labels, func(names []string) *failure {
		return w.api.addLabels(ctx, path, now.Number, names)
	})
	if refused != nil {
		problems = append(problems, fmt.Sprintf("These labels were not set: %s (%s).", strings.Join(refused, ", "), why))
	}
	reviewers := slices.DeleteFunc(slices.Clone(w.Policy.Reviewers), func(login string) bool {
		return w.forge.Bot != nil && strings.EqualFold(login, w.forge.Bot.Login) // it is the author
	})
	refused, why = each(reviewers, func(names []string) *failure {
		return w.api.askReviewers(ctx, path, now.Number, names)
	})
	if refused != nil {
		problems = append(problems, fmt.Sprintf("%s refuses these reviewers: %s (%s).", w.forge.Name,
			strings.Join(refused, ", "), why))
	}
	return w.done(now, strings.Join(problems, " "))
}

// each does something for all names at once, and if the forge refuses that, for each by itself, because one that is
// refused must not keep out the others (Madrapps/add-reviewers#5). It returns what was refused, and why.
func each(names []string, do func([]string) *failure) (refused []string, why string) {
	if len(names) == 0 {
		return nil, ""
	}
	failed := do(names)
	if failed == nil {
		return nil, ""
	}
	if failed.kind != lacking || len(names) == 1 {
		return names, failed.text
	}
	for _, name := range names {
		if failed := do([]string{name}); failed != nil {
			refused, why = append(refused, name), failed.text
		}
	}
	return refused, why
}

// notCreated says what a failure to create a pull request means. A forge may not know yet what was pushed a moment
// ago.
func (w publishing) notCreated(failed *failure, base string) Published {
	out := w.stopped(failed)
	switch {
	case failed.exists(): // the next try finds it
		out.Refused = false
	case failed.status == http.StatusConflict || failed.status == http.StatusUnprocessableEntity ||
		failed.status == http.StatusNotFound:
		out.Problem = fmt.Sprintf("%s refuses the pull request (%d). Does the branch %s still exist, and has it commits "+
			"that %s does not have?", w.forge.Name, failed.status, w.Row.Payload.Branch, base)
	}
	return out
}

// base returns the base branch of the pull request: the one that was declared, or else the ref of the repository in
// the run, or its default branch. wrong says why the policy does not allow it.
func (w publishing) base(ctx context.Context) (base, wrong string, failed *failure) {
	base, wrong, failed = chooseBase(w.Policy, w.ref, w.Row.Payload.Base, func() (string, *failure) {
		return w.api.defaultBranch(ctx, w.Row.Target.Repository)
	})
	if wrong != "" {
		return "", "The base " + wrong + ".", nil
	}
	if failed == nil && base == w.Row.Payload.Branch {
		return "", "The base is the branch itself.", nil
	}
	return base, "", failed
}

// chooseBase returns the base of a pull request, or what is wrong with it. It asks for the default branch of the
// repository only if it matters.
func chooseBase(
	policy penstock.OutputPolicy, ref, declared string, defaultBranch func() (string, *failure),
) (base, wrong string, failed *failure) {
	if commitID().MatchString(ref) {
		ref = ""
	}
	base = cmp.Or(declared, ref)
	if base != "" && !policy.MatchesBase(base) {
		return "", "must match " + policy.Bases() + ", as the settings of the run say (forge.outputs.pullRequest.base)", nil
	}
	if base != "" && (base == ref || !policy.UsualBase()) {
		return base, "", nil
	}
	normal, failed := defaultBranch()
	switch {
	case failed != nil:
		return "", "", failed
	case base == "" && !policy.MatchesBase(normal):
		return "", fmt.Sprintf("is %s without another one, and must match %s: name one", normal, policy.Bases()), nil
	case base != "" && base != normal:
		return "", "must be " + strings.Join(slices.DeleteFunc([]string{ref, normal},
			func(s string) bool { return s == "" }), " or "), nil
	}
	return normal, "", nil
}

// baseLimit is how long the declaration of an output waits for the default branch of its repository.
const baseLimit = 5 * time.Second

// CheckBase returns what is wrong with the base of a declared pull request, or "". A forge that does not answer says
// so later, when the pull request is opened.
func (c *Connections) CheckBase(
	ctx context.Context, team string, to Target, policy penstock.OutputPolicy, declared string,
) string {
	if declared == "" && policy.Bases() == "" {
		return "" // it is the usual one
	}
	ctx, cancel := context.WithTimeout(ctx, baseLimit)
	defer cancel()
	_, wrong, _ := chooseBase(policy, to.Ref, declared, func() (string, *failure) {
		row, err := c.store.Forges.Find(ctx, team, to.ForgeUID)
		if err != nil {
			return "", &failure{text: "the connection cannot be read"}
		}
		t, err := c.open(row)
		if err != nil {
			return "", &failure{text: "the tokens cannot be decrypted"}
		}
		return c.api(row.Forge, t.Token).defaultBranch(ctx, to.Path)
	})
	return wrong
}

// change gives an open pull request the text of the output, unless a person has edited it.
func (w publishing) change(ctx context.Context, now pull, before string) Published {
	problem := ""
	if draft := w.Row.Payload.Draft; now.Draft && draft != nil && !*draft {
		problem = "It is still a draft: mark it as ready on the forge."
	}
	switch digestOf(now) {
	case digest(w.title, w.body): // also by a try whose result is unknown
		return w.done(now, problem)
	case before:
	default:
		return w.foreign(now, "Its text was edited on the forge, and stays as it is.")
	}
	now, failed := w.api.updatePull(ctx, w.Row.Target.Repository, now.Number, w.title, w.text())
	if failed != nil {
		return w.stopped(failed)
	}
	return w.done(now, problem)
}

func (w publishing) done(now pull, problem string) Published {
	return Published{
		Done: true, URL: now.URL, Number: now.Number, Problem: problem, Draft: now.Draft,
		PullRequest: &store.PullRequest{
			BranchOwner: w.owner, Factory: w.Factory, Connection: w.Row.Connection, Base: now.Base, Branch: now.Head,
			URL: now.URL, Number: now.Number, RepositoryID: now.Repository, Written: digestOf(now),
		},
	}
}

// foreign is done for a pull request whose text is not what the thread has written, and never becomes it.
func (w publishing) foreign(now pull, problem string) Published {
	out := w.done(now, problem)
	out.PullRequest.Written = ""
	return out
}

// divided is between the agent's text and what only Penstock writes.
const divided = "\n\n---\n[Run of Penstock]("

// digestOf is [digest] for what a pull request has now.
func digestOf(p pull) string {
	body, _, _ := strings.Cut(strings.ReplaceAll(p.Body, "\r\n", "\n"), divided)
	return digest(p.Title, body)
}

// digest tells a title and a text of an agent from others. It leaves out what a forge may change.
func digest(title, body string) string {
	sum := sha256.Sum256([]byte(line(title, maxTitle) + "\n" + strings.TrimSpace(body)))
	return hex.EncodeToString(sum[:])
}

// comment adds a comment to the open pull request of the thread or, without one, to what has started the run.
func (w publishing) comment(ctx context.Context) Published {
	on, _, _, failed := w.open(ctx, func(pull) bool { return true })
	if failed != nil {
		return w.stopped(failed)
	}
	mark := "<!-- penstock output " + w.Row.UID + " -->"
	if w.Row.Tries > 1 {
		out, failed := w.written(ctx, mark)
		if failed != nil {
			return w.stopped(failed)
		}
		if out.Done {
			return out
		}
	}
	below := cmp.Or(on.Number, w.began)
	if below == 0 {
		return failedf("The run has no open pull request in %s.", w.Row.Target.Repository)
	}
	out := Published{Done: true, Number: on.Number}
	added, failed := w.api.addComment(ctx, w.Row.Target.Repository, below, w.body+"\n\n"+mark)
	if failed != nil {
		return w.stopped(failed)
	}
	out.URL = added.URL
	return out
}

// written looks for a comment wherever an earlier try may have written it: the pull request may be closed by now.
func (w publishing) written(ctx context.Context, mark string) (out Published, _ *failure) {
	numbers := []int64{w.began}
	for _, known := range w.known {
		numbers = append(numbers, known.Number)
	}
	slices.Sort(numbers)
	for _, n := range slices.Compact(numbers) {
		if n == 0 {
			continue
		}
		found, has, failed := w.api.ownComment(ctx, w.Row.Target.Repository, n, mark)
		if failed != nil && failed.status == http.StatusNotFound { // it was deleted
			continue
		}
		if failed != nil || has {
			out.Done, out.URL = has, found.URL
			if out.Number = n; n == w.began {
				out.Number = 0
			}
			return out, failed
		}
	}
	return out, nil
}

// maxPublished is how many bytes of a text are published. GitHub takes 65,536 characters.
const maxPublished = 60_000

// published returns an agent's text as it is published: nothing in it has an effect.
func published(text string) string {
	out := neutral(text, nil)
	for len(out) > maxPublished { // a part is neutral only by itself
		text = cut(text, utf8.RuneCountInString(text)*maxPublished/len(out)*9/10)
		out = neutral(text, nil) + "\n\n(The rest is left out.)"
	}
	return strings.ReplaceAll(strings.TrimSpace(out), divided, "\n\n---\n[Run](")
}

// text returns the text of the pull request: the agent's, and then what only Penstock writes.
func (w publishing) text() string {
	about := w.Link + ")"
	name := strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune(" .-'", r) {
			return r
		}
		return -1 // Markdown
	}, w.Requester)
	if name = strings.Join(strings.Fields(name), " "); name != "" {
		about += " · requested by " + name
	}
	return fmt.Sprintf("%s%s%s · cost so far $%.2f", w.body, divided, about, float64(w.Cost)/1e9)
}

// Plain returns a text of an agent as people read it when it is published. It is for searches.
func Plain(text string) string {
	return strings.NewReplacer(divider, "", "%40", "@").Replace(neutral(text, nil))
}
