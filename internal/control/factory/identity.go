package factory

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/access"
	"github.com/penstock-dev/penstock/internal/control/definition"
	"github.com/penstock-dev/penstock/internal/control/request"
	"github.com/penstock-dev/penstock/internal/control/run"
	"github.com/penstock-dev/penstock/internal/control/store"
)

// AgentForeman is the type of a factory's entry point. A factory has exactly one foreman.
const AgentForeman penstock.AgentType = "FOREMAN"

// agentTypes lists every type; CUSTOM is the default.
func agentTypes() []penstock.AgentType {
	return []penstock.AgentType{AgentForeman, "TRIAGE", "SPEC", "IMPLEMENT", "REVIEW", "VERIFY", "CUSTOM"}
}

// IdentityRequest creates or changes an agent. In a change, an absent or null field stays
// unchanged, and an empty value clears it.
type IdentityRequest struct {
	Name             *string                 `json:"name,omitempty"`
	Description      *string                 `json:"description,omitempty"`
	Prompt           *string                 `json:"prompt,omitempty"`
	Secrets          *[]penstock.NamedSecret `json:"secrets,omitempty"`
	Skills           *[]string               `json:"skills,omitempty"`
	Memory           *penstock.Memory        `json:"memory,omitempty"`
	DefaultRunnerUID *string                 `json:"default_runner_uid,omitempty"`
	EnvironmentID    *string                 `json:"environment_id,omitempty"`
	BaseModel        *string                 `json:"base_model,omitempty"`
	Harness          *penstock.Harness       `json:"harness,omitempty"`
	// BaseHarness is deprecated: the type of Harness alone.
	BaseHarness        *string                        `json:"base_harness,omitempty"`
	MCPServers         *map[string]penstock.MCPServer `json:"mcp_servers,omitempty"`
	Repositories       *[]penstock.RunRepository      `json:"repositories,omitempty"` // an empty list stays one
	HarnessAuthSecrets json.RawMessage                `json:"harness_auth_secrets,omitempty"`
	OnBehalfOfEnabled  *bool                          `json:"on_behalf_of_enabled,omitempty"`
	Type               *penstock.AgentType            `json:"agent_type,omitempty"`
	Network            *penstock.Network              `json:"network,omitempty"`
	Models             *penstock.ModelPolicy          `json:"models,omitempty"`
	LayerKeysRequest
}

// Limits of an agent.
const (
	maxMemoryStores = 50
	maxAgentJSON    = 64 << 10 // bytes of the fields that are not configuration
)

// ListIdentities lists the team's agents by name. If factoryUID is not "", it lists only the agents
// of this factory.
func (s *Resources) ListIdentities(
	ctx context.Context, p penstock.Principal, factoryUID string,
) ([]penstock.Identity, error) {
	if err := access.Require(p, penstock.ScopeRunsRead); err != nil {
		return nil, err
	}
	agents, err := s.store.Identities.List(ctx, p.Team)
	if factoryUID != "" {
		agents = slices.DeleteFunc(agents, func(i penstock.Identity) bool { return i.FactoryUID != factoryUID })
	}
	for i := range agents {
		agents[i] = s.presentIdentity(agents[i])
	}
	return agents, err
}

// Identity returns one agent.
func (s *Resources) Identity(ctx context.Context, p penstock.Principal, uid string) (penstock.Identity, error) {
	if err := access.Require(p, penstock.ScopeRunsRead); err != nil {
		return penstock.Identity{}, err
	}
	agent, err := s.store.Identities.Find(ctx, p.Team, uid)
	return s.presentIdentity(agent), err
}

// presentIdentity adds fields that are not stored: whether the server can run the agent's harness,
// and base_harness, the type of the harness.
func (s *Resources) presentIdentity(i penstock.Identity) penstock.Identity {
	i.Available = slices.Contains(s.executable, i.Harness.Kind())
	if i.Harness != nil {
		i.BaseHarness = i.Harness.Type
	}
	return i
}

