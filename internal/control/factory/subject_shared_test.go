package factory_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/factory"
	"github.com/penstock-dev/penstock/internal/control/store"
	"github.com/penstock-dev/penstock/internal/testkit"
	"github.com/penstock-dev/penstock/internal/testkit/testworld"
)

// sharing is a world whose automations share the runs of their subjects: review starts on opened and pushed, fix on
// failed, and both on reported.
type sharing struct {
	*topics
	uids map[string]string
}

func withShared(t *testing.T, rules factory.SubjectRequest, test func(w *sharing)) {
	t.Helper()
	rules.Subject, rules.SubjectScope = new("{{repo}}#{{pr}}"), new(penstock.SubjectScopeFactory)
	withSubjects(t, rules, func(w *topics) {
		s := &sharing{w, map[string]string{"review": w.automation.UID}}
		s.update("review", factory.AutomationRequest{Triggers: on(`"opened", "pushed", "reported"`)})
		fix, err := s.add("fix", factory.AutomationRequest{SubjectRequest: rules})
		if err != nil {
			w.T.Fatal(err)
		}
		s.uids["fix"] = fix.UID
		test(s)
	})
}

func (w *sharing) add(name string, req factory.AutomationRequest) (penstock.Automation, error) {
	req.Name, req.Prompt, req.Triggers = &name, new("Do "+name+"."), on(`"failed", "reported"`)
	return w.Resources.CreateAutomation(w.T.Context(), w.Admin, w.factory, req)
}

func (w *sharing) update(name string, req factory.AutomationRequest) {
	w.T.Helper()
	if _, err := w.Resources.UpdateAutomation(w.T.Context(), w.Admin, w.factory, w.uids[name], req); err != nil {
		w.T.Fatal(err)
	}
}

// become returns what became of deliveries for an automation.
func (w *sharing) become(name string, ids ...string) string {
	w.T.Helper()
	var words []string
	for _, id := range ids {
		d, err := w.Deliveries.Read(w.T.Context(), w.Admin, w.factory, w.webhook.UID, id)
		if err != nil {
			w.T.Fatal(err)
		}
		for _, m := range d.Matches {
			if m.UID == w.uids[name] {
				words = append(words, string(m.Fate))
			}
		}
	}
	return strings.Join(words, " ")
}

// next ends a turn, waits until all is quiet, and returns the next one of the same run.
func (w *sharing) next(a penstock.Assignment) penstock.Assignment {
	w.T.Helper()
	w.Finish(a.Lease, penstock.Result{State: penstock.StateSucceeded})
	w.after(time.Hour)
	w.MustBe(a.Lease.RunID, penstock.StateQueued)
	again := w.Work()
	if again.Lease.RunID != a.Lease.RunID || len(again.Prompts) != 1 {
		w.T.Fatalf("the next turn is %+v", again)
	}
	return again
}

func (w *sharing) wantPrompt(a penstock.Assignment, text string, numbers ...string) {
	w.T.Helper()
	if p := a.Prompts[0]; !strings.HasPrefix(p.Text, text) || !slices.Equal(w.bodies(a.Lease, p), numbers) {
		w.T.Errorf("the prompt has the events %v and the text %q", w.bodies(a.Lease, p), p.Text)
	}
}

