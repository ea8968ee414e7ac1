package announce_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/announce"
	"github.com/penstock-dev/penstock/internal/control/factory"
	"github.com/penstock-dev/penstock/internal/control/run"
	"github.com/penstock-dev/penstock/internal/control/store"
	"github.com/penstock-dev/penstock/internal/testkit"
)

// incoming answers as an incoming webhook of Slack does.
func incoming(rw http.ResponseWriter, req *http.Request, body []byte) {
	var message struct {
		Text   string            `json:"text"`
		Blocks []json.RawMessage `json:"blocks"`
	}
	switch err := json.Unmarshal(body, &message); {
	case err != nil || req.Header.Get("Content-Type") != "application/json" || len(message.Text) > 40_000:
		http.Error(rw, "invalid_payload", http.StatusBadRequest)
	case message.Text == "" && len(message.Blocks) == 0:
		http.Error(rw, "no_text", http.StatusBadRequest)
	default:
		_, _ = io.WriteString(rw, "ok")
	}
}

// text is the text of a message to Slack.
func (r received) text() string {
	var message struct {
		Text string `json:"text"`
	}
	_ = json.Unmarshal(r.body, &message)
	return message.Text
}

func (w *world) slack(r *receiver, events ...penstock.EndpointEvent) penstock.EventEndpoint {
	w.T.Helper()
	e, err := w.Endpoints.Create(w.T.Context(), w.Admin, announce.EndpointRequest{
		URL: &r.url, Events: &events, Format: new(announce.FormatSlack), Description: new("pager <!here>"),
	})
	if err != nil {
		w.T.Fatal(err)
	}
	return e
}

func TestSlackGetsOneLineAboutEachChange(t *testing.T) {
	worlds(t, nil, func(w *world) {
		r := newReceiver(w.T, nil)
		answer := http.HandlerFunc(func(rw http.ResponseWriter, req *http.Request) {
			all := r.all()
			incoming(rw, req, all[len(all)-1].body)
		})
		r.answer.Store(&answer)
		e := w.slack(r, store.EventRunCreated, store.EventRunCancelled)
		if e.Format != announce.FormatSlack || e.Secrets == nil || len(e.Secrets) != 0 {
			w.T.Errorf("the endpoint is %+v", e)
		}
		id := w.Create(penstock.RunRequest{Prompt: "Look <!channel> at https://evil.example"}).ID
		r.waitFor(1)
		if _, err := w.Runs.Cancel(w.T.Context(), w.Admin, id, false); err != nil {
			w.T.Fatal(err)
		}
		r.waitFor(2)
		if _, err := w.Endpoints.Ping(w.T.Context(), w.Admin, e.UID); err != nil {
			w.T.Fatal(err)
		}
		got := r.waitFor(3)
		const title = ": Look &lt;!channel&gt; at https:\u200b//evil.\u200bexample"
		for i, want := range []string{
			"<https://penstock.test/runs/" + id + "|Run created>" + title,
			"<https://penstock.test/runs/" + id + "|Run was CANCELLED>" + title,
			"<https://penstock.test/event-endpoints/" + e.UID + "|Ping>: pager &lt;!here&gt;",
		} {
			if got[i].text() != want {
				w.T.Errorf("got %q, want %q", got[i].text(), want)
			}
			for _, header := range []string{"Webhook-Signature", "Webhook-Timestamp"} {
				if _, ok := got[i].header[header]; ok {
					w.T.Errorf("the request has the header %s", header)
				}
			}
		}
		for i, a := range w.waitForAttempts(e.UID, 3) {
			if !a.Succeeded || a.Status != http.StatusOK || a.MessageID != got[i].header.Get("Webhook-Id") {
				w.T.Errorf("attempt %d is %+v", i, a)
			}
		}
		first := got[0].header.Get("Webhook-Id")
		testkit.Exec(w.T, w.URL, "DELETE FROM runs WHERE id = '"+id+"'")
		if _, err := w.Endpoints.Replay(
			w.T.Context(), w.Admin, e.UID, announce.ReplayRequest{MessageID: &first},
		); err != nil {
			w.T.Fatal(err)
		}
		if again := r.waitFor(4)[3]; again.text() != "<https://penstock.test/runs/"+id+"|Run created>: "+id {
			w.T.Errorf("of a run that is gone: %q", again.text())
		}
	})
}

