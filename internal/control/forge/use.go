package forge

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/access"
	"github.com/penstock-dev/penstock/internal/control/store"
)

// Use is a run that may use connections.
type Use struct {
	Team, Factory string
	Agent         bool // the key of an agent names the repositories
}

// Resolve gives each repository of a run the connection that it uses: the one that it names, or the only one
// that has it. It returns the errors with pointers below /config/repositories.
func (c *Connections) Resolve(
	ctx context.Context, use Use, list []penstock.RunRepository,
) ([]penstock.RunRepository, error) {
	if len(list) == 0 {
		return list, nil
	}
	rows, err := c.store.Forges.List(ctx, use.Team)
	if err != nil {
		return nil, err
	}
	out := slices.Clone(list)
	var errs []penstock.FieldError
	for i := range out {
		pointer, detail := use.resolve(rows, &out[i])
		if detail != "" {
			errs = append(errs, penstock.FieldError{
				Pointer: fmt.Sprintf("/config/repositories/%d/%s", i, pointer), Detail: detail,
			})
		}
	}
	if errs != nil {
		return nil, penstock.InvalidFields(errs...)
	}
	return out, nil
}

// Finder reads the connections of a team. The result returns why runs of a factory ("": of none) cannot have a
// repository by now, or "", and the key of the repository at fault.
func (c *Connections) Finder(
	ctx context.Context, team string,
) (func(factory string, r penstock.RunRepository) (key, problem string), error) {
	rows, err := c.store.Forges.List(ctx, team)
	return func(factory string, r penstock.RunRepository) (key, problem string) {
		return Use{Team: team, Factory: factory}.resolve(rows, &r)
	}, err
}

func (u Use) resolve(rows []store.ForgeRow, r *penstock.RunRepository) (pointer, detail string) {
	switch {
	case r.Connection == "":
		return u.implied(rows, r)
	case u.Agent: // before it could learn which connections exist
		return "connection", "the key of an agent cannot use connections for the runs that it creates"
	}
	i := slices.IndexFunc(rows, func(row store.ForgeRow) bool { return row.Name == r.Connection })
	if i < 0 {
		var names []string
		for _, row := range rows {
			names = append(names, row.Name)
		}
		detail = fmt.Sprintf("the team has no connection %.80q", r.Connection)
		if near := penstock.Nearest(r.Connection, names); near != "" {
			detail += fmt.Sprintf("; did you mean %q?", near)
		}
		return "connection", detail
	}
	forge := rows[i].Forge
	// A run that is repeated has all three, as the server has set them.
	if path, has := forge.PathOf(r.URL); r.URL != "" && (!has || !strings.EqualFold(path, r.Path)) {
		return "url", fmt.Sprintf("is not the URL of %s on %s: leave it out", r.Path, forge.URL)
	}
	if detail := forge.MayUse(u.Factory, r.Path); detail != "" {
		return "path", detail
	}
	r.URL = forge.CloneURL(r.Path)
	return "", ""
}

// implied sets the connection of a repository that is given by its URL.
func (u Use) implied(rows []store.ForgeRow, r *penstock.RunRepository) (pointer, detail string) {
	if u.Agent {
		return "", ""
	}
	var names []string
	found := *r
	for _, row := range rows {
		path, has := row.PathOf(r.URL)
		if has && row.MayUse(u.Factory, path) == "" {
			names = append(names, row.Name)
			found.Connection, found.Path, found.URL = row.Name, path, row.CloneURL(path)
		}
	}
	if len(names) > 1 {
		return "url", fmt.Sprintf("more than one connection has it (%s): use connection and path instead",
			strings.Join(names, ", "))
	}
	*r = found
	return "", ""
}

// Join adds to a policy what a run may reach because of connections: its own repositories, if their connections
// still allow it, and each URL of its environment that exactly one connection has. The credentials are named
// "forge:" and the uid of the connection.
func (c *Connections) Join(
	ctx context.Context, use Use, list []penstock.RunRepository, environment []string, policy *penstock.NetworkPolicy,
) error {
	if len(list)+len(environment) == 0 {
		return nil
	}
	rows, err := c.store.Forges.List(ctx, use.Team)
	if err != nil {
		return err
	}
	list = slices.Clone(list)
	for _, address := range environment {
		r := penstock.RunRepository{URL: address}
		if _, detail := use.implied(rows, &r); detail == "" && r.Connection != "" {
			list = append(list, r)
		}
	}
	for _, row := range rows {
		layer := penstock.NetworkLayer{Source: penstock.NetworkForge, Name: row.Name}
		for _, r := range list {
			path, has := row.PathOf(r.URL)
			if r.Connection == row.Name && has && row.MayUse(use.Factory, path) == "" {
				layer.Network.Allow = append(layer.Network.Allow, readRules(row.Forge, path)...)
			}
		}
		if layer.Network.Allow == nil {
			continue
		}
		policy.Layers = append(policy.Layers, layer)
		if policy.SecretHosts == nil {
			policy.SecretHosts = map[string][]string{}
		}
		for _, r := range layer.Network.Allow {
			if name := r.Credential.Secret; !slices.Contains(policy.SecretHosts[name], r.Host) {
				policy.SecretHosts[name] = append(policy.SecretHosts[name], r.Host)
			}
		}
	}
	return nil
}

// readable are the parts of a repository that runs may read by the API of a forge. Others have what is none of a
// run's business: settings, hooks, keys, secrets, variables, tokens of runners, and comparisons with private forks.
var readable = []string{
	"assignees", "branches", "comments", "commits", "contents", "git", "issues", "labels", "languages",
	"media", "milestones", "pulls", "raw", "readme", "releases", "reviewers", "statuses", "tags", "topics",
}