func TestAutomationsShareTheRunOfASubject(t *testing.T) {
	withShared(t, factory.SubjectRequest{}, func(w *sharing) {
		opened, failed, pushed := w.act("opened", 1), w.act("failed", 2), w.act("pushed", 3)
		a := w.Work() // its first prompt is review's, so failed waits for a turn of its own
		w.wantPrompt(a, "Review it.", "1", "3")
		more := []string{w.act("pushed", 4), w.act("failed", 5), w.act("pushed", 6)}
		second := w.next(a)
		w.wantPrompt(second, "Do fix.", "2", "5")
		third := w.next(second)
		w.wantPrompt(third, "Review it.", "4", "6")
		w.Finish(third.Lease, penstock.Result{State: penstock.StateSucceeded})
		w.after(time.Hour)
		w.MustBe(a.Lease.RunID, penstock.StateSucceeded)
		runs := w.runs()
		if len(runs) != 1 || runs[0].EventsCount != 6 || runs[0].Metadata["automation_id"] != w.uids["review"] {
			t.Errorf("the runs are %+v", runs)
		}
		if got := w.become("review", opened, pushed, more[0], more[2]); got != "started merged_into continued continued" {
			t.Errorf("for review the deliveries are %s", got)
		}
		if got := w.become("fix", failed, more[1]); got != "continued continued" {
			t.Errorf("for fix the deliveries are %s", got)
		}
		for name, uid := range w.uids {
			page, err := w.Subjects.List(t.Context(), w.Admin, factory.SubjectQuery{AutomationUID: uid})
			if err != nil || len(page.Subjects) != 1 {
				t.Errorf("the subjects of %s are %+v, %v", name, page.Subjects, err)
			}
		}
	})
}

// Each automation has its own fate of a delivery, and the run gets it with the prompt of each.
func TestOneDeliveryForTwoAutomationsThatShareASubject(t *testing.T) {
	withShared(t, factory.SubjectRequest{}, func(w *sharing) {
		both := w.act("reported", 1)
		a := w.Work()
		first := slices.Collect(maps.Keys(w.uids))[0]
		for _, name := range []string{"review", "fix"} {
			if w.become(name, both) == "started" {
				first = name
			}
		}
		other := map[string]string{"review": "fix", "fix": "review"}[first]
		if got := w.become(first, both) + " " + w.become(other, both); got != "started waiting" {
			t.Fatalf("the delivery is %s", got)
		}
		w.wantPrompt(w.next(a), map[string]string{"fix": "Do fix.", "review": "Review it."}[other], "1")
		page, err := w.Schedules.Occurrences(t.Context(), w.Admin, store.OccurrenceQuery{
			Kind: store.OccurrenceDelivery,
		})
		got := map[string]string{}
		for _, o := range page.Occurrences {
			got[o.AutomationUID] = fmt.Sprint(o.Fate, o.RunIDs)
		}
		want := map[string]string{
			w.uids[first]: fmt.Sprint("started", []string{a.Lease.RunID}),
			w.uids[other]: fmt.Sprint("continued", []string{a.Lease.RunID}),
		}
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("occurrences (-want +got), %v:\n%s", err, diff)
		}
	})
}

// What ends the events of one automation leaves the others'.
func TestOneAutomationStopsWhileAnotherSharesItsSubjects(t *testing.T) {
	for name, stop := range map[string]func(w *sharing){
		"disabled": func(w *sharing) { w.update("fix", factory.AutomationRequest{Enabled: new(false)}) },
		"deleted": func(w *sharing) {
			if err := w.Resources.DeleteAutomation(w.T.Context(), w.Admin, w.factory, w.uids["fix"]); err != nil {
				w.T.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			withShared(t, factory.SubjectRequest{}, func(w *sharing) {
				w.act("opened", 1)
				a := w.Work()
				failed, pushed, both := w.act("failed", 2), w.act("pushed", 3), w.act("reported", 4)
				stop(w)
				w.Finish(a.Lease, penstock.Result{State: penstock.StateSucceeded})
				w.after(time.Hour)
				w.after(time.Hour)
				w.wantPrompt(w.Work(), "Review it.", "3", "4")
				if got := w.become("fix", failed, both); got != "skipped skipped" {
					t.Errorf("for fix the deliveries are %s", got)
				}
				if got := w.become("review", pushed, both); got != "continued continued" {
					t.Errorf("for review the deliveries are %s", got)
				}
				if got := testkit.Rows(w.T, w.URL, "SELECT sum(runs) FROM deliveries"); got[0][0] != "3" {
					t.Errorf("the payloads are held %s times, want 3", got[0][0])
				}
			})
		})
	}
}

