package main_test

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/store"
	"github.com/penstock-dev/penstock/internal/testkit"
)

// makeFactory creates a factory for webhooks.
func makeFactory(t *testing.T, s *testkit.Server, name string) {
	t.Helper()
	status, body := post(
		t, s.URL+"/api/v1/factory", `{"name": "`+name+`"}`, "Authorization", "Bearer "+s.Key, "Content-Type",
		"application/json",
	)
	if status != http.StatusCreated {
		t.Fatalf("make a factory: got %d %s", status, body)
	}
}

// post sends a body with headers, given as pairs.
func post(t *testing.T, url, body string, headers ...string) (status int, response []byte) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if response, err = io.ReadAll(resp.Body); err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, response
}

// deliver sends a delivery, requires the status, and returns the delivery's id.
func deliver(t *testing.T, status int, url, body string, headers ...string) string {
	t.Helper()
	got, response := post(t, url, body, headers...)
	if got != status {
		t.Fatalf("got %d %s, want %d", got, response, status)
	}
	var result struct {
		ID string `json:"delivery_id"`
	}
	_ = json.Unmarshal(response, &result) // a refusal has none
	return result.ID
}

// made calls a command that prints a webhook.
func made(t *testing.T, env []string, args ...string) penstock.Webhook {
	t.Helper()
	got := call(t, env, append(args, "-o", "json")...)
	got.want(t, 0)
	var w penstock.Webhook
	fromJSON(t, got.out, &w)
	return w
}

func TestWebhooks(t *testing.T) {
	t.Parallel()
	s := testkit.Serve(t, testkit.ServeOptions{})
	env := client(s)
	call(t, env, "webhook", "list").want(t, 65, "no factory exists yet")
	makeFactory(t, s, "acme")
	call(t, env, "webhook", "create", "Deploy events").want(
		t, 0, s.URL+"/webhooks/w/", "DEPLOY_EVENTS_WEBHOOK_SECRET", "cannot be shown again",
	)
	call(t, env, "webhook", "create", "deploy EVENTS").want(t, 65, "conflict")
	inURL := made(
		t, env, "webhook", "create", "alerts", "--mode", "url_token", "--replay-guard", "--refresh", "immediate",
		"--delivery-id-header", "X-Alert",
	)
	if !strings.HasSuffix(inURL.IngressURL, "/"+inURL.Secret) || !inURL.ReplayGuard ||
		inURL.SecretRefresh != penstock.RefreshImmediate {
		t.Errorf("got %+v", inURL)
	}
	list := call(t, env, "webhook", "list")
	list.want(t, 0, "deploy-events", "url_token", "enabled", inURL.UID)
	for _, called := range []string{"alerts", "Alerts", inURL.UID} {
		got := call(t, env, "webhook", "get", called)
		got.want(t, 0, inURL.UID, "{token}", "X-Alert", "replay guard")
		if strings.Contains(got.out+list.out, inURL.Secret) {
			t.Errorf("the secret is shown again: %s", got.out)
		}
	}
	deliver(t, 202, inURL.IngressURL, `{"n": 1}`)
	call(t, env, "webhook", "disable", "alerts").want(t, 0, "disabled")
	deliver(t, 404, inURL.IngressURL, `{"n": 2}`)
	call(t, env, "webhook", "enable", "alerts").want(t, 0, "enabled")
	call(t, env, "webhook", "suspend", "alerts").want(t, 0, "state  ", "suspended")
	call(t, env, "webhook", "enable", "alerts").want(
		t, 0, "suspended", "the webhook is suspended: its sender gets 404 until you run penstock webhook resume alerts",
	)
	if got := call(t, env, "webhook", "resume", "alerts"); strings.Contains(got.err, "is suspended") {
		t.Errorf("a resumed webhook is reported as suspended: %s", got.err)
	}
	deliver(t, 202, inURL.IngressURL, `{"n": 2}`)
	call(t, env, "webhook", "update", "alerts", "--no-replay-guard", "--delivery-id-header", "").want(t, 0, "alerts")
	if got := made(t, env, "webhook", "get", "alerts"); got.ReplayGuard || got.DeliveryIDHeader != "" ||
		got.Counts.Accepted != 2 {
		t.Errorf("got %+v", got)
	}
	call(t, env, "webhook", "update", "alerts").want(t, 64, "nothing to change")
	call(
		t, env, "webhook", "update", "alerts", "--delivery-id-header", "Cookie",
	).want(t, 65, "Invalid request: --delivery-id-header: cannot be Cookie")

	makeFactory(t, s, "other")
	call(t, env, "webhook", "list").want(t, 64, "--factory")
	call(t, env, "webhook", "list", "--factory", "nobody").want(t, 65, "no factory with")
	if got := call(t, env, "webhook", "list", "--factory", "Other"); strings.Contains(got.out, "alerts") {
		t.Errorf("got %s, want none of another factory", got.out)
	}
	call(t, append(env, "PENSTOCK_FACTORY=other"), "webhook", "get", "alerts").want(t, 65, "no webhook with")
	call(t, env, "webhook", "delete", "alerts", "deploy-events", "--factory", "acme").want(t, 0)
	deliver(t, 404, inURL.IngressURL, `{"n": 3}`)
	if strings.Contains(s.Logs(), inURL.Secret) {
		t.Error("the server's log holds the secret")
	}
}

