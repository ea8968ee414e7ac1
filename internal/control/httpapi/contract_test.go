package httpapi_test

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control"
	"github.com/penstock-dev/penstock/internal/control/access"
	"github.com/penstock-dev/penstock/internal/control/factory"
	"github.com/penstock-dev/penstock/internal/control/httpapi"
	"github.com/penstock-dev/penstock/internal/control/run"
	"github.com/penstock-dev/penstock/internal/control/store"
	"github.com/penstock-dev/penstock/internal/supply/git"
	"github.com/penstock-dev/penstock/internal/testkit"
)

// internal reports whether a route is not part of the contract: routes of workers and supervisors, pages, and the
// MCP endpoint, which follows another standard.
func internal(pattern string) bool {
	return !strings.HasPrefix(pattern, httpapi.Base) || strings.HasPrefix(pattern, httpapi.Base+"/worker/") ||
		strings.HasPrefix(pattern, httpapi.Base+"/mcp/")
}

func TestRoutesAndContractAgree(t *testing.T) {
	t.Parallel()
	var got, want []string
	for _, r := range httpapi.Routes() {
		scope := string(r.Scope)
		if scope == "" && !r.Public {
			scope = "any"
		}
		if !internal(r.Pattern) {
			got = append(got, r.Method+" "+r.Pattern+" "+scope)
		}
	}
	for _, r := range testkit.NewContract(t).Routes() {
		want = append(want, r.Method+" "+r.Path+" "+r.Scope)
	}
	slices.Sort(got)
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("routes (-api/openapi.yaml +httpapi.Routes()):\n%s", diff)
	}
}

// The test calls every operation on running servers, with valid and invalid requests. Every
// response follows the contract, and every declared response occurs.
func TestEveryResponseFollowsTheContract(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, url string) {
		testkit.TakesLongOnPostgres(t, url)
		contract := testkit.NewContract(t)
		check := func(w *world) *world {
			w.client.Transport = contract.Transport(t, w.client.Transport)
			return w
		}
		forge := testkit.NewForge(t, t.TempDir())
		w := check(start(t, func(s *settings) { s.storeURL, s.forge, s.idp = url, forge, testkit.NewIDP(t, nil) }))
		d := &driver{world: w, seen: map[string]string{"forge url": forge.URL}, storeURL: url}
		d.callWell()
		d.callBadly()
		d.callAll(d.faults)

		d.world = check(start(t, func(s *settings) { s.api.Rules, s.api.RequestsPerMinute = w.svc, 1 }))
		d.do("GET", "/api/v1/me", nil)
		d.callAll(func(op operation) { d.do(op.method, op.path, op.body) })
		d.world = check(start(t, func(s *settings) { s.noAPI = true }))
		d.callAll(func(op operation) { d.do(op.method, op.path, op.body) })
		d.world = check(start(t, func(s *settings) { s.api.Rules = &control.Rules{} }))
		d.callAll(func(op operation) { d.do(op.method, op.path, op.body) })

		d.world = check(start(t, func(s *settings) { s.bucket = acceptingBucket(t) }))
		d.followToBucket()

		contract.RequireAll(t)
		if t.Failed() {
			t.Log(contract.Report())
		}
	})
}

// acceptingBucket returns the URL of an object store that accepts each object and serves none.
// Links need no more.
func acceptingBucket(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "0")
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// followToBucket follows a signed link that redirects to the object store.
func (d *driver) followToBucket() {
	d.t.Helper()
	started := d.must(http.StatusOK, "POST", "/api/v1/agent/runs", map[string]any{
		"prompt": "x", "attachments": []map[string]any{{"file_name": "a", "mime_type": "text/plain", "data": "aGk="}},
	}).field("run_id")
	var files struct {
		Attachments []run.HandoffAttachment `json:"attachments"`
	}
	d.must(http.StatusOK, "GET", "/api/v1/agent/runs/"+started+"/handoff/attachments", nil).into(d.t, &files)
	d.must(http.StatusFound, "GET", strings.TrimPrefix(files.Attachments[0].DownloadURL, d.url), nil)
}

// operation is a request that would succeed.
type operation struct {
	method, path string
	body         any
	scope        string
}

// driver calls every operation and keeps the ids that other operations need.
type driver struct {
	*world
	seen     map[string]string // ids by kind
	storeURL string
}

