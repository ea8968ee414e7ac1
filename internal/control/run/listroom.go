package run

import (
	"cmp"
	"context"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/store"
)

// maxListBytes is the default of Deps.MaxListBytes.
const maxListBytes = 16 << 20

// RoomInList returns an error if a list of the team is too large. Call it after the write, in
// the same transaction.
func (s *Catalog) RoomInList(ctx context.Context, tx *store.Tx, list store.List, team string) error {
	most := cmp.Or(s.maxListBytes, maxListBytes)
	size, err := tx.ListSize(ctx, list, team)
	if err == nil && size > most {
		err = penstock.Errorf(penstock.CodeConflict,
			"the prompts and configurations of the team's %s have more than %d KiB: shorten or delete some", list,
			most>>10)
	}
	return err
}

// roomForEnvironment does this for an environment, which is also part of the list of schedules.
func (s *Catalog) roomForEnvironment(ctx context.Context, tx *store.Tx, team string) error {
	if err := s.RoomInList(ctx, tx, store.ListOfEnvironments, team); err != nil {
		return err
	}
	return s.RoomInList(ctx, tx, store.ListOfSchedules, team)
}
