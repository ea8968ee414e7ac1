package main_test

import (
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/store"
	"github.com/penstock-dev/penstock/internal/testkit"
)

// ledger records the deliveries that got a 202, by identity.
type ledger struct {
	mu           sync.Mutex
	acknowledged map[string][]string // ids of deliveries
}

func (l *ledger) note(identity, delivery string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.acknowledged == nil {
		l.acknowledged = map[string][]string{}
	}
	l.acknowledged[identity] = append(l.acknowledged[identity], delivery)
}

func (l *ledger) has(identity string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.acknowledged[identity]) > 0
}

func (l *ledger) size() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.acknowledged)
}

// want compares the ledger with the log: each identity was accepted once, each acknowledged
// delivery is in the log and counted, and exactly the matching deliveries started a run.
func (l *ledger) want(h *hooked, w penstock.Webhook, matches func(identity string) bool) {
	h.t.Helper()
	logged := map[string]store.Delivery{}
	accepted, duplicates := 0, 0
	for _, d := range h.log(w, "") {
		logged[d.ID] = d
		switch d.Outcome {
		case penstock.OutcomeAccepted:
			accepted++
		case penstock.OutcomeDuplicate:
			duplicates++
		}
	}
	var now penstock.Webhook
	h.ask(http.MethodGet, h.hookPath(w), nil, http.StatusOK, &now)
	if now.Counts.Accepted != int64(accepted) || now.Counts.Duplicate != int64(duplicates) {
		h.t.Errorf("the log has %d deliveries and %d duplicates, counted are %+v", accepted, duplicates, now.Counts)
	}
	runs := map[string][]string{} // by delivery
	all := h.runs(w)
	for _, r := range all {
		runs[r.Metadata["delivery_id"]] = append(runs[r.Metadata["delivery_id"]], r.ID)
	}
	if accepted != len(l.acknowledged) {
		h.t.Errorf("%d deliveries were accepted, but %d are distinct", accepted, len(l.acknowledged))
	}
	matching := 0
	for identity, ids := range l.acknowledged {
		origin := ""
		for _, id := range ids {
			d, there := logged[id]
			if !there {
				h.t.Errorf("delivery %s of %s was acknowledged but is not in the log", id, identity)
				continue
			}
			first := d.ID
			if d.Outcome == penstock.OutcomeDuplicate {
				first = d.DuplicateOf
			}
			if origin != "" && first != origin {
				h.t.Errorf("%s was accepted as %s and as %s", identity, origin, first)
			}
			origin = first
		}
		want := 0
		if matches(identity) {
			want, matching = 1, matching+1
		}
		if got := logged[origin].Runs; len(got) != want || len(runs[origin]) != want ||
			want == 1 && got[0] != runs[origin][0] {
			h.t.Errorf("%s has the runs %v, its delivery says %v, want %d", identity, runs[origin], got, want)
		}
	}
	if len(all) != matching {
		h.t.Errorf("got %d runs for %d deliveries that match", len(all), matching)
	}
}

// The server gets SIGKILL while 64 senders post. Each acknowledged delivery is in the log with its
// run. A delivery that a sender repeats starts nothing twice.
func TestKillLosesNoDelivery(t *testing.T) {
	t.Parallel()
	const senders, kills = 64, 2
	testkit.Engines(t, func(t *testing.T, database string) {
		h := serveHooks(t, testkit.ServeOptions{Database: database, Args: noWorker})
		w := h.tokenHook("killed")
		h.automation(w, "half", "look", map[string]any{"even": []bool{true}})
		even := func(identity string) bool { return strings.HasSuffix(identity, "-even") }
		var told ledger
		s := newSender(t)
		var stop atomic.Bool
		var responses atomic.Int64
		var all sync.WaitGroup
		for i := range senders {
			all.Go(func() {
				for n := 0; !stop.Load(); n++ {
					identity := fmt.Sprintf("%d-%d-%s", i, n, []string{"even", "odd"}[n%2])
					body := fmt.Sprintf(`{"even": %v, "identity": %q}`, n%2 == 0, identity)
					for !told.has(identity) { // like a sender that gets no response
						got, err := s.try(
							t.Context(), http.MethodPost, h.url(w), bearer(w, "X-Penstock-Delivery-Id", identity), strings.NewReader(body),
						)
						switch {
						case err != nil, got.status == http.StatusServiceUnavailable:
							<-time.After(20 * time.Millisecond)
						case got.status == http.StatusAccepted:
							told.note(identity, got.deliveryID())
							responses.Add(1)
						default:
							t.Errorf("got %d: %s", got.status, got.body)
							return
						}
					}
				}
			})
		}
		for range kills {
			from := responses.Load()
			testkit.Eventually(t, time.Minute, func() error {
				if n := responses.Load() - from; n < 500 {
					return fmt.Errorf("%d responses", n)
				}
				return nil
			})
			h.Kill9()
			h.Restart()
		}
		stop.Store(true)
		all.Wait()
		told.want(h, w, even)
	})
}

