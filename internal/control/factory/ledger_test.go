package factory_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/factory"
	"github.com/penstock-dev/penstock/internal/control/run"
	"github.com/penstock-dev/penstock/internal/control/store"
)

// ledger is a world in which everything happens that the ledger lists.
type ledger struct {
	*topics
	orders  penstock.Webhook
	byHand  penstock.Automation
	told    []string // what has happened, in order: kind, fate, and a part of the reason
	refused string   // the delivery that was rejected
}

func withLedger(t *testing.T, test func(w *ledger)) {
	t.Helper()
	rules := closable(false)
	rules.WhenBusy = new(penstock.WhenBusyReplace)
	withSubjects(t, rules, func(topics *topics) {
		w := &ledger{topics: topics}
		if _, err := w.Resources.UpdateAutomation(
			w.T.Context(), w.Admin, w.factory, w.automation.UID,
			factory.AutomationRequest{Triggers: on(`"opened", "pushed", "reopened", "closed"`)},
		); err != nil {
			t.Fatal(err)
		}
		w.tick()
		w.deliveries()
		w.aboutPullRequest()
		w.calls()
		test(w)
	})
}

func (w *ledger) tells(lines ...string) { w.told = append(w.told, lines...) }

func (w *ledger) tick() {
	w.T.Helper()
	s, first := w.ticking(func(r *factory.ScheduleRequest) { r.Overlap = penstock.OverlapSkip })
	w.fire(first)
	w.fire(first.Add(time.Hour))
	w.tells("tick started", "tick skipped has not ended")
	if err := w.Schedules.Delete(w.T.Context(), w.Admin, s.ID); err != nil {
		w.T.Fatal(err)
	}
}

// sends delivers to the webhook of orders.
func (w *ledger) sends(change func(*factory.InboundDelivery)) string {
	w.T.Helper()
	d := factory.InboundDelivery{
		Outcome: penstock.OutcomeAccepted, ReceivedAt: penstock.Now(), Body: []byte(`{"type": "order.created"}`),
		Size: 25, ClientIP: "192.0.2.1", Secret: -1, IdentitySource: penstock.IdentityHeader, Identity: penstock.NewID(),
	}
	change(&d)
	got, err := w.Deliver(w.orders.UID, &d)
	if err != nil {
		w.T.Fatal(err)
	}
	return got.DeliveryID
}

// change makes an automation of the webhook of orders, and changes it.
func (w *ledger) change(name string, req factory.AutomationRequest) {
	w.T.Helper()
	a := w.automate(name, "orders", "")
	if _, err := w.Resources.UpdateAutomation(w.T.Context(), w.Admin, w.factory, a.UID, req); err != nil {
		w.T.Fatal(err)
	}
}

func (w *ledger) deliveries() {
	w.T.Helper()
	w.orders = w.hook(named("orders", penstock.AuthToken))
	w.sends(func(*factory.InboundDelivery) {})
	w.tells("delivery no_match No automation waited")
	w.byHand = w.automate("all", "orders", "")
	environment := w.CreateEnvironment(penstock.EnvironmentConfig{Name: "build"})
	w.change("broken", factory.AutomationRequest{EnvironmentID: &environment.UID})
	w.exec("UPDATE environments SET deleted_at = 1")
	w.change("paused", factory.AutomationRequest{HealthRequest: factory.HealthRequest{PauseAfterFailures: new(1)}})
	w.exec("UPDATE health SET paused_at = 1, failures = 1")
	w.exec("UPDATE teams SET version = version + 1")
	w.automate("picky", "orders", `{"type": ["order.refunded"]}`)
	first := w.sends(func(d *factory.InboundDelivery) { d.Identity = "one" })
	w.tells(
		"delivery started", "delivery failed "+environment.UID, "delivery skipped paused",
		"delivery no_match `type` is `order.created`; expects `order.refunded`",
	)
	w.sends(func(d *factory.InboundDelivery) { d.Identity = "one" })
	w.tells("delivery duplicate " + first)
	w.sends(func(d *factory.InboundDelivery) { d.Handshake = true })
	w.refused = w.sends(func(d *factory.InboundDelivery) {
		d.Outcome, d.Unverified, d.Detail = penstock.OutcomeRejectedAuth, true, "The signature does not match."
		d.IdentitySource = penstock.IdentityNone
	})
	w.tells("delivery rejected does not match")
	w.sends(func(d *factory.InboundDelivery) { d.Body = []byte("{") })
	w.tells("delivery rejected")
}

