package main

import (
	"context"
	"fmt"
	"math"
	"mime"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/penstock-dev/penstock"
)

type runCmds struct {
	connection

	Create    runCreateCmd    `cmd:"" help:"Start a run."`
	List      runListCmd      `cmd:"" help:"List runs, the latest change first."`
	Get       runGetCmd       `cmd:"" help:"Show a run."`
	Watch     runWatchCmd     `cmd:"" help:"Show what a run does, from its beginning until it is over."`
	Logs      runLogsCmd      `cmd:"" help:"Print what was said and done so far."`
	FollowUp  runFollowUpCmd  `cmd:"" name:"follow-up" help:"Say something to a run: steer it, answer it, or start it again."`
	Interrupt runInterruptCmd `cmd:"" help:"Stop what the agent of a run is doing, and keep the run."`
	Cancel    runCancelCmd    `cmd:"" help:"Stop runs."`
	Wait      runWaitCmd      `cmd:"" help:"Wait until a run is over; the exit code says how it ended."`
}

func runPath(id string, rest ...string) string {
	return strings.Join(append([]string{"agent/runs", url.PathEscape(id)}, rest...), "/")
}

type runCreateCmd struct {
	Prompt       string            `arg:"" optional:"" field:"/prompt" help:"What the agent is to do; - reads it from standard input."`
	Title        string            `field:"/title" help:"Title of the run; else the first line of the prompt."`
	Name         string            `field:"/config/name" help:"Name of its configuration, to find runs of one kind again."`
	Model        string            `placeholder:"ID" field:"/config/model_id" help:"Model, such as demo/offline."`
	Environment  string            `placeholder:"UID|NAME" field:"/config/environment_id" help:"Where to work: repositories and set-up."`
	Agent        string            `placeholder:"UID|NAME" field:"/agent_identity_uid" help:"Agent under whose name and settings to run."`
	Skill        string            `placeholder:"REFERENCE" field:"/skill" help:"Skill to follow: owner/repo:path/SKILL.md, owner/repo:name or name."`
	Attach       []string          `type:"existingfile" sep:"none" placeholder:"FILE" field:"/attachments" help:"File to send along; up to 5, 25 MiB in all."`
	Metadata     map[string]string `mapsep:"none" placeholder:"KEY=VALUE" field:"/metadata" help:"Labels to find the run by; up to 20."`
	Mode         string            `enum:",normal,plan,orchestrate" default:"" placeholder:"MODE" field:"/mode" help:"How to go about it: normal, plan (plan first and ask) or orchestrate."`
	Env          []string          `sep:"none" placeholder:"KEY[=VALUE]" field:"/config/env" help:"Environment variable of the agent; without a value it is taken from your environment. Not for secrets: the run shows it."`
	Secret       []string          `sep:"none" placeholder:"NAME" field:"/config/secrets" help:"Managed secret to give to the run as an environment variable; needs a key with secrets:use. Can be given often."`
	Harness      string            `placeholder:"TYPE" field:"/config/harness/type" help:"Agent program: builtin, command, or one of the server's configuration."`
	WorkerHost   string            `placeholder:"HOST" field:"/config/worker_host" help:"Worker that is to execute the run."`
	MaxDuration  time.Duration     `placeholder:"DURATION" field:"/config/max_duration_minutes" help:"How long the agent may work, in whole minutes, such as 90m."`
	Interactive  bool              `field:"/interactive" help:"Keep the session open for follow-ups after a turn."`
	Parent       string            `placeholder:"RUN" field:"/parent_run_id" help:"Run that this one belongs to."`
	Conversation string            `placeholder:"ID" field:"/conversation_id" help:"Conversation to continue."`
	requestBody

	Wait  bool `xor:"wait" help:"Wait until the run is over; the exit code says how it ended."`
	Watch bool `xor:"wait" help:"Show what the run does until it is over."`
}

func (cmd *runCreateCmd) Help() string {
	return "Prints the id of the run. --wait and --watch end with the exit codes of run wait; interrupting them leaves the run going."
}

