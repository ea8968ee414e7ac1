package worker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/harness"
	"github.com/penstock-dev/penstock/internal/queue"
	"github.com/penstock-dev/penstock/internal/sandbox"
	"github.com/penstock-dev/penstock/internal/secret"
)

// The causes that stop an execution from outside, other than the end of its lease.
var (
	errHandBack = errors.New("the worker is stopping")
	errDeadline = errors.New("the run reached its time limit")
	errBudget   = errors.New("the run reached its budget")
	errProvider = errors.New("the model provider failed again and again")
)

// execution is one attempt at a run.
type execution struct {
	queue.Job
	w       *Worker
	config  penstock.Config
	program harness.Program
	log     *slog.Logger

	lease  context.Context         //nolint:containedctx // ends when nothing can be written any more, and this with it
	alive  context.Context         //nolint:containedctx // of the sandbox: ends when the sandbox must stop immediately
	stop   context.CancelCauseFunc // ends the work, with one of the causes above
	mask   *secret.Masker
	events *recorder
	budget *budget

	sandbox sandbox.Sandbox
	running bool // a sandbox was started, and its end not recorded yet
	started bool // a sandbox was started
	lost    bool // the lease is lost, so nothing more is stored
	space   *workspace
	image   *usedImage  // nil: the programs of the host
	outlet  *outlet     // nil until it is open
	full    atomic.Bool // the workspace exceeds its disk limit and is not kept

	sandboxLost atomic.Pointer[error] // why the sandbox ended, if neither the agent nor the worker ended it
	preparation

	agent     harness.Agent
	sessionID string // of the last saved session
	saved     bool   // the stored session is current, or was at the start of the turn
	stored    string // id and hash of the last stored session
	changes   string // hash of the last saved changes
	tooLarge  bool   // HOME is too large to save
	begun     bool   // the agent has received a prompt
	cut       bool   // the latest turn was interrupted
	turn      int

	messagesMu sync.Mutex
	messages   []penstock.Message // of the agent in the active turn
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
	e := &execution{Job: job, w: w, lease: lease, stop: stop, alive: alive}
	if job.Run.Config != nil {
		e.config = *job.Run.Config
	}
	programs, _ := w.programs()
	e.program = programs[e.config.Harness.Kind()]
	e.mask = secret.NewMasker(e.secrets()...)
	e.log = slog.New(maskedLog{w.Log.Handler(), e.mask}).With(
		"run_id", job.Lease.RunID, "execution_id", job.Lease.ExecutionID, "harness", e.config.Harness.Kind())
	e.budget = newBudget(w.Prices, job.Run.Usage, e.config.Budget)
	e.events = newRecorder(e.mask, e.log, stop, func(ctx context.Context, drafts []penstock.Draft) error {
		return w.Control.Append(ctx, job.Lease, drafts)
	})

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
	defer e.closeWorkspace()
	defer e.releaseImage()
	defer e.reportGone()                // with the traffic until the outlet was closed
	defer func() { e.outlet.close() }() // not open yet
	defer e.stopSandbox()
	if err := e.prepare(ctx); err != nil {
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
		result, err := e.turns(ctx, prompts)
		if over := exceeded(ctx); over != nil {
			err = over // regardless of the agent's own error
		}
		if lost := e.sandboxLost.Load(); err == nil && lost != nil && result.State == penstock.StateFailed {
			err = *lost
		}
		if err != nil {
			return e.endFor(ctx, err, result.Usage)
		}
		if result.State != penstock.StateSucceeded && result.State != penstock.StateBlocked {
			e.stopSandbox()
			return e.end(e.outlet.spend.explain(e.outlet.problem.explain(result)))
		}
		prompts, err = e.more(ctx, result)
		if err != nil {
			e.log.Info("execution dropped", "cause", err)
			return nil
		}
		if len(prompts) == 0 {
			result.Usage = nil // reported already
			e.stopSandbox()
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
	if err != nil || len(prompts) > 0 || !e.staysOpen(result) {
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
func (e *execution) staysOpen(result penstock.Result) bool {
	return e.agent != nil && (e.cut || e.Run.Interactive && result.State == penstock.StateSucceeded)
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
		e.lost = e.lost || errors.Is(cause, penstock.ErrLeaseLost)
		e.log.Info("execution dropped", "cause", cause)
		return nil
	case errors.Is(cause, errHandBack):
		result = e.handBack(result)
	case errors.Is(cause, errDeadline):
		result.Message = &penstock.StatusMessage{Message: e.tooLong()}
	case errors.Is(cause, errBudget):
		if e.outlet.spend.stopped() {
			result = e.outlet.spend.endFor(result)
			break
		}
		result.Message = &penstock.StatusMessage{Message: e.budget.exceeded(), ErrorCode: penstock.CodeBudgetExceeded}
	case errors.Is(cause, errProvider):
		result = e.outlet.problem.explain(result)
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
	case e.sandboxLost.Load() != nil:
		lost := *e.sandboxLost.Load()
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
		if e.outlet != nil {
			result = e.outlet.spend.explain(e.outlet.problem.explain(result))
		}
	default:
		e.log.Error("execution failed", "error", err)
		result.State = penstock.StateError
		result.Message = ourFault()
	}
	e.stopSandbox()
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
	if !e.begun || e.saved {
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
	defer func() { e.lost = e.lost || errors.Is(err, penstock.ErrLeaseLost) }()
	e.outlet.settle()
	if err := e.events.Flush(); err != nil {
		return nil, err
	}
	result.Turn = e.turn
	if e.metered() {
		result.Usage = nil // the ledger has it
	}
	if m := result.Message; m != nil {
		said := *m
		said.Message = shorten(e.mask.String(cleanText(said.Message)), maxMessage)
		result.Message = &said
	}
	err = again(e.lease, func(ctx context.Context) error {
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

// stopSandbox ends the agent and everything that it has started.
func (e *execution) stopSandbox() {
	if e.agent != nil {
		e.agent.Close()
		e.agent = nil
	}
	if e.running {
		e.running = false
		e.events.Record(
			penstock.Timeline(penstock.Now(), penstock.TimelineSandboxGone, map[string]any{"sandbox": e.sandbox.Kind()}),
		)
	}
}

// reportGone reports the end of the sandbox and its traffic if they could not be recorded, because
// a cancel ends the lease before the sandbox.
func (e *execution) reportGone() {
	if !e.started || !errors.Is(context.Cause(e.lease), penstock.ErrLeaseLost) && !e.lost {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(e.lease), reportGoneTime)
	defer cancel()
	gone := penstock.Timeline(penstock.Now(), penstock.TimelineSandboxGone, map[string]any{"sandbox": e.sandbox.Kind()})
	drafts := append([]penstock.Draft{gone}, trafficDrafts(e.outlet.hosts())...)
	if err := e.w.Control.Append(ctx, e.Lease, drafts); err != nil &&
		!errors.Is(err, penstock.ErrLeaseLost) {
		e.log.Info("cannot record the end of the sandbox", "error", err)
	}
}

// reportGoneTime limits the report that a sandbox is gone, because the execution's slot is free
// only after it.
const reportGoneTime = 2 * time.Second

// closeWorkspace releases the workspace.
func (e *execution) closeWorkspace() {
	if e.space == nil {
		return
	}
	if e.full.Load() {
		e.space.setup = "" // it is not kept
	}
	e.space.close()
}