func (w *ledger) aboutPullRequest() {
	w.T.Helper()
	w.act("comment", 1)
	w.act("labeled", 2)
	w.act("opened", 3)
	w.act("pushed", 4)
	w.tells(
		"delivery skipped no run works on its subject", "delivery no_match `action` is `labeled`", "delivery started",
		"delivery merged_into",
	)
	for range w.runs() { // those before it, too
		w.Work()
	}
	w.act("pushed", 5)
	w.act("pushed", 6)
	w.after(0)
	w.tells("delivery superseded replaced it", "delivery continued")
	w.act("pushed", 7)
	w.act("closed", 8)
	w.act("reopened", 9)
	w.tells("delivery skipped closed the subject", "delivery skipped It closed the subject", "delivery waiting")
}

func (w *ledger) calls() {
	w.T.Helper()
	w.Create(penstock.RunRequest{Prompt: "x"})
	w.tells("call started")
	w.Create(about("a", ""))
	w.Create(about("b", ""))
	w.tells("call started", "call merged_into")
	if _, err := w.Automations.Run(
		w.T.Context(), w.Admin, w.factory, w.byHand.UID, run.SourceAPI,
	); err != nil {
		w.T.Fatal(err)
	}
	w.tells("call started")
	for _, subject := range []string{"", "ENG-42"} {
		if _, err := w.Factories.Dispatch(
			w.T.Context(), w.Admin, w.factory, factory.DispatchRequest{Prompt: "x", Subject: subject}, run.SourceAPI,
		); err != nil {
			w.T.Fatal(err)
		}
		w.tells("dispatch started")
	}
}

// pages reads all pages of a size, and what was due in their order.
func (w *topics) pages(p penstock.Principal, q store.OccurrenceQuery) (all []store.Occurrence) {
	w.T.Helper()
	for {
		page, err := w.Schedules.Occurrences(w.T.Context(), p, q)
		if err != nil {
			w.T.Fatal(err)
		}
		if q.Limit > 0 && len(page.Occurrences) > q.Limit {
			w.T.Fatalf("a page of %d has %d occurrences", q.Limit, len(page.Occurrences))
		}
		all = append(all, page.Occurrences...)
		if q.Cursor = page.PageInfo.NextCursor; q.Cursor == "" {
			return all
		}
	}
}

// The ledger has one row for each event and automation, with its fate and the explanation of the log, in pages of
// any size.
func TestTheLedgerHasEveryEvent(t *testing.T) {
	withLedger(t, func(w *ledger) {
		all := w.pages(w.Admin, store.OccurrenceQuery{Limit: 500})
		w.wantTold(all)
		for _, size := range []int{1, 2, 7} {
			if diff := cmp.Diff(all, w.pages(w.Admin, store.OccurrenceQuery{Limit: size})); diff != "" {
				t.Errorf("pages of %d, -want +got:\n%s", size, diff)
			}
		}
		seen := map[string]bool{}
		for _, o := range all {
			if seen[o.UID] || o.DueAt == 0 || (o.DecidedAt == 0) != (o.Fate == store.FateWaiting) {
				t.Errorf("the occurrence %+v", o)
			}
			seen[o.UID] = true
			if ran := o.Fate == store.FateStarted || o.Fate == store.FateMerged || o.Fate == store.FateContinued; ran !=
				(len(o.RunIDs) == 1) {
				t.Errorf("%s names the runs %v", o.Fate, o.RunIDs)
			}
			delivered := o.Kind == store.OccurrenceDelivery
			if (o.DeliveryID != "") != delivered || (o.WebhookUID != "") != delivered {
				t.Errorf("a %s has the delivery %q of %q", o.Kind, o.DeliveryID, o.WebhookUID)
			}
			wantSubject := o.Kind != store.OccurrenceTick && o.Fate != store.FateNoMatch &&
				o.WebhookUID == w.webhook.UID && !strings.Contains(o.Reason, "no run works")
			if wantSubject != (o.Subject == "acme/shop#7" && delivered) {
				t.Errorf("%s %s has the subject %q", o.Kind, o.Fate, o.Subject)
			}
		}
		w.wantFiltered(all)
	})
}

