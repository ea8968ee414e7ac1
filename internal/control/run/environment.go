package run

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/access"
	"github.com/penstock-dev/penstock/internal/control/request"
	"github.com/penstock-dev/penstock/internal/control/store"
	"github.com/penstock-dev/penstock/internal/supply/git"
)

// Limits of an environment; texts in bytes.
const (
	maxRepos         = 20
	maxSetupCommands = 50
	maxSetupCommand  = 16 << 10
	maxProviders     = 64 << 10
	maxRetention     = 60 // minutes
)

// ViewerOf returns the viewer of a caller's lists.
func ViewerOf(p penstock.Principal) store.Viewer {
	return store.Viewer{Team: p.Team, UID: p.Actor.UID, All: p.May(penstock.ScopeAdmin)}
}

// ListEnvironments lists the team's environments by name or by time, with the latest change first.
// The default is by time.
func (s *Catalog) ListEnvironments(
	ctx context.Context, p penstock.Principal, sortBy string,
) ([]penstock.Environment, error) {
	if err := access.Require(p, penstock.ScopeRunsRead); err != nil {
		return nil, err
	}
	return s.store.Environments.List(ctx, ViewerOf(p), sortBy == "name")
}

// Environment returns one environment.
func (s *Catalog) Environment(ctx context.Context, p penstock.Principal, uid string) (penstock.Environment, error) {
	if err := access.Require(p, penstock.ScopeRunsRead); err != nil {
		return penstock.Environment{}, err
	}
	return s.store.Environments.Find(ctx, ViewerOf(p), uid)
}

// CreateEnvironment creates an environment. Its name, if it has one, is unique in the team,
// regardless of case.
func (s *Catalog) CreateEnvironment(
	ctx context.Context, p penstock.Principal, config penstock.EnvironmentConfig,
) (penstock.Environment, error) {
	if err := access.Require(p, penstock.ScopeFactoriesManage); err != nil {
		return penstock.Environment{}, err
	}
	if err := s.checkEnvironment(&config); err != nil {
		return penstock.Environment{}, err
	}
	e := penstock.Environment{UID: penstock.NewUID(), Config: config, LastUpdated: penstock.Now(), Creator: &p.Actor}
	return access.Edit(ctx, s.responses, p, func(tx *store.Tx) (penstock.Environment, error) {
		if err := access.UseCredentials(ctx, tx, p, config.Credentials()); err != nil {
			return e, err
		}
		if err := tx.Environments().Add(ctx, p.Team, e); err != nil {
			return e, err
		}
		if err := s.roomForEnvironment(ctx, tx, p.Team); err != nil {
			return e, err
		}
		return tx.Environments().Find(ctx, ViewerOf(p), e.UID)
	})
}

// ReplaceEnvironment replaces the whole configuration. Active executions keep the old one;
// waiting runs get the new one.
func (s *Catalog) ReplaceEnvironment(
	ctx context.Context, p penstock.Principal, uid string, config penstock.EnvironmentConfig,
) (penstock.Environment, error) {
	if err := access.Require(p, penstock.ScopeFactoriesManage); err != nil {
		return penstock.Environment{}, err
	}
	if err := s.checkEnvironment(&config); err != nil {
		return penstock.Environment{}, err
	}
	return access.Edit(ctx, s.responses, p, func(tx *store.Tx) (penstock.Environment, error) {
		e := penstock.Environment{UID: uid, Config: config, LastUpdated: penstock.Now(), LastEditor: &p.Actor}
		if err := access.UseCredentials(ctx, tx, p, config.Credentials()); err != nil {
			return e, err
		}
		if err := tx.Environments().Replace(ctx, p.Team, e); err != nil {
			return e, err
		}
		if err := s.roomForEnvironment(ctx, tx, p.Team); err != nil {
			return e, err
		}
		return tx.Environments().Find(ctx, ViewerOf(p), uid)
	})
}

// DeleteEnvironment deletes an environment for new runs; existing runs keep it. It is a
// conflict while an agent, or an enabled automation or schedule, names it, because their next
// run would fail.
func (s *Catalog) DeleteEnvironment(ctx context.Context, p penstock.Principal, uid string) error {
	if err := access.Require(p, penstock.ScopeFactoriesManage); err != nil {
		return err
	}
	return s.responses.Alter(ctx, p.Team, func(tx *store.Tx) error {
		if err := tx.Environments().Delete(ctx, p.Team, uid); err != nil {
			return err
		}
		users, err := tx.Environments().Users(ctx, uid)
		if err != nil || len(users) == 0 {
			return err
		}
		return penstock.Errorf(
			penstock.CodeConflict, "the environment is used by %s: change, pause or delete these first",
			nameUsers(p, users),
		)
	})
}

