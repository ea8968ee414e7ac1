package store_test

import (
	"errors"
	"testing"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/store"
	"github.com/penstock-dev/penstock/internal/testkit"
)

// No text reaches a conversation without its floor, and nobody gets the floor against the rule.
func TestTextNeedsTheFloorOfItsConversation(t *testing.T) {
	t.Parallel()
	testkit.Stores(t, func(t *testing.T, s *store.Store) {
		ctx := t.Context()
		run, other := mustCreate(t, s, nil), mustCreate(t, s, nil)
		next := func(r *store.NewRun) { r.ConversationID, r.Continues = run.ConversationID, true }
		if _, err := s.Runs.Create(ctx, newRun(next)); err == nil {
			t.Error("a run continues a conversation through the group commit")
		}
		may := func(store.Bound) error { return nil }
		for what, try := range map[string]func(tx *store.Tx) error{
			"a run without a floor": func(tx *store.Tx) error {
				_, err := tx.Runs().Create(ctx, newRun(next))
				return err
			},
			"a run with the floor of another conversation": func(tx *store.Tx) error {
				floor, err := tx.Conversations().Enter(ctx, other.ConversationID, may)
				if err != nil {
					t.Error(err)
				}
				_, err = tx.Runs().Continue(ctx, floor, newRun(next))
				return err
			},
			"a follow-up without a floor": func(tx *store.Tx) error {
				return tx.Followups().Add(ctx, store.Floor{}, run.RunRow, store.Followup{ID: penstock.NewID()})
			},
			"a follow-up with the floor of another conversation": func(tx *store.Tx) error {
				floor, err := tx.Conversations().Enter(ctx, other.ConversationID, may)
				if err != nil {
					t.Error(err)
				}
				return tx.Followups().Add(ctx, floor, run.RunRow, store.Followup{ID: penstock.NewID()})
			},
			"a follow-up with a floor that was refused": func(tx *store.Tx) error {
				refusal := errors.New("refused")
				floor, err := tx.Conversations().Enter(ctx, run.ConversationID, func(store.Bound) error { return refusal })
				if !errors.Is(err, refusal) {
					t.Errorf("entered: %v", err)
				}
				return tx.Followups().Add(ctx, floor, run.RunRow, store.Followup{ID: penstock.NewID()})
			},
		} {
			if err := s.Write(ctx, try); err == nil {
				t.Errorf("stored %s", what)
			}
		}
	})
}
