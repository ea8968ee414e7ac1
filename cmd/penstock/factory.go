package main

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/factory"
	"github.com/penstock-dev/penstock/internal/control/store"
)

type factoryCmds struct {
	connection

	List     factoryListCmd     `cmd:"" help:"List factories."`
	Get      getCmd             `cmd:"" help:"Show a factory and its agents."`
	Create   factoryCreateCmd   `cmd:"" help:"Create a factory with a foreman."`
	Update   factoryUpdateCmd   `cmd:"" help:"Change the given fields of a factory."`
	Delete   deleteCmd          `cmd:"" help:"Delete a factory with its agents, automations and webhooks; its runs are kept."`
	Dispatch factoryDispatchCmd `cmd:"" help:"Give work to a factory's foreman."`
	Plan     factoryPlanCmd     `cmd:"" ids:"none" help:"Show what applying the files in a folder would change."`
	Apply    factoryApplyCmd    `cmd:"" ids:"none" help:"Create or update a factory from the files in a folder."`
	Sync     factorySyncCmd     `cmd:"" help:"Check a factory's repository now and apply its newest commit."`
	History  factoryHistoryCmd  `cmd:"" ids:"none" help:"List the revisions of a factory's files, or the commits of its repository."`
	Validate factoryValidateCmd `cmd:"" help:"Check the files of a factory, without a server."`
	Init     factoryInitCmd     `cmd:"" help:"Write the files of a new factory, or of an existing one, to a folder."`
}

var factoryNoun = &noun[penstock.Factory]{
	name: "factory", id: "UID, name or alias", path: "factory", key: "factories", some: "?limit=500",
	head: []string{"FACTORY", "NAME", "ALIAS", "AGENTS", "AUTOMATIONS", "WEBHOOKS", "FILES"},
	row: func(f penstock.Factory) []string {
		files := string(f.Definition.Status)
		if f.Definition.OutdatedWebhooks != nil {
			files += ", new secret pending"
		}
		return []string{
			f.UID, f.Name, f.Alias, strconv.Itoa(len(f.Agents)), strconv.Itoa(f.AutomationCount), strconv.Itoa(f.WebhookCount),
			files,
		}
	},
	facts:  factoryFacts,
	lookup: findFactory,
}

type factoryListCmd struct {
	Search string `placeholder:"TEXT" help:"Only factories whose name or alias contains this text."`
}

func (cmd *factoryListCmd) Run(ctx context.Context, std *stdio, in *connection) error {
	c, err := in.dial(ctx, std)
	if err != nil {
		return err
	}
	all, err := c.factoryPage(ctx, cmd.Search)
	if err != nil {
		return err
	}
	return factoryNoun.showPage(ctx, c, all)
}

// factoryPage reads all factories whose name or alias contains a text.
func (c *client) factoryPage(ctx context.Context, search string) (page, error) {
	query := url.Values{}
	if search != "" {
		query.Set("search", search)
	}
	return c.pages(ctx, "factory", "factories", query, 0)
}

// factories reads what identifies each factory of factoryPage.
func (c *client) factories(ctx context.Context, search string) ([]listed, error) {
	all, err := c.factoryPage(ctx, search)
	if err != nil {
		return nil, err
	}
	return itemsOf[listed](all, "factory")
}

// findFactory returns the uid of the factory with this uid, name or alias. "" means the only
// factory.
func findFactory(ctx context.Context, c *client, target string) (string, error) {
	if penstock.ValidID(target) { // the search does not find uids
		_, err := c.call(ctx, http.MethodGet, "factory/"+url.PathEscape(target), nil, nil)
		if !isStatus(err, http.StatusNotFound) {
			return target, err
		}
	}
	all, err := c.factories(ctx, target)
	if err != nil {
		return "", err
	}
	var uids []string
	for _, f := range all {
		if target == "" || strings.EqualFold(f.Name, target) || f.Alias != "" && strings.EqualFold(f.Alias, target) {
			uids = append(uids, f.UID)
		}
	}
	switch {
	case target == "" && len(uids) == 0:
		return "", exitf(exitRefused, "webhooks and automations belong to a factory, and no factory exists yet: create one "+
			"with penstock factory create NAME")
	case target == "" && len(uids) > 1:
		return "", exitf(exitUsage, "several factories exist: set --factory")
	}
	return theOne("factory", target, uids)
}

