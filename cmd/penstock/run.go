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
	"github.com/penstock-dev/penstock/internal/control/run"
)

type runCmds struct {
	connection

	Create      runCreateCmd      `cmd:"" help:"Create a run."`
	List        runListCmd        `cmd:"" help:"List runs, most recently changed first."`
	Get         runGetCmd         `cmd:"" help:"Show a run."`
	Watch       runWatchCmd       `cmd:"" ids:"none" help:"Follow the events of a run until it ends."`
	Logs        runLogsCmd        `cmd:"" ids:"none" help:"Print the conversation of a run so far."`
	Diff        runDiffCmd        `cmd:"" ids:"none" help:"Show what a run has changed in its repositories, as a patch."`
	Files       runFilesCmd       `cmd:"" help:"List the files that a run left."`
	Download    runDownloadCmd    `cmd:"" help:"Download the files that a run left."`
	Network     runNetworkCmd     `cmd:"" ids:"none" help:"Show what a run may reach and what it reached."`
	Budget      runBudgetCmd      `cmd:"" ids:"none" help:"Show or change the budget of a run."`
	FollowUp    runFollowUpCmd    `cmd:"" name:"follow-up" help:"Send a follow-up to a run: steer it, answer its question, or restart it."`
	Interrupt   runInterruptCmd   `cmd:"" help:"Interrupt the current turn of a run without ending the run."`
	Cancel      runCancelCmd      `cmd:"" help:"Cancel runs."`
	Checkpoints runCheckpointsCmd `cmd:"" ids:"none" help:"List the turns of a run whose files are kept."`
	Fork        runForkCmd        `cmd:"" help:"Begin other runs with the files and the conversation of a turn."`
	Rewind      runRewindCmd      `cmd:"" help:"Take a run back to the end of a turn."`
	Compare     runCompareCmd     `cmd:"" help:"Compare the runs of a fork."`
	Wait        runWaitCmd        `cmd:"" help:"Wait until a run ends; the exit code reports its result."`
}

var runNoun = &noun[penstock.Run]{
	name: "run", id: "ID", uid: true, path: "agent/runs", key: "runs", some: "?limit=50",
	head: []string{"RUN", "STATE", "AGE", "UPDATED", "SOURCE", "TITLE"},
	row: func(r penstock.Run) []string {
		return []string{r.ID, listedState(r), age(r.CreatedAt), age(r.UpdatedAt), string(r.Source), r.Title}
	},
	facts: runFacts,
}

// listedState returns the state of a run, with a mark if the run did nothing or has stalled.
func listedState(r penstock.Run) string {
	switch {
	case r.Hollow:
		return string(r.State) + " (hollow)"
	case r.Stalled != nil:
		return string(r.State) + " (stalled)"
	}
	return string(r.State)
}

func runPath(id string, rest ...string) string {
	return strings.Join(append([]string{"agent/runs", url.PathEscape(id)}, rest...), "/")
}

// callSubject are the flags about what a run is about.
type callSubject struct {
	Subject  string `placeholder:"TEXT" field:"/subject" help:"What the run is about, such as acme/shop#7. If a run works on it already, that run gets the prompt."`
	WhenBusy string `enum:",coalesce,queue,replace,parallel" default:"" placeholder:"HOW" field:"/when_busy" help:"What happens while a run works on the subject: coalesce (one follow-up after its turn; the default), queue, replace or parallel."`
}

// noteOutcome says that a call has reached a run that was there already.
func (s *stdio) noteOutcome(outcome run.CallOutcome) {
	switch outcome {
	case run.CallContinued:
		s.notef("a run works on the subject already, or has succeeded lately: it gets the prompt as a follow-up")
	case run.CallMerged:
		s.notef("a run on the subject has not begun yet: it gets the prompt together with its own")
	}
}

