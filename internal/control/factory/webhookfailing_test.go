package factory_test

import (
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/announce"
	"github.com/penstock-dev/penstock/internal/control/factory"
	"github.com/penstock-dev/penstock/internal/control/run"
	"github.com/penstock-dev/penstock/internal/control/store"
)

// receiving is a world with a webhook, whose deliveries come at times that a test says.
type receiving struct {
	*hooks
	webhook  penstock.Webhook
	endpoint string
	begin    penstock.Time // of a quarter of an hour
}

func withReceiving(t *testing.T, test func(w *receiving)) {
	t.Helper()
	withFactory(t, func(d *run.Deps) { d.TimesByHand, d.Webhooks.DeliveriesPerMinute = true, 0 }, func(h *hooks) {
		w := &receiving{hooks: h, webhook: h.hook(named("events", penstock.AuthToken))}
		w.endpoint = w.Listen(announce.EndpointRequest{}, store.EventWebhookFailing)
		quarter := penstock.Time((15 * time.Minute).Milliseconds())
		w.begin = penstock.Now() / quarter * quarter
		test(w)
	})
}

// comes delivers with outcomes, so long after the beginning.
func (w *receiving) comes(after time.Duration, outcomes ...penstock.Outcome) {
	w.T.Helper()
	for _, outcome := range outcomes {
		got, err := w.Deliver(w.webhook.UID, &factory.InboundDelivery{
			Outcome: outcome, ReceivedAt: w.begin.Add(after), Body: []byte(`{}`), Size: 2, ClientIP: "192.0.2.1", Secret: -1,
			IdentitySource: penstock.IdentityNone, Unverified: outcome == penstock.OutcomeRejectedAuth,
		})
		if err != nil || got.Outcome != outcome {
			w.T.Fatalf("got %+v, %v; want %s", got, err, outcome)
		}
	}
}

// want looks for webhooks that fail as four servers do, and compares how many messages there are.
func (w *receiving) want(after time.Duration, messages int) {
	w.T.Helper()
	var servers sync.WaitGroup
	for range 4 {
		servers.Go(func() {
			if err := w.Webhooks.AnnounceFailing(w.T.Context(), w.begin.Add(after)); err != nil {
				w.T.Error(err)
			}
		})
	}
	servers.Wait()
	if got := w.Heard(w.endpoint); len(got) != messages {
		w.T.Fatalf("after %s, endpoints heard of %+v, want %d messages", after, got, messages)
	}
}

const (
	forged  = penstock.OutcomeRejectedAuth
	invalid = penstock.OutcomeRejectedJSON
	worked  = penstock.OutcomeAccepted
)

// A sender whose secret was replaced is rejected for days, and nobody looks at the log.
func TestAWebhookThatRejectsAllIsAnnouncedOnce(t *testing.T) {
	withReceiving(t, func(w *receiving) {
		w.comes(0, forged, invalid, forged)
		w.comes(20*time.Minute, forged)
		w.want(20*time.Minute, 0)
		w.comes(21*time.Minute, forged)
		w.want(21*time.Minute, 1)
		want := penstock.EndpointData{
			FactoryUID: w.factory, WebhookUID: w.webhook.UID,
			URL: "/api/v1/factory/" + w.factory + "/webhooks/" + w.webhook.UID,
		}
		if diff := cmp.Diff(want, w.Heard(w.endpoint)[0].Data); diff != "" {
			w.T.Error(diff)
		}
		for day := range 3 { // it never works
			at := 21*time.Minute + time.Duration(day)*24*time.Hour
			w.comes(at, forged, forged, forged)
			w.comes(at+20*time.Minute, forged, forged, forged)
			w.want(at+20*time.Minute, 1)
		}
	})
}

func TestAWebhookThatWorksAgainCanBeAnnouncedAgain(t *testing.T) {
	withReceiving(t, func(w *receiving) {
		fails := func(at time.Duration) time.Duration {
			w.T.Helper()
			w.comes(at, forged, forged, forged)
			w.comes(at+20*time.Minute, forged, forged)
			return at + 20*time.Minute
		}
		w.want(fails(0), 1)
		w.comes(25*time.Minute, worked)
		w.want(fails(3*time.Hour), 1) // at most one a day
		w.want(fails(26*time.Hour), 2)
		w.want(fails(60*time.Hour), 2) // it has not worked since
	})
}

// Everybody who knows the address can send requests with a wrong signature, which must not become messages.
func TestStrangersDoNotMakeAWebhookFail(t *testing.T) {
	withReceiving(t, func(w *receiving) {
		flood := func(quarter int64, n int64) {
			w.T.Helper()
			if err := w.Deps.Store.Deliveries.AddCounts(w.T.Context(), map[store.Count]int64{
				{WebhookUID: w.webhook.UID, Quarter: store.Quarter(w.begin) + quarter, Kind: store.CountRejected}: n,
			}); err != nil {
				w.T.Fatal(err)
			}
		}
		flood(0, 1_000_000) // a burst
		w.want(0, 0)
		w.comes(16*time.Minute, worked)
		for quarter := range int64(4) {
			flood(quarter, 1_000_000) // for an hour, while its sender works
			w.want(time.Duration(quarter)*15*time.Minute, 0)
		}
		messages := 0
		for day := range 3 { // for days: at most one a day, although the sender works each day
			start := int64(1+day) * 96
			for quarter := range int64(4) {
				flood(start+quarter, 1_000_000)
			}
			at := time.Duration(start+3) * 15 * time.Minute
			for range 3 {
				if err := w.Webhooks.AnnounceFailing(w.T.Context(), w.begin.Add(at)); err != nil {
					w.T.Fatal(err)
				}
			}
			w.comes(at+time.Minute, worked)
			messages = len(w.Heard(w.endpoint))
			if messages > day+1 {
				w.T.Fatalf("on day %d there are %d messages", day, messages)
			}
		}
		if messages == 0 {
			w.T.Error("a webhook that accepted nothing for an hour was not announced")
		}
	})
}

func TestADisabledWebhookDoesNotFail(t *testing.T) {
	withReceiving(t, func(w *receiving) {
		w.comes(0, forged, forged, forged)
		w.comes(20*time.Minute, forged, forged)
		if _, err := w.Resources.UpdateWebhook(
			w.T.Context(), w.Admin, w.factory, w.webhook.UID, factory.WebhookRequest{Enabled: new(false)},
		); err != nil {
			w.T.Fatal(err)
		}
		w.want(20*time.Minute, 0)
	})
}