// A run that failed is followed by one of the automation whose event waits longest; the other one's follow in it.
func TestSharedEventsOutliveTheRun(t *testing.T) {
	withShared(t, factory.SubjectRequest{}, func(w *sharing) {
		w.act("opened", 1)
		a := w.Work()
		w.act("failed", 2)
		w.act("pushed", 3)
		w.act("failed", 4)
		w.Finish(a.Lease, penstock.Result{State: penstock.StateFailed})
		w.after(time.Hour)
		b := w.Work()
		if run := w.Get(b.Lease.RunID); run.ContinuesID != a.Lease.RunID || run.Metadata["automation_id"] != w.uids["fix"] {
			t.Fatalf("the next run is %+v", run)
		}
		w.wantPrompt(b, "Do fix.", "2", "4")
		w.wantPrompt(w.next(b), "Review it.", "3")
		if runs := w.runs(); len(runs) != 2 {
			t.Errorf("%d runs were started, want 2", len(runs))
		}
	})
}

func TestAnAutomationClosesTheSubjectForAllThatShareIt(t *testing.T) {
	withShared(t, factory.SubjectRequest{}, func(w *sharing) {
		w.update("fix", factory.AutomationRequest{SubjectRequest: factory.SubjectRequest{
			Closes: on(`"closed"`), ClosesRun: new(true),
		}})
		w.act("opened", 1)
		a := w.Work()
		waits := []string{w.act("pushed", 2), w.act("reported", 3)}
		w.act("closed", 4)
		if got := w.become("review", waits...) + " " + w.become("fix", waits[1]); got != "skipped skipped skipped" {
			t.Errorf("the deliveries are %s", got)
		}
		if got := testkit.Rows(w.T, w.URL, "SELECT sum(runs) FROM deliveries"); got[0][0] != "1" {
			t.Errorf("%s runs and events hold payloads, want the run alone", got[0][0])
		}
		w.after(0)
		w.MustBe(a.Lease.RunID, penstock.StateCancelled)
	})
}

// An event replaces only events of its own automation, whose prompt it has.
func TestReplaceAmongAutomationsThatShareASubject(t *testing.T) {
	withShared(t, factory.SubjectRequest{WhenBusy: new(penstock.WhenBusyReplace)}, func(w *sharing) {
		w.act("opened", 1)
		w.Work()
		pushed, failed := []string{w.act("pushed", 2), w.act("pushed", 3)}, []string{w.act("failed", 4), w.act("failed", 5)}
		if got := w.become("review", pushed...); got != "superseded waiting" {
			t.Errorf("for review the deliveries are %s", got)
		}
		if got := w.become("fix", failed...); got != "superseded waiting" {
			t.Errorf("for fix the deliveries are %s", got)
		}
	})
}

// A follow-up in a run of another automation is a start that somebody expected.
func TestAContinuedRunOfAnotherAutomationEndsASilence(t *testing.T) {
	withShared(t, factory.SubjectRequest{}, func(w *sharing) {
		w.update("fix", factory.AutomationRequest{HealthRequest: expecting("3h")})
		w.update("review", factory.AutomationRequest{HealthRequest: expecting("3h")})
		w.act("opened", 1)
		a := w.Work()
		w.act("failed", 2)
		testkit.Exec(w.T, w.URL, "UPDATE runs SET created_at = 1, updated_at = 1")
		testkit.Exec(w.T, w.URL, "UPDATE subject_events SET decided_at = 1 WHERE fate = 'started'")
		testkit.Exec(w.T, w.URL, fmt.Sprintf("UPDATE health SET fired_at = %d", penstock.Now().Add(-2*time.Hour)))
		w.next(a) // in an hour
		testkit.Exec(w.T, w.URL, "UPDATE runs SET created_at = 1, updated_at = 1")
		if err := w.Executions.AnnounceSilence(t.Context(), penstock.Now().Add(time.Hour+time.Second)); err != nil {
			t.Fatal(err)
		}
		silent := map[string]bool{}
		for name, uid := range w.uids {
			got, err := w.Automations.Read(t.Context(), w.Admin, w.factory, uid)
			if err != nil {
				t.Fatal(err)
			}
			silent[name] = got.Silent != nil
		}
		if diff := cmp.Diff(map[string]bool{"review": true, "fix": false}, silent); diff != "" {
			t.Errorf("silent (-want +got):\n%s", diff)
		}
	})
}

