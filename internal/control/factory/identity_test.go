package factory_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/factory"
	"github.com/penstock-dev/penstock/internal/control/run"
	"github.com/penstock-dev/penstock/internal/testkit/testworld"
)

// fullAgent sets every field of an agent.
func (w *world) fullAgent() (factory.IdentityRequest, penstock.Identity) {
	w.T.Helper()
	e := w.CreateEnvironment(penstock.EnvironmentConfig{})
	stores := []penstock.MemoryStore{{UID: "x", Access: "read_only", Instructions: "Look things up."}}
	servers := map[string]penstock.MCPServer{"docs": {URL: "https://docs.example.com/mcp"}}
	req := factory.IdentityRequest{
		Name: new("reviewer"), Description: new("Reviews."), Prompt: new("Be kind."), Skills: new([]string{"review"}),
		Memory:           &penstock.Memory{AutoMemory: penstock.AutoMemory{Enabled: true}, AttachedStores: stores},
		DefaultRunnerUID: new("runner"),
		EnvironmentID:    &e.UID, BaseModel: new("m"), Harness: &penstock.Harness{Type: "command"}, MCPServers: &servers,
		OnBehalfOfEnabled: new(true), Type: new(penstock.AgentType("REVIEW")),
		LayerKeysRequest: factory.LayerKeysRequest{CredentialStrategy: new("EXECUTOR"), WorkerHost: new("box")},
	}
	return req, penstock.Identity{
		Name: "reviewer", Available: true, Description: "Reviews.", Prompt: "Be kind.", Skills: []string{"review"},
		Memory:           *req.Memory,
		DefaultRunnerUID: "runner", EnvironmentID: e.UID, BaseModel: "m", Harness: &penstock.Harness{Type: "command"},
		MCPServers: servers, BaseHarness: "command",
		OnBehalfOfEnabled: true, Type: "REVIEW",
		LayerKeys: penstock.LayerKeys{CredentialStrategy: "EXECUTOR", WorkerHost: "box"},
	}
}

func TestAgentFromItsCreationToItsEnd(t *testing.T) {
	worlds(t, nil, func(w *world) {
		ctx, db := w.T.Context(), w.Database()
		req, want := w.fullAgent()
		made := w.CreateAgent(req)
		want.UID, want.CreatedAt, want.UpdatedAt = made.UID, made.CreatedAt, made.CreatedAt
		if diff := cmp.Diff(want, made); diff != "" || !penstock.ValidID(made.UID) {
			w.T.Errorf("made %q, -want +got:\n%s", made.UID, diff)
		}
		read, err := w.Resources.Identity(ctx, w.Admin, made.UID)
		if diff := cmp.Diff(made, read); diff != "" || err != nil {
			w.T.Errorf("read, %v, -made +read:\n%s", err, diff)
		}
		if who, err := db.Keys.Principal(ctx, "default", made.UID); err != nil || who.Type != "service_account" ||
			who.DisplayName != "reviewer" {
			w.T.Errorf("as a principal it is %+v, %v", who, err)
		}
		if err := w.Resources.DeleteIdentity(ctx, w.Admin, made.UID); err != nil {
			w.T.Fatal(err)
		}
		_, err = w.Resources.Identity(ctx, w.Admin, made.UID)
		testworld.WantCode(w.T, err, penstock.CodeNotFound, made.UID)
		testworld.WantCode(w.T, w.Resources.DeleteIdentity(ctx, w.Admin, made.UID), penstock.CodeNotFound, made.UID)
		_, err = w.Resources.UpdateIdentity(ctx, w.Admin, made.UID, factory.IdentityRequest{})
		testworld.WantCode(w.T, err, penstock.CodeNotFound, made.UID)
		_, err = w.Runs.Create(
			ctx, w.Admin, penstock.RunRequest{Prompt: "go", AgentIdentityUID: made.UID}, run.SourceAPI,
		)
		testworld.WantCode(w.T, err, penstock.CodeInvalidRequest, "/agent_identity_uid")
	})
}

func TestAgentWithOnlyAName(t *testing.T) {
	worlds(t, nil, func(w *world) {
		made := w.CreateAgent(factory.IdentityRequest{Name: new(" plain ")})
		want := penstock.Identity{
			UID: made.UID, Name: "plain", Available: true, CreatedAt: made.CreatedAt, UpdatedAt: made.CreatedAt, Type: "CUSTOM",
		}
		if diff := cmp.Diff(want, made); diff != "" {
			w.T.Errorf("-want +got:\n%s", diff)
		}
		wantEmpty := penstock.Config{}
		if diff := cmp.Diff(&wantEmpty, made.Config()); diff != "" {
			w.T.Errorf("it says something about its runs:\n%s", diff)
		}
	})
}

