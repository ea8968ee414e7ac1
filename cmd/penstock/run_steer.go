package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/penstock-dev/penstock"
)

type runFollowUpCmd struct {
	ID      string   `arg:"" name:"run" help:"Id of the run."`
	Message string   `arg:"" field:"/message" help:"What to say; - reads it from standard input."`
	Mode    string   `enum:",normal,plan,orchestrate" default:"" placeholder:"MODE" field:"/mode" help:"How to go about it: normal, plan or orchestrate."`
	Attach  []string `type:"existingfile" sep:"none" placeholder:"FILE" field:"/attachments" help:"File to send along; up to 5, 25 MiB in all."`
	Wait    bool     `xor:"wait" help:"Wait until the run is over; the exit code says how it ended."`
	Watch   bool     `xor:"wait" help:"Show what the run does from here on until it is over."`
}

func (cmd *runFollowUpCmd) Help() string {
	return "A run that waits or works gets the message at its next turn, a BLOCKED run takes it as the answer, and one that is over starts again where it ended."
}

func (cmd *runFollowUpCmd) Run(ctx context.Context, std *stdio, in *runCmds) error {
	c, err := in.dial(ctx, std)
	if err != nil {
		return err
	}
	message, err := std.text(cmd.Message)
	if err != nil {
		return err
	}
	request := penstock.FollowupRequest{Message: message, Mode: penstock.Mode(cmd.Mode)}
	files, err := attachments(cmd.Attach)
	if err != nil {
		return err
	}
	for _, f := range files {
		request.Attachments = append(
			request.Attachments, penstock.FollowupAttachment{FileName: f.FileName, MimeType: f.MimeType, Data: f.Data},
		)
	}
	raw, err := c.call(ctx, http.MethodPost, runPath(cmd.ID, "followups"), request, nil)
	if err != nil {
		return err
	}
	switch {
	case cmd.Watch:
		return watchRun(ctx, std, c, cmd.ID, 0, c.json)
	case cmd.Wait:
		return waitForRun(ctx, std, c, cmd.ID, false)
	case c.json:
		return std.json(raw)
	}
	return nil
}

type runInterruptCmd struct {
	ID string `arg:"" name:"run" help:"Id of the run."`
}

func (cmd *runInterruptCmd) Help() string {
	return "Ends what the agent is doing right now. The run goes on: the agent gets the next follow-up, or waits for one. To end the run, cancel it."
}

func (cmd *runInterruptCmd) Run(ctx context.Context, std *stdio, in *runCmds) error {
	c, err := in.dial(ctx, std)
	if err != nil {
		return err
	}
	raw, err := c.call(ctx, http.MethodPost, runPath(cmd.ID, "interrupt"), nil, nil)
	if err != nil {
		return fmt.Errorf("interrupt run %s: %w", cmd.ID, err)
	}
	if c.json {
		return std.json(raw)
	}
	return nil
}

type runCancelCmd struct {
	Runs    []string `arg:"" name:"run" help:"Ids of the runs."`
	Cascade bool     `help:"Stop the runs that they started, too."`
}

func (cmd *runCancelCmd) Help() string {
	return "Returns once each run is CANCELLED. A run that is over already is an error; the others are cancelled all the same."
}

func (cmd *runCancelCmd) Run(ctx context.Context, std *stdio, in *runCmds) error {
	c, err := in.dial(ctx, std)
	if err != nil {
		return err
	}
	query := ""
	if cmd.Cascade {
		query = "?cascade=true"
	}
	var errs []error
	for _, id := range cmd.Runs {
		var cancelled string
		if _, err := c.call(ctx, http.MethodPost, runPath(id, "cancel")+query, nil, &cancelled); err != nil {
			errs = append(errs, fmt.Errorf("cancel run %s: %w", id, err))
			continue
		}
		fmt.Fprintln(std.out, cleanLine(cancelled))
	}
	return errors.Join(errs...)
}
