package penstock

import "encoding/json"

// EventType is the kind of an event in a run's log.
type EventType string

// The kinds of events. `done` is sent at the end of a stream and is not in the log.
const (
	EventState        EventType = "state"
	EventMessage      EventType = "message"
	EventMessageDelta EventType = "message_delta" // in the log until its message follows
	EventAction       EventType = "action"
	EventActionResult EventType = "action_result"
	EventPlan         EventType = "plan"
	EventUsage        EventType = "usage"
	EventArtifact     EventType = "artifact"
	EventTimeline     EventType = "timeline"
	EventDone         EventType = "done"
	// EventNetwork is a worker's report about traffic. It is stored beside the log.
	EventNetwork EventType = "network"
)

// Event is one entry of a run's log. The transaction that appends it assigns Seq, so commit
// order is sequence order. Deltas leave gaps.
type Event struct {
	RunID       string          `json:"run_id"`
	Seq         int64           `json:"seq"`
	ExecutionID int             `json:"execution_id"`
	Type        EventType       `json:"type"`
	At          Time            `json:"at"`
	Data        json.RawMessage `json:"data"`
}

// Draft is an event before it is appended to the log.
type Draft struct {
	Type EventType       `json:"type"`
	At   Time            `json:"at"`
	Data json.RawMessage `json:"data"`
	// Key is the message id of a message or message_delta: the message removes its deltas from
	// the log. For a timeline event, it is the type.
	Key string `json:"key,omitempty"`
	// N numbers the drafts of a lease, from 1, so that a repeated draft is skipped. 0: not
	// numbered.
	N int64 `json:"n,omitzero"`
}

// NewDraft creates a draft. data must be one of the types below, which can always be
// marshaled.
func NewDraft(t EventType, at Time, data any) Draft {
	raw, err := json.Marshal(data)
	if err != nil {
		panic("penstock: event data cannot be marshaled: " + err.Error())
	}
	d := Draft{Type: t, At: at, Data: raw}
	switch m := data.(type) {
	case Message:
		d.Key = m.ID
	case MessageDelta:
		d.Key = m.ID
	}
	return d
}

// StateData is the data of a state and of a done event.
type StateData struct {
	State         State          `json:"state"`
	ExecutionID   int            `json:"execution_id"`
	StatusMessage *StatusMessage `json:"status_message,omitempty"`
}

// MessageDelta is a part of an unfinished message.
type MessageDelta struct {
	ID   string `json:"message_id"`
	Role string `json:"role"`
	Text string `json:"text"`
}

// PlanData is the complete current plan of the agent.
type PlanData struct {
	Entries []PlanEntry `json:"entries"`
}

// PlanEntry is one step of a plan.
type PlanEntry struct {
	Content  string `json:"content"`
	Status   string `json:"status"` // pending, in_progress, completed
	Priority string `json:"priority,omitempty"`
}

// TimelineData is the data of a timeline event.
type TimelineData struct {
	UUID    string         `json:"event_uuid"`
	Type    string         `json:"event_type"`
	Payload map[string]any `json:"payload,omitempty"`
}

// The types of timeline events that several packages name. The others are in the package that writes
// them; api/openapi.yaml lists all.
const (
	TimelineClaimed         = "run_claimed"
	TimelineSandboxReady    = "worker_container_ready"
	TimelineBlocked         = "run_blocked"
	TimelineFailed          = "run_failed"
	TimelineSandboxGone     = "vm_shutdown"
	TimelineSetupStep       = "setup_step"
	TimelineChangesSaved    = "changes_saved"     // what the turn changed in repositories, or why that is unknown
	TimelineInterrupted     = "turn_interrupted"  // it has ended
	TimelineMCPFailed       = "mcp_server_failed" // an MCP server did not start, or stopped working
	TimelineSandboxVerified = "sandbox_verified"  // checked before the agent started; lists the checks
	TimelineNetworkDenied   = "network_denied"    // the policy rejected a host for the first time
	TimelinePodCreated      = "pod_created"       // a launcher created the Job of the execution
	TimelinePodWaiting      = "pod_waiting"       // what keeps the Pod from starting, each time it changes
	TimelineFollowup        = "followup_received"
	TimelineChecksFailed    = "checks_failed"       // of a commit that the run has pushed
	TimelineRewound         = "rewound"             // the run went back to an earlier turn
	TimelineInterrupt       = "interrupt_requested" // a caller asked to end the agent's turn
	TimelineStalled         = "run_stalled"         // it works, but has had no event for some time
	TimelineStallEnded      = "stall_ended"         // a stalled run has an event again
)

// Timeline creates a draft of a timeline event.
func Timeline(at Time, eventType string, payload map[string]any) Draft {
	d := NewDraft(EventTimeline, at, TimelineData{NewID(), eventType, payload})
	d.Key = eventType
	return d
}

// Timeline converts an event of type timeline to its form in the API.
func (e Event) Timeline() (TimelineEvent, error) {
	var d TimelineData
	err := json.Unmarshal(e.Data, &d)
	return TimelineEvent{
		UUID: d.UUID, RunID: e.RunID, ExecutionID: e.ExecutionID, Type: d.Type, OccurredAt: e.At, Payload: d.Payload,
	}, err
}

// Public returns the event with its data as the API shows it. A timeline event repeats the
// values of its row.
func (e Event) Public() Event {
	if e.Type != EventTimeline {
		return e
	}
	if eventType, err := e.Timeline(); err == nil {
		if data, err := json.Marshal(eventType); err == nil {
			e.Data = data
		}
	}
	return e
}

// TimelineEvent is a timeline event in a response of the API.
type TimelineEvent struct {
	UUID        string         `json:"event_uuid"`
	RunID       string         `json:"run_id"`
	ExecutionID int            `json:"execution_id,omitzero"`
	Type        string         `json:"event_type"`
	OccurredAt  Time           `json:"occurred_at"`
	Payload     map[string]any `json:"payload,omitempty"`
}
