package store_test

import (
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/store"
	"github.com/penstock-dev/penstock/internal/testkit"
)

// addReceiver stores the webhook that receives the deliveries of newDelivery, the first one of its
// database.
func addReceiver(t *testing.T, s *store.Store) {
	t.Helper()
	w := store.WebhookRow{
		Team: store.DefaultTeam, FactoryUID: "f", Webhook: penstock.Webhook{UID: "w", Name: "w", CreatedAt: 1, UpdatedAt: 1},
	}
	write(t, s, func(tx *store.Tx) error { return tx.Webhooks().Add(t.Context(), w) })
}

// newDelivery is an accepted delivery of the webhook "w" with a new id.
func newDelivery(change func(*store.NewDelivery)) *store.NewDelivery {
	d := &store.NewDelivery{
		Delivery: store.Delivery{
			ID: penstock.NewID(), WebhookUID: "w", Outcome: penstock.OutcomeAccepted, HTTPStatus: 202,
			ReceivedAt: penstock.Now(), IdentitySource: penstock.IdentityPenstock, ClientIP: "192.0.2.1",
			Headers: map[string]string{"content-type": "application/json"},
		},
		WebhookNumber: 1, Team: store.DefaultTeam, Version: 1,
	}
	d.Body = []byte(`{"of":"` + d.ID + `"}`)
	d.Identity = store.IdentityOf(sha256.Sum256([]byte(d.ID)))
	if change != nil {
		change(d)
	}
	d.Size, d.PayloadSHA256 = int64(len(d.Body)), fmt.Sprintf("%x", sha256.Sum256(d.Body))
	return d
}

// identify gives d an identity, and also one of its signed bytes if guarded.
func identify(d *store.NewDelivery, id string, guarded bool) {
	d.Identity = store.IdentityOf(sha256.Sum256([]byte(id)))
	if guarded {
		d.Guard = store.IdentityOf(sha256.Sum256(d.Body))
	}
}

func mustDeliver(t *testing.T, s *store.Store, change func(*store.NewDelivery)) (*store.NewDelivery, store.Delivered) {
	t.Helper()
	d := newDelivery(change)
	got, err := s.Deliveries.Deliver(t.Context(), d)
	if err != nil {
		t.Fatal(err)
	}
	return d, got
}

func idsOf(list []store.Delivery) (ids []string) {
	for _, d := range list {
		ids = append(ids, d.ID)
	}
	return ids
}

func theLog(t *testing.T, s *store.Store, outcomes ...penstock.Outcome) []store.Delivery {
	t.Helper()
	var all []store.Delivery
	q := penstock.DeliveryQuery{Outcomes: outcomes, Limit: 7}
	for {
		page, next, err := s.Deliveries.List(t.Context(), "w", q)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, page...)
		if q.Cursor = next; next == "" {
			return all
		}
	}
}

