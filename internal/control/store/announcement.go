package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/penstock-dev/penstock"
)

// AnnounceLost writes the messages of a run whose lease has ended without its worker, in the transaction that
// takes the lease.
func (es EndpointsTx) AnnounceLost(ctx context.Context, r RunRow) error {
	if r.Personal {
		return nil
	}
	return es.Announce(ctx, r.Team, runAnnouncement(
		EventWorkerLost, penstock.Now(), r, r.State, r.LastSeq+1,
	))
}

// announceMissed writes the messages of times that passed without a decision, in the transaction that records
// them. A schedule and each automation that fires with it have their own.
func (es EndpointsTx) announceMissed(ctx context.Context, r OccurrenceRow) error {
	if r.Owner != "" {
		return nil
	}
	factory := ""
	if r.AutomationUID != "" {
		err := es.tx.row(ctx, "SELECT factory_uid FROM automations WHERE uid = $1", r.AutomationUID).Scan(&factory)
		if err != nil && !errors.Is(err, sql.ErrNoRows) { // it may be deleted in this transaction
			return fmt.Errorf("read the factory of automation %s: %w", r.AutomationUID, err)
		}
	}
	return es.Announce(ctx, r.Team, sourceAnnouncement(
		EventScheduleMissed, r.DecidedAt, factory, r.AutomationUID, r.ScheduleID,
	))
}
