package store_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/store"
	"github.com/penstock-dev/penstock/internal/testkit"
)

func TestTheLogIsSearchedByPayload(t *testing.T) {
	t.Parallel()
	testkit.Stores(t, func(t *testing.T, s *store.Store) {
		addReceiver(t, s)
		var want []string
		for i := range store.SearchedDeliveries + 20 {
			body := fmt.Sprintf(`{"order": %d, "note": "100%% _ ' \u00e9 é"}`, i)
			if i%260 == 5 {
				body = `{"order": "Zürich ?-7"}`
			}
			d, _ := mustDeliver(t, s, func(d *store.NewDelivery) { d.Body = []byte(body) })
			if i%260 == 5 {
				want = append([]string{d.ID}, want...)
			}
		}
		search := func(text string) (ids []string, pages int) {
			q := penstock.DeliveryQuery{Search: text, Limit: 1}
			for {
				page, next, err := s.Deliveries.List(t.Context(), "w", q)
				if err != nil {
					t.Fatal(err)
				}
				ids, pages = append(ids, idsOf(page)...), pages+1
				if q.Cursor = next; next == "" {
					return ids, pages
				}
			}
		}
		got, _ := search("Zürich ?-7")
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		for _, text := range []string{"zürich", "\\u00e8", "%", "' OR 1=1"} {
			found, pages := search(text)
			if all := text == "%"; all != (len(found) > 0) || pages < 2 {
				t.Errorf("%q: found %d in %d pages", text, len(found), pages)
			}
		}
		if page, _, err := s.Deliveries.List(t.Context(), "w", penstock.DeliveryQuery{
			Search: "order", Outcomes: []penstock.Outcome{penstock.OutcomeDuplicate},
		}); err != nil || len(page) > 0 {
			t.Errorf("duplicates, which have no payload: %v, %v", page, err)
		}
	})
}

// Deliveries arrive all the time. A search that begins meanwhile finds all that came before it.
func TestASearchLosesNothingToNewDeliveries(t *testing.T) {
	t.Parallel()
	testkit.Stores(t, func(t *testing.T, s *store.Store) {
		addReceiver(t, s)
		deliver := func() string {
			d := newDelivery(func(d *store.NewDelivery) { d.Body = []byte(`"order"`) })
			if _, err := s.Deliveries.Deliver(context.WithoutCancel(t.Context()), d); err != nil {
				t.Error(err)
			}
			return d.ID
		}
		var old []string
		for range store.SearchedDeliveries + 20 {
			old = append(old, deliver())
		}
		done, ended := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(ended)
			for {
				select {
				case <-done:
					return
				default:
					deliver()
				}
			}
		}()
		defer func() { close(done); <-ended }()
		for range 10 {
			found := map[string]bool{}
			for q := (penstock.DeliveryQuery{Search: "order", Limit: store.SearchedDeliveries}); ; {
				page, next, err := s.Deliveries.List(t.Context(), "w", q)
				if err != nil {
					t.Fatal(err)
				}
				for _, d := range page {
					found[d.ID] = true
				}
				if q.Cursor = next; next == "" {
					break
				}
			}
			for i, id := range old {
				if !found[id] {
					t.Fatalf("delivery %d of %d was not found", i, len(old))
				}
			}
		}
	})
}

func TestTheLogIsLimitedToATime(t *testing.T) {
	t.Parallel()
	testkit.Stores(t, func(t *testing.T, s *store.Store) {
		addReceiver(t, s)
		noon := penstock.TimeOf(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))
		const entries = 5 // an hour apart
		var ids []string
		for i := range entries {
			at := noon.Add(time.Duration(i) * time.Hour)
			d, _ := mustDeliver(t, s, func(d *store.NewDelivery) {
				d.ReceivedAt, d.ID = at, store.IDAt(at)[:35]+fmt.Sprint(i)
			})
			ids = append(ids, d.ID)
		}
		for _, tt := range []struct {
			name          string
			after, before penstock.Time
			want          []string
		}{
			{"from a time on", noon.Add(2 * time.Hour), 0, []string{ids[4], ids[3]}},
			{"until a time", 0, noon.Add(2 * time.Hour), []string{ids[1], ids[0]}},
			{"between two times", noon, noon.Add(3 * time.Hour), []string{ids[2], ids[1]}},
			{"before all", 0, noon, nil},
			{"after all", noon.Add(entries * time.Hour), 0, nil},
		} {
			q := penstock.DeliveryQuery{ReceivedAfter: tt.after, ReceivedBefore: tt.before}
			page, next, err := s.Deliveries.List(t.Context(), "w", q)
			if diff := cmp.Diff(tt.want, idsOf(page)); diff != "" || next != "" || err != nil {
				t.Errorf("%s: %q, %v\n%s", tt.name, next, err, diff)
			}
		}
	})
}

func TestTheLogIsLimitedToDeliveriesWithoutARun(t *testing.T) {
	t.Parallel()
	testkit.Stores(t, func(t *testing.T, s *store.Store) {
		addReceiver(t, s)
		started := deliverTwoRuns(t, s)
		unmatched, _ := mustDeliver(t, s, func(d *store.NewDelivery) {
			// Text of a user that looks like the key of a run.
			d.Matches = []store.DeliveryMatch{{Automation: `","run_id":"x`, UID: "u", Reason: `"run_id":"x"`}}
		})
		mustDeliver(t, s, func(d *store.NewDelivery) { d.Reason = store.ReasonHandshake })
		mustDeliver(t, s, func(d *store.NewDelivery) {
			d.Outcome, d.Reason, d.HTTPStatus = penstock.OutcomeRejectedAuth, "bad_signature", 401
		})
		check := func(when string, want ...string) {
			t.Helper()
			for _, search := range []string{"", `{"of":`} { // no payload, or all
				page, _, err := s.Deliveries.List(t.Context(), "w", penstock.DeliveryQuery{NoRun: true, Search: search})
				if diff := cmp.Diff(want, idsOf(page)); diff != "" || err != nil {
					t.Errorf("%s, search %q: %v\n%s", when, search, err, diff)
				}
			}
		}
		check("two runs exist", unmatched.ID)
		remove := func(run *store.NewRun) {
			if err := move(t, s, run.ID, penstock.StateCancelled); err != nil {
				t.Fatal(err)
			}
			removeRun(t, s, run)
		}
		remove(started.Starts[0])
		check("one run exists", unmatched.ID)
		remove(started.Starts[1])
		check("both runs were removed", unmatched.ID, started.ID)
	})
}
