package harness

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/execution/acp"
)

// CheckCommand is the hidden command of this program that tries MCP servers over HTTP before another
// agent gets them. It reads them as a JSON list of [acp.MCPServer], and prints lines with an
// [acp.ServerFailure].
const CheckCommand = "mcp-check"

// remoteServers are the MCP servers over HTTP, in the protocol's form.
func (a *acpAgent) remoteServers() (list []acp.MCPServer) {
	for _, name := range slices.Sorted(maps.Keys(a.session.MCPServers)) {
		if s := a.session.MCPServers[name]; s.Command == "" {
			list = append(list, acp.MCPServer{Name: name, Type: "http", URL: s.URL, Headers: variables(s.Headers)})
		}
	}
	return list
}

// tryRemote tries the MCP servers over HTTP in the sandbox, for an agent that is not ours: some agents do
// not start with one that does not work, and none reports it. The agent does not get those. The error is
// the reason why the run cannot go on without one of them.
func (a *acpAgent) tryRemote(ctx context.Context) error {
	servers := a.remoteServers()
	if !a.fronts || len(servers) == 0 {
		return nil
	}
	failures, err := a.checkRemote(ctx, servers)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil { // the agent finds out
		a.session.Log.WarnContext(ctx, "cannot check the MCP servers of a run", "error", err)
	}
	for _, failed := range failures {
		server, ours := a.session.MCPServers[failed.Name]
		if !ours || server.Command != "" || slices.Contains(a.unusable, failed.Name) {
			continue
		}
		a.unusable = append(a.unusable, failed.Name)
		a.serverFailed(failed.Name, failed.Reason)
		text := fmt.Sprintf("The MCP server %s does not work: %s", failed.Name, shortReason(failed.Reason))
		if server.Required {
			return penstock.Errorf(penstock.CodeAgentProcessFailed, "%s. The run needs it (required: true).", text)
		}
		a.notices = append(a.notices, text)
	}
	return nil
}

// checkRemote runs CheckCommand, whose output is not trusted.
func (a *acpAgent) checkRemote(ctx context.Context, servers []acp.MCPServer) (failures []acp.ServerFailure, err error) {
	input, err := json.Marshal(servers)
	if err != nil {
		return nil, err
	}
	check, err := a.session.Start(ctx, Command{
		Argv: []string{a.session.Exe, CheckCommand}, Env: a.program.environment(a.session.Env), Protocol: true,
		Stderr: io.Discard,
	})
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, check.Kill)
	defer stop()
	go func() {
		_, _ = check.Stdin().Write(input) // fails if it has ended
		_ = check.Stdin().Close()
	}()
	output, err := io.ReadAll(io.LimitReader(check.Stdout(), maxReports))
	_ = check.Stdout().Close()
	check.Kill()
	if _, waitErr := check.Wait(); err == nil && len(output) == 0 {
		err = waitErr
	}
	for line := range bytes.Lines(output) {
		var failed acp.ServerFailure
		if json.Unmarshal(line, &failed) == nil {
			failures = append(failures, failed)
		}
	}
	return failures, err
}
