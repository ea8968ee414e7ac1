package worker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/execution/queue"
	"github.com/penstock-dev/penstock/internal/supply/secret"
	"github.com/penstock-dev/penstock/internal/wall/sandbox"
)

// The causes that stop an execution from outside, other than the end of its lease.
var (
	errHandBack = errors.New("the worker is stopping")
	errDeadline = errors.New("the run reached its time limit")
	errBudget   = errors.New("the run reached its budget")
	errProvider = errors.New("the model provider failed again and again")
)

// execution is one attempt at a run. Its parts form a line: task, box, preparation, conversation.
// Each knows only those before it.
type execution struct {
	*task
	box          *box
	prepared     *preparation
	conversation *conversation
	leaseLost    bool // nothing more is stored
}

// execute does one execution, from the claim to the result.
func (w *Worker) execute(lease context.Context, job queue.Job) {
	work, stop := context.WithCancelCause(lease)
	defer stop(nil)
	alive, kill := context.WithCancelCause(context.WithoutCancel(lease))
	defer kill(nil)
	defer context.AfterFunc(lease, func() {
		// Another worker may get the run very soon, so there is no time for an orderly end.
		if errors.Is(context.Cause(lease), queue.ErrNotRenewed) {
			kill(queue.ErrNotRenewed)
		}
	})()
	t := &task{Job: job, w: w, lease: lease, stop: stop}
	if job.Run.Config != nil {
		t.config = *job.Run.Config
	}
	programs, _ := w.programs()
	t.program = programs[t.config.Harness.Kind()]
	t.mask = secret.NewMasker(t.secrets()...)
	t.log = slog.New(maskedLog{w.Log.Handler(), t.mask}).With(
		"run_id", job.Lease.RunID, "execution_id", job.Lease.ExecutionID, "harness", t.config.Harness.Kind())
	t.events = newRecorder(t.mask, t.log, stop, func(ctx context.Context, drafts []penstock.Draft) error {
		return w.Control.Append(ctx, job.Lease, drafts)
	})
	b := &box{task: t, alive: alive}
	p := &preparation{task: t, box: b}
	e := &execution{task: t, box: b, prepared: p, conversation: &conversation{
		task: t, box: b, prepared: p, history: job.History,
		budget: newBudget(w.Prices, job.Run.Usage, t.config.Budget),
	}}

	var others sync.WaitGroup
	defer others.Wait()
	defer e.events.Close()
	defer stop(nil)
	others.Go(func() { e.events.Run(lease) })
	others.Go(func() { e.watch(work) })
	e.log.InfoContext(lease, "execution started")
	defer e.log.InfoContext(lease, "execution ended")
	defer e.recovered()
	e.run(work)
}