func TestSignedWebhooks(t *testing.T) {
	t.Parallel()
	s := testkit.Serve(t, testkit.ServeOptions{})
	env := client(s)
	makeFactory(t, s, "acme")
	const sender = "shh-3fK9-from-the-sender"
	given := made(
		t, env, "webhook", "create", "issues", "--scheme", "github", "--secret-file", writeFile(t, "secret", sender+"\n"),
	)
	if given.AuthMode != penstock.AuthSignature || given.Secret != "" {
		t.Errorf("got %+v, want it without the caller's secret", given)
	}
	custom := made(t, env, "webhook", "create", "own", "--scheme", "custom_hmac", "--secret-file", writeFile(
		t, "secret", sender,
	),
		"--signature", `{"header": "X-Own", "hash": "sha256", "encoding": "hex", "key_form": "text", "template": "{body}"}`)
	want := &penstock.Signature{Header: "X-Own", Hash: "sha256", Encoding: "hex", KeyForm: "text", Template: "{body}"}
	if diff := cmp.Diff(want, custom.Signature); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	fromFile := made(
		t, env, "webhook", "create", "payments", "-f",
		writeFile(t, "w.yaml", "auth_mode: signature\nsignature_scheme: stripe\n"),
	)
	if !fromFile.PendingSecret || fromFile.Secret != "" {
		t.Errorf("got %+v, want it to wait for its secret", fromFile)
	}
	call(t, env, "webhook", "list").want(t, 0, "pending secret", "signature stripe")
	call(t, env, "webhook", "enable", "payments").want(t, 65, "waits for its secret")
	got := callWith(t, sender+"\r\n", env, "webhook", "update", "payments", "--secret-file", "-")
	if got.want(t, 0, "enabled"); strings.Contains(got.out, sender) {
		t.Errorf("the secret is shown: %s", got.out)
	}
	asked := made(t, env, "webhook", "create", "asked", "--scheme", "stripe")
	term := newTerminal(t)
	asking := command(t, env, "webhook", "update", asked.UID, "--ask-secret")
	term.attach(asking)
	if err := asking.Start(); err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, timeout, func() error { return term.shows("Webhook secret: ") })
	term.write(sender + "\n")
	if err := asking.Wait(); err != nil || strings.Contains(term.screen(), sender) {
		t.Errorf("%v: the terminal shows %q", err, term.screen())
	}
	call(t, env, "webhook", "get", "asked").want(t, 0, "enabled")
	call(t, env, "webhook", "create", "x", "--scheme", "github", "--secret", sender).want(t, 64, "unknown flag")
	call(t, env, "webhook", "create", "x", "--scheme", "github", "--ask-secret").want(t, 64, "--secret-file")
	callWith(t, "", env, "webhook", "create", "x", "--scheme", "github", "--secret-file", "-").want(t, 64, "empty")
	call(t, env, "webhook", "create", "x", "--scheme", "gitub").want(t, 64, "--scheme")
	call(t, env, "webhook", "create", "x", "--scheme", "custom_hmac", "--signature", "{").want(t, 64, "--signature")
}

