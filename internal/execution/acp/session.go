package acp

import "encoding/json"

// Implementation names a program.
type Implementation struct {
	Name    string `json:"name"`
	Title   string `json:"title,omitempty"`
	Version string `json:"version"`
}

// InitializeRequest opens a connection.
type InitializeRequest struct {
	ProtocolVersion int                `json:"protocolVersion"`
	Capabilities    ClientCapabilities `json:"clientCapabilities"`
	Client          *Implementation    `json:"clientInfo,omitempty"`
	Meta            Meta               `json:"_meta,omitempty"`
}

// ClientCapabilities lists the client's functions for the agent.
type ClientCapabilities struct {
	FS          FSCapabilities           `json:"fs"`
	Terminal    bool                     `json:"terminal"`
	Elicitation *ElicitationCapabilities `json:"elicitation,omitempty"`
	Meta        Meta                     `json:"_meta,omitempty"`
}

// FSCapabilities says which of the fs/ methods the client has.
type FSCapabilities struct {
	ReadTextFile  bool `json:"readTextFile"`
	WriteTextFile bool `json:"writeTextFile"`
}

// InitializeResponse is the agent's response.
type InitializeResponse struct {
	ProtocolVersion int               `json:"protocolVersion"`
	Capabilities    AgentCapabilities `json:"agentCapabilities"`
	AuthMethods     []AuthMethod      `json:"authMethods"`
	Agent           *Implementation   `json:"agentInfo,omitempty"`
	Meta            Meta              `json:"_meta,omitempty"`
}

// AgentCapabilities lists the functions of the agent.
type AgentCapabilities struct {
	LoadSession bool                `json:"loadSession"`
	Prompt      PromptCapabilities  `json:"promptCapabilities"`
	MCP         MCPCapabilities     `json:"mcpCapabilities"`
	Session     SessionCapabilities `json:"sessionCapabilities"`
	Meta        Meta                `json:"_meta,omitempty"`
}

// PromptCapabilities says what a prompt may contain besides text and links.
type PromptCapabilities struct {
	Image           bool `json:"image"`
	Audio           bool `json:"audio"`
	EmbeddedContext bool `json:"embeddedContext"`
}

// MCPCapabilities says which MCP servers besides stdio ones the agent can use.
type MCPCapabilities struct {
	HTTP bool `json:"http"`
	SSE  bool `json:"sse"`
}

// SessionCapabilities lists more functions for sessions. A field that exists, with any value, means
// yes.
type SessionCapabilities struct {
	AdditionalDirectories *struct{} `json:"additionalDirectories,omitempty"`
	Close                 *struct{} `json:"close,omitempty"`
	Title                 *struct{} `json:"title,omitempty"`
}

// AuthMethod is a way to sign in.
type AuthMethod struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
}

// AuthenticateRequest signs in by one of the agent's methods.
type AuthenticateRequest struct {
	MethodID string `json:"methodId"`
	Meta     Meta   `json:"_meta,omitempty"`
}

// NewSessionRequest starts a session. Cwd and the additional directories are
// absolute.
type NewSessionRequest struct {
	Cwd        string      `json:"cwd"`
	MoreDirs   []string    `json:"additionalDirectories,omitempty"`
	MCPServers []MCPServer `json:"mcpServers"`
	Meta       Meta        `json:"_meta,omitempty"`
}

// LoadSessionRequest continues an earlier session.
type LoadSessionRequest struct {
	SessionID  string      `json:"sessionId"`
	Cwd        string      `json:"cwd"`
	MoreDirs   []string    `json:"additionalDirectories,omitempty"`
	MCPServers []MCPServer `json:"mcpServers"`
	Meta       Meta        `json:"_meta,omitempty"`
}

// Session is the response to session/new and session/load. Agents used Models for the choice of
// models before config options existed.
type Session struct {
	ID            string         `json:"sessionId,omitempty"`
	Modes         *Modes         `json:"modes,omitempty"`
	Models        *Models        `json:"models,omitempty"`
	ConfigOptions []ConfigOption `json:"configOptions,omitempty"`
	Meta          Meta           `json:"_meta,omitempty"`
}

// Modes are the modes of a session.
type Modes struct {
	Current   string `json:"currentModeId"`
	Available []Mode `json:"availableModes"`
}

// Mode is one of them.
type Mode struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
}

// Models are the models of a session.
type Models struct {
	Current   string  `json:"currentModelId"`
	Available []Model `json:"availableModels"`
}

// Model is one of them.
type Model struct {
	ID          string `json:"modelId"`
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
}