// operations lists a request for each operation of the contract, on existing resources. Deletes
// come last.
func (d *driver) operations() []operation {
	const base = "/api/v1"
	run, waiting, agent := base+"/agent/runs/"+d.seen["run"], base+"/agent/runs/"+d.seen["waiting"], base+"/agent"
	read, write, reads, manage, keys := "runs:read", "runs:write", "factories:read", "factories:manage", "keys:manage"
	people := "access:manage"
	events, endpoint := "events:manage", base+"/event-endpoints/"+d.seen["endpoint"]
	forges, forge := "forges:manage", base+"/forges/"+d.seen["forge"]
	factory := base + "/factory/" + d.seen["factory"]
	hooks := base + "/factory/" + d.seen["factory"] + "/webhooks"
	hook := hooks + "/" + d.seen["webhook"]
	prepared := map[string]any{"files": []map[string]any{{"filename": "a.txt", "mime_type": "text/plain"}}}
	budget := map[string]any{"scope": "key", "scope_uid": d.seen["key"], "period": "day", "max_cost_usd": 1.5}
	schedule := map[string]any{"name": "nightly", "cron_schedule": "@daily", "prompt": "look", "enabled": true}
	return []operation{
		{"POST", agent + "/runs", map[string]any{"prompt": "x"}, write},
		{"POST", agent + "/run", map[string]any{"prompt": "x"}, write},
		{"GET", agent + "/runs", nil, read},
		{"GET", run, nil, read},
		{"POST", waiting + "/followups", map[string]any{"message": "go on"}, write},
		{"POST", waiting + "/attachments/prepare", prepared, write},
		{"POST", base + "/agent/runs/" + d.seen["live"] + "/interrupt", nil, write},
		{"GET", agent + "/runs/" + d.seen["kept"] + "/checkpoints", nil, read},
		{"POST", agent + "/runs/" + d.seen["kept"] + "/fork", map[string]any{"prompt": "x"}, write},
		{"POST", agent + "/runs/" + d.seen["kept"] + "/rewind", map[string]any{"turn": 1}, write},
		{"GET", agent + "/fork-groups/" + d.seen["forks"], nil, read},
		{"POST", agent + "/conversations/" + d.seen["talk"] + "/followups", map[string]any{"message": "go on"}, write},
		{"POST", agent + "/conversations/" + d.seen["talk"] + "/attachments/prepare", prepared, write},
		{"POST", agent + "/conversations/" + d.seen["talk"] + "/interrupt", nil, write},
		{"PUT", base + "/uploads/" + d.seen["upload"], nil, ""},
		{"POST", waiting + "/cancel", nil, write},
		{"GET", run + "/timeline", nil, read},
		{"GET", run + "/network", nil, read},
		{"GET", run + "/changes", nil, read},
		{"GET", run + "/changes/app/patch", nil, read},
		{"GET", run + "/usage", nil, read},
		{"GET", run + "/harness-usage", nil, read},
		{"GET", run + "/calls?limit=1", nil, read},
		{"PATCH", run, map[string]any{"config": map[string]any{"budget": map[string]any{"max_cost_usd": 9}}}, write},
		{"GET", agent + "/network", nil, read},
		{"GET", run + "/conversation", nil, read},
		{"GET", run + "/transcript", nil, read},
		{"GET", run + "/events", nil, read},
		{"GET", run + "/handoff/attachments", nil, read},
		{
			"POST", run + "/artifacts",
			map[string]any{
				"artifact_type": "PULL_REQUEST", "data": map[string]any{"branch": "b", "url": "https://example.com/pull/2"},
			},
			write,
		},
		{"GET", agent + "/run-by-external-reference?url=https://example.com/pull/1", nil, read},
		{"GET", agent + "/conversations/" + d.seen["conversation"], nil, read},
		{"GET", agent + "/conversations/" + d.seen["conversation"] + "/transcript", nil, read},
		{
			"GET", agent + "/conversations/" + d.seen["conversation"] + "/screenshots/" + d.seen["screenshot"] + "/download",
			nil, read,
		},
		{"GET", agent + "/conversations/" + d.seen["conversation"] + "/redirect", nil, ""},
		{"GET", agent + "/sessions/" + d.seen["session"] + "/redirect", nil, ""},
		{"GET", agent + "/artifacts/" + d.seen["artifact"], nil, read},
		{"GET", agent + "/artifacts/" + d.seen["artifact"] + "/download", nil, read},
		{"GET", base + "/downloads/" + d.seen["token"], nil, ""},
		{"GET", agent, nil, read},
		{"GET", agent + "/bundled-skills", nil, read},
		{"GET", agent + "/models", nil, read},
		{"GET", agent + "/connected-self-hosted-workers", nil, read},
		{"GET", agent + "/harnesses", nil, read},
		{"POST", agent + "/environments", map[string]any{"name": penstock.NewUID()}, manage},
		{"GET", agent + "/environments", nil, read},
		{"GET", agent + "/environments/" + d.seen["environment"], nil, read},
		{
			"PUT", agent + "/environments/" + d.seen["environment"],
			map[string]any{"name": penstock.NewUID(), "setup_commands": []string{"true"}},
			manage,
		},
		{"GET", agent + "/environments/" + d.seen["environment"] + "/prebuilds", nil, read},
		{"POST", agent + "/identities", map[string]any{"name": penstock.NewUID()}, manage},
		{"GET", agent + "/identities", nil, read},
		{"GET", agent + "/identities/" + d.seen["identity"], nil, read},
		{"PUT", agent + "/identities/" + d.seen["identity"], map[string]any{"description": "d"}, manage},
		{"POST", agent + "/schedules", schedule, write},
		{"GET", agent + "/schedules", nil, read},
		{"GET", agent + "/schedules/" + d.seen["schedule"], nil, read},
		{"PUT", agent + "/schedules/" + d.seen["schedule"], schedule, write},
		{"POST", agent + "/schedules/" + d.seen["schedule"] + "/pause", nil, write},
		{"POST", agent + "/schedules/" + d.seen["schedule"] + "/resume", nil, write},
		{"GET", base + "/occurrences?kind=tick&limit=1", nil, reads},
		{"GET", base + "/occurrences?limit=500", nil, reads},
		{"GET", base + "/subjects?limit=1", nil, reads},
		{"GET", base + "/subjects/" + d.seen["subject"], nil, reads},
		{"POST", hooks, map[string]any{"name": penstock.NewUID()}, manage},
		{"GET", hooks, nil, manage},
		{"GET", hook, nil, manage},
		{
			"PATCH", hook,
			map[string]any{"replay_guard": true, "signature": map[string]any{"timestamp_header": "X-Time"}},
			manage,
		},
		{"GET", hook + "/deliveries?limit=1&outcome=accepted", nil, manage},
		{"GET", hook + "/deliveries/" + d.seen["delivery"], nil, manage},
		{"GET", hook + "/deliveries/" + d.seen["delivery"] + "/payload", nil, manage},
		{"POST", hook + "/deliveries/" + d.seen["delivery"] + "/replay", nil, manage},
		{"POST", hook + "/rotate-secret", map[string]any{"secret": "an-example-value", "overlap_seconds": 1}, manage},
		{"POST", hook + "/test-delivery", map[string]any{"payload": map[string]any{"n": 1}}, manage},
		{"POST", hook + "/verify-request", map[string]any{"headers": map[string]any{"X-A": "b"}, "body": "{}"}, manage},
		{"POST", base + "/factory", map[string]any{"name": penstock.NewUID()}, manage},
		{"GET", base + "/factory", nil, reads},
		{"GET", factory, nil, reads},
		{"PATCH", factory, map[string]any{"description": "d", "alias": nil}, manage},
		{"GET", factory + "/definition", nil, reads},
		{"GET", factory + "/definition/history/1", nil, reads},
		{"GET", factory + "/definition/history?limit=1", nil, reads},
		{"PUT", factory + "/definition", map[string]any{"files": tree("acme"), "dry_run": true}, manage},
		{"GET", base + "/factory-files/schemas", nil, ""},
		{"GET", base + "/factory-files/schemas/v1alpha1", nil, ""},
		{"GET", base + "/factory-files/schemas/v1alpha1/agent.schema.json", nil, ""},
		{"POST", base + "/factory-files/validate", map[string]any{"files": tree("x")}, ""},
		{"POST", base + "/factory/" + d.seen["repository"] + "/sync", nil, manage},
		{
			"POST", factory + "/runs",
			map[string]any{"prompt": "x", "ticket_ref": "linear:PAY-42", "ticket_url": "https://linear.app/acme/issue/PAY-42"},
			write,
		},
		{"POST", factory + "/automations", automation(), manage},
		{"GET", factory + "/automations", nil, reads},
		{"GET", factory + "/automations/" + d.seen["automation"], nil, reads},
		{"PATCH", factory + "/automations/" + d.seen["automation"], map[string]any{"enabled": false, "model": nil}, manage},
		{"POST", factory + "/automations/" + d.seen["automation"] + "/run", nil, write},
		{
			"POST", factory + "/test-filter",
			map[string]any{"filter": map[string]any{"a": []int{1}}, "payload": map[string]any{"a": 2}},
			manage,
		},
		{"POST", base + "/secrets", map[string]any{"name": "S" + penstock.NewUID(), "value": "v"}, "secrets:manage"},
		{"GET", base + "/secrets", nil, "secrets:manage"},
		{"GET", base + "/secrets/" + d.seen["secret"], nil, "secrets:manage"},
		{"PUT", base + "/secrets/" + d.seen["secret"], map[string]any{"value": "v"}, "secrets:manage"},
		{"POST", base + "/budgets", budget, "admin"},
		{"GET", base + "/usage?group_by=model&interval=hour", nil, read},
		{"GET", base + "/budgets", nil, read},
		{"GET", base + "/budgets/" + d.seen["budget"], nil, read},
		{"PATCH", base + "/budgets/" + d.seen["budget"], map[string]any{"max_cost_usd": 2, "action": nil}, "admin"},
		{
			"POST", base + "/event-endpoints",
			map[string]any{"url": "https://hooks.example.com/x", "events": []string{"run.failed"}, "description": "d"},
			events,
		},
		{"GET", base + "/event-endpoints", nil, events},
		{"GET", endpoint, nil, events},
		{"PATCH", endpoint, map[string]any{"factory_uids": nil, "enabled": true}, events},
		{"POST", endpoint + "/ping", nil, events},
		{"POST", endpoint + "/rotate-secret", map[string]any{"overlap_seconds": 60}, events},
		{"GET", endpoint + "/attempts?limit=5", nil, events},
		{"POST", endpoint + "/replay", map[string]any{"since": "2026-01-01T00:00:00Z"}, events},
		{"GET", base + "/event-types", nil, "any"},
		{
			"POST", base + "/forges", map[string]any{
				"name": "f" + strings.ToLower(penstock.NewID()), "provider": "gitea", "url": d.seen["forge url"],
				"token": "writer", "read_token": "reader", "repositories": []string{"acme/*"},
			}, forges,
		},
		{"GET", base + "/forges", nil, forges},
		{"GET", forge, nil, forges},
		{"PATCH", forge, map[string]any{"repositories": nil, "token": "writer"}, forges},
		{"POST", forge + "/check", nil, forges},
		{"GET", forge + "/repositories", nil, forges},
		{"POST", forge + "/rotate-secret", map[string]any{"overlap_seconds": 60}, forges},
		{"GET", forge + "/deliveries?limit=1&outcome=accepted", nil, forges},
		{"GET", forge + "/deliveries/" + d.seen["forge delivery"], nil, forges},
		{"GET", forge + "/deliveries/" + d.seen["forge delivery"] + "/payload", nil, forges},
		{"POST", forge + "/deliveries/" + d.seen["forge delivery"] + "/replay", nil, forges},
		{"POST", agent + "/runs/" + d.seen["pushed"] + "/outputs", map[string]any{"kind": "comment", "body": "x"}, write},
		{"GET", agent + "/runs/" + d.seen["pushed"] + "/outputs", nil, read},
		{"GET", base + "/outputs?state=held", nil, read},
		{"POST", base + "/outputs/" + d.seen["approved"] + "/approve", nil, write},
		{"POST", base + "/outputs/" + d.seen["rejected"] + "/reject", nil, write},
		{"POST", base + "/keys", map[string]any{"name": "k", "scopes": []string{"runs:read"}}, keys},
		{"GET", base + "/keys", nil, keys},
		{"PATCH", base + "/keys/" + d.seen["key"], map[string]any{"owner_uid": d.seen["user"]}, keys},
		{"POST", base + "/users", map[string]any{"display_name": "Ada", "role": "editor"}, people},
		{"GET", base + "/users", nil, people},
		{"GET", base + "/users/" + d.seen["user"], nil, people},
		{"PATCH", base + "/users/" + d.seen["user"], map[string]any{"display_name": "Ada B."}, people},
		{"POST", base + "/service-accounts", map[string]any{"display_name": "nightly"}, people},
		{"GET", base + "/service-accounts", nil, people},
		{"GET", base + "/service-accounts/" + d.seen["service account"], nil, people},
		{"PATCH", base + "/service-accounts/" + d.seen["service account"], map[string]any{"email": "ops@a.example"}, people},
		{
			"POST", base + "/grants",
			map[string]any{"subject_type": "group", "subject": penstock.NewUID(), "role": "viewer"},
			people,
		},
		{"GET", base + "/grants", nil, people},
		{"GET", base + "/me", nil, "any"},
		{"GET", base + "/signature-schemes", nil, "any"},
		{"GET", base + "/schedule-times?cron=0+7+*+*+1-5&timezone=Europe/Berlin", nil, "any"},
		{"GET", base + "/stats?hours=168", nil, read},
		{"GET", base + "/limits", nil, "any"},
		{"POST", base + "/session", map[string]any{"api_key": adminKey}, ""},
		{"GET", base + "/session/providers", nil, ""},
		{"POST", base + "/session/providers", map[string]any{"provider": "Corp", "return_to": "/runs"}, ""},
		{"GET", base + "/session", nil, "any"},
		{"DELETE", base + "/session", nil, "any"},
		{"DELETE", agent + "/environments/" + d.seen["environment"] + "/prebuilds/" + d.seen["prebuild"], nil, manage},
		{"DELETE", agent + "/environments/" + d.seen["environment"], nil, manage},
		{"DELETE", agent + "/identities/" + d.seen["identity"], nil, manage},
		{"DELETE", agent + "/schedules/" + d.seen["schedule"], nil, write},
		{"DELETE", hook, nil, manage},
		{"DELETE", factory + "/automations/" + d.seen["automation"], nil, manage},
		{"DELETE", factory, nil, manage},
		{"DELETE", base + "/secrets/" + d.seen["secret"], nil, "secrets:manage"},
		{"DELETE", base + "/budgets/" + d.seen["budget"], nil, "admin"},
		{"DELETE", base + "/keys/" + d.seen["key"], nil, keys},
		{"DELETE", base + "/grants/" + d.seen["grant"], nil, people},
		{"DELETE", base + "/users/" + d.seen["user"], nil, people},
		{"DELETE", base + "/service-accounts/" + d.seen["service account"], nil, people},
		{"DELETE", endpoint, nil, events},
		{"DELETE", forge, nil, forges},
	}
}

