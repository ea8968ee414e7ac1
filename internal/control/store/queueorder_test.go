package store_test

import (
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/store"
	"github.com/penstock-dev/penstock/internal/testkit"
)

// A run is reported as waiting for a slot only if that is true, whatever else waits for workers
// that are not connected.
func TestCapacity(t *testing.T) {
	t.Parallel()
	testkit.Stores(t, func(t *testing.T, s *store.Store) {
		create := func(host string) bool {
			t.Helper()
			full, err := s.Runs.Create(t.Context(), newRun(func(r *store.NewRun) { r.WorkerHost = host }))
			if err != nil {
				t.Fatal(err)
			}
			return full
		}
		hello := func(host string, slots int) {
			t.Helper()
			c := penstock.ClaimRequest{WorkerID: host, Host: host, Harnesses: []string{penstock.HarnessBuiltin}, Capacity: slots}
			if err := s.Queue.Hello(t.Context(), c); err != nil {
				t.Fatal(err)
			}
		}
		if !create("elsewhere") {
			t.Error("a run has a slot although no worker exists")
		}
		hello("one", 2)
		for range 4 {
			if !create("elsewhere") {
				t.Error("a run for another host has a slot")
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
				_, err := tx.Queue().Claim(
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

// A run that a worker claims at this moment occupies the slot, whether it is seen before or after.
func TestCapacityDuringAClaim(t *testing.T) {
	t.Parallel()
	testkit.Stores(t, func(t *testing.T, s *store.Store) {
		for range 100 {
			host := penstock.NewUID()
			worker := penstock.ClaimRequest{
				WorkerID: host, Host: host, Harnesses: []string{penstock.HarnessBuiltin}, Capacity: 1,
			}
			if err := s.Queue.Hello(t.Context(), worker); err != nil {
				t.Fatal(err)
			}
			create := func() bool {
				full, err := s.Runs.Create(t.Context(), newRun(func(r *store.NewRun) { r.WorkerHost = host }))
				if err != nil {
					t.Error(err)
				}
				return full
			}
			if create() {
				t.Fatal("a worker without runs is reported as full")
			}
			var claim sync.WaitGroup
			claim.Go(func() {
				err := s.Write(t.Context(), func(tx *store.Tx) error {
					_, err := tx.Queue().Claim(t.Context(), worker, store.Holding{
						Token: penstock.NewUID(), SessionID: penstock.NewID(), AgentKey: penstock.NewUID(),
					})
					return err
				})
				if err != nil {
					t.Error(err)
				}
			})
			if !create() {
				t.Error("the run that is being claimed left a slot free")
			}
			claim.Wait()
			if err := s.Queue.Goodbye(t.Context(), host); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// Workers that restart again and again with new ids do not accumulate: each stored run would search
// all of them.
func TestDeadWorkersAreForgotten(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, url string) {
		s := testkit.OpenStore(t, url)
		hello := func(id string) {
			t.Helper()
			if err := s.Queue.Hello(t.Context(), penstock.ClaimRequest{WorkerID: id, Host: id, Capacity: 1}); err != nil {
				t.Fatal(err)
			}
		}
		hello("killed")
		testkit.Exec(t, url, "UPDATE workers SET last_seen_at = 1")
		hello("started")
		testkit.Exec(t, url, "UPDATE workers SET last_seen_at = 9000000000000") // any that are left become visible
		workers, err := s.Queue.Workers(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if len(workers) != 1 || workers[0].ID != "started" {
			t.Errorf("got %v, want the one that was started", workers)
		}
	})
}

// A worker's row stores what its latest call reported, except when it connected.
func TestAWorkerThatRegistersAgainReplacesItsRow(t *testing.T) {
	t.Parallel()
	testkit.Stores(t, func(t *testing.T, s *store.Store) {
		hello := func(c penstock.ClaimRequest) store.Worker {
			t.Helper()
			c.WorkerID = "w"
			if err := s.Queue.Hello(t.Context(), c); err != nil {
				t.Fatal(err)
			}
			workers, err := s.Queue.Workers(t.Context())
			if err != nil || len(workers) != 1 {
				t.Fatalf("got %+v, %v", workers, err)
			}
			return workers[0]
		}
		first := hello(penstock.ClaimRequest{
			Host: "a", Version: "1", Platform: "linux/x86_64", Local: true, StrictImage: true, Launch: true,
			Harnesses: []string{"builtin", "codex"}, Models: []string{"openai/"}, Capacity: 1, Busy: 1,
			Agents: []penstock.AgentState{{Name: "codex", Version: "1"}},
		})
		got := hello(penstock.ClaimRequest{Host: "b", Version: "2", Platform: "linux/aarch64", Harnesses: []string{"claude"}})
		want := store.Worker{
			ID: "w", Host: "b", Version: "2", Platform: "linux/aarch64", Harnesses: []string{"claude"},
			ConnectedAt: first.ConnectedAt, LastSeenAt: got.LastSeenAt,
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
		want.Harnesses = nil
		if got := hello(penstock.ClaimRequest{Host: "b", Version: "2", Platform: "linux/aarch64"}); got.Can(
			store.Want{Harness: "claude"},
		) || got.Harnesses != nil {
			t.Errorf("a worker without a harness has %v", got.Harnesses)
		}
	})
}