func TestWebhookSecretIsRotated(t *testing.T) {
	t.Parallel()
	s := testkit.Serve(t, testkit.ServeOptions{})
	env := client(s)
	makeFactory(t, s, "acme")
	w := made(t, env, "webhook", "create", "a")
	second := made(t, env, "webhook", "rotate", "a", "--overlap", "1h")
	for n, token := range []string{w.Secret, second.Secret} {
		deliver(t, 202, w.IngressURL, `{"n": `+string(rune('1'+n))+`}`, "Authorization", "Bearer "+token)
	}
	third := made(t, env, "webhook", "rotate", "a")
	for n, token := range []string{w.Secret, second.Secret} {
		deliver(t, 401, w.IngressURL, `{"m": `+string(rune('1'+n))+`}`, "Authorization", "Bearer "+token)
	}
	deliver(t, 202, w.IngressURL, `{"n": 3}`, "Authorization", "Bearer "+third.Secret)

	saved := filepath.Join(t.TempDir(), "secret")
	got := call(
		t, env, "webhook", "rotate", "a", "--save", saved, "--secret-file", writeFile(t, "next", "the-next-one-of-it"),
	)
	content, err := os.ReadFile(saved)
	if info, _ := os.Stat(saved); err != nil || string(content) != "the-next-one-of-it\n" || info.Mode().Perm() != 0o600 {
		t.Errorf("got %q, %v in the file", content, err)
	}
	if got.want(t, 0, saved); strings.Contains(got.out, "the-next-one-of-it") {
		t.Errorf("the secret is printed as well: %s", got.out)
	}
	call(t, env, "webhook", "rotate", "a", "--save", saved).want(t, 64, "file exists")
	call(t, env, "webhook", "rotate", "a", "--overlap", "169h").want(
		t, 65, "--overlap: must be from 0 to 168h",
	)
	call(t, env, "webhook", "rotate", "a", "--overlap", "1500ms").want(t, 64, "a whole number of seconds")

	inURL := filepath.Join(t.TempDir(), "secret")
	got = call(t, env, "webhook", "create", "in the url", "--mode", "url_token", "--save", inURL)
	token, err := os.ReadFile(inURL)
	if got.want(t, 0, "/{token}"); err != nil || strings.Contains(got.out, strings.TrimSpace(string(token))) {
		t.Errorf("got %s, %v, want the token in the file alone", got.out, err)
	}
	unsaved := filepath.Join(t.TempDir(), "secret")
	call(t, env, "webhook", "create", "waits", "--scheme", "stripe", "--save", unsaved).want(t, 0, "pending secret")
	if _, err := os.Stat(unsaved); err == nil {
		t.Error("a webhook without a secret left a file for it")
	}
}

func TestWebhookDeliveries(t *testing.T) {
	t.Parallel()
	s := testkit.Serve(t, testkit.ServeOptions{})
	env := client(s)
	makeFactory(t, s, "acme")
	w := made(t, env, "webhook", "create", "a")
	const erase = "\u009b2J" // a C1 control character, which JSON allows unescaped
	body := `{"text": "` + erase + `",  "n": 1.0}`
	send := func(status int, body, token string) string {
		return deliver(t, status, w.IngressURL, body, "Authorization", "Bearer "+token)
	}
	first := send(202, body, w.Secret)
	again := send(202, body, w.Secret)
	send(401, body, "forged")
	send(400, "{", w.Secret)

	call(t, env, "webhook", "deliveries", "a").want(
		t, 0, first, again, "Accepted", "Duplicate", "Rejected (auth)", "Rejected (invalid JSON)", "mismatch",
	)
	if got := call(t, env, "webhook", "deliveries", "a", "--outcome", "duplicate"); strings.Contains(got.out, first) ||
		!strings.Contains(got.out, again) {
		t.Errorf("got %s, want the duplicate alone", got.out)
	}
	page := call(t, env, "webhook", "deliveries", "a", "--limit", "3")
	page.want(t, 0, "--cursor ")
	cursor := regexp.MustCompile(`--cursor (\S+),`).FindStringSubmatch(page.err)
	call(t, env, "webhook", "deliveries", "a", "--cursor", cursor[1]).want(t, 0, first)
	call(t, env, "webhook", "deliveries", "a", "--limit", "0", "-o", "json").want(t, 0, `"deliveries"`, first)
	call(t, env, "webhook", "deliveries", "a", "--outcome", "lost").want(t, 64, "--outcome")

	call(t, env, "webhook", "delivery", "a", first).want(t, 0, "Accepted", "202", "body hash")
	call(t, env, "webhook", "delivery", "a", again).want(t, 0, "duplicate of", first)
	call(t, env, "webhook", "delivery", "a", penstock.NewID()).want(t, 65, "resource_not_found")
	if got := call(t, env, "webhook", "payload", "a", first); got.code != 0 || got.out != body {
		t.Errorf("got %q (%s), want the bytes as they were sent", got.out, got.err)
	}
	call(t, env, "webhook", "payload", "a", again).want(t, 65, "resource_not_found")
	term := newTerminal(t)
	shown := command(t, env, "webhook", "payload", "a", first)
	term.attach(shown)
	if err := shown.Run(); err != nil || strings.Contains(term.screen(), erase) {
		t.Errorf("%v: the terminal got %q", err, term.screen())
	}
	call(t, env, "webhook", "replay", "a", first).want(t, 0, "replay of", first)
	call(t, env, "webhook", "replay", "a", again).want(t, 65, "conflict")
}

