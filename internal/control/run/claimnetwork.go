package run

import (
	"context"
	"maps"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/store"
)

// giveNetwork adds the network of an execution: the current policy, the secrets that stay outside
// of the sandbox, and the keys for its gateway.
func (s *Executions) giveNetwork(ctx context.Context, a *penstock.Assignment, row store.RunRow) error {
	policy, err := s.catalog.Policy(ctx, row)
	if err != nil {
		return err
	}
	if a.NetworkSecrets, err = s.secrets.GrantNetwork(ctx, row.Team, &policy); err != nil {
		return err
	}
	tokens, pushes, err := s.catalog.forges.Grant(ctx, forgeUse(row), row.Config.Repositories, policy)
	if err != nil {
		return err
	}
	maps.Copy(a.NetworkSecrets, tokens)
	for i := range pushes {
		pushes[i].Policy = pushPolicy(row)
	}
	a.Network, a.Pushes = &policy, pushes
	for harness, name := range row.Config.HarnessSecrets() {
		if a.HarnessSecrets == nil {
			a.HarnessSecrets = map[string]penstock.HarnessSecret{}
		}
		a.HarnessSecrets[harness] = penstock.HarnessSecret{Name: name, Value: a.Secrets[name]}
	}
	return nil
}
