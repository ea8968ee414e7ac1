package factory_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/factory"
	"github.com/penstock-dev/penstock/internal/testkit/testworld"
)

func asError(err error, known **penstock.Error) bool { return errors.As(err, known) }

func (w *world) createAutomation(factory string, req factory.AutomationRequest) penstock.Automation {
	w.T.Helper()
	a, err := w.Resources.CreateAutomation(w.T.Context(), w.Admin, factory, req)
	if err != nil {
		w.T.Fatal(err)
	}
	return a
}

func (w *world) runsOfAutomation(uid string) []penstock.Run {
	w.T.Helper()
	page, err := w.Runs.List(
		w.T.Context(), w.Admin, penstock.RunQuery{AutomationID: uid, SortBy: "created_at", Ascending: true, Limit: 100},
	)
	if err != nil {
		w.T.Fatal(err)
	}
	return page.Runs
}

func hookTrigger(filter string) penstock.Trigger {
	return penstock.Trigger{Provider: "webhook", Event: "received", Filter: []byte(filter)}
}

func TestAllProblemsOfAnAutomationAreReportedTogether(t *testing.T) {
	worlds(t, nil, func(w *world) {
		f := w.createFactory("acme", "")
		for name, test := range map[string]struct {
			req  factory.AutomationRequest
			want []string
		}{
			"nothing": {factory.AutomationRequest{}, []string{"/name", "/prompt", "/triggers"}},
			"everything": {factory.AutomationRequest{
				Name: new("a_b"), Prompt: new("p"), Model: new("m"), Harness: &penstock.Harness{Type: "nonsense"},
				LayerKeysRequest: factory.LayerKeysRequest{CredentialStrategy: new("NOBODY")},
				Secrets:          &[]string{"NO-NAME"},
				Triggers: &[]penstock.Trigger{
					hookTrigger(`{"webhook_ids": ["ci"], "payload": {"a": [], "b": {"c": 1}}}`), hookTrigger(`{"payload": {}}`),
					{
						Provider: "schedule", Event: "cron_fired",
						Schedule: &penstock.CronTrigger{Cron: "0 0 31 2 *", Timezone: "Mars/Base"},
					},
					{Provider: "github", Event: "pushed"},
				},
			}, []string{
				"/name", "/triggers/0/filter/payload/a", "/triggers/0/filter/payload/b/c", "/triggers/1/filter/webhook_ids",
				"/triggers/2/schedule/timezone", "/triggers/2/schedule/cron", "/triggers/3/event", "/model", "/credential_strategy",
				"/harness/type", "/secrets/0",
			}},
			"what is not there": {factory.AutomationRequest{
				Name: new("a"), Prompt: new("p"), Agent: new("formean"), EnvironmentID: new("nowhere"),
				Secrets:  &[]string{"NOBODY"},
				Triggers: &[]penstock.Trigger{{Provider: "github", Event: "push"}},
			}, []string{"/agent", "/environment_id", "/secrets/0"}},
			"two clocks of one name": {factory.AutomationRequest{Name: new(
				"a",
			), Prompt: new("p"), Triggers: &[]penstock.Trigger{
				{Provider: "schedule", Event: "cron_fired", Schedule: &penstock.CronTrigger{Cron: "@daily", Name: "x"}},
				{Provider: "schedule", Event: "cron_fired", Schedule: &penstock.CronTrigger{Cron: "@hourly", Name: "x"}},
			}}, []string{"/triggers/1/schedule/name"}},
		} {
			_, err := w.Resources.CreateAutomation(w.T.Context(), w.Admin, f.UID, test.req)
			if diff := cmp.Diff(test.want, pointersOf(err)); diff != "" {
				w.T.Errorf("%s (-want +got):\n%s\n%v", name, diff, err)
			}
		}
	})
}

