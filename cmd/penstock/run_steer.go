package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/penstock-dev/penstock/internal/control/run"
)

type runFollowUpCmd struct {
	ID      string   `arg:"" name:"run" help:"ID of the run; @last is the one created last that your key may see."`
	Message string   `arg:"" field:"/message" help:"Message to the agent; - reads it from standard input."`
	Mode    string   `enum:",normal,plan,orchestrate" default:"" placeholder:"MODE" field:"/mode" help:"Mode: normal, plan (plan first and ask) or orchestrate."`
	Attach  []string `type:"existingfile" sep:"none" placeholder:"FILE" about:"/attachments" help:"File to attach; repeatable, up to 5 files and 25 MiB in total."`
	Wait    bool     `xor:"wait" help:"Wait until the run ends; the exit code reports its result."`
	Watch   bool     `xor:"wait" help:"Follow the run's events from here until it ends."`
}

func (cmd *runFollowUpCmd) Help() string {
	return "A queued or running run gets the message at its next turn. A BLOCKED run takes it as the answer. An ended " +
		"run starts again where it stopped."
}

func (cmd *runFollowUpCmd) Run(ctx context.Context, std *stdio, in *runCmds) error {
	if err := std.mayWatch(cmd.Watch); err != nil {
		return err
	}
	c, err := in.dial(ctx, std)
	if err != nil {
		return err
	}
	if cmd.Message, err = std.text(cmd.Message); err != nil {
		return err
	}
	files, err := attachments(cmd.Attach)
	if err != nil {
		return err
	}
	request := fieldsOf(cmd)
	var attached []run.FollowupAttachment
	for _, f := range files {
		attached = append(attached, run.FollowupAttachment{FileName: f.FileName, MimeType: f.MimeType, Data: f.Data})
	}
	if attached != nil {
		request["attachments"] = attached
	}
	raw, err := c.call(ctx, http.MethodPost, runPath(cmd.ID, "followups"), request, nil)
	if err != nil {
		return err
	}
	if cmd.Watch {
		return watchRun(ctx, std, c, cmd.ID, 0, c.data)
	}
	if c.data {
		if err := std.result(ctx, raw); err != nil {
			return err
		}
	}
	if cmd.Wait {
		return waitForRun(ctx, std, c, cmd.ID, false)
	}
	return nil
}

type runInterruptCmd struct {
	ID string `arg:"" name:"run" help:"ID of the run; @last is the one created last that your key may see."`
}

func (cmd *runInterruptCmd) Help() string {
	return "Ends the current turn of the agent. The run continues: the agent gets the next follow-up, or waits for one. " +
		"To end the run, use run cancel."
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
	if c.data {
		return std.result(ctx, raw)
	}
	return nil
}

type runCancelCmd struct {
	Runs    []string `arg:"" name:"run" help:"IDs of the runs; @last is the one created last that your key may see."`
	Cascade bool     `help:"Cancel the runs that they started, too."`
}

func (cmd *runCancelCmd) Help() string {
	return "Returns once every run is CANCELLED. A run that has already ended is an error; the other runs are still " +
		"cancelled."
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
		raw, err := c.call(ctx, http.MethodPost, runPath(id, "cancel")+query, nil, &cancelled)
		switch {
		case err != nil:
			errs = append(errs, fmt.Errorf("cannot cancel run %s: %w", id, err))
		case c.data:
			errs = append(errs, std.resultLine(ctx, raw))
		default:
			fmt.Fprintln(std.out, cleanLine(cancelled))
		}
	}
	return errors.Join(errs...)
}
