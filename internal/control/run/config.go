package run

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/access"
	"github.com/penstock-dev/penstock/internal/control/store"
)

// hostedWorker is the worker host of hosted execution. This server hosts no workers, so any
// worker may execute such a run.
const hostedWorker = "warp"

// configFrom resolves the configuration. The result never changes afterwards.
func (s *Runs) configFrom(from Origin) func(
	context.Context, penstock.Principal, penstock.RunRequest, *store.NewRun,
) error {
	return func(ctx context.Context, p penstock.Principal, req penstock.RunRequest, run *store.NewRun) error {
		of, err := s.setAgent(ctx, p, req, run)
		if err != nil {
			return err
		}
		if from.Automation != nil {
			of.list = slices.Insert(of.list, 0, layer{Name: LayerAutomation, Config: from.Automation.Config()})
		}
		if from.Forked != nil {
			of.list = slices.Insert(of.list, 0, layer{
				Name: layerForked, Config: keepRepositories(from.Forked.Config),
			})
			of.forked, of.network.Forked = from.Forked.ConfigSources, true
		}
		of.agentKey = p.AgentUID
		if from.Schedule != nil && from.Automation == nil { // its runs are created without the key of its creator
			of.agentKey = p.Actor.UID
		}
		of.list = slices.Insert(of.list, 0, layer{Name: LayerRequest, Config: req.Config})
		if from.Attempt != nil {
			of.list = slices.Insert(of.list, 0, layer{Name: LayerRequest, Config: from.Attempt})
		}
		return s.setConfig(ctx, p, run, of)
	}
}

// setAgent sets the agent of the run, and returns the layers of the agent and its factory.
func (s *Runs) setAgent(
	ctx context.Context, p penstock.Principal, req penstock.RunRequest, run *store.NewRun,
) (layers, error) {
	uid := cmp.Or(req.AgentIdentityUID, p.AgentUID)
	if uid == "" {
		return layers{}, nil
	}
	agent, err := s.store.Identities.Find(ctx, p.Team, uid)
	network := RunLayers{Agent: &agent}
	var factory store.FactoryPart
	if err == nil && agent.FactoryUID != "" {
		run.AgentName = agent.Name
		factory, err = s.store.Factories.Part(ctx, p.Team, agent.FactoryUID)
		run.Revision, network.Factory = factory.Revision, &factory
	}
	if penstock.CodeOf(err) == penstock.CodeNotFound {
		return layers{}, penstock.Invalid("/agent_identity_uid", "there is no agent %q", uid)
	}
	if err != nil {
		return layers{}, err
	}
	actor, defaults := access.AgentActor(agent), factory.Defaults.Config()
	defaults.Forge = factory.ForgeDefaults()
	run.AgentUID, run.FactoryUID, run.Executor = agent.UID, agent.FactoryUID, &actor
	return layers{
		list: []layer{
			{Name: LayerAgent, Config: agent.Config()}, {Name: LayerFactory, Config: defaults},
		},
		every:   factory.FactoryConfig,
		network: network,
	}, nil
}

// layers are the sources of a run's configuration, the strongest first.
type layers struct {
	list  []layer
	every store.FactoryConfig // of the agent's factory: the configuration of all its runs

	network RunLayers
	forked  map[string]string // the sources of the run from which it is forked

	agentKey string // the agent whose key creates the run or its schedule; or another UID, or ""
}

