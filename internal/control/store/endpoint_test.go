package store_test

import (
	"testing"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/store"
	"github.com/penstock-dev/penstock/internal/testkit"
)

// A server has found nothing to send. Before it ends its lease, a message comes, whose nudge finds the endpoint leased.
func TestTheEndOfALeaseIsANudge(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, url string) {
		s := testkit.OpenStore(t, url)
		ctx, e := t.Context(), store.EndpointRow{Team: "team", Sealed: []byte("x")}
		e.UID, e.URL, e.Enabled = penstock.NewUID(), "https://example.com", true
		e.Events = []penstock.EndpointEvent{store.EventRunCreated}
		if err := s.Write(ctx, func(tx *store.Tx) error { return tx.Endpoints().Add(ctx, e) }); err != nil {
			t.Fatal(err)
		}
		nudged, stop := s.Nudges.Subscribe(store.TopicEndpoints)
		defer stop()
		if _, _, ok, err := s.Endpoints.Take(ctx, e.UID, "first", penstock.Now(), 10_000, 10); !ok || err != nil {
			t.Fatalf("took nothing: %v", err)
		}
		if err := s.Endpoints.Release(ctx, e.UID, "first", true); err != nil {
			t.Fatal(err)
		}
		select {
		case <-nudged:
			t.Fatal("a failure is repeated at once")
		default:
		}
		_, due, ok, err := s.Endpoints.Take(ctx, e.UID, "token", penstock.Now(), 10_000, 10)
		if !ok || len(due) > 0 || err != nil {
			t.Fatalf("took %v: %t, %v", due, ok, err)
		}
		if err := s.Write(ctx, func(tx *store.Tx) error {
			return tx.Endpoints().Announce(ctx, e.Team, store.Announcement{Type: store.EventRunCreated, At: penstock.Now()})
		}); err != nil {
			t.Fatal(err)
		}
		<-nudged // by the message; on PostgreSQL a second time, later
		if due, err := s.Endpoints.DueEndpoints(ctx, penstock.Now()); len(due) > 0 || err != nil {
			t.Fatalf("while it is leased, %v is due: %v", due, err)
		}
		if err := s.Endpoints.Release(ctx, e.UID, "token", false); err != nil {
			t.Fatal(err)
		}
		select {
		case <-nudged:
		case <-time.After(10 * time.Second):
			t.Fatal("nobody is told")
		}
		if due, err := s.Endpoints.DueEndpoints(ctx, penstock.Now()); len(due) != 1 || err != nil {
			t.Errorf("after the lease, %v is due: %v", due, err)
		}
	})
}
