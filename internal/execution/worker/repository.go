package worker

import (
	"context"
	"errors"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/supply/git"
)

// repository is a repository to check out.
type repository struct {
	owner, name string // from the URL, if it has them
	dir         string // relative to the workspace
	commit      string // that was checked out; "": the branch has none, or an earlier execution did it
	branch      string // that was checked out; "": a tag or a commit
	byRun       bool   // the run names it, not its environment
	source      git.Source
}

func (p *preparation) repoDirs() []string {
	var dirs []string
	for _, r := range p.repos {
		dirs = append(dirs, r.dir)
	}
	return dirs
}

// checkOut clones each repository of the environment and the run into a directory with its name. It leaves an
// existing directory unchanged, because it has the agent's work.
func (p *preparation) checkOut(ctx context.Context, config penstock.EnvironmentConfig) error {
	p.repos = p.repositories(config)
	for i, r := range p.repos {
		if _, err := p.box.space.root.Lstat(r.dir); err == nil {
			continue
		} else if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if p.w.Repositories == nil {
			return setupFailed("The worker cannot clone the repository %s, because git is not installed.", r.dir)
		}
		checkout, err := p.clone(ctx, r)
		if p.repos[i].commit, p.repos[i].branch = checkout.Commit, checkout.Branch; err != nil {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			return setupFailed("The worker cannot clone the repository %s: %s", r.dir, err)
		}
	}
	return nil
}

// clone makes a complete repository beside the workspace, and then moves it into the workspace. No
// process of a run sees the first place. Otherwise it could change the repository's configuration
// while git is running, and make git execute commands outside of the sandbox.
func (p *preparation) clone(ctx context.Context, r repository) (checkout git.Checkout, err error) {
	const name = "checkout"
	base := p.box.space.base(r.dir)
	remove := func() error {
		return errors.Join(p.w.spaces.removeIn(p.Lease.RunID, name), os.RemoveAll(base))
	}
	if err := errors.Join(remove(), os.MkdirAll(filepath.Dir(base), 0o700)); err != nil { // the rest of a killed worker
		return checkout, err
	}
	dir := filepath.Join(p.box.space.dir, name)
	checkout, err = p.w.Repositories.CheckoutWithBase(ctx, r.source, dir, base)
	if err == nil {
		err = os.Rename(dir, filepath.Join(p.box.space.work, r.dir))
	}
	if err != nil {
		return git.Checkout{}, errors.Join(err, remove())
	}
	if checkout.Commit == "" {
		p.sayUnborn(r, checkout)
	}
	return checkout, nil
}

// sayUnborn reports a repository without files on the timeline.
func (p *preparation) sayUnborn(r repository, checkout git.Checkout) {
	payload := map[string]any{
		"repository": r.dir, "branch": checkout.Branch, "message": "The repository has no commits yet.",
	}
	if checkout.Branches != nil {
		payload["branches"] = checkout.Branches
		payload["message"] = "The default branch of the repository has no commits. Set ref to check out another branch."
	}
	p.timeline(timelineUnbornBranch, payload)
}

// repositories lists the repositories to check out with their directories.
func (p *preparation) repositories(config penstock.EnvironmentConfig) []repository {
	list := withRepositories(p.ofEnvironment(config), p.namedByRun())
	for i := range list {
		if list[i].byRun {
			p.authorizeRun(&list[i].source)
		} else {
			p.authorize(&list[i].source)
		}
	}
	placeRepositories(list, p.Run.Subject != "")
	if p.box.resumes() {
		for i := range list {
			pin(&list[i], p.Checkpoint.Prepared)
		}
	}
	return list
}

// ofEnvironment lists the repositories of an environment.
func (p *preparation) ofEnvironment(config penstock.EnvironmentConfig) []repository {
	var list []repository
	for _, r := range config.GitHubRepos {
		source := git.Source{URL: r.CloneURL(), Password: p.githubToken()}
		list = append(list, repository{owner: r.Owner, name: r.Repo, source: source})
	}
	for _, r := range config.Repos {
		owner, name := git.Names(r.URL)
		list = append(list, repository{owner: owner, name: name, source: git.Source{URL: r.URL, Ref: r.Ref}})
	}
	return list
}

// placeRepositories gives each repository a folder of its own. Of two with one name, the later one
// gets its owner's name, too, or a number.
func placeRepositories(list []repository, events bool) {
	// We write these ourselves; the events only for a run with a subject.
	taken := map[string]bool{".penstock": true, "event-payload.json": true, "event-payload.raw": true, "events": events}
	for i := range list {
		r := &list[i]
		r.dir = git.Folder(r.name)
		if taken[r.dir] && r.owner != "" {
			r.dir = git.Folder(r.owner + "-" + r.name)
		}
		for n, first := 2, r.dir; taken[r.dir]; n++ {
			r.dir = first + "-" + strconv.Itoa(n)
		}
		taken[r.dir] = true
	}
}

// authorize sets the credential that the network policy has for the repository's host, as the proxy
// does for the agent.
func (p *preparation) authorize(source *git.Source) {
	address, err := url.Parse(source.URL)
	if err != nil || address.Scheme != "https" {
		return
	}
	port := 443
	if n, err := strconv.Atoi(address.Port()); err == nil {
		port = n
	}
	decision := p.box.outlet.policy.Decide(address.Hostname(), port)
	if !decision.Allowed || decision.Rule.Credential == nil {
		return
	}
	credential := decision.Rule.Credential
	if decision.Source == penstock.NetworkForge { // a connection is for single repositories of its host
		if decision, credential = p.box.outlet.policy.DecideClone(address); !decision.Allowed || credential == nil {
			return
		}
	}
	p.useCredential(source, *credential)
}

// evictEvery is the interval for removing unused mirrors.
const evictEvery = time.Hour

// evictMirrors removes unused mirrors until ctx ends. The embedded worker uses the mirrors of the
// server, which removes them itself.
func (w *Worker) evictMirrors(ctx context.Context) {
	if w.Repositories == nil || w.Local {
		return
	}
	tick := time.NewTicker(evictEvery)
	defer tick.Stop()
	for {
		n, err := w.Repositories.Evict(ctx, git.Unused)
		if n > 0 {
			w.Log.Info("unused repository mirrors removed", "mirrors", n)
		}
		if err != nil {
			w.Log.Warn("cannot remove repository mirrors", "error", err)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}