// withEvery adds the configuration of all runs of the factory. MCP servers of the configuration
// itself keep their names.
func withEvery(config *penstock.Config, sources map[string]string, every store.FactoryConfig) {
	secrets := slices.Clone(config.Secrets)
	for _, name := range every.Secrets {
		if !slices.Contains(secrets, name) {
			secrets = append(secrets, name)
		}
	}
	servers := maps.Clone(every.MCPServers)
	if servers == nil {
		servers = config.MCPServers
	} else {
		maps.Copy(servers, config.MCPServers)
	}
	setSource := func(key, name string) { // a key that has a source keeps it
		switch sources[key] {
		case "":
			sources[key] = LayerFactory
		case LayerFactory:
		default:
			sources[key+"/"+name] = LayerFactory
		}
	}
	for _, name := range secrets[len(config.Secrets):] {
		setSource("secrets", name)
	}
	for _, name := range slices.Sorted(maps.Keys(every.MCPServers)) {
		if _, own := config.MCPServers[name]; !own {
			setSource("mcp_servers", name)
		}
	}
	config.Secrets, config.MCPServers = secrets, servers
}

// setConfig takes each key from the first layer that has it. The server's own layer is the last.
func (s *Runs) setConfig(ctx context.Context, p penstock.Principal, run *store.NewRun, from layers) error {
	defaults := s.defaults
	defaults.ModelID = s.catalog.DefaultModel()
	config, sources := resolve(
		append(from.list, layer{Name: LayerServer, Config: &defaults})...,
	)
	for key, source := range sources {
		if source == layerForked { // whose request named something counts as this one's
			sources[key] = cmp.Or(from.forked[key], LayerRequest)
			if key == "repositories" && len(config.Repositories) == 0 && from.forked[key] == "" { // see keepRepositories
				config.Repositories = nil
				delete(sources, key)
			}
		}
	}
	if err := setForge(ctx, s.store, run, from, &config, sources); err != nil {
		return err
	}
	withEvery(&config, sources, from.every)
	if errs := config.CheckSize("/config"); errs != nil { // all layers together; each alone was small enough
		return penstock.InvalidFields(errs...)
	}
	if config.Harness == nil {
		config.Harness, sources["harness"] = &penstock.Harness{}, LayerServer
	}
	harness := *config.Harness // a copy, because the layer keeps its own
	harness.Type = harness.Kind()
	config.Harness = &harness
	if model := s.catalog.Model(config.ModelID); model != config.ModelID {
		config.ModelID, sources["model_id"] = cmp.Or(model, defaults.ModelID), LayerServer
	}
	harness.ModelID = s.catalog.Model(harness.ModelID)
	run.Config, run.ConfigSources = &config, sources
	run.Harness, run.WorkerHost = harness.Type, config.WorkerHost
	if run.WorkerHost == hostedWorker {
		run.WorkerHost = ""
	}
	run.Notes = notes(&config)
	for _, step := range []func(context.Context, penstock.Principal, *store.NewRun) error{
		s.checkVariables, s.catalog.CheckGrants, s.setEnvironment, s.catalog.SetRunner, s.skills.SetSkill,
	} {
		if err := step(ctx, p, run); err != nil {
			return err
		}
	}
	return s.catalog.SetNetwork(ctx, p, run, from.network)
}

// notes returns timeline events for settings that this server handles in its own way.
func notes(c *penstock.Config) []store.Note {
	var list []store.Note
	if c.WorkerHost == hostedWorker {
		list = append(
			list, store.Note{TimelineEvent: timelineAnyWorker, Payload: map[string]any{"worker_host": c.WorkerHost}},
		)
	}
	for _, name := range slices.Sorted(maps.Keys(c.MCPServers)) {
		if id := c.MCPServers[name].ID; id != "" {
			list = append(list, store.Note{
				TimelineEvent: timelineMCPNotUsed, Payload: map[string]any{"name": name, "id": id},
			})
		}
	}
	return list
}

func (s *Runs) setEnvironment(ctx context.Context, p penstock.Principal, run *store.NewRun) error {
	if run.Config.EnvironmentID == "" {
		return nil
	}
	environment, err := s.store.Environments.Spec(ctx, p.Team, run.Config.EnvironmentID)
	if penstock.CodeOf(err) == penstock.CodeNotFound {
		return penstock.Invalid("/config/environment_id", "there is no environment %q", run.Config.EnvironmentID)
	}
	run.Image = environment.Config.DockerImage != ""
	return err
}
