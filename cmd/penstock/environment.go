package main

import (
	"context"
	"maps"
	"math"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/penstock-dev/penstock"
)

type environmentCmds struct {
	connection

	List   environmentListCmd   `cmd:"" help:"List environments."`
	Create environmentCreateCmd `cmd:"" help:"Create an environment."`
	Get    environmentGetCmd    `cmd:"" help:"Show an environment."`
	Update environmentUpdateCmd `cmd:"" help:"Change the given fields of an environment; lists are replaced."`
	Delete environmentDeleteCmd `cmd:"" help:"Delete an environment."`
}

func environmentPath(uid string) string { return "agent/environments/" + url.PathEscape(uid) }

// environmentFields are the flags that describe an environment.
type environmentFields struct {
	Name        *string        `field:"/name" help:"Name of the environment."`
	Description *string        `field:"/description" help:"Description of the environment."`
	Image       *string        `placeholder:"IMAGE" field:"/docker_image" help:"Container image for the runs, such as debian:13. The sandbox process ignores it."`
	ImageSecret *string        `placeholder:"NAME" field:"/docker_image_secret" help:"Managed secret with the credentials for the image's registry, as USER:PASSWORD. Its hosts include the registry."`
	Repo        []string       `sep:"none" placeholder:"URL[#REF]|OWNER/REPO" field:"/github_repos /repos" help:"Repository to clone; repeatable."`
	Setup       []string       `sep:"none" placeholder:"COMMAND" field:"/setup_commands" help:"Setup command, run in the workspace; repeatable, run in order."`
	KeepFailed  *time.Duration `placeholder:"DURATION" field:"/failure_session_retention_minutes" help:"How long to keep the sandbox of a failed run: whole minutes, at most 60m; 0 disables it."`
	requestBody
}

// flags returns the given fields, by their names in the API.
func (f *environmentFields) flags() map[string]any {
	fields := given(map[string]*string{
		"name": f.Name, "description": f.Description, "docker_image": f.Image, "docker_image_secret": f.ImageSecret,
	})
	var github []penstock.GitHubRepo
	var repos []penstock.GitRepo
	for _, r := range f.Repo {
		owner, name, short := strings.Cut(r, "/")
		if short && !strings.ContainsAny(r, ":#") && !strings.Contains(name, "/") && owner != "" {
			github = append(github, penstock.GitHubRepo{Owner: owner, Repo: name})
			continue
		}
		address, ref, _ := strings.Cut(r, "#")
		repos = append(repos, penstock.GitRepo{URL: address, Ref: ref})
	}
	if f.Repo != nil {
		fields["github_repos"], fields["repos"] = github, repos
	}
	if f.Setup != nil {
		fields["setup_commands"] = f.Setup
	}
	if f.KeepFailed != nil {
		fields["failure_session_retention_minutes"] = int(math.Ceil(f.KeepFailed.Minutes()))
		if *f.KeepFailed == 0 {
			fields["failure_session_retention_minutes"] = nil
		}
	}
	return fields
}

type environmentListCmd struct {
	SortBy string `enum:"last_updated,name" default:"last_updated" help:"Sort by last_updated or name."`
}

func (cmd *environmentListCmd) Run(ctx context.Context, std *stdio, in *environmentCmds) error {
	c, err := in.dial(ctx, std)
	if err != nil {
		return err
	}
	return perform(ctx, c, http.MethodGet, "agent/environments?sort_by="+cmd.SortBy, nil, func(l environmentList) error {
		var rows [][]string
		for _, e := range l.Environments {
			state := ""
			if e.SetupFailed {
				state = "setup failed"
			}
			rows = append(rows, []string{e.UID, e.Config.Name, age(e.LastUpdated), repositories(e.Config), state})
		}
		return std.table([]string{"ENVIRONMENT", "NAME", "CHANGED", "REPOSITORIES", "STATE"}, rows)
	})
}

type environmentList struct {
	Environments []penstock.Environment `json:"environments"`
}

func repositories(c penstock.EnvironmentConfig) string {
	var list []string
	for _, r := range c.GitHubRepos {
		list = append(list, r.Owner+"/"+r.Repo)
	}
	for _, r := range c.Repos {
		if r.Ref != "" {
			r.URL += "#" + r.Ref
		}
		list = append(list, r.URL)
	}
	return strings.Join(list, " ")
}