// wantTold compares occurrences, the newest one first, with what has happened. A delivery has one for each
// automation, in the order of their names.
func (w *ledger) wantTold(all []store.Occurrence) {
	w.T.Helper()
	if len(all) != len(w.told) {
		w.T.Errorf("got %d occurrences, want %d", len(all), len(w.told))
	}
	var got []store.Occurrence
	for i := len(all) - 1; i >= 0; i-- {
		at := len(got)
		for j := i; j > 0 && all[j].DeliveryID != "" && all[j-1].DeliveryID == all[j].DeliveryID; j-- {
			i--
		}
		got = append(got, all[i:i+len(all)-at-i]...)
	}
	for i, o := range got {
		want := strings.SplitN(w.told[min(i, len(w.told)-1)], " ", 3)
		if string(o.Kind) != want[0] || string(o.Fate) != want[1] || len(want) > 2 && !strings.Contains(o.Reason, want[2]) {
			w.T.Errorf("%d: got %s %s %q, want %q", i, o.Kind, o.Fate, o.Reason, want)
		}
	}
}

// wantFiltered compares what each filter chooses, in pages of 2, with what it should choose from all.
func (w *ledger) wantFiltered(all []store.Occurrence) {
	w.T.Helper()
	var queries []store.OccurrenceQuery
	for _, kind := range append(factory.OccurrenceKinds(), "") {
		for _, fate := range append(factory.Fates(), "") {
			queries = append(queries, store.OccurrenceQuery{Kind: kind, Fate: fate})
		}
	}
	for _, o := range all {
		for _, q := range []store.OccurrenceQuery{
			{AutomationUID: o.AutomationUID},
			{WebhookUID: o.WebhookUID},
			{ScheduleID: o.ScheduleID},
			{WebhookUID: o.WebhookUID, Fate: o.Fate, Kind: o.Kind},
			{AutomationUID: o.AutomationUID, Fate: o.Fate},
			{WebhookUID: o.WebhookUID, AutomationUID: o.AutomationUID},
		} {
			if !slices.Contains(queries, q) {
				queries = append(queries, q)
			}
		}
	}
	for _, q := range queries {
		var want []store.Occurrence
		for _, o := range all {
			if (q.Kind == "" || q.Kind == o.Kind) && (q.Fate == "" || q.Fate == o.Fate) &&
				(q.AutomationUID == "" || q.AutomationUID == o.AutomationUID) &&
				(q.WebhookUID == "" || q.WebhookUID == o.WebhookUID) && (q.ScheduleID == "" || q.ScheduleID == o.ScheduleID) {
				want = append(want, o)
			}
		}
		q.Limit = 2
		if diff := cmp.Diff(want, w.pages(w.Admin, q)); diff != "" {
			w.T.Errorf("%+v, -want +got:\n%s", q, diff)
		}
	}
}