func TestSlackNamesBudgetsAutomationsAndSchedules(t *testing.T) {
	worlds(t, nil, func(w *world) {
		r := newReceiver(w.T, nil)
		w.slack(r)
		write := func(list ...store.Announcement) {
			w.T.Helper()
			if err := w.Deps.Store.Write(w.T.Context(), func(tx *store.Tx) error {
				return tx.Endpoints().Announce(w.T.Context(), store.DefaultTeam, list...)
			}); err != nil {
				w.T.Fatal(err)
			}
		}
		budget, err := w.Budgets.Create(w.T.Context(), w.Admin, run.SharedBudgetRequest{
			Scope: new(store.BudgetOfTeam), Period: new(penstock.BudgetDay), MaxCostUSD: new(5.0),
		})
		if err != nil {
			w.T.Fatal(err)
		}
		shop, err := w.Factories.Create(w.T.Context(), w.Admin, factory.FactoryRequest{Name: new("payments")})
		if err != nil {
			w.T.Fatal(err)
		}
		testkit.Exec(w.T, w.URL, "INSERT INTO automations "+
			"(uid, team, factory_uid, name, enabled, data, created_at, updated_at) "+
			"VALUES ('a1', '"+store.DefaultTeam+"', 'f1', 'nightly', 0, '{}', 1, 1)")
		at := penstock.Now()
		write(
			store.Announcement{
				Type: store.EventBudgetThreshold, At: at, Path: "/api/v1/budgets/" + budget.UID,
				Data: penstock.EndpointData{BudgetUID: budget.UID, NotifyAt: 0.5},
			},
			store.Announcement{
				Type: store.EventBudgetExceeded, At: at, Path: "/api/v1/budgets/b0",
				Data: penstock.EndpointData{BudgetUID: "b0"},
			},
			store.Announcement{
				Type: store.EventAutomationPaused, At: at, Path: "/api/v1/factory/f1/automations/a1",
				Data: penstock.EndpointData{FactoryUID: "f1", AutomationUID: "a1"},
			},
			store.Announcement{
				Type: store.EventAutomationPaused, At: at, Path: "/api/v1/agent/schedules/s0",
			},
			store.Announcement{
				Type: "webhook.renamed", At: at, Path: "/api/v1/factory/f1/webhooks/w1",
				Data: penstock.EndpointData{FactoryUID: "f1"},
			},
			store.Announcement{
				Type: "factory.renamed", At: at, Path: "/api/v1/factory/" + shop.UID + "/definition/history/3",
				Data: penstock.EndpointData{FactoryUID: shop.UID},
			},
		)
		var got []string
		for _, m := range r.waitFor(7) {
			got = append(got, m.text())
		}
		want := []string{
			"<https://penstock.test/factory/" + shop.UID + "|Factory has new files>: payments", // the creation
			"<https://penstock.test/factory/" + shop.UID + "|factory.renamed>: payments",
			"<https://penstock.test/factory/f1/automations/a1|Automation paused>: nightly",
			"<https://penstock.test/factory/f1/webhooks/w1|webhook.renamed>: w1",
			"<https://penstock.test/schedules|Schedule paused>: s0",
			"<https://penstock.test/spend|50% of a budget is spent>: daily budget of the team",
			"<https://penstock.test/spend|A budget has no room>: b0",
		}
		slices.Sort(got)
		slices.Sort(want)
		if diff := cmp.Diff(want, got); diff != "" {
			w.T.Error(diff)
		}
	})
}

func TestSlackIsRetriedAndDisabledLikeAnyEndpoint(t *testing.T) {
	worlds(t, nil, func(w *world) {
		r := newReceiver(w.T, func(rw http.ResponseWriter, _ *http.Request) {
			rw.Header().Set("Retry-After", "30")
			http.Error(rw, "rate_limited", http.StatusTooManyRequests)
		})
		e := w.slack(r, store.EventRunCreated)
		w.Create(penstock.RunRequest{Prompt: "p"})
		limited := w.waitForAttempts(e.UID, 1)[0]
		if wait := limited.NextAt.Sub(limited.At); limited.Status != 429 || wait < 29*time.Second || wait > 31*time.Second {
			w.T.Errorf("the attempt is %+v", limited)
		}
		gone := http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
			http.Error(rw, "channel_is_archived", http.StatusGone)
		})
		r.answer.Store(&gone)
		testkit.Exec(w.T, w.URL, "UPDATE event_endpoints SET waits_until = 0")
		w.hurry()
		w.Create(penstock.RunRequest{Prompt: "q"})
		w.waitForAttempts(e.UID, 2)
		testkit.Eventually(w.T, 30*time.Second, func() error {
			if w.read(e.UID).Enabled {
				return errors.New("the endpoint of an archived channel is enabled")
			}
			return nil
		})
	})
}

func TestTheFormatOfAnEndpointStays(t *testing.T) {
	worlds(t, nil, func(w *world) {
		r := newReceiver(w.T, nil)
		slack, standard := w.slack(r), w.endpoint(r.url)
		update := func(p penstock.Principal, uid string, req announce.EndpointRequest) error {
			_, err := w.Endpoints.Update(w.T.Context(), p, uid, req)
			return err
		}
		for uid, format := range map[string]penstock.EndpointFormat{
			slack.UID: announce.FormatStandard, standard.UID: announce.FormatSlack,
		} {
			err := update(w.Admin, uid, announce.EndpointRequest{Format: &format})
			if penstock.CodeOf(err) != penstock.CodeNotSupported {
				w.T.Errorf("a change to %s: %v", format, err)
			}
		}
		if err := update(w.Admin, slack.UID, announce.EndpointRequest{
			Format: new(announce.FormatSlack), Description: new("d"),
		}); err != nil {
			w.T.Errorf("the format that it has: %v", err)
		}
		_, err := w.Endpoints.RotateSecret(w.T.Context(), w.Admin, slack.UID, announce.RotateRequest{})
		if penstock.CodeOf(err) != penstock.CodeConflict {
			w.T.Errorf("a secret of the format slack: %v", err)
		}
		// Its messages have titles of runs, so a key that may not read runs may not point them elsewhere.
		p := w.As("u", penstock.ScopeEventsManage)
		if err := update(p, slack.UID, announce.EndpointRequest{URL: &r.url}); penstock.CodeOf(err) !=
			penstock.CodeNotAuthorized {
			w.T.Errorf("a change without runs:read: %v", err)
		}
		if _, err := w.Endpoints.Create(
			w.T.Context(), p, announce.EndpointRequest{URL: &r.url, Format: new(announce.FormatSlack)},
		); penstock.CodeOf(err) != penstock.CodeNotAuthorized {
			w.T.Errorf("an endpoint without runs:read: %v", err)
		}
		if err := update(p, standard.UID, announce.EndpointRequest{URL: &r.url}); err != nil {
			w.T.Errorf("the format standard without runs:read: %v", err)
		}
	})
}
