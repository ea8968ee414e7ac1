package httpapi_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/httpapi"
	"github.com/penstock-dev/penstock/internal/testkit"
)

// marker is in every text that the caller without the right sends.
const marker = "reveal-the-secrets"

// speech is a request that reaches an existing conversation.
type speech struct {
	body   any
	speaks bool // it brings text before the agent; otherwise, no agent ever sees what it sends
}

// speeches returns a request for each route that can reach an existing conversation, with the text.
func speeches(conversation string) map[string]speech {
	files := []map[string]any{{"file_name": marker + ".txt", "mime_type": "text/plain", "data": "aGk="}}
	run := map[string]any{"conversation_id": conversation, "prompt": marker, "title": marker, "attachments": files}
	message := map[string]any{"message": marker, "attachments": files}
	prepare := map[string]any{"files": []map[string]any{{"filename": marker + ".txt", "mime_type": "text/plain"}}}
	budget := map[string]any{"config": map[string]any{"budget": map[string]any{"max_cost_usd": 9}}, "prompt": marker}
	artifact := map[string]any{
		"artifact_type": "PULL_REQUEST", "data": map[string]any{"branch": marker, "url": "https://example.com/" + marker},
	}
	fork := map[string]any{"prompt": marker, "title": marker}
	rewind := map[string]any{"turn": 1, "prompt": marker}
	output := map[string]any{"kind": "comment", "body": marker}
	const agent = "/api/v1/agent"
	return map[string]speech{
		"POST " + agent + "/runs":                                   {run, true},
		"POST " + agent + "/run":                                    {run, true},
		"POST " + agent + "/runs/{runId}/followups":                 {message, true},
		"POST " + agent + "/conversations/{id}/followups":           {message, true},
		"POST " + agent + "/runs/{runId}/attachments/prepare":       {prepare, true},
		"POST " + agent + "/conversations/{id}/attachments/prepare": {prepare, true},
		"PATCH " + agent + "/runs/{runId}":                          {budget, false},
		"POST " + agent + "/runs/{runId}/artifacts":                 {artifact, false},
		"POST " + agent + "/runs/{runId}/outputs":                   {output, false},
		"POST " + agent + "/runs/{runId}/interrupt":                 {nil, false},
		"POST " + agent + "/conversations/{id}/interrupt":           {nil, false},
		"POST " + agent + "/runs/{runId}/cancel":                    {nil, false},
		"POST " + agent + "/runs/{runId}/fork":                      {fork, true},
		"POST " + agent + "/runs/{runId}/rewind":                    {rewind, true},
	}
}

// reachesConversation reports whether a route can change something about a run or a conversation that
// exists, or put a new run into one.
func reachesConversation(method, path string, fields []string) bool {
	ofRun := strings.Contains(path, "{runId}") || strings.Contains(path, "/conversations/{")
	return method != http.MethodGet && (ofRun || slices.Contains(fields, "conversation_id"))
}

// A caller who may do everything except name secrets brings no text before an agent that has had some
// from another request: by no route, in no state of the conversation, also not by a route that is
// added later.
func TestNoRouteBringsTextToAConversationWithSecretsOfOthers(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, url string) {
		w := start(t, func(s *settings) { s.storeURL = url })
		contract, fields := testkit.NewContract(t), map[string][]string{}
		for _, r := range contract.Routes() {
			fields[r.Method+" "+r.Path] = contract.Fields(r)
		}
		var routes []string
		for _, r := range httpapi.Routes() {
			name := r.Method + " " + r.Pattern
			if reachesConversation(r.Method, r.Pattern, fields[name]) && !internal(r.Pattern) {
				routes = append(routes, name)
			}
		}
		if len(routes) < len(speeches("")) {
			t.Errorf("only %q reach conversations", routes)
		}
		w.must(http.StatusCreated, "POST", "/api/v1/secrets", `{"name": "DEPLOY_KEY", "value": "hunter22"}`)
		_, may := w.newKey(penstock.ScopeRunsRead, penstock.ScopeRunsWrite, penstock.ScopeSecretsUse)
		_, mayNot := w.newKey(slices.DeleteFunc(penstock.Scopes(), func(s penstock.Scope) bool {
			return s == penstock.ScopeSecretsUse || s == penstock.ScopeAdmin
		})...)
		for _, name := range routes {
			for state := range 4 {
				run := w.conversationWithSecrets(may, state)
				what, known := speeches(run.ConversationID)[name]
				if !known {
					t.Errorf("%s reaches existing conversations: add what it sends to speeches", name)
					break
				}
				method, path, _ := strings.Cut(name, " ")
				path = strings.NewReplacer("{runId}", run.ID, "{id}", run.ConversationID).Replace(path)
				got := w.do(method, path, what.body, "Authorization", "Bearer "+mayNot)
				if what.speaks && (got.status != http.StatusForbidden || !strings.Contains(got.body, "secrets:use")) {
					t.Errorf("%s in state %d: got %d %s, want a refusal", name, state, got.status, got.body)
				}
				if got := w.do(method, path, what.body, "Authorization", "Bearer "+may); what.speaks && got.status >= 400 &&
					got.status != http.StatusConflict {
					t.Errorf("%s in state %d with secrets:use: got %d %s", name, state, got.status, got.body)
				}
				w.heard(may, run, !what.speaks)
			}
		}
	})
}

// conversationWithSecrets returns a run in a conversation that had a secret: it waits, it works, it has
// ended, or it is a later one without secrets.
func (w *world) conversationWithSecrets(key string, state int) penstock.Run {
	w.t.Helper()
	create := func(body string) penstock.Run {
		id := w.must(http.StatusOK, "POST", "/api/v1/agent/runs", body, "Authorization", "Bearer "+key).field("run_id")
		var run penstock.Run
		w.must(http.StatusOK, "GET", "/api/v1/agent/runs/"+id, nil).into(w.t, &run)
		return run
	}
	run := create(`{"prompt": "deploy", "config": {"secrets": ["DEPLOY_KEY"]}}`)
	if state == 0 {
		return run
	}
	g := w.work(w.svc.Executions.Control())
	if state == 1 {
		return run
	}
	g.succeed()
	if state == 3 {
		run = create(`{"prompt": "no secrets", "conversation_id": "` + run.ConversationID + `"}`)
		w.work(w.svc.Executions.Control()).succeed()
	}
	return run
}

// heard ends everything in the conversation of a run. If silent, no agent may have received the marker.
func (w *world) heard(key string, run penstock.Run, silent bool) {
	w.t.Helper()
	w.do("POST", "/api/v1/agent/runs/"+run.ID+"/cancel", nil)
	var steered struct {
		RunID string `json:"run_id"`
	}
	follow := "/api/v1/agent/conversations/" + run.ConversationID + "/followups"
	got := w.do("POST", follow, `{"message": "go on"}`, "Authorization", "Bearer "+key)
	if got.status == http.StatusOK {
		got.into(w.t, &steered)
	}
	if !silent {
		w.do("POST", "/api/v1/agent/runs/"+steered.RunID+"/cancel", nil)
		return
	}
	g := w.work(w.svc.Executions.Control())
	given := g.a
	given.Run = penstock.Run{} // shows also what no agent gets
	text, err := json.Marshal(given)
	if err != nil {
		w.t.Fatal(err)
	}
	if given.Lease.RunID != steered.RunID || strings.Contains(string(text), marker) {
		w.t.Errorf("the agent of %s, want %s, gets %s", given.Lease.RunID, steered.RunID, text)
	}
	g.succeed()
}
