package examples_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/factory"
	"github.com/penstock-dev/penstock/internal/control/run"
	"github.com/penstock-dev/penstock/internal/testkit"
)

// timeout is for runs on a machine that does much else.
const timeout = 2 * time.Minute

// world is the server on which the examples are.
type world struct {
	*testkit.Server

	database string
}

// setUp copies the example to where its commands may write, and saves what its
// reader has to bring along.
func (ex example) setUp(t *testing.T) (folder string) {
	t.Helper()
	folder = t.TempDir()
	if err := os.CopyFS(folder, os.DirFS(ex.folder)); err != nil {
		t.Fatal(err)
	}
	for name, content := range ex.files {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(content+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

// follow types the commands of the README into one shell, and looks for what
// they are to show, in this order.
func (w *world) follow(t *testing.T, folder string, shows []string) {
	t.Helper()
	readme, err := os.ReadFile(filepath.Join(folder, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	var commands strings.Builder
	for _, block := range regexp.MustCompile("(?s)\n```sh\n(.*?)```\n").FindAllSubmatch(readme, -1) {
		commands.Write(block[1])
	}
	if prose := strings.ReplaceAll(string(readme), commands.String(), ""); commands.Len() == 0 ||
		strings.Contains(prose, "    penstock ") {
		t.Fatal("the README has no commands, or some of them in a block that is not ```sh")
	}
	shell := exec.CommandContext(t.Context(), "bash", "-euo", "pipefail", "-c", commands.String())
	shell.Dir = folder
	shell.Env = []string{
		"PATH=" + filepath.Dir(testkit.Binary(t)) + ":" + os.Getenv("PATH"), "HOME=" + t.TempDir(),
		"PENSTOCK_BASE_URL=" + w.URL, "PENSTOCK_API_KEY=" + w.Key,
	}
	out, err := shell.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	rest := string(out)
	for _, want := range shows {
		_, after, found := strings.Cut(rest, want)
		if !found {
			t.Fatalf("%q is missing in what comes after\n%s\nthe whole:\n%s", want, rest, out)
		}
		rest = after
	}
}

// read gets a response of the API. It returns the body if into is nil.
func (w *world) read(t *testing.T, path string, into any) []byte {
	t.Helper()
	got := testkit.Request(t, http.MethodGet, w.URL+"/api/v1/"+path, testkit.Bearer(w.Key), "")
	if got.Status != http.StatusOK {
		t.Fatalf("GET %s: %d: %s", path, got.Status, got.Body)
	}
	if into != nil {
		if err := json.Unmarshal(got.Body, into); err != nil {
			t.Fatalf("GET %s: %v: %s", path, err, got.Body)
		}
	}
	return got.Body
}

// factory is the one of an alias.
func (w *world) factory(t *testing.T, alias string) penstock.Factory {
	t.Helper()
	var page factory.Page
	w.read(t, "factory?search="+alias, &page)
	if len(page.Factories) != 1 {
		t.Fatalf("got %d factories with the alias %s, want 1", len(page.Factories), alias)
	}
	return page.Factories[0]
}

// webhook is the one of a name.
func (w *world) webhook(t *testing.T, f penstock.Factory, name string) (path string, hook penstock.Webhook) {
	t.Helper()
	var list struct {
		Webhooks []penstock.Webhook `json:"webhooks"`
	}
	w.read(t, "factory/"+f.UID+"/webhooks", &list)
	for _, hook := range list.Webhooks {
		if hook.Name == name {
			return "factory/" + f.UID + "/webhooks/" + hook.UID, hook
		}
	}
	t.Fatalf("there is no webhook %s", name)
	return "", penstock.Webhook{}
}

// automation is the one of a name.
func (w *world) automation(t *testing.T, f penstock.Factory, name string) penstock.Automation {
	t.Helper()
	var list struct {
		Automations []penstock.Automation `json:"automations"`
	}
	w.read(t, "factory/"+f.UID+"/automations", &list)
	for _, a := range list.Automations {
		if a.Name == name {
			if len(a.Problems) > 0 {
				t.Errorf("the automation %s has the problems %v", name, a.Problems)
			}
			return a
		}
	}
	t.Fatalf("there is no automation %s", name)
	return penstock.Automation{}
}

// runs are those that a query finds.
func (w *world) runs(t *testing.T, query url.Values) []penstock.Run {
	t.Helper()
	var page run.Page
	w.read(t, "agent/runs?"+query.Encode(), &page)
	return page.Runs
}

// wantRun looks for the one run that a webhook has started: by which agent and
// automation, with which prompt and payload.
func (w *world) wantRun(t *testing.T, f penstock.Factory, folder string, want started) {
	t.Helper()
	path, hook := w.webhook(t, f, want.webhook)
	a := w.automation(t, f, want.automation)
	runs := w.runs(t, url.Values{"webhook_uid": {hook.UID}})
	if len(runs) != 1 {
		t.Fatalf("the webhook %s has started %d runs, want 1", want.webhook, len(runs))
	}
	run := w.succeeds(t, runs[0].ID)
	if run.Executor == nil || run.Executor.DisplayName != want.agent || run.Source != "WEBHOOK" ||
		run.FactoryUID != f.UID {
		t.Errorf(
			"got a run of %+v from %s in factory %s, want one of %s from WEBHOOK in %s", run.Executor, run.Source,
			run.FactoryUID, want.agent, f.UID,
		)
	}
	if run.Metadata["automation_id"] != a.UID || !strings.HasPrefix(run.Prompt, a.Prompt+"\n") ||
		!strings.Contains(run.Prompt, "event-payload.json") {
		t.Errorf(
			"got the prompt %q of the automation %s, want that of %s and the envelope", run.Prompt,
			run.Metadata["automation_id"], want.automation,
		)
	}
	body, err := os.ReadFile(filepath.Join(folder, want.sample))
	if err != nil {
		t.Fatal(err)
	}
	if got := w.read(t, path+"/deliveries/"+run.Metadata["delivery_id"]+"/payload", nil); !bytes.Equal(got, body) {
		t.Errorf("the payload differs from %s:\n%s", want.sample, cmp.Diff(string(body), string(got)))
	}
	w.wantRead(t, run, body)
}

// wantRead looks for what the agent has read of its event-payload.json.
func (w *world) wantRead(t *testing.T, run penstock.Run, body []byte) {
	t.Helper()
	conversation := string(w.read(t, "agent/runs/"+run.ID+"/conversation", nil))
	for line := range strings.Lines(string(body)) {
		quoted, err := json.Marshal(strings.TrimSpace(line))
		if err != nil {
			t.Fatal(err)
		}
		if text := string(quoted[1 : len(quoted)-1]); !strings.Contains(conversation, text) {
			t.Fatalf("the agent has not read the line %s of its payload: %s", text, conversation)
		}
	}
}

// succeeds waits for the end of a run.
func (w *world) succeeds(t *testing.T, id string) (run penstock.Run) {
	t.Helper()
	testkit.Eventually(t, timeout, func() error {
		w.read(t, "agent/runs/"+id, &run)
		if run.State != penstock.StateSucceeded {
			return fmt.Errorf("the run is %s: %+v", run.State, run.StatusMessage)
		}
		return nil
	})
	return run
}

// wantLog compares the log of a webhook, which says why nothing was started.
func (w *world) wantLog(t *testing.T, f penstock.Factory, webhook string, want []entry) {
	t.Helper()
	path, _ := w.webhook(t, f, webhook)
	var page factory.DeliveryPage
	w.read(t, path+"/deliveries", &page)
	var got []entry
	for _, d := range page.Deliveries {
		e := entry{outcome: d.Outcome}
		for _, m := range d.Matches {
			if m.FailedAt != nil {
				e.failedAt = *m.FailedAt
			}
		}
		got = append(got, e)
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(entry{})); diff != "" {
		t.Errorf("the log of %s (-want +got):\n%s", webhook, diff)
	}
}

// wantNightly lets the time of the schedule come.
func (w *world) wantNightly(t *testing.T, f penstock.Factory) {
	t.Helper()
	a := w.automation(t, f, "nightly")
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	next := a.Triggers[0].Schedule.NextRun
	if at := next.Std().In(berlin); at.Format("15:04") != "02:30" || at.Weekday() == time.Saturday ||
		at.Weekday() == time.Sunday {
		t.Errorf("the next run is at %s, want 02:30 of a working day", at)
	}
	mine := url.Values{"automation_id": {a.UID}}
	if runs := w.runs(t, mine); len(runs) != 0 {
		t.Fatalf("got %d runs before the time has come", len(runs))
	}
	testkit.Exec(
		t, w.database,
		fmt.Sprintf("UPDATE automation_clocks SET next_at = %d WHERE automation_uid = '%s'", penstock.Now(), a.UID),
	)
	testkit.Eventually(t, timeout, func() error {
		if runs := w.runs(t, mine); len(runs) != 1 {
			return fmt.Errorf("%d runs, want 1", len(runs))
		}
		return nil
	})
	run := w.succeeds(t, w.runs(t, mine)[0].ID)
	if run.Source != "SCHEDULED_AGENT" || run.Executor.DisplayName != "auditor" || run.Prompt != a.Prompt {
		t.Errorf("got a run from %s of %s with the prompt %q", run.Source, run.Executor.DisplayName, run.Prompt)
	}
	clock := w.automation(t, f, "nightly").Triggers[0].Schedule
	if clock.NextRun != next || clock.LastRun == 0 || clock.LastError != "" {
		t.Errorf("got %+v, want the next run at %s again", clock, next)
	}
	dispatched := slices.DeleteFunc(
		w.runs(t, url.Values{"factory_uid": {f.UID}}), func(r penstock.Run) bool { return r.ID == run.ID },
	)
	if len(dispatched) != 1 || dispatched[0].Executor.DisplayName != "auditor" ||
		!strings.Contains(dispatched[0].Prompt, "Audit the dependencies once") {
		t.Errorf("got %d runs beside the one by the clock, want that which the README dispatches", len(dispatched))
	}
}
