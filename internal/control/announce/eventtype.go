package announce

import (
	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/store"
)

// EventType describes a type of messages.
type EventType struct {
	Type        penstock.EndpointEvent   `json:"type"`
	Description string                   `json:"description"`
	Example     penstock.EndpointMessage `json:"example"`
}

// descriptions says when a message of each type is sent.
var descriptions = map[penstock.EndpointEvent]string{
	store.EventRunCreated:         "A run was created.",
	store.EventRunStarted:         "The agent of a run works, also after the run was BLOCKED or continued.",
	store.EventRunBlocked:         "A run waits for a person, or for room in a budget.",
	store.EventRunStalled:         "A run works, but has had no event for some time.",
	store.EventRunHollow:          "A run SUCCEEDED, but its agent did nothing.",
	store.EventRunSucceeded:       "A run SUCCEEDED.",
	store.EventRunFailed:          "A run FAILED, for a cause that the user can fix.",
	store.EventRunErrored:         "A run ended in ERROR.",
	store.EventRunCancelled:       "A run was CANCELLED.",
	store.EventRunBudgetThreshold: "A run has spent a share of its own budget.",
	store.EventBudgetThreshold:    "The runs of a budget have spent a share of it, one of its notify_at.",
	store.EventBudgetExceeded:     "A budget has no room for the next call of a run, which is BLOCKED or FAILED.",
	store.EventAutomationPaused:   "An automation was disabled, or failures in a row paused it or a schedule.",
	store.EventAutomationSilent:   "An automation or schedule has started nothing for its expect_every.",
	store.EventAutomationBack:     "An automation or schedule that was silent has started something.",
	store.EventAutomationDegraded: "Runs of an automation or schedule failed in a row: one more failure pauses it.",
	store.EventDefinitionApplied:  "The files of a factory have a new revision: a commit, new files or an edit.",
	store.EventDefinitionRejected: "A commit of a factory's repository is rejected; the files before stay active.",
	store.EventScheduleMissed:     "Times of a schedule or automation passed while no server decided them.",
	store.EventWorkerLost:         "The worker of a run disappeared; the run is queued again, or ends in ERROR.",
	store.EventWebhookFailing:     "A webhook rejected all deliveries of the last hour, and at least 5.",
	store.EventEndpointDisabled:   "The server disabled an event endpoint that failed, or wants no more messages.",
	EventEndpointPing:             "Somebody asked for a message to see that the endpoint works.",
}

// EventTypes lists the types of messages, each with an example.
func (s *Endpoints) EventTypes() []EventType {
	var list []EventType
	for _, event := range append(Events(), EventEndpointPing) {
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
		store.EventRunCreated: penstock.StateQueued, store.EventRunStalled: penstock.StateInProgress,
		store.EventRunHollow: penstock.StateSucceeded, store.EventRunBudgetThreshold: penstock.StateInProgress,
		store.EventWorkerLost:      penstock.StateInProgress,
		store.EventBudgetThreshold: penstock.StateInProgress, store.EventBudgetExceeded: penstock.StateBlocked,
	}
	for _, state := range penstock.States() {
		if of := store.EventOf(state); of != "" {
			states[of] = state
		}
	}
	var data penstock.EndpointData
	path := "/api/v1/agent/runs/" + run
	switch event {
	case store.EventEndpointDisabled, EventEndpointPing:
		data, path = penstock.EndpointData{EndpointUID: endpoint}, "/api/v1/event-endpoints/"+endpoint
	case store.EventAutomationPaused, store.EventAutomationDegraded, store.EventAutomationSilent,
		store.EventAutomationBack, store.EventScheduleMissed:
		data = penstock.EndpointData{FactoryUID: factory, AutomationUID: automation}
		path = "/api/v1/factory/" + factory + "/automations/" + automation
	case store.EventWebhookFailing:
		data = penstock.EndpointData{FactoryUID: factory, WebhookUID: webhook}
		path = "/api/v1/factory/" + factory + "/webhooks/" + webhook
	case store.EventDefinitionApplied, store.EventDefinitionRejected:
		data = penstock.EndpointData{FactoryUID: factory, Commit: "8f3c1d5b7a9e2f4c6d8b0a1e3f5c7d9b1a2e4f60", Revision: 3}
		if path = "/api/v1/factory/" + factory; event == store.EventDefinitionApplied {
			path += "/definition/history/3"
		}
	default:
		data = penstock.EndpointData{RunID: run, State: states[event], Sequence: 7, FactoryUID: factory}
	}
	switch event { //nolint:exhaustive // the others have no more
	case store.EventRunCreated:
		data.Sequence = 1
	case store.EventRunBudgetThreshold:
		data.NotifyAt = 0.8
	case store.EventBudgetThreshold:
		data.NotifyAt, data.BudgetUID, path = 0.8, budget, "/api/v1/budgets/"+budget
	case store.EventBudgetExceeded:
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
		store.EventRunCreated, store.EventRunStarted, store.EventRunBlocked, store.EventRunStalled,
		store.EventRunHollow, store.EventRunSucceeded, store.EventRunFailed, store.EventRunErrored,
		store.EventRunCancelled, store.EventRunBudgetThreshold, store.EventBudgetThreshold,
		store.EventBudgetExceeded, store.EventAutomationPaused, store.EventAutomationDegraded,
		store.EventAutomationSilent, store.EventAutomationBack, store.EventDefinitionApplied,
		store.EventDefinitionRejected, store.EventWebhookFailing, store.EventScheduleMissed,
		store.EventWorkerLost, store.EventEndpointDisabled,
	}
}
