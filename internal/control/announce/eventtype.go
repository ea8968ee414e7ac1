package announce

import "github.com/penstock-dev/penstock"

// EventType describes a type of messages.
type EventType struct {
	Type        penstock.EndpointEvent   `json:"type"`
	Description string                   `json:"description"`
	Example     penstock.EndpointMessage `json:"example"`
}

// descriptions says when a message of each type is sent.
var descriptions = map[penstock.EndpointEvent]string{
	penstock.EventRunCreated:         "A run was created.",
	penstock.EventRunStarted:         "The agent of a run works, also after the run was BLOCKED or continued.",
	penstock.EventRunBlocked:         "A run waits for a person, or for room in a budget.",
	penstock.EventRunStalled:         "A run works, but has had no event for some time.",
	penstock.EventRunHollow:          "A run SUCCEEDED, but its agent did nothing.",
	penstock.EventRunSucceeded:       "A run SUCCEEDED.",
	penstock.EventRunFailed:          "A run FAILED, for a cause that the user can fix.",
	penstock.EventRunErrored:         "A run ended in ERROR.",
	penstock.EventRunCancelled:       "A run was CANCELLED.",
	penstock.EventRunBudgetThreshold: "A run has spent a share of its own budget.",
	penstock.EventBudgetThreshold:    "The runs of a budget have spent a share of it, one of its notify_at.",
	penstock.EventBudgetExceeded:     "A budget has no room for the next call of a run, which is BLOCKED or FAILED.",
	penstock.EventAutomationPaused:   "An automation was disabled, or failures in a row paused it or a schedule.",
	penstock.EventAutomationSilent:   "An automation or schedule has started nothing for its expect_every.",
	penstock.EventAutomationBack:     "An automation or schedule that was silent has started something.",
	penstock.EventAutomationDegraded: "Runs of an automation or schedule failed in a row: one more failure pauses it.",
	penstock.EventDefinitionApplied:  "The files of a factory have a new revision: a commit, new files or an edit.",
	penstock.EventDefinitionRejected: "A commit of a factory's repository is rejected; the files before stay active.",
	penstock.EventScheduleMissed:     "Times of a schedule or automation passed while no server decided them.",
	penstock.EventWorkerLost:         "The worker of a run disappeared; the run is queued again, or ends in ERROR.",
	penstock.EventWebhookFailing:     "A webhook rejected all deliveries of the last hour, and at least 5.",
	penstock.EventEndpointDisabled:   "The server disabled an event endpoint that failed, or wants no more messages.",
	penstock.EventEndpointPing:       "Somebody asked for a message to see that the endpoint works.",
}

// EventTypes lists the types of messages, each with an example.
func (s *Endpoints) EventTypes() []EventType {
	var list []EventType
	for _, event := range append(Events(), penstock.EventEndpointPing) {
		list = append(list, EventType{event, descriptions[event], s.example(event)})
	}
	return list
}

// example returns a message of a type.
func (s *Endpoints) example(event penstock.EndpointEvent) penstock.EndpointMessage {
	const (
		run, factory = "019c1f60-4d0e-7a51-9c3b-6a1f0e2d3c4b", "019c1f60-0a0b-7c0d-8e0f-101112131415"
		automation   = "019c1f60-1b1c-7d1e-9f1a-202122232425"
		webhook      = "9pZdL2qSo4VbY0uXpZeT3g"
		budget       = "4kYbJ0oQm2TzW8sVnXcR1e"
		endpoint     = "7nZcK1pRn3UaX9tWoYdS2f"
	)
	states := map[penstock.EndpointEvent]penstock.State{
		penstock.EventRunCreated: penstock.StateQueued, penstock.EventRunStalled: penstock.StateInProgress,
		penstock.EventRunHollow: penstock.StateSucceeded, penstock.EventRunBudgetThreshold: penstock.StateInProgress,
		penstock.EventWorkerLost:      penstock.StateInProgress,
		penstock.EventBudgetThreshold: penstock.StateInProgress, penstock.EventBudgetExceeded: penstock.StateBlocked,
	}
	for _, state := range penstock.States() {
		if of := penstock.EventOf(state); of != "" {
			states[of] = state
		}
	}
	var data penstock.EndpointData
	path := "/api/v1/agent/runs/" + run
	switch event {
	case penstock.EventEndpointDisabled, penstock.EventEndpointPing:
		data, path = penstock.EndpointData{EndpointUID: endpoint}, "/api/v1/event-endpoints/"+endpoint
	case penstock.EventAutomationPaused, penstock.EventAutomationDegraded, penstock.EventAutomationSilent,
		penstock.EventAutomationBack, penstock.EventScheduleMissed:
		data = penstock.EndpointData{FactoryUID: factory, AutomationUID: automation}
		path = "/api/v1/factory/" + factory + "/automations/" + automation
	case penstock.EventWebhookFailing:
		data = penstock.EndpointData{FactoryUID: factory, WebhookUID: webhook}
		path = "/api/v1/factory/" + factory + "/webhooks/" + webhook
	case penstock.EventDefinitionApplied, penstock.EventDefinitionRejected:
		data = penstock.EndpointData{FactoryUID: factory, Commit: "8f3c1d5b7a9e2f4c6d8b0a1e3f5c7d9b1a2e4f60", Revision: 3}
		if path = "/api/v1/factory/" + factory; event == penstock.EventDefinitionApplied {
			path += "/definition/history/3"
		}
	default:
		data = penstock.EndpointData{RunID: run, State: states[event], Sequence: 7, FactoryUID: factory}
	}
	switch event { //nolint:exhaustive // the others have no more
	case penstock.EventRunCreated:
		data.Sequence = 1
	case penstock.EventRunBudgetThreshold:
		data.NotifyAt = 0.8
	case penstock.EventBudgetThreshold:
		data.NotifyAt, data.BudgetUID, path = 0.8, budget, "/api/v1/budgets/"+budget
	case penstock.EventBudgetExceeded:
		data.BudgetUID, path = budget, "/api/v1/budgets/"+budget
	}
	data.URL = s.publicURL + path
	return penstock.EndpointMessage{Type: event, Timestamp: exampleTime, Data: data}
}

// exampleTime is 2026-02-02T09:30:00Z.
const exampleTime penstock.Time = 1_770_024_600_000

// Events lists the types that an endpoint can choose.
func Events() []penstock.EndpointEvent {
	return []penstock.EndpointEvent{
		penstock.EventRunCreated, penstock.EventRunStarted, penstock.EventRunBlocked, penstock.EventRunStalled,
		penstock.EventRunHollow, penstock.EventRunSucceeded, penstock.EventRunFailed, penstock.EventRunErrored,
		penstock.EventRunCancelled, penstock.EventRunBudgetThreshold, penstock.EventBudgetThreshold,
		penstock.EventBudgetExceeded, penstock.EventAutomationPaused, penstock.EventAutomationDegraded,
		penstock.EventAutomationSilent, penstock.EventAutomationBack, penstock.EventDefinitionApplied,
		penstock.EventDefinitionRejected, penstock.EventWebhookFailing, penstock.EventScheduleMissed,
		penstock.EventWorkerLost, penstock.EventEndpointDisabled,
	}
}
