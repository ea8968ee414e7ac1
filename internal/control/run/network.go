package run

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/access"
	"github.com/penstock-dev/penstock/internal/control/store"
	"github.com/penstock-dev/penstock/internal/wall/egress"
)

// The sources of the layers of a run's network.
const (
	networkServer      = "server"
	networkEnvironment = "environment"
	networkRunner      = "runner"
	networkFactory     = "factory"
	networkAgent       = "agent"
	// networkMCP is the layer that the HTTP MCP servers of a run imply.
	networkMCP = "mcp_servers"
)

// ServerNetwork is the server's configuration for the network of all runs.
type ServerNetwork struct {
	Layer   penstock.Network
	Ceiling *penstock.Network // nil: every public host
	Models  penstock.ModelPolicy
}

// NetworkPresets lists the names that a rule may have as its preset.
func NetworkPresets() []string {
	var names []string
	for _, preset := range egress.Presets() {
		names = append(names, preset.Name)
	}
	return names
}

// CheckNetwork returns the errors of a network and a policy of models, with pointers below at. Both
// may be nil.
func CheckNetwork(at string, network *penstock.Network, models *penstock.ModelPolicy) []penstock.FieldError {
	var errs []penstock.FieldError
	if network != nil {
		errs = append(errs, network.Check(at+"/network")...)
		errs = append(errs, network.CheckPresets(at+"/network", NetworkPresets())...)
	}
	if models != nil {
		errs = append(errs, models.Check(at+"/models")...)
	}
	return errs
}

// RunLayers holds the parts of a run that configure its network when it is created.
type RunLayers struct {
	Factory *store.FactoryPart // nil: the run has no factory
	Agent   *penstock.Identity
	Forked  bool // the run is a fork
}

// policy returns the layers of the runner, the factory and the agent. runner may be nil.
func (l RunLayers) policy(runner *penstock.RunnerSpec) penstock.NetworkPolicy {
	var policy penstock.NetworkPolicy
	layer := func(source, name string, network *penstock.Network) {
		if !network.IsZero() {
			policy.Layers = append(policy.Layers, penstock.NetworkLayer{Source: source, Name: name, Network: *network})
		}
	}
	models := func(m *penstock.ModelPolicy) {
		if !m.IsZero() {
			policy.Models = append(policy.Models, *m)
		}
	}
	if runner != nil {
		layer(networkRunner, runner.Name, runner.Network)
	}
	if l.Factory != nil {
		layer(networkFactory, l.Factory.Name, l.Factory.Network)
		models(l.Factory.Models)
	}
	if l.Agent != nil {
		layer(networkAgent, l.Agent.Name, l.Agent.Network)
		models(l.Agent.Models)
	}
	return policy
}

// SetNetwork stores the layers of the runner, factory and agent, and the request's network, on the
// run. It checks the parts of the policy that are known already.
func (s *Catalog) SetNetwork(ctx context.Context, p penstock.Principal, run *store.NewRun, from RunLayers) error {
	if err := s.setConnections(ctx, p, run, from); err != nil {
		return err
	}
	policy := from.policy(run.Runner)
	policy.Request = run.Config.Network
	if err := inheritNetwork(&policy, run); err != nil {
		return err
	}
	servers, headers := mcpLayer(run.Config)
	policy.MCP = headers
	run.Network = &policy
	full, err := s.Policy(ctx, run.RunRow)
	if err != nil {
		return err
	}
	if err := s.checkPolicy(ctx, p, run, full); err != nil {
		return err
	}
	if err := s.checkMCP(p, run, full, servers); err != nil {
		return err
	}
	if err := checkReach(p, run, full, from); err != nil {
		return err
	}
	if len(servers.Allow) > 0 {
		policy.Layers = append(policy.Layers, penstock.NetworkLayer{Source: networkMCP, Network: servers})
	}
	if len(policy.Layers)+len(policy.Models)+len(policy.MCP) == 0 && policy.Request == nil {
		run.Network = nil
	}
	return nil
}