// tree returns the files of a factory, with a warning.
func tree(name string) map[string]string {
	return map[string]string{
		"factory.yaml":            "schemaVersion: v1alpha1\nname: " + name + "\nagentDefaults: {model: auto}\n",
		"agents/foreman/agent.md": "---\nagentType: FOREMAN\n---\nx\n",
		"automations/a/automation.md": "---\ntriggers:\n  - {provider: webhook, event: received, filter: {webhook_ids: " +
			"[gone]}}\n---\nx\n",
	}
}

// automation is an automation with a trigger of each kind.
func automation() map[string]any {
	return map[string]any{"name": penstock.NewID(), "prompt": "x", "model": "demo/offline", "triggers": []map[string]any{
		{
			"provider": "webhook", "event": "received",
			"filter": map[string]any{"webhook_ids": []string{"alerts", "gone"}, "payload": map[string]any{"a": []int{1}}},
		},
		{
			"provider": "schedule", "event": "cron_fired",
			"schedule": map[string]any{"cron": "0 7 * * *", "timezone": "Europe/Berlin", "name": "early"},
		},
		{"provider": "github", "event": "push", "filter": map[string]any{"repos": []string{"acme/app"}}},
	}}
}

func (d *driver) callAll(call func(operation)) {
	for _, op := range d.operations() {
		call(op)
	}
}

// callWell creates a resource of every kind and calls every operation on it.
func (d *driver) callWell() {
	t := d.t
	t.Helper()
	d.execute()
	d.makeOutputs()
	d.makeSteered()
	for kind, path := range map[string]string{
		"environment": "environments", "identity": "identities", "schedule": "schedules",
	} {
		body := map[string]any{"name": kind, "cron_schedule": "@daily", "prompt": "look"}
		if kind == "environment" {
			body = map[string]any{
				"name": "everything", "description": "d", "docker_image": "debian", "setup_commands": []string{"true"},
				"github_repos": []map[string]string{{"owner": "acme", "repo": "app"}},
				"repos":        []map[string]string{{"url": "https://example.com/a.git", "ref": "main"}},
			}
		}
		a := d.must(http.StatusCreated, "POST", "/api/v1/agent/"+path, body)
		d.seen[kind] = a.field("uid") + a.field("id") // one of them
	}
	d.makePrebuilds()
	d.makeWebhooks()
	b := d.signIn(adminKey)
	b.do("GET", "/api/v1/session", nil)
	if a := b.do(
		"POST", validatePath, listed(tree("x")), "Sec-Fetch-Site", "cross-site",
	); a.status != http.StatusForbidden {
		d.t.Errorf("validate with a session, from elsewhere: got %d %s", a.status, a.body)
	}
	b.do("DELETE", "/api/v1/session", nil)
	d.seen["secret"] = "S" + penstock.NewUID()
	d.must(http.StatusCreated, "POST", "/api/v1/secrets", map[string]any{"name": d.seen["secret"]})
	d.seen["key"], _ = d.newKey(penstock.ScopeRunsRead)
	d.makeMembers()
	d.must(http.StatusOK, "GET", "/api/v1/usage?format=csv", nil)
	budgets, total := "/api/v1/budgets", `{"scope": "team", "period": "total", "max_cost_usd": 1000}`
	endpoints, receiver := "/api/v1/event-endpoints", `{"url": "https://hooks.example.com/x"}`
	d.seen["endpoint"] = d.must(http.StatusCreated, "POST", endpoints, receiver).field("uid")
	d.must(http.StatusCreated, "POST", endpoints, map[string]any{
		"format": "slack_app", "channel": "C024BE91L", "bot_token": "xoxb-1", "signing_secret": "s",
		"may_answer": []string{"U024BE7LH"},
	})
	d.must(
		http.StatusNoContent, "DELETE",
		endpoints+"/"+d.must(http.StatusCreated, "POST", endpoints, receiver).field("uid"), nil,
	)
	d.seen["budget"] = d.must(http.StatusCreated, "POST", budgets, total).field("uid")
	d.must(
		http.StatusNoContent, "DELETE", budgets+"/"+d.must(http.StatusCreated, "POST", budgets, total).field("uid"), nil,
	)
	for _, op := range d.operations() {
		if strings.HasSuffix(op.path, "/cancel") || op.method == "DELETE" || strings.HasSuffix(op.path, "/session") ||
			op.method == "POST" && strings.HasSuffix(op.path, "/outputs") {
			continue // it would remove what the others need, or needs a cookie or the key of an execution
		}
		if a := d.do(op.method, op.path, op.body); a.status >= 400 {
			t.Errorf("%s %s: got %d %s", op.method, op.path, a.status, a.body)
		}
	}
	d.must(http.StatusOK, "POST", "/api/v1/agent/runs/"+d.newRun("cancel me")+"/cancel", nil)
	for _, path := range []string{"environments", "identities", "schedules"} {
		name := penstock.NewUID()
		a := d.must(
			http.StatusCreated, "POST", "/api/v1/agent/"+path,
			map[string]any{"name": name, "cron_schedule": "0 3 * * *", "prompt": "x"},
		)
		if a := d.do("DELETE", "/api/v1/agent/"+path+"/"+a.field("uid")+a.field("id"), nil); a.status >= 300 {
			t.Errorf("delete of %s: got %d %s", path, a.status, a.body)
		}
	}
	for _, path := range []string{"/runs", "/run"} { // the response has the runs
		many := d.must(http.StatusOK, "POST", "/api/v1/agent"+path, `{"prompt": "x", "attempts": 2, "configs": [{}, {}]}`)
		group := d.must(http.StatusOK, "GET", "/api/v1/agent/fork-groups/"+many.field("fork_group"), nil)
		if n := strings.Count(group.body, `"run_id"`); n != 2 {
			t.Errorf("the group of two attempts: %s", group.body)
		}
	}
	d.must(http.StatusCreated, "POST", "/api/v1/secrets", `{"name": "SHORT_LIVED", "value": "v"}`)
	d.must(http.StatusNoContent, "DELETE", "/api/v1/secrets/SHORT_LIVED", nil)
	uid, _ := d.newKey(penstock.ScopeRunsRead)
	d.must(http.StatusNoContent, "DELETE", "/api/v1/keys/"+uid, nil)
}

