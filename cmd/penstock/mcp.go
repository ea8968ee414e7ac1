package main

import (
	"context"
	"fmt"
	"strings"
)

// mcpCmds are the commands for clients of the factory MCP endpoint.
type mcpCmds struct {
	connection

	Config mcpConfigCmd `cmd:"" help:"Print the configuration of an MCP client, without a key."`
	Serve  mcpServeCmd  `cmd:"" help:"Connect an MCP client that starts a program (stdio) with the server."`
}

type mcpConfigCmd struct {
	Client string `required:"" enum:"claude-code,codex,cursor,vscode,opencode,gemini" help:"MCP client: claude-code, codex, cursor, vscode, opencode or gemini."`
}

func (cmd *mcpConfigCmd) Help() string {
	return "Prints what to add to the named file. The client reads the key from the environment variable " +
		"PENSTOCK_API_KEY; VS Code asks for it once. Create a key with penstock key create NAME --scope factories:read " +
		"--scope runs:read --scope runs:write."
}

// Run prints the snippet of the client. It sends nothing.
func (cmd *mcpConfigCmd) Run(ctx context.Context, std *stdio, in *mcpCmds) error {
	base, err := checkServer(ctx, in.Server, in.TrustedProxies)
	if err != nil {
		return err
	}
	snippet := mcpSnippets[cmd.Client]
	std.notef("Add this to %s:", snippet.file)
	_, err = fmt.Fprint(std.out, strings.ReplaceAll(snippet.text, "URL", base.JoinPath("mcp").String()))
	return err
}

// mcpSnippets are the configurations of clients. Each refers to the key by the form of variables of its client.
var mcpSnippets = map[string]struct{ file, text string }{
	"claude-code": {".mcp.json in the folder of your project", `{
  "mcpServers": {
    "penstock": {
      "type": "http",
      "url": "URL",
      "headers": {"Authorization": "Bearer ${PENSTOCK_API_KEY}"}
    }
  }
}
`},
	"codex": {"~/.codex/config.toml", `[mcp_servers.penstock]
url = "URL"
bearer_token_env_var = "PENSTOCK_API_KEY"
`},
	"cursor": {"~/.cursor/mcp.json", `{
  "mcpServers": {
    "penstock": {
      "url": "URL",
      "headers": {"Authorization": "Bearer ${env:PENSTOCK_API_KEY}"}
    }
  }
}
`},
	"vscode": {".vscode/mcp.json in the folder of your project", `{
  "inputs": [
    {"id": "penstock-key", "type": "promptString", "description": "PENSTOCK_API_KEY", "password": true}
  ],
  "servers": {
    "penstock": {
      "type": "http",
      "url": "URL",
      "headers": {"Authorization": "Bearer ${input:penstock-key}"}
    }
  }
}
`},
	"opencode": {"opencode.json", `{
  "$schema": "https://opencode.ai/config.json",
  "mcp": {
    "penstock": {
      "type": "remote",
      "url": "URL",
      "oauth": false,
      "headers": {"Authorization": "Bearer {env:PENSTOCK_API_KEY}"}
    }
  }
}
`},
	"gemini": {"~/.gemini/settings.json", `{
  "mcpServers": {
    "penstock": {
      "httpUrl": "URL",
      "headers": {"Authorization": "Bearer $PENSTOCK_API_KEY"}
    }
  }
}
`},
}