// inheritNetwork limits a run to the network in its parent's request, so that an agent cannot widen
// its own network by starting another run.
func inheritNetwork(policy *penstock.NetworkPolicy, run *store.NewRun) error {
	outer := run.ParentNetwork
	switch {
	case outer == nil:
	case policy.Request == nil:
		policy.Request, run.Config.Network = outer, outer
		run.ConfigSources["network"] = LayerParent
	case !policy.Request.Within(outer):
		return penstock.Invalid("/config/network", "allows more than the network of the parent run: use the rules of "+
			"that one, or fewer")
	}
	return nil
}

// Policy returns the current network policy of a run: the layers from its creation, and the current
// layers of the server and the environment.
func (s *Catalog) Policy(ctx context.Context, run store.RunRow) (penstock.NetworkPolicy, error) {
	policy := penstock.NetworkPolicy{Ceiling: s.network.Ceiling}
	if server := s.network.Layer; !server.IsZero() {
		policy.Layers = append(policy.Layers, penstock.NetworkLayer{Source: networkServer, Network: server})
	}
	if models := s.network.Models; !models.IsZero() {
		policy.Models = append(policy.Models, models)
	}
	var cloned []string
	if uid := run.Config.EnvironmentID; uid != "" {
		environment, err := s.store.Environments.KeptSpec(ctx, run.Team, uid)
		if err != nil {
			return policy, err
		}
		cloned = environment.Config.CloneURLs()
		if network := environment.Config.Network; !network.IsZero() {
			policy.Layers = append(policy.Layers, penstock.NetworkLayer{
				Source: networkEnvironment, Name: environment.Config.Name, Network: *network,
			})
		}
	}
	if fixed := run.Network; fixed != nil {
		policy.Layers = append(policy.Layers, fixed.Layers...)
		policy.Models = append(policy.Models, fixed.Models...)
		policy.Request, policy.MCP = fixed.Request, fixed.MCP
	}
	if policy.Layers == nil {
		policy.Layers = []penstock.NetworkLayer{}
	}
	return policy, s.forges.Join(ctx, forgeUse(run), run.Config.Repositories, cloned, &policy)
}

// checkPolicy rejects a run whose policy contradicts its configuration, or that cannot get the
// credentials of its layers.
func (s *Catalog) checkPolicy(
	ctx context.Context, p penstock.Principal, run *store.NewRun, policy penstock.NetworkPolicy,
) error {
	var errs []penstock.FieldError
	if run.Config.Network != nil {
		errs = append(errs, run.Config.Network.CheckPresets("/network", NetworkPresets())...)
	}
	var named []string
	for _, layer := range policy.Layers {
		named = append(named, layer.Network.Presets()...)
	}
	owned := ofPresets(named)
	for _, name := range slices.Sorted(maps.Keys(run.Config.Env)) {
		if _, is := owned[strings.ToUpper(name)]; is {
			errs = append(errs, penstock.FieldError{
				Pointer: "/env/" + penstock.EscapePointer(name),
				Detail:  "must not be set by a run: a preset of its network sets it",
			})
		}
	}
	if model := run.Config.Model(); model != "" {
		for i := range policy.Models {
			if !policy.Models[i].Allows(model) {
				errs = append(errs, penstock.FieldError{
					Pointer: "/model_id", Detail: fmt.Sprintf("the model %q is not allowed: see models of the server, the factory "+
						"and the agent", model),
				})
				break
			}
		}
	}
	for i := range errs {
		errs[i] = Misplaced(run, errs[i])
	}
	lacking, err := s.lackingCredentials(ctx, p, policy)
	if errs = append(errs, lacking...); err != nil || errs == nil {
		return err
	}
	return penstock.InvalidFields(errs...)
}

