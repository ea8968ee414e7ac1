package forge_test

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/factory"
	"github.com/penstock-dev/penstock/internal/control/forge"
	"github.com/penstock-dev/penstock/internal/control/store"
	"github.com/penstock-dev/penstock/internal/testkit"
	"github.com/penstock-dev/penstock/internal/testkit/testworld"
)

// team is the factory whose automation works on issues of acme/shop.
func team() map[string]string {
	return map[string]string{
		"factory.yaml": "schemaVersion: v1alpha1\nname: Shop\nrepositories: [{owner: Acme, name: shop}]\n" +
			"agentDefaults: {model: demo/offline}\n",
		"agents/lead/agent.md": "---\nagentType: FOREMAN\n---\nLead.\n",
		"automations/fix.md": "---\nsubject: auto\ntriggers: [{provider: github, event: issue_created}]\n" +
			"continueOn: [{provider: github, event: issue_mentioned}]\n" +
			"closes: [{provider: github, event: pull_request_closed}]\n---\nFix it.\n",
	}
}

// hook sends deliveries to the ingress of a connection.
type hook struct {
	*world

	uid, secret string
	ingress     http.Handler

	mu     sync.Mutex
	repos  map[string]any // what the forge says about them, by their paths in lower case
	broken string         // the end of a path at which the forge answers 502
	asked  []string
	wait   chan struct{} // the forge answers when it is closed; nil: at once
}

func (w *world) hook(f penstock.Forge) *hook {
	h := &hook{world: w, uid: f.UID, secret: f.Secret, ingress: testworld.Ingress(w.World), repos: map[string]any{}}
	w.forge.Answer(h.answer)
	return h
}

// answer is what the forge says about repositories. Accounts 3 and 42 may write to all of them.
func (h *hook) answer(w http.ResponseWriter, r *http.Request) bool {
	path, api := strings.CutPrefix(r.URL.Path, "/api/v1/repos/")
	if !api {
		return false
	}
	h.mu.Lock()
	h.asked = append(h.asked, path)
	repo, known := h.repos[strings.ToLower(path)]
	broken, wait := h.broken != "" && strings.HasSuffix(path, h.broken), h.wait
	h.mu.Unlock()
	if wait != nil {
		<-wait
	}
	switch {
	case broken:
		w.WriteHeader(http.StatusBadGateway)
	case strings.HasSuffix(path, "/permission"): // for administrators
		w.WriteHeader(http.StatusForbidden)
	case known:
		w.WriteHeader(http.StatusOK)
		_ = json.NewEncoder(w).Encode(repo)
	default:
		return false
	}
	return true
}

// breaks lets the forge fail at paths with this end.
func (h *hook) breaks(end string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.broken = end
}

// issue is what Gitea sends about a new issue, with changes.
func issue(change ...func(map[string]any)) map[string]any {
	body := map[string]any{
		"action": "opened", "issue": map[string]any{"number": 7, "title": "It is broken", "body": "Please fix."},
		"repository": map[string]any{"id": 5, "full_name": "acme/shop", "private": true},
		"sender":     map[string]any{"id": 3, "login": "ada"},
	}
	for _, c := range change {
		c(body)
	}
	return body
}

func in(object string, values map[string]any) func(map[string]any) {
	return func(body map[string]any) {
		part := maps.Clone(body[object].(map[string]any)) //nolint:errcheck,forcetypeassert // of issue
		maps.Copy(part, values)
		body[object] = part
	}
}

// send sends a delivery with an id and returns the status and its entry in the log.
func (h *hook) send(path, id, event string, body any) (int, store.Delivery) {
	h.T.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		h.T.Fatal(err)
	}
	mac := hmac.New(sha256.New, []byte(h.secret))
	_, _ = mac.Write(text)
	r := httptest.NewRequestWithContext(h.T.Context(), http.MethodPost, path, bytes.NewReader(text))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("X-Gitea-Event", event)
	r.Header.Set("X-Github-Event", event)
	r.Header.Set("X-Github-Delivery", id)
	r.Header.Set("X-Hub-Signature-256", "sha256="+hex.EncodeToString(mac.Sum(nil)))
	w := httptest.NewRecorder()
	h.ingress.ServeHTTP(w, r)
	var answer struct {
		ID string `json:"delivery_id"`
	}
	if json.Unmarshal(w.Body.Bytes(), &answer) != nil || answer.ID == "" {
		return w.Code, store.Delivery{}
	}
	d, err := h.Deliveries.Read(h.T.Context(), h.admin(), "", h.uid, answer.ID)
	if err != nil {
		h.T.Fatal(err)
	}
	return w.Code, d
}