func TestAnUpdateChangesOnlyTheGivenFieldsOfAnAutomation(t *testing.T) {
	worlds(t, nil, func(w *world) {
		ctx := w.T.Context()
		f := w.createFactory("acme", "")
		req := testworld.ClockAutomation("Look Around", "@daily")
		req.Model, req.Agent = new("demo/offline"), new("Foreman")
		a := w.createAutomation(f.UID, req)
		if a.Name != "look-around" || !a.Enabled || a.Problems != nil || a.Triggers[0].Schedule.NextRun == 0 {
			w.T.Errorf("got %+v", a)
		}
		update := func(req factory.AutomationRequest) penstock.Automation {
			w.T.Helper()
			got, err := w.Resources.UpdateAutomation(ctx, w.Admin, f.UID, a.UID, req)
			if err != nil {
				w.T.Fatal(err)
			}
			return got
		}
		got := update(factory.AutomationRequest{Prompt: new("other")})
		want := a
		want.Prompt, want.UpdatedAt = "other", got.UpdatedAt
		if diff := cmp.Diff(want, got); diff != "" {
			w.T.Errorf("only the prompt should change (-want +got):\n%s", diff)
		}
		got = update(
			factory.AutomationRequest{
				Cleared: []string{"model", "agent"}, Harness: &penstock.Harness{Type: "builtin", ModelID: "demo/offline"},
			},
		)
		if got.Model != "" || got.Agent != "" || got.Harness == nil {
			w.T.Errorf("cleared: got %+v", got)
		}
		got = update(factory.AutomationRequest{Enabled: new(false)})
		if got.Enabled || got.Triggers[0].Schedule.NextRun != 0 {
			w.T.Errorf("switched off: got %+v", got.Triggers[0].Schedule)
		}
		for name, req := range map[string]factory.AutomationRequest{
			"no name":              {Cleared: []string{"name"}},
			"no prompt":            {Cleared: []string{"prompt"}},
			"no triggers":          {Cleared: []string{"triggers"}},
			"neither on nor off":   {Cleared: []string{"enabled"}},
			"model beside harness": {Model: new("m")},
		} {
			if _, err := w.Resources.UpdateAutomation(
				ctx, w.Admin, f.UID, a.UID, req,
			); penstock.CodeOf(err) != penstock.CodeInvalidRequest {
				w.T.Errorf("%s: got %v, want a refusal", name, err)
			}
		}
		w.createAutomation(f.UID, testworld.ClockAutomation("another", "@daily"))
		if _, err := w.Resources.UpdateAutomation(
			ctx, w.Admin, f.UID, a.UID, factory.AutomationRequest{Name: new("Another")},
		); penstock.CodeOf(err) != penstock.CodeConflict {
			w.T.Errorf("a name that is taken: got %v", err)
		}
		if got, err := w.Factories.Read(ctx, w.Admin, f.UID); err != nil || got.AutomationCount != 2 ||
			got.Definition.Revision != 6 {
			w.T.Errorf("the factory: got %+v (%v)", got, err)
		}
	})
}

func TestAutomationReportsWhyItStartsNoRuns(t *testing.T) {
	worlds(t, testworld.DefaultWebhooks, func(w *world) {
		ctx := w.T.Context()
		f := w.createFactory("acme", "")
		schedule := w.CreateSchedule(
			factory.ScheduleRequest{Name: "nightly", Cron: "@daily", Prompt: "x", Enabled: new(false)},
		)
		w.CreateSecret("LATER", "v")
		a := w.createAutomation(f.UID, factory.AutomationRequest{
			Name: new("a"), Prompt: new("p"), Triggers: &[]penstock.Trigger{
				hookTrigger(`{"webhook_ids": ["ci", "off"]}`),
				{Provider: "linear", Event: "issue_created"},
				{Provider: "schedule", Event: "cron_fired", Filter: []byte(`{"schedule_ids": ["` + schedule.ID + `", "gone"]}`)},
			},
		})
		problems := func() string {
			w.T.Helper()
			list, err := w.Automations.List(ctx, w.Admin, f.UID)
			if err != nil {
				w.T.Fatal(err)
			}
			return fmt.Sprint(list[0].Problems)
		}
		if got := problems(); got != fmt.Sprint(a.Problems) {
			w.T.Errorf("got %s, want what was told when it was made: %v", got, a.Problems)
		}
		for _, want := range []string{
			`/triggers/0/filter/webhook_ids/0: there is no webhook of this factory named "ci"`,
			"/triggers/0/filter/webhook_ids/1", "/triggers/1/provider: not connected",
			`/triggers/2/filter/schedule_ids/0: the schedule "nightly" is paused`, "/triggers/2/filter/schedule_ids/1",
		} {
			if !strings.Contains(problems(), want) {
				w.T.Errorf("got %s, want %s", problems(), want)
			}
		}
		hook, err := w.Resources.CreateWebhook(ctx, w.Admin, f.UID, factory.WebhookRequest{Name: new("CI")})
		if err != nil {
			w.T.Fatal(err)
		}
		if strings.Contains(problems(), "webhook_ids/0") {
			w.T.Errorf("the webhook is there now, got %s", problems())
		}
		if _, err := w.Resources.UpdateWebhook(
			ctx, w.Admin, f.UID, hook.UID, factory.WebhookRequest{Enabled: new(false)},
		); err != nil {
			w.T.Fatal(err)
		}
		if !strings.Contains(problems(), `the webhook "ci" is disabled`) {
			w.T.Errorf("got %s, want that the webhook is off", problems())
		}
	})
}