// recovered ends an execution that panicked. Others continue.
func (e *execution) recovered() {
	p := recover()
	if p == nil {
		return
	}
	e.log.Error("execution panicked", "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
	e.end(penstock.Result{State: penstock.StateError, Message: ourFault()})
}

// watch stops the work when the run must be requeued, and at the time limit.
func (e *execution) watch(work context.Context) {
	var over <-chan time.Time
	if e.TimeLimit > 0 {
		timer := time.NewTimer(e.TimeLimit)
		defer timer.Stop()
		over = timer.C
	}
	select {
	case <-work.Done():
	case <-e.HandBack:
		e.stop(errHandBack)
	case <-over:
		e.stop(errDeadline)
	}
}

// run does the work of an execution.
func (e *execution) run(ctx context.Context) {
	defer e.box.close()
	defer e.box.releaseImage()
	defer e.reportGone()                    // with the traffic until the outlet was closed
	defer func() { e.box.outlet.close() }() // not open yet
	defer e.conversation.stopSandbox()
	if err := e.prepared.prepare(ctx); err != nil {
		e.endFor(ctx, err, nil)
		return
	}
	if len(e.Prompts) == 0 { // the lost worker had finished everything
		e.end(penstock.Result{State: penstock.StateSucceeded})
		return
	}
	for prompts := e.Prompts; len(prompts) > 0; {
		prompts = e.converse(ctx, prompts)
	}
}

// converse gives the agent all prompts, including those that arrive while it works, until no prompt
// is left or a turn fails. It returns the prompts that arrived after the agent had ended, because
// the control plane ends a run only if no prompt waits.
func (e *execution) converse(ctx context.Context, prompts []penstock.Prompt) []penstock.Prompt {
	for {
		result, err := e.conversation.turns(ctx, prompts)
		if over := exceeded(ctx); over != nil {
			err = over // regardless of the agent's own error
		}
		if lost := e.box.lost.Load(); err == nil && lost != nil && result.State == penstock.StateFailed {
			err = *lost
		}
		if err != nil {
			return e.endFor(ctx, err, result.Usage)
		}
		if result.State != penstock.StateSucceeded && result.State != penstock.StateBlocked {
			e.conversation.stopSandbox()
			return e.end(e.box.outlet.problem.explain(result))
		}
		prompts, err = e.more(ctx, result)
		if err != nil {
			e.log.Info("execution dropped", "cause", err)
			return nil
		}
		if len(prompts) == 0 {
			result.Usage = nil // reported already
			e.conversation.stopSandbox()
			if err := exceeded(ctx); err != nil {
				return e.endFor(ctx, err, nil)
			}
			return e.end(result)
		}
	}
}

// more asks for follow-ups after a turn that succeeded or was interrupted. Interactive and
// interrupted runs wait for them.
func (e *execution) more(ctx context.Context, result penstock.Result) ([]penstock.Prompt, error) {
	result.KeepOpen = true
	prompts, err := e.finish(result)
	if err != nil || len(prompts) > 0 || !e.conversation.staysOpen(result) {
		return prompts, err
	}
	result.Usage = nil
	idle := e.w.IdleTime
	if m := e.config.IdleTimeoutMinutes; m != nil {
		idle = time.Duration(*m) * time.Minute
	}
	timeout := time.NewTimer(idle)
	defer timeout.Stop()
	for {
		select {
		case <-timeout.C:
			return nil, nil
		case <-ctx.Done():
			if e.lease.Err() != nil {
				return nil, context.Cause(e.lease)
			}
			return nil, nil // no prompt is open, so the run ends normally
		case <-e.Followups:
			if prompts, err := e.finish(result); err != nil || len(prompts) > 0 {
				return prompts, err
			}
		}
	}
}

// staysOpen reports whether the agent waits for a follow-up after a turn.
func (c *conversation) staysOpen(result penstock.Result) bool {
	return c.agent != nil && (c.cut || c.Run.Interactive && result.State == penstock.StateSucceeded)
}

// endFor ends an execution that was stopped or failed. usage is what the unfinished turn has
// consumed.
func (e *execution) endFor(ctx context.Context, err error, usage *penstock.TurnUsage) []penstock.Prompt {
	cause := err
	if ctx.Err() != nil {
		cause = context.Cause(ctx)
	}
	result := penstock.Result{State: penstock.StateFailed, Usage: usage}
	var told *penstock.Error
	var open *sandbox.OpenError
	var over overLimitError
	switch {
	case e.lease.Err() != nil, errors.Is(cause, penstock.ErrLeaseLost):
		e.leaseLost = e.leaseLost || errors.Is(cause, penstock.ErrLeaseLost)
		e.log.Info("execution dropped", "cause", cause)
		return nil
	case errors.Is(cause, errHandBack):
		result = e.handBack(result)
	case errors.Is(cause, errDeadline):
		result.Message = &penstock.StatusMessage{Message: e.tooLong()}
	case errors.Is(cause, errBudget):
		if e.box.outlet.spend.stopped() {
			result = e.box.outlet.spend.endFor(result)
			break
		}
		result.Message = &penstock.StatusMessage{
			Message: e.conversation.budget.exceeded(), ErrorCode: penstock.CodeBudgetExceeded,
		}
	case errors.Is(cause, errProvider):
		result = e.box.outlet.problem.explain(result)
	case errors.As(cause, &over):
		result.Message = &penstock.StatusMessage{Message: "The run was stopped: " + e.limit(over.resource) + "."}
	case errors.Is(cause, errRecorded):
		result.Message = &penstock.StatusMessage{
			Message: "The run was stopped because its agent produced more output than the server stores for a run.",
		}
	case errors.As(err, &open):
		e.log.Error("a sandbox is not sealed", "open", open.Open)
		result.State = penstock.StateError
		result.Message = &penstock.StatusMessage{
			Message:   "The agent was not started: " + open.Error() + ".",
			ErrorCode: penstock.CodeEnvironmentSetupFailed,
		}
	case e.box.lost.Load() != nil:
		lost := *e.box.lost.Load()
		e.log.Warn("sandbox lost", "error", lost)
		result.State = penstock.StateError
		result.Message = &penstock.StatusMessage{
			Message:   "The sandbox of the run was lost: " + strings.TrimPrefix(lost.Error(), "sandbox: ") + ".",
			ErrorCode: penstock.CodeUnavailable, Retryable: true,
		}
	case errors.As(err, &told):
		result.Message = &penstock.StatusMessage{Message: told.Explain(), ErrorCode: told.Code, Retryable: told.Retryable}
		if told.Code.OurFault() {
			result.State = penstock.StateError
		}
		if told.Cause != nil {
			e.log.Warn("execution failed", "error", err)
		}
		if e.box.outlet != nil {
			result = e.box.outlet.problem.explain(result)
		}
	default:
		e.log.Error("execution failed", "error", err)
		result.State = penstock.StateError
		result.Message = ourFault()
	}
	e.conversation.stopSandbox()
	return e.end(result)
}

func ourFault() *penstock.StatusMessage {
	return &penstock.StatusMessage{
		Message: "The worker failed. The run did not cause this.", ErrorCode: penstock.CodeInternal, Retryable: true,
	}
}

// handBack requeues the run if the agent has not begun, or if another worker can continue its
// session. Otherwise the work of the agent would be done twice.
func (e *execution) handBack(result penstock.Result) penstock.Result {
	if !e.conversation.begun || e.conversation.saved {
		result.State = penstock.StateQueued
		return result
	}
	result.State = penstock.StateError
	result.Message = &penstock.StatusMessage{
		Message:   "The worker stopped while the agent worked, and the agent's session cannot be resumed.",
		ErrorCode: penstock.CodeInfrastructureTimeout, Retryable: true,
	}
	return result
}

func (e *execution) tooLong() string {
	limit := "the worker allows"
	if m := e.config.MaxDurationMinutes; m != nil {
		limit = fmt.Sprintf("max_duration_minutes (%d) allows", *m)
	}
	return "The run was stopped because it worked for as long as " + limit + "."
}

// end reports the result of the execution to the control plane. It returns prompts if some arrived
// at the last moment, so that the run continues.
func (e *execution) end(result penstock.Result) []penstock.Prompt {
	prompts, err := e.finish(result)
	if err != nil {
		e.log.Warn("cannot record the result of the execution", "state", result.State, "error", err)
	}
	return prompts
}

// finish ends a turn in the control plane, after all its events.
func (e *execution) finish(result penstock.Result) (prompts []penstock.Prompt, err error) {
	defer func() { e.leaseLost = e.leaseLost || errors.Is(err, penstock.ErrLeaseLost) }()
	e.box.outlet.settle()
	if err := e.events.Flush(); err != nil {
		return nil, err
	}
	result.Turn = e.conversation.turn
	if e.conversation.metered() {
		result.Usage = nil // the ledger has it
	}
	if m := result.Message; m != nil {
		said := *m
		said.Message = shorten(e.mask.String(cleanText(said.Message)), maxMessage)
		result.Message = &said
	}
	err = retry(e.lease, func(ctx context.Context) error {
		ctx, cancel := outlive(ctx, answerTime)
		defer cancel()
		var err error
		prompts, err = e.w.Control.Finish(ctx, e.Lease, result)
		return err
	})
	if errors.Is(err, penstock.ErrLeaseLost) {
		e.stop(err)
	}
	return prompts, err
}

// answerTime is how long to wait for the response to a call that ends the lease, after the end of
// the lease is known.
const answerTime = 2 * time.Second

// outlive returns a context that ends some time after ctx.
func outlive(ctx context.Context, while time.Duration) (longer context.Context, cancel context.CancelFunc) {
	longer, cancel = context.WithCancel(context.WithoutCancel(ctx))
	context.AfterFunc(ctx, func() {
		late := time.AfterFunc(while, cancel)
		context.AfterFunc(longer, func() { late.Stop() })
	})
	return longer, cancel
}

// maxMessage limits a status message, in bytes.
const maxMessage = 16 << 10

// reportGone reports the end of the sandbox and its traffic if they could not be recorded, because
// a cancel ends the lease before the sandbox.
func (e *execution) reportGone() {
	if !e.box.started || !errors.Is(context.Cause(e.lease), penstock.ErrLeaseLost) && !e.leaseLost {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(e.lease), reportGoneTime)
	defer cancel()
	drafts := append([]penstock.Draft{e.box.gone()}, trafficDrafts(e.box.outlet.hosts())...)
	if err := e.w.Control.Append(ctx, e.Lease, drafts); err != nil &&
		!errors.Is(err, penstock.ErrLeaseLost) {
		e.log.Info("cannot record the end of the sandbox", "error", err)
	}
}

// reportGoneTime limits the report that a sandbox is gone, because the execution's slot is free
// only after it.
const reportGoneTime = 2 * time.Second