// nameUsers names the first few users of an environment. It does not name other people's personal
// schedules.
func nameUsers(p penstock.Principal, users []store.EnvironmentUser) string {
	const most = 5
	var names []string
	for i, u := range users {
		if i == most {
			names = append(names, fmt.Sprintf("%d more", len(users)-most))
			break
		}
		if u.Personal && u.Creator != p.Actor.UID && !p.May(penstock.ScopeAdmin) {
			names = append(names, "a personal schedule")
			continue
		}
		names = append(names, fmt.Sprintf("the %s %q", u.Kind, u.Name))
	}
	return strings.Join(names, ", ")
}

// The longest names, in bytes. They are not in the patterns, which would be slow to compile.
const (
	maxImageName  = 255
	maxGitHubName = 100
)

var (
	imageName   = penstock.LazyRegexp(`^[A-Za-z0-9][A-Za-z0-9._/:@-]*$`)
	githubOwner = penstock.LazyRegexp(`^[A-Za-z0-9_][A-Za-z0-9_-]*$`)
	githubRepo  = penstock.LazyRegexp(`^[A-Za-z0-9._-]+$`)
)

// checkEnvironment returns all errors of a configuration, and makes its name and its prebuild canonical.
func (s *Catalog) checkEnvironment(c *penstock.EnvironmentConfig) error {
	var errs []penstock.FieldError
	bad := func(pointer, format string, args ...any) {
		errs = append(errs, penstock.FieldError{Pointer: pointer, Detail: fmt.Sprintf(format, args...)})
	}
	c.Name = strings.TrimSpace(c.Name)
	request.Name(bad, c.Name, false)
	request.Text(bad, "/description", c.Description, request.MaxDescription)
	if c.DockerImage != "" && (len(c.DockerImage) > maxImageName || !imageName().MatchString(c.DockerImage)) {
		bad(
			"/docker_image",
			"is not a valid image reference; use a lower-case name, such as registry.example.com/team/app:1.2",
		)
	}
	checkImageSecret(bad, c)
	s.checkRepos(bad, c)
	if n := len(c.SetupCommands); n > maxSetupCommands {
		bad("/setup_commands", "has %d commands; at most %d are allowed", n, maxSetupCommands)
	}
	for i, command := range c.SetupCommands {
		at := fmt.Sprintf("/setup_commands/%d", i)
		if strings.TrimSpace(command) == "" {
			bad(at, "is empty")
		}
		request.Text(bad, at, command, maxSetupCommand)
	}
	if providers, err := json.Marshal(c.Providers); err != nil || len(providers) > maxProviders {
		bad("/providers", "must be JSON of at most %d bytes", maxProviders)
	}
	if m := c.FailureSessionRetentionMinutes; m != nil && (*m < 1 || *m > maxRetention) {
		bad("/failure_session_retention_minutes", "must be from 1 to %d; null or absent keeps no session", maxRetention)
	}
	checkStall(bad, c)
	c.Prebuild = checkPrebuild(bad, c.Prebuild)
	errs = append(errs, CheckNetwork("", c.Network, nil)...)
	if c.Network.IsZero() {
		c.Network = nil
	}
	if all, err := json.Marshal(c); err != nil || len(all) > penstock.MaxConfigBytes {
		bad("", "the environment has %d bytes of JSON; at most %d are allowed", len(all), penstock.MaxConfigBytes)
	}
	if errs != nil {
		return penstock.InvalidFields(errs...)
	}
	return nil
}

func checkStall(bad func(pointer, format string, args ...any), c *penstock.EnvironmentConfig) {
	if _, wrong := penstock.ParseStallAfter(c.StallAfter); c.StallAfter != "" && wrong != "" {
		bad("/stall_after", "%s", wrong)
	}
	switch c.OnStall {
	case "", StallAlert, StallCancel:
	default:
		bad("/on_stall", "must be alert or cancel")
	}
}