// The row of a delivery that started nothing says why. A row of one that started a run does not.
func TestDeliveriesSayWhyNothingStarted(t *testing.T) {
	t.Parallel()
	s := testkit.Serve(t, testkit.ServeOptions{Args: noWorker})
	env := client(s)
	makeFactory(t, s, "acme")
	w := made(t, env, "webhook", "create", "a")
	row := func(body string) string {
		t.Helper()
		id := deliver(t, 202, w.IngressURL, body, "Authorization", "Bearer "+w.Secret)
		for line := range strings.Lines(call(t, env, "webhook", "deliveries", "a").out) {
			if strings.HasPrefix(line, id) {
				return line
			}
		}
		t.Fatalf("the delivery %s is not listed", id)
		return ""
	}
	const none = "no enabled automation selects the webhook"
	if got := row(`{"n": 1}`); !strings.Contains(got, none) {
		t.Errorf("without an automation: got %s", got)
	}
	for _, name := range []string{"ship", "refund"} {
		call(
			t, env, "automation", "create", name, "--webhook", "a", "--prompt", "x", "--filter", `{"type": ["`+name+`"]}`,
		).want(t, 0)
	}
	call(t, env, "automation", "disable", "refund").want(t, 0)
	if got := row(`{"type": "other", "n": 2}`); !strings.Contains(got, "ship: does not match: `type` is `other`") {
		t.Errorf("with an automation that does not match: got %s", got)
	}
	call(t, env, "automation", "enable", "refund").want(t, 0)
	if got := row(`{"type": "other", "n": 3}`); !strings.Contains(got, "(and 1 more: penstock webhook delivery)") {
		t.Errorf("with two automations: got %s", got)
	}
	if got := row(`{"type": "ship", "n": 4}`); strings.Contains(got, "ship:") || strings.Contains(got, none) {
		t.Errorf("a delivery that started a run: got %s", got)
	}
}

func TestWebhookTestSendsADelivery(t *testing.T) {
	t.Parallel()
	s := testkit.Serve(t, testkit.ServeOptions{})
	env := client(s)
	makeFactory(t, s, "acme")
	call(t, env, "webhook", "create", "a").want(t, 0)
	call(t, env, "webhook", "test", "a").want(t, 0, "outcome", "Accepted", "202")
	const body = `{"type":"order.created","n":1.0}`
	sent := callWith(t, body, env, "webhook", "test", "a", "--payload-file", "-", "-o", "json")
	var d store.Delivery
	fromJSON(t, sent.out, &d)
	if got := call(t, env, "webhook", "payload", "a", d.ID); got.out != body {
		t.Errorf("got %q, want the payload of the file", got.out)
	}
	found := call(t, env, "webhook", "deliveries", "a", "--search", "order.created")
	if rows := strings.Count(found.out, "\n"); rows != 2 || !strings.Contains(found.out, d.ID) {
		t.Errorf("got %s, want the second test alone", found.out)
	}
	again := call(t, env, "webhook", "test", "a", "--last")
	again.want(t, 0, "Accepted")
	call(t, env, "webhook", "test", "a", "--delivery", d.ID).want(t, 0, "Accepted")
	call(t, env, "webhook", "test", "a", "--event", "push").want(t, 65, "--event", "only for webhooks with the scheme")
	call(t, env, "webhook", "test", "a", "--event", "push", "--last").want(t, 64)
	call(t, env, "webhook", "disable", "a").want(t, 0)
	call(t, env, "webhook", "test", "a").want(t, 65, "accepts no deliveries")
	callWith(t, "{", env, "webhook", "test", "a", "--payload-file", "-").want(t, 64, "--payload-file")
}