// makeMembers creates a user, a service account and a grant.
func (d *driver) makeMembers() {
	d.t.Helper()
	d.seen["user"] = d.must(http.StatusCreated, "POST", "/api/v1/users", `{"display_name": "Bo", "role": "user"}`).
		field("uid")
	d.seen["service account"] = d.must(http.StatusCreated, "POST", "/api/v1/service-accounts", `{"display_name": "ci"}`).
		field("uid")
	d.seen["grant"] = d.must(
		http.StatusCreated, "POST", "/api/v1/grants",
		map[string]any{"subject_type": "service_account", "subject": d.seen["service account"], "role": "user"},
	).field("uid")
	for kind, body := range map[string]string{
		"grants":           `{"subject_type": "group", "subject": "short-lived", "role": "viewer"}`,
		"users":            `{"display_name": "Short-lived"}`,
		"service-accounts": `{"display_name": "short-lived"}`,
	} {
		uid := d.must(http.StatusCreated, "POST", "/api/v1/"+kind, body).field("uid")
		d.must(http.StatusNoContent, "DELETE", "/api/v1/"+kind+"/"+uid, nil)
	}
}

// lastAdmins tries to take the last admin away, a user first and then a service account.
func (d *driver) lastAdmins() {
	d.t.Helper()
	me := d.must(http.StatusOK, "GET", "/api/v1/me", nil)
	var caller struct{ Actor penstock.Actor }
	me.into(d.t, &caller)
	admin := caller.Actor.UID
	var all struct{ Grants []penstock.Grant }
	d.must(http.StatusOK, "GET", "/api/v1/grants", nil).into(d.t, &all)
	at := slices.IndexFunc(all.Grants, func(g penstock.Grant) bool { return g.Subject == admin })
	refused := func(method, path string, body any, as ...string) {
		d.t.Helper()
		d.must(http.StatusConflict, method, "/api/v1/"+path, body, as...)
	}
	refused("DELETE", "grants/"+all.Grants[at].UID, nil)
	refused("PATCH", "users/"+admin, `{"disabled": true}`)
	refused("DELETE", "users/"+admin, nil)
	other := d.must(http.StatusCreated, "POST", "/api/v1/users", `{"display_name": "Cleo", "role": "viewer"}`).field("uid")
	refused("PATCH", "keys/"+me.field("key_uid"), map[string]any{"owner_uid": other})

	service := d.must(http.StatusCreated, "POST", "/api/v1/service-accounts", `{"display_name": "ops", "role": "admin"}`).
		field("uid")
	key := d.must(
		http.StatusCreated, "POST", "/api/v1/keys", map[string]any{"name": "ops", "role": "admin", "owner_uid": service},
	).field("key")
	bearer := []string{"Authorization", "Bearer " + key}
	d.must(http.StatusOK, "PATCH", "/api/v1/users/"+admin, `{"disabled": true}`)
	d.must(http.StatusUnauthorized, "GET", "/api/v1/me", nil)
	refused("PATCH", "service-accounts/"+service, `{"disabled": true}`, bearer...)
	refused("DELETE", "service-accounts/"+service, nil, bearer...)
	d.must(http.StatusOK, "PATCH", "/api/v1/users/"+admin, `{"disabled": false}`, bearer...)
	d.must(http.StatusNoContent, "DELETE", "/api/v1/service-accounts/"+service, nil)
	d.must(http.StatusUnauthorized, "GET", "/api/v1/me", nil, bearer...)
}

// makeSteered creates a run whose agent works, one that waits, and an attachment to upload.
func (d *driver) makeSteered() {
	d.t.Helper()
	d.seen["kept"] = d.newRun("keep")
	kept, id := d.work(d.svc.Executions.Control()), penstock.NewID()
	_, err := kept.control.Save(d.t.Context(), kept.a.Lease, penstock.Upload{
		ID: id, Size: 1, Checkpoint: &penstock.SavedCheckpoint{
			PromptID: d.seen["kept"], Harness: penstock.HarnessBuiltin, Packs: []string{id},
		},
	}, strings.NewReader("x"))
	if err == nil {
		_, err = kept.control.Finish(d.t.Context(), kept.a.Lease, penstock.Result{State: penstock.StateSucceeded})
	}
	if err != nil {
		d.t.Fatal(err)
	}
	fork := d.must(http.StatusOK, "POST", "/api/v1/agent/runs/"+d.seen["kept"]+"/fork", map[string]any{"prompt": "x"})
	d.seen["forks"] = fork.field("fork_group")
	d.work(d.svc.Executions.Control())
	d.seen["live"] = d.newRun("work")
	g := d.work(d.svc.Executions.Control())
	d.seen["talk"] = g.a.Run.ConversationID
	testkit.Exec(
		d.t, d.storeURL, "UPDATE queue SET lease_until = lease_until + 3600000 WHERE run_id = '"+d.seen["live"]+"'",
	)
	d.seen["waiting"] = d.newRun("wait")
	d.seen["upload"], _ = d.prepare()
}

// prepare prepares an attachment of the waiting run, and returns the token of its link and its id.
func (d *driver) prepare() (token, id string) {
	d.t.Helper()
	var prepared run.PreparedAttachments
	d.must(http.StatusOK, "POST", "/api/v1/agent/runs/"+d.seen["waiting"]+"/attachments/prepare",
		`{"files": [{"filename": "a.txt", "mime_type": "text/plain"}]}`).into(d.t, &prepared)
	one := prepared.Attachments[0]
	return one.UploadURL[strings.LastIndexByte(one.UploadURL, '/')+1:], one.ID
}

// uploadBadly provokes the errors of uploads and of follow-ups with files.
func (d *driver) uploadBadly() {
	d.t.Helper()
	token, id := d.prepare()
	path, follow := "/api/v1/uploads/"+token, "/api/v1/agent/runs/"+d.seen["waiting"]+"/followups"
	named := map[string]any{"attachments": []map[string]any{{"attachment_id": id}}}
	d.must(http.StatusUnprocessableEntity, "POST", follow, named) // not uploaded yet
	d.must(http.StatusUnprocessableEntity, "POST", "/api/v1/agent/conversations/"+d.seen["talk"]+"/followups", named)
	d.must(http.StatusBadRequest, "PUT", path, "x", "Content-Encoding", "gzip")
	d.must(http.StatusRequestEntityTooLarge, "PUT", path, strings.Repeat("x", run.MaxAttachmentBytes+1))
	d.must(http.StatusNotFound, "PUT", "/api/v1/uploads/nonsense", "x")
	d.must(http.StatusNotFound, "GET", "/api/v1/downloads/"+token, nil) // a link to upload is none to download
	d.must(http.StatusOK, "PUT", path, "first")
	d.must(http.StatusOK, "PUT", path, "second", "Content-Type", "text/plain")
	d.must(http.StatusOK, "POST", follow, named)
	d.must(http.StatusConflict, "PUT", path, "third")
}

