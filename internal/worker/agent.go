package worker

import (
	"maps"
	"slices"
	"strings"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/egress"
	"github.com/penstock-dev/penstock/internal/gateway"
	"github.com/penstock-dev/penstock/internal/harness"
	"github.com/penstock-dev/penstock/internal/sandbox"
)

// setUpAgent completes the program of the run: paths of the sandbox, addresses of the
// gateway, and what an installed agent needs for the run's model.
func (e *execution) setUpAgent() error {
	p := e.program
	layout := e.layout()
	replace := []string{
		"{exe}", layout.Exe, "{home}", layout.Home, "{workspace}", layout.Dir, "{gateway}", e.outlet.origin,
		"{agent}", e.shownAt(p.Installed, harness.InstalledDir), "{node}", e.shownAt(p.Node, harness.NodeDir),
	}
	if p.Provider != "" {
		provider, ok := e.w.Gateway.Provider(p.Provider)
		if !ok {
			return setupFailed("The harness %s needs the provider %s, which this worker does not have.",
				e.config.Harness.Kind(), p.Provider)
		}
		address := provider.AgentURL(e.outlet.origin)
		replace = append(replace, "{provider}", address)
		p.Env = maps.Clone(p.Env)
		if p.Env == nil {
			p.Env = map[string]string{}
		}
		for name, value := range gateway.Variables(provider.API, address, egress.Placeholder) {
			if _, set := p.Env[name]; !set {
				p.Env[name] = value
			}
		}
	}
	fill := strings.NewReplacer(replace...).Replace
	p.Argv = slices.Clone(p.Argv)
	for i := range p.Argv {
		p.Argv[i] = fill(p.Argv[i])
	}
	env := map[string]string{}
	for name, value := range p.Env {
		env[name] = fill(value)
	}
	p.Env = env
	if p.API != "" && p.Setup != nil {
		setting, err := e.setting(p)
		if err != nil {
			return err
		}
		setup := p.Setup(setting)
		maps.Copy(p.Env, setup.Env)
		e.agentFiles = setup.Files
	}
	e.program = p
	return nil
}

// shownAt is where the sandbox shows a folder of this machine: a sandbox that isolates
// nothing shows it where it is.
func (e *execution) shownAt(dir, inside string) string {
	if sandbox.Isolates(e.sandbox.Kind()) {
		return inside
	}
	return dir
}

// setting is what the agent is set up for: the model of the run, and where its provider is.
func (e *execution) setting(p harness.Program) (harness.Setting, error) {
	kind := e.config.Harness.Kind()
	s := harness.Setting{Home: e.layout().Home}
	if h := e.config.Harness; h != nil {
		s.Reasoning = h.ReasoningLevel
	}
	provider, model, found := e.w.Gateway.Find(e.config.Model())
	named := e.model()
	switch {
	case found && string(provider.API) == p.API:
		s.Model = model
	case found && named != "":
		return s, setupFailed("The model %s cannot be used by the harness %s: its provider %s speaks the API %s, and the "+
			"harness needs %s.", named, kind, provider.Name, provider.API, p.API)
	default: // the agent's own model, or one without the name of a provider
		var ok bool
		if provider, ok = e.vendor(p.API); !ok {
			return s, setupFailed("The harness %s needs a provider that speaks the API %s. This worker has none.", kind, p.API)
		}
		s.Model = named
	}
	if s.Model == "" && p.NeedsModel {
		return s, setupFailed("The harness %s has no model of its own: set model_id to one of a provider that speaks the "+
			"API %s.", kind, p.API)
	}
	s.URL = provider.AgentURL(e.outlet.origin)
	return s, nil
}

// vendor is the provider after which an API is named.
func (e *execution) vendor(api string) (p gateway.Provider, ok bool) {
	return e.w.Gateway.Provider(api)
}

// agentMounts are what the sandbox shows of the agent, read-only.
func (e *execution) agentMounts() []sandbox.Mount {
	var list []sandbox.Mount
	if e.program.Installed != "" {
		list = append(list, sandbox.Mount{Source: e.program.Installed, Target: harness.InstalledDir})
	}
	if e.program.Node != "" {
		list = append(list, sandbox.Mount{Source: e.program.Node, Target: harness.NodeDir})
	}
	for _, dir := range e.program.ReadOnly {
		list = append(list, sandbox.Mount{Source: dir})
	}
	return list
}

// writeAgentFiles puts the agent's own settings into HOME, in the place of those that an
// earlier turn may have changed.
func (e *execution) writeAgentFiles() error {
	for _, name := range slices.Sorted(maps.Keys(e.agentFiles)) {
		if err := put(e.space.homeRoot, name, 0o600, strings.NewReader(e.agentFiles[name])); err != nil {
			return penstock.Errorf(penstock.CodeEnvironmentSetupFailed, "The worker cannot write %s to HOME: %s", name, err)
		}
	}
	return nil
}