func TestAnUpdateChangesOnlyTheGivenFieldsOfAnAgent(t *testing.T) {
	worlds(t, nil, func(w *world) {
		ctx, db := w.T.Context(), w.Database()
		req, _ := w.fullAgent()
		made := w.CreateAgent(req)
		update := func(body string) penstock.Identity {
			w.T.Helper()
			var req factory.IdentityRequest
			if err := json.Unmarshal([]byte(body), &req); err != nil {
				w.T.Fatal(err)
			}
			got, err := w.Resources.UpdateIdentity(ctx, w.Admin, made.UID, req)
			if err != nil {
				w.T.Fatal(err)
			}
			return got
		}
		want := made
		got := update(
			`{"description": null, "prompt": null, "harness": null, "mcp_servers": null, "harness_auth_secrets": null, ` +
				`"memory": null, "skills": null}`,
		)
		want.UpdatedAt = got.UpdatedAt
		if diff := cmp.Diff(want, got); diff != "" {
			w.T.Errorf("null leaves a field, -want +got:\n%s", diff)
		}
		got = update(`{"name": "critic", "prompt": "Be strict."}`)
		want.Name, want.Prompt, want.UpdatedAt = "critic", "Be strict.", got.UpdatedAt
		if diff := cmp.Diff(want, got); diff != "" {
			w.T.Errorf("what is there is changed, -want +got:\n%s", diff)
		}
		if who, err := db.Keys.Principal(ctx, "default", made.UID); err != nil || who.DisplayName != "critic" {
			w.T.Errorf("as a principal it is %+v, %v", who, err)
		}
		got = update(`{"description": "", "prompt": "", "secrets": [], "skills": [], "memory": {},
			"default_runner_uid": "", "environment_id": "", "base_model": "",
			"harness": {}, "mcp_servers": {}, "credential_strategy": "", "harness_auth_secrets": {},
			"on_behalf_of_enabled": false, "worker_host": "", "agent_type": ""}`)
		if got.Description != "" || got.Memory.AutoMemory.Enabled || got.OnBehalfOfEnabled || got.Type != "CUSTOM" ||
			got.Name != "critic" {
			w.T.Errorf("an empty value clears a field: %+v", got)
		}
		sources := w.Get(w.Create(penstock.RunRequest{Prompt: "go", AgentIdentityUID: made.UID}).ID).ConfigSources
		delete(sources, "skills") // an empty list
		delete(sources, "mcp_servers")
		for key, layer := range sources {
			if layer == run.LayerAgent {
				w.T.Errorf("it still says what %s of its runs is", key)
			}
		}
		_, err := w.Resources.UpdateIdentity(ctx, w.Admin, made.UID, factory.IdentityRequest{Name: new("")})
		testworld.WantCode(w.T, err, penstock.CodeInvalidRequest, "/name")
	})
}

func TestInvalidAgents(t *testing.T) {
	worlds(t, nil, func(w *world) {
		w.CreateAgent(factory.IdentityRequest{Name: new("taken")})
		agent := func(change func(*factory.IdentityRequest)) factory.IdentityRequest {
			req := factory.IdentityRequest{Name: new("reviewer")}
			change(&req)
			return req
		}
		for name, test := range map[string]struct {
			req  factory.IdentityRequest
			code penstock.Code
			at   string
		}{
			"no name":              {factory.IdentityRequest{}, penstock.CodeInvalidRequest, "/name"},
			"a name that is taken": {factory.IdentityRequest{Name: new("Taken")}, penstock.CodeConflict, "Taken"},
			"an unknown harness": {
				agent(func(r *factory.IdentityRequest) { r.Harness = &penstock.Harness{Type: "none"} }),
				penstock.CodeInvalidRequest, "/harness/type",
			},
			"an unknown type": {
				agent(func(r *factory.IdentityRequest) { r.Type = new(penstock.AgentType("BOSS")) }), penstock.CodeInvalidRequest,
				"/agent_type",
			},
			"an unknown environment": {
				agent(func(r *factory.IdentityRequest) { r.EnvironmentID = new("nowhere") }), penstock.CodeInvalidRequest,
				"/environment_id",
			},
			"a skill that is none": {
				agent(func(r *factory.IdentityRequest) { r.Skills = new([]string{"a", "b c"}) }), penstock.CodeInvalidRequest,
				"/skills/1",
			},
			"a secret that is not there": {
				agent(func(r *factory.IdentityRequest) { r.Secrets = new([]penstock.NamedSecret{{Name: "TOKEN"}}) }),
				penstock.CodeInvalidRequest, "/secrets/0/name",
			},
			"a harness's secret that is not there": {
				agent(func(r *factory.IdentityRequest) { r.HarnessAuthSecrets = json.RawMessage(`{"key": "TOKEN"}`) }),
				penstock.CodeInvalidRequest, "/harness_auth_secrets/key",
			},
			"harness secrets that are a list": {
				agent(func(r *factory.IdentityRequest) { r.HarnessAuthSecrets = json.RawMessage(`["TOKEN"]`) }),
				penstock.CodeInvalidRequest, "/harness_auth_secrets",
			},
			"a memory store without instructions": {
				agent(func(r *factory.IdentityRequest) {
					r.Memory = &penstock.Memory{AttachedStores: []penstock.MemoryStore{{UID: "m", Access: "read_only"}}}
				}),
				penstock.CodeInvalidRequest, "/memory/attached_stores/0/instructions",
			},
			"an MCP server of two kinds": {
				agent(func(r *factory.IdentityRequest) {
					r.MCPServers = &map[string]penstock.MCPServer{"a/b": {URL: "https://x.example", Command: "x"}}
				}), penstock.CodeInvalidRequest, "/mcp_servers/a~1b/url",
			},
			"a credential strategy that is none": {
				agent(func(r *factory.IdentityRequest) { r.CredentialStrategy = new("MINE") }), penstock.CodeInvalidRequest,
				"/credential_strategy",
			},
			"a huge prompt": {
				agent(func(r *factory.IdentityRequest) { r.Prompt = new(strings.Repeat("x", 300_000)) }),
				penstock.CodeInvalidRequest, "/prompt",
			},
			"huge servers": {
				agent(func(r *factory.IdentityRequest) {
					r.MCPServers = &map[string]penstock.MCPServer{"a": {Command: strings.Repeat("x", 600_000)}}
				}), penstock.CodeInvalidRequest, "/mcp_servers",
			},
		} {
			_, err := w.Resources.CreateIdentity(w.T.Context(), w.Admin, test.req)
			if penstock.CodeOf(err) != test.code || !strings.Contains(err.Error(), test.at) {
				w.T.Errorf("%s: got %v, want %s with %s", name, err, test.code, test.at)
			}
		}
		if list, err := w.Resources.ListIdentities(w.T.Context(), w.Admin, ""); err != nil || len(list) != 1 {
			w.T.Errorf("there are %d agents, %v, want the first alone", len(list), err)
		}
	})
}