func (cmd *runCreateCmd) Run(ctx context.Context, std *stdio, in *runCmds) error {
	if cmd.File == "" && cmd.Prompt == "" && cmd.Skill == "" && cmd.Conversation == "" {
		return exitf(exitUsage, "nothing to do: give a prompt, --skill, or --conversation to continue one")
	}
	c, err := in.dial(ctx, std)
	if err != nil {
		return err
	}
	request, err := cmd.request(ctx, std, c)
	if err != nil {
		return err
	}
	body, err := cmd.with(std, request)
	if err != nil {
		return err
	}
	var created penstock.RunCreated
	raw, err := c.call(ctx, http.MethodPost, "agent/runs", body, &created)
	if err != nil {
		return err
	}
	switch {
	case !c.json:
		fmt.Fprintln(std.out, cleanLine(created.ID))
	case !cmd.Watch: // which prints events
		if err := std.json(raw); err != nil {
			return err
		}
	}
	if created.AtCapacity {
		std.notef("no worker is free now: the run waits in the queue")
	}
	switch {
	case cmd.Watch:
		return watchRun(ctx, std, c, created.ID, 0, c.json)
	case cmd.Wait:
		return waitForRun(ctx, std, c, created.ID, false)
	case isTerminal(std.out):
		std.notef("watch it: penstock run watch %s", created.ID)
	}
	return nil
}

// request is what the flags say.
func (cmd *runCreateCmd) request(ctx context.Context, std *stdio, c *client) (penstock.RunRequest, error) {
	var r penstock.RunRequest
	if cmd.Prompt == "-" && cmd.File == "-" {
		return r, exitf(exitUsage, "prompt and --file cannot both be read from standard input")
	}
	if cmd.MaxDuration < 0 || cmd.MaxDuration > 0 && cmd.MaxDuration < time.Minute {
		return r, exitf(exitUsage, "--max-duration is at least 1m")
	}
	prompt, err := std.text(cmd.Prompt)
	if err != nil {
		return r, err
	}
	config := penstock.Config{
		Name: cmd.Name, ModelID: cmd.Model, WorkerHost: cmd.WorkerHost, Secrets: cmd.Secret,
	}
	if cmd.MaxDuration > 0 {
		config.MaxDurationMinutes = new(int(math.Ceil(cmd.MaxDuration.Minutes())))
	}
	if err := checkSecretNames(cmd.Secret); err != nil {
		return r, err
	}
	if config.Env, err = environmentOf(cmd.Env); err != nil {
		return r, err
	}
	if cmd.Harness != "" {
		config.Harness = &penstock.Harness{Type: cmd.Harness}
	}
	r = penstock.RunRequest{
		Prompt: prompt, Title: cmd.Title, Skill: cmd.Skill, Mode: penstock.Mode(cmd.Mode), Metadata: cmd.Metadata,
		ParentID: cmd.Parent, ConversationID: cmd.Conversation, Config: &config,
	}
	if cmd.Interactive {
		r.Interactive = &cmd.Interactive
	}
	if r.Attachments, err = attachments(cmd.Attach); err != nil {
		return r, err
	}
	if config.EnvironmentID, err = c.environmentUID(ctx, cmd.Environment); err != nil {
		return r, err
	}
	r.AgentIdentityUID, err = c.agentUID(ctx, cmd.Agent)
	return r, err
}

// environmentOf reads KEY=VALUE and KEY, whose value comes from the caller's
// environment.
func environmentOf(list []string) (map[string]string, error) {
	env := map[string]string{}
	for _, entry := range list {
		name, value, given := strings.Cut(entry, "=")
		if !given {
			if value, given = os.LookupEnv(name); !given {
				return nil, exitf(exitUsage, "--env %s: your environment has no such variable", name)
			}
		}
		env[name] = value
	}
	return env, nil
}

func attachments(paths []string) ([]penstock.Attachment, error) {
	var list []penstock.Attachment
	if len(paths) > penstock.MaxAttachments {
		return nil, exitf(exitUsage, "--attach: at most %d files can be sent along", penstock.MaxAttachments)
	}
	left := int64(penstock.MaxAttachmentBytes)
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			return nil, exitf(exitUsage, "--attach: %w", err)
		}
		if left -= info.Size(); left < 0 {
			return nil, exitf(
				exitUsage, "--attach %s: the files are larger than %d MiB together", path, penstock.MaxAttachmentBytes>>20,
			)
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return nil, exitf(exitUsage, "--attach: %w", err)
		}
		kind := mime.TypeByExtension(filepath.Ext(path))
		if kind == "" {
			kind = http.DetectContentType(data)
		}
		list = append(list, penstock.Attachment{FileName: filepath.Base(path), MimeType: kind, Data: data})
	}
	return list, nil
}
