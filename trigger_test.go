package penstock_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock"
)

func TestTriggersAreCheckedByTheTable(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		trigger string
		want    []string // pointers of the errors
	}{
		"a webhook": {
			`{"provider": "webhook", "event": "received", "filter": {"webhook_ids": ["ci"], "payload": {"a": [1]}}}`, nil,
		},
		"a webhook without one": {`{"provider": "webhook", "event": "received"}`, []string{"/filter/webhook_ids"}},
		"a webhook with an empty list": {
			`{"provider": "webhook", "event": "received", "filter": {"webhook_ids": []}}`, []string{"/filter/webhook_ids"},
		},
		"a webhook's name that is empty": {
			`{"provider": "webhook", "event": "received", "filter": {"webhook_ids": ["a", ""]}}`,
			[]string{"/filter/webhook_ids/1"},
		},
		"a webhook's key that is unknown": {
			`{"provider": "webhook", "event": "received", "filter": {"webhook_ids": "ci", "payloads": {}}}`,
			[]string{"/filter/webhook_ids", "/filter/payloads"},
		},
		"webhooks as a matcher": {
			`{"provider": "webhook", "event": "received", "filter": {"webhook_ids": {"in": ["ci"], "not_in": ["x"]}}}`, nil,
		},
		"webhooks that are only excluded": {
			`{"provider": "webhook", "event": "received", "filter": {"webhook_ids": {"not_in": ["x"]}}}`,
			[]string{"/filter/webhook_ids/in"},
		},
		"a webhook that is in and not in": {
			`{"provider": "webhook", "event": "received", "filter": {"webhook_ids": {"in": ["a"], "not_in": ["b", "a"]}}}`,
			[]string{"/filter/webhook_ids/not_in/1"},
		},
		"a webhook's matcher in capitals": {
			`{"provider": "webhook", "event": "received", "filter": {"webhook_ids": {"In": ["a"]}}}`,
			[]string{"/filter/webhook_ids/In"},
		},
		"a webhook's matcher without a list": {
			`{"provider": "webhook", "event": "received", "filter": {"webhook_ids": {"in": "a"}}}`,
			[]string{"/filter/webhook_ids"},
		},
		"a webhook's matcher with empty text": {
			`{"provider": "webhook", "event": "received", "filter": {"webhook_ids": {"in": ["a", " "], "not_in": [""]}}}`,
			[]string{"/filter/webhook_ids/in/1", "/filter/webhook_ids/not_in/0"},
		},
		"schedules as a matcher": {
			`{"provider": "schedule", "event": "cron_fired", "filter": {"schedule_ids": {"in": ["s"]}}}`, nil,
		},
		"a webhook with a schedule": {
			`{"provider": "webhook", "event": "received", "filter": {"webhook_ids": ["a"]}, "schedule": {"cron": "@daily"}}`,
			[]string{"/schedule"},
		},
		"a clock": {
			`{"provider": "schedule", "event": "cron_fired", "schedule": {"cron": "@daily"}}`, nil,
		},
		"a schedule": {
			`{"provider": "schedule", "event": "cron_fired", "filter": {"schedule_ids": ["x"]}}`, nil,
		},
		"neither clock nor schedule": {`{"provider": "schedule", "event": "cron_fired"}`, []string{"/schedule"}},
		"both clock and schedule": {
			`{"provider": "schedule", "event": "cron_fired", "schedule": {"cron": "@daily"}, "filter": {"schedule_ids": ["x"]}}`,
			[]string{"/filter/schedule_ids"},
		},
		"a provider that is unknown": {`{"provider": "webhok", "event": "received"}`, []string{"/provider"}},
		"no provider":                {`{"event": "received"}`, []string{"/provider"}},
		"an event of somebody else":  {`{"provider": "github", "event": "received"}`, []string{"/event"}},
		"every pull request":         {`{"provider": "github", "event": "pull_request_opened"}`, nil},
		"some pull requests": {
			`{"provider": "github", "event": "pull_request_opened", "filter": {"repos": ["a/b"], "pr_numbers": [1], ` +
				`"authors": {"not_in": ["bot"]}, "labels": []}}`,
			nil,
		},
		"a number that is text": {
			`{"provider": "github", "event": "push", "filter": {"pr_numbers": ["1"]}}`, []string{"/filter/pr_numbers/0"},
		},
		"text that is a number": {
			`{"provider": "github", "event": "push", "filter": {"repos": ["a/b", 1]}}`, []string{"/filter/repos/1"},
		},
		"a value in both lists": {
			`{"provider": "github", "event": "push", "filter": {"repos": {"in": ["a", "b"], "not_in": ["b"]}}}`,
			[]string{"/filter/repos/not_in/0"},
		},
		"a matcher's key in capitals": {
			`{"provider": "github", "event": "push", "filter": {"repos": {"IN": ["a"]}}}`, []string{"/filter/repos/IN"},
		},
		"a bare value": {
			`{"provider": "github", "event": "push", "filter": {"repos": "a"}}`, []string{"/filter/repos"},
		},
		"teams by id": {
			`{"provider": "linear", "event": "issue_created", "filter": {"team_ids": ["t"], "mentioned_user_ids": ["u"]}}`, nil,
		},
		"reviewers by id": {
			`{"provider": "github", "event": "push", "filter": {"reviewer_ids": ["t"]}}`, []string{"/filter/reviewer_ids"},
		},
		"patterns of paths": {
			`{"provider": "github", "event": "push", "filter": {"paths": ["src/**/*.go", "[a", "!b"]}}`,
			[]string{"/filter/paths/1", "/filter/paths/2"},
		},
		"a filter that is a list": {
			`{"provider": "factory", "event": "work_item_stage_changed", "filter": ["done"]}`, []string{"/filter"},
		},
		"all that is wrong": {
			`{"provider": "slack", "event": "message", "filter": {"chanels": [], "users": [""]}, "schedule": {"cron": ""}}`,
			[]string{"/event", "/schedule", "/filter/chanels", "/filter/users/0"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var trigger penstock.Trigger
			if err := json.Unmarshal([]byte(test.trigger), &trigger); err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, e := range trigger.Check("") {
				got = append(got, e.Pointer)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("-want +got:\n%s\n%v", diff, trigger.Check(""))
			}
		})
	}
}