func TestAnAcceptedDeliveryIsStoredWithItsPayloadAndItsRuns(t *testing.T) {
	t.Parallel()
	testkit.Stores(t, func(t *testing.T, s *store.Store) {
		addReceiver(t, s)
		run := newRun(nil)
		matches := []store.DeliveryMatch{
			{Automation: "a", UID: "u", WouldTrigger: true, RunID: run.ID},
			{Automation: "b", UID: "v", FailedAt: new("/x"), Reason: "no"},
		}
		d, got := mustDeliver(t, s, func(d *store.NewDelivery) {
			d.Body = []byte("\xff\x00 any bytes")
			d.Starts = []*store.NewRun{run}
			d.Matches = matches
		})
		if diff := cmp.Diff(store.Delivered{Outcome: penstock.OutcomeAccepted}, got); diff != "" {
			t.Error(diff)
		}
		logged, err := s.Deliveries.Find(t.Context(), "w", d.ID)
		if err != nil {
			t.Fatal(err)
		}
		want := store.Delivery{
			ID: d.ID, WebhookUID: "w", Outcome: penstock.OutcomeAccepted, Label: "Accepted", Size: d.Size,
			ReceivedAt:     d.ReceivedAt,
			IdentitySource: penstock.IdentityPenstock, HTTPStatus: 202, Runs: []string{run.ID}, PayloadSHA256: d.PayloadSHA256,
			ClientIP: d.ClientIP, Matches: matches,
			Headers: map[string]string{"content-type": "application/json"}, Head: d.Body,
		}
		if diff := cmp.Diff(want, logged); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff([]store.Delivery{want}, theLog(t, s)); diff != "" {
			t.Error(diff)
		}
		if body, err := s.Deliveries.Payload(t.Context(), d.ID); err != nil || string(body) != string(d.Body) {
			t.Errorf("payload %q, %v", body, err)
		}
		if size, raw, err := s.Deliveries.PayloadSizes(t.Context(), d.ID); err != nil || size != d.Size || raw != 0 {
			t.Errorf("sizes %d and %d, %v", size, raw, err)
		}
		stored, err := s.Runs.Find(t.Context(), store.DefaultTeam, run.ID)
		if err != nil || stored.State != penstock.StateQueued {
			t.Errorf("run %+v, %v", stored, err)
		}
		if claimed, _ := mustClaim(t, s, ""); claimed.ID != run.ID {
			t.Errorf("claimed %s, want %s", claimed.ID, run.ID)
		}
		if _, err := s.Deliveries.Find(t.Context(), "another", d.ID); penstock.CodeOf(err) != penstock.CodeNotFound {
			t.Errorf("of another webhook: %v", err)
		}
	})
}

func TestOfManyEqualDeliveriesOneIsAccepted(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, url string) {
		stores := []*store.Store{testkit.OpenStore(t, url), testkit.OpenStore(t, url)} // as two processes
		addReceiver(t, stores[0])
		const many = 100
		var together sync.WaitGroup
		results := make([]store.Delivered, many)
		ids := make([]string, many)
		for i := range many {
			together.Go(func() {
				d := newDelivery(func(d *store.NewDelivery) {
					identify(d, "the same", false)
					d.Starts = []*store.NewRun{newRun(nil)}
				})
				ids[i] = d.ID
				var err error
				if results[i], err = stores[i%2].Deliveries.Deliver(t.Context(), d); err != nil {
					t.Error(err)
				}
			})
		}
		together.Wait()
		accepted := ""
		for i, r := range results {
			if r.Outcome == penstock.OutcomeAccepted {
				if accepted != "" {
					t.Error("two were accepted")
				}
				accepted = ids[i]
			}
		}
		for _, r := range results {
			if r.Outcome == penstock.OutcomeDuplicate && r.DuplicateOf != accepted {
				t.Errorf("a duplicate of %q, want of %q", r.DuplicateOf, accepted)
			}
		}
		list, err := stores[0].Runs.List(t.Context(), store.Viewer{Team: store.DefaultTeam, All: true}, penstock.RunQuery{})
		if err != nil || len(list.Rows) != 1 {
			t.Errorf("%d runs, want 1 (%v)", len(list.Rows), err)
		}
		if n := len(theLog(t, stores[0], penstock.OutcomeDuplicate)); n != many-1 {
			t.Errorf("%d duplicates in the log, want %d", n, many-1)
		}
		for _, d := range theLog(t, stores[0], penstock.OutcomeDuplicate) {
			if len(d.Runs)+len(d.Matches) > 0 || d.DuplicateOf != accepted {
				t.Fatalf("a duplicate in the log: %+v", d)
			}
		}
	})
}

