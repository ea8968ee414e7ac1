package run

import (
	"context"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/catalog"
	"github.com/penstock-dev/penstock/internal/store"
)

// checkVariables refuses a run whose variables, wherever they come from, could take the
// keys that its agent program has from the server's configuration. The built-in agent has
// keys as well, but nothing of the run's in its environment.
func (s *Runs) checkVariables(_ context.Context, _ penstock.Principal, run *store.NewRun) error {
	errs := s.catalog.Reserved(run.Config)
	if errs == nil {
		return nil
	}
	for i := range errs {
		errs[i] = catalog.Misplaced(run, errs[i])
	}
	return penstock.InvalidFields(errs...)
}
