package main

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/penstock-dev/penstock"
)

// agentCmds manage agents. Without a verb and without a terminal, `penstock agent` is the built-in
// agent, which workers start.
type agentCmds struct {
	connection

	List   agentListCmd   `cmd:"" help:"List agents."`
	Create agentCreateCmd `cmd:"" help:"Create an agent."`
	Get    agentGetCmd    `cmd:"" help:"Show an agent."`
	Update agentUpdateCmd `cmd:"" help:"Change the given fields of an agent; an empty value clears a field."`
	Delete agentDeleteCmd `cmd:"" help:"Delete an agent."`
	ACP    agentACPCmd    `cmd:"" name:"acp" default:"1" hidden:"" help:"Speak the Agent Client Protocol on standard input and output."`
}

func agentPath(uid string) string { return "agent/identities/" + url.PathEscape(uid) }

// agentFields are the flags that describe an agent.
type agentFields struct {
	Name        *string  `field:"/name" help:"Name of the agent."`
	Description *string  `field:"/description" help:"Description of the agent."`
	Prompt      *string  `field:"/prompt" help:"Instructions that precede every prompt; - reads them from standard input."`
	Model       *string  `placeholder:"ID" field:"/base_model" help:"Model for its runs."`
	Environment *string  `placeholder:"UID|NAME" field:"/environment_id" help:"Environment for its runs."`
	Harness     *string  `placeholder:"TYPE" field:"/harness/type" help:"Agent program (harness) for its runs."`
	WorkerHost  *string  `placeholder:"HOST" field:"/worker_host" help:"Worker for its runs."`
	Skill       []string `placeholder:"REFERENCE" field:"/skills" help:"Skill for its runs; repeatable."`
	Secret      []string `sep:"none" placeholder:"NAME" field:"/secrets" help:"Managed secret that its runs get as an environment variable; repeatable."`
	Type        *string  `placeholder:"TYPE" field:"/agent_type" help:"Role of the agent in a factory, such as FOREMAN or REVIEW."`
	requestBody
}

func (f *agentFields) body(ctx context.Context, std *stdio, c *client) (map[string]any, error) {
	if f.Prompt != nil && *f.Prompt == "-" && f.File == "-" {
		return nil, exitf(exitUsage, "--prompt and --file cannot both be read from standard input")
	}
	if err := c.settle(ctx, f.Prompt, f.Environment); err != nil {
		return nil, err
	}
	// Not an IdentityRequest, because an empty value has a meaning here.
	fields := given(map[string]*string{
		"name": f.Name, "description": f.Description, "prompt": f.Prompt, "base_model": f.Model,
		"environment_id": f.Environment, "worker_host": f.WorkerHost, "agent_type": f.Type,
	})
	if f.Harness != nil {
		fields["harness"] = map[string]any{"type": *f.Harness}
	}
	if f.Skill != nil {
		fields["skills"] = f.Skill
	}
	if err := checkSecretNames(f.Secret); err != nil {
		return nil, err
	}
	if f.Secret != nil {
		secrets := []penstock.NamedSecret{}
		for _, name := range f.Secret {
			secrets = append(secrets, penstock.NamedSecret{Name: name})
		}
		fields["secrets"] = secrets
	}
	return f.with(std, fields)
}

type agentListCmd struct{}

func (cmd *agentListCmd) Run(ctx context.Context, std *stdio, in *agentCmds) error {
	c, err := in.dial(ctx, std)
	if err != nil {
		return err
	}
	return perform(ctx, c, http.MethodGet, "agent/identities", nil, func(l agentList) error {
		names, err := c.factoryNames(ctx, l.Agents)
		if err != nil {
			return err
		}
		var rows [][]string
		for _, a := range l.Agents {
			rows = append(rows, []string{a.UID, a.Name, names[a.FactoryUID], string(a.Type), a.BaseModel, a.Description})
		}
		return std.table([]string{"AGENT", "NAME", "FACTORY", "TYPE", "MODEL", "DESCRIPTION"}, rows)
	})
}

type agentList struct {
	Agents []penstock.Identity `json:"agents"`
}

// factoryNames returns the names of the agents' factories, by uid. If the key may not read
// factories, the uid is the name.
func (c *client) factoryNames(ctx context.Context, agents []penstock.Identity) (map[string]string, error) {
	names := map[string]string{}
	for _, a := range agents {
		if a.FactoryUID != "" {
			names[a.FactoryUID] = a.FactoryUID
		}
	}
	if len(names) == 0 {
		return names, nil
	}
	all, err := c.factories(ctx, "")
	if isStatus(err, http.StatusForbidden) {
		return names, nil
	}
	for _, raw := range all.Factories {
		var f penstock.Factory
		if err := json.Unmarshal(raw, &f); err != nil {
			return nil, fmt.Errorf("read a factory: %w", err)
		}
		names[f.UID] = f.Name
	}
	return names, err
}

