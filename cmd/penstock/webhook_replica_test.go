package main_test

import (
	"fmt"
	"maps"
	"net/http"
	"sync"
	"testing"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/store"
	"github.com/penstock-dev/penstock/internal/testkit"
)

// replicas runs a test on one server with each engine, and on two servers that share a PostgreSQL
// database.
func replicas(t *testing.T, args []string, test func(t *testing.T, servers []*hooked)) {
	t.Helper()
	testkit.Engines(t, func(t *testing.T, database string) {
		test(t, []*hooked{serveHooks(t, testkit.ServeOptions{Database: database, Args: args})})
	})
	t.Run("two replicas", func(t *testing.T) {
		t.Parallel()
		first := serveHooks(t, testkit.ServeOptions{Database: testkit.Postgres(t), Args: args})
		test(t, []*hooked{first, first.replica(testkit.ServeOptions{Args: args})})
	})
}

// A change on one server takes effect on all others with the next request, even if they have just
// used the old state.
func TestChangesApplyImmediately(t *testing.T) {
	t.Parallel()
	replicas(t, noWorker, func(t *testing.T, servers []*hooked) {
		here, there := servers[0], servers[len(servers)-1]
		s := newSender(t)
		w := here.tokenHook("changed")
		post := func(h *hooked, secret string) reply {
			w := w
			w.Secret = secret
			return s.post(h.url(w), bearer(w), fmt.Sprintf("%q", penstock.NewID()))
		}
		want := func(what, secret string, status int) reply {
			t.Helper()
			var got reply
			for _, h := range []*hooked{there, here, there} {
				if got = post(h, secret); got.status != status {
					t.Errorf("%s: got %d, want %d: %s", what, got.status, status, got.body)
				}
			}
			return got
		}
		for range 5 {
			want("enabled", w.Secret, http.StatusAccepted)
			here.change(w, map[string]any{"enabled": false})
			want("disabled", w.Secret, http.StatusNotFound)
			there.change(w, map[string]any{"enabled": true})
			want("enabled elsewhere", w.Secret, http.StatusAccepted)
		}
		rotate := func(fields map[string]any) (secret string) {
			t.Helper()
			var response struct {
				Secret string `json:"secret"`
			}
			here.ask(http.MethodPost, here.hookPath(w)+"/rotate-secret", fields, http.StatusOK, &response)
			return response.Secret
		}
		old := w.Secret
		w.Secret = rotate(map[string]any{})
		want("the old secret", old, http.StatusUnauthorized)
		want("the new secret", w.Secret, http.StatusAccepted)
		old, w.Secret = w.Secret, rotate(map[string]any{"overlap_seconds": 600})
		want("the old secret, which overlaps", old, http.StatusAccepted)
		want("the newer secret", w.Secret, http.StatusAccepted)
		w.Secret = rotate(map[string]any{})
		want("the old secret after the next rotation", old, http.StatusUnauthorized)
		want("the newest secret", w.Secret, http.StatusAccepted)

		runsOf := func(got reply) int { return len(here.entry(w, got.deliveryID()).Runs) }
		a := here.automation(w, "look", "look", map[string]any{"never": []string{"there"}})
		auto := here.path() + "/automations/" + a.UID
		for range 3 {
			if n := runsOf(want("a filter that fails", w.Secret, http.StatusAccepted)); n != 0 {
				t.Errorf("got %d runs though the filter fails", n)
			}
			here.ask(http.MethodPatch, auto, triggers(w, nil), http.StatusOK, nil)
			if n := runsOf(want("no filter", w.Secret, http.StatusAccepted)); n != 1 {
				t.Errorf("got %d runs without a filter, want 1", n)
			}
			here.ask(http.MethodPatch, auto, map[string]any{"enabled": false}, http.StatusOK, nil)
			if n := runsOf(want("a disabled automation", w.Secret, http.StatusAccepted)); n != 0 {
				t.Errorf("got %d runs of a disabled automation", n)
			}
			there.ask(http.MethodPatch, auto, map[string]any{"enabled": true}, http.StatusOK, nil)
			there.ask(http.MethodPatch, auto, triggers(w, map[string]any{"never": []string{"there"}}), http.StatusOK, nil)
		}
		here.ask(http.MethodPatch, auto, triggers(w, nil), http.StatusOK, nil)
		here.ask(http.MethodDelete, auto, nil, http.StatusNoContent, nil)
		if n := runsOf(want("a deleted automation", w.Secret, http.StatusAccepted)); n != 0 {
			t.Errorf("got %d runs of a deleted automation", n)
		}
		here.ask(http.MethodDelete, here.hookPath(w), nil, http.StatusNoContent, nil)
		want("deleted", w.Secret, http.StatusNotFound)
	})
}

// triggers returns the fields of an automation that listens to w.
func triggers(w penstock.Webhook, filter any) map[string]any {
	selects := map[string]any{"webhook_ids": []string{w.UID}}
	if filter != nil {
		selects["payload"] = filter
	}
	return map[string]any{"triggers": []any{map[string]any{"provider": "webhook", "event": "received", "filter": selects}}}
}

