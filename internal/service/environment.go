package service

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/git"
	"github.com/penstock-dev/penstock/internal/store"
)

// Limits of an environment; texts in bytes.
const (
	maxRepos         = 20
	maxSetupCommands = 50
	maxSetupCommand  = 16 << 10
	maxProviders     = 64 << 10
	maxRetention     = 60 // minutes
)

// Limits of what people name and describe, in bytes.
const (
	maxName        = 100
	maxDescription = 4 << 10
)

// viewerOf is for whom lists are made.
func viewerOf(p penstock.Principal) store.Viewer {
	return store.Viewer{Team: p.Team, UID: p.Actor.UID, All: p.May(penstock.ScopeAdmin)}
}

// ListEnvironments lists the team's environments by name or, which is the
// default, by time, latest change first.
func (s *Service) ListEnvironments(ctx context.Context, p penstock.Principal, sortBy string) ([]penstock.Environment, error) {
	if err := require(p, penstock.ScopeRunsRead); err != nil {
		return nil, err
	}
	return s.store.Environments(ctx, viewerOf(p), sortBy == "name")
}

// Environment answers one environment.
func (s *Service) Environment(ctx context.Context, p penstock.Principal, uid string) (penstock.Environment, error) {
	if err := require(p, penstock.ScopeRunsRead); err != nil {
		return penstock.Environment{}, err
	}
	return s.store.EnvironmentFor(ctx, viewerOf(p), uid)
}

// CreateEnvironment makes an environment. Its name, if it has one, is the only
// one of the team, in whatever case it is written.
func (s *Service) CreateEnvironment(ctx context.Context, p penstock.Principal, config penstock.EnvironmentConfig) (penstock.Environment, error) {
	if err := require(p, penstock.ScopeFactoriesManage); err != nil {
		return penstock.Environment{}, err
	}
	if err := s.checkEnvironment(&config); err != nil {
		return penstock.Environment{}, err
	}
	e := penstock.Environment{UID: penstock.NewUID(), Config: config, LastUpdated: penstock.Now(), Creator: &p.Actor}
	return edit(ctx, s, p, func(tx *store.Tx) (penstock.Environment, error) {
		if err := tx.AddEnvironment(ctx, p.Team, e); err != nil {
			return e, err
		}
		if err := s.roomForEnvironment(ctx, tx, p.Team); err != nil {
			return e, err
		}
		return tx.EnvironmentFor(ctx, viewerOf(p), e.UID)
	})
}

// ReplaceEnvironment changes the whole configuration. Executions that have
// begun keep what they began with; a run that waits gets the new one.
func (s *Service) ReplaceEnvironment(ctx context.Context, p penstock.Principal, uid string, config penstock.EnvironmentConfig) (penstock.Environment, error) {
	if err := require(p, penstock.ScopeFactoriesManage); err != nil {
		return penstock.Environment{}, err
	}
	if err := s.checkEnvironment(&config); err != nil {
		return penstock.Environment{}, err
	}
	return edit(ctx, s, p, func(tx *store.Tx) (penstock.Environment, error) {
		e := penstock.Environment{UID: uid, Config: config, LastUpdated: penstock.Now(), LastEditor: &p.Actor}
		if err := tx.ReplaceEnvironment(ctx, p.Team, e); err != nil {
			return e, err
		}
		if err := s.roomForEnvironment(ctx, tx, p.Team); err != nil {
			return e, err
		}
		return tx.EnvironmentFor(ctx, viewerOf(p), uid)
	})
}

// DeleteEnvironment takes an environment away from new runs; runs that have it
// keep it. It is a conflict as long as an agent, or an automation or schedule
// that is switched on, names it: their next run could not be created.
func (s *Service) DeleteEnvironment(ctx context.Context, p penstock.Principal, uid string) error {
	if err := require(p, penstock.ScopeFactoriesManage); err != nil {
		return err
	}
	return s.alter(ctx, p.Team, func(tx *store.Tx) error {
		if err := tx.DeleteEnvironment(ctx, p.Team, uid); err != nil {
			return err
		}
		users, err := tx.EnvironmentUsers(ctx, uid)
		if err != nil || len(users) == 0 {
			return err
		}
		return penstock.Errorf(penstock.CodeConflict, "the environment is used by %s: change, pause or delete what uses it first", nameUsers(p, users))
	})
}

// nameUsers names the first few of an environment's users; a personal schedule
// of somebody else has no name for the caller.
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