// CreateIdentity creates an agent, which is a service account of the team. Its name is unique in
// the team, ignoring case.
func (s *Resources) CreateIdentity(
	ctx context.Context, p penstock.Principal, req IdentityRequest,
) (penstock.Identity, error) {
	if err := access.Require(p, penstock.ScopeFactoriesManage); err != nil {
		return penstock.Identity{}, err
	}
	now := penstock.Now()
	agent := penstock.Identity{UID: penstock.NewID(), CreatedAt: now, UpdatedAt: now}
	if err := s.changeIdentity(&agent, req); err != nil {
		return penstock.Identity{}, err
	}
	if err := s.checkIdentity(p, agent, false); err != nil {
		return penstock.Identity{}, err
	}
	if err := refuseAdded(p, nil, agent.Repositories); err != nil {
		return penstock.Identity{}, err
	}
	if err := s.checkConnections(ctx, p, "", req.Repositories); err != nil {
		return penstock.Identity{}, err
	}
	return access.Edit(ctx, s.responses, p, func(tx *store.Tx) (penstock.Identity, error) {
		if err := run.UseEnvironment(ctx, tx, p, agent.EnvironmentID, "/environment_id"); err != nil {
			return agent, err
		}
		if err := useIdentitySecrets(ctx, tx, p, agent); err != nil {
			return agent, err
		}
		if err := tx.Keys().AddPrincipal(ctx, p.Team, access.AgentActor(agent)); err != nil {
			return agent, err
		}
		if err := tx.Identities().Add(ctx, p.Team, agent); err != nil {
			return agent, err
		}
		return s.presentIdentity(agent), s.catalog.RoomInList(ctx, tx, store.ListOfAgents, p.Team)
	})
}

// UpdateIdentity changes the given fields. An absent field stays unchanged, and an empty value
// clears it. Existing runs keep their configuration.
func (s *Resources) UpdateIdentity(
	ctx context.Context, p penstock.Principal, uid string, req IdentityRequest,
) (penstock.Identity, error) {
	if err := s.checkConnectionsOf(ctx, p, uid, req.Repositories); err != nil {
		return penstock.Identity{}, err
	}
	return s.editIdentity(ctx, p, uid, func(_ *store.Tx, agent *penstock.Identity) (changed bool, err error) {
		return true, s.changeIdentity(agent, req)
	})
}

// editIdentity changes an agent in a transaction, through its file if it has one. If change returns
// false, nothing is stored.
func (s *Resources) editIdentity(
	ctx context.Context, p penstock.Principal, uid string,
	change func(*store.Tx, *penstock.Identity) (changed bool, err error),
) (penstock.Identity, error) {
	if err := access.Require(p, penstock.ScopeFactoriesManage); err != nil {
		return penstock.Identity{}, err
	}
	return access.Edit(ctx, s.responses, p, func(tx *store.Tx) (penstock.Identity, error) {
		agent, err := tx.Identities().Lock(ctx, p.Team, uid)
		if err != nil {
			return agent, err
		}
		if err := s.repositories.readOnlyFactory(
			ctx, tx, p.Team, agent.FactoryUID, definition.KindAgent, agent.Name,
		); err != nil {
			return agent, err
		}
		before := agent
		if changed, err := change(tx, &agent); err != nil || !changed {
			return s.presentIdentity(agent), err
		}
		if err := s.storeIdentity(ctx, tx, p, before, agent); err != nil {
			return agent, err
		}
		agent, err = tx.Identities().Lock(ctx, p.Team, uid)
		return s.presentIdentity(agent), err
	})
}

// storeIdentity checks an agent that was changed in the transaction, and stores
// it.
func (s *Resources) storeIdentity(
	ctx context.Context, tx *store.Tx, p penstock.Principal, before, agent penstock.Identity,
) error {
	if agent.FactoryUID != "" && (agent.Type == AgentForeman) != (before.Type == AgentForeman) {
		return penstock.Invalid("/agent_type", "cannot change from or to FOREMAN: a factory has exactly one foreman")
	}
	if err := s.checkIdentity(p, agent, before.OnBehalfOfEnabled); err != nil {
		return err
	}
	if err := refuseAdded(p, before.Repositories, agent.Repositories); err != nil {
		return err
	}
	if err := run.UseEnvironment(ctx, tx, p, agent.EnvironmentID, "/environment_id"); err != nil {
		return err
	}
	if err := useIdentitySecrets(ctx, tx, p, agent); err != nil {
		return err
	}
	agent.UpdatedAt = penstock.Now()
	if agent.FactoryUID != "" {
		return s.factories.edit(ctx, tx, p, agent.FactoryUID, agentEdit(before, agent))
	}
	if err := tx.Keys().AddPrincipal(ctx, p.Team, access.AgentActor(agent)); err != nil {
		return err
	}
	if err := tx.Identities().Set(ctx, p.Team, agent); err != nil {
		return err
	}
	return s.catalog.RoomInList(ctx, tx, store.ListOfAgents, p.Team)
}

