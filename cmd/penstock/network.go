package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/wall/egress"
)

type networkCmds struct {
	connection

	Explain networkExplainCmd `cmd:"" ids:"none" help:"Show whether runs may reach a host, and which rule decides."`
	Presets networkPresetsCmd `cmd:"" help:"Print all presets for network rules, with their hosts."`
}

type networkExplainCmd struct {
	Environment string `placeholder:"UID|NAME" help:"Environment of the runs. By default, that of --agent or --factory, or else none."`
	Factory     string `xor:"of" placeholder:"UID|NAME" help:"Factory of the runs."`
	Agent       string `xor:"of" placeholder:"UID|NAME" help:"Agent of the runs, with its factory."`
	Host        string `arg:"" name:"host" help:"HOST, HOST:PORT or a URL; the port is 443 by default."`
}

func (*networkExplainCmd) Help() string {
	return "Shows the rule that allows the host and where it comes from, or the rule to add and where. Sends nothing to " +
		"the host. A run can have a narrower network of its own, which penstock run network shows."
}

func (cmd *networkExplainCmd) Run(ctx context.Context, std *stdio, in *networkCmds) error {
	c, err := in.dial(ctx, std)
	if err != nil {
		return err
	}
	query, err := cmd.query(ctx, c)
	if err != nil {
		return err
	}
	var policy penstock.NetworkPolicy
	if _, err := c.call(ctx, http.MethodGet, "agent/network?"+query.Encode(), nil, &policy); err != nil {
		return err
	}
	compiled, err := egress.Compile(policy)
	if err != nil {
		return fmt.Errorf("read the policy of the server: %w", err)
	}
	text, d, err := compiled.Explain(cmd.Host)
	if err != nil {
		return exitf(exitUsage, "%s: %w", cmd.Host, err)
	}
	if c.data {
		return std.result(ctx, explanation{
			Host: d.Host, Port: d.Port, Allowed: d.Allowed, Mode: d.Mode, Source: d.Source, Name: d.Name, Preset: d.Preset,
			Rule: d.Rule, Explanation: strings.TrimSpace(text),
		})
	}
	_, err = io.WriteString(std.out, cleanText(text))
	return err
}

// explanation is the JSON output of network explain.
type explanation struct {
	Host        string                `json:"host"`
	Port        int                   `json:"port"`
	Allowed     bool                  `json:"allowed"`
	Mode        string                `json:"mode"`
	Source      string                `json:"source,omitempty"`
	Name        string                `json:"name,omitempty"`
	Preset      string                `json:"preset,omitempty"`
	Rule        *penstock.NetworkRule `json:"rule,omitempty"`
	Explanation string                `json:"explanation"`
}

// query returns the UIDs of the resources in the flags.
func (cmd *networkExplainCmd) query(ctx context.Context, c *client) (url.Values, error) {
	query := url.Values{}
	for _, of := range []struct {
		parameter, target string
		uid               func(context.Context, *client, string) (string, error)
	}{
		{"environment_id", cmd.Environment, environmentNoun.find},
		{"factory_uid", cmd.Factory, findFactory},
		{"agent_uid", cmd.Agent, agentNoun.find},
	} {
		if of.target == "" {
			continue
		}
		uid, err := of.uid(ctx, c, of.target)
		if err != nil {
			return nil, err
		}
		query.Set(of.parameter, uid)
	}
	return query, nil
}

type networkPresetsCmd struct {
	Name string `arg:"" optional:"" enum:",${presets}" default:"" name:"preset" help:"Preset to print; by default all."`
}

func (*networkPresetsCmd) Help() string {
	return "Prints the presets of this program. A server of another version can have others."
}

func (cmd *networkPresetsCmd) Run(std *stdio) error {
	list := egress.Presets()
	if cmd.Name != "" {
		preset, err := egress.FindPreset(cmd.Name)
		if err != nil {
			return exitf(exitUsage, "%w", err)
		}
		list = []egress.Preset{preset}
	}
	var texts []string
	for _, preset := range list {
		texts = append(texts, preset.String())
	}
	_, err := io.WriteString(std.out, strings.Join(texts, "\n"))
	return err
}