func TestWebhookFilterIsTested(t *testing.T) {
	t.Parallel()
	s := testkit.Serve(t, testkit.ServeOptions{})
	env := client(s)
	makeFactory(t, s, "acme")
	w := made(t, env, "webhook", "create", "a")
	first := deliver(t, 202, w.IngressURL, `{"action": "opened"}`, "Authorization", "Bearer "+w.Secret)
	deliver(t, 202, w.IngressURL, `{"action": "closed"}`, "Authorization", "Bearer "+w.Secret)
	filter := writeFile(t, "filter.json", `{"action": ["opened"]}`)
	call(
		t, env, "webhook", "test-filter", "--filter", filter, "--webhook", "a", "--delivery", first,
	).want(t, 0, "true", "payload", "passed")
	callWith(
		t, `{"action": "closed"}`, env, "webhook", "test-filter", "--filter", filter, "--payload-file", "-",
	).want(t, 1, "false", "failed", "failed: `action` is `closed`; expects `opened`")
	call(t, env, "webhook", "test-filter", "--filter", filter, "--webhook", "a").want(t, 0, "1 of the last 2 deliveries")
	callWith(
		t, `{"action": "opened"}`, env, "webhook", "test-filter", "--filter", "-", "--webhook", "a",
	).want(t, 65, "Invalid request: --filter /action: ")
	pushed := []string{
		"webhook", "test-filter", "--provider", "github", "--event", "push", "--github-event", "push", "--payload-file", "-",
		"--filter",
	}
	callWith(
		t, `{"ref": "refs/heads/main"}`, env,
		append(slices.Clip(pushed), writeFile(t, "main.json", `{"branches": ["main"]}`))...,
	).want(t, 0, "event", "passed")
	callWith(
		t, `{"ref": "refs/heads/main"}`, env,
		append(slices.Clip(pushed), writeFile(t, "dev.json", `{"branches": ["dev"]}`))...,
	).want(t, 1, "failed", "`branches` is `main`; expects `dev`")
	callWith(t, `{"a": `, env, "webhook", "test-filter", "--filter", "-", "--webhook", "a").want(t, 64, "--filter")
	call(t, env, "webhook", "test-filter", "--filter", filter).want(t, 64, "--webhook or --payload-file")
}

func TestLimitsOfDeliveriesAreSettings(t *testing.T) {
	t.Parallel()
	s := testkit.Serve(t, testkit.ServeOptions{
		Args: []string{
			"--limit-webhooks-per-factory=1", "--limit-delivery-bytes=20", "--limit-deliveries-per-minute=3",
			"--limit-auth-failures-per-address=4",
			"--limit-auth-failures-per-webhook=5", "--limit-logged-rejections=6", "--retain-deliveries=1h",
			"--retain-deliveries-at-least=7",
		},
		Env: []string{"PENSTOCK_DEDUP_BODY_WINDOW=2m"},
	})
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+"/api/v1/limits", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+s.Key)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var got map[string]any
	if err := json.NewDecoder(resp.Body).Decode(&got); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]float64{
		"webhooks_per_factory": 1, "delivery_bytes": 20, "deliveries_per_minute": 3, "auth_failures_per_address": 4,
		"auth_failures_per_webhook": 5,
		"logged_rejections":         6, "delivery_retention_seconds": 3600, "kept_deliveries": 7, "dedup_body_seconds": 120,
	} {
		if got[name] != want {
			t.Errorf("%s is %v, want %v", name, got[name], want)
		}
	}
	env := client(s)
	makeFactory(t, s, "acme")
	w := made(t, env, "webhook", "create", "a")
	call(t, env, "webhook", "create", "b").want(t, 65, "conflict", "webhooks_per_factory")
	deliver(t, 413, w.IngressURL, `{"a": "longer than 20"}`, "Authorization", "Bearer "+w.Secret)
	deliver(t, 202, w.IngressURL, `{"n": 1}`, "Authorization", "Bearer "+w.Secret)
	deliver(t, 202, w.IngressURL, `{"n": 2}`, "Authorization", "Bearer "+w.Secret)
	deliver(t, 429, w.IngressURL, `{"n": 3}`, "Authorization", "Bearer "+w.Secret)
	call(t, nil, "serve", "--limit-delivery-bytes=-1").want(t, 64, "--limit-delivery-bytes must not be negative")
	call(t, nil, "serve", "--retain-deliveries=-1h").want(t, 64, "--retain-deliveries must not be negative")
}