// A key sees in the ledger only what it sees elsewhere.
func TestTheLedgerShowsNothingThatIsHiddenElsewhere(t *testing.T) {
	withLedger(t, func(w *ledger) {
		w.Create(penstock.RunRequest{Prompt: "mine", Team: new(false)})
		w.tells("call started")
		w.wantTold(w.pages(w.Admin, store.OccurrenceQuery{}))
		other := w.As("ada", penstock.ScopeRunsRead, penstock.ScopeFactoriesManage)
		w.told = w.told[:len(w.told)-1]
		w.wantTold(w.pages(other, store.OccurrenceQuery{}))
		reader := w.As("ada", penstock.ScopeRunsRead, penstock.ScopeFactoriesRead)
		w.told = slices.DeleteFunc(w.told, func(line string) bool { return strings.HasPrefix(line, "delivery") })
		w.wantTold(w.pages(reader, store.OccurrenceQuery{}))
		for _, q := range []store.OccurrenceQuery{{Kind: store.OccurrenceDelivery}, {WebhookUID: w.orders.UID}} {
			if _, err := w.Schedules.Occurrences(
				t.Context(), reader, q,
			); penstock.CodeOf(err) != penstock.CodeNotAuthorized {
				t.Errorf("%+v without the scope of the log: got %v", q, err)
			}
		}
		stranger := other
		stranger.Team, stranger.Scopes = "another", []penstock.Scope{penstock.ScopeAdmin}
		for _, q := range []store.OccurrenceQuery{{}, {WebhookUID: w.orders.UID}, {AutomationUID: w.automation.UID}} {
			if got := w.pages(stranger, q); len(got) != 0 {
				t.Errorf("another team sees %+v", got)
			}
		}
		if err := w.Resources.DeleteWebhook(t.Context(), w.Admin, w.factory, w.orders.UID); err != nil {
			t.Fatal(err)
		}
		for _, q := range []store.OccurrenceQuery{{}, {WebhookUID: w.orders.UID}} {
			for _, o := range w.pages(w.Admin, q) {
				if o.WebhookUID == w.orders.UID {
					t.Errorf("a delivery to a deleted webhook: %+v", o)
				}
			}
		}
	})
}

// A cursor stays valid while rows are added, and after its own row is gone.
func TestACursorOfTheLedgerStaysValid(t *testing.T) {
	withLedger(t, func(w *ledger) {
		for _, of := range []store.OccurrenceQuery{{}, {WebhookUID: w.orders.UID}} {
			all := w.pages(w.Admin, of)
			at := slices.IndexFunc(all, func(o store.Occurrence) bool { return o.Fate == store.FateRejected })
			first := of
			first.Limit = at + 1
			page, err := w.Schedules.Occurrences(t.Context(), w.Admin, first)
			if err != nil {
				t.Fatal(err)
			}
			last := page.Occurrences[at]
			w.exec("DELETE FROM deliveries WHERE id = '" + last.DeliveryID + "'")
			w.sends(func(*factory.InboundDelivery) {})
			rest := of
			rest.Cursor = page.PageInfo.NextCursor
			if diff := cmp.Diff(all[at+1:], w.pages(w.Admin, rest)); diff != "" {
				t.Errorf("%+v: the rest, -want +got:\n%s", of, diff)
			}
			for _, o := range w.pages(w.Admin, of) {
				if o.UID == last.UID {
					t.Error("a delivery is listed after retention has removed it")
				}
			}
			rest.Fate = store.FateStarted
			if _, err := w.Schedules.Occurrences(
				t.Context(), w.Admin, rest,
			); penstock.CodeOf(err) != penstock.CodeInvalidRequest {
				t.Errorf("a cursor of another query: got %v", err)
			}
		}
	})
}

// Events of the same millisecond are each listed once.
func TestTheLedgerHasNoTies(t *testing.T) {
	withLedger(t, func(w *ledger) {
		all := w.pages(w.Admin, store.OccurrenceQuery{})
		// The last digits stay, which differ: they count up within a process, or are random.
		for table, column := range map[string]string{
			"deliveries": "id", "occurrences": "uid", "subject_events": "uid",
		} {
			w.exec(fmt.Sprintf("UPDATE %s SET %s = '019c1f90-0000-7' || substr(%[2]s, 16)", table, column))
		}
		w.exec("UPDATE subject_events SET delivery_id = '019c1f90-0000-7' || substr(delivery_id, 16)")
		tied := w.pages(w.Admin, store.OccurrenceQuery{})
		if len(tied) != len(all) {
			t.Errorf("got %d occurrences, want %d", len(tied), len(all))
		}
		if diff := cmp.Diff(tied, w.pages(w.Admin, store.OccurrenceQuery{Limit: 1})); diff != "" {
			t.Errorf("pages of 1, -want +got:\n%s", diff)
		}
	})
}