// agentEdit writes the new values of an agent into its document.
func agentEdit(before, agent penstock.Identity) edit {
	return edit{
		kind: definition.KindAgent, from: before.Name, to: agent.Name, agent: agent,
		write: func(document []byte, present *definition.Definition) ([]byte, error) {
			doc := definition.AgentOf(agent)
			for _, was := range present.Agents {
				if was.Name == before.Name {
					doc.Settings = kept(was.Settings, definition.AgentOf(was.Identity()).Settings, doc.Settings)
				}
			}
			return definition.WriteAgent(document, doc)
		},
	}
}

// DeleteIdentity deletes an agent and revokes its keys. Its runs stay. A schedule that names it
// reports that it is gone. Deleting the foreman of a factory is a conflict, because it is deleted
// with its factory. So is deleting an agent that an automation of its factory names.
func (s *Resources) DeleteIdentity(ctx context.Context, p penstock.Principal, uid string) error {
	if err := access.Require(p, penstock.ScopeFactoriesManage); err != nil {
		return err
	}
	return s.responses.Alter(ctx, p.Team, func(tx *store.Tx) error {
		agent, err := tx.Identities().Lock(ctx, p.Team, uid)
		if err != nil {
			return err
		}
		if err := s.repositories.readOnlyFactory(
			ctx, tx, p.Team, agent.FactoryUID, definition.KindAgent, agent.Name,
		); err != nil {
			return err
		}
		if agent.FactoryUID != "" && agent.Type == AgentForeman {
			return penstock.Errorf(
				penstock.CodeConflict, "the agent is the foreman of the factory %s: delete the factory instead", agent.FactoryUID,
			)
		}
		if agent.FactoryUID != "" {
			return s.factories.edit(ctx, tx, p, agent.FactoryUID, edit{kind: definition.KindAgent, from: agent.Name})
		}
		return tx.Identities().Delete(ctx, p.Team, uid)
	})
}

// identitySettable lists the fields of an agent that a request can set, except its harness.
var identitySettable = request.SettableOf[IdentityRequest, penstock.Identity](
	"harness", "base_harness", "harness_auth_secrets",
)

// changeIdentity applies a request. Empty values become absent, so that weaker layers apply.
func (s *Resources) changeIdentity(i *penstock.Identity, req IdentityRequest) error {
	for _, f := range identitySettable {
		f.Set(&req, i)
	}
	i.Name = strings.TrimSpace(i.Name)
	if len(i.Secrets) == 0 && req.Secrets != nil {
		i.Secrets = nil
	}
	if len(i.MCPServers) == 0 && req.MCPServers != nil {
		i.MCPServers = nil
	}
	if raw := bytes.TrimSpace(req.HarnessAuthSecrets); len(raw) > 0 && string(raw) != "null" {
		i.HarnessAuthSecrets = raw
		var names map[string]json.RawMessage
		if json.Unmarshal(raw, &names) == nil && len(names) == 0 {
			i.HarnessAuthSecrets = nil
		}
	}
	if i.Network.IsZero() && req.Network != nil {
		i.Network = nil
	}
	if i.Forge.IsZero() {
		i.Forge = nil
	}
	if i.Models.IsZero() && req.Models != nil {
		i.Models = nil
	}
	i.Type = cmp.Or(i.Type, "CUSTOM")
	return s.changeHarness(i, req)
}

