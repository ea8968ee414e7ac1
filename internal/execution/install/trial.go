package install

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/execution/harness"
	"github.com/penstock-dev/penstock/internal/execution/worker"
	"github.com/penstock-dev/penstock/internal/wall/gateway"
	"github.com/penstock-dev/penstock/internal/wall/sandbox"
)

// TrialOptions configures a check.
type TrialOptions struct {
	Preset  harness.Preset
	Program harness.Program
	Sandbox sandbox.Sandbox
	// OpenNetwork is the setting of the worker.
	OpenNetwork bool
	// Dir is where a temporary folder may be created.
	Dir string
	Log *slog.Logger
	// Record gets the events of the run; nil drops them.
	Record func(penstock.Draft)
}

const (
	// trialTime limits a check. Even a slow machine starts an agent within seconds.
	trialTime = 2 * time.Minute
	provider  = "trial"
)

// said is the text that the scripted model makes the agent's shell print.
const said = "penstock trial 42"

// Try runs the agent once. The error is a sentence that names the problem.
func Try(ctx context.Context, o TrialOptions) error {
	ctx, cancel := context.WithTimeoutCause(ctx, trialTime, errTooSlow)
	defer cancel()
	if o.Program.Installed == "" || o.Sandbox == nil {
		return errors.New("it needs a sandbox, and this worker has none")
	}
	script := &harness.ScriptedModel{Name: o.Preset.Models()[0], Turns: []harness.ScriptedTurn{
		{Tool: o.Preset.Shell, Input: map[string]any{
			o.Preset.Argument: "printf 'penstock trial %d\\n' 42", "description": "Print a line",
		}},
		{Text: "The trial is over."},
	}}
	address, stop, err := listen(ctx, script)
	if err != nil {
		return err
	}
	defer stop()
	dir, err := os.MkdirTemp(o.Dir, "trial-")
	if err != nil {
		return fmt.Errorf("create the folder of a trial: %w", err)
	}
	defer os.RemoveAll(dir)
	c, err := execute(ctx, o, dir, address)
	if err != nil {
		return err
	}
	return c.judge(script.Calls())
}

var errTooSlow = fmt.Errorf("it did not complete a turn within %s", trialTime)

// listen serves the scripted model on loopback.
func listen(ctx context.Context, script *harness.ScriptedModel) (address string, stop func(), err error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, fmt.Errorf("listen for a trial: %w", err)
	}
	server := &http.Server{Handler: script, ReadHeaderTimeout: trialTime}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.Serve(listener) // until Close
	}()
	return "http://" + listener.Addr().String(), func() {
		_ = server.Close()
		<-done
	}, nil
}

// execute runs a worker with one assignment until that is done.
func execute(ctx context.Context, o TrialOptions, dir, address string) (*control, error) {
	base := address
	if o.Preset.API == string(gateway.OpenAI) {
		base += "/v1"
	}
	models, err := gateway.New(gateway.Options{
		Providers: []gateway.Provider{{Name: provider, API: gateway.API(o.Preset.API), BaseURL: base}}, Log: o.Log,
	})
	if err != nil {
		return nil, err
	}
	quiet := slog.New(slog.DiscardHandler)
	c := newControl(o.Preset.Name, o.Preset.Models()[0])
	c.record = o.Record
	w, err := worker.New(worker.Options{
		Control: c, Log: quiet, Host: "trial", Local: true, Concurrency: 1, Dir: dir, KeepWorkspaces: -1,
		Sandbox: o.Sandbox, OpenNetwork: o.OpenNetwork, Gateway: models, BaseURL: "http://127.0.0.1:1",
		Harnesses: map[string]harness.Program{
			penstock.HarnessBuiltin: {Argv: []string{"{exe}"}}, o.Preset.Name: o.Program,
		},
	})
	if err != nil {
		return nil, fmt.Errorf("try the agent: %w", err)
	}
	working, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		select {
		case <-c.done:
			stop()
		case <-working.Done():
		}
	}()
	if err := w.Run(working); err != nil {
		return nil, fmt.Errorf("try the agent: %w", err)
	}
	if ctx.Err() != nil {
		return nil, fmt.Errorf("%w%s", context.Cause(ctx), c.lastWords())
	}
	return c, nil
}

// judge returns the problem, or nil.
func (c *control) judge(calls []harness.ModelCall) error {
	if c.result == nil {
		return errors.New("it ended without a result")
	}
	if c.result.State != penstock.StateSucceeded {
		reason := "no reason"
		if m := c.result.Message; m != nil {
			reason = m.Message
		}
		return fmt.Errorf("its turn ended %s: %s", c.result.State, strings.TrimSpace(reason))
	}
	log := c.text()
	switch {
	case len(calls) == 0:
		return errors.New("it never called the model through the gateway")
	case !strings.Contains(log, said):
		return fmt.Errorf("it did not run the command that the model asked for; its tools are %s",
			strings.Join(calls[len(calls)-1].Tools, ", "))
	case !strings.Contains(log, "The trial is over."):
		return errors.New("it did not pass on what the model said")
	}
	return nil
}
