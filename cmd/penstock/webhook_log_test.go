package main_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/factory"
	"github.com/penstock-dev/penstock/internal/control/store"
	"github.com/penstock-dev/penstock/internal/testkit"
)

// A cursor continues after its page, even if new deliveries arrive in between.
func TestPagesOfADeliveryLogWhileMoreArrive(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, database string) {
		h := serveHooks(t, testkit.ServeOptions{Database: database, Args: noWorker})
		w := h.tokenHook("orders")
		s := newSender(t)
		for i := range 20 {
			s.post(h.url(w), bearer(w), []string{fmt.Sprint(i), "0", "{"}[i%3])
			if i%5 == 0 {
				s.post(h.url(w), nil, "{}")
			}
		}
		for _, query := range []string{
			"", "outcome=accepted", "outcome=duplicate", "outcome=rejected_json", "outcome=rejected_auth",
			"outcome=rejected_size", "outcome=rejected",
		} {
			var want, got []string
			for _, d := range h.log(w, query) {
				want = append(want, d.ID)
				if outcome := "outcome=" + string(d.Outcome); query != "" && query != outcome && (query != "outcome=rejected" ||
					!strings.HasPrefix(outcome, query)) {
					t.Errorf("?%s returns %s", query, d.Outcome)
				}
			}
			for cursor := ""; ; {
				var page factory.DeliveryPage
				h.ask(
					http.MethodGet, h.hookPath(w)+"/deliveries?limit=3&"+query+"&cursor="+url.QueryEscape(cursor), nil, http.StatusOK,
					&page,
				)
				for _, d := range page.Deliveries {
					got = append(got, d.ID)
				}
				if page.PageInfo.HasNext != (page.PageInfo.NextCursor != "") || len(page.Deliveries) > 3 {
					t.Errorf("got %d deliveries and %+v", len(page.Deliveries), page.PageInfo)
				}
				if cursor = page.PageInfo.NextCursor; cursor == "" {
					break
				}
				s.post(h.url(w), bearer(w), fmt.Sprintf("%q", penstock.NewID())) // accepted,
				s.post(h.url(w), bearer(w), "0")                                 // a duplicate,
				s.post(h.url(w), bearer(w), "{")                                 // and two rejected
				s.post(h.url(w), nil, "{}")
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("?%s (-one page +pages of three):\n%s", query, diff)
			}
		}
		all := h.log(w, "")
		if !slices.IsSortedFunc(all, func(a, b store.Delivery) int { return int(b.ReceivedAt - a.ReceivedAt) }) {
			t.Error("the log is not sorted by time, newest first")
		}
		for _, query := range []string{"limit=0", "limit=501", "limit=x", "outcome=lost", "cursor=x"} {
			if got := send(
				t, h.Server, http.MethodGet, h.hookPath(w)+"/deliveries?"+query, "",
			); got.status != http.StatusBadRequest {
				t.Errorf("?%s: got %d, want 400", query, got.status)
			}
		}
	})
}

// The payload is downloaded byte for byte as a file that browsers do not render.
func TestPayloadOfADelivery(t *testing.T) {
	t.Parallel()
	h := serveHooks(t, testkit.ServeOptions{Args: noWorker})
	w := h.tokenHook("orders")
	s := newSender(t)
	id := s.accepted(h.url(w), bearer(w, "Content-Type", "text/html"), awkward)
	got := send(t, h.Server, http.MethodGet, h.hookPath(w)+"/deliveries/"+id+"/payload", "")
	if got.status != http.StatusOK || string(got.body) != awkward {
		t.Errorf("got %d and %q, want the bytes that were sent", got.status, got.body)
	}
	for name, want := range map[string]string{
		"X-Content-Type-Options": "nosniff", "Content-Type": "application/octet-stream",
	} {
		if got.header.Get(name) != want {
			t.Errorf("got the %s %q, want %q", name, got.header.Get(name), want)
		}
	}
	for name, want := range map[string]string{"Content-Disposition": "attachment", "Content-Security-Policy": "sandbox"} {
		if value := got.header.Get(name); len(value) < len(want) || value[:len(want)] != want {
			t.Errorf("got the %s %q, want %s…", name, value, want)
		}
	}
	duplicate := s.accepted(h.url(w), bearer(w), awkward)
	if got := send(
		t, h.Server, http.MethodGet, h.hookPath(w)+"/deliveries/"+duplicate+"/payload", "",
	); got.status != http.StatusNotFound {
		t.Errorf("got %d for the payload of a duplicate, want 404", got.status)
	}
}

