package penstock

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Factory is a standing team of agents with its automations and webhooks: the
// contract's Factory.
type Factory struct {
	UID             string            `json:"uid"`
	Name            string            `json:"name"`
	Alias           string            `json:"alias,omitempty"`
	Description     string            `json:"description,omitempty"`
	Source          FactorySource     `json:"source"`
	Repository      *Repository       `json:"repository,omitempty"` // of FactoryRepository
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

// FactoryPage is a page of factories, by name.
type FactoryPage struct {
	Factories []Factory `json:"factories"`
	PageInfo  PageInfo  `json:"page_info"`
}

// FactoryQuery selects and pages factories.
type FactoryQuery struct {
	Search string // part of a name or alias, in whatever case; "": all
	Limit  int    // 1-500; 0 is DefaultLimit
	Cursor string
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
// counts its changes, from 1; 0: nothing was applied yet. What follows Status is
// of factories that come from a repository.
type FactoryDefinition struct {
	Revision    int64            `json:"revision"`
	Status      DefinitionStatus `json:"status"`
	Commit      string           `json:"commit,omitempty"`          // that is in force
	Rejected    string           `json:"rejected_commit,omitempty"` // the newest one, where it was rejected
	Detail      string           `json:"detail,omitempty"`          // why it was
	Diagnostics []Diagnostic     `json:"diagnostics,omitempty"`     // of the newest one, warnings too
	Problem     string           `json:"problem,omitempty"`         // why the repository cannot be read at the moment
	CheckedAt   Time             `json:"checked_at,omitzero"`       // when it was looked at last

	// OutdatedWebhooks name the webhooks whose managed secret has a value that
	// they are yet to take. Of a factory from anywhere; not stored.
	OutdatedWebhooks []string `json:"outdated_webhooks,omitempty"`
}

// DefinitionStatus says whether what a factory is defined by is in force.
type DefinitionStatus string

// The states of a definition.
const (
	DefinitionApplied DefinitionStatus = "applied" // what was read last is in force
	DefinitionInvalid DefinitionStatus = "invalid" // the newest commit was rejected, the one before it is in force
	DefinitionSyncing DefinitionStatus = "syncing" // it is being read
)

// Repository is a Git repository that defines a factory.
type Repository struct {
	URL    string `json:"url"`              // without credentials
	Branch string `json:"branch,omitempty"` // "": the repository's default branch
	Path   string `json:"path,omitempty"`   // of the folder with factory.yaml; "": the top
	Secret string `json:"secret,omitempty"` // name of the managed secret with the credential
}

// String names the place in a sentence.
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

// Commit is a commit of a repository, as its author says.
type Commit struct {
	ID          string `json:"id"`
	Author      string `json:"author"`  // name and address
	Message     string `json:"message"` // its first line
	CommittedAt Time   `json:"committed_at,omitzero"`
}

// CommitResult is what became of a commit of a factory's repository.
type CommitResult string

// The results. Of a factory that is edited here every revision is applied.
const (
	CommitApplied   CommitResult = "applied"
	CommitUnchanged CommitResult = "unchanged" // the files are as before
	CommitRejected  CommitResult = "rejected"
)

// FactoryRequest creates or changes a factory; on a change an absent field
// stays as it is and null clears it.
type FactoryRequest struct {
	Name        *string `json:"name,omitempty"`
	Alias       *string `json:"alias,omitempty"`
	Description *string `json:"description,omitempty"`
	// Network and Models are those of all runs of the factory; empty ones are removed.
	Network *Network     `json:"network,omitempty"`
	Models  *ModelPolicy `json:"models,omitempty"`
	// Files define a new factory, by path; absent: it has a foreman and nothing
	// else. Of a factory that there is they are applied, not changed.
	Files map[string]string `json:"-"`
	// Repository defines a new factory in place of files; of one that comes from a
	// repository it is replaced.
	Repository *Repository `json:"repository,omitempty"`
	Cleared    []string    `json:"-"` // the fields that were given as null
}

var resourceName = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,62}$`)

// ResourceName makes the name of an automation or webhook, which is also the
// name of its file, of a label as it was typed: in lower case, with one - for
// spaces that follow each other. ok is false where that is no such name.
func ResourceName(label string) (name string, ok bool) {
	name = strings.Join(strings.Fields(strings.ToLower(label)), "-")
	return name, resourceName.MatchString(name)
}

// ResourceNameRule says what a [ResourceName] may be made of.
const ResourceNameRule = "must be 1 to 63 letters, digits, - and spaces, the first one a letter or digit"

// ValidAlias reports whether a factory may be called so: 1 to 60 letters and
// digits of any script, spaces and . _ -, without a space at either end.
func ValidAlias(alias string) bool {
	n := utf8.RuneCountInString(alias)
	return n >= 1 && n <= maxAlias && strings.TrimSpace(alias) == alias && !strings.ContainsFunc(alias, notOfAlias)
}

const maxAlias = 60 // characters

func notOfAlias(r rune) bool {
	if r == utf8.RuneError {
		return true
	}
	return !unicode.IsLetter(r) && !unicode.IsMark(r) && !unicode.IsDigit(r) && !strings.ContainsRune(" ._-", r)
}

// FactorySettings show what factory.yaml says about the work of a factory and
// its agents. All are empty until files were applied.
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
	ScorerDefaults     struct{}         `json:"scorer_defaults"` // files cannot set any
	Scoring            struct{}         `json:"scoring"`         // likewise
}

// CodeForge is a host of repositories.
type CodeForge string

// The hosts that a factory can have. Files name no host, and GitHub's is meant.
const (
	ForgeGitHub CodeForge = "GITHUB"
	ForgeNone   CodeForge = "NONE" // of a factory without repositories
)

// WorkRepository is a repository that a factory works on.
type WorkRepository struct {
	Owner     string    `json:"owner"`
	Repo      string    `json:"repo"`
	CodeForge CodeForge `json:"code_forge,omitempty"`
}

// AgentDefaults are what the agents of a factory have unless they say otherwise.
type AgentDefaults struct {
	// DefaultRunnerUID is the name of one of the factory's runners.
	DefaultRunnerUID   string               `json:"default_runner_uid" config:"runner_id"`
	WorkerHost         string               `json:"worker_host"`
	Secrets            []NamedSecret        `json:"secrets"`
	MCPServers         map[string]MCPServer `json:"mcp_servers"`
	Harness            *Harness             `json:"harness,omitempty"`
	HarnessAuthSecrets json.RawMessage      `json:"harness_auth_secrets,omitempty"`
}

// SettingsOf shows the defaults of a factory that works on repositories.
func SettingsOf(defaults Overrides, repositories []WorkRepository) FactorySettings {
	settings := FactorySettings{
		Repositories: []WorkRepository{}, CodeForge: ForgeNone,
		CredentialStrategy: cmp.Or(defaults.CredentialStrategy, "EXECUTOR"),
		DefaultModel:       defaults.Model, DefaultEnvironment: defaults.EnvironmentID,
		AgentDefaults: AgentDefaults{
			Secrets: []NamedSecret{},
		},
	}
	CarryKeys(&settings.AgentDefaults, defaults)
	if settings.AgentDefaults.MCPServers == nil {
		settings.AgentDefaults.MCPServers = map[string]MCPServer{}
	}
	if h := defaults.Harness; settings.DefaultModel == "" && h != nil && h.Kind() == HarnessBuiltin {
		settings.DefaultModel = h.ModelID
	}
	for _, name := range defaults.Secrets {
		settings.AgentDefaults.Secrets = append(settings.AgentDefaults.Secrets, NamedSecret{Name: name})
	}
	for _, r := range repositories {
		settings.CodeForge, r.CodeForge = ForgeGitHub, ForgeGitHub
		settings.Repositories = append(settings.Repositories, r)
	}
	settings.CodeForges = []CodeForge{settings.CodeForge}
	return settings
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
	RunID        string `json:"run_id"`
	RunURL       string `json:"run_url"`
	State        State  `json:"state"`
	FactoryUID   string `json:"factory_uid"`
	ForemanAgent string `json:"foreman_agent"` // its name
	TicketRef    string `json:"ticket_ref"`    // <source>:<id>, adhoc:<run> where the request has none

	Warnings []string `json:"-"` // as those of a RunCreated
}
