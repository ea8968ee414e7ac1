package main

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"

	"github.com/penstock-dev/penstock"
)

func runFacts(run penstock.Run) []fact {
	config := cmp.Or(run.Config, &penstock.Config{})
	list := []fact{
		{"run", run.ID},
		{"title", run.Title},
		{"state", string(run.State) + queued(run)},
		{"message", statusText(run.StatusMessage)},
		{"waits for", waitingText(run)},
		{"hollow", run.HollowReason},
		{"stalled", stalledText(run.Stalled)},
		{"budget", blockedText(run)},
		{"subject", run.Subject},
		{"events", number(run.EventsCount)},
		{"continues", run.ContinuesID},
		{"created", timestamp(run.CreatedAt)},
		{"started", timestamp(run.StartedAt)},
		{"finished", timestamp(run.FinishedAt)},
		{"run time", duration(run.RunTime)},
		{"execution", number(int64(run.ExecutionID))},
		{"source", string(run.Source)},
		{"creator", actor(run.Creator)},
		{"model", config.ModelID},
		{"harness", config.Harness.Kind()},
		{"environment", config.EnvironmentID},
		{"repositories", runRepositories(config)},
		{"usage", usage(run.Usage)},
		{"evidence", evidenceText(run.Evidence)},
		{"parent", run.ParentID},
		{"conversation", run.ConversationID},
		{"metadata", pairs(run.Metadata)},
		{"link", run.SessionLink},
	}
	for _, artifact := range run.Artifacts {
		list = append(list, fact{"artifact", artifactText(artifact)})
	}
	return append(list, fact{"prompt", run.Prompt})
}

// runRepositories returns the repositories that a run names, as run create reads them.
func runRepositories(config *penstock.Config) string {
	var list []string
	for _, r := range config.Repositories {
		text := r.URL
		if r.Ref != "" {
			text += "#" + r.Ref
		}
		list = append(list, text)
	}
	return strings.Join(list, ", ")
}

// waitingText returns what a run waits for and what ends that, "" if nothing. It does not repeat the message.
func waitingText(run penstock.Run) string {
	w := run.Waiting
	if w == nil {
		return ""
	}
	text := strings.ReplaceAll(string(w.For), "_", " ") + ": "
	if run.StatusMessage == nil || !strings.HasPrefix(run.StatusMessage.Message, w.Message) {
		text += strings.TrimPrefix(w.Message, "Waiting: ") + " "
	}
	return text + "It ends when: " + w.EndsWhen
}

// stalledText returns since when a run has had no event, "" if it has not stalled.
func stalledText(s *penstock.Stalled) string {
	if s == nil {
		return ""
	}
	return fmt.Sprintf("since %s; the last event was %s %d at %s",
		timestamp(s.Since), s.LastEvent.Type, s.LastEvent.Seq, timestamp(s.LastEvent.At))
}

// evidenceText returns what a run has done, "" if that is unknown.
func evidenceText(e *penstock.Evidence) string {
	if e == nil {
		return ""
	}
	return fmt.Sprintf("turns %d, model calls %d, actions %d (%d failed), files changed %d, outputs %d",
		e.Turns, e.ModelCalls, e.Actions, e.FailedActions, e.FilesChanged, e.Outputs)
}

type runGetCmd struct {
	resourceArg
	Web bool `help:"Print the URL of the run in the dashboard instead, and open it, if this machine has a browser."`
}

func (cmd *runGetCmd) Run(ctx context.Context, std *stdio, in *connection) error {
	if !cmd.Web {
		return runNoun.change(ctx, std, in, http.MethodGet, cmd.Target, nil)
	}
	c, path, err := runNoun.dialItem(ctx, std, in, cmd.Target)
	if err != nil {
		return err
	}
	var run penstock.Run
	raw, err := c.call(ctx, http.MethodGet, path, nil, &run)
	if err != nil {
		return err
	}
	address := c.pageOf(run)
	browse(ctx, address)
	if c.data {
		std.notef("%s", address)
		return std.result(ctx, raw)
	}
	_, err = fmt.Fprintln(std.out, cleanLine(address))
	return err
}

type runLogsCmd struct {
	ID  string `arg:"" name:"run" help:"ID of the run; @last is the one created last that your key may see."`
	Raw bool   `help:"Print the raw transcript (JSON Lines)."`
}

func (cmd *runLogsCmd) Help() string {
	return "Prints prompts, answers, actions and their results in full. --output json prints the conversation as the " +
		"API returns it; --raw prints the run's transcript."
}

func (cmd *runLogsCmd) Run(ctx context.Context, std *stdio, in *runCmds) error {
	c, err := in.dial(ctx, std)
	if err != nil {
		return err
	}
	if cmd.Raw {
		return c.download(ctx, runPath(cmd.ID, "transcript"), std.out)
	}
	var conversation penstock.Conversation
	raw, err := c.call(ctx, http.MethodGet, runPath(cmd.ID, "conversation"), nil, &conversation)
	if err != nil {
		return err
	}
	if c.data {
		return std.result(ctx, raw)
	}
	lines := printer{out: std.out}
	var each func(steps []penstock.Step)
	each = func(steps []penstock.Step) {
		for _, step := range steps {
			for _, m := range step.Messages {
				lines.message(m)
			}
			each(step.Steps)
		}
	}
	each(conversation.Steps)
	return lines.err
}

// download copies the target of a signed link. On a terminal, it cleans the text.
func (c *client) download(ctx context.Context, path string, out *os.File) error {
	response, err := c.send(ctx, http.MethodGet, path, http.Header{}, nil)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if !isTerminal(out) {
		_, err := io.Copy(out, response.Body)
		return err
	}
	lines := bufio.NewReader(response.Body)
	for {
		line, err := lines.ReadString('\n')
		if _, err := io.WriteString(out, cleanText(line)); err != nil {
			return err
		}
		switch {
		case err == io.EOF:
			return nil
		case err != nil:
			return &transportError{c.base, err}
		}
	}
}