func TestIdentities(t *testing.T) {
	t.Parallel()
	testkit.Stores(t, func(t *testing.T, s *store.Store) {
		addReceiver(t, s)
		another := addWebhook(t, s, "x")
		body := func(text string) []byte { return []byte(`{"text":"` + text + `"}`) }
		first, _ := mustDeliver(t, s, func(d *store.NewDelivery) { d.Body = body("1"); identify(d, "id 1", true) })
		for _, test := range []struct {
			name   string
			change func(*store.NewDelivery)
			want   penstock.Outcome
			reason string
		}{
			{
				"the same again", func(d *store.NewDelivery) { d.Body = body("1"); identify(d, "id 1", true) },
				penstock.OutcomeDuplicate, "",
			},
			{
				"the same id with another body", func(d *store.NewDelivery) { d.Body = body("2"); identify(d, "id 1", true) },
				penstock.OutcomeDuplicate, "",
			},
			{
				"that body with an id of its own: the claim was given back",
				func(d *store.NewDelivery) { d.Body = body("2"); identify(d, "id 2", true) }, penstock.OutcomeAccepted, "",
			},
			{
				"signed bytes under a new id", func(d *store.NewDelivery) { d.Body = body("1"); identify(d, "id 3", true) },
				penstock.OutcomeDuplicate, store.ReasonReplayed,
			},
			{
				"that id with other bytes: the claim was given back",
				func(d *store.NewDelivery) { d.Body = body("3"); identify(d, "id 3", true) }, penstock.OutcomeAccepted, "",
			},
			{
				"without a guard the bytes do not matter",
				func(d *store.NewDelivery) { d.Body = body("1"); identify(d, "id 4", false) }, penstock.OutcomeAccepted, "",
			},
			{"another webhook", func(d *store.NewDelivery) {
				d.WebhookUID, d.WebhookNumber = another.UID, another.Number
				d.Body = body("1")
				identify(d, "id 1", true)
			}, penstock.OutcomeAccepted, ""},
			{"another source", func(d *store.NewDelivery) {
				d.IdentitySource = penstock.IdentityHeader
				d.Body = body("5")
				identify(d, "id 1", true)
			}, penstock.OutcomeAccepted, ""},
			{
				"no identity at all", func(d *store.NewDelivery) { d.Body, d.Identity = body("1"), "" }, penstock.OutcomeAccepted,
				"",
			},
		} {
			d, got := mustDeliver(t, s, test.change)
			want := store.Delivered{Outcome: test.want}
			if test.want == penstock.OutcomeDuplicate {
				want.DuplicateOf = first.ID
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s: %s", test.name, diff)
			}
			logged, err := s.Deliveries.Find(t.Context(), d.WebhookUID, d.ID)
			if err != nil || logged.Outcome != test.want || logged.Reason != test.reason {
				t.Errorf("%s: logged %s %q, want %s %q (%v)", test.name, logged.Outcome, logged.Reason, test.want, test.reason, err)
			}
			if _, err := s.Deliveries.Payload(t.Context(), d.ID); (err == nil) != (test.want == penstock.OutcomeAccepted) {
				t.Errorf("%s: payload: %v", test.name, err)
			}
		}
	})
}

func TestAnExpiredIdentityIsClaimedAgain(t *testing.T) {
	t.Parallel()
	testkit.Stores(t, func(t *testing.T, s *store.Store) {
		now := penstock.Now()
		at := func(after time.Duration) (*store.NewDelivery, store.Delivered) {
			return mustDeliver(t, s, func(d *store.NewDelivery) {
				identify(d, "body", false)
				d.IdentitySource, d.ReceivedAt = penstock.IdentityBody, now.Add(after)
				d.IdentityUntil = d.ReceivedAt.Add(time.Hour)
			})
		}
		first, _ := at(0)
		if _, got := at(59 * time.Minute); got.DuplicateOf != first.ID {
			t.Errorf("within the window: %+v", got)
		}
		second, got := at(60 * time.Minute)
		if got.Outcome != penstock.OutcomeAccepted {
			t.Errorf("after the window: %+v", got)
		}
		if _, got := at(119 * time.Minute); got.DuplicateOf != second.ID {
			t.Errorf("within the window of the second: %+v, want a duplicate of %s", got, second.ID)
		}
	})
}

