package run

import (
	"context"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/store"
)

// checkVariables rejects a run if its variables, from any layer, could leak the keys that the
// server's configuration gives to the agent program. The built-in agent also has keys, but its
// environment has no variables of the run.
func (s *Runs) checkVariables(_ context.Context, _ penstock.Principal, run *store.NewRun) error {
	errs := s.catalog.Reserved(run.Config)
	if errs == nil {
		return nil
	}
	for i := range errs {
		errs[i] = Misplaced(run, errs[i])
	}
	return penstock.InvalidFields(errs...)
}
