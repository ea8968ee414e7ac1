package store

import "context"

// CreateRuns creates runs as one batch of the group commit does.
func (tx *Tx) CreateRuns(ctx context.Context, runs ...*NewRun) error {
	var members []*createRun
	for _, run := range runs {
		members = append(members, newCreateRun(run))
	}
	return tx.createRuns(ctx, members)
}