// post sends a delivery with a body of size bytes. ok is false if the server could not store it.
// Then the response must follow the contract.
func (l *ledger) post(s *sender, h *hooked, w penstock.Webhook, size int) (ok bool) {
	h.t.Helper()
	identity := penstock.NewID()
	got := s.post(h.url(w), bearer(w, "X-Penstock-Delivery-Id", identity), text(size))
	switch got.status {
	case http.StatusAccepted:
		l.note(identity, got.deliveryID())
		return true
	case http.StatusServiceUnavailable:
		if seconds, err := got.retryAfter(); err != nil || seconds != 5 {
			h.t.Errorf("the 503 says Retry-After: %q, want 5", got.header.Get("Retry-After"))
		}
	default:
		h.t.Fatalf("got %d: %s", got.status, got.body)
	}
	return false
}

// deliverOutlives fills the disk, makes room again, and checks that every acknowledged delivery
// exists.
func deliverOutlives(h *hooked, grow func()) {
	h.t.Helper()
	w := h.tokenHook("full")
	h.automation(w, "all", "look", nil)
	var told ledger
	s := newSender(h.t)
	for refused := 0; refused < 3; {
		if !told.post(s, h, w, 40_000) {
			refused++
		}
		if len(told.acknowledged) > 10_000 {
			h.t.Fatal("the disk does not become full")
		}
	}
	grow()
	testkit.Eventually(h.t, 30*time.Second, func() error {
		if !told.post(s, h, w, 40_000) {
			return fmt.Errorf("still 503 with room on the disk")
		}
		return nil
	})
	told.want(h, w, func(string) bool { return true })
}

func TestDeliveriesOutliveAFullDiskSQLite(t *testing.T) {
	t.Parallel()
	dir, grow := smallDisk(t, "6m")
	deliverOutlives(
		serveHooks(t, testkit.ServeOptions{Database: "sqlite://" + filepath.Join(dir, "penstock.db"), Args: noWorker}), grow,
	)
}

func TestDeliveriesOutliveAFullDiskPostgres(t *testing.T) {
	t.Parallel()
	database, grow, drop := smallPostgres(t, "24m")
	h := serveHooks(t, testkit.ServeOptions{Database: database, Args: noWorker})
	deliverOutlives(h, grow)
	h.Stop()
	drop()
}

// Connections end, new ones are refused, the database becomes read-only, and then recovers. Every
// 202 was true, and the server recovers without help.
func TestDeliveriesWhilePostgresIsUnavailable(t *testing.T) {
	t.Parallel()
	database := testkit.Postgres(t)
	admin, name := adminOf(t, database)
	cut := cutOff(name)
	h := serveHooks(t, testkit.ServeOptions{Database: database, Args: noWorker})
	w := h.tokenHook("cut-off")
	h.automation(w, "all", "look", nil)
	var told ledger
	s := newSender(t)
	stored := func() error {
		if !told.post(s, h, w, 100) {
			return fmt.Errorf("503")
		}
		return nil
	}
	away := func() error {
		if stored() == nil {
			return fmt.Errorf("the database is away and a delivery was accepted")
		}
		return nil
	}
	if err := stored(); err != nil {
		t.Fatal(err)
	}
	testkit.Exec(t, admin, "ALTER DATABASE "+name+" ALLOW_CONNECTIONS false")
	testkit.Exec(t, admin, cut)
	testkit.Eventually(t, time.Minute, away)
	// The server cannot know whether the webhook exists, so it does not refuse from memory either.
	for of, got := range map[string]reply{
		"an unknown webhook": s.post(h.URL+"/webhooks/w/"+penstock.NewUID(), nil, "{}"),
		"a wrong token":      s.post(h.url(w), map[string]string{"Authorization": "Bearer x"}, "{}"),
	} {
		if got.status != http.StatusServiceUnavailable || got.header.Get("Retry-After") != "5" {
			t.Errorf("%s: got %d with Retry-After %q, want 503 and 5", of, got.status, got.header.Get("Retry-After"))
		}
	}
	testkit.Exec(t, admin, "ALTER DATABASE "+name+" ALLOW_CONNECTIONS true")
	testkit.Eventually(t, time.Minute, stored)

	testkit.Exec(t, admin, "ALTER DATABASE "+name+" SET default_transaction_read_only = on")
	testkit.Exec(t, admin, cut)
	testkit.Eventually(t, time.Minute, away)
	testkit.Exec(t, admin, "ALTER DATABASE "+name+" RESET default_transaction_read_only")
	testkit.Exec(t, admin, cut)
	testkit.Eventually(t, time.Minute, stored)
	told.want(h, w, func(string) bool { return true })
}