// makePrebuilds reports what a worker keeps, and deletes one.
func (d *driver) makePrebuilds() {
	d.t.Helper()
	d.seen["prebuild"] = penstock.NewID()
	short := penstock.NewID()
	failed := layerOf(d.seen["environment"], penstock.NewID())
	failed.State, failed.Reason, failed.LastUsedAt, failed.ImageDigest = penstock.PreparedFailed, "It is full.", 0, ""
	reportAll(d.t, d.svc.Executions.Control(), layerOf(d.seen["environment"], d.seen["prebuild"]),
		layerOf(d.seen["environment"], short), failed)
	d.must(
		http.StatusNoContent, "DELETE", "/api/v1/agent/environments/"+d.seen["environment"]+"/prebuilds/"+short, nil,
	)
}

// makeOutputs lets an agent push a branch and declare outputs, and holds some.
func (d *driver) makeOutputs() {
	d.t.Helper()
	connection := map[string]any{"name": "acme", "provider": "gitea", "url": d.seen["forge url"], "token": "writer"}
	d.must(http.StatusNoContent, "DELETE",
		"/api/v1/forges/"+d.must(http.StatusCreated, "POST", "/api/v1/forges", connection).field("uid"), nil)
	d.seen["forge"] = d.must(http.StatusCreated, "POST", "/api/v1/forges", connection).field("uid")
	d.seen["forge delivery"] = d.deliverTo(
		d.seen["forge"], factory.InboundDelivery{Outcome: penstock.OutcomeAccepted},
	).DeliveryID
	d.seen["refused"] = d.deliverTo(
		d.seen["forge"], factory.InboundDelivery{Outcome: penstock.OutcomeRejectedSize},
	).DeliveryID
	d.seen["pushed"] = d.must(http.StatusOK, "POST", "/api/v1/agent/runs",
		`{"prompt": "x", "config": {"repositories": [{"connection": "acme", "path": "acme/shop"}]}}`).field("run_id")
	g, path := d.work(d.svc.Executions.Control()), "/api/v1/agent/runs/"+d.seen["pushed"]+"/outputs"
	key := "Bearer " + g.a.APIKey
	const pr = `{"kind": "pr", "title": "Fix it"}`
	d.must(http.StatusConflict, "POST", path, pr, "Authorization", key) // nothing is pushed
	_, err := g.control.ClaimBranches(d.t.Context(), g.a.Lease, penstock.PushClaim{
		URL:      d.seen["forge url"] + "/acme/shop.git",
		Branches: []penstock.PushedBranch{{Name: "penstock/x", New: strings.Repeat("a", 40)}},
	})
	if err != nil {
		d.t.Fatal(err)
	}
	d.must(http.StatusCreated, "POST", path, pr, "Authorization", key)
	for _, kind := range []string{"approved", "rejected"} {
		d.seen[kind] = d.must(
			http.StatusCreated, "POST", path, `{"kind": "comment", "body": "x"}`, "Authorization", key,
		).field("uid")
		testkit.Exec(d.t, d.storeURL, "UPDATE outputs SET state = 'held' WHERE uid = '"+d.seen[kind]+"'")
	}
	d.must(http.StatusBadRequest, "POST", path, `{"kind": "review"}`, "Authorization", key)
	testkit.Exec(
		d.t, d.storeURL, "UPDATE queue SET lease_until = lease_until + 3600000 WHERE run_id = '"+d.seen["pushed"]+"'",
	)
}

// makeWebhooks creates a webhook of each mode, and deletes one.
func (d *driver) makeWebhooks() {
	d.t.Helper()
	d.seen["factory"] = d.must(
		http.StatusCreated, "POST", "/api/v1/factory", `{"name": "acme", "alias": "a.c", "description": "d"}`,
	).field("uid")
	hooks := "/api/v1/factory/" + d.seen["factory"] + "/webhooks"
	d.seen["webhook"] = d.must(http.StatusCreated, "POST", hooks, map[string]any{
		"name": "Alerts", "auth_mode": "signature", "signature_scheme": "grafana", "secret": "an-example-value",
		"delivery_id_header": "X-Alert-Id",
		"signature":          map[string]any{"timestamp_header": "X-Time"}, "secret_name": "ALERTS",
		"secret_refresh": "immediate",
	}).field("uid")
	d.makeDeliveries(d.seen["factory"])
	d.seen["pending"] = d.must(
		http.StatusCreated, "POST", hooks, `{"name": "pending", "auth_mode": "signature", "signature_scheme": "stripe"}`,
	).field("uid")
	d.must(http.StatusCreated, "POST", hooks, map[string]any{
		"name": "own", "auth_mode": "signature", "signature_scheme": "custom_hmac", "secret": "an-example-value",
		"signature": map[string]any{
			"header": "X-Signature", "prefix": "v1=", "hash": "sha512", "encoding": "base64", "key_form": "text",
			"template": "{body}",
		},
	})
	uid := d.must(http.StatusCreated, "POST", hooks, `{"name": "short-lived", "auth_mode": "url_token"}`).field("uid")
	d.must(http.StatusOK, "POST", hooks+"/"+uid+"/rotate-secret", nil)
	d.must(http.StatusNoContent, "DELETE", hooks+"/"+uid, nil)
	d.makeAutomations()
	d.makeRepository()
}

// makeRepository creates a factory that comes from a repository, and calls every operation that
// would edit it. The newest commit is rejected.
func (d *driver) makeRepository() {
	d.t.Helper()
	repository := testkit.NewRepository(d.t, d.t.TempDir(), "factories")
	files := tree("from git")
	files["webhooks/ci.yaml"] = "secretName: CI_TOKEN\nenabled: false\n"
	d.must(http.StatusCreated, "POST", "/api/v1/secrets", `{"name": "CI_TOKEN", "value": "an-example-value"}`)
	repository.Commit("Begin", files)
	made := d.must(
		http.StatusCreated, "POST", "/api/v1/factory",
		map[string]any{"repository": map[string]any{"url": repository.URL(), "branch": "main"}},
	)
	uid := made.field("uid")
	d.seen["repository"] = uid
	d.must(http.StatusOK, "POST", "/api/v1/factory/"+uid+"/sync", nil)
	files["factory.yaml"] += "title: x\n"
	repository.Commit("Break it", files)
	d.must(http.StatusOK, "POST", "/api/v1/factory/"+uid+"/sync", nil)
	d.must(http.StatusOK, "GET", "/api/v1/factory/"+uid+"/definition/history", nil)
	for _, part := range []string{"webhooks", "automations"} {
		var list map[string][]struct{ UID string }
		d.must(http.StatusOK, "GET", "/api/v1/factory/"+uid+"/"+part, nil).into(d.t, &list)
		d.must(http.StatusConflict, "DELETE", "/api/v1/factory/"+uid+"/"+part+"/"+list[part][0].UID, nil)
	}
}

// makeAutomations creates an automation to call, and deletes an automation and a factory.
func (d *driver) makeAutomations() {
	d.t.Helper()
	automations := "/api/v1/factory/" + d.seen["factory"] + "/automations"
	d.seen["automation"] = d.must(http.StatusCreated, "POST", automations, automation()).field("uid")
	d.makeSubject()
	uid := d.must(http.StatusCreated, "POST", automations, automation()).field("uid")
	d.must(http.StatusNoContent, "DELETE", automations+"/"+uid, nil)
	short := d.must(http.StatusCreated, "POST", "/api/v1/factory", `{"name": "short-lived"}`).field("uid")
	d.must(http.StatusNoContent, "DELETE", "/api/v1/factory/"+short, nil)
	d.must(
		http.StatusOK, "POST", "/api/v1/factory/"+d.seen["factory"]+"/test-filter",
		map[string]any{"filter": map[string]any{}, "webhook_uid": d.seen["webhook"]},
	)
	d.must(
		http.StatusOK, "POST", "/api/v1/factory/"+d.seen["factory"]+"/test-filter",
		map[string]any{"filter": map[string]any{}, "delivery_id": d.seen["delivery"]},
	)
}

