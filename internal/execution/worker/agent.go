package worker

import (
	"maps"
	"slices"
	"strings"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/execution/harness"
	"github.com/penstock-dev/penstock/internal/wall/egress"
	"github.com/penstock-dev/penstock/internal/wall/gateway"
)

// setUpAgent completes the program of the run: paths of the sandbox, addresses of the
// gateway, and what an installed agent needs for the run's model.
func (p *preparation) setUpAgent() error {
	program := p.program
	layout := p.box.layout()
	replace := []string{
		"{exe}", layout.Exe, "{home}", layout.Home, "{workspace}", layout.Dir, "{gateway}", p.box.outlet.origin,
		"{agent}", p.box.shownAt(program.Installed, harness.InstalledDir),
		"{node}", p.box.shownAt(program.Node, harness.NodeDir),
	}
	if program.Provider != "" {
		provider, ok := p.w.Gateway.Provider(program.Provider)
		if !ok {
			return setupFailed("The harness %s needs the provider %s, which this worker does not have.",
				p.config.Harness.Kind(), program.Provider)
		}
		address := provider.AgentURL(p.box.outlet.origin)
		replace = append(replace, "{provider}", address)
		program.Env = maps.Clone(program.Env)
		if program.Env == nil {
			program.Env = map[string]string{}
		}
		for name, value := range gateway.Variables(provider.API, address, egress.Placeholder) {
			if _, set := program.Env[name]; !set {
				program.Env[name] = value
			}
		}
	}
	fill := strings.NewReplacer(replace...).Replace
	program.Argv = slices.Clone(program.Argv)
	for i := range program.Argv {
		program.Argv[i] = fill(program.Argv[i])
	}
	env := map[string]string{}
	for name, value := range program.Env {
		env[name] = fill(value)
	}
	program.Env = env
	if program.API != "" && program.Setup != nil {
		setting, err := p.setting(program)
		if err != nil {
			return err
		}
		setup := program.Setup(setting)
		maps.Copy(program.Env, setup.Env)
		p.agentFiles = setup.Files
	}
	p.program = program
	return nil
}

// setting is what the agent is set up for: the model of the run, and where its provider is.
func (p *preparation) setting(program harness.Program) (harness.Setting, error) {
	kind := p.config.Harness.Kind()
	s := harness.Setting{Home: p.box.layout().Home}
	if h := p.config.Harness; h != nil {
		s.Reasoning = h.ReasoningLevel
	}
	provider, model, found := p.w.Gateway.Find(p.config.Model())
	named := p.model()
	switch {
	case found && string(provider.API) == program.API:
		s.Model = model
	case found && named != "":
		return s, setupFailed("The model %s cannot be used by the harness %s: its provider %s speaks the API %s, and the "+
			"harness needs %s.", named, kind, provider.Name, provider.API, program.API)
	default: // the agent's own model, or one without the name of a provider
		var ok bool
		if provider, ok = p.w.Gateway.Provider(program.API); !ok {
			return s, setupFailed(
				"The harness %s needs a provider that speaks the API %s. This worker has none.", kind, program.API,
			)
		}
		s.Model = named
	}
	if s.Model == "" && program.NeedsModel {
		return s, setupFailed("The harness %s has no model of its own: set model_id to one of a provider that speaks the "+
			"API %s.", kind, program.API)
	}
	s.URL = provider.AgentURL(p.box.outlet.origin)
	return s, nil
}

// writeAgentFiles puts the agent's own settings into HOME, in the place of those that an
// earlier turn may have changed.
func (p *preparation) writeAgentFiles() error {
	for _, name := range slices.Sorted(maps.Keys(p.agentFiles)) {
		if err := put(p.box.space.homeRoot, name, 0o600, strings.NewReader(p.agentFiles[name])); err != nil {
			return penstock.Errorf(penstock.CodeEnvironmentSetupFailed, "The worker cannot write %s to HOME: %s", name, err)
		}
	}
	return nil
}