type runCreateCmd struct {
	Prompt       string            `arg:"" optional:"" field:"/prompt" help:"Prompt for the agent; - reads it from standard input."`
	Title        string            `field:"/title" help:"Title of the run; by default the first line of the prompt."`
	Name         string            `field:"/config/name" help:"Name of the configuration, for finding similar runs later."`
	Model        string            `placeholder:"ID" field:"/config/model_id" help:"Model, such as demo/offline."`
	Environment  string            `placeholder:"UID|NAME" field:"/config/environment_id" help:"Environment to run in, with its repositories and setup commands."`
	Repo         []string          `sep:"none" placeholder:"REPOSITORY[#REF]" about:"/config/repositories" help:"Repository to work on, in addition to those of the environment: owner/name of GitHub or a URL, with #REF for a branch, tag or commit; repeatable, up to 20."`
	Connection   string            `placeholder:"NAME" about:"/config/repositories" help:"Connection to a forge whose repositories --repo OWNER/NAME means, instead of those of GitHub."`
	Agent        string            `placeholder:"UID|NAME" field:"/agent_identity_uid" help:"Agent whose name and settings the run uses."`
	Skill        string            `placeholder:"REFERENCE" field:"/skill" help:"Skill to follow: owner/repo:path/SKILL.md, owner/repo:name or name."`
	Attach       []string          `type:"existingfile" sep:"none" placeholder:"FILE" about:"/attachments" help:"File to attach; repeatable, up to 5 files and 25 MiB in total."`
	Metadata     map[string]string `mapsep:"none" placeholder:"KEY=VALUE" field:"/metadata" help:"Label of the run; repeatable, up to 20."`
	Mode         string            `enum:",normal,plan,orchestrate" default:"" placeholder:"MODE" field:"/mode" help:"Mode: normal, plan (plan first and ask) or orchestrate."`
	Env          []string          `sep:"none" placeholder:"KEY[=VALUE]" about:"/config/env" help:"Environment variable for the agent; repeatable. Without a value, it is copied from your environment. Not for secrets: the run shows it."`
	Secret       []string          `sep:"none" placeholder:"NAME" field:"/config/secrets" help:"Managed secret that the run gets as an environment variable; repeatable. Needs a key with the scope secrets:use."`
	Harness      string            `placeholder:"TYPE" field:"/config/harness/type" help:"Agent program: builtin, an installed one such as opencode, or one from the server's configuration."`
	WorkerHost   string            `placeholder:"HOST" field:"/config/worker_host" help:"Worker that must execute the run."`
	MaxDuration  time.Duration     `placeholder:"DURATION" about:"/config/max_duration_minutes" help:"Maximum working time of the agent, in whole minutes, such as 90m."`
	MaxCost      float64           `placeholder:"USD" field:"/config/budget/max_cost_usd" help:"Maximum cost of the run and its child runs, in US dollars."`
	MaxTokens    int64             `placeholder:"TOKENS" field:"/config/budget/max_total_tokens" help:"Maximum number of tokens, of all kinds, of the run and its child runs."`
	Interactive  bool              `field:"/interactive" help:"Keep the session open for follow-ups after a turn."`
	Parent       string            `placeholder:"RUN" field:"/parent_run_id" help:"Parent run, or @last."`
	Conversation string            `placeholder:"ID" field:"/conversation_id" help:"Conversation to continue."`
	Again        *string           `placeholder:"RUN" help:"Repeat this run, or @last: its prompt and its configuration, without its secrets and attachments. Other flags override them."`
	Attempts     *int              `placeholder:"N" field:"/attempts" help:"How many runs to create with the same prompt, 1 to 10; see run compare."`
	callSubject
	requestBody

	Wait  bool `xor:"wait" help:"Wait until the run ends; the exit code reports its result."`
	Watch bool `xor:"wait" help:"Follow the run's events until it ends."`
	Web   bool `help:"Also print the URL of the run in the dashboard, and open it, if this machine has a browser."`
}

func (cmd *runCreateCmd) Help() string {
	return "Prints the ID of the run. With --wait or --watch, the exit codes are those of run wait; an interrupt does " +
		"not stop the run. With --attempts, or configs in --file, prints the ID of each run, and the ID of their group for " +
		"run compare. --wait then waits for all, and the exit code is that of the first one that did not succeed."
}

