package httpapi_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/factory"
	"github.com/penstock-dev/penstock/internal/control/run"
	"github.com/penstock-dev/penstock/internal/control/store"
)

func TestATestDeliveryPassesAllChecks(t *testing.T) {
	t.Parallel()
	d := &driver{world: start(t), seen: map[string]string{}}
	d.makeWebhooks()
	hooks := "/api/v1/factory/" + d.seen["factory"] + "/webhooks/"
	send := func(body string, header ...string) (got store.Delivery) {
		d.must(http.StatusCreated, "POST", hooks+d.seen["webhook"]+"/test-delivery", body, header...).into(t, &got)
		return got
	}
	first := send(`{"payload": {"a": 2, "a": 2, "type": "order.refunded"}}`)
	if first.Outcome != penstock.OutcomeAccepted || first.EventType != "order.refunded" || first.Summary != "a: 2, a: 2" {
		t.Errorf("got %+v", first)
	}
	path := hooks + d.seen["webhook"] + "/deliveries/" + first.ID
	body := d.must(http.StatusOK, "GET", path+"/payload", nil).body
	if body != `{"a": 2, "a": 2, "type": "order.refunded"}` {
		t.Errorf("the payload is %s", body)
	}
	if other := send(`{}`); other.ID == first.ID || other.Outcome != penstock.OutcomeAccepted {
		t.Errorf("the second one: %+v", other)
	}
	once, again := send(`{}`, "Idempotency-Key", "k"), send(`{}`, "Idempotency-Key", "k")
	if once.ID != again.ID {
		t.Errorf("one idempotency key: %s and %s", once.ID, again.ID)
	}
	d.must(http.StatusOK, "PATCH", hooks+d.seen["webhook"], `{"enabled": false}`)
	d.must(http.StatusConflict, "POST", hooks+d.seen["webhook"]+"/test-delivery", `{}`)
}

func TestARequestOfASenderIsExplained(t *testing.T) {
	t.Parallel()
	d := &driver{world: start(t), seen: map[string]string{}}
	d.seen["factory"] = d.must(http.StatusCreated, "POST", "/api/v1/factory", `{"name": "acme"}`).field("uid")
	hooks := "/api/v1/factory/" + d.seen["factory"] + "/webhooks"
	github := d.must(
		http.StatusCreated, "POST", hooks,
		`{"name": "github", "auth_mode": "signature", "signature_scheme": "github", "secret": "It's a Secret to Everybody"}`,
	).field("uid")
	token := d.must(http.StatusCreated, "POST", hooks, `{"name": "token"}`)
	inURL := d.must(http.StatusCreated, "POST", hooks, `{"name": "url", "auth_mode": "url_token"}`).field("uid")
	// The example of GitHub's documentation.
	const signed = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"
	for _, tt := range []struct {
		name, uid    string
		header, sent string
		body         string
		valid        bool
		reason, hint string
	}{
		{"signed", github, "x-hub-signature-256", signed, "Hello, World!", true, "", ""},
		{"another body", github, "X-Hub-Signature-256", signed, "Hello!", false, "mismatch", ""},
		{"a line break more", github, "X-Hub-Signature-256", signed, "Hello, World!\n", false, "mismatch", "line break"},
		{"no signature", github, "X-Other", "1", "Hello, World!", false, "missing_header", ""},
		{"a token", token.field("uid"), "Authorization", "Bearer " + token.field("secret"), "{}", true, "", ""},
		{"another token", token.field("uid"), "Authorization", "Bearer x", "{}", false, "mismatch", ""},
	} {
		var got factory.WebhookVerified
		request := map[string]any{"headers": map[string]string{tt.header: tt.sent}, "body": tt.body}
		d.must(http.StatusOK, "POST", hooks+"/"+tt.uid+"/verify-request", request).into(t, &got)
		if got.Valid != tt.valid || got.Reason != tt.reason || !strings.Contains(got.Hint, tt.hint) ||
			tt.hint == "" && got.Hint != "" {
			t.Errorf("%s: got %+v", tt.name, got)
		}
	}
	d.must(http.StatusConflict, "POST", hooks+"/"+inURL+"/verify-request", `{"headers": {}, "body": ""}`)
}

func TestAnAutomationRunsWithoutAnEvent(t *testing.T) {
	t.Parallel()
	d := &driver{world: start(t), seen: map[string]string{}}
	d.makeWebhooks()
	automations := "/api/v1/factory/" + d.seen["factory"] + "/automations/"
	path := automations + d.seen["automation"]
	d.must(http.StatusOK, "PATCH", path, `{"enabled": false, "prompt": "Ship it"}`)
	id := d.must(
		http.StatusOK, "POST", path+"/run", nil, "Idempotency-Key", "k", "X-Penstock-Source", "WEB_APP",
	).field("run_id")
	if again := d.must(http.StatusOK, "POST", path+"/run", nil, "Idempotency-Key", "k").field("run_id"); again != id {
		t.Errorf("one idempotency key: %s and %s", id, again)
	}
	var started penstock.Run
	d.must(http.StatusOK, "GET", "/api/v1/agent/runs/"+id, nil).into(t, &started)
	if started.Metadata["automation_id"] != d.seen["automation"] || started.Source != "WEB_APP" ||
		started.Creator == nil || started.Creator.UID == d.seen["automation"] ||
		!strings.HasPrefix(started.Prompt, "Ship it\n\nSomebody started") {
		t.Errorf("got %+v", started)
	}
	var list run.Page
	d.must(http.StatusOK, "GET", "/api/v1/agent/runs?automation_id="+d.seen["automation"], nil).into(t, &list)
	if len(list.Runs) != 1 || list.Runs[0].ID != id {
		t.Errorf("its runs: %+v", list.Runs)
	}
}