// A webhook is disabled and enabled while many senders post. Each response after a change reflects
// the change.
func TestChangesApplyImmediatelyUnderLoad(t *testing.T) {
	t.Parallel()
	testkit.TakesLong(t)
	replicas(t, noWorker, func(t *testing.T, servers []*hooked) {
		here, there := servers[0], servers[len(servers)-1]
		w := here.tokenHook("busy")
		s := newSender(t)
		stop := make(chan struct{})
		var senders sync.WaitGroup
		for i := range 8 {
			senders.Go(func() {
				for {
					select {
					case <-stop:
						return
					default:
					}
					if got := s.post(
						servers[i%len(servers)].url(w), bearer(w), fmt.Sprintf("%q", penstock.NewID()),
					); got.status != http.StatusAccepted && got.status != http.StatusNotFound {
						t.Errorf("got %d: %s", got.status, got.body)
					}
				}
			})
		}
		for range 20 {
			here.change(w, map[string]any{"enabled": false})
			if got := s.post(there.url(w), bearer(w), `{"off": true}`); got.status != http.StatusNotFound {
				t.Errorf("got %d right after it was disabled", got.status)
			}
			here.change(w, map[string]any{"enabled": true})
			if got := s.post(there.url(w), bearer(w), fmt.Sprintf("%q", penstock.NewID())); got.status != http.StatusAccepted {
				t.Errorf("got %d right after it was enabled", got.status)
			}
		}
		close(stop)
		senders.Wait()
	})
}

// Of a hundred concurrent equal deliveries, one is accepted, and each automation starts one run.
func TestConcurrentEqualDeliveries(t *testing.T) {
	t.Parallel()
	replicas(t, noWorker, func(t *testing.T, servers []*hooked) {
		h := servers[0]
		for name, test := range map[string]struct {
			w     penstock.Webhook
			equal func(i int) (header map[string]string, body string)
		}{
			"by the body": {h.tokenHook("by-body"), func(int) (map[string]string, string) { return nil, `{"the": "same"}` }},
			"by the header": {h.tokenHook("by-header"), func(i int) (map[string]string, string) {
				return map[string]string{"X-Penstock-Delivery-Id": "d-1"}, fmt.Sprint(i)
			}},
			"by the provider's header": {h.githubHook("by-provider"), func(i int) (map[string]string, string) {
				body := fmt.Sprint(i)
				return signed(body, "X-GitHub-Delivery", "g-1"), body
			}},
			"by the signed bytes": {h.hook(map[string]any{
				"name": "guarded", "auth_mode": "signature", "signature_scheme": "github", "secret": githubSecret,
				"replay_guard": true,
			}), func(i int) (map[string]string, string) {
				return signed(`{"the": "same"}`, "X-GitHub-Delivery", fmt.Sprintf("g-%d", i)), `{"the": "same"}`
			}},
		} {
			for i := range 3 {
				h.automation(test.w, fmt.Sprintf("%s-%d", test.w.Name, i), "look", nil)
			}
			s := newSender(t)
			begin := make(chan struct{})
			ids := make(chan string, 100)
			var senders sync.WaitGroup
			for i := range cap(ids) {
				header, body := test.equal(i)
				if test.w.AuthMode == penstock.AuthToken {
					header = withBearer(header, test.w)
				}
				senders.Go(func() {
					<-begin
					ids <- s.accepted(servers[i%len(servers)].url(test.w), header, body)
				})
			}
			close(begin)
			senders.Wait()
			close(ids)
			distinct := map[string]bool{}
			for id := range ids {
				distinct[id] = true
			}
			if len(distinct) != cap(ids) {
				t.Errorf("%s: %d ids for %d deliveries: each has an entry of its own", name, len(distinct), cap(ids))
			}
			h.wantOneOfHundred(name, test.w)
		}
	})
}

func withBearer(header map[string]string, w penstock.Webhook) map[string]string {
	all := bearer(w)
	maps.Copy(all, header)
	return all
}

// wantOneOfHundred checks the log and the runs of a webhook with three automations.
func (h *hooked) wantOneOfHundred(name string, w penstock.Webhook) {
	h.t.Helper()
	var accepted []store.Delivery
	for _, d := range h.log(w, "") {
		if d.Outcome == penstock.OutcomeAccepted {
			accepted = append(accepted, d)
		}
	}
	if n := h.outcomes(w); n[penstock.OutcomeAccepted] != 1 || n[penstock.OutcomeDuplicate] != 99 {
		h.t.Fatalf("%s: got %v, want 1 accepted and 99 duplicates", name, n)
	}
	for _, d := range h.log(w, "outcome=duplicate") {
		if d.DuplicateOf != accepted[0].ID || len(d.Runs) != 0 {
			h.t.Errorf("%s: got a duplicate of %s with the runs %v, want of %s", name, d.DuplicateOf, d.Runs, accepted[0].ID)
		}
	}
	runs := h.runs(w)
	byAutomation := map[string]int{}
	for _, r := range runs {
		byAutomation[r.Metadata["automation_id"]]++
	}
	if len(runs) != 3 || len(byAutomation) != 3 || len(accepted[0].Runs) != 3 {
		h.t.Errorf(
			"%s: got %d runs of %v, %d in the log, want one of each automation", name, len(runs), byAutomation,
			len(accepted[0].Runs),
		)
	}
}