type agentCreateCmd struct {
	NewName *string `arg:"" optional:"" name:"name" field:"/name" help:"Name of the agent; can be set by --name or --file instead."`
	agentFields
}

func (cmd *agentCreateCmd) Run(ctx context.Context, std *stdio, in *agentCmds) (err error) {
	if cmd.Name, err = nameGiven(cmd.NewName, cmd.Name); err != nil {
		return err
	}
	return in.write(ctx, std, http.MethodPost, "", cmd.body)
}

type agentGetCmd struct {
	Agent string `arg:"" name:"agent" help:"UID or name of the agent."`
}

func (cmd *agentGetCmd) Run(ctx context.Context, std *stdio, in *agentCmds) error {
	return in.write(ctx, std, http.MethodGet, cmd.Agent, nil)
}

type agentUpdateCmd struct {
	Agent string `arg:"" name:"agent" help:"UID or name of the agent."`
	agentFields
}

func (cmd *agentUpdateCmd) Run(ctx context.Context, std *stdio, in *agentCmds) error {
	return in.write(ctx, std, http.MethodPut, cmd.Agent, cmd.body)
}

// write sends the result of body for the agent with this name or uid, and shows the agent in the
// response. With POST, the agent is new. A nil body sends nothing.
func (in *agentCmds) write(
	ctx context.Context, std *stdio, method, called string,
	body func(context.Context, *stdio, *client) (map[string]any, error),
) error {
	c, err := in.dial(ctx, std)
	if err != nil {
		return err
	}
	path := "agent/identities"
	if method != http.MethodPost {
		uid, err := c.agentUID(ctx, called)
		if err != nil {
			return err
		}
		path = agentPath(uid)
	}
	var request any
	if body != nil {
		if request, err = body(ctx, std, c); err != nil {
			return err
		}
	}
	return perform(ctx, c, method, path, request, func(a penstock.Identity) error {
		factories, err := c.factoryNames(ctx, []penstock.Identity{a})
		if err != nil {
			return err
		}
		list := []fact{
			{"agent", a.UID},
			{"name", a.Name},
			{"factory", factories[a.FactoryUID]},
			{"type", string(a.Type)},
			{"description", a.Description},
			{"model", a.BaseModel},
			{"harness", a.Harness.Kind()},
			{"environment", a.EnvironmentID},
			{"worker", a.WorkerHost},
			{"changed", timestamp(a.UpdatedAt)},
		}
		for _, skill := range a.Skills {
			list = append(list, fact{"skill", skill})
		}
		for _, secret := range a.Secrets {
			list = append(list, fact{"secret", secret.Name})
		}
		return std.facts(append(list, fact{"prompt", a.Prompt}))
	})
}

type agentDeleteCmd struct {
	Agent string `arg:"" name:"agent" help:"UID or name of the agent."`
}

func (cmd *agentDeleteCmd) Run(ctx context.Context, std *stdio, in *agentCmds) error {
	c, err := in.dial(ctx, std)
	if err != nil {
		return err
	}
	uid, err := c.agentUID(ctx, cmd.Agent)
	if err != nil {
		return err
	}
	return perform[any](ctx, c, http.MethodDelete, agentPath(uid), nil, nil)
}

// agentUID returns the uid of the agent with this uid or name.
func (c *client) agentUID(ctx context.Context, called string) (string, error) {
	if called == "" {
		return "", nil
	}
	var list agentList
	if _, err := c.call(ctx, http.MethodGet, "agent/identities", nil, &list); err != nil {
		return "", err
	}
	var named []penstock.Identity
	for _, a := range list.Agents {
		if a.UID == called {
			return called, nil
		}
		if a.Name == called {
			named = append(named, a)
		}
	}
	if len(named) == 1 {
		return named[0].UID, nil
	}
	factories, err := c.factoryNames(ctx, named) // each factory has a foreman
	if err != nil {
		return "", err
	}
	var uids []string
	for _, a := range named {
		uids = append(uids, strings.TrimSuffix(a.UID+" of "+factories[a.FactoryUID], " of "))
	}
	return theOne("agent", called, uids)
}
