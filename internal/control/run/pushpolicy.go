package run

import (
	"cmp"
	"context"
	"reflect"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/forge"
	"github.com/penstock-dev/penstock/internal/control/store"
)

// pushing is what decides what a new run may push.
type pushing struct {
	request *penstock.ForgeSettings // of the request; nil: none
	layers  *penstock.ForgeSettings // of the automation, the agent and the factory, or of the run that is forked
	policy  penstock.PushPolicy     // that the layers imply
	sources map[string]string       // of the values that are not from the strongest layer
}

// pushingOf reads the layers, the strongest first. A fork keeps what its run had, whatever its agent has now.
func pushingOf(from layers) pushing {
	p := pushing{sources: map[string]string{}}
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
			p.layers, p.policy = layer.Config.Forge, forge.Push(layer.Config)
			return p
		case layer.Name == LayerRequest:
			p.request = p.request.Over(layer.Config.Forge)
		default:
			p.layers = p.layers.Over(layer.Config.Forge)
		}
	}
	p.policy = p.layers.PushPolicy()
	return p
}

// sourcesOfForge begins the keys of sources that name a value of forge.
const sourcesOfForge = "forge/"

// setPush decides what the run may push, and stores it in its configuration. A request can only narrow what
// the layers allow. So can the parent of the run, and the agent whose key creates it.
func setPush(
	ctx context.Context, db *store.Store, run *store.NewRun, from layers, config *penstock.Config,
	sources map[string]string,
) error {
	push := pushingOf(from)
	policy, errs := push.policy.Narrow(push.request, push.layers, "/config/forge")
	if run.ParentPush != nil {
		policy = policy.Within(*run.ParentPush)
	}
	if from.agentKey != "" {
		own, err := agentPush(ctx, db, run.Team, from.agentKey)
		if err == nil {
			policy = policy.Within(own)
		} else if penstock.CodeOf(err) != penstock.CodeNotFound { // otherwise it is the UID of a person
			return err
		}
	}
	if errs = append(errs, policy.Check("/config/forge/push")...); errs != nil {
		return penstock.InvalidFields(errs...)
	}
	config.Forge = push.request.Over(push.layers)
	if config.Forge == nil {
		delete(sources, "forge")
		if reflect.DeepEqual(policy, penstock.DefaultPushPolicy()) {
			return nil
		}
		config.Forge, sources["forge"] = &penstock.ForgeSettings{}, LayerParent
	}
	config.Forge.Policy = &policy
	for name, layer := range push.sources {
		if layer != sources["forge"] {
			sources[name] = layer
		}
	}
	return nil
}

// agentPush returns what the runs of an agent may push.
func agentPush(ctx context.Context, db *store.Store, team, uid string) (penstock.PushPolicy, error) {
	agent, err := db.Identities.Find(ctx, team, uid)
	if err != nil {
		return penstock.PushPolicy{}, err
	}
	settings := agent.Forge
	if agent.FactoryUID != "" {
		factory, err := db.Factories.Part(ctx, team, agent.FactoryUID)
		if err != nil {
			return penstock.PushPolicy{}, err
		}
		settings = settings.Over(factory.ForgeDefaults())
	}
	return settings.PushPolicy(), nil
}
