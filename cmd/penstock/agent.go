package main

import (
	"context"
	"net/http"

	"github.com/penstock-dev/penstock"
)

// agentCmds manage agents. Without a verb and without a terminal, `penstock agent` is the built-in
// agent, which workers start.
type agentCmds struct {
	connection

	List   listCmd        `cmd:"" help:"List agents."`
	Create agentCreateCmd `cmd:"" help:"Create an agent."`
	Get    getCmd         `cmd:"" help:"Show an agent."`
	Update agentUpdateCmd `cmd:"" help:"Change the given fields of an agent; an empty value clears a field."`
	Delete deleteCmd      `cmd:"" help:"Delete an agent."`
	ACP    agentACPCmd    `cmd:"" name:"acp" default:"1" hidden:"" help:"Speak the Agent Client Protocol on standard input and output."`
}

var agentNoun = &noun[penstock.Identity]{
	name: "agent", path: "agent/identities", key: "agents",
	head: []string{"AGENT", "NAME", "FACTORY", "TYPE", "MODEL", "DESCRIPTION"},
	row: func(a penstock.Identity) []string {
		return []string{a.UID, a.Name, a.FactoryUID, string(a.Type), a.BaseModel, a.Description}
	},
	prepare: nameFactories,
	facts: func(a penstock.Identity) []fact {
		list := []fact{
			{"agent", a.UID},
			{"name", a.Name},
			{"factory", a.FactoryUID},
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
		return append(list, fact{"prompt", a.Prompt})
	},
}

// nameFactories replaces the uids of the agents' factories by their names.
func nameFactories(ctx context.Context, c *client, list []penstock.Identity) error {
	var uids []string
	for _, a := range list {
		uids = append(uids, a.FactoryUID)
	}
	names, err := c.factoryNames(ctx, uids)
	for i, a := range list {
		list[i].FactoryUID = names[a.FactoryUID]
	}
	return err
}

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
	Secret      []string `sep:"none" placeholder:"NAME" about:"/secrets" help:"Managed secret that its runs get as an environment variable; repeatable."`
	Type        *string  `placeholder:"TYPE" field:"/agent_type" help:"Role of the agent in a factory, such as FOREMAN or REVIEW."`
	requestBody
}

func (f *agentFields) body(ctx context.Context, c *client) (map[string]any, error) {
	if f.Prompt != nil && *f.Prompt == "-" && f.File == "-" {
		return nil, exitf(exitUsage, "--prompt and --file cannot both be read from standard input")
	}
	if err := c.settle(ctx, f.Prompt, f.Environment); err != nil {
		return nil, err
	}
	fields := fieldsOf(f)
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
	return f.with(c.std, fields)
}

type agentCreateCmd struct {
	newName
	agentFields
}

func (cmd *agentCreateCmd) Run(ctx context.Context, std *stdio, in *connection) (err error) {
	if cmd.Name, err = cmd.or(cmd.Name); err != nil {
		return err
	}
	return agentNoun.create(ctx, std, in, cmd.body)
}

type agentUpdateCmd struct {
	resourceArg
	agentFields
}

func (cmd *agentUpdateCmd) Run(ctx context.Context, std *stdio, in *connection) error {
	return agentNoun.change(ctx, std, in, http.MethodPut, cmd.Target, cmd.body)
}
