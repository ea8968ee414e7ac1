package factory_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/factory"
	"github.com/penstock-dev/penstock/internal/testkit/testworld"
)

func TestTriggerReportsWhyNoEventArrives(t *testing.T) {
	worlds(t, testworld.DefaultWebhooks, func(w *world) {
		ctx := w.T.Context()
		f := w.createFactory("acme", "")
		trigger := func(provider, event, filter string) penstock.Trigger {
			return penstock.Trigger{Provider: provider, Event: event, Filter: []byte(filter)}
		}
		a := w.createAutomation(f.UID, factory.AutomationRequest{
			Name: new("a"), Prompt: new("p"), Triggers: &[]penstock.Trigger{
				trigger("github", "pull_request_opened", `{"paths": {"in": ["src/**"]}, "labels": ["x"]}`),
				trigger("linear", "issue_created", ""), trigger("slack", "app_mention", ""),
				trigger("gitlab", "merge_request", ""), trigger("jira", "issue_created", ""),
				trigger("factory", "work_item_stage_changed", ""),
			},
		})
		problems := func(want ...string) {
			w.T.Helper()
			got, err := w.Automations.Read(ctx, w.Admin, f.UID, a.UID)
			if err != nil {
				w.T.Fatal(err)
			}
			var reported []string
			for _, p := range got.Problems {
				reported = append(reported, p.Pointer+" "+p.Detail)
			}
			if diff := cmp.Diff(want, reported); diff != "" {
				w.T.Errorf("-want +got:\n%s", diff)
			}
		}
		silent := ", so the trigger never starts a run"
		untold := "/triggers/0/filter/paths github does not report this for the event pull_request_opened" + silent
		others := []string{
			"/triggers/2/provider not connected: no events of slack reach this server" + silent,
			"/triggers/3/provider not connected: no events of gitlab reach this server" + silent,
			"/triggers/4/provider not connected: no events of jira reach this server" + silent,
			"/triggers/5/provider not connected: no events of factory reach this server" + silent,
		}
		linear := "/triggers/1/provider not connected: no webhook of this factory has the signature scheme linear" + silent
		problems(
			append(
				[]string{
					"/triggers/0/provider not connected: no webhook of this factory has the signature scheme github" + silent, untold,
					linear,
				},
				others...,
			)...,
		)
		req := factory.WebhookRequest{
			Name: new("gh"), AuthMode: new(penstock.AuthSignature), SignatureScheme: new(penstock.SignatureScheme("github")),
		}
		hook, err := w.Resources.CreateWebhook(ctx, w.Admin, f.UID, req)
		if err != nil {
			w.T.Fatal(err)
		}
		problems(
			append(
				[]string{`/triggers/0/provider not connected: the webhook "gh" waits for its secret` + silent, untold, linear},
				others...,
			)...,
		)
		req = factory.WebhookRequest{Secret: new("0123456789abcdef")}
		if _, err := w.Resources.UpdateWebhook(ctx, w.Admin, f.UID, hook.UID, req); err != nil {
			w.T.Fatal(err)
		}
		problems(append([]string{untold, linear}, others...)...)
	})
}

