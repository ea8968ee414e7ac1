package run

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/store"
)

// circumstances are what is not in the rows of runs and decides what they wait for.
type circumstances struct {
	workers   []store.Worker // if any of the runs is queued
	positions map[string]int // of queued runs
	silent    []store.SilentWorker
	prompts   map[string]store.PromptCounts // of held runs
}

// readCircumstances reads what decides what runs wait for. held are the runs that workers have.
func readCircumstances(
	ctx context.Context, s *Runs, queued []store.RunRow, held []string,
) (c circumstances, err error) {
	if len(queued) > 0 {
		if c.workers, err = s.store.Queue.Workers(ctx); err != nil {
			return c, err
		}
	}
	if c.positions, err = s.order.positions(ctx, s.store, c.workers, queued); err != nil {
		return c, err
	}
	if c.silent, err = s.store.Executions.Silent(ctx, held); err != nil {
		return c, err
	}
	c.prompts, err = s.store.Followups.Counts(ctx, held)
	return c, err
}

// addStatus explains the state of a run that waits for a worker, if nothing else explains it. A run
// whose worker is away does not work, so it has not stalled.
func addStatus(run *penstock.Run) {
	if run.Waiting == nil {
		return
	}
	text := run.Waiting.Message
	switch run.Waiting.For {
	case WaitWorker:
	case WaitWorkerReturn:
		run.Stalled = nil
		text += " " + run.Waiting.EndsWhen
	default:
		return
	}
	if run.StatusMessage == nil {
		run.StatusMessage = &penstock.StatusMessage{Message: text}
	}
}

// waiting returns what a run waits for, nil if nothing.
func (c circumstances) waiting(r store.RunRow) *penstock.Waiting {
	switch {
	case r.State == penstock.StateQueued:
		return c.inQueue(r)
	case r.State == penstock.StateBlocked:
		return blockedOn(r)
	case !r.State.Held():
		return nil
	}
	if i := slices.IndexFunc(c.silent, func(w store.SilentWorker) bool { return w.RunID == r.ID }); i >= 0 {
		return notHeardOf(c.silent[i])
	}
	if r.State != penstock.StateInProgress {
		return nil
	}
	counts := c.prompts[r.ID]
	inTurn := counts.Delivering > 0 || r.PromptState == store.PromptDelivering
	switch {
	case !inTurn && counts.Waiting == 0:
		return &penstock.Waiting{
			For: WaitFollowup, Message: "The agent has ended its turn, and the session is open.",
			EndsWhen: "A follow-up begins the next turn. Without one, the session ends after some time.",
		}
	case counts.Waiting == 0:
		return nil
	}
	message := "A follow-up waits until the agent has ended its turn."
	if counts.Waiting > 1 {
		message = fmt.Sprintf("%d follow-ups wait until the agent has ended its turn.", counts.Waiting)
	}
	return &penstock.Waiting{
		For: WaitTurn, Message: message,
		EndsWhen: "The agent ends its turn, or somebody interrupts the turn.",
	}
}

func (c circumstances) inQueue(r store.RunRow) *penstock.Waiting {
	if missing := Missing(r, c.workers); missing != nil {
		return &penstock.Waiting{
			For: WaitWorker, Message: missing.Message,
			EndsWhen: "A worker connects that " + requirements(r) + ".",
		}
	}
	message := fmt.Sprintf("Waiting: more than %d runs are before it in the queue.", maxPositions)
	switch n := c.positions[r.ID]; n {
	case 0:
	case 1:
		message = "Waiting: it is the next run for the workers that can execute it."
	case 2:
		message = "Waiting: one run is before it in the queue."
	default:
		message = fmt.Sprintf("Waiting: %d runs are before it in the queue.", n-1)
	}
	return &penstock.Waiting{
		For: WaitSlot, Message: message,
		EndsWhen: "A worker that can execute it has a free slot, after the runs before it.",
	}
}

// requirements says what a worker has that can execute the run.
func requirements(r store.RunRow) string {
	want := r.Wants()
	var has []string
	if want.Harness != "" {
		has = append(has, fmt.Sprintf("has the harness %q", want.Harness))
	}
	if want.Host != "" {
		has = append(has, fmt.Sprintf("is on the host %q", want.Host))
	}
	if want.Platform != "" {
		has = append(has, "has the platform "+want.Platform)
	}
	if want.Provider != "" {
		has = append(has, "has a provider for the model "+QuotedModel(r.Config.Model()))
	}
	if want.Image {
		has = append(has, "can use container images")
	}
	if len(has) == 0 {
		return "can execute it"
	}
	return strings.Join(has, ", ")
}

func blockedOn(r store.RunRow) *penstock.Waiting {
	said := r.StatusMessage
	if said == nil || said.Budget == nil {
		return &penstock.Waiting{
			For: WaitAnswer, Message: "The agent waits for an answer.",
			EndsWhen: "A follow-up with the answer starts it again.",
		}
	}
	name := said.Budget.BudgetName
	switch {
	case said.Budget.BudgetUID == r.ID:
		name = "budget of the run"
	case name == "":
		name = "budget " + said.Budget.BudgetUID
	}
	return &penstock.Waiting{
		For: WaitBudget, Message: "Waiting: the " + name + " has no room for the next call of a model.",
		EndsWhen: endOfShortage(*said.Budget, name),
	}
}

// endOfShortage says what gives a budget enough room.
func endOfShortage(b penstock.BudgetShortage, name string) string {
	if b.CapTokens > 0 {
		return fmt.Sprintf("The %s is raised to at least %d tokens, or has room again because its period or a call in "+
			"flight ends.", name, b.SpentTokens+max(1, b.NeededTokens))
	}
	return fmt.Sprintf("The %s is raised to at least $%.2f, or has room again because its period or a call in flight "+
		"ends.", name, max(b.SpentUSD+b.NeededUSD, 0.01)+0.005)
}

// notHeardOf says that a run does not go on, and when it will.
func notHeardOf(w store.SilentWorker) *penstock.Waiting {
	which := "its worker"
	if w.Host != "" {
		which = "its worker on " + w.Host
	}
	return &penstock.Waiting{
		For:      WaitWorkerReturn,
		Message:  fmt.Sprintf("Waiting: %s has not been heard of since %s.", which, w.Since),
		EndsWhen: "The run continues when that worker returns, or when another one connects that can execute it.",
	}
}

// What a run can wait for.
const (
	WaitWorker       penstock.WaitFor = "worker"        // no connected worker can execute it
	WaitSlot         penstock.WaitFor = "slot"          // workers can execute it, and are busy
	WaitWorkerReturn penstock.WaitFor = "worker_return" // its worker is silent
	WaitBudget       penstock.WaitFor = "budget"        // a budget has no room
	WaitAnswer       penstock.WaitFor = "answer"        // its agent has a question, or was interrupted
	WaitFollowup     penstock.WaitFor = "followup"      // its session is open, and has no turn
	WaitTurn         penstock.WaitFor = "turn"          // follow-ups wait until the turn of the agent ends
)
