package store_test

import (
	"testing"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/store"
	"github.com/penstock-dev/penstock/internal/testkit"
)

// A run is told that no worker has a slot for it where that is so, whatever else
// waits for workers that are not there.
func TestCapacity(t *testing.T) {
	t.Parallel()
	testkit.Stores(t, func(t *testing.T, s *store.Store) {
		create := func(host string) bool {
			t.Helper()
			full, err := s.CreateRun(t.Context(), newRun(func(r *store.NewRun) { r.WorkerHost = host }))
			if err != nil {
				t.Fatal(err)
			}
			return full
		}
		hello := func(host string, slots int) {
			t.Helper()
			c := penstock.ClaimRequest{WorkerID: host, Host: host, Harnesses: []string{penstock.HarnessBuiltin}, Capacity: slots}
			if err := s.Hello(t.Context(), c); err != nil {
				t.Fatal(err)
			}
		}
		if !create("elsewhere") {
			t.Error("there is no worker, and a run is told that it has a slot")
		}
		hello("one", 2)
		for range 4 {
			if !create("elsewhere") {
				t.Error("a run for another host is told that it has a slot")
			}
		}
		for n := range 3 {
			if full, want := create(""), n >= 2; full != want {
				t.Errorf("run %d beside those that nobody can execute: full %v, want %v", n+1, full, want)
			}
		}
		for range 2 {
			err := s.Write(t.Context(), func(tx *store.Tx) error {
				c := penstock.ClaimRequest{WorkerID: "one", Host: "one", Harnesses: []string{penstock.HarnessBuiltin}, Capacity: 2}
				_, err := tx.ClaimRun(
					t.Context(), c, store.Holding{Token: penstock.NewUID(), SessionID: penstock.NewID(), AgentKey: penstock.NewUID()},
				)
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		hello("two", 3)
		if create("two") {
			t.Error("a free worker is full, since another one is")
		}
		if !create("one") {
			t.Error("a worker that is full has a slot")
		}
	})
}

// Workers that are killed and started anew, with another id each time, do not heap up:
// each run that is stored looks through them.
func TestDeadWorkersAreForgotten(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, url string) {
		s := testkit.OpenStore(t, url)
		hello := func(id string) {
			t.Helper()
			if err := s.Hello(t.Context(), penstock.ClaimRequest{WorkerID: id, Host: id, Capacity: 1}); err != nil {
				t.Fatal(err)
			}
		}
		hello("killed")
		testkit.Exec(t, url, "UPDATE workers SET last_seen_at = 1")
		hello("started")
		testkit.Exec(t, url, "UPDATE workers SET last_seen_at = 9000000000000") // whoever is left comes into sight
		workers, err := s.Workers(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if len(workers) != 1 || workers[0].ID != "started" {
			t.Errorf("got %v, want the one that was started", workers)
		}
	})
}
