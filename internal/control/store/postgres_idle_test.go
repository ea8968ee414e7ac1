package store_test

import (
	"context"
	"testing"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/store"
	"github.com/penstock-dev/penstock/internal/testkit"
)

// A replica that is idle inside a transaction, such as one whose machine has failed, does not block
// the others' access to its locked rows.
func TestLocksOfAFrozenReplica(t *testing.T) {
	t.Parallel()
	database := testkit.Postgres(t)
	other := testkit.OpenStore(t, database) // which migrates it, with time to stall
	still := testkit.OpenStore(t, database+"&idle_in_transaction_session_timeout=1000")
	run := mustCreate(t, other, nil)
	setResumable := func(ctx context.Context, tx *store.Tx) error { return tx.Runs().SetResumable(ctx, run.ID, true) }
	err := still.Write(t.Context(), func(tx *store.Tx) error {
		if err := setResumable(t.Context(), tx); err != nil {
			return err
		}
		if err := other.Write(t.Context(), func(tx *store.Tx) error { return setResumable(t.Context(), tx) }); err != nil {
			t.Errorf("the other replica: %v", err)
		}
		return setResumable(t.Context(), tx)
	})
	if penstock.CodeOf(err) != penstock.CodeUnavailable {
		t.Errorf("the one that stood still: got %v, want %s", err, penstock.CodeUnavailable)
	}
	// On a busy machine, this takes longer than the timeout of the replica, too.
	testkit.Eventually(t, time.Minute, func() error {
		return still.Write(t.Context(), func(tx *store.Tx) error { return setResumable(t.Context(), tx) })
	})
}

func TestIdleTransactionsAreEnded(t *testing.T) {
	t.Parallel()
	s := testkit.OpenStore(t, testkit.Postgres(t))
	err := s.Write(t.Context(), func(tx *store.Tx) error {
		limit, err := tx.Setting(t.Context(), "idle_in_transaction_session_timeout")
		if err == nil && limit != "15s" {
			t.Errorf("they may for %s, want 15s", limit)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
