package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"golang.org/x/term"

	"github.com/penstock-dev/penstock"
)

const exitHelp = "Exits with 0 if the run SUCCEEDED, 1 if it FAILED or ended in ERROR, and 2 if it was CANCELLED. An " +
	"interrupt does not stop the run."

type runWatchCmd struct {
	ID    string `arg:"" name:"run" help:"ID of the run; @last is the one created last that your key may see."`
	After int64  `placeholder:"ID" help:"Start after the event with this ID."`
}

func (cmd *runWatchCmd) Help() string {
	return "Reconnects after a lost connection without missing an event. On a terminal, the last line shows the current " +
		"activity. --output json prints one event per line. " + exitHelp
}

func (cmd *runWatchCmd) Run(ctx context.Context, std *stdio, in *runCmds) error {
	c, err := in.dial(ctx, std)
	if err != nil {
		return err
	}
	return watchRun(ctx, std, c, cmd.ID, cmd.After, c.data)
}

type runWaitCmd struct {
	ID           string        `arg:"" name:"run" help:"ID of the run; @last is the one created last that your key may see."`
	UntilBlocked bool          `help:"Stop waiting, with exit code 3, when the run is BLOCKED and needs an answer."`
	Timeout      time.Duration `placeholder:"DURATION" help:"Stop waiting after this time, with exit code 124."`
}

func (cmd *runWaitCmd) Help() string {
	return exitHelp +
		" A BLOCKED run does not end the wait, because somebody else may answer it; its question is printed. Prints the " +
		"final state; with --output json or yaml, the run."
}

func (cmd *runWaitCmd) Run(ctx context.Context, std *stdio, in *runCmds) error {
	c, err := in.dial(ctx, std)
	if err != nil {
		return err
	}
	waiting := ctx
	if cmd.Timeout > 0 {
		var cancel context.CancelFunc
		waiting, cancel = context.WithTimeout(ctx, cmd.Timeout)
		defer cancel()
	}
	err = waitForRun(waiting, std, c, cmd.ID, cmd.UntilBlocked)
	if err != nil && waiting.Err() != nil && ctx.Err() == nil {
		return exitf(exitTimeout, "run %s did not end within %s", cmd.ID, cmd.Timeout)
	}
	if _, ended := errors.AsType[*exitError](err); c.data && ctx.Err() == nil && (err == nil || ended) {
		raw, failed := c.call(ctx, http.MethodGet, runPath(cmd.ID), nil, nil)
		if failed == nil {
			failed = std.result(ctx, raw)
		}
		if failed != nil {
			return failed
		}
	}
	return err
}

// waitForRun returns when the run has ended, with an error that has the exit code of its state.
func waitForRun(ctx context.Context, std *stdio, c *client, id string, untilBlocked bool) error {
	live := newLiveLine(std)
	defer live.clear()
	asked := "" // the last printed question
	state, err := c.followLive(ctx, live, id, 0, func(e liveEvent) error {
		if e.Type != penstock.EventState || live.state.State != penstock.StateBlocked {
			return nil
		}
		run, err := c.run(ctx, id) // the event may be an old one
		if err != nil || run.State != penstock.StateBlocked {
			return err
		}
		if question := statusText(run.StatusMessage); question != asked {
			asked = question
			live.clear()
			hint := blockedText(run)
			if hint == "" {
				hint = "To answer it: penstock run follow-up " + id + " MESSAGE"
			}
			std.notef("run %s is BLOCKED: %s\n%s", id, question, hint)
		}
		if untilBlocked {
			return &exitError{code: exitBlocked}
		}
		return nil
	})
	live.clear()
	switch {
	case err != nil:
		return detach(ctx, std, id, err)
	case c.data: // the result is data
		std.notef("%s", state.State)
	default:
		fmt.Fprintln(std.out, cleanLine(string(state.State)))
	}
	return outcome(std, state)
}