func factoryFacts(f penstock.Factory) []fact {
	list := []fact{
		{"factory", f.UID},
		{"name", f.Name},
		{"alias", f.Alias},
		{"description", f.Description},
		{
			"files",
			map[penstock.FactorySource]string{
				store.FactoryService: "on this server", store.FactoryRepository: "in a repository",
			}[f.Source],
		},
	}
	if f.Repository != nil {
		list = append(list, fact{"repository", f.Repository.URL}, fact{
			"branch", cmp.Or(f.Repository.Branch, "the default branch"),
		},
			fact{"path", f.Repository.Path}, fact{"credential", f.Repository.Secret})
		list = append(list, stateFacts(f.Definition)...)
	}
	for _, a := range f.Agents {
		list = append(list, fact{"agent", fmt.Sprintf("%s %s (%s)", a.UID, a.Name, strings.ToLower(string(a.Type)))})
	}
	list = append(list, outdatedFacts(f)...)
	return append(list, fact{
		"automations", strconv.Itoa(f.AutomationCount),
	}, fact{"webhooks", strconv.Itoa(f.WebhookCount)},
		fact{"revision", strconv.FormatInt(f.Definition.Revision, 10)}, fact{"created", timestamp(f.CreatedAt)},
		fact{"changed", timestamp(f.UpdatedAt)})
}

// outdatedFacts lists the webhooks that do not use the new value of their managed secret yet, and
// says how to change that.
func outdatedFacts(f penstock.Factory) []fact {
	var list []fact
	for _, name := range f.Definition.OutdatedWebhooks {
		list = append(list, fact{"outdated", "webhook " + name + " has not taken the new value of its managed secret"})
	}
	switch {
	case list == nil:
		return nil
	case f.Source == store.FactoryRepository:
		return append(list, fact{"fix", "push a commit that changes one of the factory's files, such as secretRefresh: " +
			"immediate in " +
			"webhooks/" + f.Definition.OutdatedWebhooks[0] + ".yaml, which also applies later values at once"})
	}
	return append(list, fact{"fix", "change one of the factory's files, or disable and enable the webhook"})
}

type factoryCreateCmd struct {
	Name        string `arg:"" optional:"" field:"/name" help:"Name of the factory; with --repository, the name in factory.yaml replaces it."`
	Alias       string `field:"/alias" help:"Alias: a short name of the factory."`
	Description string `field:"/description" help:"Description of the factory."`
	fromRepository
}

func (cmd *factoryCreateCmd) Help() string {
	return "With --repository, the files in a Git repository define the factory, now and after every commit. The " +
		"command waits for the result of the newest commit and exits with 1 if the commit was not applied."
}

func (cmd *factoryCreateCmd) Run(ctx context.Context, std *stdio, in *connection) error {
	repository, err := cmd.repository()
	if err != nil {
		return err
	}
	if cmd.Name == "" && repository == nil {
		return exitf(exitUsage, "give the factory a name (penstock factory create NAME), or set --repository to the Git "+
			"repository that defines it")
	}
	c, err := in.dial(ctx, std)
	if err != nil {
		return err
	}
	request := fieldsOf(cmd)
	if repository != nil {
		return c.createFromRepository(ctx, request)
	}
	return perform(
		ctx, c, http.MethodPost, "factory", request, func(f penstock.Factory) error { return std.facts(factoryFacts(f)) },
	)
}

type factoryUpdateCmd struct {
	resourceArg
	Name        *string `field:"/name" help:"New name."`
	Alias       *string `field:"/alias" help:"New alias; an empty value removes it."`
	Description *string `field:"/description" help:"Description of the factory."`
	fromRepository
}

func (cmd *factoryUpdateCmd) Help() string {
	return "For a factory from a repository, --repository, --branch, --path and --secret together replace its source."
}

func (cmd *factoryUpdateCmd) Run(ctx context.Context, std *stdio, in *connection) error {
	if _, err := cmd.repository(); err != nil {
		return err
	}
	request := fieldsOf(cmd)
	if len(request) == 0 {
		return exitf(exitUsage, "nothing to change: set --name, --alias, --description or --repository")
	}
	return factoryNoun.change(ctx, std, in, http.MethodPatch, cmd.Target, fixed(request))
}

type factoryDispatchCmd struct {
	resourceArg
	Prompt    string `arg:"" field:"/prompt" help:"Prompt for the foreman; - reads it from standard input."`
	Title     string `field:"/title" help:"Title of the run; by default the first line of the prompt."`
	Ticket    string `placeholder:"SOURCE:ID" field:"/ticket_ref" help:"Ticket of the work, such as linear:PAY-42."`
	TicketURL string `placeholder:"URL" field:"/ticket_url" help:"URL of the ticket."`
	callSubject
}

func (cmd *factoryDispatchCmd) Run(ctx context.Context, std *stdio, in *connection) error {
	var err error
	if cmd.Prompt, err = std.text(cmd.Prompt); err != nil {
		return err
	}
	c, path, err := factoryNoun.dialItem(ctx, std, in, cmd.Target, "runs")
	if err != nil {
		return err
	}
	return perform(ctx, c, http.MethodPost, path, fieldsOf(cmd), func(d factory.Dispatched) error {
		std.noteOutcome(d.Outcome)
		return std.facts([]fact{{"run", d.RunID}, {"state", string(d.State)}, {"page", d.RunURL}})
	})
}
