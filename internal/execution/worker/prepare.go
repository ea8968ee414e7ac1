package worker

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/execution/harness"
	"github.com/penstock-dev/penstock/internal/wall/sandbox"
)

// preparation is everything that an agent needs before its first prompt.
type preparation struct {
	*task
	box *box

	repos      []repository
	layers     []string // that its workspace is made of, until its agent has started
	fresh      string   // the setup of a workspace that is new; "": it was there
	layer      string   // with the same files as the prepared workspace; "": none
	skills     *placedSkills
	mcp        map[string]penstock.MCPServer
	agentFiles map[string]string // in HOME
	sessionID  string            // of the restored session; "": a new one begins
	notices    []string          // what the agent gets with its next prompt
}

// setupFailed returns an error that the user can fix.
func setupFailed(format string, args ...any) error {
	return penstock.Errorf(penstock.CodeEnvironmentSetupFailed, format, args...)
}

// prepare moves the run to PENDING and prepares everything for the agent.
func (p *preparation) prepare(ctx context.Context) error {
	if err := p.move(penstock.StatePending); err != nil {
		return err
	}
	if len(p.Prompts) == 0 {
		return p.move(penstock.StateInProgress)
	}
	if err := p.box.choose(); err != nil {
		return err
	}
	if len(p.program.Argv) == 0 {
		return setupFailed("This worker has no harness %q.", p.config.Harness.Kind())
	}
	if err := p.checkVariables(); err != nil {
		return err
	}
	if p.config.EnvironmentID != "" && p.Environment == nil {
		return setupFailed("The environment %s no longer exists.", p.config.EnvironmentID)
	}
	var err error
	if p.mcp, err = p.resolveMCP(); err != nil {
		return err
	}
	if p.box.space, err = p.w.spaces.open(ctx, p.Lease.RunID); err != nil {
		return err
	}
	if p.box.outdated() {
		p.box.space.setup = "" // it is not kept
		p.box.space.close()
		if p.box.space, err = p.w.spaces.open(ctx, p.Lease.RunID); err != nil {
			return err
		}
	}
	if err := p.box.recallSecrets(); err != nil {
		return fmt.Errorf("put the secrets back into the workspace of run %s: %w", p.Lease.RunID, err)
	}
	if err := p.box.openOutlet(); err != nil {
		return err
	}
	if err := p.setUpAgent(); err != nil {
		return err
	}
	if err := p.box.useImage(ctx); err != nil {
		return err
	}
	err = p.fill(ctx)
	if errors.Is(err, errFilesGone) && p.Checkpoint.Turn > 0 && !p.Checkpoint.Restore {
		err = restoring{p, ""}.without(ctx, err)
	}
	if errors.Is(err, errFilesGone) { // the run was asked to begin with them
		return setupFailed("The files of turn %d cannot be restored. %s", p.Checkpoint.Turn, goneBecause(err))
	}
	return err
}

// fill fills the workspace with everything that the agent finds there.
func (p *preparation) fill(ctx context.Context) error {
	if err := p.fillWorkspace(ctx); err != nil {
		return err
	}
	p.skills = &placedSkills{task: p.task, space: p.box.space, home: p.box.layout().Home, repos: p.repos}
	if err := p.skills.placeAll(); err != nil {
		p.trust(!p.skills.blocked)
		return err
	}
	return p.restore()
}

// restore restores the files of a turn, if the workspace is new, and the session of the agent.
func (p *preparation) restore() error {
	from := restoring{p, p.fresh}
	switch {
	case p.fresh == "":
		return p.restoreSession()
	case p.Checkpoint == nil:
		return errors.Join(from.keepPrepared(), p.restoreSession())
	case p.Checkpoint.Behind: // its session is newer than the files
		return errors.Join(from.restoreCheckpoint(), p.restoreSession())
	}
	return from.restoreCheckpoint()
}

// fillWorkspace writes files and repositories into the workspace and runs the setup commands. It
// keeps the files of an earlier execution of the run.
func (p *preparation) fillWorkspace(ctx context.Context) error {
	if p.box.space.reused() {
		p.timeline(timelineWorkspaceReused, nil)
	}
	var config penstock.EnvironmentConfig
	if p.Environment != nil {
		config = p.Environment.Config
	}
	p.box.sayWhatIsNotUsed()
	commands := p.setupCommands()
	setup := setupID(config, commands, p.box.image.digest())
	start := time.Now()
	ready, why, err := p.warmUp(ctx, config, commands)
	if err == nil && !ready {
		err = p.fillCold(ctx, config, commands, setup)
	}
	if err != nil {
		return err
	}
	if why != "" {
		p.timeline(timelineWorkspaceReady, map[string]any{
			"from": "cold", "reason": why, "commands": "all", "duration_ms": time.Since(start).Milliseconds(),
		})
	}
	if !p.box.space.reused() {
		p.fresh = setup
	}
	return p.box.space.setUp(setup)
}

// fillCold prepares everything that the workspace does not have from an earlier execution.
func (p *preparation) fillCold(
	ctx context.Context, config penstock.EnvironmentConfig, commands []string, setup string,
) error {
	if err := p.writeGitIdentity(); err != nil {
		return err
	}
	if err := p.checkOut(ctx, config); err != nil {
		return err
	}
	if err := p.fetchFiles(); err != nil {
		return err
	}
	if setup == p.box.space.setup && !p.box.image.fresh() {
		return nil
	}
	return p.setUpAll(ctx, commands, p.box.environment())
}

// fetchFiles writes the attachments of the run.
func (p *preparation) fetchFiles() error {
	for _, f := range p.Files {
		if err := p.box.fetch(f); err != nil {
			return err
		}
	}
	return nil
}

// setUpAll runs setup commands with the variables env until one fails.
func (p *preparation) setUpAll(ctx context.Context, commands, env []string) error {
	for i, command := range commands {
		if err := p.setUp(ctx, i+1, command, env); err != nil {
			return err
		}
	}
	return nil
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

// setUp runs one setup command in the sandbox, in the workspace.
func (p *preparation) setUp(ctx context.Context, number int, command string, env []string) error {
	start := time.Now()
	running, err := p.box.start(ctx, sandbox.Spec{Argv: []string{"/bin/sh", "-c", command}, Env: env})
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
	text := output.Text(p.mask.String)
	p.timeline(penstock.TimelineSetupStep, map[string]any{
		"step": number, "command": command, "exit_code": exit.Code, "output": text,
		"duration_ms": time.Since(start).Milliseconds(),
	})
	if exit.Code == 0 {
		return nil
	}
	if text != "" {
		text = "\n\n" + text
	}
	return setupFailed("The setup command %q failed: %s%s", command, p.ending(exit), text)
}

// restoreSession writes the saved session into HOME. It overwrites the files of an earlier
// execution, because other workers may have continued the conversation since. If the saved session
// is damaged or gone, a new session begins and gets the conversation as text.
func (p *preparation) restoreSession() error {
	s := p.Session
	if s == nil || s.Harness != p.config.Harness.Kind() {
		return nil
	}
	archive, err := p.box.download(s.File)
	if penstock.CodeOf(err) == penstock.CodeNotFound {
		p.log.Warn("the saved session no longer exists", "error", err)
		return nil
	}
	if err != nil {
		return err
	}
	defer discard(archive)
	received, err := unpack(p.box.space.homeRoot, archive, maxSessionBytes+maxSessionFiles*1024)
	if err != nil {
		p.log.Warn("cannot restore the saved session", "error", err)
		return nil
	}
	p.box.outlet.restoreReceived(received)
	p.sessionID = s.SessionID
	return nil
}