// watchRun prints the events of a run until it ends.
func watchRun(ctx context.Context, std *stdio, c *client, id string, after int64, asJSON bool) error {
	live := newLiveLine(std)
	defer live.clear()
	lines := &printer{out: std.out, limit: 20}
	state, err := c.followLive(ctx, live, id, after, func(e liveEvent) error {
		if asJSON {
			return std.resultLine(ctx, e)
		}
		if e.Type != penstock.EventMessageDelta {
			live.clear()
			lines.event(e)
		}
		return lines.err
	})
	live.clear()
	if err != nil {
		return detach(ctx, std, id, err)
	}
	if asJSON {
		return outcome(nil, state)
	}
	if run, err := c.run(ctx, id); err == nil {
		lines.line("summary", strings.Join(filled(duration(run.RunTime), usage(run.Usage), run.SessionLink), ", "))
	}
	return outcome(nil, state)
}

func filled(list ...string) []string {
	var out []string
	for _, s := range list {
		if s != "" {
			out = append(out, s)
		}
	}
	return out
}

// detach reports to a person who stops waiting that the run continues.
func detach(ctx context.Context, std *stdio, id string, err error) error {
	if errors.Is(context.Cause(ctx), context.Canceled) {
		std.notef("\nthe run continues; to cancel it: penstock run cancel %s", id)
		return &exitError{code: exitInterrupted}
	}
	return err
}

// outcome returns nil for SUCCEEDED, and otherwise an error with the exit code of the final state.
// If std is not nil, it prints the reason.
func outcome(std *stdio, s penstock.StateData) error {
	if message := statusText(s.StatusMessage); std != nil && message != "" {
		std.notef("%s", message)
	}
	switch s.State {
	case penstock.StateSucceeded:
		return nil
	case penstock.StateCancelled:
		return &exitError{code: exitCancelled}
	}
	return &exitError{code: exitFailed}
}

// liveLine is the line at the bottom of a terminal that shows the current activity. It is shown
// only if standard error is a terminal.
type liveLine struct {
	std     *stdio
	on      bool
	shown   bool
	started time.Time
	state   penstock.StateData
	tail    string // of the unfinished message
}

func newLiveLine(std *stdio) *liveLine {
	return &liveLine{std: std, on: isTerminal(std.err) && isTerminal(std.out), started: time.Now()}
}

// take updates the line from an event.
func (l *liveLine) take(e liveEvent) {
	switch e.Type {
	case penstock.EventState, penstock.EventDone:
		read(e, func(s penstock.StateData) { l.state = s })
		l.tail = ""
	case penstock.EventMessageDelta:
		read(e, func(d penstock.MessageDelta) {
			tail := []rune(l.tail + d.Text)
			l.tail = string(tail[max(0, len(tail)-400):])
		})
	case penstock.EventMessage:
		l.tail = ""
	case penstock.EventAction:
		read(e, func(b penstock.Block) { l.tail = strings.ReplaceAll(b.Name, "_", " ") })
	case penstock.EventActionResult:
		l.tail = ""
	}
}

func (l *liveLine) show() {
	if !l.on {
		return
	}
	width, _, err := term.GetSize(int(l.std.err.Fd()))
	if err != nil || width < 20 {
		width = 80
	}
	head := fmt.Sprintf("%s %s  ", l.state.State, time.Since(l.started).Truncate(time.Second))
	tail := []rune(cleanLine(l.tail))
	tail = tail[max(0, len(tail)-max(0, width-len(head)-1)):]
	fmt.Fprintf(l.std.err, "\r\x1b[K%s%s", head, string(tail))
	l.shown = true
}

func (l *liveLine) clear() {
	if l.shown {
		fmt.Fprint(l.std.err, "\r\x1b[K")
		l.shown = false
	}
}

// followLive is follow with the live line. handle and the line run on the caller's goroutine.
func (c *client) followLive(
	ctx context.Context, live *liveLine, id string, after int64, handle func(liveEvent) error,
) (penstock.StateData, error) {
	type end struct {
		state penstock.StateData
		err   error
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	events, ended := make(chan liveEvent), make(chan end, 1)
	go func() {
		state, err := c.follow(ctx, id, after, func(e liveEvent) error {
			select {
			case events <- e:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
		ended <- end{state, err}
	}()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case e := <-events:
			live.take(e)
			if err := handle(e); err != nil {
				cancel()
				<-ended
				return live.state, err
			}
			live.show()
		case <-tick.C:
			live.show()
		case e := <-ended:
			return e.state, e.err
		}
	}
}