func TestSeveralTriggersSelectAWebhookEachWithItsFilter(t *testing.T) {
	t.Parallel()
	a := penstock.Automation{Triggers: []penstock.Trigger{
		{
			Provider: "webhook", Event: "received",
			Filter: json.RawMessage(`{"webhook_ids": ["ci", "other"], "payload": {"a": [1]}}`),
		},
		{Provider: "webhook", Event: "received", Filter: json.RawMessage(`{"webhook_ids": ["UID"]}`)},
		{Provider: "webhook", Event: "received", Filter: json.RawMessage(`{"webhook_ids": ["other"], "payload": null}`)},
		{
			Provider: "webhook", Event: "received",
			Filter: json.RawMessage(`{"webhook_ids": {"in": ["matched"], "not_in": ["OTHER_UID"]}, "payload": {"b": [2]}}`),
		},
		{Provider: "github", Event: "push", Filter: json.RawMessage(`{"webhook_ids": ["ci"]}`)},
		{Provider: "schedule", Event: "cron_fired", Filter: json.RawMessage(`{"schedule_ids": ["s2", "s1", "s2"]}`)},
	}}
	if diff := cmp.Diff([]string{"UID", "ci", "matched", "other"}, a.WebhookIDs()); diff != "" {
		t.Errorf("webhooks: -want +got:\n%s", diff)
	}
	if diff := cmp.Diff([]string{"s1", "s2"}, a.ScheduleIDs()); diff != "" {
		t.Errorf("schedules: -want +got:\n%s", diff)
	}
	for name, test := range map[string]struct {
		uid, name string
		want      []json.RawMessage
	}{
		"by UID and by name": {"UID", "ci", []json.RawMessage{json.RawMessage(`{"a": [1]}`), nil}},
		"null is no filter":  {"another", "other", []json.RawMessage{json.RawMessage(`{"a": [1]}`), nil}},
		"selected by none":   {"another", "another", nil},
		"by a matcher":       {"another", "matched", []json.RawMessage{json.RawMessage(`{"b": [2]}`)}},
		"excluded by UID":    {"OTHER_UID", "matched", nil},
	} {
		if diff := cmp.Diff(test.want, penstock.PayloadFilters(a.Triggers, test.uid, test.name)); diff != "" {
			t.Errorf("%s: -want +got:\n%s", name, diff)
		}
	}
}

func TestTriggersWaitForWebhooksOfTheirScheme(t *testing.T) {
	t.Parallel()
	a := penstock.Automation{}
	for _, provider := range append(penstock.Providers(), "linear", "github") {
		a.Triggers = append(a.Triggers, penstock.Trigger{Provider: provider})
	}
	if diff := cmp.Diff([]penstock.SignatureScheme{"github", "linear"}, a.Schemes()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	for scheme, want := range map[penstock.SignatureScheme]int{"github": 2, "linear": 2, "slack": 0, "": 0} {
		if got := penstock.EventTriggers(a.Triggers, scheme); len(got) != want {
			t.Errorf("%q: got %v, want %d", scheme, got, want)
		}
	}
}

func TestEveryProviderHasEventsAndKeys(t *testing.T) {
	t.Parallel()
	for _, provider := range penstock.Providers() {
		if len(penstock.TriggerEvents(provider)) == 0 || len(penstock.TriggerKeys(provider)) == 0 {
			t.Errorf("%s: events %v, keys %v", provider, penstock.TriggerEvents(provider), penstock.TriggerKeys(provider))
		}
	}
	if got := penstock.TriggerEvents("unknown"); len(got) != 0 {
		t.Errorf("events of an unknown provider: %v", got)
	}
	if diff := cmp.Diff([]string{"webhook_ids", "payload"}, penstock.TriggerKeys("webhook")); diff != "" {
		t.Errorf("keys of webhook: -want +got:\n%s", diff)
	}
	if diff := cmp.Diff([]string{"schedule_ids"}, penstock.TriggerKeys("schedule")); diff != "" {
		t.Errorf("keys of schedule: -want +got:\n%s", diff)
	}
}