func (cmd *runCreateCmd) Run(ctx context.Context, std *stdio, in *runCmds) error {
	if cmd.File == "" && cmd.Prompt == "" && cmd.Skill == "" && cmd.Conversation == "" && cmd.Again == nil {
		return exitf(exitUsage, "nothing to do: set a prompt, --skill, --conversation or --again")
	}
	if err := std.mayWatch(cmd.Watch); err != nil {
		return err
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
	if body, err = cmd.repeat(ctx, c, body); err != nil {
		return err
	}
	if (body["attempts"] != nil || body["configs"] != nil) && cmd.Watch {
		return exitf(exitUsage, "--watch follows a single run; use --wait, or run watch with the ID of one of the attempts")
	}
	var created run.Created
	raw, err := c.call(ctx, http.MethodPost, "agent/runs", body, &created)
	if err != nil {
		return err
	}
	switch {
	case !c.data:
		printCreated(std, created)
	case !cmd.Watch: // --watch prints events
		if err := std.result(ctx, raw); err != nil {
			return err
		}
	}
	if err := cmd.open(ctx, c, created); err != nil {
		return err
	}
	std.noteOutcome(created.Outcome)
	switch {
	case c.warned: // the warning says why the run waits
		std.notef("if the warning shows a mistake, cancel this run and create another one: penstock run cancel %s",
			cleanLine(created.ID))
	case created.AtCapacity:
		std.notef("%s", waiting(ctx, c, created.ID))
	}
	switch {
	case cmd.Watch:
		return watchRun(ctx, std, c, created.ID, 0, c.data)
	case cmd.Wait:
		return waitForCreated(ctx, std, c, created)
	case isTerminal(std.out) && created.Runs == nil:
		std.notef("watch it: penstock run watch %s", created.ID)
	}
	return nil
}

// open shows the page of each new run, with --web.
func (cmd *runCreateCmd) open(ctx context.Context, c *client, created run.Created) error {
	if !cmd.Web {
		return nil
	}
	ids := []string{created.ID}
	if created.Runs != nil {
		ids = nil
	}
	for _, r := range created.Runs {
		ids = append(ids, r.ID)
	}
	for _, id := range ids {
		run, err := c.run(ctx, id)
		if err != nil {
			return err
		}
		c.std.notef("%s", c.pageOf(run))
		browse(ctx, c.pageOf(run))
	}
	return nil
}

// printCreated prints the ID of each new run.
func printCreated(std *stdio, created run.Created) {
	if created.Runs == nil {
		fmt.Fprintln(std.out, cleanLine(created.ID))
		return
	}
	std.printGroup(created.ForkGroup, created.Runs)
}

// printGroup prints the IDs of the new runs of a fork group.
func (s *stdio) printGroup(group string, runs []penstock.ForkedRun) {
	s.notef("fork group: %s", cleanLine(group))
	for _, r := range runs {
		fmt.Fprintln(s.out, cleanLine(r.ID))
	}
}

// waitForCreated waits until each new run has ended. It returns the outcome of the first that did not succeed.
func waitForCreated(ctx context.Context, std *stdio, c *client, created run.Created) (first error) {
	if created.Runs == nil {
		return waitForRun(ctx, std, c, created.ID, false)
	}
	for _, r := range created.Runs {
		err := waitForRun(ctx, std, c, r.ID, false)
		if ctx.Err() != nil {
			return err
		}
		if first == nil {
			first = err
		}
	}
	return first
}

// waiting says why a new run waits for a worker.
func waiting(ctx context.Context, c *client, id string) string {
	const busy = "no worker is free: the run waits in the queue"
	var created penstock.Run
	var known struct {
		Harnesses []run.HarnessInfo `json:"harnesses"`
	}
	if _, err := c.call(ctx, http.MethodGet, runPath(id), nil, &created); err != nil || created.Config.Harness == nil {
		return busy
	}
	if _, err := c.call(ctx, http.MethodGet, "agent/harnesses", nil, &known); err != nil {
		return busy
	}
	for _, h := range known.Harnesses {
		if h.Name == created.Config.Harness.Type && !h.Usable {
			return cleanLine(fmt.Sprintf("no worker can run %s yet: the run waits in the queue. %s", h.Name, h.Reason))
		}
	}
	return busy
}

// request builds the request from the flags.
func (cmd *runCreateCmd) request(ctx context.Context, std *stdio, c *client) (_ map[string]any, err error) {
	if cmd.Prompt == "-" && cmd.File == "-" {
		return nil, exitf(exitUsage, "the prompt and --file cannot both be read from standard input")
	}
	if cmd.MaxDuration < 0 || cmd.MaxDuration > 0 && cmd.MaxDuration < time.Minute {
		return nil, exitf(exitUsage, "--max-duration must be at least 1m")
	}
	if cmd.Prompt, err = std.text(cmd.Prompt); err != nil {
		return nil, err
	}
	if err := checkSecretNames(cmd.Secret); err != nil {
		return nil, err
	}
	config, request := map[string]any{}, map[string]any{}
	if cmd.MaxDuration > 0 {
		config["max_duration_minutes"] = int(math.Ceil(cmd.MaxDuration.Minutes()))
	}
	if cmd.Env != nil {
		if config["env"], err = environmentOf(cmd.Env); err != nil {
			return nil, err
		}
	}
	if cmd.Connection != "" && cmd.Repo == nil {
		return nil, exitf(exitUsage, "--connection needs --repo OWNER/NAME: it says where the repository is")
	}
	if cmd.Repo != nil {
		if config["repositories"], err = repositoriesOf(cmd.Repo, cmd.Connection); err != nil {
			return nil, err
		}
	}
	if cmd.Attach != nil {
		if request["attachments"], err = attachments(cmd.Attach); err != nil {
			return nil, err
		}
	}
	if cmd.Environment, err = environmentNoun.find(ctx, c, cmd.Environment); err != nil {
		return nil, err
	}
	if cmd.Agent, err = agentNoun.find(ctx, c, cmd.Agent); err != nil {
		return nil, err
	}
	if len(config) > 0 {
		request["config"] = config
	}
	merge(request, fieldsOf(cmd))
	return request, nil
}

// repositoriesOf reads the values of --repo. A connection has the repositories that are not URLs. An error names
// a value by its position, because it may hold a password.
func repositoriesOf(list []string, connection string) ([]penstock.RunRepository, error) {
	var repositories []penstock.RunRepository
	for i, text := range list {
		r, err := parseRepository(text)
		path, ref, _ := strings.Cut(text, "#")
		if connection != "" && err == nil && penstock.CheckForgePath(path) == "" {
			r = penstock.RunRepository{Connection: connection, Path: path, Ref: ref}
		}
		if err != nil {
			which := ""
			if len(list) > 1 {
				which = fmt.Sprintf(" (number %d)", i+1)
			}
			return nil, exitf(exitUsage, "--repo%s: %w", which, err)
		}
		repositories = append(repositories, r)
	}
	return repositories, nil
}

// environmentOf reads KEY=VALUE and KEY, whose value comes from the caller's
// environment.
func environmentOf(list []string) (map[string]string, error) {
	env := map[string]string{}
	for _, entry := range list {
		name, value, given := strings.Cut(entry, "=")
		if !given {
			if value, given = os.LookupEnv(name); !given {
				return nil, exitf(exitUsage, "--env %s: the variable is not set in your environment", name)
			}
		}
		env[name] = value
	}
	return env, nil
}

func attachments(paths []string) ([]penstock.Attachment, error) {
	var list []penstock.Attachment
	if len(paths) > run.MaxAttachments {
		return nil, exitf(exitUsage, "--attach: at most %d files are allowed", run.MaxAttachments)
	}
	left := int64(run.MaxAttachmentBytes)
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			return nil, exitf(exitUsage, "--attach: %w", err)
		}
		if left -= info.Size(); left < 0 {
			return nil, exitf(
				exitUsage, "--attach %s: the files exceed %d MiB in total", path, run.MaxAttachmentBytes>>20,
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
