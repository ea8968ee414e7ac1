package run

import (
	"cmp"
	"context"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/access"
	"github.com/penstock-dev/penstock/internal/control/store"
)

// PolicyQuery names the parts of a run by their UIDs. Each may be "". An agent implies its factory,
// and both imply their environment and runner.
type PolicyQuery struct {
	Environment, Factory, Agent string
}

// PolicyOf returns the network policy of a new run with these parts and without a network in its
// request. A missing part is penstock.CodeNotFound.
func (s *Catalog) PolicyOf(
	ctx context.Context, p penstock.Principal, q PolicyQuery,
) (penstock.NetworkPolicy, error) {
	if err := access.Require(p, penstock.ScopeRunsRead); err != nil {
		return penstock.NetworkPolicy{}, err
	}
	run := store.NewRun{RunRow: store.RunRow{Team: p.Team}}
	run.Config = &penstock.Config{}
	from, err := s.partsOf(ctx, &run, q)
	if err != nil {
		return penstock.NetworkPolicy{}, err
	}
	if uid := run.Config.EnvironmentID; uid != "" {
		if _, err := s.store.Environments.Spec(ctx, p.Team, uid); err != nil {
			return penstock.NetworkPolicy{}, err
		}
	}
	if err := s.SetRunner(ctx, p, &run); err != nil {
		return penstock.NetworkPolicy{}, err
	}
	run.Network = new(from.policy(run.Runner))
	policy, err := s.Policy(ctx, run.RunRow)
	if err != nil {
		return penstock.NetworkPolicy{}, err
	}
	return policy, s.addSecretHosts(ctx, p, &policy)
}

// partsOf reads the factory and the agent of q, and sets their values on the run.
func (s *Catalog) partsOf(ctx context.Context, run *store.NewRun, q PolicyQuery) (RunLayers, error) {
	from, uid := RunLayers{}, q.Factory
	agent := &penstock.Config{}
	if q.Agent != "" {
		identity, err := s.store.Identities.Find(ctx, run.Team, q.Agent)
		if err != nil {
			return from, err
		}
		from.Agent, agent = &identity, identity.Config()
		uid = identity.FactoryUID
	}
	factory := &penstock.Config{}
	if uid != "" {
		part, err := s.store.Factories.Part(ctx, run.Team, uid)
		if err != nil {
			return from, err
		}
		run.FactoryUID, run.Revision = uid, part.Revision
		from.Factory, factory = &part, part.Defaults.Config()
	}
	run.Config.EnvironmentID = cmp.Or(
		q.Environment, agent.EnvironmentID, factory.EnvironmentID, s.defaults.EnvironmentID,
	)
	run.Config.RunnerID = cmp.Or(agent.RunnerID, factory.RunnerID)
	return from, nil
}

// addSecretHosts adds the hosts that the secrets of the policy list. Without them, no rule
// with a credential has an effect.
func (s *Catalog) addSecretHosts(ctx context.Context, p penstock.Principal, policy *penstock.NetworkPolicy) error {
	names := policy.SecretNames()
	if len(names) == 0 {
		return nil
	}
	found, err := s.store.Secrets.Named(ctx, p.Team, names)
	if err != nil {
		return err
	}
	access.AddSecretHosts(policy, found)
	return nil
}
