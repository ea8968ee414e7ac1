package worker

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/harness"
	"github.com/penstock-dev/penstock/internal/sandbox"
)

// preparation is the prepared content of the workspace.
type preparation struct {
	repos  []repository
	skills []harness.Skill // that the agent can use
	use    []harness.Skill // of the run itself
	// skillFolders has the source of each skill, by name.
	skillFolders map[string]string
	mcp          map[string]penstock.MCPServer
	agentFiles   map[string]string // in HOME
}

// setupFailed returns an error that the user can fix.
func setupFailed(format string, args ...any) error {
	return penstock.Errorf(penstock.CodeEnvironmentSetupFailed, format, args...)
}

// prepare moves the run to PENDING and prepares everything for the agent.
func (e *execution) prepare(ctx context.Context) error {
	if err := e.move(penstock.StatePending); err != nil {
		return err
	}
	if len(e.Prompts) == 0 {
		return e.move(penstock.StateInProgress)
	}
	if err := e.chooseSandbox(); err != nil {
		return err
	}
	if len(e.program.Argv) == 0 {
		return setupFailed("This worker has no harness %q.", e.config.Harness.Kind())
	}
	if err := e.checkVariables(); err != nil {
		return err
	}
	if e.config.EnvironmentID != "" && e.Environment == nil {
		return setupFailed("The environment %s no longer exists.", e.config.EnvironmentID)
	}
	var err error
	if e.mcp, err = e.resolveMCP(); err != nil {
		return err
	}
	if e.space, err = e.w.spaces.open(ctx, e.Lease.RunID); err != nil {
		return err
	}
	if err := e.openOutlet(); err != nil {
		return err
	}
	if err := e.setUpAgent(); err != nil {
		return err
	}
	if err := e.useImage(ctx); err != nil {
		return err
	}
	if err := e.fillWorkspace(ctx); err != nil {
		return err
	}
	if err := e.placeSkills(); err != nil {
		return err
	}
	return e.restoreSession()
}

// checkVariables repeats the server's check of a new run, because the configuration of the server
// may differ from this worker's, or may have changed.
func (e *execution) checkVariables() error {
	own, holds := e.program.Own()
	if !holds {
		return nil
	}
	if found := e.config.CheckVariables(own); len(found) > 0 {
		return setupFailed("config%s.", found[0])
	}
	return nil
}

// chooseSandbox returns the worker's sandbox. Without one, only the built-in demonstration may run,
// because it executes no code of others. So it rejects repositories, commands and MCP servers then.
func (e *execution) chooseSandbox() error {
	if e.sandbox = e.w.Sandbox; e.sandbox != nil {
		return nil
	}
	demo := e.config.Harness.Kind() == penstock.HarnessBuiltin &&
		slices.Contains([]string{"", penstock.ModelOffline}, e.model())
	if !demo || e.w.Demo == nil {
		return setupFailed(
			"This worker has no sandbox (%s). Without a sandbox, it runs only the model %s.", e.w.NoSandbox,
			penstock.ModelOffline,
		)
	}
	if e.hasMCPServers() || len(e.setupCommands()) > 0 {
		return setupFailed(
			"This worker has no sandbox (%s). Without a sandbox, it runs no setup commands and no MCP servers.", e.w.NoSandbox,
		)
	}
	e.sandbox = e.w.Demo
	e.config.ModelID = penstock.ModelOffline
	return nil
}

// hasMCPServers reports whether the agent gets an MCP server.
func (e *execution) hasMCPServers() bool {
	for _, server := range e.config.MCPServers {
		if server.ID == "" {
			return true
		}
	}
	return false
}

// fillWorkspace writes files and repositories into the workspace and runs the setup commands. It
// keeps the files of an earlier execution of the run.
func (e *execution) fillWorkspace(ctx context.Context) error {
	if e.space.reused() {
		e.timeline(penstock.TimelineWorkspaceReused, nil)
	}
	var config penstock.EnvironmentConfig
	if e.Environment != nil {
		config = e.Environment.Config
	}
	e.sayWhatIsNotUsed()
	if err := e.checkOut(ctx, config); err != nil {
		return err
	}
	for _, f := range e.Files {
		if err := e.fetch(f); err != nil {
			return err
		}
	}
	commands := e.setupCommands()
	setup := setupID(config, commands, e.image.digest())
	if setup == e.space.setup && !e.image.fresh() {
		return nil
	}
	for i, command := range commands {
		if err := e.setUp(ctx, i+1, command); err != nil {
			return err
		}
	}
	return e.space.setUp(setup)
}