// readRules lets a run read one repository of a forge: by git, and by the API. A push, an upload of LFS and
// every other write is not among them.
func readRules(f penstock.Forge, path string) []penstock.NetworkRule {
	base, err := url.Parse(f.URL)
	if err != nil {
		return nil
	}
	prefix := base.EscapedPath() + "/" + path
	git := penstock.NetworkCredential{Secret: credentialOf(f), As: penstock.CredentialBasic}
	rule := func(host, port string, credential penstock.NetworkCredential, methods, paths []string) penstock.NetworkRule {
		r := penstock.NetworkRule{Host: penstock.CanonicalHost(host), Methods: methods, Paths: paths, Credential: &credential}
		if n, err := strconv.Atoi(port); err == nil {
			r.Ports = []int{n}
		}
		return r
	}
	read, post := []string{http.MethodGet, http.MethodHead}, []string{http.MethodPost}
	api, err := url.Parse(apiBase(f))
	if err != nil {
		return nil
	}
	bearer := penstock.NetworkCredential{Secret: credentialOf(f), As: penstock.CredentialBearer}
	of := api.EscapedPath() + "/repos/" + path
	var parts []string
	if f.Provider == penstock.HostGitea { // GitHub's answer can have a token to clone it
		parts = append(parts, of)
	}
	for _, name := range readable {
		parts = append(parts, of+"/"+name, of+"/"+name+"/*")
	}
	return []penstock.NetworkRule{
		rule(base.Hostname(), base.Port(), git, read, []string{prefix + ".git/info/refs", prefix + "/info/refs"}),
		rule(base.Hostname(), base.Port(), git, post, []string{prefix + ".git/git-upload-pack", prefix + "/git-upload-pack"}),
		rule(api.Hostname(), api.Port(), bearer, read, parts),
	}
}

// credentialOf is the name of a connection's token in a policy. No managed secret can have it.
func credentialOf(f penstock.Forge) string { return penstock.ForgeCredential + f.UID }

// Grant reads the tokens for the connections of a policy, and says where the run may push. The values are for
// the worker and never for the sandbox. If the run cannot have the connection of one of its repositories, the
// error is a *access.GrantError.
func (c *Connections) Grant(
	ctx context.Context, use Use, list []penstock.RunRepository, policy penstock.NetworkPolicy,
) (values map[string]string, pushes []penstock.PushGrant, err error) {
	named := slices.ContainsFunc(list, func(r penstock.RunRepository) bool { return r.Connection != "" })
	used := slices.ContainsFunc(policy.Layers, func(l penstock.NetworkLayer) bool {
		return l.Source == penstock.NetworkForge
	})
	if !named && !used {
		return nil, nil, nil
	}
	rows, err := c.store.Forges.List(ctx, use.Team)
	if err != nil {
		return nil, nil, err
	}
	for _, r := range list {
		if reason := use.lost(rows, r); reason != "" {
			return nil, nil, access.NotGranted("%s", reason)
		}
	}
	values = map[string]string{}
	for _, layer := range policy.Layers {
		if layer.Source != penstock.NetworkForge {
			continue
		}
		i := slices.IndexFunc(rows, func(row store.ForgeRow) bool { return row.Name == layer.Name })
		if i < 0 {
			continue // deleted a moment ago: without its value, its rules have no effect
		}
		t, err := c.open(rows[i])
		if err != nil {
			return nil, nil, access.NotOpened(err, "the tokens of the connection %s", layer.Name)
		}
		values[credentialOf(rows[i].Forge)] = t.forRuns()
		grants := pushGrants(rows[i].Forge, list)
		if pushes = append(pushes, grants...); grants != nil {
			values[grants[0].Credential] = t.Token
		}
	}
	return values, pushes, nil
}

// pushGrants lists the repositories of a run to which it may push with a connection: those that its
// configuration names. The repositories of an environment are not among them, because the key of an agent
// can choose one.
func pushGrants(f penstock.Forge, list []penstock.RunRepository) []penstock.PushGrant {
	if f.Bot == nil {
		return nil
	}
	bot := *f.Bot
	bot.Email = f.CommitEmail()
	var grants []penstock.PushGrant
	for _, r := range list {
		path, has := f.PathOf(r.URL)
		if r.Connection != f.Name || !has || slices.ContainsFunc(grants, func(g penstock.PushGrant) bool {
			return strings.EqualFold(g.Path, path)
		}) {
			continue
		}
		grants = append(grants, penstock.PushGrant{
			Connection: f.Name, Path: path, URL: f.CloneURL(path), Ref: r.Ref, Bot: bot,
			Credential: penstock.PushCredential + f.UID,
		})
	}
	return grants
}

// lost returns why a run cannot have the connection of a repository any more, or "".
func (u Use) lost(rows []store.ForgeRow, r penstock.RunRepository) string {
	if r.Connection == "" {
		return ""
	}
	i := slices.IndexFunc(rows, func(row store.ForgeRow) bool { return row.Name == r.Connection })
	if i < 0 {
		return fmt.Sprintf("The run needs the connection %s, which was deleted.", r.Connection)
	}
	path, has := rows[i].PathOf(r.URL)
	switch reason := rows[i].MayUse(u.Factory, path); {
	case !has:
		return fmt.Sprintf("The connection %s is for %s now, which does not have the repository %s of the run.",
			r.Connection, rows[i].URL, r.Path)
	case reason != "":
		return "The run cannot be prepared: " + reason + "."
	case rows[i].Status == penstock.ForgeRevoked:
		return fmt.Sprintf("%s is not connected: %s", r.Connection, rows[i].Problem)
	}
	return ""
}