func TestOnlyAnAdminLetsAnAgentActForOthers(t *testing.T) {
	worlds(t, nil, func(w *world) {
		ctx := w.T.Context()
		manager := w.As("manager", penstock.ScopeFactoriesManage)
		_, err := w.Resources.CreateIdentity(
			ctx, manager, factory.IdentityRequest{Name: new("proxy"), OnBehalfOfEnabled: new(true)},
		)
		testworld.WantCode(w.T, err, penstock.CodeNotAuthorized, "admin")
		agent, err := w.Resources.CreateIdentity(ctx, manager, factory.IdentityRequest{Name: new("proxy")})
		if err != nil {
			w.T.Fatal(err)
		}
		_, err = w.Resources.UpdateIdentity(ctx, manager, agent.UID, factory.IdentityRequest{OnBehalfOfEnabled: new(true)})
		testworld.WantCode(w.T, err, penstock.CodeNotAuthorized, "admin")
		if _, err := w.Resources.UpdateIdentity(
			ctx, w.Admin, agent.UID, factory.IdentityRequest{OnBehalfOfEnabled: new(true)},
		); err != nil {
			w.T.Fatal(err)
		}
		if got, err := w.Resources.UpdateIdentity(
			ctx, manager, agent.UID, factory.IdentityRequest{Prompt: new("p")},
		); err != nil || !got.OnBehalfOfEnabled {
			w.T.Errorf("what an admin allowed stays: %+v, %v", got, err)
		}
	})
}

func TestAgentsAreListedByNameForTheirTeam(t *testing.T) {
	worlds(t, nil, func(w *world) {
		for _, name := range []string{"b", "C", "a"} {
			w.CreateAgent(factory.IdentityRequest{Name: &name})
		}
		list, err := w.Resources.ListIdentities(w.T.Context(), w.Admin, "")
		var names []string
		for _, a := range list {
			names = append(names, a.Name)
		}
		if diff := cmp.Diff([]string{"a", "b", "C"}, names); diff != "" || err != nil {
			w.T.Errorf("%v, -want +got:\n%s", err, diff)
		}
		factory := w.createFactory("Shop", "")
		if list, err = w.Resources.ListIdentities(w.T.Context(), w.Admin, factory.UID); err != nil || len(list) != 1 ||
			list[0].FactoryUID != factory.UID {
			w.T.Errorf("the factory's agents are %v, %v; want its foreman", list, err)
		}
		if list, err := w.Resources.ListIdentities(w.T.Context(), w.Admin, "none"); err != nil || len(list) != 0 {
			w.T.Errorf("no factory has %d agents, %v", len(list), err)
		}
		other := w.Admin
		other.Team = "another"
		if list, err := w.Resources.ListIdentities(w.T.Context(), other, ""); err != nil || len(list) != 0 {
			w.T.Errorf("another team lists %d, %v", len(list), err)
		}
		_, err = w.Resources.Identity(w.T.Context(), other, list[0].UID)
		testworld.WantCode(w.T, err, penstock.CodeNotFound, list[0].UID)
	})
}
