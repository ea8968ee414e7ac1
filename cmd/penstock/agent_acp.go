package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/penstock-dev/penstock/internal/execution/agent"
	"github.com/penstock-dev/penstock/internal/wall/gateway"
)

// agentACPCmd is the built-in agent, which a worker starts in a sandbox: `penstock agent`, or
// `penstock agent acp`.
type agentACPCmd struct {
	State      string `type:"path" placeholder:"DIR" help:"Folder for its sessions; by default a folder in the home folder."`
	Model      string `placeholder:"ID" help:"Model for sessions that do not name one."`
	Directives bool   `help:"Let the model demo/offline execute the commands in prompt lines that begin with 'demo:'. Use it only in a sandbox."`
}

func (cmd *agentACPCmd) Run(ctx context.Context, std *stdio) error {
	if isTerminal(std.in) {
		return exitf(
			exitUsage,
			"without a subcommand, this command is the built-in agent: it speaks the Agent Client Protocol with a program, "+
				"not with a terminal\nsee: penstock agent --help",
		)
	}
	home, err := os.UserHomeDir()
	if err != nil && cmd.State == "" {
		return exitf(exitUsage, "no home folder for sessions: set --state")
	}
	list, err := agentProviders()
	if err != nil {
		return exitf(exitUsage, "%w", err)
	}
	return agent.Run(ctx, agent.Config{
		In: std.in, Out: std.out,
		Log:        slog.New(slog.NewTextHandler(std.err, nil)),
		Version:    buildVersion(),
		Providers:  list,
		Model:      cmd.Model,
		StateDir:   cmp.Or(cmd.State, filepath.Join(home, ".penstock", "sessions")),
		Env:        os.Environ(),
		Directives: cmd.Directives,
	})
}

// agentProviders reads the providers that a worker gives to the built-in agent. Only Google's model
// names do not begin with the name of the provider.
func agentProviders() ([]agent.Provider, error) {
	var list []agent.Provider
	for _, v := range vendors {
		name, _, _ := strings.Cut(gateway.Provider{Name: v.Name, API: v.API}.ModelID(""), "/")
		list = append(list, agent.Provider{
			Name: name, API: string(v.API), Key: os.Getenv(v.Key), BaseURL: os.Getenv(v.URL),
		})
	}
	if text := os.Getenv(providersVariable); text != "" {
		var named []agent.Provider
		if err := json.Unmarshal([]byte(text), &named); err != nil {
			return nil, fmt.Errorf("%s is not a list of providers: %w", providersVariable, err)
		}
		list = append(list, named...)
	}
	return list, nil
}
