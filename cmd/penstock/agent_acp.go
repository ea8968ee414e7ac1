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
	State      string `type:"path" placeholder:"DIR" help:"Folder for its sessions; by default a folder in the home folder."`
	Model      string `placeholder:"ID" help:"Model for sessions that do not name one."`
	Directives bool   `help:"Let the model demo/offline run the commands in demo: lines of a prompt. Use it only in a sandbox."`
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