// makeSubject delivers an event about a subject.
func (d *driver) makeSubject() {
	d.t.Helper()
	d.must(http.StatusCreated, "POST", "/api/v1/factory/"+d.seen["factory"]+"/automations", map[string]any{
		"name": "about", "prompt": "x", "model": "demo/offline", "subject": "{{ticket}}", "when_busy": "queue",
		"quiet": "0", "longest_wait": "5m", "keep": "1d12h", "max_followups": 3, "pause_after_failures": 2,
		"followup_prompt": "y", "on_hollow": "fail", "expect_every": "26h",
		"triggers": []map[string]any{{
			"provider": "webhook", "event": "received",
			"filter": map[string]any{"webhook_ids": []string{"alerts"}, "payload": map[string]any{"ticket": []string{"OPS-7"}}},
		}},
	})
	hook := "/api/v1/factory/" + d.seen["factory"] + "/webhooks/" + d.seen["webhook"]
	d.must(http.StatusCreated, "POST", hook+"/test-delivery", map[string]any{"payload": map[string]any{"ticket": "OPS-7"}})
	var page struct {
		Subjects []store.Subject `json:"subjects"`
	}
	d.must(http.StatusOK, "GET", "/api/v1/subjects?subject=OPS-7", nil).into(d.t, &page)
	if len(page.Subjects) != 1 {
		d.t.Fatalf("the subjects are %+v", page)
	}
	d.seen["subject"] = page.Subjects[0].UID
	d.must(http.StatusOK, "POST", "/api/v1/agent/runs/"+page.Subjects[0].RunID+"/cancel", nil)
}

// execute takes a run through an execution that leaves every kind of data behind, and watches it.
func (d *driver) execute() {
	t := d.t
	t.Helper()
	d.seen["run"] = d.must(http.StatusOK, "POST", "/api/v1/agent/runs", penstock.RunRequest{
		Prompt: "everything", Title: "All of it",
		Config:      &penstock.Config{Name: "all", ModelID: "demo/offline", Env: map[string]string{"A": "b"}},
		Metadata:    map[string]string{"ticket": "OPS-1"},
		Attachments: []penstock.Attachment{{FileName: "a.txt", MimeType: "text/plain", Data: []byte("a")}},
	}).field("run_id")
	g := d.work(d.svc.Executions.Control())
	d.seen["session"] = g.a.Run.SessionID
	for _, method := range []string{"GET", "DELETE"} {
		d.must(http.StatusForbidden, method, "/api/v1/session", nil, "Authorization", "Bearer "+g.a.APIKey)
	}
	d.must(
		http.StatusForbidden, "POST", "/api/v1/session", access.SessionRequest{APIKey: g.a.APIKey}, "Authorization", "",
	)
	for _, path := range []string{"limits", "signature-schemes", "schedule-times?cron=@daily", "event-types"} {
		d.must(http.StatusForbidden, "GET", "/api/v1/"+path, nil, "Authorization", "Bearer "+g.a.APIKey)
	}
	d.must(
		http.StatusOK, "GET", "/api/v1/agent/conversations/"+g.a.Run.ConversationID+"/redirect", nil, "Authorization", "",
	)
	raw := func(kind penstock.EventType, data string) penstock.Draft {
		return penstock.Draft{Type: kind, At: penstock.Now(), Data: []byte(data)}
	}
	g.append(
		penstock.NewDraft(
			penstock.EventMessageDelta, penstock.Now(),
			penstock.MessageDelta{ID: "m1", Role: penstock.RoleAssistant, Text: "He"},
		),
		g.say("Hello"),
		raw(
			penstock.EventAction,
			`{"type":"action","id":"a1","category":"command","name":"run_command","input":{"command":"true"}}`,
		),
		raw(
			penstock.EventActionResult,
			`{"type":"action_result","action_id":"a1","category":"command","name":"run_command","state":"completed",`+
				`"output":{"exit_code":0}}`,
		),
		penstock.NewDraft(
			penstock.EventPlan, penstock.Now(),
			penstock.PlanData{Entries: []penstock.PlanEntry{{Content: "look", Status: "completed", Priority: "high"}}},
		),
		penstock.Timeline(penstock.Now(), penstock.TimelineSetupStep, map[string]any{"command": "true", "exit_code": 0}),
	)
	path := "/api/v1/agent/runs/" + d.seen["run"] + "/artifacts"
	for _, artifact := range []string{
		`{"artifact_type": "PLAN", "data": {"title": "Approach", "content": "1. Look."}}`,
		`{"artifact_type": "PULL_REQUEST", "data": {"branch": "fix", "url": "https://example.com/pull/1"}}`,
		`{"artifact_type": "EXTERNAL_REFERENCE", "data": {"reference_type": "ticket", "url": "https://example.com/t/1", ` +
			`"metadata": {"a": 1}}}`,
	} {
		a := d.must(http.StatusCreated, "POST", path, artifact)
		if strings.Contains(artifact, "PULL_REQUEST") {
			d.seen["pull request"] = a.field("artifact_uid")
		}
	}
	for _, kind := range []string{"SCREENSHOT", "FILE"} {
		body, contentType := form(t, "artifact_type", kind, "description", "what was made", "file", "@# Done")
		a := d.must(http.StatusCreated, "POST", path, body, "Content-Type", contentType)
		var item struct{ Data penstock.ArtifactData }
		a.into(t, &item)
		d.seen["artifact"], d.seen[strings.ToLower(kind)] = item.Data.ArtifactUID, item.Data.ArtifactUID
	}
	const patch = "diff --git a/a b/a\n"
	if _, err := g.control.Save(t.Context(), g.a.Lease, penstock.Upload{
		ID: penstock.NewID(), Size: int64(len(patch)), Changes: &penstock.SavedChanges{
			Repositories: []penstock.SavedRepository{{
				RepositoryChanges: penstock.RepositoryChanges{
					Name: "app", URL: "https://example.com/app.git", Base: strings.Repeat("1", 40), Branch: "fix",
					Files: []penstock.FileChange{
						{Path: "b", PreviousPath: "a", Status: git.FileRenamed, Additions: 1, Truncated: true},
					},
					FilesOmitted: 1, Truncated: true,
				},
				PatchBytes: int64(len(patch)),
			}, {RepositoryChanges: penstock.RepositoryChanges{
				Name: "gone", URL: "https://example.com/gone.git", Error: "it is gone", Files: []penstock.FileChange{},
			}}},
		},
	}, strings.NewReader(patch)); err != nil {
		t.Fatal(err)
	}
	cost := 0.5
	if _, err := g.control.Finish(t.Context(), g.a.Lease, penstock.Result{
		State: penstock.StateSucceeded,
		Usage: &penstock.TurnUsage{
			ModelID: "demo/offline", CostUSD: &cost, Tokens: penstock.TokenUsage{Input: 10, Output: 2},
		},
	}); err != nil {
		t.Fatal(err)
	}
	var run penstock.Run
	d.must(http.StatusOK, "GET", "/api/v1/agent/runs/"+d.seen["run"], nil).into(t, &run)
	d.seen["conversation"] = run.ConversationID
	last := checkOrder(t, d.listen(d.seen["run"]).until("done"))
	d.must(http.StatusNoContent, "GET", "/api/v1/agent/runs/"+d.seen["run"]+"/events?after="+strconv.Itoa(last), nil)
	link := d.must(
		http.StatusFound, "GET", "/api/v1/agent/artifacts/"+d.seen["artifact"]+"/download", nil,
	).header.Get("Location")
	d.seen["token"] = link[strings.LastIndexByte(link, '/')+1:]
}

