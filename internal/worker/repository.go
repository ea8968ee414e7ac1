package worker

import (
	"context"
	"errors"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/git"
)

// repository is a repository to check out.
type repository struct {
	owner, name string // from the URL, if it has them
	dir         string // relative to the workspace
	source      git.Source
}

func (p *preparation) repoDirs() []string {
	var dirs []string
	for _, r := range p.repos {
		dirs = append(dirs, r.dir)
	}
	return dirs
}

// checkOut clones each repository of the environment into a directory with its name. It leaves an
// existing directory unchanged, because it has the agent's work.
func (p *preparation) checkOut(ctx context.Context, config penstock.EnvironmentConfig) error {
	var err error
	if p.repos, err = p.repositories(config); err != nil {
		return err
	}
	for _, r := range p.repos {
		if _, err := p.box.space.root.Lstat(r.dir); err == nil {
			continue
		} else if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if p.w.Repositories == nil {
			return setupFailed("The worker cannot clone the repository %s, because git is not installed.", r.dir)
		}
		if err := p.clone(ctx, r); err != nil {
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
func (p *preparation) clone(ctx context.Context, r repository) error {
	const name = "checkout"
	base := p.box.space.base(r.dir)
	remove := func() error {
		return errors.Join(p.w.spaces.removeIn(p.Lease.RunID, name), os.RemoveAll(base))
	}
	if err := errors.Join(remove(), os.MkdirAll(filepath.Dir(base), 0o700)); err != nil { // the rest of a killed worker
		return err
	}
	dir := filepath.Join(p.box.space.dir, name)
	_, err := p.w.Repositories.CheckoutWithBase(ctx, r.source, dir, base)
	if err == nil {
		err = os.Rename(dir, filepath.Join(p.box.space.work, r.dir))
	}
	if err != nil {
		return errors.Join(err, remove())
	}
	return nil
}

// repositories lists the repositories to check out with their directories.
func (p *preparation) repositories(config penstock.EnvironmentConfig) ([]repository, error) {
	var list []repository
	for _, r := range config.GitHubRepos {
		source := git.Source{URL: "https://github.com/" + r.Owner + "/" + r.Repo + ".git"}
		for _, name := range []string{"GITHUB_TOKEN", "GH_TOKEN"} {
			if source.Password == "" {
				source.Password = p.Secrets[name]
			}
		}
		list = append(list, repository{owner: r.Owner, name: r.Repo, source: source})
	}
	for _, r := range config.Repos {
		owner, name := splitURL(r.URL)
		list = append(list, repository{owner: owner, name: name, source: git.Source{URL: r.URL, Ref: r.Ref}})
	}
	for i := range list {
		p.authorize(&list[i].source)
	}
	taken := map[string]bool{".penstock": true}
	for i := range list {
		r := &list[i]
		if r.dir = r.name; taken[r.dir] {
			r.dir = r.owner + "-" + r.name
		}
		if !repoName.MatchString(r.dir) || taken[r.dir] {
			return nil, setupFailed("The name of the repository %q cannot be the name of a directory.", r.dir)
		}
		taken[r.dir] = true
	}
	return list, nil
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
	if credential.As == penstock.CredentialHeader {
		return // git can only send a user and a password
	}
	if value, granted := p.NetworkSecrets[credential.Secret]; granted {
		source.Username, source.Password = credential.User, value
	}
}

var repoName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._-]*$`)

// splitURL reads the last two parts of a repository's URL.
func splitURL(url string) (owner, name string) {
	parts := strings.FieldsFunc(
		strings.TrimSuffix(strings.TrimRight(url, "/"), ".git"), func(r rune) bool { return r == '/' || r == ':' },
	)
	if n := len(parts); n > 0 {
		name = parts[n-1]
		if n > 1 {
			owner = parts[n-2]
		}
	}
	return owner, name
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
