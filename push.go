package penstock

// PushPolicy says what a run may push to the repositories of its connections.
type PushPolicy struct {
	// Branches are lists of patterns, such as penstock/**. A branch must match one pattern of each list.
	Branches [][]string `json:"branches"`
	// Protected are patterns of paths that a push must not change, in any case, unless one of Except
	// matches, too.
	Protected []string `json:"protected,omitempty"`
	Except    []string `json:"except,omitempty"`
	// Always are patterns of the run's own request. Except does not lift them.
	Always []string   `json:"always,omitempty"`
	Limits PushLimits `json:"limits"`
	// AllowSecrets switches off the search for secrets in new commits.
	AllowSecrets bool `json:"allow_secrets,omitzero"`
}

// PushLimits bound what a push changes, compared with the base branch.
type PushLimits struct {
	Files  int64 `json:"files"`  // changed ones
	Bytes  int64 `json:"bytes"`  // of all changed files
	Binary int64 `json:"binary"` // bytes of one binary file
}

// DefaultPushPolicy is the policy of a run without settings.
func DefaultPushPolicy() PushPolicy {
	return PushPolicy{
		Branches:  [][]string{{"penstock/**"}},
		Protected: ProtectedPaths(),
		Limits:    PushLimits{Files: 300, Bytes: 10 << 20, Binary: 1 << 20},
	}
}

// ProtectedPaths lists patterns of files that decide what happens to a change: workflows, owners, hooks,
// and the instructions and settings of agents.
func ProtectedPaths() []string {
	return []string{
		".github/workflows/**", ".github/actions/**", ".gitea/**", ".forgejo/**", ".gitlab-ci.yml", "**/CODEOWNERS",
		".gitmodules", "**/.gitmodules", ".husky/**",
		"**/AGENTS.md", "**/CLAUDE.md", "**/GEMINI.md", "**/QWEN.md", ".claude/**", ".codex/**", ".gemini/**",
		".opencode/**", "opencode.json", ".qwen/**", ".agents/**", ".cursor/**", ".mcp.json",
		".github/copilot-instructions.md",
		".github/instructions/**", ".penstock/**", "penstock.yaml",
	}
}

// PushedBranch is a branch that a run is about to push.
type PushedBranch struct {
	Name    string `json:"name"`    // without refs/heads/
	Current string `json:"current"` // its commit on the forge; "": it does not exist
	New     string `json:"new"`
}

// MaxPushedBranches bounds the branches of one push.
const MaxPushedBranches = 20

// PushClaim is what a run is about to push to a repository.
type PushClaim struct {
	URL      string         `json:"url"` // of the repository
	Branches []PushedBranch `json:"branches"`
}

// PushCredential begins the names of the tokens of pushes in Assignment.NetworkSecrets. No rule of a network can
// name them.
const PushCredential = "push:"

// PushGrant lets a run push to a repository through the gate of its worker.
type PushGrant struct {
	Connection string     `json:"connection"` // its name
	Path       string     `json:"path"`       // owner/name
	URL        string     `json:"url"`        // that git clones
	Ref        string     `json:"ref,omitempty"`
	Credential string     `json:"credential"` // the name of the token in NetworkSecrets
	Bot        ForgeBot   `json:"bot"`        // with the address of its commits
	Policy     PushPolicy `json:"policy"`
}