// Of concurrent deliveries, each id and each signed body is accepted once.
func TestConcurrentClaimsInOneBatch(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, url string) {
		stores := []*store.Store{testkit.OpenStore(t, url), testkit.OpenStore(t, url)}
		type one struct {
			d         *store.NewDelivery
			id, bytes int
			got       store.Delivered
		}
		all := make([]one, 300)
		var together sync.WaitGroup
		for i := range all {
			all[i].id, all[i].bytes = i%17, i%23
			all[i].d = newDelivery(func(d *store.NewDelivery) {
				d.Body = strconv.AppendInt(nil, int64(all[i].bytes), 10)
				identify(d, strconv.Itoa(all[i].id), true)
			})
			together.Go(func() {
				var err error
				if all[i].got, err = stores[i%2].Deliveries.Deliver(t.Context(), all[i].d); err != nil {
					t.Error(err)
				}
			})
		}
		together.Wait()
		ids, bytes, accepted := map[int]bool{}, map[int]bool{}, map[string]one{}
		for _, o := range all {
			if o.got.Outcome != penstock.OutcomeAccepted {
				continue
			}
			if ids[o.id] || bytes[o.bytes] {
				t.Errorf("id %d or body %d was accepted twice", o.id, o.bytes)
			}
			ids[o.id], bytes[o.bytes], accepted[o.d.ID] = true, true, o
		}
		for _, o := range all {
			if o.got.Outcome != penstock.OutcomeDuplicate {
				continue
			}
			of, there := accepted[o.got.DuplicateOf]
			if !there || of.id != o.id && of.bytes != o.bytes {
				t.Errorf("id %d, body %d is a duplicate of %+v", o.id, o.bytes, of)
			}
		}
		if len(ids) != 17 { // each body is free for some id as long as there are more bodies than ids
			t.Logf("%d ids were accepted", len(ids))
		}
	})
}

func TestDeliveryCheckedAgainstAnOldVersionIsRejected(t *testing.T) {
	t.Parallel()
	testkit.Stores(t, func(t *testing.T, s *store.Store) {
		addReceiver(t, s)
		if err := s.Write(
			t.Context(), func(tx *store.Tx) error { return tx.Changed(t.Context(), store.DefaultTeam) },
		); err != nil {
			t.Fatal(err)
		}
		d := newDelivery(nil)
		if _, err := s.Deliveries.Deliver(t.Context(), d); !errors.Is(err, store.ErrStale) {
			t.Errorf("got %v, want ErrStale", err)
		}
		if got := theLog(t, s); len(got) != 0 {
			t.Errorf("logged: %+v", got)
		}
		d.Version = 2
		if got, err := s.Deliveries.Deliver(t.Context(), d); err != nil || got.Outcome != penstock.OutcomeAccepted {
			t.Errorf("got %+v, %v", got, err)
		}
	})
}

func TestTheRateHoldsOverAllReplicas(t *testing.T) {
	t.Parallel()
	for name, limit := range map[string]int{"low": 20, "high": 1200} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rateHolds(t, limit, limit+limit/2)
		})
	}
}

func rateHolds(t *testing.T, limit, many int) {
	testkit.Engines(t, func(t *testing.T, url string) {
		stores := []*store.Store{testkit.OpenStore(t, url), testkit.OpenStore(t, url)}
		addReceiver(t, stores[0])
		var mu sync.Mutex
		admitted, begun := 0, time.Now().Add(-2*time.Millisecond) // the database keeps milliseconds
		var together sync.WaitGroup
		for i := range many {
			together.Go(func() {
				got, err := stores[i%2].Deliveries.Deliver(t.Context(), newDelivery(func(d *store.NewDelivery) {
					d.Rate, d.Last, d.Starts = limit, true, []*store.NewRun{newRun(nil)}
					if i%3 == 0 {
						d.Outcome, d.Identity, d.Logged, d.Starts = penstock.OutcomeRejectedJSON, "", 5, nil
					}
				}))
				mu.Lock()
				defer mu.Unlock()
				switch {
				case err != nil:
					t.Error(err)
				case !got.Limited:
					admitted++
				case got.Wait < time.Minute-time.Since(begun) || got.Wait > 61*time.Second:
					t.Errorf("told to wait %s", got.Wait)
				}
			})
		}
		together.Wait()
		if admitted != limit {
			t.Errorf("%d were admitted, want %d", admitted, limit)
		}
		if n := len(theLog(t, stores[0], penstock.OutcomeRejectedJSON)); n > 5 {
			t.Errorf("%d rejections were logged, want at most 5", n)
		}
		if _, got := mustDeliver(
			t, stores[0], func(d *store.NewDelivery) { d.Rate, d.WebhookUID = limit, "another" },
		); got.Limited {
			t.Error("another webhook was limited")
		}
		if _, got := mustDeliver(t, stores[0], nil); got.Limited {
			t.Error("a delivery without a rate was limited")
		}
	})
}

