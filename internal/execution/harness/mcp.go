package harness

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/execution/acp"
)

// FrontCommand is the hidden command of this program that other agents start instead of a stdio MCP
// server. The arguments after it are the name of the server, the path of reportFile, and the server's
// command line. The server's variables are in its environment.
const FrontCommand = "mcp-front"

const (
	// reportFile is the file in HOME in which a front reports a server that does not work: lines with an
	// [acp.ServerFailure]. Every program of the run can write it.
	reportFile = ".penstock-mcp.jsonl"
	// maxReports is how much of it is read in a session, in bytes.
	maxReports = 1 << 20
	// reportEvery is the interval for reading it in a turn.
	reportEvery = time.Second
)

// mcpServers converts the servers of the configuration to the protocol's form. It leaves out those that
// the agent cannot use, unless the run needs them.
func (a *acpAgent) mcpServers(can acp.MCPCapabilities) ([]acp.MCPServer, error) {
	var list []acp.MCPServer
	for name, s := range a.session.MCPServers {
		switch {
		case slices.Contains(a.unusable, name):
			continue
		case s.Command != "":
			server := acp.MCPServer{Name: name, Command: s.Command, Args: s.Args, Env: variables(s.Env)}
			if a.fronts {
				report := filepath.Join(a.session.HomeDir, reportFile)
				server.Command = a.session.Exe
				server.Args = slices.Concat([]string{FrontCommand, name, report, s.Command}, s.Args)
			}
			list = append(list, server)
		case !can.HTTP && s.Required:
			return nil, penstock.Errorf(
				penstock.CodeAgentProcessFailed, "the agent does not support MCP servers over HTTP, such as %s", name,
			)
		case !can.HTTP:
			a.serverFailed(name, "The agent does not support MCP servers over HTTP.")
		default:
			list = append(list, acp.MCPServer{Name: name, Type: "http", URL: s.URL, Headers: variables(s.Headers)})
		}
	}
	slices.SortFunc(list, func(a, b acp.MCPServer) int { return strings.Compare(a.Name, b.Name) })
	return list, nil
}

func variables(values map[string]string) []acp.Variable {
	var list []acp.Variable
	for name, value := range values {
		list = append(list, acp.Variable{Name: name, Value: value})
	}
	slices.SortFunc(list, func(a, b acp.Variable) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// checkServers records the servers that the fronts have reported since, and tells the agent about them
// with its next prompt. If the run needs one of them, it returns the reason for the end of the run.
func (a *acpAgent) checkServers() (needed string) {
	if !a.fronts {
		return ""
	}
	for _, failed := range a.reports() {
		server, ours := a.session.MCPServers[failed.Name]
		if !ours {
			continue
		}
		a.serverFailed(failed.Name, failed.Reason)
		text := fmt.Sprintf("The MCP server %s does not work: %s", failed.Name, shortReason(failed.Reason))
		if !slices.Contains(a.notices, text) && len(a.notices) < len(a.session.MCPServers) {
			a.notices = append(a.notices, text)
		}
		if server.Required && needed == "" {
			needed = text + ". The run needs it (required: true)."
		}
	}
	return needed
}

// reports returns the new reports of the fronts. The file is one of the run, so nothing about it is
// certain.
func (a *acpAgent) reports() (list []acp.ServerFailure) {
	file, err := a.session.Home.OpenFile(reportFile, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var data []byte
	if err == nil {
		defer file.Close()
		var info fs.FileInfo
		if info, err = file.Stat(); err == nil && !info.Mode().IsRegular() {
			err = errors.New("it is not a regular file")
		}
	}
	if err == nil {
		data, err = io.ReadAll(io.NewSectionReader(file, a.reported, maxReports-a.reported))
	}
	if err != nil {
		a.session.Log.Warn("cannot read the reports about MCP servers", "error", err)
		return nil
	}
	data = data[:bytes.LastIndexByte(data, '\n')+1] // the rest is being written
	a.reported += int64(len(data))
	for line := range bytes.Lines(data) {
		var failed acp.ServerFailure
		if json.Unmarshal(line, &failed) == nil {
			list = append(list, failed)
		}
	}
	return list
}

// forgetReports removes the reports of an earlier session.
func (a *acpAgent) forgetReports() error {
	if !a.fronts {
		return nil
	}
	if err := a.session.Home.RemoveAll(reportFile); err != nil {
		return penstock.Errorf(penstock.CodeEnvironmentSetupFailed, "The worker cannot remove %s in HOME.", reportFile)
	}
	return nil
}

// serverFailed records that an MCP server does not work. The number of reports is limited, because
// agents are not trusted.
func (a *acpAgent) serverFailed(name, reason string) {
	const most = 100
	a.mu.Lock()
	a.failures++
	failures := a.failures
	a.mu.Unlock()
	if _, ours := a.session.MCPServers[name]; !ours || failures > most {
		return
	}
	a.session.Record(penstock.Timeline(
		penstock.Now(), penstock.TimelineMCPFailed, map[string]any{"name": name, "reason": shortReason(reason)},
	))
}

func shortReason(reason string) string {
	const longest = 2000
	if len(reason) > longest {
		return reason[:runeCut([]byte(reason), longest)] + "…"
	}
	return reason
}
