package penstock

import (
	"encoding/json"
	"fmt"
)

// Factory is a standing team of agents with its automations and webhooks: the
// contract's Factory.
type Factory struct {
	UID             string            `json:"uid"`
	Name            string            `json:"name"`
	Alias           string            `json:"alias,omitempty"`
	Description     string            `json:"description,omitempty"`
	Source          FactorySource     `json:"source"`
	Repository      *Repository       `json:"repository,omitempty"` // if Source is FactoryRepository
	ForemanUID      string            `json:"foreman_agent_uid"`    // "" until a commit of its repository is applied
	Agents          []FactoryAgent    `json:"agents"`
	WebhookCount    int               `json:"webhooks_count"`
	AutomationCount int               `json:"automations_count"`
	Definition      FactoryDefinition `json:"definition"`
	CreatedAt       Time              `json:"created_at"`
	UpdatedAt       Time              `json:"updated_at"`
	TeamUID         string            `json:"team_uid"`
	FactorySettings
}

// FactoryQuery selects and pages factories.
type FactoryQuery struct {
	Search string // part of a name or alias, ignoring case; "": all
	Limit  int    // 1-500; 0 is DefaultLimit
	Cursor string
}

// FactorySource says where a factory is edited.
type FactorySource string

// FactoryAgent is the short form of an agent of a factory.
type FactoryAgent struct {
	UID  string    `json:"uid"`
	Name string    `json:"name"`
	Type AgentType `json:"agent_type"`
}

// FactoryDefinition is the state of a factory's files. Revision counts their changes, from 1; 0
// means that nothing was applied yet. The fields after Status belong to factories that come from a
// repository.
type FactoryDefinition struct {
	Revision    int64            `json:"revision"`
	Status      definitionStatus `json:"status"`
	Commit      string           `json:"commit,omitempty"`          // the active one
	Rejected    string           `json:"rejected_commit,omitempty"` // the newest one, if it was rejected
	Detail      string           `json:"detail,omitempty"`          // why it was rejected
	Diagnostics []Diagnostic     `json:"diagnostics,omitempty"`     // of the newest commit, including warnings
	Problem     string           `json:"problem,omitempty"`         // why the repository cannot be read at the moment
	CheckedAt   Time             `json:"checked_at,omitzero"`       // when the repository was last checked

	// OutdatedWebhooks names the webhooks that do not use the current value of their managed secret
	// yet. Every factory can have them. Not stored.
	OutdatedWebhooks []string `json:"outdated_webhooks,omitempty"`
}

// definitionStatus says whether the newest files of a factory are active.
type definitionStatus string

// The states of a definition.
const (
	DefinitionApplied definitionStatus = "applied" // the newest files are active
	DefinitionInvalid definitionStatus = "invalid" // the newest commit was rejected; an earlier one is active
	DefinitionSyncing definitionStatus = "syncing" // the repository is being read
)

// Repository is a Git repository that defines a factory.
type Repository struct {
	URL    string `json:"url"`              // without credentials
	Branch string `json:"branch,omitempty"` // "": the repository's default branch
	Path   string `json:"path,omitempty"`   // the folder with factory.yaml; "": the root of the repository
	Secret string `json:"secret,omitempty"` // name of the managed secret with the credential
}

// String describes the place for a sentence.
func (r Repository) String() string {
	text := "the default branch of " + r.URL
	if r.Branch != "" {
		text = fmt.Sprintf("the branch %q of %s", r.Branch, r.URL)
	}
	if r.Path != "" {
		text += fmt.Sprintf(" below %q", r.Path)
	}
	return text
}

// FactorySettings are the settings in factory.yaml for a factory and its agents. All are empty
// until files are applied.
type FactorySettings struct {
	Repositories       []WorkRepository `json:"repositories"`
	CodeForge          CodeForge        `json:"code_forge"`
	CodeForges         []CodeForge      `json:"code_forges"`
	CredentialStrategy string           `json:"credential_strategy"`
	DefaultModel       string           `json:"default_model,omitempty"`
	DefaultEnvironment string           `json:"default_environment,omitempty"`
	AgentDefaults      AgentDefaults    `json:"agent_defaults"`
	Network            *Network         `json:"network,omitempty"` // of all its runs
	Models             *ModelPolicy     `json:"models,omitempty"`
	Forge              *ForgeSettings   `json:"forge,omitempty"` // weaker than in agentDefaults
	ScorerDefaults     struct{}         `json:"scorer_defaults"` // the keys of the files are not used yet
	Scoring            struct{}         `json:"scoring"`         // likewise
}

// CodeForge is a service that hosts repositories.
type CodeForge string

// The hosts of a factory's repositories. Files that do not name a host have repositories on GitHub.
// Others are shown as the files write them.
const (
	ForgeGitHub CodeForge = "GITHUB"
	ForgeGitLab CodeForge = "GITLAB"
)

// WorkRepository is a repository that a factory works on.
type WorkRepository struct {
	Owner     string    `json:"owner"`
	Repo      string    `json:"repo"`
	CodeForge CodeForge `json:"code_forge,omitempty"`
}

// AgentDefaults are the default settings of a factory's agents.
type AgentDefaults struct {
	// DefaultRunnerUID is the name of one of the factory's runners.
	DefaultRunnerUID   string               `json:"default_runner_uid" config:"runner_id"`
	WorkerHost         string               `json:"worker_host"`
	Secrets            []NamedSecret        `json:"secrets"`
	MCPServers         map[string]MCPServer `json:"mcp_servers"`
	Harness            *Harness             `json:"harness,omitempty"`
	HarnessAuthSecrets json.RawMessage      `json:"harness_auth_secrets,omitempty"`
	Repositories       []RunRepository      `json:"repositories,omitzero"`
}