// event sends a new event, which must be accepted.
func (h *hook) event(name string, body any) store.Delivery {
	h.T.Helper()
	if event, is := body.(map[string]any); is {
		if repo, is := event["repository"].(map[string]any); is {
			path, _ := repo["full_name"].(string)
			h.mu.Lock()
			h.repos[strings.ToLower(path)] = repo
			h.mu.Unlock()
		}
	}
	code, d := h.send(forge.IngressPath+h.uid, penstock.NewUID(), name, body)
	if code != http.StatusAccepted || d.Outcome != penstock.OutcomeAccepted {
		h.T.Fatalf("%d %+v", code, d)
	}
	return d
}

func TestAnEventOfAConnectionStartsARun(t *testing.T) {
	worlds(t, func(t *testing.T, w *world) {
		f := w.connected(nil)
		team := w.DefineFactory(team())
		h := w.hook(f)
		if want := "https://penstock.test/webhooks/f/" + f.UID; f.IngressURL != want || len(f.Secret) < 20 {
			t.Fatalf("got %+v", f)
		}
		if again, err := w.Connections.Read(t.Context(), w.admin(), f.UID); err != nil || again.Secret != "" ||
			again.IngressURL != f.IngressURL {
			t.Errorf("later: %+v, %v", again, err)
		}
		d := h.event("issues", issue())
		if len(d.Runs) != 1 || len(d.Matches) != 1 || d.Detail != "" || d.EventType != "issues.opened" {
			t.Fatalf("got %+v", d)
		}
		row, err := w.Deps.Store.Runs.Find(t.Context(), store.DefaultTeam, d.Runs[0])
		if err != nil {
			t.Fatal(err)
		}
		want := []penstock.RunRepository{{Connection: "acme", Path: "acme/shop", URL: w.forge.URL + "/acme/shop.git"}}
		if diff := cmp.Diff(want, row.Config.Repositories); diff != "" || row.FactoryUID != team.UID ||
			row.Subject != "github:acme/shop#7" || row.TriggerURL != "https://penstock.test/forges/"+f.UID+"/deliveries/"+d.ID ||
			!strings.Contains(row.Prompt, `an event of the connection "acme"`) {
			t.Errorf("%+v\n%s", row, diff)
		}
		if a := w.Work(); len(a.Pushes) != 1 || a.Pushes[0].Path != "acme/shop" {
			t.Errorf("the run may push to %+v", a.Pushes)
		}
		for why, id := range map[string]string{
			"the same delivery": d.Headers["x-github-delivery"], "the same bytes": "b",
		} {
			code, again := h.send(forge.IngressPath+f.UID, id, "issues", issue())
			if code != http.StatusAccepted || again.Outcome != penstock.OutcomeDuplicate || again.DuplicateOf != d.ID {
				t.Errorf("%s: %d %+v", why, code, again)
			}
		}
		hook, err := w.Resources.CreateWebhook(t.Context(), w.Admin, team.UID, factory.WebhookRequest{Name: new("in")})
		if err != nil {
			t.Fatal(err)
		}
		h.secret = "another"
		for path, want := range map[string]int{
			forge.IngressPath + f.UID: http.StatusUnauthorized, "/webhooks/w/" + f.UID: http.StatusNotFound,
			forge.IngressPath + hook.UID: http.StatusNotFound, forge.IngressPath + f.UID + "/x": http.StatusNotFound,
		} {
			if code, _ := h.send(path, "c", "issues", issue()); code != want {
				t.Errorf("%s: %d, not %d", path, code, want)
			}
		}
	})
}