func TestATestOfAGitHubEventStartsItsAutomation(t *testing.T) {
	t.Parallel()
	s := testkit.Serve(t, testkit.ServeOptions{})
	env := client(s)
	makeFactory(t, s, "acme")
	secret := writeFile(t, "secret", "s3cret-of-sixteen\n")
	call(t, env, "webhook", "create", "hub", "--scheme", "github", "--secret-file", secret).want(t, 0)
	call(t, env, "webhook", "test", "hub", "--last").want(t, 65, "accepted no delivery yet")
	review := writeFile(t, "review.json", `{"name": "review", "prompt": "Review it.",
		"triggers": [{"provider": "github", "event": "pull_request_opened"}]}`)
	call(t, env, "automation", "create", "-f", review).want(t, 0)
	call(t, env, "webhook", "test", "hub").want(t, 0, "review: does not match", "a ping only tests the webhook")
	call(t, env, "webhook", "test", "hub", "--event", "pull_request_opened").want(t, 0, "review: started run")
	call(t, env, "webhook", "test", "hub", "--last").want(t, 0, "review: started run")
	pasted := writeFile(t, "pull.json", `{"action": "opened", "pull_request": {"number": 1}}`)
	call(t, env, "webhook", "test", "hub", "--payload-file", pasted).want(t, 0, "review: does not match")
	call(
		t, env, "webhook", "test", "hub", "--payload-file", pasted, "--github-event", "pull_request",
	).want(t, 0, "review: started run")
	call(t, env, "webhook", "test", "hub", "--event", "pull_request_opend").want(t, 65, "must be one of push")
}

// A caller who gives the secret has it already. It is not printed, wherever it came from.
func TestTheCallersOwnWebhookSecretIsNotPrinted(t *testing.T) {
	t.Parallel()
	s := testkit.Serve(t, testkit.ServeOptions{})
	env := client(s)
	makeFactory(t, s, "acme")
	const own = "s3cret-of-the-caller"
	secret := writeFile(t, "secret", own+"\n")
	request := writeFile(t, "hook.json", `{"secret": "`+own+`"}`)
	for _, args := range [][]string{
		{"webhook", "create", "a", "--scheme", "github", "--secret-file", secret},
		{"webhook", "create", "b", "--scheme", "github", "--secret-file", secret, "-o", "json"},
		{"webhook", "create", "c", "--mode", "url_token", "--secret-file", secret},
		{"webhook", "create", "d", "--mode", "url_token", "--file", request, "-o", "json"},
		{"webhook", "rotate", "a", "--secret-file", secret},
		{"webhook", "rotate", "c", "--secret-file", secret, "-o", "json"},
	} {
		got := call(t, env, args...)
		got.want(t, 0)
		if strings.Contains(got.out+got.err, own) || strings.Contains(got.err, "cannot be shown again") {
			t.Errorf("%v: got %s%s", args, got.out, got.err)
		}
	}
	call(t, env, "webhook", "create", "e").want(t, 0, "cannot be shown again")
	saved := filepath.Join(t.TempDir(), "saved")
	call(t, env, "webhook", "rotate", "a", "--secret-file", secret, "--save", saved).want(t, 0, "wrote the secret")
}

func TestWebhookSettingsForSendersWithHabits(t *testing.T) {
	t.Parallel()
	s := testkit.Serve(t, testkit.ServeOptions{})
	env := client(s)
	makeFactory(t, s, "acme")
	w := made(t, env, "webhook", "create", "nightly", "--dedup-body-window", "20h", "--retry-unmatched")
	if w.DedupBodyWindow != "20h" || !w.RetryUnmatched {
		t.Errorf("got %+v", w)
	}
	call(t, env, "webhook", "update", "nightly", "--dedup-body-window", "0").want(t, 0, "dedup body window", "0")
	call(
		t, env, "webhook", "update", "nightly", "--dedup-body-window", "x",
	).want(t, 65, "--dedup-body-window", "such as 20h")
	call(t, env, "webhook", "update", "nightly", "--setup-pings").want(t, 65, "--setup-pings", "woocommerce and bitbucket")
	bearer := []string{"Authorization", "Bearer " + w.Secret}
	deliver(t, 400, w.IngressURL, "a=1&b=2", append(bearer, "Content-Type", "application/x-www-form-urlencoded")...)
	deliver(t, 202, w.IngressURL, `{"job": "nightly"}`, append(bearer, "Idempotency-Key", "k")...)
	call(t, env, "webhook", "deliveries", "nightly").want(
		t, 0, "form", "the sender posts a form", "Set delivery_id_header to Idempotency-Key",
	)
	id := strings.FieldsSeq(call(t, env, "webhook", "deliveries", "nightly", "--outcome", "rejected_json").out)
	for word := range id {
		if len(word) == 36 && strings.Count(word, "-") == 4 {
			call(t, env, "webhook", "delivery", "nightly", word).want(t, 0, "detail", "posts a form", "application/x-www-form")
		}
	}
}
