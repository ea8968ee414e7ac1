package main

import (
	"cmp"
	"context"
	"maps"
	"math"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/penstock-dev/penstock"
)

type environmentCmds struct {
	connection

	List   environmentListCmd   `cmd:"" help:"List environments."`
	Create environmentCreateCmd `cmd:"" help:"Create an environment."`
	Get    getCmd               `cmd:"" help:"Show an environment."`
	Update environmentUpdateCmd `cmd:"" help:"Change the given fields of an environment; lists are replaced."`
	Delete deleteCmd            `cmd:"" help:"Delete an environment."`

	Prebuilds      prebuildListCmd   `cmd:"" help:"List the workspaces that workers keep for later runs, newest first."`
	DeletePrebuild prebuildDeleteCmd `cmd:"" help:"Delete prepared workspaces, and what was made from them: no new run gets them."`
}

var environmentNoun = &noun[penstock.Environment]{
	name: "environment", path: "agent/environments", key: "environments",
	head: []string{"ENVIRONMENT", "NAME", "CHANGED", "REPOSITORIES", "STATE"},
	row: func(e penstock.Environment) []string {
		state := ""
		if e.SetupFailed {
			state = "setup failed"
		}
		return []string{e.UID, e.Config.Name, age(e.LastUpdated), repositories(e.Config), state}
	},
	facts: func(e penstock.Environment) []fact {
		list := []fact{
			{"environment", e.UID},
			{"name", e.Config.Name},
			{"description", e.Config.Description},
			{"image", e.Config.DockerImage},
			{"repositories", repositories(e.Config)},
			{"set-up", strings.Join(e.Config.SetupCommands, "\n")},
			{"stalls", stallText(e.Config)},
			{"prebuild", prebuildText(e.Config.Prebuild)},
			{"changed", timestamp(e.LastUpdated)},
			{"changed by", actor(e.LastEditor)},
			{"last used", timestamp(e.LastTaskRunAt)},
		}
		if e.SetupFailed {
			list = append(list, fact{"state", "the setup of the last run failed"})
		}
		return list
	},
}

// environmentFields are the flags that describe an environment.
type environmentFields struct {
	Name        *string        `field:"/name" help:"Name of the environment."`
	Description *string        `field:"/description" help:"Description of the environment."`
	Image       *string        `placeholder:"IMAGE" field:"/docker_image" help:"Container image for the runs, such as debian:13. The sandbox process ignores it."`
	ImageSecret *string        `placeholder:"NAME" field:"/docker_image_secret" help:"Managed secret with the credentials for the image's registry, as USER:PASSWORD. Its hosts include the registry."`
	Repo        []string       `sep:"none" placeholder:"REPOSITORY[#REF]" about:"/github_repos /repos" help:"Repository to clone: owner/name of GitHub or a URL, with #REF for a branch, tag or commit; repeatable."`
	Setup       []string       `sep:"none" placeholder:"COMMAND" field:"/setup_commands" help:"Setup command, run in the workspace; repeatable, run in order."`
	KeepFailed  *time.Duration `placeholder:"DURATION" about:"/failure_session_retention_minutes" help:"How long to keep the sandbox of a failed run: whole minutes, at most 60m; 0 disables it."`
	StallAfter  *string        `placeholder:"DURATION" field:"/stall_after" help:"Time without an event after which a run that works has stalled, from 1m to 720h; 0 disables it, and an empty value stands for that of the server."`
	Prebuild    *string        `placeholder:"lazy|off" field:"/prebuild/mode" help:"Whether prepared workspaces are kept for later runs."`
	Input       []string       `name:"prebuild-input" sep:"none" placeholder:"PATTERN" field:"/prebuild/inputs" help:"Files whose change needs the commands again, such as **/go.sum; repeatable. By default each new commit does."`
	UpdateWith  []string       `name:"prebuild-command" sep:"none" placeholder:"COMMAND" field:"/prebuild/update_commands" help:"Command that runs instead of the setup commands on what was kept; repeatable."`
	Secrets     []string       `name:"prebuild-secret" sep:"none" placeholder:"NAME" field:"/prebuild/secrets" help:"Secret that the setup commands get as a variable; repeatable. Only runs that have it get what was kept."`
	OnStall     *string        `placeholder:"alert|cancel" field:"/on_stall" help:"What happens to a run that has stalled: alert marks it, cancel also cancels it."`
	requestBody
}

