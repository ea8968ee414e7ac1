package main

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/factory"
)

// fromRepository holds the flags for a factory's repository.
type fromRepository struct {
	Repository string `placeholder:"URL" field:"/repository/url" help:"Git repository that defines the factory: https://…, ssh://… or user@host:path."`
	Branch     string `placeholder:"BRANCH" field:"/repository/branch" help:"Production branch; by default the default branch of the repository."`
	Path       string `placeholder:"FOLDER" field:"/repository/path" help:"Folder in the repository with factory.yaml; by default the root folder."`
	Secret     string `placeholder:"NAME" field:"/repository/secret" help:"Managed secret with the Git credential: a token, or user:token."`
}

// repository returns nil if no flag is set.
func (f *fromRepository) repository() (*penstock.Repository, error) {
	r := penstock.Repository{URL: f.Repository, Branch: f.Branch, Path: f.Path, Secret: f.Secret}
	switch {
	case r == penstock.Repository{}:
		return nil, nil //nolint:nilnil // no repository, which is not an error
	case r.URL == "":
		return nil, exitf(exitUsage, "--branch, --path and --secret need --repository")
	}
	return &r, nil
}

// createFromRepository creates a factory and waits until its first commit was checked.
func (c *client) createFromRepository(ctx context.Context, request map[string]any) error {
	var made penstock.Factory
	if _, err := c.call(ctx, http.MethodPost, "factory", request, &made); err != nil {
		return err
	}
	return c.sync(ctx, "factory/"+url.PathEscape(made.UID))
}

// sync polls the repository of the factory at path, and shows the factory. If the newest commit is
// not active, the exit code is 1.
func (c *client) sync(ctx context.Context, path string) error {
	var state penstock.FactoryDefinition
	err := perform(ctx, c, http.MethodPost, path+"/sync", nil, func(f penstock.Factory) error {
		state = f.Definition
		return c.std.facts(factoryFacts(f))
	})
	if err == nil && (state.Problem != "" || state.Status == penstock.DefinitionInvalid) {
		err = &exitError{code: exitFailed}
	}
	return err
}

type factorySyncCmd struct{ resourceArg }

func (cmd *factorySyncCmd) Help() string {
	return "Waits for the result of the newest commit. Exits with 1 if the commit was not applied."
}

func (cmd *factorySyncCmd) Run(ctx context.Context, std *stdio, in *connection) error {
	c, path, err := factoryNoun.dialItem(ctx, std, in, cmd.Target)
	if err != nil {
		return err
	}
	return c.sync(ctx, path)
}

type factoryHistoryCmd struct {
	resourceArg
	Limit int  `default:"20" field:"?limit" help:"Maximum number of entries, at most 500."`
	Diff  bool `help:"Show the changes in the files, too."`
}

func (cmd *factoryHistoryCmd) Run(ctx context.Context, std *stdio, in *connection) error {
	c, path, err := factoryNoun.dialItem(ctx, std, in, cmd.Target, "definition/history")
	if err != nil {
		return err
	}
	return perform(ctx, c, http.MethodGet, path+"?"+queryOf(cmd).Encode(), nil, func(
		p factory.HistoryPage,
	) error {
		for i, r := range p.Revisions {
			if i > 0 {
				fmt.Fprintln(std.out)
			}
			if err := std.facts(revisionFacts(r, cmd.Diff)); err != nil {
				return err
			}
		}
		if p.PageInfo.HasNext {
			std.notef("older entries exist; raise --limit to list them")
		}
		return nil
	})
}

func revisionFacts(r factory.Revision, diff bool) []fact {
	list := []fact{{"revision", fmt.Sprintf("%d %s", r.Revision, r.Result)}, {"at", timestamp(r.CreatedAt)}}
	switch {
	case r.Commit != nil:
		list = append(
			list, fact{"commit", r.Commit.ID + " " + r.Commit.Message}, fact{"author", r.Commit.Author},
			fact{"reason", r.Detail},
		)
	case r.Author != nil:
		list = append(list, fact{"author", r.Author.DisplayName})
	}
	for _, c := range r.Created {
		list = append(list, fact{"create", string(c.Kind) + " " + c.Name})
	}
	for _, c := range r.Changed {
		list = append(list, fact{"change", fmt.Sprintf("%s %s: %s", c.Kind, c.Name, strings.Join(c.Fields, " "))})
	}
	for _, c := range r.Removed {
		list = append(list, fact{"remove", string(c.Kind) + " " + c.Name})
	}
	list = append(list, findingFacts(r.Diagnostics)...)
	if diff {
		list = append(list, fact{"diff", r.Diff})
	}
	return list
}

func findingFacts(found []penstock.Diagnostic) []fact {
	var list []fact
	for _, d := range found {
		list = append(list, fact{d.Severity, fmt.Sprintf("%s:%d:%d: %s %s", d.Path, d.Line, d.Column, d.Code, d.Message)})
	}
	return list
}

// stateFacts says whether the newest state of a repository is active.
func stateFacts(d penstock.FactoryDefinition) []fact {
	list := []fact{
		{"status", string(d.Status)},
		{"commit", d.Commit},
		{"rejected", d.Rejected},
		{"reason", d.Detail},
		{"problem", d.Problem},
		{"checked", timestamp(d.CheckedAt)},
	}
	return append(list, findingFacts(d.Diagnostics)...)
}
