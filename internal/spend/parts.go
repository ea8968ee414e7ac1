// Package spend owns what people see and set of spending: the budgets that many runs share, and
// the sums of the ledger. The ledger itself is written where calls are reserved and settled.
package spend

import (
	"github.com/penstock-dev/penstock/internal/access"
	"github.com/penstock-dev/penstock/internal/run"
	"github.com/penstock-dev/penstock/internal/store"
)

// Options are the dependencies of the spending rules.
type Options struct {
	Store     *store.Store
	Responses *access.Responses
	Runs      *run.Runs
}

// Budgets manages the shared budgets of a team.
type Budgets struct {
	store     *store.Store
	responses *access.Responses
}

// Usage reads what runs have used.
type Usage struct {
	store *store.Store
	runs  *run.Runs
}

// Parts are the rules of this package.
type Parts struct {
	Budgets *Budgets
	Usage   *Usage
}

// New makes the rules of spending.
func New(o Options) Parts {
	return Parts{
		Budgets: &Budgets{store: o.Store, responses: o.Responses},
		Usage:   &Usage{store: o.Store, runs: o.Runs},
	}
}