// callBadly provokes the errors of single operations.
func (d *driver) callBadly() {
	t := d.t
	const agent, unpriced = "/api/v1/agent", `{"model_id": "own/unpriced", "budget": {"max_cost_usd": 1}}`
	factory := "/api/v1/factory/" + d.seen["factory"]
	hooks := factory + "/webhooks"
	d.must(http.StatusCreated, "POST", "/api/v1/factory", `{"name": "other"}`)
	foreman := d.must(http.StatusOK, "GET", factory, nil).field("foreman_agent_uid")
	tests := []struct {
		status       int
		method, path string
		body         any
	}{
		{400, "GET", "/api/v1/occurrences?fate=lost", nil},
		{400, "GET", "/api/v1/subjects?limit=501", nil},
		{404, "GET", "/api/v1/subjects/nonsense", nil},
		{400, "GET", agent + "/runs?limit=501", nil},
		{400, "GET", agent + "/runs?cursor=nonsense", nil},
		{400, "GET", agent + "?sort_by=age", nil},
		{400, "GET", "/api/v1/usage?group_by=color", nil},
		{400, "GET", "/api/v1/usage?interval=hour", nil},
		{400, "GET", "/api/v1/usage?interval=hour&group_by=model&from=2026-01-01T00:00:00Z&to=2026-02-02T00:00:00Z", nil},
		{400, "GET", "/api/v1/stats?hours=745", nil},
		{400, "GET", agent + "/runs/" + d.seen["run"] + "/calls?limit=0", nil},
		{400, "PATCH", agent + "/runs/" + d.seen["run"], `{"config": {}}`},
		{400, "POST", "/api/v1/budgets", `{"scope": "team"}`},
		{400, "POST", "/api/v1/event-endpoints", `{"url": "https://127.0.0.1/", "events": ["run.gone"]}`},
		{422, "POST", "/api/v1/event-endpoints", `{"url": "https://hooks.example.com/", "format": "teams"}`},
		{400, "PATCH", "/api/v1/event-endpoints/" + d.seen["endpoint"], `{"url": null}`},
		{400, "GET", "/api/v1/outputs?state=lost", nil},
		{409, "POST", "/api/v1/outputs/" + d.seen["approved"] + "/approve", nil},
		{409, "POST", "/api/v1/outputs/" + d.seen["rejected"] + "/reject", nil},
		{404, "POST", "/api/v1/outputs/gone/approve", nil},
		{404, "POST", "/api/v1/outputs/gone/reject", nil},
		{400, "POST", "/api/v1/forges", `{"name": "x", "provider": "gitea", "url": "http://git.example.com", "token": "t"}`},
		{422, "POST", "/api/v1/forges", `{"name": "x", "provider": "gitlab", "url": "https://example.com", "token": "t"}`},
		{
			409, "POST", "/api/v1/forges",
			map[string]any{"name": "acme", "provider": "gitea", "url": d.seen["forge url"], "token": "writer"},
		},
		{400, "PATCH", "/api/v1/forges/" + d.seen["forge"], `{"url": "https://git.example.com"}`},
		{400, "POST", "/api/v1/forges/" + d.seen["forge"] + "/rotate-secret", `{"overlap_seconds": -1}`},
		{400, "GET", "/api/v1/forges/" + d.seen["forge"] + "/deliveries?outcome=lost", nil},
		{409, "POST", "/api/v1/forges/" + d.seen["forge"] + "/deliveries/" + d.seen["refused"] + "/replay", nil},
		{404, "GET", "/api/v1/forges/" + d.seen["forge"] + "/deliveries/" + d.seen["refused"] + "/payload", nil},
		{422, "PATCH", "/api/v1/event-endpoints/" + d.seen["endpoint"], `{"format": "slack"}`},
		{400, "GET", "/api/v1/event-endpoints/" + d.seen["endpoint"] + "/attempts?cursor=nonsense", nil},
		{400, "POST", "/api/v1/event-endpoints/" + d.seen["endpoint"] + "/replay", `{}`},
		{404, "POST", "/api/v1/event-endpoints/gone/ping", nil},
		{400, "PATCH", "/api/v1/budgets/" + d.seen["budget"], `{"max_cost_usd": null}`},
		{400, "GET", agent + "/environments?sort_by=age", nil},
		{400, "GET", agent + "/identities?factory_uid=a&factory_uid=b", nil},
		{
			400, "POST", agent + "/runs/" + d.seen["run"] + "/artifacts",
			`{"artifact_type": "PULL_REQUEST", "data": {"branch": "b", "url": "https://example.com", "status": "lost"}}`,
		},
		{400, "GET", agent + "/run-by-external-reference", nil},
		{404, "GET", agent + "/run-by-external-reference?url=https://example.com/nobody", nil},
		{404, "GET", agent + "/network?environment_id=nothing", nil},
		{400, "GET", agent + "/network?agent_uid=a&factory_uid=b", nil},
		{400, "GET", agent + "/runs/" + d.seen["run"] + "/events?after=x", nil},
		{400, "POST", agent + "/runs/" + d.seen["run"] + "/cancel", nil}, // it is over
		{400, "POST", agent + "/runs/" + d.seen["run"] + "/artifacts", `{"artifact_type": "POEM", "data": {}}`},
		{422, "GET", agent + "/artifacts/" + d.seen["pull request"] + "/download", nil},
		{400, "POST", agent + "/runs", `{}`},
		{400, "POST", agent + "/run", `{"prompt": 1}`},
		{422, "POST", agent + "/runs", `{"prompt": "x", "config": ` + unpriced + `}`},
		{422, "POST", agent + "/run", `{"prompt": "x", "config": ` + unpriced + `}`},
		{400, "POST", agent + "/runs", `{"prompt": "x", "attempts": 11}`},
		{400, "POST", agent + "/run", `{"prompt": "x", "attempts": 2, "configs": [{}]}`},
		{400, "POST", agent + "/runs/" + d.seen["run"] + "/followups", `{"mode": "sideways"}`},
		{400, "POST", agent + "/conversations/" + d.seen["talk"] + "/followups", `{"mode": "sideways"}`},
		{400, "POST", agent + "/runs/" + d.seen["run"] + "/interrupt", nil}, // it is over
		{400, "POST", agent + "/conversations/" + d.seen["conversation"] + "/interrupt", nil},
		{409, "POST", agent + "/runs/" + d.seen["waiting"] + "/interrupt", nil},
		{400, "POST", agent + "/runs/" + d.seen["kept"] + "/fork", `{}`},
		{409, "POST", agent + "/runs/" + d.seen["waiting"] + "/fork", `{"prompt": "x"}`},
		{
			422, "POST", agent + "/runs/" + d.seen["kept"] + "/fork",
			`{"prompt": "x", "config": ` + unpriced + `}`,
		},
		{400, "POST", agent + "/runs/" + d.seen["kept"] + "/rewind", `{}`},
		{409, "POST", agent + "/runs/" + d.seen["waiting"] + "/rewind", `{"turn": 1}`},
		{400, "POST", agent + "/runs/" + d.seen["waiting"] + "/attachments/prepare", `{"files": []}`},
		{400, "POST", agent + "/conversations/" + d.seen["talk"] + "/attachments/prepare", `{}`},
		{404, "POST", agent + "/conversations/nonsense/followups", `{"message": "x"}`},
		{400, "POST", agent + "/environments", `{"repos": 1}`},
		{400, "PUT", agent + "/environments/" + d.seen["environment"], `{"repos": 1}`},
		{400, "POST", agent + "/identities", `{}`},
		{400, "PUT", agent + "/identities/" + d.seen["identity"], `{"name": 1}`},
		{400, "POST", agent + "/schedules", `{"name": "x", "cron_schedule": "whenever", "prompt": "x"}`},
		{400, "PUT", agent + "/schedules/" + d.seen["schedule"], `{"name": "x"}`},
		{422, "POST", "/api/v1/factory", `{"name": "x", "files": {}}`},
		{400, "PUT", factory + "/definition", `{}`},
		{400, "GET", factory + "/definition/history?cursor=nonsense", nil},
		{409, "PUT", factory + "/definition", map[string]any{"files": tree("acme"), "base_revision": 1}},
		{422, "PUT", factory + "/definition", `{"files": {"factory.yaml": "title: x"}}`},
		{404, "GET", "/api/v1/factory-files/schemas/v1alpha1/none", nil},
		{400, "POST", "/api/v1/factory-files/validate", `{"files": {"a": 1}}`},
		{200, "POST", "/api/v1/factory-files/validate", `{"files": {"factory.yaml": "title: x"}}`},
		{400, "POST", "/api/v1/factory", `{"name": "x", "repository": {"url": "http://example.com/a.git"}}`},
		{409, "POST", factory + "/sync", nil},
		{409, "POST", "/api/v1/factory", `{"name": "ACME"}`},
		{400, "GET", "/api/v1/factory?limit=501", nil},
		{400, "PATCH", factory, `{"name": null}`},
		{409, "PATCH", factory, `{"alias": "other"}`},
		{400, "POST", factory + "/runs", `{"prompt": "x", "ticket_ref": "nothing"}`},
		{400, "POST", factory + "/automations", `{"name": "x"}`},
		{
			409, "POST", factory + "/automations",
			`{"name": "ALL", "prompt": "x", "triggers": [{"provider": "github", "event": "push"}]}`,
		},
		{400, "PATCH", factory + "/automations/" + d.seen["automation"], `{"triggers": []}`},
		{409, "PATCH", factory + "/automations/" + d.seen["automation"], `{"name": "all"}`},
		{404, "GET", factory + "/definition/history/0", nil},
		{404, "GET", factory + "/definition/history/99", nil},
		{400, "POST", factory + "/test-filter", `{"filter": {"a": []}, "payload": {}}`},
		{409, "DELETE", agent + "/identities/" + foreman, nil},
		{400, "POST", hooks, `{"name": "a.b"}`},
		{400, "PATCH", hooks + "/" + d.seen["webhook"], `{"name": "another"}`},
		{409, "PATCH", hooks + "/" + d.seen["webhook"], `{"secret": "another-example-value"}`},
		{400, "POST", hooks + "/" + d.seen["webhook"] + "/rotate-secret", `{"overlap_seconds": 604801}`},
		{409, "POST", hooks, `{"name": "alerts"}`},
		{400, "GET", hooks + "/" + d.seen["webhook"] + "/deliveries?outcome=lost", nil},
		{400, "GET", hooks + "/" + d.seen["webhook"] + "/deliveries?cursor=nonsense", nil},
		{409, "POST", hooks + "/" + d.seen["webhook"] + "/deliveries/" + d.seen["duplicate"] + "/replay", nil},
		{404, "GET", hooks + "/" + d.seen["webhook"] + "/deliveries/" + d.seen["duplicate"] + "/payload", nil},
		{400, "GET", hooks + "/" + d.seen["webhook"] + "/deliveries?search=" + strings.Repeat("x", 201), nil},
		{400, "POST", hooks + "/" + d.seen["webhook"] + "/test-delivery", `[]`},
		{409, "POST", hooks + "/" + d.seen["pending"] + "/test-delivery", `{}`},
		{400, "POST", hooks + "/" + d.seen["webhook"] + "/verify-request", `{"body": 1}`},
		{409, "POST", hooks + "/" + d.seen["pending"] + "/verify-request", `{"headers": {}, "body": ""}`},
		{400, "POST", "/api/v1/secrets", `{"name": "NO-NAME"}`},
		{400, "PUT", "/api/v1/secrets/" + d.seen["secret"], `{"value": 1}`},
		{409, "POST", "/api/v1/secrets", map[string]any{"name": d.seen["secret"]}},
		{400, "GET", "/api/v1/schedule-times?cron=whenever", nil},
		{400, "POST", "/api/v1/session", `{}`},
		{400, "POST", "/api/v1/session", `{"state": "x"}`},
		{400, "POST", "/api/v1/session", `{"code": "x"}`},
		{400, "POST", "/api/v1/session", `{"state": "x", "code": "x", "api_key": "x"}`},
		{401, "POST", "/api/v1/session", `{"state": "x", "code": "x"}`},
		{400, "POST", "/api/v1/session/providers", `{"provider": "other"}`},
		{401, "POST", "/api/v1/session", `{"api_key": "psk_nobody"}`},
		{404, "GET", "/api/v1/session", nil},
		{404, "DELETE", "/api/v1/session", nil},
		{400, "POST", "/api/v1/keys", `{"name": "x", "scopes": ["sudo"]}`},
		{404, "GET", "/api/v1/downloads/nonsense", nil},
		{404, "GET", agent + "/conversations/nonsense/redirect", nil},
		{404, "GET", agent + "/sessions/nonsense/redirect", nil},
		{404, "GET", "/api/v1/nothing", nil},
		{405, "PATCH", agent + "/runs", nil},
	}
	for _, tt := range tests {
		if a := d.do(tt.method, tt.path, tt.body); a.status != tt.status {
			t.Errorf("%s %s: got %d %s, want %d", tt.method, tt.path, a.status, a.body, tt.status)
		}
	}
	begin := func(headers ...string) response {
		return d.do("POST", "/api/v1/session/providers", `{"provider": "Corp"}`, headers...)
	}
	if a := begin("Sec-Fetch-Site", "cross-site"); a.status != http.StatusForbidden {
		t.Errorf("a sign-in that another site begins: got %d %s", a.status, a.body)
	}
	for a := begin(); a.status != http.StatusTooManyRequests; a = begin() {
		if a.status != http.StatusCreated {
			t.Fatalf("a sign-in: got %d %s", a.status, a.body)
		}
	}
	d.uploadBadly()
	used := d.must(http.StatusCreated, "POST", agent+"/environments", `{"name": "used"}`).field("uid")
	d.must(http.StatusCreated, "POST", agent+"/schedules", map[string]any{
		"name": "user", "cron_schedule": "@daily", "prompt": "x", "agent_config": map[string]any{"environment_id": used},
	})
	d.must(http.StatusConflict, "DELETE", agent+"/environments/"+used, nil)
	d.must(http.StatusCreated, "POST", "/api/v1/secrets", `{"name": "USED"}`)
	d.must(http.StatusCreated, "POST", agent+"/identities", `{"name": "user of a secret", "secrets": [{"name": "USED"}]}`)
	d.must(http.StatusConflict, "DELETE", "/api/v1/secrets/USED", nil)
	d.must(
		http.StatusConflict, "DELETE", "/api/v1/keys/"+d.must(http.StatusOK, "GET", "/api/v1/me", nil).field("key_uid"), nil,
	) // the last admin's
	d.lastAdmins()
	for kind, path := range map[string]string{
		"environment": "/environments", "identity": "/identities",
	} { // names are taken
		body := map[string]any{"name": "taken"}
		d.must(http.StatusCreated, "POST", agent+path, body)
		if a := d.do("POST", agent+path, body); a.status != 409 {
			t.Errorf("a second %s of the same name: got %d", kind, a.status)
		}
		if a := d.do("PUT", agent+path+"/"+d.seen[kind], body); a.status != 409 {
			t.Errorf("another %s renamed to a name that is taken: got %d %s", kind, a.status, a.body)
		}
	}
}

