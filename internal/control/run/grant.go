package run

import (
	"context"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/access"
	"github.com/penstock-dev/penstock/internal/control/store"
)

// CheckGrants returns an error if a run names secrets that it cannot get.
func (s *Catalog) CheckGrants(ctx context.Context, p penstock.Principal, run *store.NewRun) error {
	uses := run.Config.SecretUses()
	if len(uses) == 0 {
		return nil
	}
	found, err := s.store.Secrets.Named(ctx, p.Team, run.Config.SecretNames())
	if err != nil {
		return err
	}
	check := access.SecretCheck{
		P: p, NeedValue: true, Found: found,
		Names: func() ([]store.SecretName, error) { return s.store.Secrets.Names(ctx, p.Team) },
	}
	errs, err := check.Lacking(uses)
	if err != nil || errs == nil {
		return err
	}
	for i := range errs {
		errs[i] = Misplaced(run, errs[i])
	}
	return penstock.InvalidFields(errs...)
}