// A replay is a new entry. It is evaluated by the current automations, and claims no identity.
func TestReplay(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, database string) {
		h := serveHooks(
			t,
			testkit.ServeOptions{
				Database: database,
				Args:     []string{"--no-worker", "--limit-deliveries-per-minute", "4"},
			},
		)
		w := h.tokenHook("orders")
		s := newSender(t)
		const body = `{"kind": "order"}`
		first := s.accepted(h.url(w), bearer(w), body)
		duplicate := s.accepted(h.url(w), bearer(w), body)
		s.post(h.url(w), bearer(w), "{")
		a := h.automation(w, "handle", "look", map[string]any{"kind": []string{"order"}})
		replay := func() store.Delivery {
			var d store.Delivery
			h.ask(http.MethodPost, h.hookPath(w)+"/deliveries/"+first+"/replay", nil, http.StatusCreated, &d)
			return d
		}
		for range 3 { // the rate limit of deliveries does not apply to it
			d := replay()
			if d.ReplayOf != first || d.IdentitySource != penstock.IdentityReplay || d.Outcome != penstock.OutcomeAccepted ||
				len(d.Runs) != 1 {
				t.Errorf("got %+v, want an accepted replay with one run", d)
			}
			if got := send(
				t, h.Server, http.MethodGet, h.hookPath(w)+"/deliveries/"+d.ID+"/payload", "",
			); string(got.body) != body {
				t.Errorf("got %q for the payload of a replay", got.body)
			}
		}
		if runs := h.runs(w); len(runs) != 3 || runs[0].Metadata["automation_id"] != a.UID {
			t.Errorf("got %d runs, want 3", len(runs))
		}
		h.ask(
			http.MethodPatch, h.path()+"/automations/"+a.UID, triggers(w, map[string]any{"kind": []string{"refund"}}),
			http.StatusOK, nil,
		)
		d := replay()
		if len(d.Runs) != 0 || len(d.Matches) != 1 || d.Matches[0].FailedAt == nil || *d.Matches[0].FailedAt != "/kind" {
			t.Errorf("got %+v, want that today's filter fails at /kind", d)
		}
		if old := h.entry(w, first); len(old.Matches) != 0 || old.Outcome != penstock.OutcomeAccepted {
			t.Errorf("the replayed delivery became %+v", old)
		}
		if got := s.accepted(h.url(w), bearer(w), body); h.entry(w, got).DuplicateOf != first {
			t.Errorf("got a duplicate of %s, want of the first", h.entry(w, got).DuplicateOf)
		}
		rejected := h.log(w, "outcome=rejected_json")[0].ID
		for what, id := range map[string]string{"a duplicate": duplicate, "a rejected delivery": rejected} {
			if got := send(
				t, h.Server, http.MethodPost, h.hookPath(w)+"/deliveries/"+id+"/replay", "",
			); got.status != http.StatusConflict {
				t.Errorf("got %d for a replay of %s, want 409", got.status, what)
			}
		}
		h.change(w, map[string]any{"enabled": false})
		if got := send(
			t, h.Server, http.MethodPost, h.hookPath(w)+"/deliveries/"+penstock.NewID()+"/replay", "",
		); got.status != http.StatusNotFound {
			t.Errorf("got %d for a replay of nothing, want 404", got.status)
		}
	})
}

// A filter can be tested with a pasted payload, a stored delivery, and the last deliveries of a
// webhook.
func TestFilterIsTested(t *testing.T) {
	t.Parallel()
	h := serveHooks(t, testkit.ServeOptions{Args: noWorker})
	w := h.tokenHook("orders")
	s := newSender(t)
	var ids []string
	for i := range 5 {
		ids = append(ids, s.accepted(h.url(w), bearer(w), fmt.Sprintf(`{"n": %d, "who": {"name": "ada"}}`, i)))
	}
	s.post(h.url(w), bearer(w), "{")
	low := map[string]any{"n": []int{0, 1}, "who": map[string]any{"name": map[string]any{"in": []string{"ada"}}}}
	try := func(fields map[string]any) (v factory.FilterTestResult) {
		t.Helper()
		h.ask(http.MethodPost, h.path()+"/test-filter", fields, http.StatusOK, &v)
		return v
	}
	payloadCheck := func(v factory.FilterTestResult) factory.FilterCheck {
		for _, c := range v.Checks {
			if c.Check == "payload" {
				return c
			}
		}
		return factory.FilterCheck{}
	}
	if v := try(
		map[string]any{"filter": low, "payload": map[string]any{"n": 1.0, "who": map[string]any{"name": "ada"}}},
	); !v.WouldTrigger || !payloadCheck(v).Passed {
		t.Errorf("got %+v, want that it would trigger", v)
	}
	if v := try(
		map[string]any{"filter": low, "payload": map[string]any{"n": 1, "who": map[string]any{"name": "Ada"}}},
	); v.WouldTrigger || payloadCheck(v).Path != "/who/name" || payloadCheck(v).Reason == "" {
		t.Errorf("got %+v, want that it fails at /who/name", v)
	}
	if v := try(map[string]any{"filter": low, "payload": nil}); v.WouldTrigger {
		t.Errorf("got %+v for the payload null", v)
	}
	if v := try(map[string]any{"filter": low, "webhook_uid": w.UID, "delivery_id": ids[1]}); !v.WouldTrigger {
		t.Errorf("got %+v for a delivery that matches", v)
	}
	if v := try(map[string]any{"filter": low, "webhook_uid": w.UID, "delivery_id": ids[2]}); v.WouldTrigger ||
		payloadCheck(v).Path != "/n" {
		t.Errorf("got %+v for a delivery that does not match, want /n", v)
	}
	if v := try(map[string]any{"filter": low, "webhook_uid": w.UID}); v.Sample == nil ||
		v.Sample.Matched != 2 || v.Sample.Of != 5 {
		t.Errorf("got %+v for the webhook's deliveries, want 2 of 5", v)
	}
	for name, fields := range map[string]map[string]any{
		"a filter that cannot be": {"filter": map[string]any{"n": []int{}}, "payload": 1},
		"nothing to try it on":    {"filter": low},
		"no filter":               {"payload": 1},
	} {
		h.ask(http.MethodPost, h.path()+"/test-filter", fields, http.StatusBadRequest, nil)
		_ = name
	}
	h.ask(
		http.MethodPost, h.path()+"/test-filter",
		map[string]any{"filter": low, "webhook_uid": w.UID, "delivery_id": penstock.NewID()}, http.StatusNotFound, nil,
	)
	if n := len(h.log(w, "")); n != 6 {
		t.Errorf("trying a filter left %d entries in the log, want the 6", n)
	}
}