// ConfigOption is something that can be set on a session. Type is select or boolean; Category is
// mode, model, thought_level or anything else. Options stay as received, because they may be
// grouped.
type ConfigOption struct {
	ID           string          `json:"id"`
	Name         string          `json:"name"`
	Description  string          `json:"description,omitempty"`
	Category     string          `json:"category,omitempty"`
	Type         string          `json:"type"`
	CurrentValue json.RawMessage `json:"currentValue"`
	Options      json.RawMessage `json:"options,omitempty"`
	Meta         Meta            `json:"_meta,omitempty"`
}

// ConfigValue is one choice of a select option.
type ConfigValue struct {
	Value       string `json:"value"`
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
}

// SetModeRequest changes the mode.
type SetModeRequest struct {
	SessionID string `json:"sessionId"`
	ModeID    string `json:"modeId"`
	Meta      Meta   `json:"_meta,omitempty"`
}

// SetConfigOptionRequest changes an option; Value is a string for a select.
type SetConfigOptionRequest struct {
	SessionID string `json:"sessionId"`
	ConfigID  string `json:"configId"`
	Type      string `json:"type,omitempty"` // boolean, when Value is one
	Value     any    `json:"value"`
	Meta      Meta   `json:"_meta,omitempty"`
}

// CloseSessionRequest ends a session and releases its resources.
type CloseSessionRequest struct {
	SessionID string `json:"sessionId"`
	Meta      Meta   `json:"_meta,omitempty"`
}

// PromptRequest gives the agent a turn.
type PromptRequest struct {
	SessionID string         `json:"sessionId"`
	Prompt    []ContentBlock `json:"prompt"`
	Meta      Meta           `json:"_meta,omitempty"`
}

// StopReason is why a turn ended.
type StopReason string

// The stop reasons.
const (
	StopEndTurn         StopReason = "end_turn"
	StopMaxTokens       StopReason = "max_tokens"
	StopMaxTurnRequests StopReason = "max_turn_requests"
	StopRefusal         StopReason = "refusal"
	StopCancelled       StopReason = "cancelled"
)

// PromptResponse ends a turn. Usage is not part of the stable protocol, but some agents report the
// turn's tokens there.
type PromptResponse struct {
	StopReason StopReason   `json:"stopReason"`
	Usage      *PromptUsage `json:"usage,omitempty"`
	Meta       Meta         `json:"_meta,omitempty"`
}

// PromptUsage counts tokens as the protocol's draft names them.
type PromptUsage struct {
	Total      int64 `json:"totalTokens"`
	Input      int64 `json:"inputTokens"`
	Output     int64 `json:"outputTokens"`
	CacheRead  int64 `json:"cachedReadTokens,omitempty"`
	CacheWrite int64 `json:"cachedWriteTokens,omitempty"`
}

// MCPServer describes an MCP server that the agent should use: a command, or a
// URL when Type is http or sse.
type MCPServer struct {
	Name    string
	Type    string // empty means stdio
	Command string
	Args    []string
	Env     []Variable
	URL     string
	Headers []Variable
}

// Variable is a name and its value: of the environment, or an HTTP header.
type Variable struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

type stdioServer struct {
	Name    string     `json:"name"`
	Command string     `json:"command"`
	Args    []string   `json:"args"`
	Env     []Variable `json:"env"`
}

type remoteServer struct {
	Type    string     `json:"type"`
	Name    string     `json:"name"`
	URL     string     `json:"url"`
	Headers []Variable `json:"headers"`
}

// MarshalJSON writes the form of the server's type, with the arrays that the
// schema requires even when they are empty.
func (s MCPServer) MarshalJSON() ([]byte, error) {
	if s.Type == "" || s.Type == "stdio" {
		return encodeValue(stdioServer{s.Name, s.Command, some(s.Args), some(s.Env)})
	}
	return encodeValue(remoteServer{s.Type, s.Name, s.URL, some(s.Headers)})
}

// UnmarshalJSON reads both forms.
func (s *MCPServer) UnmarshalJSON(data []byte) error {
	var wire struct {
		stdioServer
		Type    string     `json:"type"`
		URL     string     `json:"url"`
		Headers []Variable `json:"headers"`
	}
	if err := json.Unmarshal(data, &wire); err != nil {
		return err
	}
	*s = MCPServer{wire.Name, wire.Type, wire.Command, wire.Args, wire.Env, wire.URL, wire.Headers}
	return nil
}

// some returns list, but never nil, which would be null in JSON.
func some[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