func TestSharedEventsAtTheSameTimeMakeOneRun(t *testing.T) {
	withShared(t, factory.SubjectRequest{}, func(w *sharing) {
		var deliveries sync.WaitGroup
		for n := range 12 {
			deliveries.Go(func() { w.act([]string{"pushed", "failed", "reported"}[n%3], 1+n) })
		}
		deliveries.Wait()
		if runs := w.runs(); len(runs) != 1 {
			t.Fatalf("%d runs were started, want 1", len(runs))
		}
		a := w.Work()
		given := len(a.Prompts[0].Files)
		if given == 0 {
			given = 1 // its only event is event-payload.json
		}
		for given < 16 {
			a = w.next(a)
			given += len(a.Prompts[0].Files)
		}
		if given != 16 {
			t.Errorf("the run was given %d events, want 16", given)
		}
	})
}

// Automations that differ in what a run may know or reach cannot share one.
func TestAutomationsThatDifferShareNoSubject(t *testing.T) {
	withShared(t, factory.SubjectRequest{}, func(w *sharing) {
		shared := factory.SubjectRequest{Subject: new("{{pr}}"), SubjectScope: new(penstock.SubjectScopeFactory)}
		w.CreateSecret("DEPLOY_KEY", "hunter2")
		w.apply(with(
			with(w.files().Files, "agents/other/agent.md", "---\ndescription: other\n---\nDo it.\n"),
			"runners/wide.yaml", "platform: {os: linux, linux: {dockerImage: x}}\nnetwork: {allow: [{host: in.example.com}]}\n",
		))
		env := w.CreateEnvironment(penstock.EnvironmentConfig{Name: "open"})
		for name, req := range map[string]factory.AutomationRequest{
			"agent":       {Agent: new("other")},
			"secrets":     {Secrets: &[]string{"DEPLOY_KEY"}},
			"environment": {EnvironmentID: &env.UID},
			"runner":      {RunnerID: new("wide")},
			"worker host": {LayerKeysRequest: factory.LayerKeysRequest{WorkerHost: new("h1")}},
			"forge": {LayerKeysRequest: factory.LayerKeysRequest{Forge: &penstock.ForgeSettings{
				Push: &penstock.PushSettings{Secrets: "off"},
			}}},
			"repositories": {Repositories: &[]penstock.RunRepository{{URL: "https://git.example.com/a/b"}}},
			"servers":      {MCPServers: &map[string]penstock.MCPServer{"x": {URL: "https://mcp.example.com"}}},
		} {
			req.SubjectRequest = shared
			_, err := w.add(name, req)
			testworld.WantField(w.T, err, "/subject_scope")
			req.SubjectScope = new(penstock.SubjectScopeAutomation)
			if _, err = w.add(name, req); err != nil {
				w.T.Errorf("alone, %s: %v", name, err)
			}
		}
		defaults := &penstock.ForgeSettings{Push: &penstock.PushSettings{Secrets: "refuse"}}
		if _, err := w.add("same", factory.AutomationRequest{
			SubjectRequest: shared, MCPServers: &map[string]penstock.MCPServer{}, Repositories: &[]penstock.RunRepository{},
			LayerKeysRequest: factory.LayerKeysRequest{Forge: defaults},
		}); err != nil {
			w.T.Errorf("an automation that is equal: %v", err)
		}
		for _, req := range []factory.SubjectRequest{
			{SubjectScope: new(penstock.SubjectScopeFactory)},
			{Subject: new("{{pr}}"), SubjectScope: new(penstock.SubjectScope("team"))},
		} {
			_, err := w.add("wrong", factory.AutomationRequest{SubjectRequest: req})
			testworld.WantField(w.T, err, "/subject_scope")
		}
		files := w.files()
		files.Files["automations/leaky.md"] = "---\ntriggers:\n  - provider: github\n    event: pull_request_opened\n" +
			"subject: auto\nsubjectScope: factory\nsecrets: [DEPLOY_KEY]\n---\nGo.\n"
		_, err := w.Factories.Apply(w.T.Context(), w.Admin, w.factory, factory.ApplyRequest{Files: files.Files})
		found := testworld.Findings(err)
		if len(found) != 2 || !strings.Contains(found[1].Message, `automation "fix" has other secrets`) {
			w.T.Errorf("the findings are %+v, %v", found, err)
		}
	})
}

