package store

import "github.com/penstock-dev/penstock"

// The types of messages.
const (
	EventRunCreated         penstock.EndpointEvent = "run.created"
	EventRunStarted         penstock.EndpointEvent = "run.started" // the agent works, also after it was BLOCKED
	EventRunBlocked         penstock.EndpointEvent = "run.blocked"
	EventRunStalled         penstock.EndpointEvent = "run.stalled"
	EventRunHollow          penstock.EndpointEvent = "run.hollow"
	EventRunSucceeded       penstock.EndpointEvent = "run.succeeded"
	EventRunFailed          penstock.EndpointEvent = "run.failed"
	EventRunErrored         penstock.EndpointEvent = "run.errored"
	EventRunCancelled       penstock.EndpointEvent = "run.cancelled"
	EventRunBudgetThreshold penstock.EndpointEvent = "run.budget_threshold" // of the run's own budget
	EventBudgetThreshold    penstock.EndpointEvent = "budget.threshold"
	EventBudgetExceeded     penstock.EndpointEvent = "budget.exceeded"
	EventAutomationPaused   penstock.EndpointEvent = "automation.paused"
	EventAutomationSilent   penstock.EndpointEvent = "automation.silent"
	EventAutomationBack     penstock.EndpointEvent = "automation.recovered" // it is no longer silent
	EventAutomationDegraded penstock.EndpointEvent = "automation.degraded"  // the next failure pauses it
	EventDefinitionApplied  penstock.EndpointEvent = "definition.applied"
	EventDefinitionRejected penstock.EndpointEvent = "definition.rejected"
	EventWebhookFailing     penstock.EndpointEvent = "webhook.failing" // it rejects all deliveries
	EventScheduleMissed     penstock.EndpointEvent = "schedule.missed"
	EventWorkerLost         penstock.EndpointEvent = "worker.lost" // while it worked on a run
	EventEndpointDisabled   penstock.EndpointEvent = "endpoint.disabled"
)

// EventOf returns the type of message that a run sends when it enters a state, or "".
func EventOf(s penstock.State) penstock.EndpointEvent {
	switch s {
	case penstock.StateInProgress:
		return EventRunStarted
	case penstock.StateBlocked:
		return EventRunBlocked
	case penstock.StateSucceeded:
		return EventRunSucceeded
	case penstock.StateFailed:
		return EventRunFailed
	case penstock.StateError:
		return EventRunErrored
	case penstock.StateCancelled:
		return EventRunCancelled
	case penstock.StateQueued, penstock.StateClaimed, penstock.StatePending:
	}
	return ""
}
