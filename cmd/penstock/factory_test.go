package main_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/factory"
	"github.com/penstock-dev/penstock/internal/control/run"
	"github.com/penstock-dev/penstock/internal/testkit"
)

func TestFactories(t *testing.T) {
	t.Parallel()
	s := testkit.Serve(t, testkit.ServeOptions{})
	env := client(s)
	call(
		t, env, "factory", "create", "Payments", "--alias", "pay", "--description", "refunds",
	).want(t, 0, "foreman", "refunds")
	call(t, env, "factory", "create", "Other").want(t, 0)
	call(t, env, "factory", "create", "PAY").want(t, 65, "conflict")
	call(t, env, "factory", "list").want(t, 0, "Payments", "Other", "AUTOMATIONS")
	call(t, env, "factory", "list", "--search", "PAY").want(t, 0, "Payments")
	call(t, env, "factory", "get", "Pay").want(t, 0, "Payments")
	call(t, env, "factory", "get", "nobody").want(t, 65, "no factory with")
	call(t, env, "factory", "update", "payments").want(t, 64, "nothing to change")
	call(t, env, "factory", "update", "payments", "--name", "Refunds", "--alias", "").want(t, 0, "Refunds")
	call(t, env, "factory", "get", "pay").want(t, 65, "no factory with")

	d := callFor[factory.Dispatched](
		t, env, "factory", "dispatch", "refunds", "Look into it.", "--ticket", "linear:PAY-42",
		"--ticket-url", "https://example.com/PAY-42",
	)
	call(t, env, "run", "get", d.RunID).want(t, 0, "ticket_id=PAY-42", "Look into it.")
	call(t, env, "run", "list", "--factory", "refunds").want(t, 0, d.RunID)
	if out := call(t, env, "run", "list", "--factory", "other").out; strings.Contains(out, d.RunID) {
		t.Errorf("got %s, want none of another factory's runs", out)
	}
	call(t, env, "run", "list", "--factory", "nobody").want(t, 65, "no factory with")
	call(
		t, env, "factory", "dispatch", "refunds", "x", "--ticket", "PAY-42",
	).want(t, 65, "Invalid request: --ticket: must be")
	call(t, env, "factory", "delete", "refunds").want(t, 0)
	call(t, env, "factory", "get", "refunds").want(t, 65, "no factory with")
	call(t, env, "run", "get", d.RunID).want(t, 0)
}

func TestAutomations(t *testing.T) {
	t.Parallel()
	s := testkit.Serve(t, testkit.ServeOptions{})
	env := client(s)
	makeFactory(t, s, "acme")
	url := made(t, env, "webhook", "create", "ci")
	filter := filepath.Join(t.TempDir(), "filter.json")
	if err := os.WriteFile(filter, []byte(`{"id": [9007199254740993]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	call(
		t, env, "automation", "create", "Fix builds", "--prompt", "Mend it.", "--webhook", "ci", "--filter", filter, "--cron",
		"0 7 * * *", "--timezone", "Europe/Berlin",
	).
		want(t, 0, "fix-builds", "9007199254740993", "Europe/Berlin", "next run")
	deliver(t, 202, url.IngressURL, `{"id": 9007199254740992}`, "Authorization", "Bearer "+url.Secret)
	deliver(t, 202, url.IngressURL, `{"id": 9007199254740993}`, "Authorization", "Bearer "+url.Secret)
	call(t, env, "occurrences", "--webhook", url.UID, "--kind", "delivery", "--fate", "no_match").want(
		t, 0, "SUBJECT", "`id` is `9007199254740992`; expects `9007199254740993`",
	)
	got := call(t, env, "run", "list", "--webhook", url.UID, "-o", "json")
	got.want(t, 0)
	var page run.Page
	fromJSON(t, got.out, &page)
	if len(page.Runs) != 1 || page.Runs[0].Creator == nil || page.Runs[0].Creator.DisplayName != "fix-builds" {
		t.Errorf("got the runs %s, want one of the automation", got.out)
	}
	call(t, env, "run", "list", "--automation", page.Runs[0].Metadata["automation_id"]).want(t, 0, page.Runs[0].ID)

	request := filepath.Join(t.TempDir(), "automation.json")
	if err := os.WriteFile(request, []byte(`{"name": "from a file", "prompt": "p", "triggers": [{
		"provider": "webhook", "event": "received",
		"filter": {"webhook_ids": ["cii"], "payload": {"n": [9007199254740993]}}}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	got = call(t, env, "automation", "create", "-f", request, "--disabled", "-o", "json")
	got.want(t, 0)
	var a penstock.Automation
	fromJSON(t, got.out, &a)
	if !strings.Contains(string(a.Triggers[0].Filter), "9007199254740993") {
		t.Errorf("the filter of the file became %s", a.Triggers[0].Filter)
	}
	call(t, env, "automation", "get", "from a file").want(t, 0, "disabled", `did you mean "ci"?`)
	call(t, env, "automation", "enable", "from-a-file").want(t, 0, "broken (1 problem)")
	pulls := `{"name": "pulls", "prompt": "Review it.", "triggers": [{"provider": "github", ` +
		`"event": "pull_request_opened"}, {"provider": "slack", "event": "app_mention"}]}`
	call(t, env, "automation", "create", "-f", writeFile(t, "pulls.json", pulls)).want(t, 0)
	call(t, env, "automation", "get", "pulls").want(
		t, 0, "broken (2 problems)", "/triggers/0/provider: not connected: no webhook",
		"/triggers/1/provider: not connected: no events of slack",
	)
	call(t, env, "automation", "delete", "pulls").want(t, 0)
	call(
		t, env, "automation", "update", "from-a-file", "--webhook", "ci", "--filter", `{"a": []}`,
	).want(t, 65, "Invalid request: --filter /a: ")
	call(
		t, env, "automation", "update", "from-a-file", "--webhook", "ci", "--name", "renamed", "--model", "demo/offline",
	).want(t, 0, "renamed", "enabled")
	call(t, env, "automation", "update", "renamed", "--filter", `{}`).want(t, 64, "--webhook")
	call(t, env, "automation", "update", "renamed").want(t, 64, "nothing to change")
	call(
		t, env, "automation", "create", "x", "--prompt", "-", "--webhook", "ci", "--filter", "-",
	).want(t, 64, "standard input")
	call(t, env, "automation", "disable", "renamed").want(t, 0, "disabled")
	call(t, env, "automation", "list").want(
		t, 0, "fix-builds", "renamed", "disabled", "webhook received, schedule cron_fired",
	)
	got = call(t, env, "automation", "run", "fix-builds", "-o", "json")
	got.want(t, 0)
	var byHand run.Created
	fromJSON(t, got.out, &byHand)
	call(t, env, "run", "get", byHand.ID).want(t, 0, "Mend it.")
	call(t, env, "automation", "delete", "renamed", "fix-builds").want(t, 0)
	call(t, env, "automation", "get", "renamed").want(t, 65, "no automation with")
}