// setupCommands returns the commands of the runner, which prepare the machine, and then those of
// the environment, which may depend on them.
func (e *execution) setupCommands() []string {
	var commands []string
	if e.Runner != nil {
		commands = slices.Clone(e.Runner.SetupCommands)
	}
	if e.Environment != nil {
		commands = append(commands, e.Environment.Config.SetupCommands...)
	}
	return commands
}

// setupID identifies the setup of a workspace, in the image of a digest or on the host.
func setupID(c penstock.EnvironmentConfig, commands []string, image string) string {
	setup := []any{c.GitHubRepos, c.Repos, commands}
	if image != "" {
		setup = append(setup, image)
	}
	data, err := json.Marshal(setup)
	if err != nil {
		panic("worker: an environment cannot be marshaled: " + err.Error())
	}
	hash := sha256.Sum256(data)
	return hex.EncodeToString(hash[:])
}

// fetch writes a file of the execution into the workspace.
func (e *execution) fetch(f penstock.File) error {
	file, err := e.download(f)
	if penstock.CodeOf(err) == penstock.CodeNotFound {
		return fmt.Errorf("%w: %s", errFileGone, f.Path)
	}
	if err != nil {
		return err
	}
	defer discard(file)
	if err := put(e.space.root, f.Path, 0o644, file); err != nil {
		return setupFailed("The worker cannot write the file %s to the workspace: %s", f.Path, err)
	}
	return nil
}

// errFileGone is an error that the user cannot fix.
var errFileGone = errors.New("the control plane has lost a file of the run")

// download copies a file of the control plane to a local file. If the transport fails, it starts
// again from the beginning.
func (e *execution) download(f penstock.File) (*os.File, error) {
	file, err := os.CreateTemp(e.space.dir, "download-*")
	if err != nil {
		return nil, err
	}
	timeout, cancel := context.WithTimeout(e.lease, downloadTime)
	defer cancel()
	err = again(timeout, func(context.Context) error {
		content, err := e.w.Control.Open(timeout, e.Lease, f)
		if err != nil {
			return err
		}
		defer content.Close()
		if err := rewind(file); err != nil {
			return err
		}
		n, err := io.Copy(file, content)
		if err == nil && n != f.Size {
			err = fmt.Errorf("got %d of %d bytes", n, f.Size)
		}
		return err
	})
	if err == nil {
		_, err = file.Seek(0, io.SeekStart)
	}
	if err != nil {
		discard(file)
		return nil, fmt.Errorf("fetch the file %s: %w", f.Path, err)
	}
	return file, nil
}

// downloadTime limits the download of one file.
const downloadTime = 5 * time.Minute

func rewind(file *os.File) error {
	if err := file.Truncate(0); err != nil {
		return err
	}
	_, err := file.Seek(0, io.SeekStart)
	return err
}

func discard(file *os.File) {
	_ = file.Close()
	_ = os.Remove(file.Name())
}

// setUp runs one setup command in the sandbox, in the workspace.
func (e *execution) setUp(ctx context.Context, number int, command string) error {
	start := time.Now()
	running, err := e.startSandbox(ctx, sandbox.Spec{Argv: []string{"/bin/sh", "-c", command}, Env: e.environment()})
	if err != nil {
		return err
	}
	_ = running.Stdin().Close()
	var output harness.Tail
	_, _ = io.Copy(&output, running.Stdout()) // only the end of the output is needed
	_ = running.Stdout().Close()
	exit, err := running.Wait()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		return fmt.Errorf("run setup command %d: %w", number, err)
	}
	text := output.Text(e.mask.String)
	e.timeline(penstock.TimelineSetupStep, map[string]any{
		"step": number, "command": command, "exit_code": exit.Code, "output": text,
		"duration_ms": time.Since(start).Milliseconds(),
	})
	if exit.Code == 0 {
		return nil
	}
	if text != "" {
		text = "\n\n" + text
	}
	return setupFailed("The setup command %q failed: %s%s", command, e.ending(exit), text)
}

// restoreSession writes the saved session into HOME. It overwrites the files of an earlier
// execution, because other workers may have continued the conversation since. If the saved session
// is damaged or gone, a new session begins and gets the conversation as text.
func (e *execution) restoreSession() error {
	s := e.Session
	if s == nil || s.Harness != e.config.Harness.Kind() {
		return nil
	}
	archive, err := e.download(s.File)
	if penstock.CodeOf(err) == penstock.CodeNotFound {
		e.log.Warn("the saved session no longer exists", "error", err)
		return nil
	}
	if err != nil {
		return err
	}
	defer discard(archive)
	received, err := unpack(e.space.homeRoot, archive, maxSessionBytes+maxSessionFiles*1024)
	if err != nil {
		e.log.Warn("cannot restore the saved session", "error", err)
		return nil
	}
	e.outlet.restoreReceived(received)
	e.sessionID = s.SessionID
	return nil
}