func TestSchedulesOfAnAutomationStartRuns(t *testing.T) {
	worlds(t, nil, func(w *world) {
		ctx := w.T.Context()
		f := w.createFactory("acme", "")
		req := testworld.ClockAutomation("nightly", "@every 1h", "@every 2h")
		req.Model = new("demo/offline")
		(*req.Triggers)[0].Schedule.Name = "often"
		a := w.createAutomation(f.UID, req)
		fire := func(at penstock.Time) {
			w.T.Helper()
			var all sync.WaitGroup
			for range 4 { // replicas
				all.Go(func() {
					if err := w.Schedules.FireClocks(ctx, at); err != nil {
						w.T.Error(err)
					}
				})
			}
			all.Wait()
		}
		first := a.Triggers[0].Schedule.NextRun
		fire(first - 1)
		if n := len(w.runsOfAutomation(a.UID)); n != 0 {
			w.T.Fatalf("got %d runs before the time", n)
		}
		fire(first)
		fire(first)
		runs := w.runsOfAutomation(a.UID)
		if len(runs) != 1 {
			w.T.Fatalf("got %d runs, want 1", len(runs))
		}
		run := runs[0]
		actor := &penstock.Actor{Type: "service_account", UID: a.UID, DisplayName: "nightly"}
		want := penstock.Run{
			Title: "nightly", Prompt: "go", Source: "SCHEDULED_AGENT", FactoryUID: f.UID, Creator: actor,
			Metadata: map[string]string{"automation_id": a.UID},
			Executor: &penstock.Actor{Type: "service_account", UID: f.ForemanUID, DisplayName: "foreman"},
			Schedule: &penstock.RunSchedule{ID: a.UID, Name: "often", Cron: "@every 1h"},
		}
		got := penstock.Run{
			Title: run.Title, Prompt: run.Prompt, Source: run.Source, FactoryUID: run.FactoryUID, Creator: run.Creator,
			Metadata: run.Metadata, Executor: run.Executor, Schedule: run.Schedule,
		}
		if diff := cmp.Diff(want, got); diff != "" {
			w.T.Errorf("the run (-want +got):\n%s", diff)
		}
		if run.ConfigSources["model_id"] != "automation" || run.ConfigSources["base_prompt"] != "agent" {
			w.T.Errorf("sources: got %v", run.ConfigSources)
		}
		page, err := w.Runs.List(ctx, w.Admin, penstock.RunQuery{Creator: a.UID})
		if err != nil || len(page.Runs) != 1 {
			w.T.Errorf("runs by their creator: got %d (%v)", len(page.Runs), err)
		}
		fire(first.Add(10 * time.Hour)) // both schedules missed several times: one run makes up for all
		if n := len(w.runsOfAutomation(a.UID)); n != 2 {
			w.T.Errorf("got %d runs after the server was down, want 2", n)
		}
		if _, err := w.Resources.UpdateAutomation(
			ctx, w.Admin, f.UID, a.UID, factory.AutomationRequest{Enabled: new(false)},
		); err != nil {
			w.T.Fatal(err)
		}
		fire(first.Add(100 * time.Hour))
		if n := len(w.runsOfAutomation(a.UID)); n != 2 {
			w.T.Errorf("got %d runs of an automation that is off, want 2", n)
		}
	})
}