type environmentCreateCmd struct {
	NewName *string `arg:"" optional:"" name:"name" field:"/name" help:"Name of the environment; can be set by --name or --file instead."`
	environmentFields
}

func (cmd *environmentCreateCmd) Run(ctx context.Context, std *stdio, in *environmentCmds) (err error) {
	if cmd.Name, err = nameGiven(cmd.NewName, cmd.Name); err != nil {
		return err
	}
	body, err := cmd.with(std, cmd.flags())
	if err != nil {
		return err
	}
	c, err := in.dial(ctx, std)
	if err != nil {
		return err
	}
	return c.showEnvironment(ctx, http.MethodPost, "agent/environments", body)
}

type environmentGetCmd struct {
	Environment string `arg:"" name:"environment" help:"UID or name of the environment."`
}

func (cmd *environmentGetCmd) Run(ctx context.Context, std *stdio, in *environmentCmds) error {
	c, err := in.dial(ctx, std)
	if err != nil {
		return err
	}
	uid, err := c.environmentUID(ctx, cmd.Environment)
	if err != nil {
		return err
	}
	return c.showEnvironment(ctx, http.MethodGet, environmentPath(uid), nil)
}

// showEnvironment makes a call and shows the environment in the response.
func (c *client) showEnvironment(ctx context.Context, method, path string, body any) error {
	return perform(ctx, c, method, path, body, func(e penstock.Environment) error {
		list := []fact{
			{"environment", e.UID},
			{"name", e.Config.Name},
			{"description", e.Config.Description},
			{"image", e.Config.DockerImage},
			{"repositories", repositories(e.Config)},
			{"set-up", strings.Join(e.Config.SetupCommands, "\n")},
			{"changed", timestamp(e.LastUpdated)},
			{"changed by", actor(e.LastEditor)},
			{"last used", timestamp(e.LastTaskRunAt)},
		}
		if e.SetupFailed {
			list = append(list, fact{"state", "the setup of the last run failed"})
		}
		return c.std.facts(list)
	})
}

type environmentUpdateCmd struct {
	Environment string `arg:"" name:"environment" help:"UID or name of the environment."`
	environmentFields
}

func (cmd *environmentUpdateCmd) Run(ctx context.Context, std *stdio, in *environmentCmds) error {
	c, err := in.dial(ctx, std)
	if err != nil {
		return err
	}
	uid, err := c.environmentUID(ctx, cmd.Environment)
	if err != nil {
		return err
	}
	change, err := cmd.with(std, cmd.flags())
	if err != nil {
		return err
	}
	var now struct {
		Config map[string]any `json:"config"` // as the server sent it, including fields that this program does not know
	}
	if _, err := c.call(ctx, http.MethodGet, environmentPath(uid), nil, &now); err != nil {
		return err
	}
	maps.Copy(now.Config, change)
	return c.showEnvironment(ctx, http.MethodPut, environmentPath(uid), now.Config)
}

type environmentDeleteCmd struct {
	Environment string `arg:"" name:"environment" help:"UID or name of the environment."`
}

func (cmd *environmentDeleteCmd) Run(ctx context.Context, std *stdio, in *environmentCmds) error {
	c, err := in.dial(ctx, std)
	if err != nil {
		return err
	}
	uid, err := c.environmentUID(ctx, cmd.Environment)
	if err != nil {
		return err
	}
	return perform[any](ctx, c, http.MethodDelete, environmentPath(uid), nil, nil)
}

// environmentUID returns the uid of the environment with this uid or name.
func (c *client) environmentUID(ctx context.Context, called string) (string, error) {
	if called == "" {
		return "", nil
	}
	var list environmentList
	if _, err := c.call(ctx, http.MethodGet, "agent/environments", nil, &list); err != nil {
		return "", err
	}
	var named []string
	for _, e := range list.Environments {
		if e.UID == called {
			return called, nil
		}
		if e.Config.Name == called {
			named = append(named, e.UID)
		}
	}
	return theOne("environment", called, named)
}

// theOne returns an error unless exactly one resource has the name.
func theOne(kind, name string, uids []string) (string, error) {
	switch len(uids) {
	case 1:
		return uids[0], nil
	case 0:
		return "", exitf(exitRefused, "no %s with the UID or name %q exists\nsee: penstock %s list", kind, name, kind)
	}
	return "", exitf(exitUsage, "%d %ss have the name %q; use the UID: "+
		"%s", len(uids), kind, name, strings.Join(uids, ", "))
}
