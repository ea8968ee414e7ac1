package worker

import (
	"net/url"
	"slices"
	"strings"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/supply/git"
)

// namedByRun lists the repositories that the configuration of the run names, each once.
func (p *preparation) namedByRun() []repository {
	var list []repository
	for _, r := range p.config.Repositories {
		owner, name := git.Names(r.URL)
		next := repository{owner: owner, name: name, byRun: true, source: git.Source{URL: r.URL, Ref: r.Ref}}
		if !slices.ContainsFunc(list, next.same) {
			list = append(list, next)
		}
	}
	return list
}

// same reports whether r and other are one repository at one ref.
func (r repository) same(other repository) bool {
	return r.sibling(other) && r.source.Ref == other.source.Ref
}

// sibling reports whether r and other are one repository, at any ref.
func (r repository) sibling(other repository) bool {
	return git.Identity(r.source.URL) == git.Identity(other.source.URL)
}

// withRepositories adds the repositories that a run names to the environment's. If the run names other refs
// of a repository than the environment does, the run's win. Its folder stays the same.
// Without a ref, the run means the repository as the environment has it.
func withRepositories(environment, run []repository) []repository {
	list := slices.Clone(environment)
	for _, r := range run {
		if !slices.ContainsFunc(environment, r.sibling) {
			list = append(list, r)
			continue
		}
		if r.source.Ref == "" || slices.ContainsFunc(list, r.same) {
			continue
		}
		replaced := func(of repository) bool { return !of.byRun && r.sibling(of) && !wanted(run, of) }
		if at := slices.IndexFunc(list, replaced); at >= 0 {
			list[at] = r
			list = slices.DeleteFunc(list, replaced)
		} else {
			list = append(list, r)
		}
	}
	return list
}

// wanted reports whether a run names a repository of its environment as the environment does.
func wanted(run []repository, of repository) bool {
	return slices.ContainsFunc(run, func(r repository) bool {
		return r.sibling(of) && (r.source.Ref == "" || r.source.Ref == of.source.Ref)
	})
}

// hasOwnRepositories reports whether the workspace gets other repositories than the environment has.
func (p *preparation) hasOwnRepositories(config penstock.EnvironmentConfig) bool {
	return slices.ContainsFunc(
		withRepositories(p.ofEnvironment(config), p.namedByRun()), func(r repository) bool { return r.byRun },
	)
}

// authorizeRun sets the credential for a repository that the run itself names. Unlike an environment,
// the run may only read what its network policy allows, so the paths of a rule count.
func (p *preparation) authorizeRun(source *git.Source) {
	address, err := url.Parse(source.URL)
	if err != nil || address.Scheme != "https" {
		return
	}
	if strings.EqualFold(address.Host, "github.com") {
		source.Password = p.githubToken()
	}
	if d, credential := p.box.outlet.policy.DecideClone(address); d.Allowed && credential != nil {
		p.useCredential(source, *credential)
	}
}

// useCredential sets a credential that git can send, if the run has its secret.
func (p *preparation) useCredential(source *git.Source, credential penstock.NetworkCredential) {
	if credential.As == penstock.CredentialHeader {
		return // git can only send a user and a password
	}
	if value, granted := p.NetworkSecrets[credential.Secret]; granted {
		source.Username, source.Password = credential.User, value
	}
}

// githubToken returns the secret of the run that GitHub's own programs use, or "".
func (p *preparation) githubToken() string {
	for _, name := range []string{"GITHUB_TOKEN", "GH_TOKEN"} {
		if value := p.Secrets[name]; value != "" {
			return value
		}
	}
	return ""
}
