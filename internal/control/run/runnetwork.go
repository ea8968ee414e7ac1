package run

import (
	"context"

	"github.com/penstock-dev/penstock"
)

// RunNetwork is what a run may reach and what it reached: the contract's RunNetwork.
type RunNetwork struct {
	// Sealed is nil until the sandbox of an execution was checked.
	Sealed *bool                  `json:"sealed,omitempty"`
	Policy penstock.NetworkPolicy `json:"policy"`
	Hosts  []penstock.HostTraffic `json:"hosts"`
}

// Network returns the current network policy of a run, and the traffic of its executions with each
// host so far.
func (s *Runs) Network(ctx context.Context, p penstock.Principal, id string) (RunNetwork, error) {
	row, err := s.readableRun(ctx, p, id)
	if err != nil {
		return RunNetwork{}, err
	}
	policy, err := s.catalog.Policy(ctx, row)
	if err != nil {
		return RunNetwork{}, err
	}
	policy.MCP = nil // the configuration of the run has them
	hosts, err := s.store.Executions.Traffic(ctx, row.ID)
	return RunNetwork{Sealed: row.Sealed, Policy: policy, Hosts: hosts}, err
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