func TestRejectionsAreLoggedUpToALimitAndCountedBeyond(t *testing.T) {
	t.Parallel()
	testkit.Stores(t, func(t *testing.T, s *store.Store) {
		addReceiver(t, s)
		begun := time.Now().Add(-2 * time.Millisecond) // the database keeps milliseconds
		reject := func(o penstock.Outcome) store.Delivered {
			_, got := mustDeliver(t, s, func(d *store.NewDelivery) {
				d.Outcome, d.Reason, d.HTTPStatus, d.Identity, d.Logged = o, "mismatch", 401, "", 3
			})
			return got
		}
		for range 3 {
			if got := reject(penstock.OutcomeRejectedAuth); got.Unlogged {
				t.Error("not logged")
			}
		}
		if got := reject(penstock.OutcomeRejectedAuth); !got.Unlogged || got.Limited ||
			got.Wait < time.Minute-time.Since(begun) {
			t.Errorf("the fourth: %+v", got)
		}
		if got := reject(penstock.OutcomeRejectedSize); got.Unlogged {
			t.Error("another outcome was not logged")
		}
		if n := len(theLog(t, s, penstock.OutcomeRejectedAuth)); n != 3 {
			t.Errorf("%d are logged, want 3", n)
		}
	})
}

func TestTheLogIsPagedNewestFirst(t *testing.T) {
	t.Parallel()
	testkit.Stores(t, func(t *testing.T, s *store.Store) {
		addReceiver(t, s)
		outcomes := penstock.Outcomes()
		var want []string
		byOutcome := map[penstock.Outcome][]string{}
		for i := range 40 {
			d, _ := mustDeliver(t, s, func(d *store.NewDelivery) {
				d.Outcome, d.Identity = outcomes[i*7%len(outcomes)], ""
			})
			want = append(want, d.ID)
			byOutcome[d.Outcome] = append(byOutcome[d.Outcome], d.ID)
		}
		ids := func(list []store.Delivery) []string {
			ids := idsOf(list)
			slices.Reverse(ids)
			return ids
		}
		if diff := cmp.Diff(want, ids(theLog(t, s))); diff != "" {
			t.Error(diff)
		}
		for o, want := range byOutcome {
			if diff := cmp.Diff(want, ids(theLog(t, s, o))); diff != "" {
				t.Errorf("%s: %s", o, diff)
			}
		}
		_, next, err := s.Deliveries.List(t.Context(), "w", penstock.DeliveryQuery{Limit: 1})
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := s.Deliveries.List(
			t.Context(), "w", penstock.DeliveryQuery{Limit: 1, Cursor: next, Outcomes: outcomes[:1]},
		); penstock.CodeOf(err) != penstock.CodeInvalidRequest {
			t.Errorf("the cursor of another list: %v", err)
		}
		raw, err := base64.RawURLEncoding.DecodeString(next)
		if err != nil {
			t.Fatal(err)
		}
		forged := base64.RawURLEncoding.EncodeToString([]byte(strings.Replace(string(raw), `"i":"`, `"i":"x`, 1)))
		if _, _, err := s.Deliveries.List(
			t.Context(), "w", penstock.DeliveryQuery{Limit: 1, Cursor: forged},
		); penstock.CodeOf(err) != penstock.CodeInvalidRequest {
			t.Errorf("a cursor that was changed: %v", err)
		}
	})
}