// Who may not write to a public repository starts no run there, and nothing that the connection does itself.
func TestWhoMayStartRuns(t *testing.T) {
	worlds(t, func(t *testing.T, w *world) {
		h := w.hook(w.connected(nil))
		w.DefineFactory(team())
		public := in("repository", map[string]any{"private": false})
		from := func(id int, login string) func(map[string]any) {
			return in("sender", map[string]any{"id": id, "login": login})
		}
		second := w.connected(func(r *forge.ConnectRequest) { r.Name = "second" })
		testkit.Exec(t, w.URL, `UPDATE forges SET bot = '{"login": "helper", "id": 50}' WHERE uid = '`+second.UID+"'")
		w.forge.Answer(h.answer)
		number := 100
		for _, tt := range []struct {
			name    string
			body    map[string]any
			pointer string
			reason  string
		}{
			{"a reader of a private repository", issue(from(9, "eve")), "", ""},
			{"a writer of a public one", issue(public), "", ""},
			{"a stranger", issue(public, from(9, "eve")), "/permission", "eve may not write to acme/shop"},
			{"a stranger with the login of a writer", issue(public, from(9, "ada")), "/permission", "may not write"},
			{"the bot", issue(from(42, "penstock-bot")), "/sender", "own account"},
			{"the bot in a public repository", issue(public, from(42, "penstock-bot")), "/sender", "own account"},
			{"the bot, renamed", issue(from(42, "other")), "/sender", "own account"},
			{"the bot, by name alone", issue(from(43, "Penstock-Bot")), "/sender", "own account"},
			{"the bot of another connection to the forge", issue(from(50, "helper")), "/sender", "own account"},
			{"another bot", issue(in("sender", map[string]any{"type": "Bot"})), "/permission", "is a bot"},
			{"a bot of Gitea", issue(from(-2, "gitea-actions")), "/permission", "is a bot"},
			{"nobody", issue(in("sender", map[string]any{"id": 0})), "/permission", "does not say who"},
		} {
			number++
			in("issue", map[string]any{"number": number})(tt.body)
			w.Restart() // it remembers answers
			h = w.hook(penstock.Forge{UID: h.uid, Secret: h.secret})
			d := h.event("issues", tt.body)
			if len(d.Matches) != 1 {
				t.Fatalf("%s: %+v", tt.name, d)
			}
			m, pointer := d.Matches[0], ""
			if m.FailedAt != nil {
				pointer = *m.FailedAt
			}
			if pointer != tt.pointer || !strings.Contains(m.Reason, tt.reason) || m.WouldTrigger != (tt.pointer == "") ||
				len(d.Runs) != btoi(tt.pointer == "") {
				t.Errorf("%s: %q %+v", tt.name, pointer, d)
			}
		}
	})
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// What the forge does not say is refused. What it says counts for a minute, and that it fails for a moment.
func TestAForgeThatDoesNotSayWhoMayWrite(t *testing.T) {
	worlds(t, func(t *testing.T, w *world) {
		h := w.hook(w.connected(nil))
		w.DefineFactory(team())
		public := in("repository", map[string]any{"private": false})
		h.breaks("/shop")
		d := h.event("issues", issue(public))
		if len(d.Runs) != 0 || !strings.Contains(d.Matches[0].Reason, "did not say whether ada may write") {
			t.Fatalf("got %+v", d)
		}
		h.breaks("")
		again := h.event("issues", issue(public, in("issue", map[string]any{"number": 8})))
		if len(again.Runs) != 0 || len(h.asked) != 1 {
			t.Errorf("a moment later: %+v, asked %v", again, h.asked)
		}
		w.Restart()
		h = w.hook(penstock.Forge{UID: h.uid, Secret: h.secret})
		h.repos["acme/shop"] = issue(public)["repository"]
		replayed, err := w.Deliveries.Replay(t.Context(), w.admin(), "", h.uid, d.ID)
		if err != nil || len(replayed.Runs) != 1 {
			t.Errorf("replayed: %+v, %v", replayed, err)
		}
		h.breaks("/assignees")
		if d := h.event("issues", issue(public, in("issue", map[string]any{"number": 9}))); len(d.Runs) != 1 {
			t.Errorf("a writer of a minute ago: %+v", d)
		}
		d = h.event("issues", issue(public, in("sender", map[string]any{"id": 9}), in("issue", map[string]any{"number": 10})))
		if len(d.Runs) != 0 {
			t.Errorf("somebody else: %+v", d)
		}
	})
}

// The forge says whether a repository is private, and which one has the name: an event may lie.
func TestAnEventThatLies(t *testing.T) {
	worlds(t, func(t *testing.T, w *world) {
		h := w.hook(w.connected(nil))
		w.DefineFactory(team())
		for name, repo := range map[string]map[string]any{
			"public":  {"id": 5, "private": false},
			"another": {"id": 6, "private": true},
			"strange": {"id": "5"},
		} {
			w.Restart()
			h = w.hook(penstock.Forge{UID: h.uid, Secret: h.secret})
			h.repos["acme/shop"] = repo
			code, d := h.send(
				forge.IngressPath+h.uid, name, "issues", issue(in("sender", map[string]any{"id": 9, "login": name})),
			)
			if code != http.StatusAccepted || len(d.Runs) != 0 || *d.Matches[0].FailedAt != "/permission" {
				t.Errorf("%s: %d %+v", name, code, d)
			}
		}
	})
}

// Events of one sender at the same time are one question.
func TestAForgeIsAskedOnce(t *testing.T) {
	worlds(t, func(t *testing.T, w *world) {
		h := w.hook(w.connected(nil))
		w.DefineFactory(team())
		public := in("repository", map[string]any{"private": false})
		h.repos["acme/shop"], h.wait = issue(public)["repository"], make(chan struct{})
		var sending sync.WaitGroup
		for n := range 8 {
			sending.Go(func() {
				body := issue(public, in("issue", map[string]any{"number": n + 1}))
				if code, d := h.send(forge.IngressPath+h.uid, penstock.NewUID(), "issues", body); code != http.StatusAccepted ||
					len(d.Runs) != 1 {
					t.Errorf("%d %+v", code, d)
				}
			})
		}
		close(h.wait)
		sending.Wait()
		h.mu.Lock()
		asked := slices.DeleteFunc(slices.Clone(h.asked), func(path string) bool {
			return strings.Contains(path, "/issues/") // the comments that say how the runs are
		})
		h.mu.Unlock()
		slices.Sort(asked)
		want := []string{"acme/shop", "acme/shop/assignees", "acme/shop/collaborators/ada/permission"}
		if diff := cmp.Diff(want, asked); diff != "" {
			t.Error(diff)
		}
	})
}

// Only the factories that work on a repository get its events, each its own run, and within the connection's limits.
func TestEventsReachTheFactoriesOfTheRepository(t *testing.T) {
	worlds(t, func(t *testing.T, w *world) {
		f := w.connected(func(r *forge.ConnectRequest) { r.Repositories = []string{"acme/shop", "acme/store"} })
		h := w.hook(f)
		if d := h.event("issues", issue()); !strings.Contains(d.Detail, "No factory that works on a repository") {
			t.Errorf("no factory: %+v", d)
		}
		first := w.DefineFactory(team())
		other := team()
		other["factory.yaml"] = strings.ReplaceAll(other["factory.yaml"], "Shop", "Other")
		w.DefineFactory(other)
		elsewhere := team()
		elsewhere["factory.yaml"] = "schemaVersion: v1alpha1\nname: Elsewhere\n" +
			"repositories: [{owner: acme, name: x}, {owner: acme, name: store}]\nagentDefaults: {model: demo/offline}\n"
		w.DefineFactory(elsewhere)
		at := func(id int, name string) func(map[string]any) {
			return in("repository", map[string]any{"id": id, "full_name": name})
		}
		number := func(n int) func(map[string]any) { return in("issue", map[string]any{"number": n}) }
		if d := h.event("issues", issue(number(1))); len(d.Runs) != 2 || len(d.Matches) != 2 {
			t.Errorf("two factories: %+v", d)
		}
		if d := h.event("issues", issue(at(6, "acme/x"))); len(d.Runs) != 0 || !strings.Contains(d.Detail, "on acme/x") {
			t.Errorf("outside the connection: %+v", d)
		}
		if d := h.event("issues", issue(at(7, "acme/store"))); len(d.Runs) != 1 {
			t.Errorf("another repository: %+v", d)
		}
		if d := h.event("ping", map[string]any{"zen": "x"}); !strings.Contains(d.Detail, "names no repository") {
			t.Errorf("a ping: %+v", d)
		}
		if _, err := w.Connections.Update(t.Context(), w.admin(), f.UID, forge.ChangeRequest{
			Factories: &[]string{first.UID},
		}); err != nil {
			t.Fatal(err)
		}
		if d := h.event("issues", issue(number(2))); len(d.Runs) != 1 {
			t.Errorf("one factory: %+v", d)
		}
		if err := w.Factories.Delete(t.Context(), w.Admin, first.UID); err != nil {
			t.Fatal(err)
		}
		if d := h.event("issues", issue(number(3))); len(d.Runs) != 0 || d.Detail == "" {
			t.Errorf("after the factory: %+v", d)
		}
	})
}

// A repository is known by its id: a new name brings its events, and an old name brings no events of another one
// (sh1nj1/plan42#1465).
func TestARepositoryIsKnownByItsID(t *testing.T) {
	worlds(t, func(t *testing.T, w *world) {
		h := w.hook(w.connected(nil))
		w.DefineFactory(team())
		at := func(id int, name string, n int) map[string]any {
			return issue(in("repository", map[string]any{"id": id, "full_name": name}), in("issue", map[string]any{"number": n}))
		}
		if d := h.event("issues", at(5, "acme/shop", 1)); len(d.Runs) != 1 {
			t.Fatalf("got %+v", d)
		}
		if d := h.event("issues", at(5, "acme/store", 2)); len(d.Runs) != 1 {
			t.Errorf("renamed: %+v", d)
		}
		if d := h.event("issues", at(9, "acme/store", 3)); len(d.Runs) != 0 {
			t.Errorf("a repository on which nobody works: %+v", d)
		}
		if d := h.event("issues", at(5, "eve/loot", 7)); len(d.Runs) != 0 || !strings.Contains(d.Detail, "on eve/loot") {
			t.Errorf("transferred: %+v", d)
		}
		for range 2 {
			d := h.event("issues", at(9, "Acme/Shop", 4))
			if len(d.Runs) != 0 || !strings.Contains(d.Detail, "Another repository had the name Acme/Shop") {
				t.Errorf("another repository: %+v", d)
			}
		}
		checked, err := w.Connections.Check(t.Context(), w.admin(), h.uid)
		if err != nil || !strings.Contains(checked.Checks[len(checked.Checks)-1].Detail, "Another repository") {
			t.Fatalf("%+v, %v", checked, err)
		}
		if d := h.event("issues", at(9, "acme/shop", 5)); len(d.Runs) != 1 {
			t.Errorf("after the check: %+v", d)
		}
		if d := h.event("issues", at(5, "acme/store", 6)); len(d.Runs) != 0 {
			t.Errorf("the first one has lost its name: %+v", d)
		}
		code, late := h.send(forge.IngressPath+h.uid, "late", "issues", at(5, "acme/shop", 8))
		if code != http.StatusAccepted || len(late.Runs) != 0 {
			t.Errorf("late: %d %+v", code, late)
		}
		if _, err := w.Connections.Check(t.Context(), w.admin(), h.uid); err != nil {
			t.Fatal(err)
		}
		if d := h.event("issues", at(9, "acme/shop", 9)); len(d.Runs) != 1 {
			t.Errorf("after a late event of the first one: %+v", d)
		}
	})
}

// Anybody who can close something on the forge ends the work on it, and the connection itself, too.
func TestAnybodyClosesASubject(t *testing.T) {
	worlds(t, func(t *testing.T, w *world) {
		h := w.hook(w.connected(nil))
		w.DefineFactory(team())
		h.event("issues", issue())
		closed := map[string]any{
			"action": "closed", "pull_request": map[string]any{"number": 7, "state": "closed"},
			"repository": map[string]any{"id": 5, "full_name": "acme/shop", "private": false},
			"sender":     map[string]any{"id": 42, "login": "penstock-bot"},
		}
		d := h.event("pull_request", closed)
		if len(d.Matches) != 1 || d.Matches[0].FailedAt != nil || d.Matches[0].FateReason != "It closed the subject." {
			t.Errorf("got %+v", d)
		}
	})
}

func TestSecretsOfAConnectionAreReplaced(t *testing.T) {
	worlds(t, func(t *testing.T, w *world) {
		f := w.connected(nil)
		old, current := w.hook(f), w.hook(f)
		rotate := func(overlap int64) (penstock.Forge, error) {
			return w.Connections.RotateSecret(t.Context(), w.admin(), f.UID, forge.SecretRequest{OverlapSeconds: overlap})
		}
		next, err := rotate(60)
		if err != nil || next.Secret == f.Secret || next.Secret == "" {
			t.Fatalf("%+v, %v", next, err)
		}
		current.secret = next.Secret
		old.event("ping", map[string]any{"zen": 1})
		current.event("ping", map[string]any{"zen": 2})
		last, err := rotate(0)
		if err != nil {
			t.Fatal(err)
		}
		for _, secret := range []string{f.Secret, next.Secret} {
			old.secret = secret
			if code, _ := old.send(forge.IngressPath+f.UID, "x", "ping", map[string]any{}); code != http.StatusUnauthorized {
				t.Errorf("an old secret: %d", code)
			}
		}
		current.secret = last.Secret
		current.event("ping", map[string]any{"zen": 3})
		for _, overlap := range []int64{-1, 604_801} {
			if _, err := rotate(overlap); penstock.CodeOf(err) != penstock.CodeInvalidRequest {
				t.Errorf("%d: %v", overlap, err)
			}
		}
		testkit.Exec(t, w.URL, "DELETE FROM webhooks WHERE uid = '"+f.UID+"'") // as an earlier version has left it
		checked, err := w.Connections.Check(t.Context(), w.admin(), f.UID)
		if err != nil || !strings.Contains(checked.Checks[len(checked.Checks)-1].Detail, "rotate its secret") {
			t.Errorf("%+v, %v", checked, err)
		}
		made, err := rotate(0)
		if err != nil {
			t.Fatal(err)
		}
		current.secret = made.Secret
		current.event("ping", map[string]any{"zen": 4})
		if err := w.Connections.Delete(t.Context(), w.admin(), f.UID); err != nil {
			t.Fatal(err)
		}
		if code, _ := current.send(forge.IngressPath+f.UID, "y", "ping", map[string]any{}); code != http.StatusNotFound {
			t.Errorf("after the connection: %d", code)
		}
	})
}

func TestOnlyWhoManagesConnectionsSeesTheirDeliveries(t *testing.T) {
	worlds(t, func(t *testing.T, w *world) {
		h := w.hook(w.connected(nil))
		d := h.event("issues", issue())
		agent := w.admin()
		agent.AgentUID = "a"
		for name, p := range map[string]penstock.Principal{
			"factories:manage": w.As("u", penstock.ScopeFactoriesManage), "an agent": agent,
		} {
			_, list := w.Deliveries.List(t.Context(), p, "", h.uid, penstock.DeliveryQuery{})
			_, read := w.Deliveries.Read(t.Context(), p, "", h.uid, d.ID)
			_, payload := w.Deliveries.Payload(t.Context(), p, "", h.uid, d.ID)
			_, replay := w.Deliveries.Replay(t.Context(), p, "", h.uid, d.ID)
			_, rotate := w.Connections.RotateSecret(t.Context(), p, h.uid, forge.SecretRequest{})
			for _, err := range []error{list, read, payload, replay, rotate} {
				if penstock.CodeOf(err) != penstock.CodeNotAuthorized {
					t.Errorf("%s: %v", name, err)
				}
			}
		}
		seen := func(p penstock.Principal) (reasons []string) {
			t.Helper()
			page, err := w.Schedules.Occurrences(t.Context(), p, store.OccurrenceQuery{})
			if err != nil {
				t.Fatal(err)
			}
			for _, o := range page.Occurrences {
				reasons = append(reasons, o.Reason)
			}
			return reasons
		}
		reader := w.As("u", penstock.ScopeRunsRead, penstock.ScopeFactoriesManage)
		manager := w.As("u", penstock.ScopeRunsRead, penstock.ScopeFactoriesManage, penstock.ScopeForgesManage)
		if diff := cmp.Diff([]string{d.Detail}, seen(manager)); diff != "" {
			t.Error(diff)
		}
		if list := seen(reader); len(list) > 0 {
			t.Errorf("the ledger shows %q", list)
		}
	})
}

// What happens on the pull request of a run goes on with the issue for which it was opened.
func TestAPullRequestBelongsToItsThread(t *testing.T) {
	worlds(t, func(t *testing.T, w *world) {
		h := w.hook(w.connected(nil))
		files := team()
		files["automations/fix.md"] = "---\nsubject: auto\ntriggers: [{provider: github, event: issue_created}, " +
			"{provider: github, event: pull_request_review_submitted}]\n" +
			"closes: [{provider: github, event: pull_request_merged}]\n---\nFix it.\n"
		files["automations/other.md"] = "---\nsubject: auto\ntriggers: [{provider: github, " +
			"event: pull_request_review_submitted}]\n---\nReview it.\n"
		files["automations/shared.md"] = strings.Replace(
			files["automations/other.md"], "subject: auto", "subject: auto\nsubjectScope: factory", 1,
		)
		w.DefineFactory(files)
		d := h.event("issues", issue())
		row, err := w.Deps.Store.Runs.Find(t.Context(), store.DefaultTeam, d.Runs[0])
		if err != nil {
			t.Fatal(err)
		}
		w.Write(func(tx *store.Tx) error {
			return tx.Forges().SetPullRequest(t.Context(), store.PullRequest{
				BranchOwner: store.BranchOwner{
					Team: store.DefaultTeam, Repository: w.forge.URL + "/acme/shop.git", Owner: "subject:" + row.SubjectUID,
					RunID: row.ID,
				},
				Base: "main", Branch: "penstock/fix", Number: 12,
			})
		})
		on := func(n int, name, action string, more map[string]any) map[string]any {
			body := issue(in("repository", map[string]any{"full_name": name}), func(body map[string]any) {
				body["action"], body["pull_request"] = action, map[string]any{"number": n, "merged": action == "closed"}
				delete(body, "issue")
				maps.Copy(body, more)
			})
			return body
		}
		review := map[string]any{"review": map[string]any{"content": "Please add a test."}}
		// By the name of an event of Gitea. The repository has another name by now.
		d = h.event("pull_request_rejected", on(12, "acme/store", "reviewed", review))
		subjects := map[string]string{}
		for _, m := range d.Matches {
			subjects[m.Automation] = m.Subject
		}
		want := map[string]string{
			"fix": "github:acme/shop#7", "other": "github:acme/store#12", "shared": "github:acme/store#12",
		}
		if diff := cmp.Diff(want, subjects); diff != "" || !slices.Contains(d.Runs, row.ID) {
			t.Errorf("a review: %+v\n%s", d, diff)
		}
		d = h.event("pull_request_rejected", on(13, "acme/shop", "reviewed", review))
		if slices.Contains(d.Runs, row.ID) {
			t.Errorf("a review of another pull request: %+v", d)
		}
		d = h.event("pull_request", on(12, "acme/shop", "closed", nil))
		i := slices.IndexFunc(d.Matches, func(m store.DeliveryMatch) bool { return m.Automation == "fix" })
		if i < 0 || d.Matches[i].Subject != "github:acme/shop#7" || d.Matches[i].FateReason != "It closed the subject." {
			t.Errorf("the merge: %+v", d)
		}
	})
}

// Subjects of two repositories are two, whatever the text says, also with two connections to one forge.
func TestSubjectsBelongToARepository(t *testing.T) {
	worlds(t, func(t *testing.T, w *world) {
		h := w.hook(w.connected(nil))
		files := team()
		files["factory.yaml"] = strings.ReplaceAll(
			files["factory.yaml"], "name: shop}", "name: shop}, {owner: acme, name: store}",
		)
		files["automations/title.md"] = "---\nsubject: '{{issue.title}}'\ntriggers: [{provider: github, " +
			"event: issue_created}]\ncloses: [{provider: github, event: issue_mentioned}]\n---\nFix it.\n"
		w.DefineFactory(files)
		runs := map[string]bool{}
		for id, name := range map[int]string{5: "acme/shop", 6: "acme/store"} {
			for _, run := range h.event("issues", issue(in("repository", map[string]any{"id": id, "full_name": name}))).Runs {
				runs[run] = true
			}
		}
		if len(runs) != 4 {
			t.Errorf("%d runs", len(runs))
		}
		second := w.hook(w.connected(func(r *forge.ConnectRequest) { r.Name = "again" }))
		d := second.event("issues", issue(in("issue", map[string]any{"body": "From another webhook."})))
		for _, m := range d.Matches {
			if !runs[m.RunID] {
				t.Errorf("another connection: %+v", m)
			}
		}
		// A comment of a stranger closes nothing that a text of hers names.
		eve := map[string]any{"id": 9, "login": "eve"}
		body := issue(in("repository", map[string]any{"private": false}), in("sender", eve), func(body map[string]any) {
			body["action"], body["comment"] = "created", map[string]any{"body": "hi @ada", "user": eve}
		})
		w.Restart()
		h = w.hook(penstock.Forge{UID: h.uid, Secret: h.secret})
		for _, m := range h.event("issue_comment", body).Matches {
			if m.FailedAt == nil || *m.FailedAt != "/permission" {
				t.Errorf("a stranger: %+v", m)
			}
		}
	})
}

// What the key of an agent has written gets no events of connections, until a person saves it.
func TestAnAgentGivesItselfNoEvents(t *testing.T) {
	worlds(t, func(t *testing.T, w *world) {
		h := w.hook(w.connected(nil))
		agent := w.As("agent", penstock.ScopeFactoriesManage, penstock.ScopeRunsWrite)
		agent.AgentUID = "a"
		files := team()
		made := w.DefineFactory(map[string]string{
			"factory.yaml":         strings.ReplaceAll(files["factory.yaml"], "{owner: Acme, name: shop}", ""),
			"agents/lead/agent.md": files["agents/lead/agent.md"], "automations/fix.md": files["automations/fix.md"],
		})
		apply := func(p penstock.Principal) {
			t.Helper()
			if _, err := w.Factories.Apply(t.Context(), p, made.UID, factory.ApplyRequest{Files: files}); err != nil {
				t.Fatal(err, testworld.Findings(err))
			}
		}
		apply(agent)
		if d := h.event("issues", issue()); len(d.Runs) != 0 || d.Detail == "" {
			t.Errorf("a repository of an agent: %+v", d)
		}
		files["factory.yaml"] += "description: x\n"
		apply(w.Admin)
		if d := h.event("issues", issue(in("issue", map[string]any{"number": 8}))); len(d.Runs) != 1 {
			t.Errorf("a repository of a person: %+v", d)
		}
		files["automations/fix.md"] += "More.\n"
		apply(agent)
		d := h.event("issues", issue(in("issue", map[string]any{"number": 9})))
		if len(d.Runs) != 0 || !strings.Contains(d.Matches[0].Reason, "The key of an agent") {
			t.Errorf("an automation of an agent: %+v", d)
		}
	})
}

// The pull request of a fork starts nothing by itself.
func TestAPullRequestOfAForkStartsNothing(t *testing.T) {
	worlds(t, func(t *testing.T, w *world) {
		h := w.hook(w.connected(nil))
		files := team()
		files["automations/fix.md"] = "---\nsubject: auto\ntriggers: [{provider: github, event: pull_request_opened}]\n" +
			"---\nFix it.\n"
		w.DefineFactory(files)
		for name, tt := range map[string]struct {
			repo any
			runs int
		}{
			"of the repository": {map[string]any{"id": 5}, 1}, "of a fork": {map[string]any{"id": 6}, 0},
			"of a deleted fork": {nil, 0},
		} {
			d := h.event("pull_request", issue(func(body map[string]any) {
				delete(body, "issue")
				body["pull_request"] = map[string]any{"number": len(name), "head": map[string]any{"ref": "x", "repo": tt.repo}}
			}))
			if len(d.Runs) != tt.runs {
				t.Errorf("%s: %+v", name, d)
			}
		}
	})
}

// GitHub lists the pull requests of other repositories that have the same commit.
func TestAChecksOwnPullRequestCounts(t *testing.T) {
	worlds(t, func(t *testing.T, w *world) {
		h := w.hook(w.connected(nil))
		files := team()
		files["automations/fix.md"] = "---\nsubject: auto\ntriggers: [{provider: github, event: check_suite_completed}]\n" +
			"---\nFix it.\n"
		w.DefineFactory(files)
		of := func(number, repository int) map[string]any {
			return map[string]any{"number": number, "base": map[string]any{"repo": map[string]any{"id": repository}}}
		}
		d := h.event("check_suite", issue(func(body map[string]any) {
			delete(body, "issue")
			body["action"] = "completed"
			body["check_suite"] = map[string]any{"head_branch": "x", "pull_requests": []any{of(7, 99), of(8, 5)}}
		}))
		if len(d.Matches) != 1 || d.Matches[0].Subject != "github:acme/shop#8" {
			t.Errorf("got %+v", d)
		}
	})
}

// An event that has waited starts a run on its own repository. Without the connection it starts none, and says so.
func TestAnEventThatHasWaited(t *testing.T) {
	worlds(t, func(t *testing.T, w *world) {
		f := w.connected(nil)
		h := w.hook(f)
		w.DefineFactory(team())
		titled := func(n int, title string) store.Delivery {
			return h.event("issues", issue(in("issue", map[string]any{"number": n, "title": title})))
		}
		wait := func(n int) (waiting store.Delivery) {
			titled(n, "first")
			a := w.Work()
			waiting = titled(n, "second")
			w.Finish(a.Lease, penstock.Result{State: penstock.StateFailed, Turn: 1})
			return waiting
		}
		give := func(d store.Delivery) store.Delivery {
			t.Helper()
			if err := w.Subjects.GiveDue(t.Context(), penstock.Now().Add(time.Hour)); err != nil {
				t.Fatal(err)
			}
			d, err := w.Deliveries.Read(t.Context(), w.admin(), "", h.uid, d.ID)
			if err != nil {
				t.Fatal(err)
			}
			return d
		}
		d := give(wait(1))
		if len(d.Runs) != 1 {
			t.Fatalf("got %+v", d)
		}
		row, err := w.Deps.Store.Runs.Find(t.Context(), store.DefaultTeam, d.Runs[0])
		if err != nil || len(row.Config.Repositories) != 1 || row.Config.Repositories[0].Path != "acme/shop" ||
			row.WebhookUID != f.UID || !strings.Contains(row.Prompt, `the connection "acme"`) {
			t.Errorf("%+v, %v", row, err)
		}
		w.Finish(w.Work().Lease, penstock.Result{State: penstock.StateSucceeded, Turn: 1})
		waiting := wait(2)
		if err := w.Connections.Delete(t.Context(), w.admin(), f.UID); err != nil {
			t.Fatal(err)
		}
		if err := w.Subjects.GiveDue(t.Context(), penstock.Now().Add(time.Hour)); err != nil {
			t.Fatal(err)
		}
		events, err := w.Deps.Store.Subjects.OfDeliveries(t.Context(), []string{waiting.ID})
		if err != nil || len(events[waiting.ID]) != 1 ||
			!strings.Contains(events[waiting.ID][0].Reason, "the connection of the event was deleted") {
			t.Errorf("%+v, %v", events, err)
		}
	})
}

// An event about the checks of a commit that a run has pushed lets the server look at once, also of a bot. An
// event about another commit does not.
func TestAnEventOfChecksIsLookedAt(t *testing.T) {
	worlds(t, func(t *testing.T, w *world) {
		h := w.hook(w.connected(nil))
		repository := w.forge.URL + "/acme/shop.git"
		owner := store.BranchOwner{Team: store.DefaultTeam, Repository: repository, Owner: "run:x", RunID: "x"}
		w.Write(func(tx *store.Tx) error {
			if _, err := tx.Forges().ClaimBranch(t.Context(), owner, penstock.PushedBranch{
				Name: "penstock/fix", New: strings.Repeat("a", 40),
			}); err != nil {
				return err
			}
			return tx.Forges().SetPullRequest(t.Context(), store.PullRequest{
				BranchOwner: owner, Base: "main", Branch: "penstock/fix", Number: 12, Connection: "x",
			})
		})
		waits := func() int {
			list, err := w.Deps.Store.Forges.UnseenPulls(t.Context(), 1, 10)
			if err != nil {
				t.Fatal(err)
			}
			return len(list)
		}
		commit := strings.Repeat("a", 40)
		of := func(event, object, member, commit string) {
			h.event(event, issue(func(body map[string]any) {
				delete(body, "issue")
				body["action"], body["sender"] = "completed", map[string]any{"id": -2, "login": "gitea-actions"}
				if object == "" {
					body[member] = commit
				} else {
					body[object] = map[string]any{member: commit}
				}
			}))
		}
		of("status", "", "sha", strings.Repeat("b", 40))
		if n := waits(); n != 0 {
			t.Errorf("%d pull requests are looked at for another commit", n)
		}
		for _, kind := range []string{"status", "check_suite", "check_run", "workflow_run"} {
			testkit.Exec(t, w.URL, "UPDATE pull_requests SET seen_at = 5")
			if kind == "status" {
				of(kind, "", "sha", commit)
			} else {
				of(kind, kind, "head_sha", commit)
			}
			if n := waits(); n != 1 {
				t.Errorf("%s: %d pull requests are looked at", kind, n)
			}
		}
	})
}