// A run keeps the secrets that it began with, so events of an automation that has lost or never had them start another
// run.
func TestAnEditGivesNoEventTheSecretsOfAnotherAutomation(t *testing.T) {
	for name, leave := range map[string]func(w *sharing){
		"shares no longer": func(w *sharing) {
			w.update("review", factory.AutomationRequest{
				SubjectRequest: factory.SubjectRequest{SubjectScope: new(penstock.SubjectScopeAutomation)},
			})
		},
		"deleted": func(w *sharing) {
			if err := w.Resources.DeleteAutomation(w.T.Context(), w.Admin, w.factory, w.uids["review"]); err != nil {
				w.T.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			withShared(t, factory.SubjectRequest{}, func(w *sharing) {
				w.CreateSecret("DEPLOY_KEY", "hunter2")
				files := w.files().Files
				for _, name := range []string{"review", "fix"} {
					path := "automations/" + name + "/automation.md"
					files = with(files, path, strings.Replace(files[path], "---\n", "---\nsecrets: [DEPLOY_KEY]\n", 1))
				}
				w.apply(files)
				w.act("opened", 1)
				a := w.Work()
				leave(w)
				during := w.act("failed", 2)
				w.update("fix", factory.AutomationRequest{Prompt: new("Fix it.")})
				a = w.next(a) // what the automations know is still the same
				w.wantPrompt(a, "Fix it.", "2")
				w.update("fix", factory.AutomationRequest{Secrets: &[]string{}})
				waits := w.act("failed", 3)
				testkit.Exec(w.T, w.URL, "UPDATE subjects SET due_at = 1") // at the end of the turn
				w.Finish(a.Lease, penstock.Result{State: penstock.StateSucceeded})
				w.MustBe(a.Lease.RunID, penstock.StateSucceeded)
				w.after(time.Hour)
				b := w.Work()
				if b.Lease.RunID == a.Lease.RunID || b.Secrets["DEPLOY_KEY"] != "" || len(a.Secrets) == 0 {
					w.T.Errorf("the event of fix reaches run %s, and the secrets are %v", b.Lease.RunID, b.Secrets)
				}
				if got := w.become("fix", during, waits); got != "continued started" {
					w.T.Errorf("for fix the deliveries are %s", got)
				}
				if got := w.Get(b.Lease.RunID).ContinuesID; got != a.Lease.RunID {
					w.T.Errorf("the run continues %q", got)
				}
			})
		})
	}
}

// Events that come one by one for one automation, and together for another, on one subject.
func TestEachAutomationThatSharesASubjectHasItsOwnWhenBusy(t *testing.T) {
	withShared(t, factory.SubjectRequest{WhenBusy: new(penstock.WhenBusyQueue)}, func(w *sharing) {
		w.update("fix", factory.AutomationRequest{
			SubjectRequest: factory.SubjectRequest{WhenBusy: new(penstock.WhenBusyCoalesce)},
		})
		w.act("opened", 1)
		a := w.Work()
		for n, what := range []string{"pushed", "pushed", "failed", "failed"} {
			w.act(what, 2+n)
		}
		a = w.next(a)
		w.wantPrompt(a, "Review it.", "2")
		a = w.next(a)
		w.wantPrompt(a, "Review it.", "3")
		w.wantPrompt(w.next(a), "Do fix.", "4", "5")
	})
}
