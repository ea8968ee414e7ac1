package factory_test

import (
	"fmt"
	"io"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/factory"
	"github.com/penstock-dev/penstock/internal/control/run"
)

// arrive delivers a body to a webhook like its ingress.
func (h *hooks) arrive(uid, body string) factory.DeliveryResult {
	h.T.Helper()
	result, err := h.tryArrive(uid, body)
	if err != nil {
		h.T.Fatal(err)
	}
	return result
}

func (h *hooks) tryArrive(uid, body string, paidBy ...string) (factory.DeliveryResult, error) {
	return h.Deliver(uid, &factory.InboundDelivery{
		Outcome: penstock.OutcomeAccepted, ReceivedAt: penstock.Now(), Body: []byte(body), Size: int64(len(body)),
		ClientIP: "192.0.2.1", Secret: -1,
		IdentitySource: penstock.IdentityBody, PaidBy: paidBy,
	})
}

// automate starts runs for deliveries to a webhook, given by name or uid.
func (h *hooks) automate(name, webhook, filter string) penstock.Automation {
	h.T.Helper()
	if filter != "" {
		filter = `, "payload": ` + filter
	}
	a, err := h.Resources.CreateAutomation(h.T.Context(), h.Admin, h.factory, factory.AutomationRequest{
		Name: &name, Prompt: new("look"), Triggers: &[]penstock.Trigger{{
			Provider: penstock.ProviderWebhook, Event: penstock.EventReceived,
			Filter: []byte(`{"webhook_ids": ["` + webhook + `"]` + filter + `}`),
		}},
	})
	if err != nil {
		h.T.Fatal(err)
	}
	return a
}