// checkPrebuild returns the settings with their defaults.
func checkPrebuild(bad func(pointer, format string, args ...any), given *penstock.Prebuild) *penstock.Prebuild {
	if given == nil {
		return nil
	}
	p := *given // the caller's may be in use elsewhere
	switch p.Mode = cmp.Or(p.Mode, penstock.PrebuildLazy); p.Mode {
	case penstock.PrebuildOff, penstock.PrebuildLazy:
	default:
		bad("/prebuild/mode", "must be off or lazy")
	}
	for at, list := range map[string][]string{
		"/prebuild/inputs": p.Inputs, "/prebuild/update_commands": p.UpdateCommands, "/prebuild/secrets": p.Secrets,
	} {
		if n := len(list); n > maxSetupCommands {
			bad(at, "has %d entries; at most %d are allowed", n, maxSetupCommands)
		}
	}
	for i, pattern := range p.Inputs {
		if !penstock.ValidPaths(pattern) {
			bad(fmt.Sprintf("/prebuild/inputs/%d", i),
				"is not a pattern for paths, such as package-lock.json or **/go.sum: a folder ** is any number of folders")
		}
	}
	for i, command := range p.UpdateCommands {
		at := fmt.Sprintf("/prebuild/update_commands/%d", i)
		if strings.TrimSpace(command) == "" {
			bad(at, "is empty")
		}
		request.Text(bad, at, command, maxSetupCommand)
	}
	for i, name := range p.Secrets {
		if !penstock.ValidSecretName(name) {
			bad(fmt.Sprintf("/prebuild/secrets/%d", i), "is not a valid name of a secret: use letters, digits and _")
		}
	}
	return &p
}

func checkImageSecret(bad func(pointer, format string, args ...any), c *penstock.EnvironmentConfig) {
	const pointer = "/docker_image_secret"
	switch {
	case c.DockerImageSecret == "":
	case c.DockerImage == "":
		bad(pointer, "is only allowed together with docker_image: it has the credentials of the image's registry")
	case !penstock.ValidSecretName(c.DockerImageSecret):
		bad(pointer, "is not a valid name of a secret: use letters, digits and _")
	}
}

func (s *Catalog) checkRepos(bad func(pointer, format string, args ...any), c *penstock.EnvironmentConfig) {
	if n := len(c.GitHubRepos) + len(c.Repos); n > maxRepos {
		bad("/repos", "there are %d repositories; at most %d are allowed", n, maxRepos)
	}
	seen := map[string]bool{}
	once := func(pointer, url string) {
		if seen[url] {
			bad(pointer, "is listed twice")
		}
		seen[url] = true
	}
	for i, r := range c.GitHubRepos {
		at := fmt.Sprintf("/github_repos/%d", i)
		if len(r.Owner) > maxGitHubName || !githubOwner().MatchString(r.Owner) {
			bad(at+"/owner", "is not the name of a GitHub user or organization")
		}
		if len(r.Repo) > maxGitHubName || !githubRepo().MatchString(r.Repo) || strings.Trim(r.Repo, ".") == "" {
			bad(at+"/repo", "is not the name of a repository, without its owner")
		}
		once(at, strings.ToLower(r.CloneURL()))
	}
	for i, r := range c.Repos {
		at := fmt.Sprintf("/repos/%d", i)
		if err := CheckRemote(s.skillCache, r.URL); err != nil {
			bad(at+"/url", "%s", err)
		}
		if err := git.CheckRef(r.Ref); err != nil {
			bad(at+"/ref", "%s", err)
		}
		once(at, r.URL+" "+r.Ref) // a space ends no URL
	}
}

// CheckRemote returns an error for a URL that git cannot clone, or that contains credentials:
// the whole team would see them.
func CheckRemote(cache *git.Cache, raw string) error {
	if err := cache.CheckURL(raw); err != nil {
		return err
	}
	if u, err := url.Parse(raw); err == nil && u.Scheme != "ssh" && u.User != nil {
		return errors.New("the URL must not hold a user name or password")
	}
	if host, path, scp := strings.Cut(raw, ":"); scp && !strings.HasPrefix(path, "//") && !strings.Contains(host, "@") {
		// user:password@host/path would be the path password@host/path on the host user.
		if first, _, _ := strings.Cut(path, "/"); strings.Contains(first, "@") {
			return errors.New("the URL must not hold a password: use https://…, ssh://… or user@host:path")
		}
	}
	return nil
}

// UseEnvironment ensures that the environment exists when the transaction commits.
func UseEnvironment(ctx context.Context, tx *store.Tx, p penstock.Principal, uid, pointer string) error {
	if uid == "" {
		return nil
	}
	err := tx.Environments().Use(ctx, p.Team, uid)
	if penstock.CodeOf(err) == penstock.CodeNotFound {
		return penstock.Invalid(pointer, "there is no environment %q", uid)
	}
	return err
}