func TestClearingTheLog(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, url string) {
		s := testkit.OpenStore(t, url)
		addReceiver(t, s)
		week := penstock.Now().Add(-7 * 24 * time.Hour)
		var ids []string
		deliver := func(at penstock.Time, change func(*store.NewDelivery)) {
			d, _ := mustDeliver(t, s, func(d *store.NewDelivery) {
				d.ID, d.ReceivedAt = idAt(at), at
				d.Body = []byte(d.ID)
				identify(d, d.ID, true)
				if change != nil {
					change(d)
				}
			})
			ids = append(ids, d.ID)
		}
		for i := range 30 { // old
			deliver(week.Add(time.Duration(i-100)*time.Second), func(d *store.NewDelivery) {
				if i == 3 {
					run := newRun(nil)
					d.Starts = []*store.NewRun{run}
					d.Matches = []store.DeliveryMatch{
						{Automation: `"run_id":"`, UID: "u", WouldTrigger: true, RunID: run.ID},
					}
				}
				if i == 4 {
					d.Matches = []store.DeliveryMatch{{Automation: `"run_id":"x`, UID: "u"}}
				}
			})
		}
		for i := range 10 { // recent
			deliver(week.Add(time.Duration(i+1)*time.Second), nil)
		}
		clearAll := func(newest int) {
			keep := store.Keep{Newest: newest, Since: week}
			for {
				n, err := s.Deliveries.ClearLog(t.Context(), "w", penstock.OutcomeAccepted, keep, 7)
				if err != nil {
					t.Fatal(err)
				}
				if n == 0 {
					return
				}
			}
		}
		left := func() int { return len(theLog(t, s)) }
		if clearAll(50); left() != 40 {
			t.Errorf("%d are left, want all 40: they are the newest 50", left())
		}
		if clearAll(25); left() != 25 {
			t.Errorf("%d are left, want the newest 25", left())
		}
		if clearAll(5); left() != 10 {
			t.Errorf("%d are left, want the 10 of the last week", left())
		}
		for i, id := range ids {
			_, err := s.Deliveries.Payload(t.Context(), id)
			if kept := i >= 30 || i == 3; kept != (err == nil) {
				t.Errorf("payload %d: %v", i, err)
			}
		}
		// A forgotten delivery is accepted again, a remembered one is not.
		if _, got := mustDeliver(
			t, s, func(d *store.NewDelivery) { d.Body = []byte(ids[0]); identify(d, ids[0], true) },
		); got.Outcome != penstock.OutcomeAccepted {
			t.Errorf("an identity outlived its entry: %+v", got)
		}
		if _, got := mustDeliver(
			t, s, func(d *store.NewDelivery) { d.Body = []byte(ids[35]); identify(d, "new", true) },
		); got.DuplicateOf != ids[35] {
			t.Errorf("signed bytes were forgotten: %+v", got)
		}
	})
}

