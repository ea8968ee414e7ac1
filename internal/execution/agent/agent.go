// Package agent is the built-in agent. It speaks ACP, and is a loop over a language model with a
// few tools of its own and the tools of its MCP servers.
//
// It runs in a sandbox, so it asks for no permissions. It protects what the sandbox cannot protect:
// the providers' keys in its own process. So it makes itself undumpable, and gives its commands an
// environment without the keys. Its file tools stay in the workspace.
package agent

import (
	"cmp"
	"context"
	"io"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/execution/acp"
)

// Config configures the agent. In, Out and StateDir are required.
type Config struct {
	In  io.Reader // the client's messages; closed at the end if it is a Closer
	Out io.Writer // the agent's messages; nothing else may write to it

	Log     *slog.Logger // default: discarded
	Version string       // default: "dev"

	// Providers are the providers whose models can be used.
	Providers []Provider

	// Model is the default model of sessions. Default: demo/offline.
	Model string

	// StateDir is the folder of saved sessions. It must outlive the process so that session/load
	// works.
	StateDir string

	// Env is the environment of commands and MCP servers. The agent removes the providers' keys and
	// addresses by name, and the keys also by value. A client adds more for each session: see
	// acp.MetaEnvironment.
	Env []string

	// Directives lets demo/offline execute the "demo:" lines of a prompt, which can run any
	// command. Do not set it without a sandbox: a prompt may contain parts of a webhook's payload.
	Directives bool

	// MaxSteps limits the responses of the model to one prompt. Default: 200.
	MaxSteps int

	// Backoff is the pause before the second attempt if a model is not available. It doubles with
	// each further attempt. Default: 1 s.
	Backoff time.Duration

	// ServerStart is how long an MCP server may take until it has listed its tools. Default: 1 min.
	ServerStart time.Duration

	// Stall is how long a model's response may make no progress. Default: 5 min.
	Stall time.Duration
}

// Provider is a model provider.
type Provider struct {
	// Name is the start of its models' ids: anthropic, openai, google, or another.
	Name string `json:"name"`
	// API is anthropic, openai or gemini. By default, it follows from the name.
	API     string `json:"api,omitempty"`
	Key     string `json:"key"`
	BaseURL string `json:"base_url,omitempty"` // default: the vendor's
}

func (c Config) withDefaults() Config {
	c.Log = cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	c.Version = cmp.Or(c.Version, "dev")
	c.Model = cmp.Or(c.Model, penstock.ModelOffline)
	c.MaxSteps = cmp.Or(c.MaxSteps, 200)
	c.Backoff = cmp.Or(c.Backoff, time.Second)
	c.Stall = cmp.Or(c.Stall, 5*time.Minute)
	c.ServerStart = cmp.Or(c.ServerStart, startTime)
	var keys []string
	for _, p := range c.Providers {
		keys = append(keys, p.Key)
	}
	c.Env = withoutProviders(c.Env, keys...)
	return c
}

// agent is one running agent with its sessions.
type agent struct {
	cfg    Config
	client *acp.Agent
	store  store
	http   *http.Client

	mu       sync.Mutex
	sessions map[string]*session
}

// Run serves one client until it closes In or ctx ends. When it returns, all commands and MCP
// servers have ended. It returns nil if the client closed In.
func Run(ctx context.Context, cfg Config) error {
	cfg = cfg.withDefaults()
	if err := makeUndumpable(); err != nil {
		return err
	}
	a := &agent{
		cfg:      cfg,
		store:    store{dir: cfg.StateDir},
		http:     modelClient(cfg.Stall),
		sessions: map[string]*session{},
	}
	a.client = acp.NewAgent(acp.Join(cfg.In, cfg.Out), acp.AgentHandler{
		Initialize:      a.initialize,
		NewSession:      a.newSession,
		LoadSession:     a.loadSession,
		CloseSession:    a.closeSession,
		SetConfigOption: a.setConfigOption,
		Prompt:          a.prompt,
		Garbage: func(line []byte, reason error) {
			cfg.Log.Warn("the client sent an invalid message", "bytes", len(line), "error", reason)
		},
	})
	defer a.closeAll()
	return a.client.Run(ctx)
}

func (a *agent) initialize(context.Context, acp.InitializeRequest) (acp.InitializeResponse, error) {
	yes := &struct{}{}
	return acp.InitializeResponse{
		ProtocolVersion: acp.ProtocolVersion,
		Capabilities: acp.AgentCapabilities{
			LoadSession: true,
			Prompt:      acp.PromptCapabilities{Image: true, EmbeddedContext: true},
			MCP:         acp.MCPCapabilities{HTTP: true},
			Session:     acp.SessionCapabilities{AdditionalDirectories: yes, Close: yes},
		},
		AuthMethods: []acp.AuthMethod{},
		Agent:       &acp.Implementation{Name: "penstock-agent", Title: "Penstock's built-in agent", Version: a.cfg.Version},
	}, nil
}

func (a *agent) newSession(ctx context.Context, r acp.NewSessionRequest) (acp.Session, error) {
	now := time.Now().UTC()
	id, err := uuid.NewV7()
	if err != nil {
		return acp.Session{}, err
	}
	saved := savedSession{Version: savedVersion, ID: id.String(), Model: a.cfg.Model, CreatedAt: now}
	s, err := openSession(ctx, a, saved, setup{r.Cwd, r.MoreDirs, r.MCPServers, r.Meta})
	if err != nil {
		return acp.Session{}, err
	}
	if err := s.save(); err != nil {
		s.close()
		return acp.Session{}, err
	}
	a.remember(s)
	return acp.Session{ID: saved.ID, ConfigOptions: a.options(saved.Model)}, nil
}

func (a *agent) loadSession(ctx context.Context, r acp.LoadSessionRequest) (acp.Session, error) {
	saved, err := a.store.load(r.SessionID)
	if err != nil {
		return acp.Session{}, err
	}
	if old := a.forget(r.SessionID); old != nil {
		old.close()
	}
	s, err := openSession(ctx, a, saved, setup{r.Cwd, r.MoreDirs, r.MCPServers, r.Meta})
	if err != nil {
		return acp.Session{}, err
	}
	if err := s.replay(ctx); err != nil {
		s.close()
		return acp.Session{}, err
	}
	a.remember(s)
	return acp.Session{ConfigOptions: a.options(saved.Model)}, nil
}

func (a *agent) closeSession(_ context.Context, r acp.CloseSessionRequest) error {
	s := a.forget(r.SessionID)
	if s == nil {
		return noSession(r.SessionID)
	}
	s.close()
	return nil
}

func (a *agent) remember(s *session) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.sessions[s.saved.ID] = s
}

func (a *agent) session(id string) (*session, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if s := a.sessions[id]; s != nil {
		return s, nil
	}
	return nil, noSession(id)
}

func (a *agent) forget(id string) *session {
	a.mu.Lock()
	defer a.mu.Unlock()
	s := a.sessions[id]
	delete(a.sessions, id)
	return s
}

func (a *agent) closeAll() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for id, s := range a.sessions {
		delete(a.sessions, id)
		s.close()
	}
}

func noSession(id string) error {
	return &acp.Error{Code: acp.CodeResourceNotFound, Message: "no session " + id + " is open"}
}

func (a *agent) prompt(ctx context.Context, r acp.PromptRequest) (acp.PromptResponse, error) {
	s, err := a.session(r.SessionID)
	if err != nil {
		return acp.PromptResponse{}, err
	}
	return s.prompt(ctx, r.Prompt)
}