var (
	imageName   = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._/:@-]{0,254}$`)
	githubOwner = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_-]{0,99}$`)
	githubRepo  = regexp.MustCompile(`^[A-Za-z0-9._][A-Za-z0-9._-]{0,99}$`)
)

// checkEnvironment reports all that is wrong with a configuration, and puts its
// name into its canonical form.
func (s *Service) checkEnvironment(c *penstock.EnvironmentConfig) error {
	var errs []penstock.FieldError
	bad := func(pointer, format string, args ...any) {
		errs = append(errs, penstock.FieldError{Pointer: pointer, Detail: fmt.Sprintf(format, args...)})
	}
	c.Name = strings.TrimSpace(c.Name)
	checkName(bad, c.Name, false)
	checkText(bad, "/description", c.Description, maxDescription)
	if c.DockerImage != "" && !imageName.MatchString(c.DockerImage) {
		bad("/docker_image", "is not a reference to an image, such as registry.example.com/team/app:1.2")
	}
	s.checkRepos(bad, c)
	if n := len(c.SetupCommands); n > maxSetupCommands {
		bad("/setup_commands", "has %d commands; at most %d are allowed", n, maxSetupCommands)
	}
	for i, command := range c.SetupCommands {
		at := fmt.Sprintf("/setup_commands/%d", i)
		if strings.TrimSpace(command) == "" {
			bad(at, "is empty")
		}
		checkText(bad, at, command, maxSetupCommand)
	}
	if providers, err := json.Marshal(c.Providers); err != nil || len(providers) > maxProviders {
		bad("/providers", "must be JSON of at most %d bytes", maxProviders)
	}
	if m := c.FailureSessionRetentionMinutes; m != nil && (*m < 1 || *m > maxRetention) {
		bad("/failure_session_retention_minutes", "must be from 1 to %d; null or absent keeps no session", maxRetention)
	}
	if all, err := json.Marshal(c); err != nil || len(all) > penstock.MaxConfigBytes {
		bad("", "the environment has %d bytes of JSON; at most %d are allowed", len(all), penstock.MaxConfigBytes)
	}
	if errs != nil {
		return penstock.InvalidFields(errs...)
	}
	return nil
}

// checkName checks a name that people give.
func checkName(bad func(pointer, format string, args ...any), name string, required bool) {
	const pointer = "/name"
	switch {
	case name == "" && required:
		bad(pointer, "is required")
	case strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f }):
		bad(pointer, "must not contain control characters")
	default:
		checkText(bad, pointer, name, maxName)
	}
}

func (s *Service) checkRepos(bad func(pointer, format string, args ...any), c *penstock.EnvironmentConfig) {
	if n := len(c.GitHubRepos) + len(c.Repos); n > maxRepos {
		bad("/repos", "there are %d repositories; at most %d are allowed", n, maxRepos)
	}
	seen := map[string]bool{}
	once := func(pointer, url string) {
		if seen[url] {
			bad(pointer, "is there twice")
		}
		seen[url] = true
	}
	for i, r := range c.GitHubRepos {
		at := fmt.Sprintf("/github_repos/%d", i)
		if !githubOwner.MatchString(r.Owner) {
			bad(at+"/owner", "is not the name of a GitHub user or organisation")
		}
		if !githubRepo.MatchString(r.Repo) || strings.Trim(r.Repo, ".") == "" {
			bad(at+"/repo", "is not the name of a repository, without its owner")
		}
		once(at, strings.ToLower(githubURL(r)))
	}
	for i, r := range c.Repos {
		at := fmt.Sprintf("/repos/%d", i)
		if err := checkRemote(s.skillCache, r.URL); err != nil {
			bad(at+"/url", "%s", err)
		}
		if err := git.CheckRef(r.Ref); err != nil {
			bad(at+"/ref", "%s", err)
		}
		once(at, r.URL)
	}
}

func githubURL(r penstock.GitHubRepo) string {
	return "https://github.com/" + r.Owner + "/" + r.Repo + ".git"
}

// checkRemote refuses, besides what git could not clone, credentials in a URL:
// everybody in the team would see them.
func checkRemote(cache *git.Cache, raw string) error {
	if err := cache.CheckURL(raw); err != nil {
		return err
	}
	if u, err := url.Parse(raw); err == nil && u.Scheme != "ssh" && u.User != nil {
		return errors.New("the URL must not hold a user name or password")
	}
	return nil
}