func TestABrokenAutomationRecordsWhyItStartedNothing(t *testing.T) {
	worlds(t, nil, func(w *world) {
		ctx := w.T.Context()
		f := w.createFactory("acme", "")
		e := w.CreateEnvironment(penstock.EnvironmentConfig{Name: "app"})
		req := testworld.ClockAutomation("nightly", "@every 1h")
		req.EnvironmentID = &e.UID
		a := w.createAutomation(f.UID, req)
		if err := w.Catalog.DeleteEnvironment(ctx, w.Admin, e.UID); penstock.CodeOf(err) != penstock.CodeConflict ||
			!strings.Contains(err.Error(), `the automation "nightly"`) {
			w.T.Errorf("delete an environment that is used: got %v", err)
		}
		if _, err := w.Resources.UpdateAutomation(
			ctx, w.Admin, f.UID, a.UID, factory.AutomationRequest{Enabled: new(false)},
		); err != nil {
			w.T.Fatal(err)
		}
		if err := w.Catalog.DeleteEnvironment(ctx, w.Admin, e.UID); err != nil {
			w.T.Fatal(err)
		}
		a, err := w.Resources.UpdateAutomation(ctx, w.Admin, f.UID, a.UID, factory.AutomationRequest{Enabled: new(true)})
		if err != nil || len(a.Problems) != 1 || a.Problems[0].Pointer != "/environment_id" {
			w.T.Fatalf("got %+v (%v), want a problem", a, err)
		}
		if err := w.Schedules.FireClocks(ctx, a.Triggers[0].Schedule.NextRun); err != nil {
			w.T.Fatal(err)
		}
		got, err := w.Automations.Read(ctx, w.Admin, f.UID, a.UID)
		if err != nil {
			w.T.Fatal(err)
		}
		clock := got.Triggers[0].Schedule
		if !strings.Contains(clock.LastError, "no environment") || clock.LastRun != 0 ||
			clock.NextRun <= a.Triggers[0].Schedule.NextRun || len(w.runsOfAutomation(a.UID)) != 0 {
			w.T.Errorf("got %+v, want why there is no run", clock)
		}
	})
}

func TestAnAutomationFiresWithASchedule(t *testing.T) {
	worlds(t, nil, func(w *world) {
		ctx := w.T.Context()
		f := w.createFactory("acme", "")
		schedule := w.CreateSchedule(hourly)
		mine := w.CreateSchedule(factory.ScheduleRequest{Name: "mine", Cron: "@every 1h", Prompt: "x", Team: new(false)})
		both := []penstock.Trigger{}
		for range 2 {
			both = append(
				both,
				penstock.Trigger{
					Provider: "schedule", Event: "cron_fired",
					Filter: []byte(`{"schedule_ids": ["` + schedule.ID + `", "` + mine.ID + `"]}`),
				},
			)
		}
		a := w.createAutomation(f.UID, factory.AutomationRequest{Name: new("a"), Prompt: new("p"), Triggers: &both})
		w.fire(*schedule.History.NextRun + 1000)
		w.fire(*schedule.History.NextRun + 1000)
		runs := w.runsOfAutomation(a.UID)
		if len(runs) != 1 || runs[0].Schedule.ID != schedule.ID || runs[0].Prompt != "p" {
			w.T.Errorf("got %+v, want one run with the team's schedule", runs)
		}
		if n := len(w.runsOf(schedule.ID)); n != 2 {
			w.T.Errorf("got %d runs of the schedule, want its own and the automation's", n)
		}
		if err := w.Resources.DeleteAutomation(ctx, w.Admin, f.UID, a.UID); err != nil {
			w.T.Fatal(err)
		}
		w.fire(schedule.History.NextRun.Add(5 * time.Hour))
		if n := len(w.runsOfAutomation(a.UID)); n != 1 {
			w.T.Errorf("got %d runs after it was deleted, want 1", n)
		}
	})
}