// The API and the command line test a payload with an unpaired surrogate as the ingress would
// evaluate its delivery.
func TestFilterIsTestedOnALoneSurrogate(t *testing.T) {
	t.Parallel()
	h := serveHooks(t, testkit.ServeOptions{Args: noWorker})
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	payload := file("payload", `{"a": "\ud800", "\udc00": [1, 1.0], "b": "\u0078", "b2": {"c": 1, "c": 2}}`)
	for filter, want := range map[string]bool{
		`{"b": ["x"]}`: true, `{"a": ["\ufffd"]}`: false, `{"a": {"not_in": ["\ufffd"]}}`: true,
		`{"a": {"exists": true}}`:      true,
		`{"\ufffd": {"exists": true}}`: false, `{"b2": {"c": [1]}}`: false,
	} {
		var v factory.FilterTestResult
		body, err := os.ReadFile(payload)
		if err != nil {
			t.Fatal(err)
		}
		got := send(
			t, h.Server, http.MethodPost, h.path()+"/test-filter", `{"filter": `+filter+`, "payload": `+string(body)+`}`,
		)
		if err := json.Unmarshal(got.body, &v); err != nil || got.status != http.StatusOK || v.WouldTrigger != want {
			t.Errorf("%s: got %d %s, want %t", filter, got.status, got.body, want)
		}
		code, text := 0, "true"
		if !want {
			code, text = 1, "failed"
		}
		call(
			t, client(h.Server), "webhook", "test-filter", "--filter", file("filter", filter), "--payload-file", payload,
		).want(t, code, text)
	}
	for _, body := range []string{
		`{"filter": {"a": ["\ud800"]}, "payload": 1}`, `{"filter": {"a": [1]}, "payload": 1, "event": "\ud800"}`,
		"{\"filter\": {\"a\": [1]}, \"payload\": \"\xff\"}",
	} {
		if got := send(t, h.Server, http.MethodPost, h.path()+"/test-filter", body); got.status != http.StatusBadRequest {
			t.Errorf("%q: got %d %s, want 400", body, got.status, got.body)
		}
	}
}

// Each outcome keeps its newest entries, whatever their age. Rejected deliveries do not displace
// others.
func TestLogKeepsTheNewestOfEachOutcome(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, database string) {
		h := serveHooks(t, testkit.ServeOptions{
			Database: database, Args: append(noWorker, "--retain-deliveries", "1ms", "--limit-logged-rejections", "0"),
		})
		w, quiet := h.tokenHook("orders"), h.tokenHook("quiet")
		s := newSender(t)
		s.accepted(h.url(quiet), bearer(quiet), "1")
		var accepted []string
		for i := range 60 {
			accepted = append(accepted, s.accepted(h.url(w), bearer(w), fmt.Sprint(i)))
		}
		for range 75 {
			s.post(h.url(w), bearer(w), "{")
		}
		s.accepted(h.url(w), bearer(w), "59")
		h.Restart() // the server clears the log at the start and then every minute
		want := map[penstock.Outcome]int{
			penstock.OutcomeAccepted: 50, penstock.OutcomeRejectedJSON: 50, penstock.OutcomeDuplicate: 1,
		}
		testkit.Eventually(t, timeout, func() error {
			if diff := cmp.Diff(want, h.outcomes(w)); diff != "" {
				return fmt.Errorf("the log (-want +got):\n%s", diff)
			}
			return nil
		})
		for i, d := range h.log(w, "outcome=accepted") {
			if d.ID != accepted[59-i] {
				t.Errorf("entry %d is %s, want the newest ones", i, d.ID)
			}
		}
		if n := len(h.log(quiet, "")); n != 1 {
			t.Errorf("%d entries of a quiet webhook, want its one", n)
		}
		// The server knows an identity for a week, even if its entry is removed earlier.
		for _, n := range []int{0, 59} {
			if d := h.entry(w, s.accepted(h.url(w), bearer(w), fmt.Sprint(n))); d.DuplicateOf != accepted[n] {
				t.Errorf("got %s of %q, want a duplicate of %s", d.Label, d.DuplicateOf, accepted[n])
			}
		}
	})
}