// A log may be kept for less than a week. Identities are known for a week.
func TestIdentitiesOutliveShorterLogs(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, url string) {
		s := testkit.OpenStore(t, url)
		addReceiver(t, s)
		deliver := func(at penstock.Time) store.Delivered {
			_, got := mustDeliver(t, s, func(d *store.NewDelivery) {
				d.ID, d.ReceivedAt = idAt(at), at
				identify(d, "same", true)
			})
			return got
		}
		clearBefore := func(at penstock.Time) {
			logs, err := s.Deliveries.Logs(t.Context(), "", at, 10)
			if err != nil || len(logs) != 1 {
				t.Fatalf("logs to clear %+v, %v", logs, err)
			}
			keep := store.Keep{Since: at}
			if _, err := s.Deliveries.ClearLog(t.Context(), "w", penstock.OutcomeAccepted, keep, 100); err != nil {
				t.Fatal(err)
			}
			if _, err := s.Deliveries.ClearIdentities(t.Context(), 100); err != nil {
				t.Fatal(err)
			}
			if logs, err := s.Deliveries.Logs(t.Context(), "", at, 10); err != nil || len(logs) != 0 {
				t.Fatalf("logs to clear %+v, %v, want none", logs, err)
			}
		}
		now := penstock.Now()
		deliver(now.Add(-time.Hour))
		clearBefore(now.Add(-time.Minute))
		if got := deliver(now); got.Outcome != penstock.OutcomeDuplicate {
			t.Errorf("an hour later %s, want a duplicate", got.Outcome)
		}
		testkit.Exec(
			t, url, fmt.Sprintf("UPDATE delivery_keys SET expires_at = expires_at - %d", store.IdentitiesFor.Milliseconds()),
		)
		if n, err := s.Deliveries.ClearIdentities(t.Context(), 100); err != nil || n != 2 {
			t.Errorf("%d identities were removed (%v), want that of the sender and that of the signed bytes", n, err)
		}
		if got := deliver(now); got.Outcome != penstock.OutcomeAccepted {
			t.Errorf("after a week %s, want it accepted", got.Outcome)
		}
	})
}

// A claim of signed bytes beyond the body expires by itself.
func TestGuardsEnd(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, url string) {
		s := testkit.OpenStore(t, url)
		at := penstock.Now()
		deliver := func(at penstock.Time, id string) store.Delivered {
			_, got := mustDeliver(t, s, func(d *store.NewDelivery) {
				d.ReceivedAt, d.Identity = at, id
				d.Guard, d.GuardUntil = store.IdentityOf(sha256.Sum256([]byte("signed"))), at.Add(time.Hour)
			})
			return got
		}
		for _, test := range []struct {
			after time.Duration
			id    string // "": the delivery has none
			want  penstock.Outcome
		}{
			{0, "", penstock.OutcomeAccepted},
			{time.Minute, "", penstock.OutcomeDuplicate},
			{time.Minute, "b", penstock.OutcomeDuplicate},
			{time.Hour, "b", penstock.OutcomeAccepted},
			{time.Hour + time.Minute, "", penstock.OutcomeDuplicate},
		} {
			if got := deliver(at.Add(test.after), test.id); got.Outcome != test.want {
				t.Errorf("%s later with the id %q: %s, want %s", test.after, test.id, got.Outcome, test.want)
			}
		}
		if n, err := s.Deliveries.ClearIdentities(t.Context(), 100); err != nil || n != 0 {
			t.Errorf("%d identities were removed (%v), want none yet", n, err)
		}
		testkit.Exec(
			t, url,
			fmt.Sprintf(
				"UPDATE delivery_keys SET expires_at = expires_at - %d WHERE expires_at > 0", 3*time.Hour.Milliseconds(),
			),
		)
		if n, err := s.Deliveries.ClearIdentities(t.Context(), 100); err != nil || n != 1 {
			t.Errorf("%d identities were removed (%v), want that of the signed bytes", n, err)
		}
	})
}

// idAt returns an id that was created at a time.
func idAt(at penstock.Time) string {
	digits := fmt.Sprintf("%012x", int64(at))
	return digits[:8] + "-" + digits[8:] + penstock.NewID()[13:]
}

