package httpapi_test

import (
	"net/http"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/factory"
	"github.com/penstock-dev/penstock/internal/control/store"
)

// makeDeliveries sends deliveries through the ingress: an accepted one that starts a run, one that
// starts none, a duplicate, and one of each rejection.
func (d *driver) makeDeliveries(created string) {
	t := d.t
	t.Helper()
	admin := penstock.Principal{
		Team: store.DefaultTeam, Actor: penstock.Actor{Type: "user", UID: "admin"},
		Scopes: []penstock.Scope{penstock.ScopeAdmin},
	}
	for name, filter := range map[string]string{"all": ``, "none": `, "payload": {"a": [2]}`} {
		_, err := d.svc.Resources.CreateAutomation(t.Context(), admin, created, factory.AutomationRequest{
			Name: new(name), Prompt: new("look"), Triggers: &[]penstock.Trigger{{
				Provider: penstock.ProviderWebhook, Event: penstock.EventReceived,
				Filter: []byte(`{"webhook_ids": ["` + d.seen["webhook"] + `"]` + filter + `}`),
			}},
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	d.seen["delivery"] = d.deliver(factory.InboundDelivery{Outcome: penstock.OutcomeAccepted}).DeliveryID
	d.seen["duplicate"] = d.deliver(factory.InboundDelivery{Outcome: penstock.OutcomeAccepted}).DeliveryID
	for _, o := range []penstock.Outcome{
		penstock.OutcomeRejectedAuth, penstock.OutcomeRejectedJSON, penstock.OutcomeRejectedSize,
	} {
		d.deliver(factory.InboundDelivery{Outcome: o, Reason: "mismatch"})
	}
}

func (d *driver) deliver(a factory.InboundDelivery) factory.DeliveryResult {
	d.t.Helper()
	return d.deliverTo(d.seen["webhook"], a)
}

func (d *driver) deliverTo(uid string, a factory.InboundDelivery) factory.DeliveryResult {
	d.t.Helper()
	snapshot, err := d.svc.Receiver.Plan(d.t.Context(), uid, false, true)
	if err != nil {
		d.t.Fatal(err)
	}
	a.ReceivedAt, a.ClientIP, a.Secret = penstock.Now(), "198.51.100.7", -1
	a.IdentitySource, a.Identity = penstock.IdentityProvider, "one"
	a.Body, a.Headers = []byte(hostile), map[string]string{"content-type": "text/html"}
	result, err := d.svc.Receiver.Deliver(d.t.Context(), snapshot, &a)
	if err != nil {
		d.t.Fatal(err)
	}
	return result
}

// hostile is a payload that a browser could execute.
const hostile = `"<script>alert(1)</script>"`

func TestAPayloadIsNeverShownByABrowser(t *testing.T) {
	t.Parallel()
	d := &driver{world: start(t), seen: map[string]string{}}
	d.makeWebhooks()
	a := d.must(
		http.StatusOK, "GET",
		"/api/v1/factory/"+d.seen["factory"]+"/webhooks/"+d.seen["webhook"]+"/deliveries/"+d.seen["delivery"]+"/payload", nil,
	)
	if a.body != hostile {
		t.Errorf("got %q, want it byte for byte", a.body)
	}
	for name, want := range map[string]string{
		"Content-Type": "application/octet-stream", "X-Content-Type-Options": "nosniff",
		"Content-Disposition":     `attachment; filename="` + d.seen["delivery"] + `.json"`,
		"Content-Security-Policy": "sandbox; default-src 'none'",
	} {
		if got := a.header.Get(name); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}

func TestAReplayHappensOncePerIdempotencyKey(t *testing.T) {
	t.Parallel()
	d := &driver{world: start(t), seen: map[string]string{}}
	d.makeWebhooks()
	path := "/api/v1/factory/" + d.seen["factory"] + "/webhooks/" + d.seen["webhook"] + "/deliveries/" + d.seen["delivery"]
	var first, again, old store.Delivery
	d.must(http.StatusOK, "GET", path, nil).into(t, &old)
	d.must(http.StatusCreated, "POST", path+"/replay", nil, "Idempotency-Key", "k").into(t, &first)
	d.must(http.StatusCreated, "POST", path+"/replay", nil, "Idempotency-Key", "k").into(t, &again)
	if first.ID != again.ID || first.ReplayOf != old.ID || first.IdentitySource != penstock.IdentityReplay ||
		len(first.Runs) != 1 || first.Runs[0] == old.Runs[0] {
		t.Errorf("replayed %+v, then %+v", first, again)
	}
}

func TestAFilterTestAcceptsEveryPossibleBody(t *testing.T) {
	t.Parallel()
	d := &driver{world: start(t), seen: map[string]string{}}
	d.makeWebhooks()
	tests := []struct {
		name, body string
		status     int
		triggers   bool
	}{
		{"equal keys in an object that the filter names", `{"filter": {"a": [1]}, "payload": {"a": 1, "a": 1}}`, 200, false},
		{"equal keys in another object", `{"payload": {"a": 1, "z": {"q": 1, "q": 2}}, "filter": {"a": [1]}}`, 200, true},
		{"NUL", `{"filter": {"a": [1]}, "payload": {"a": 1, "b": "\u0000"}}`, 200, true},
		{"null", `{"filter": {}, "payload": null}`, 200, true},
		{"two payloads", `{"filter": {}, "payload": 1, "payload": 2}`, 400, false},
		{"equal keys in the filter", `{"filter": {"a": [1], "a": [2]}, "payload": {}}`, 400, false},
		{"half a surrogate pair", `{"filter": {}, "payload": "\ud800"}`, 200, true},
		{"half a surrogate pair that is asked for", `{"filter": {"a": ["\ufffd"]}, "payload": {"a": "\ud800"}}`, 200, false},
		{"half a surrogate pair in the filter", `{"filter": {"a": ["\ud800"]}, "payload": {"a": "\ud800"}}`, 400, false},
		{"cut off", `{"filter": {}, "payload": {"a": 1`, 400, false},
		{"no object", `[1]`, 400, false},
	}
	for _, tt := range tests {
		var got factory.FilterTestResult
		a := d.must(tt.status, "POST", "/api/v1/factory/"+d.seen["factory"]+"/test-filter", tt.body)
		if tt.status == http.StatusOK {
			a.into(t, &got)
		}
		if got.WouldTrigger != tt.triggers {
			t.Errorf("%s: would trigger: %v, want %v", tt.name, got.WouldTrigger, tt.triggers)
		}
	}
}

func TestDeliveriesThatStartedNoRunAreListed(t *testing.T) {
	t.Parallel()
	d := &driver{world: start(t), seen: map[string]string{}}
	d.makeWebhooks()
	created := "/api/v1/factory/" + d.seen["factory"]
	log := created + "/webhooks/" + d.seen["webhook"] + "/deliveries"
	var automations struct {
		Automations []penstock.Automation `json:"automations"`
	}
	d.must(http.StatusOK, "GET", created+"/automations", nil).into(t, &automations)
	for _, one := range automations.Automations {
		d.must(http.StatusOK, "PATCH", created+"/automations/"+one.UID, `{"enabled": false}`)
	}
	var unmatched store.Delivery
	d.must(http.StatusCreated, "POST", log+"/"+d.seen["delivery"]+"/replay", nil).into(t, &unmatched)
	ids := func(query string) (ids []string) {
		var page factory.DeliveryPage
		d.must(http.StatusOK, "GET", log+"?limit=500"+query, nil).into(t, &page)
		for _, one := range page.Deliveries {
			if one.Outcome == penstock.OutcomeAccepted && len(one.Runs) == 0 && one.Reason != store.ReasonHandshake {
				ids = append(ids, one.ID)
			} else if query != "" {
				t.Errorf("%s is among those that started no run", one.ID)
			}
		}
		return ids
	}
	all, only := ids(""), ids("&no_run=true")
	if diff := cmp.Diff(all, only); diff != "" || !slices.Contains(only, unmatched.ID) {
		t.Errorf("-want +got:\n%s", diff)
	}
	if got := ids("&no_run=true&outcome=rejected"); len(got) > 0 {
		t.Errorf("rejected and without a run: got %v, want none", got)
	}
}