// changeHarness applies harness and the deprecated base_harness, which has only the type. harness
// wins, but both must not have different types. An unchanged base_harness keeps the model.
func (s *Resources) changeHarness(i *penstock.Identity, req IdentityRequest) error {
	if req.Harness == nil && req.BaseHarness == nil {
		return nil
	}
	base := ""
	request.Set(&base, req.BaseHarness)
	kind := (&penstock.Harness{Type: base}).Kind()
	switch {
	case req.Harness != nil && base != "" && req.Harness.Kind() != kind:
		return penstock.Invalid(
			"/base_harness", "is %q, but the type of harness is %q: omit base_harness", base, req.Harness.Kind(),
		)
	case req.Harness != nil:
		i.Harness = req.Harness
	case base == "":
		i.Harness = nil
	case !slices.Contains(s.harnesses, kind):
		return penstock.Invalid(
			"/base_harness", "%q is not a harness of this server; use one of %s", base, strings.Join(s.harnesses, ", "),
		)
	case i.Harness == nil || i.Harness.Kind() != kind:
		i.Harness = &penstock.Harness{Type: base}
	}
	if i.Harness != nil && *i.Harness == (penstock.Harness{}) {
		i.Harness = nil
	}
	return nil
}

// checkIdentity returns all errors of an agent. actedFor says whether it could already act on
// behalf of users, because only an admin can give this right.
func (s *Resources) checkIdentity(p penstock.Principal, i penstock.Identity, actedFor bool) error {
	if i.OnBehalfOfEnabled && !actedFor && !p.May(penstock.ScopeAdmin) {
		return penstock.Errorf(penstock.CodeNotAuthorized, "only an admin can let an agent act on behalf of users")
	}
	var errs []penstock.FieldError
	bad := func(pointer, format string, args ...any) {
		errs = append(errs, penstock.FieldError{Pointer: pointer, Detail: fmt.Sprintf(format, args...)})
	}
	request.Name(bad, i.Name, true)
	request.Text(bad, "/description", i.Description, request.MaxDescription)
	request.Text(bad, "/prompt", i.Prompt, request.MaxAgentPrompt)
	for pointer, text := range map[string]string{
		"/base_model": i.BaseModel, "/default_runner_uid": i.DefaultRunnerUID, "/worker_host": i.WorkerHost,
		"/environment_id": i.EnvironmentID,
	} {
		request.Text(bad, pointer, text, request.MaxName)
	}
	if !slices.Contains(agentTypes(), i.Type) {
		bad("/agent_type", "%q is not a type of agent; use one of %s", i.Type, request.Enumerated(agentTypes()))
	}
	if n := len(i.Memory.AttachedStores); n > maxMemoryStores {
		bad("/memory/attached_stores", "has %d entries; at most %d are allowed", n, maxMemoryStores)
	}
	errs = append(errs, penstock.CheckMemoryStores("/memory/attached_stores", i.Memory.AttachedStores)...)
	config := i.Config()
	errs = append(errs, run.CheckNetwork("", i.Network, i.Models)...)
	errs = append(errs, s.catalog.CheckRepositories("/repositories", i.Repositories)...)
	errs = append(errs, named(append(config.Check("", s.harnesses), s.catalog.Reserved(config)...))...)
	if memory, err := json.Marshal(i.Memory); err != nil || len(memory) > maxAgentJSON {
		bad("/memory", "has %d bytes of JSON; at most %d are allowed", len(memory), maxAgentJSON)
	}
	if errs == nil {
		return nil
	}
	slices.SortStableFunc(errs, func(a, b penstock.FieldError) int { return strings.Compare(a.Pointer, b.Pointer) })
	return penstock.InvalidFields(errs...)
}

// agentKeys maps keys of an agent that have another name in a configuration.
var agentKeys = map[string]string{
	"/model_id": "/base_model", "/base_prompt": "/prompt", "/runner_id": "/default_runner_uid",
}

// named converts pointers into a configuration to pointers into an agent, and to the name in each
// of its secrets.
func named(errs []penstock.FieldError) []penstock.FieldError {
	for i, e := range errs {
		if strings.HasPrefix(e.Pointer, "/secrets/") {
			errs[i].Pointer += "/name"
		}
		errs[i].Pointer = cmp.Or(agentKeys[e.Pointer], errs[i].Pointer)
	}
	return errs
}

// useIdentitySecrets ensures that the agent's secrets exist when the transaction commits.
func useIdentitySecrets(ctx context.Context, tx *store.Tx, p penstock.Principal, i penstock.Identity) error {
	err := access.UseSecrets(ctx, tx, p, "", i.Config())
	if known, ok := errors.AsType[*penstock.Error](err); ok {
		known.Fields = named(known.Fields)
	}
	if err != nil {
		return err
	}
	return access.UseCredentials(ctx, tx, p, i.Network.Credentials("/network"))
}