// flags returns the given fields, by their names in the API.
func (f *environmentFields) flags() map[string]any {
	fields := fieldsOf(f)
	var github []penstock.GitHubRepo
	var repos []penstock.GitRepo
	for _, r := range f.Repo {
		owner, name, short := strings.Cut(r, "/")
		if short && !strings.ContainsAny(r, ":#") && !strings.Contains(name, "/") && owner != "" {
			github = append(github, penstock.GitHubRepo{Owner: owner, Repo: name})
			continue
		}
		address, ref, _ := strings.Cut(r, "#")
		if parsed, err := parseRepository(r); err == nil { // owner/name with a ref, too
			address, ref = parsed.URL, parsed.Ref
		}
		repos = append(repos, penstock.GitRepo{URL: address, Ref: ref})
	}
	if f.Repo != nil {
		fields["github_repos"], fields["repos"] = github, repos
	}
	if f.KeepFailed != nil {
		fields["failure_session_retention_minutes"] = int(math.Ceil(f.KeepFailed.Minutes()))
		if *f.KeepFailed == 0 {
			fields["failure_session_retention_minutes"] = nil
		}
	}
	return fields
}

// prebuildText returns what an environment sets about prepared workspaces, "" if nothing.
func prebuildText(p *penstock.Prebuild) string {
	if p == nil {
		return ""
	}
	set := []string{string(cmp.Or(p.Mode, penstock.PrebuildLazy))}
	for name, list := range map[string][]string{
		"inputs": p.Inputs, "secrets": p.Secrets, "update commands": p.UpdateCommands,
	} {
		if len(list) > 0 {
			set = append(set, name+" "+strings.Join(list, " "))
		}
	}
	slices.Sort(set[1:])
	return strings.Join(set, ", ")
}

// stallText returns what an environment sets about stalled runs, "" if nothing.
func stallText(c penstock.EnvironmentConfig) string {
	var set []string
	if c.StallAfter != "" {
		set = append(set, "after "+c.StallAfter)
	}
	if c.OnStall != "" {
		set = append(set, string(c.OnStall))
	}
	return strings.Join(set, ", ")
}

type environmentListCmd struct {
	SortBy string `enum:"last_updated,name" default:"last_updated" help:"Sort by last_updated or name."`
}

func (cmd *environmentListCmd) Run(ctx context.Context, std *stdio, in *connection) error {
	return environmentNoun.list(ctx, std, in, "?sort_by="+cmd.SortBy)
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
	newName
	environmentFields
}

func (cmd *environmentCreateCmd) Run(ctx context.Context, std *stdio, in *connection) (err error) {
	if cmd.Name, err = cmd.or(cmd.Name); err != nil {
		return err
	}
	body, err := cmd.with(std, cmd.flags())
	if err != nil {
		return err
	}
	return environmentNoun.create(ctx, std, in, fixed(body))
}

type environmentUpdateCmd struct {
	resourceArg
	environmentFields
}

func (cmd *environmentUpdateCmd) Run(ctx context.Context, std *stdio, in *connection) error {
	c, path, err := environmentNoun.dialItem(ctx, std, in, cmd.Target)
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
	if _, err := c.call(ctx, http.MethodGet, path, nil, &now); err != nil {
		return err
	}
	if prebuild, ok := change["prebuild"].(map[string]any); ok {
		if before, ok := now.Config["prebuild"].(map[string]any); ok {
			maps.Copy(before, prebuild)
			change["prebuild"] = before
		}
	}
	maps.Copy(now.Config, change)
	return environmentNoun.send(ctx, c, http.MethodPut, path, fixed(now.Config))
}