func TestATriggerIsTested(t *testing.T) {
	worlds(t, testworld.DefaultWebhooks, func(w *world) {
		ctx := w.T.Context()
		f := w.createFactory("acme", "")
		hook := func(name string, scheme penstock.SignatureScheme) penstock.Webhook {
			w.T.Helper()
			made, err := w.Resources.CreateWebhook(ctx, w.Admin, f.UID, factory.WebhookRequest{
				Name: &name, AuthMode: new(penstock.AuthSignature), SignatureScheme: &scheme, Secret: new("0123456789abcdef"),
			})
			if err != nil {
				w.T.Fatal(err)
			}
			return made
		}
		gh, other := hook("gh", "github"), hook("other", "sentry")
		in, err := w.Receiver.Plan(ctx, gh.UID, false, false)
		if err != nil {
			w.T.Fatal(err)
		}
		deliver := func(event, body string) string {
			w.T.Helper()
			result, err := w.Receiver.Deliver(ctx, in, &factory.InboundDelivery{
				Outcome: penstock.OutcomeAccepted, Body: []byte(body), ReceivedAt: penstock.Now(), ClientIP: "192.0.2.1",
				Headers:        map[string]string{"x-github-event": event},
				IdentitySource: penstock.IdentityProvider, Identity: penstock.NewID(), Secret: -1,
			})
			if err != nil {
				w.T.Fatal(err)
			}
			return result.DeliveryID
		}
		const labeled = `{"action": "labeled", "issue": {"number": 1}, "label": {"name": "bug"}}`
		id := deliver("issues", labeled)
		deliver("ping", `{}`)
		for name, test := range map[string]struct {
			req  factory.FilterTest
			want string // check, path and reason of what fails
		}{
			"a delivery":    {factory.FilterTest{Filter: []byte(`{"labels": ["Bug"]}`), DeliveryID: id}, ""},
			"the last ones": {factory.FilterTest{Filter: []byte(`{}`), WebhookUID: gh.UID}, ""},
			"a payload":     {factory.FilterTest{Filter: []byte(`{}`), Payload: []byte(labeled), GitHubEvent: "issues"}, ""},
			"another label": {
				factory.FilterTest{Filter: []byte(`{"labels": {"not_in": ["bug"]}}`), DeliveryID: id},
				"event /labels `labels` is `bug`; expects not `bug`",
			},
			"another event": {
				factory.FilterTest{Filter: []byte(`{}`), Event: "issue_created", DeliveryID: id},
				"event  action `labeled` starts nothing; this automation waits for created",
			},
			"no event": {
				factory.FilterTest{Filter: []byte(`{}`), Payload: []byte(`{}`), GitHubEvent: "ping"},
				"event  a ping only tests the webhook; this automation waits for issue_labeled",
			},
			"none of the last": {
				factory.FilterTest{Filter: []byte(`{"labels": ["x"]}`), WebhookUID: gh.UID},
				"event  none of the last 2 deliveries matches",
			},
			"another scheme": {
				factory.FilterTest{Filter: []byte(`{}`), WebhookUID: other.UID, Payload: []byte(labeled), GitHubEvent: "issues"},
				"webhook  its deliveries report no events of github, because it has another signature scheme",
			},
		} {
			test.req.Provider = "github"
			if test.req.Event == "" {
				test.req.Event = "issue_labeled"
			}
			v, err := w.Deliveries.TestFilter(ctx, w.Admin, f.UID, test.req)
			if err != nil {
				w.T.Fatal(err)
			}
			got := ""
			for _, c := range v.Checks {
				if !c.Passed {
					got += c.Check + " " + c.Path + " " + c.Reason
				}
			}
			if got != test.want || v.WouldTrigger != (test.want == "") || v.Sample != nil && v.Sample.Of != 2 {
				w.T.Errorf("%s: got %q, %+v", name, got, v)
			}
		}
		for name, test := range map[string]struct {
			req  factory.FilterTest
			want []string
		}{
			"nothing": {factory.FilterTest{Provider: "github"}, []string{"/payload", "/filter", "/event"}},
			"an unknown event": {
				factory.FilterTest{Provider: "linear", Event: "push", Filter: []byte(`{"label": ["x"]}`), Payload: []byte(`1`)},
				[]string{"/event", "/filter/label"},
			},
			"no events of it": {
				factory.FilterTest{Provider: "slack", Event: "app_mention", Filter: []byte(`{}`), Payload: []byte(`1`)},
				[]string{"/provider"},
			},
			"no name of it": {
				factory.FilterTest{Provider: "github", Event: "push", Filter: []byte(`{}`), Payload: []byte(`1`)},
				[]string{"/github_event"},
			},
			"a name for nothing": {
				factory.FilterTest{
					Provider: "linear", Event: "issue_created", GitHubEvent: "push", Filter: []byte(`{}`), Payload: []byte(`1`),
				},
				[]string{"/github_event"},
			},
			"an event of none": {
				factory.FilterTest{Event: "push", Filter: []byte(`{}`), Payload: []byte(`1`)}, []string{"/event"},
			},
		} {
			_, err := w.Deliveries.TestFilter(ctx, w.Admin, f.UID, test.req)
			if diff := cmp.Diff(test.want, pointersOf(err)); diff != "" {
				w.T.Errorf("%s (-want +got):\n%s\n%v", name, diff, err)
			}
		}
	})
}