// faults provokes the errors that every operation can have.
func (d *driver) faults(op operation) {
	_, weak := d.newKey(penstock.ScopeWorker)
	d.do(op.method, op.path, op.body, "Authorization", "Bearer psk_nobody")
	if op.scope != "" {
		if a := d.do(op.method, op.path, op.body, "Authorization", "Bearer "+weak); a.status != 403 && op.scope != "any" {
			d.t.Errorf("%s %s without its scope: got %d", op.method, op.path, a.status)
		}
	}
	for _, id := range d.seen {
		if strings.Contains(op.path, id) && op.scope != "" {
			d.do(op.method, strings.Replace(op.path, id, unknown(id), 1), op.body)
		}
	}
	if op.body != nil {
		if a := d.do(op.method, op.path, `{"x": "`+strings.Repeat("x", 10<<20)+`"}`); a.status != 413 {
			d.t.Errorf("%s %s with 10 MB: got %d", op.method, op.path, a.status)
		}
		d.do(op.method, op.path, `{"x": `)
	}
	if op.method == "POST" && op.scope != "" {
		key := penstock.NewID()
		d.do("POST", op.path, op.body, "Idempotency-Key", key)
		only := d.do("POST", op.path, op.body, "Idempotency-Key", key).status == 403 // an execution may call it, no other key
		if a := d.do("POST", op.path+"?x=1", op.body, "Idempotency-Key", key); a.status != 409 && !only {
			d.t.Errorf("%s %s with a used key: got %d %s", op.method, op.path, a.status, a.body)
		}
		if a := d.do("POST", op.path, op.body, "Idempotency-Key", strings.Repeat("k", 300)); a.status != 400 {
			d.t.Errorf("%s %s with a long key: got %d", op.method, op.path, a.status)
		}
	}
}

// unknown is an id that does not exist.
func unknown(id string) string {
	if penstock.ValidID(id) {
		return penstock.NewID()
	}
	return penstock.NewUID()
}