// A page looks at a part of a log. What lies beyond it is on a later page, and so is what is older in other logs.
func TestThePagesOfALongLogMissNothing(t *testing.T) {
	withFactory(t, nil, func(h *hooks) {
		w := &topics{hooks: h, webhook: h.hook(named("events", penstock.AuthToken))}
		_, first := w.ticking(func(*factory.ScheduleRequest) {})
		rejected := func() {
			if _, err := w.Deliver(w.webhook.UID, &factory.InboundDelivery{
				Outcome: penstock.OutcomeRejectedAuth, ReceivedAt: penstock.Now(), ClientIP: "192.0.2.1", Secret: -1,
				IdentitySource: penstock.IdentityNone, Unverified: true,
			}); err != nil {
				t.Fatal(err)
			}
		}
		w.fire(first)
		rejected()
		w.Create(about("a", ""))
		var rows, calls []string
		for range 2500 {
			calls = append(calls, fmt.Sprintf(
				"('%s', 'gone', '%s', 1, 1, 'started', '', '', '', '', 'call')", penstock.NewID(), penstock.NewID(),
			))
			rows = append(rows, fmt.Sprintf(
				"((SELECT number FROM webhooks), 0, '%s', %d, 1, 202, '')", penstock.NewID(), penstock.Now(),
			))
		}
		w.exec("INSERT INTO deliveries (webhook, outcome, id, received_at, size, http_status, client_ip) VALUES " +
			strings.Join(rows, ", "))
		w.exec("INSERT INTO subject_events (uid, subject_uid, delivery_id, due_at, decided_at, fate, reason, run_id, " +
			"followup_id, paid_by, kind) VALUES " + strings.Join(calls, ", "))
		w.fire(first.Add(time.Hour))
		rejected()
		for fate, want := range map[store.Fate]int{store.FateStarted: 3, store.FateRejected: 2} {
			for _, q := range []store.OccurrenceQuery{{}, {Limit: 1}, {WebhookUID: w.webhook.UID}} {
				if q.Fate = fate; q.WebhookUID != "" && fate == store.FateStarted {
					want = 0
				}
				if got := w.pages(w.Admin, q); len(got) != want {
					t.Errorf("%+v: got %d occurrences, want %d", q, len(got), want)
				}
			}
		}
		if got := w.pages(w.Admin, store.OccurrenceQuery{Kind: store.OccurrenceCall}); len(got) != 1 {
			t.Errorf("got %d calls, want 1", len(got))
		}
		if got := w.pages(w.Admin, store.OccurrenceQuery{Limit: 500}); len(got) != 2505 {
			t.Errorf("got %d occurrences, want 2505", len(got))
		}
	})
}

// What became of a delivery about a subject is known only as long as the subject is: it is not said to have started
// a run.
func TestADeliveryAboutAForgottenSubjectHasNoRow(t *testing.T) {
	withLedger(t, func(w *ledger) {
		about := map[string]bool{}
		for _, o := range w.pages(w.Admin, store.OccurrenceQuery{Kind: store.OccurrenceDelivery}) {
			if o.Subject != "" && len(o.RunIDs) > 0 {
				about[o.DeliveryID+o.AutomationUID] = true
			}
		}
		if len(about) == 0 {
			w.T.Fatal("no delivery about a subject reached a run")
		}
		w.exec("DELETE FROM subject_events")
		w.exec("DELETE FROM subjects")
		for _, o := range w.pages(w.Admin, store.OccurrenceQuery{Kind: store.OccurrenceDelivery}) {
			if about[o.DeliveryID+o.AutomationUID] {
				w.T.Errorf("its subject is not kept: %+v", o)
			}
		}
	})
}