// lackingCredentials reports credentials of the layers that a run cannot get.
func (s *Catalog) lackingCredentials(
	ctx context.Context, p penstock.Principal, policy penstock.NetworkPolicy,
) ([]penstock.FieldError, error) {
	found, err := s.store.Secrets.Named(ctx, p.Team, policy.SecretNames())
	if err != nil {
		return nil, err
	}
	check := access.SecretCheck{
		P: p, NeedValue: true, Found: found,
		Names: func() ([]store.SecretName, error) { return s.store.Secrets.Names(ctx, p.Team) },
	}
	var errs []penstock.FieldError
	for _, layer := range policy.Layers {
		lacking, err := check.LackingHosts(layer.Credentials())
		if err != nil {
			return nil, err
		}
		pointer := map[string]string{
			networkEnvironment: "/config/environment_id", networkRunner: "/config/runner_id",
		}[layer.Source]
		for _, e := range lacking {
			pointer = cmp.Or(pointer, "/agent_identity_uid")
			e.Pointer, e.Detail = pointer, "the network of the "+layer.Source+": "+e.Detail
			errs = append(errs, e)
		}
	}
	return errs, nil
}

// mcpLayer returns a rule for each HTTP MCP server of a configuration, and the headers that the
// proxy adds for them.
func mcpLayer(config *penstock.Config) (penstock.Network, []penstock.MCPHeaders) {
	var network penstock.Network
	var headers []penstock.MCPHeaders
	for _, name := range slices.Sorted(maps.Keys(config.MCPServers)) {
		server := config.MCPServers[name]
		rule, ok := mcpRule(server)
		if !ok {
			continue
		}
		network.Allow = append(network.Allow, rule)
		if len(server.Headers) > 0 {
			headers = append(headers, penstock.MCPHeaders{Name: name, URL: server.URL, Headers: server.Headers})
		}
	}
	return network, headers
}

// mcpRule returns a rule for the host and port of an HTTP MCP server.
func mcpRule(server penstock.MCPServer) (penstock.NetworkRule, bool) {
	u, err := url.Parse(server.URL)
	if server.URL == "" || err != nil || u.Hostname() == "" {
		return penstock.NetworkRule{}, false
	}
	port, err := strconv.Atoi(u.Port())
	if err != nil {
		port = map[string]int{"https": 443, "http": 80}[u.Scheme]
	}
	rule := penstock.NetworkRule{Host: penstock.CanonicalHost(u.Hostname()), Ports: []int{port}}
	network := penstock.Network{Allow: []penstock.NetworkRule{rule}}
	return rule, len(network.Check("")) == 0
}

// checkMCP rejects HTTP MCP servers in the request of an agent if the run's layers do not allow
// their hosts. Otherwise an agent could reach any host by declaring it as an MCP server. For other
// callers, naming the server allows its host.
func (s *Catalog) checkMCP(
	p penstock.Principal, run *store.NewRun, policy penstock.NetworkPolicy, servers penstock.Network,
) error {
	if !p.IsAgent() || run.ConfigSources["mcp_servers"] != LayerRequest {
		return nil
	}
	var errs []penstock.FieldError
	for _, name := range slices.Sorted(maps.Keys(run.Config.MCPServers)) {
		rule, ok := mcpRule(run.Config.MCPServers[name])
		if !ok || !slices.ContainsFunc(servers.Allow, func(r penstock.NetworkRule) bool { return r.Host == rule.Host }) ||
			policy.Names(rule.Host, rule.Ports[0]) {
			continue
		}
		errs = append(errs, penstock.FieldError{
			Pointer: "/config/mcp_servers/" + penstock.EscapePointer(name) + "/url",
			Detail: fmt.Sprintf("the host %s has no rule in the network of the run: an agent cannot add hosts; add "+
				"{host: %s} to the network of the environment, the factory or the agent", rule.Host, rule.Host),
		})
	}
	if errs != nil {
		return penstock.InvalidFields(errs...)
	}
	return nil
}