func TestAFilterIsTested(t *testing.T) {
	worlds(t, testworld.DefaultWebhooks, func(w *world) {
		ctx := w.T.Context()
		f := w.createFactory("acme", "")
		hook, err := w.Resources.CreateWebhook(ctx, w.Admin, f.UID, factory.WebhookRequest{Name: new("ci")})
		if err != nil {
			w.T.Fatal(err)
		}
		in, err := w.Receiver.Plan(ctx, hook.UID, false, false)
		if err != nil {
			w.T.Fatal(err)
		}
		var ids []string
		for i := range 52 {
			result, err := w.Receiver.Deliver(ctx, in, &factory.InboundDelivery{
				Outcome: penstock.OutcomeAccepted, Body: fmt.Appendf(nil, `{"n": %d}`, i), ReceivedAt: penstock.Now(),
				ClientIP:       "192.0.2.1",
				IdentitySource: penstock.IdentityProvider, Identity: fmt.Sprint(i), Secret: -1,
			})
			if err != nil {
				w.T.Fatal(err)
			}
			ids = append(ids, result.DeliveryID)
		}
		try := func(req factory.FilterTest) factory.FilterTestResult {
			w.T.Helper()
			v, err := w.Deliveries.TestFilter(ctx, w.Admin, f.UID, req)
			if err != nil {
				w.T.Fatal(err)
			}
			return v
		}
		webhook := factory.FilterCheck{Check: "webhook", Passed: true}
		filter := []byte(`{"n": [0, 2, 3]}`)
		for name, test := range map[string]struct {
			req  factory.FilterTest
			want factory.FilterTestResult
		}{
			"a payload": {
				factory.FilterTest{Filter: filter, Payload: []byte(`{"n": 3.0}`)},
				factory.FilterTestResult{WouldTrigger: true, Checks: []factory.FilterCheck{{Check: "payload", Passed: true}}},
			},
			"a delivery": {
				factory.FilterTest{Filter: filter, DeliveryID: ids[2]},
				factory.FilterTestResult{
					WouldTrigger: true, Checks: []factory.FilterCheck{webhook, {Check: "payload", Passed: true}},
				},
			},
			"the last ones": {
				factory.FilterTest{Filter: filter, WebhookUID: hook.UID},
				factory.FilterTestResult{
					WouldTrigger: true, Checks: []factory.FilterCheck{webhook, {Check: "payload", Passed: true}},
					Sample: &factory.FilterSample{Matched: 2, Of: 50},
				},
			},
		} {
			got := try(test.req)
			if got.Sample != nil {
				list := got.Sample.Deliveries
				if n := len(list); n != got.Sample.Of || list[0].ReceivedAt < list[n-1].ReceivedAt {
					w.T.Errorf("%s: %d deliveries of %d", name, n, got.Sample.Of)
				}
				got.Sample.Deliveries = nil
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				w.T.Errorf("%s (-want +got):\n%s", name, diff)
			}
		}
		v := try(factory.FilterTest{Filter: filter, DeliveryID: ids[5], WebhookUID: hook.UID})
		if v.WouldTrigger || v.Checks[1].Passed || v.Checks[1].Path != "/n" || v.Checks[1].Reason == "" {
			w.T.Errorf("one that does not match: got %+v", v)
		}
		for _, d := range try(factory.FilterTest{Filter: filter, WebhookUID: hook.UID}).Sample.Deliveries {
			if n, ok := strings.CutPrefix(d.Summary, "n: "); !ok || !d.WouldTrigger && (len(d.Actual) != 1 || d.Actual[0] != n) {
				w.T.Errorf("a delivery: got %+v, want its own value", d)
			}
		}
		long := strings.Repeat("ü", 2000)
		for body, want := range map[string][]string{
			`{"a": {"b": ["x", 1.50, null]}}`: {"x", "1.50", "null"},
			`{"a": [{"b": "x"}]}`:             {"x"},
			`{"a": [{"c": "x"}]}`:             {"{…}"},
			`{"a": {"b": {"c":  true}}}`:      {"{…}"},
			`{"a": {"b": [1, 2, 3, 4, 5]}}`:   {"1", "2", "3", "4"},
			`{"a": {"b": "` + long + `"}}`:    {long[:120] + "…"},
			`{"a": {"b": ""}}`:                {`""`},
			`{"a": {}}`:                       nil,
		} {
			v := try(factory.FilterTest{Filter: []byte(`{"a": {"b": ["y"]}}`), Payload: []byte(body)})
			if diff := cmp.Diff(want, v.Checks[0].Actual); diff != "" {
				w.T.Errorf("the values of %.60s (-want +got):\n%s", body, diff)
			}
		}
		for name, test := range map[string]struct {
			req  factory.FilterTest
			want []string
		}{
			"nothing": {factory.FilterTest{}, []string{"/payload", "/filter"}},
			"two subjects": {
				factory.FilterTest{Filter: filter, DeliveryID: ids[0], Payload: []byte(`1`)}, []string{"/payload"},
			},
			"a bad filter": {factory.FilterTest{Filter: []byte(`{"a": []}`), Payload: []byte(`1`)}, []string{"/filter/a"}},
		} {
			_, err := w.Deliveries.TestFilter(ctx, w.Admin, f.UID, test.req)
			if diff := cmp.Diff(test.want, pointersOf(err)); diff != "" {
				w.T.Errorf("%s (-want +got):\n%s\n%v", name, diff, err)
			}
		}
		for name, req := range map[string]factory.FilterTest{
			"a webhook that is gone": {Filter: filter, WebhookUID: "gone"},
			"a delivery of nobody":   {Filter: filter, DeliveryID: penstock.NewID()},
		} {
			if _, err := w.Deliveries.TestFilter(ctx, w.Admin, f.UID, req); penstock.CodeOf(err) != penstock.CodeNotFound {
				w.T.Errorf("%s: got %v, want that it is not found", name, err)
			}
		}
		if _, err := w.Resources.UpdateWebhook(
			ctx, w.Admin, f.UID, hook.UID, factory.WebhookRequest{Enabled: new(false)},
		); err != nil {
			w.T.Fatal(err)
		}
		for name, req := range map[string]factory.FilterTest{
			"a webhook that is gone": {Filter: filter, WebhookUID: "gone"},
			"a delivery of nobody":   {Filter: filter, DeliveryID: penstock.NewID()},
		} {
			if _, err := w.Deliveries.TestFilter(ctx, w.Admin, f.UID, req); penstock.CodeOf(err) != penstock.CodeNotFound {
				w.T.Errorf("%s: got %v, want 404", name, err)
			}
		}
		if v := try(factory.FilterTest{Filter: filter, DeliveryID: ids[2]}); v.WouldTrigger || v.Checks[0].Reason == "" {
			w.T.Errorf("a webhook that is off: got %+v", v)
		}
	})
}

