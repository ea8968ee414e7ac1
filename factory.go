package penstock

// Factory is a standing team of agents with its automations and webhooks: the
// contract's Factory.
type Factory struct {
	UID             string            `json:"uid"`
	Name            string            `json:"name"`
	Alias           string            `json:"alias,omitempty"`
	Description     string            `json:"description,omitempty"`
	Source          FactorySource     `json:"source"`
	ForemanUID      string            `json:"foreman_agent_uid"`
	Agents          []FactoryAgent    `json:"agents"`
	WebhookCount    int               `json:"webhooks_count"`
	AutomationCount int               `json:"automations_count"`
	Definition      FactoryDefinition `json:"definition"`
	CreatedAt       Time              `json:"created_at"`
	UpdatedAt       Time              `json:"updated_at"`
}

// FactorySource says where a factory is edited.
type FactorySource string

// The homes of a factory's definition.
const (
	FactoryService    FactorySource = "service"    // here, through the API
	FactoryRepository FactorySource = "repository" // in a Git repository
)

// FactoryAgent is an agent of a factory, in short.
type FactoryAgent struct {
	UID  string    `json:"uid"`
	Name string    `json:"name"`
	Type AgentType `json:"agent_type"`
}

// FactoryDefinition is the state of what a factory is defined by. The revision
// counts its changes, from 1.
type FactoryDefinition struct {
	Revision int64  `json:"revision"`
	Status   string `json:"status"` // applied
}

// FactoryRequest creates or changes a factory; on a change an absent field
// stays as it is.
type FactoryRequest struct {
	Name        *string `json:"name,omitempty"`
	Alias       *string `json:"alias,omitempty"`
	Description *string `json:"description,omitempty"`
}

// DispatchRequest asks a factory's foreman for a run.
type DispatchRequest struct {
	Prompt    string `json:"prompt"`
	Title     string `json:"title,omitempty"`
	TicketRef string `json:"ticket_ref,omitempty"` // <source>:<id>
	TicketURL string `json:"ticket_url,omitempty"`
}

// Dispatched answers a dispatch.
type Dispatched struct {
	RunID  string `json:"run_id"`
	RunURL string `json:"run_url"`
	State  State  `json:"state"`
}
