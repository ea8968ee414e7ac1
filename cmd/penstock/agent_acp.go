package main

import (
	"cmp"
	"context"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/penstock-dev/penstock/internal/agent"
)

// agentACPCmd is the built-in agent, as a worker starts it in a sandbox:
// `penstock agent`, or with its name `penstock agent acp`.
type agentACPCmd struct {
	State      string `type:"path" placeholder:"DIR" help:"Folder for its sessions; without it one in the home folder."`
	Model      string `placeholder:"ID" help:"Model of sessions that name none."`
	Directives bool   `help:"Let demo/offline run what the demo: lines of a prompt say; only where a sandbox confines it."`
}

func (cmd *agentACPCmd) Run(ctx context.Context, std *stdio) error {
	if isTerminal(std.in) {
		return exitf(
			exitUsage,
			"without a verb this is the built-in agent, which speaks the Agent Client Protocol to a program, not to a terminal\nsee: penstock agent --help",
		)
	}
	home, err := os.UserHomeDir()
	if err != nil && cmd.State == "" {
		return exitf(exitUsage, "there is no home folder for sessions: name one by --state")
	}
	p := providersFromEnvironment()
	return agent.Run(ctx, agent.Config{
		In: std.in, Out: std.out,
		Log:        slog.New(slog.NewTextHandler(std.err, nil)),
		Version:    buildVersion(),
		Anthropic:  agent.Provider{Key: p.anthropic.key, BaseURL: p.anthropic.baseURL},
		OpenAI:     agent.Provider{Key: p.openai.key, BaseURL: p.openai.baseURL},
		Google:     agent.Provider{Key: p.google.key, BaseURL: p.google.baseURL},
		Model:      cmd.Model,
		StateDir:   cmp.Or(cmd.State, filepath.Join(home, ".penstock", "sessions")),
		Env:        os.Environ(),
		Directives: cmd.Directives,
	})
}
