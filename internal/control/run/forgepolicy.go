package run

import (
	"cmp"
	"context"
	"reflect"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/forge"
	"github.com/penstock-dev/penstock/internal/control/store"
)

// forging is what decides what a new run may do on forges.
type forging struct {
	request *penstock.ForgeSettings // of the request; nil: none
	layers  *penstock.ForgeSettings // of the automation, the agent and the factory, or of the run that is forked
	policy  forgePolicy             // that the layers imply
	sources map[string]string       // of the values that are not from the strongest layer
}

// forgePolicy is what a run may push, and which outputs it may declare.
type forgePolicy struct {
	push    penstock.PushPolicy
	outputs penstock.OutputPolicy
}

func defaultForgePolicy() forgePolicy {
	return forgePolicy{penstock.DefaultPushPolicy(), penstock.DefaultOutputPolicy()}
}

func policyOf(settings *penstock.ForgeSettings) forgePolicy {
	return forgePolicy{settings.PushPolicy(), settings.PolicyOfOutputs()}
}

// within returns a policy that allows what both allow.
func (p forgePolicy) within(q forgePolicy) forgePolicy {
	return forgePolicy{p.push.Within(q.push), p.outputs.Within(q.outputs)}
}

// narrow returns the policy with what a request asks for.
func (p forgePolicy) narrow(f forging, at string) (forgePolicy, []penstock.FieldError) {
	push, errs := p.push.Narrow(f.request, f.layers, at)
	outputs, more := p.outputs.Narrow(f.request, at)
	return forgePolicy{push, outputs}, append(errs, more...)
}

// forgingOf reads the layers, the strongest first. A fork keeps what its run had, whatever its agent has now.
func forgingOf(from layers) forging {
	p := forging{sources: map[string]string{}}
	for _, layer := range from.list {
		if layer.Config == nil {
			continue
		}
		forked := layer.Name == layerForked
		for _, name := range layer.Config.Forge.Values() {
			key, source := sourcesOfForge+name, layer.Name
			if forked {
				source = cmp.Or(from.forked[key], from.forked["forge"], LayerRequest)
			}
			p.sources[key] = cmp.Or(p.sources[key], source)
		}
		switch {
		case forked:
			p.layers = layer.Config.Forge
			p.policy = forgePolicy{forge.Push(layer.Config), forge.Outputs(layer.Config)}
			return p
		case layer.Name == LayerRequest:
			p.request = p.request.Over(layer.Config.Forge)
		default:
			p.layers = p.layers.Over(layer.Config.Forge)
		}
	}
	p.policy = policyOf(p.layers)
	return p
}

// sourcesOfForge begins the keys of sources that name a value of forge.
const sourcesOfForge = "forge/"

// setForge decides what the run may do on forges, and stores it in its configuration. A request can only narrow what
// the layers allow. So can the parent of the run, and the agent whose key creates it.
func setForge(
	ctx context.Context, db *store.Store, run *store.NewRun, from layers, config *penstock.Config,
	sources map[string]string,
) error {
	const at = "/config/forge"
	of := forgingOf(from)
	policy, errs := of.policy.narrow(of, at)
	if run.ParentPush != nil {
		policy = policy.within(forgePolicy{*run.ParentPush, *run.ParentOutputs})
	}
	if from.agentKey != "" {
		own, err := agentForge(ctx, db, run.Team, from.agentKey)
		if err == nil {
			policy = policy.within(own)
		} else if penstock.CodeOf(err) != penstock.CodeNotFound { // otherwise it is the UID of a person
			return err
		}
	}
	errs = append(errs, policy.push.Check(at+"/push")...)
	if errs = append(errs, policy.outputs.Check(at+"/outputs")...); errs != nil {
		return penstock.InvalidFields(errs...)
	}
	config.Forge = of.request.Over(of.layers)
	if config.Forge == nil {
		delete(sources, "forge")
		if reflect.DeepEqual(policy, defaultForgePolicy()) {
			return nil
		}
		config.Forge, sources["forge"] = &penstock.ForgeSettings{}, LayerParent
	}
	config.Forge.Policy, config.Forge.OutputPolicy = &policy.push, &policy.outputs
	for name, layer := range of.sources {
		if layer != sources["forge"] {
			sources[name] = layer
		}
	}
	return nil
}

// agentForge returns what the runs of an agent may do on forges.
func agentForge(ctx context.Context, db *store.Store, team, uid string) (forgePolicy, error) {
	agent, err := db.Identities.Find(ctx, team, uid)
	if err != nil {
		return forgePolicy{}, err
	}
	settings := agent.Forge
	if agent.FactoryUID != "" {
		factory, err := db.Factories.Part(ctx, team, agent.FactoryUID)
		if err != nil {
			return forgePolicy{}, err
		}
		settings = settings.Over(factory.ForgeDefaults())
	}
	return policyOf(settings), nil
}
