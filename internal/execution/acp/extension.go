package acp

import (
	"encoding/json"

	"github.com/penstock-dev/penstock"
)

// Extensions of ACP between the built-in agent and the worker. Other clients and agents ignore
// them, as the protocol requires.
const (
	// MetaTool, on tool_call and tool_call_update, is the name of the tool
	// (a string): run_command, read_files, edit_files, search_files, read_skill,
	// create_artifact, ask_user, update_plan or call_mcp_tool.
	MetaTool = "penstock.dev/tool"

	// MetaBlocked, on the result of a prompt that ended with end_turn, is a
	// Blocked: the agent waits for an answer, which is the next prompt.
	MetaBlocked = "penstock.dev/blocked"

	// MetaUsage, on usage_update and on the result of a prompt, is a TurnUsage:
	// all tokens of the turn so far. A later one replaces an earlier one.
	MetaUsage = "penstock.dev/usage"

	// MetaSkills, on session/new and session/load, is a []Skill: the skills for read_skill. Without
	// it, the agent looks for .penstock/skills/*/SKILL.md.
	MetaSkills = "penstock.dev/skills"

	// MetaEnvironment, on session/new and session/load, is a []string of KEY=value: additional
	// environment variables for commands and MCP servers of the session. It may contain secrets.
	MetaEnvironment = "penstock.dev/environment"

	// MetaRequiredServers, on session/new and session/load, is a []string: the names of the MCP servers
	// without which the session must not start or continue.
	MetaRequiredServers = "penstock.dev/required-mcp-servers"

	// MethodServerFailed is the agent's request with a ServerFailure, each time that an MCP server does
	// not start or stops working. The response is empty.
	MethodServerFailed = "_penstock/mcp_server_failed"

	// MethodArtifact is the agent's request to store an artifact of the run: an ArtifactRequest,
	// with an ArtifactResponse as response. The model sees an error.
	MethodArtifact = "_penstock/artifact"
)

// ServerFailure is an MCP server that does not work.
type ServerFailure struct {
	SessionID string `json:"sessionId"`
	Name      string `json:"name"`
	Reason    string `json:"reason"`
}

// Blocked is the question that ended a turn.
type Blocked struct {
	Question string `json:"question"`
}

// TurnUsage is what one turn consumed.
type TurnUsage struct {
	penstock.TokenUsage
	ModelID  string `json:"model_id"` // provider/model
	Provider string `json:"provider"` // anthropic, openai, google, demo
}

// Skill is a skill that the worker has written into the workspace.
type Skill struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	Path        string `json:"path"` // of its SKILL.md, absolute or relative to the workspace
	// BundledID is the id of a bundled skill.
	BundledID string `json:"bundled_skill_id,omitempty"`
}

// ArtifactRequest describes an artifact. Path is the path of a FILE or SCREENSHOT, absolute or
// relative to the session's cwd. The receiver must not trust it.
type ArtifactRequest struct {
	SessionID     string                `json:"sessionId"`
	Type          penstock.ArtifactType `json:"artifact_type"`
	Path          string                `json:"path,omitempty"`
	Title         string                `json:"title,omitempty"`
	Description   string                `json:"description,omitempty"`
	Branch        string                `json:"branch,omitempty"`         // PULL_REQUEST
	URL           string                `json:"url,omitempty"`            // PULL_REQUEST, EXTERNAL_REFERENCE
	Content       string                `json:"content,omitempty"`        // PLAN, Markdown
	ReferenceType string                `json:"reference_type,omitempty"` // EXTERNAL_REFERENCE
	Metadata      json.RawMessage       `json:"metadata,omitempty"`       // EXTERNAL_REFERENCE, an object
}

// ArtifactResponse names the stored artifact.
type ArtifactResponse struct {
	ArtifactUID string `json:"artifact_uid"`
}
