package run

import (
	"context"

	"github.com/penstock-dev/penstock"
)

// Network returns the current network policy of a run, and the traffic of its executions with each
// host so far.
func (s *Runs) Network(ctx context.Context, p penstock.Principal, id string) (penstock.RunNetwork, error) {
	row, err := s.readableRun(ctx, p, id)
	if err != nil {
		return penstock.RunNetwork{}, err
	}
	policy, err := s.catalog.Policy(ctx, row)
	if err != nil {
		return penstock.RunNetwork{}, err
	}
	policy.MCP = nil // the configuration of the run has them
	hosts, err := s.store.Executions.Traffic(ctx, row.ID)
	return penstock.RunNetwork{Sealed: row.Sealed, Policy: policy, Hosts: hosts}, err
}

// presentNetwork returns the stored part of a policy for the API, without MCP servers, which are in
// the run's configuration.
func presentNetwork(fixed *penstock.NetworkPolicy) *penstock.NetworkPolicy {
	if fixed == nil {
		return nil
	}
	shown := *fixed
	if shown.MCP = nil; shown.Layers == nil {
		shown.Layers = []penstock.NetworkLayer{}
	}
	return &shown
}