// An automation that selects webhooks by a matcher fires like one with a list, whether the API or a
// file defines it.
func TestWebhooksSelectedByAMatcher(t *testing.T) {
	withFactory(t, nil, func(h *hooks) {
		ci, old := h.hook(named("ci", penstock.AuthToken)), h.hook(named("old", penstock.AuthToken))
		matcher := fmt.Sprintf(`{"webhook_ids": {"in": ["ci", "old"], "not_in": [%q]}, "payload": {"a": [1]}}`, old.UID)
		made, err := h.Resources.CreateAutomation(t.Context(), h.Admin, h.factory, factory.AutomationRequest{
			Name: new("matched"), Prompt: new("look"),
			Triggers: &[]penstock.Trigger{
				{Provider: penstock.ProviderWebhook, Event: penstock.EventReceived, Filter: []byte(matcher)},
			},
		})
		if err != nil || len(made.Problems) > 0 {
			t.Fatalf("%v, %+v", err, made.Problems)
		}
		started := func(uid, body string) int {
			t.Helper()
			d, err := h.Deliveries.Read(t.Context(), h.Admin, h.factory, uid, h.arrive(uid, body).DeliveryID)
			if err != nil {
				t.Fatal(err)
			}
			return len(d.Runs)
		}
		if got := started(ci.UID, `{"a": 1}`); got != 1 {
			t.Errorf("a webhook that is in: got %d runs", got)
		}
		if got := started(old.UID, `{"a": 1}`); got != 0 {
			t.Errorf("a webhook that is not in: got %d runs", got)
		}
		files, err := h.Factories.Definition(t.Context(), h.Admin, h.factory, 0)
		if err != nil {
			t.Fatal(err)
		}
		files.Files["automations/filed.md"] = "---\ntriggers:\n- {provider: webhook, event: received, filter: " +
			"{webhook_ids: {in: [old, none]}}}\n---\nLook.\n"
		if _, err := h.Factories.Apply(
			t.Context(), h.Admin, h.factory, factory.ApplyRequest{Files: files.Files},
		); err != nil {
			t.Fatal(err)
		}
		if got := started(old.UID, `{"b": 1}`); got != 1 {
			t.Errorf("from a file: got %d runs", got)
		}
		all, err := h.Automations.List(t.Context(), h.Admin, h.factory)
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range all {
			if a.Name == "filed" && (len(a.Problems) != 1 || a.Problems[0].Pointer != "/triggers/0/filter/webhook_ids/in/1") {
				t.Errorf("problems: %+v", a.Problems)
			}
		}
	})
}

func TestNamesOfResourcesAreFolded(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ label, want string }{
		{"deploy", "deploy"},
		{"  GitHub   Prod ", "github-prod"},
		{"0-x", "0-x"},
		{"", ""},
		{"-x", ""},
		{"a_b", ""},
		{"ä", ""},
		{"a/b", ""},
	} {
		got, ok := factory.ResourceName(test.label)
		if ok != (test.want != "") || ok && got != test.want {
			t.Errorf("%q: got %q (%t), want %q", test.label, got, ok, test.want)
		}
	}
}