func TestSendersAreKnownAndDeliveriesCounted(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, url string) {
		s := testkit.OpenStore(t, url)
		mustDeliver(t, s, func(d *store.NewDelivery) { d.Sender, d.Last = true, true })
		mustDeliver(t, s, func(d *store.NewDelivery) { d.Sender, d.Last = true, true })
		mustDeliver(t, s, func(d *store.NewDelivery) { d.ClientIP = "192.0.2.2" })
		for ip, want := range map[string]bool{"192.0.2.1": true, "192.0.2.2": false} {
			if got, err := s.Deliveries.KnownSender(t.Context(), "w", ip); err != nil || got != want {
				t.Errorf("%s: %v, %v, want %v", ip, got, err, want)
			}
		}
		quarter := store.Quarter(penstock.Now())
		if err := s.Deliveries.AddCounts(
			t.Context(),
			map[store.Count]int64{{"w", quarter, store.CountRateLimited}: 7, {"w", quarter - 1, store.CountAccepted}: 2},
		); err != nil {
			t.Fatal(err)
		}
		addReceiver(t, s)
		w, err := s.Webhooks.Find(t.Context(), store.DefaultTeam, "f", "w")
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(penstock.DeliveryCounts{Accepted: 5, RateLimited: 7}, w.Counts); diff != "" {
			t.Error(diff)
		}
		if w.LastDeliveryAt == 0 {
			t.Error("last_delivery_at is missing")
		}
		testkit.Exec(
			t, url,
			strings.ReplaceAll(
				"UPDATE webhook_senders SET last_at = last_at - DAY", "DAY", fmt.Sprint(25*time.Hour.Milliseconds()),
			),
		)
		if known, err := s.Deliveries.KnownSender(t.Context(), "w", "192.0.2.1"); err != nil || known {
			t.Errorf("known after a day: %v, %v", known, err)
		}
		testkit.Exec(
			t, url,
			strings.ReplaceAll(
				"UPDATE webhook_senders SET last_at = last_at - DAY", "DAY", fmt.Sprint(25*time.Hour.Milliseconds()),
			),
		)
		if err := s.Deliveries.ClearCounts(t.Context(), store.Log{WebhookUID: "w"}); err != nil {
			t.Fatal(err)
		}
		logs, err := s.Deliveries.Logs(t.Context(), "", 0, 10)
		if err != nil || len(logs) != 1 || logs[0].Deleted {
			t.Errorf("logs %+v, %v", logs, err)
		}
	})
}

// Only inserts keep their plans: the plan of a query becomes bad when its table grows.
func TestQueryPlansUseCurrentStatistics(t *testing.T) {
	t.Parallel()
	s := testkit.OpenStore(t, testkit.Postgres(t))
	planned := func(tx *store.Tx) {
		t.Helper()
		if mode, err := tx.Setting(t.Context(), "plan_cache_mode"); err != nil || mode != "force_custom_plan" {
			t.Errorf("queries are planned by %q, %v", mode, err)
		}
	}
	write(t, s, func(tx *store.Tx) error {
		_, err := tx.Deliveries().Deliver(t.Context(), newDelivery(nil))
		planned(tx)
		return err
	})
	mustDeliver(t, s, nil)
	write(t, s, func(tx *store.Tx) error {
		planned(tx)
		return nil
	})
}

// Two servers get the first events about many subjects at the same time. One of them starts the run on each, and the
// other event joins it.
func TestTwoServersMakeASubjectOnce(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, url string) {
		stores := []*store.Store{testkit.OpenStore(t, url), testkit.OpenStore(t, url)}
		addReceiver(t, stores[0])
		const subjects, each = 60, 4
		var together sync.WaitGroup
		for i := range subjects * each {
			claim := fmt.Sprint("claim ", i/each)
			together.Go(func() {
				started := newRun(func(r *store.NewRun) {
					r.WebhookUID = "w"
					r.Claim = &store.Claim{Key: claim, Subject: claim, Kind: store.OccurrenceDelivery}
				})
				_, err := stores[i%len(stores)].Deliveries.Deliver(t.Context(), newDelivery(func(d *store.NewDelivery) {
					d.Starts = []*store.NewRun{started}
					d.Matches = []store.DeliveryMatch{{RunID: started.ID, WouldTrigger: true}}
				}))
				if err != nil {
					t.Error(err)
				}
			})
		}
		together.Wait()
		for i := range subjects {
			run, err := stores[0].Subjects.RunOf(t.Context(), fmt.Sprint("claim ", i))
			if err != nil || run.EventsCount != each {
				t.Errorf("subject %d has %d events in run %q (%v)", i, run.EventsCount, run.ID, err)
			}
		}
	})
}
