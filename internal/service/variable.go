package service

import (
	"context"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/store"
)

// checkVariables refuses a run whose variables, wherever they come from, could take the
// keys that its agent program has from the server's configuration. The built-in agent has
// keys as well, but nothing of the run's in its environment.
func (s *Service) checkVariables(_ context.Context, _ penstock.Principal, run *store.NewRun) error {
	errs := s.reserved(run.Config)
	if errs == nil {
		return nil
	}
	for i := range errs {
		errs[i] = misplaced(run, errs[i])
	}
	return penstock.InvalidFields(errs...)
}

// reserved reports the variables of a configuration that its harness must not be given.
// Without a harness it is not known yet which they are.
func (s *Service) reserved(c *penstock.Config) []penstock.FieldError {
	own, holds := s.keyHolders[c.Harness.Kind()]
	if c.Harness == nil || !holds {
		return nil
	}
	return c.CheckVariables(own)
}
