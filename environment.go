package penstock

import "slices"

// Environment lists the repositories and the setup that runs use: the contract's CloudEnvironment.
type Environment struct {
	UID           string            `json:"uid"` // 22 characters of [A-Za-z0-9]
	Config        EnvironmentConfig `json:"config"`
	LastUpdated   Time              `json:"last_updated"`
	SetupFailed   bool              `json:"setup_failed"` // of the latest run that used it
	LastTask      *EnvironmentTask  `json:"last_task_created,omitempty"`
	LastTaskRunAt Time              `json:"last_task_run_timestamp,omitzero"`
	Scope         *Scoped           `json:"scope,omitempty"`
	Creator       *Actor            `json:"creator,omitempty"`
	LastEditor    *Actor            `json:"last_editor,omitempty"`
}

// EnvironmentTask is the last run that used an environment.
type EnvironmentTask struct {
	ID        string `json:"id"`
	Title     string `json:"title"`
	State     State  `json:"state"`
	CreatedAt Time   `json:"created_at"`
	UpdatedAt Time   `json:"updated_at"`
	StartedAt Time   `json:"started_at,omitzero"` // when a worker first claimed it
}

// EnvironmentConfig is the part of an environment that callers set.
type EnvironmentConfig struct {
	Name                           string         `json:"name,omitempty"`
	Description                    string         `json:"description,omitempty"`
	DockerImage                    string         `json:"docker_image,omitempty"`
	DockerImageSecret              string         `json:"docker_image_secret,omitempty"` // USER:PASSWORD
	GitHubRepos                    []GitHubRepo   `json:"github_repos,omitempty"`
	Repos                          []GitRepo      `json:"repos,omitempty"`
	SetupCommands                  []string       `json:"setup_commands,omitempty"`
	Providers                      map[string]any `json:"providers,omitempty"`
	FailureSessionRetentionMinutes *int           `json:"failure_session_retention_minutes,omitempty"` // 1-60
	Network                        *Network       `json:"network,omitempty"`
	StallAfter                     string         `json:"stall_after,omitempty"` // such as 15m; "": as the server says
	OnStall                        OnStall        `json:"on_stall,omitempty"`
	Prebuild                       *Prebuild      `json:"prebuild,omitempty"` // nil: lazy, if the run has no variables
}

// CloneURL returns the URL at which git clones r.
func (r GitHubRepo) CloneURL() string { return "https://github.com/" + r.Owner + "/" + r.Repo + ".git" }

// CloneURLs lists the URLs of the repositories of c, as git clones them.
func (c *EnvironmentConfig) CloneURLs() []string {
	var list []string
	for _, r := range c.GitHubRepos {
		list = append(list, r.CloneURL())
	}
	for _, r := range c.Repos {
		list = append(list, r.URL)
	}
	return list
}

// Credentials lists the secrets that c names, with the host that gets each: the secrets of its
// network, and the one of its image.
func (c *EnvironmentConfig) Credentials() []CredentialUse {
	uses := c.Network.Credentials("/network")
	if c.DockerImageSecret != "" {
		uses = append(uses, CredentialUse{
			SecretUse{"/docker_image_secret", c.DockerImageSecret}, registryHost(c.DockerImage),
		})
	}
	return uses
}

// SecretNames lists the secrets that c names, each once, sorted.
func (c *EnvironmentConfig) SecretNames() []string {
	var names []string
	for _, use := range c.Credentials() {
		names = append(names, use.Name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Prebuild says how prepared workspaces of an environment are kept for later runs.
type Prebuild struct {
	Mode PrebuildMode `json:"mode,omitempty"` // "" is lazy
	// Inputs are patterns for files. A moved head that changes none of them needs no commands. Without
	// patterns, every moved head runs the commands.
	Inputs []string `json:"inputs,omitempty"`
	// UpdateCommands run instead of the setup commands after inputs have changed.
	UpdateCommands []string `json:"update_commands,omitempty"`
	// Secrets are the variables that the commands get. Only runs with all of them use what is kept.
	Secrets []string `json:"secrets,omitempty"`
}

// PrebuildMode says when a prepared workspace is kept.
type PrebuildMode string

// The modes: never, or after a run has prepared one.
const (
	PrebuildOff  PrebuildMode = "off"
	PrebuildLazy PrebuildMode = "lazy"
)

// GitHubRepo names a repository on GitHub.
type GitHubRepo struct {
	Owner string `json:"owner"`
	Repo  string `json:"repo"`
}

// GitRepo is any Git remote. An empty Ref stands for its default branch.
type GitRepo struct {
	URL string `json:"url"`
	Ref string `json:"ref,omitempty"`
}