// The server never clears an entry too early, and a run keeps its payload.
func TestOldDeliveriesAreCleared(t *testing.T) {
	withFactory(t, func(o *run.Deps) {
		o.Webhooks.KeepDeliveries, o.Webhooks.KeepDeliveriesFor = 5, time.Millisecond
	}, func(h *hooks) {
		w := h.hook(named("orders", penstock.AuthToken))
		h.automate("first", "orders", `{"n": [0]}`)
		var ids []string
		for n := range 12 {
			ids = append(ids, h.arrive(w.UID, fmt.Sprintf(`{"n": %d}`, n)).DeliveryID)
		}
		a := h.Claim()
		last := penstock.Now()
		for penstock.Now() <= last+5 { // the newest are old as well
			if err := h.Ready(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if err := h.ClearLogs(t.Context()); err != nil {
			t.Fatal(err)
		}
		page, err := h.Deliveries.List(t.Context(), h.Admin, h.factory, w.UID, penstock.DeliveryQuery{})
		if err != nil {
			t.Fatal(err)
		}
		var left []string
		for _, d := range page.Deliveries {
			left = append([]string{d.ID}, left...)
		}
		if diff := cmp.Diff(ids[7:], left); diff != "" {
			t.Error(diff)
		}
		file, err := h.Executions.Control().Open(t.Context(), a.Lease, a.Files[0])
		if err != nil {
			t.Fatalf("the run has lost its payload: %v", err)
		}
		defer file.Close()
		if body, err := io.ReadAll(file); err != nil || string(body) != `{"n": 0}` {
			t.Errorf("the payload is %s (%v)", body, err)
		}
		for _, n := range []int{0, 11} { // whether or not its entry exists, for a week
			if r := h.arrive(w.UID, fmt.Sprintf(`{"n": %d}`, n)); r.DuplicateOf != ids[n] {
				t.Errorf("what is remembered of %d: %+v", n, r)
			}
		}
		// Nothing of a deleted webhook has to stay.
		if err := h.Resources.DeleteWebhook(t.Context(), h.Admin, h.factory, w.UID); err != nil {
			t.Fatal(err)
		}
		if _, err := h.Deliveries.List(
			t.Context(), h.Admin, h.factory, w.UID, penstock.DeliveryQuery{},
		); penstock.CodeOf(err) != penstock.CodeNotFound {
			t.Errorf("the log of a deleted webhook: %v", err)
		}
	})
}

func TestOnlyItsTeamAndFactorySeeALog(t *testing.T) {
	withFactory(t, nil, func(h *hooks) {
		w := h.hook(named("orders", penstock.AuthToken))
		id := h.arrive(w.UID, "1").DeliveryID
		other := h.NewFactory("other")
		stranger := penstock.Principal{
			Team: "another", Actor: penstock.Actor{Type: "user", UID: "eve"}, Scopes: []penstock.Scope{penstock.ScopeAdmin},
		}
		for name, try := range map[string]struct {
			p       penstock.Principal
			factory string
			want    penstock.Code
		}{
			"another factory": {h.Admin, other, penstock.CodeNotFound},
			"another team":    {stranger, h.factory, penstock.CodeNotFound},
			"without scope": {
				h.As("ada", penstock.ScopeRunsWrite, penstock.ScopeFactoriesRead), h.factory, penstock.CodeNotAuthorized,
			},
			"with the scope": {h.As("ada", penstock.ScopeFactoriesManage), h.factory, ""},
		} {
			_, list := h.Deliveries.List(t.Context(), try.p, try.factory, w.UID, penstock.DeliveryQuery{})
			_, one := h.Deliveries.Read(t.Context(), try.p, try.factory, w.UID, id)
			_, payload := h.Deliveries.Payload(t.Context(), try.p, try.factory, w.UID, id)
			_, replay := h.Deliveries.Replay(t.Context(), try.p, try.factory, w.UID, id)
			for what, err := range map[string]error{"list": list, "read": one, "payload": payload, "replay": replay} {
				if penstock.CodeOf(err) != try.want {
					t.Errorf("%s, %s: got %v, want %q", name, what, err, try.want)
				}
			}
		}
	})
}

// A delivery is evaluated against the current state, not a cached one.
func TestPlansAreCurrentInTheTransaction(t *testing.T) {
	withFactory(t, func(o *run.Deps) { o.Webhooks.DeliveriesPerMinute = 0 }, func(h *hooks) {
		w := h.hook(named("orders", penstock.AuthToken))
		auto := h.automate("all", w.UID, "")
		stop := make(chan struct{})
		var together sync.WaitGroup
		for i := range 4 {
			together.Go(func() {
				for n := 0; ; n++ {
					select {
					case <-stop:
						return
					default:
					}
					if _, err := h.tryArrive(w.UID, fmt.Sprintf("[%d, %d]", i, n)); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		for n := range 30 {
			enabled := n%2 == 1
			if _, err := h.Resources.UpdateAutomation(
				t.Context(), h.Admin, h.factory, auto.UID, factory.AutomationRequest{Enabled: &enabled},
			); err != nil {
				t.Fatal(err)
			}
			r := h.arrive(w.UID, fmt.Sprint(n))
			d, err := h.Deliveries.Read(t.Context(), h.Admin, h.factory, w.UID, r.DeliveryID)
			if err != nil || (len(d.Runs) == 1) != enabled {
				t.Errorf("enabled %v: %d runs (%v)", enabled, len(d.Runs), err)
			}
		}
		close(stop)
		together.Wait()
	})
}

func TestTheTitleOfARunShowsThePayload(t *testing.T) {
	withFactory(t, nil, func(h *hooks) {
		w := h.hook(named("orders", penstock.AuthToken))
		request := factory.AutomationRequest{
			Name: new("ship"), Prompt: new("look"), Title: new("Ship {{data.order}} for {{ data.customer.name }}"),
			Triggers: &[]penstock.Trigger{{
				Provider: penstock.ProviderWebhook, Event: penstock.EventReceived,
				Filter: []byte(`{"webhook_ids": ["orders"]}`),
			}},
		}
		if _, err := h.Resources.CreateAutomation(t.Context(), h.Admin, h.factory, request); err != nil {
			t.Fatal(err)
		}
		request.Name, request.Title = new("empty"), new("{{data.nothing}}")
		if _, err := h.Resources.CreateAutomation(t.Context(), h.Admin, h.factory, request); err != nil {
			t.Fatal(err)
		}
		request.Name, request.Title = new("bad"), new("{{data")
		if _, err := h.Resources.CreateAutomation(
			t.Context(), h.Admin, h.factory, request,
		); penstock.CodeOf(err) != penstock.CodeInvalidRequest {
			t.Errorf("a template without an end: got %v", err)
		}
		payload := `{"data": {"order": 4711, "customer": {"name": "{{data.order}}\n<b>Ada</b>"}}}`
		d, err := h.Deliveries.Read(t.Context(), h.Admin, h.factory, w.UID, h.arrive(w.UID, payload).DeliveryID)
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]string{}
		for _, m := range d.Matches {
			got[m.Automation] = h.Get(m.RunID).Title
		}
		want := map[string]string{"ship": "Ship 4711 for {{data.order}} <b>Ada</b>", "empty": "empty"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	})
}

func TestADeliveryOfManyAutomations(t *testing.T) {
	withFactory(t, nil, func(h *hooks) {
		w := h.hook(named("orders", penstock.AuthToken))
		for n := range 20 {
			h.automate(fmt.Sprintf("number-%d", n), w.UID, fmt.Sprintf(`{"n": {"not_in": [%d]}}`, n))
		}
		d, err := h.Deliveries.Read(t.Context(), h.Admin, h.factory, w.UID, h.arrive(w.UID, `{"n": 7}`).DeliveryID)
		if err != nil || len(d.Runs) != 19 || len(d.Matches) != 20 {
			t.Fatalf("%d runs, %d matches (%v)", len(d.Runs), len(d.Matches), err)
		}
		for _, m := range d.Matches {
			silent := m.Automation == "number-7"
			if m.WouldTrigger == silent || (m.RunID == "") != silent || silent && (m.FailedAt == nil || *m.FailedAt != "/n" ||
				m.Reason == "") {
				t.Errorf("%+v", m)
			}
		}
		// If no automation starts a run, the shared reason is stored once.
		for n := range 3 {
			r := h.arrive(w.UID, strconv.Quote(fmt.Sprint("a scalar matches nothing", n)))
			d, err := h.Deliveries.Read(t.Context(), h.Admin, h.factory, w.UID, r.DeliveryID)
			if err != nil || len(d.Matches) != 20 || len(d.Runs) != 0 || d.Matches[19].Reason == "" {
				t.Fatalf("%+v (%v)", d, err)
			}
			again, err := h.Deliveries.Replay(t.Context(), h.Admin, h.factory, w.UID, r.DeliveryID)
			if diff := cmp.Diff(d.Matches, again.Matches); diff != "" || err != nil {
				t.Errorf("the replay (%v): %s", err, diff)
			}
			if err := h.ClearLogs(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		// A body that cannot be evaluated is accepted. The log says why it starts nothing.
		d, err = h.Deliveries.Read(t.Context(), h.Admin, h.factory, w.UID, h.arrive(w.UID, `{"n": 1, "n": 2}`).DeliveryID)
		if err != nil || d.Outcome != penstock.OutcomeAccepted || len(d.Runs) != 0 || d.Matches[0].Reason == "" {
			t.Errorf("duplicate keys: %+v (%v)", d, err)
		}
	})
}
