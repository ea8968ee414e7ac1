package main_test

import (
	"archive/tar"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/run"
	"github.com/penstock-dev/penstock/internal/execution/worker"
	"github.com/penstock-dev/penstock/internal/testkit"
	"github.com/penstock-dev/penstock/skills"
)

// over waits for the end of a run.
func (h *hooked) over(id string) penstock.Run {
	h.t.Helper()
	var run penstock.Run
	testkit.Eventually(h.t, timeout, func() error {
		if h.ask(http.MethodGet, "/agent/runs/"+id, nil, http.StatusOK, &run); !run.State.Done() {
			return fmt.Errorf("the run is %s (%+v)", run.State, run.StatusMessage)
		}
		return nil
	})
	if run.State != penstock.StateSucceeded {
		h.t.Fatalf("the run is %s: %+v", run.State, run.StatusMessage)
	}
	return run
}

// run creates a run and waits for its end.
func (h *hooked) run(body map[string]any) penstock.Run {
	h.t.Helper()
	var created run.Created
	h.ask(http.MethodPost, "/agent/runs", body, http.StatusOK, &created)
	return h.over(created.ID)
}

// records returns everything that is recorded about a run, as one text.
func (h *hooked) records(run penstock.Run) string {
	h.t.Helper()
	var all strings.Builder
	for _, path := range []string{"", "/conversation", "/timeline", "/events", "/transcript"} {
		all.Write(h.ask(http.MethodGet, "/agent/runs/"+run.ID+path, nil, http.StatusOK, nil).body)
	}
	return all.String()
}

// A delivery starts a run of an automation. The run has the secrets of its agent and its factory
// and no others, and no record contains a value.
func TestFactoryGrantsSecretsAndSkillsToItsRuns(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, database string) {
		h := &hooked{Server: testkit.Serve(t, testkit.ServeOptions{Database: database}), t: t}
		for _, name := range []string{"HOOK_OF_CI", "EVERY", "DEPLOY", "BILLING"} {
			h.ask(
				http.MethodPost, "/secrets", map[string]string{"name": name, "value": "value-of-" + strings.ToLower(name)},
				http.StatusCreated, nil,
			)
		}
		automation := func(agent, more, prompt string) string {
			return "---\nagent: " + agent + "\n" + more +
				"triggers: [{provider: webhook, event: received, filter: {webhook_ids: [ci]}}]\n---\n" + prompt + "\n"
		}
		look := "demo: run env | sort; echo E${#EVERY} D${#DEPLOY} B${#BILLING}; ls .penstock/skills\ndemo: read_skill deploy"
		var f penstock.Factory
		h.ask(http.MethodPost, "/factory", map[string]any{"files": map[string]string{
			"factory.yaml": "schemaVersion: v1alpha1\nname: acme\nsecrets: [EVERY]\nagentDefaults: " +
				"{model: auto, secrets: [DEPLOY]}\n",
			"agents/lead/agent.md":                  "---\nagentType: FOREMAN\n---\nLead.\n",
			"agents/clerk/agent.md":                 "---\nsecrets: [BILLING]\n---\nCount.\n",
			"agents/clerk/skills/deploy/SKILL.md":   "---\nname: deploy\ndescription: d\n---\nClerks do not deploy.\n",
			"skills/deploy/SKILL.md":                "---\nname: deploy\ndescription: d\n---\nDeploy with care.\n",
			"webhooks/ci.yaml":                      "secretName: HOOK_OF_CI\n",
			"automations/leads/automation.md":       automation("lead", "", look),
			"automations/counts/automation.md":      automation("clerk", "", look),
			"automations/trusts-none/automation.md": automation("clerk", "secrets: []\n", look),
		}}, http.StatusCreated, &f)
		h.factory = f.UID
		var hooks struct{ Webhooks []penstock.Webhook }
		h.ask(http.MethodGet, h.path()+"/webhooks", nil, http.StatusOK, &hooks)
		if got := newSender(t).post(
			h.url(hooks.Webhooks[0]), map[string]string{"Authorization": "Bearer value-of-hook_of_ci"}, `{}`,
		); got.status != http.StatusAccepted {
			t.Fatalf("the delivery: got %d %s", got.status, got.body)
		}
		runs := h.runs(hooks.Webhooks[0])
		want := map[string][]string{
			"leads": {"E14 D15 B0", "Deploy with care."}, "counts": {"E14 D0 B16", "Clerks do not deploy."},
			"trusts-none": {"E14 D0 B0", "Clerks do not deploy."},
		}
		if len(runs) != len(want) {
			t.Fatalf("got %d runs, want %d", len(runs), len(want))
		}
		for _, run := range runs {
			h.over(run.ID)
			records := h.records(run)
			for _, text := range append(want[run.Title], `\"skill_path\":\".penstock/skills/deploy/SKILL.md\"`) {
				if !strings.Contains(records, text) && !strings.Contains(records, strings.ReplaceAll(text, `\"`, `"`)) {
					t.Errorf("%s: the records do not hold %s", run.Title, text)
				}
			}
			if at := strings.Index(records, "value-of-"); at >= 0 {
				t.Errorf("%s: a secret is in …%s…", run.Title, records[max(0, at-100):at+20])
			}
		}
		got := send(t, h.Server, http.MethodDelete, "/secrets/EVERY", "")
		if got.status != http.StatusConflict || !strings.Contains(string(got.body), `the factory \"acme\"`) {
			t.Errorf("a secret that only factory.yaml names: got %d %s", got.status, got.body)
		}
	})
}

// A bundled skill is found by its id, and its commands work.
func TestBundledSkillsWork(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, database string) {
		h := serveHooks(t, testkit.ServeOptions{Database: database})
		var list struct{ Skills []penstock.BundledSkill }
		h.ask(http.MethodGet, "/agent/bundled-skills", nil, http.StatusOK, &list)
		if diff := cmp.Diff(skills.Catalog(), list.Skills); diff != "" {
			t.Errorf("catalog (-want +got):\n%s", diff)
		}
		run := h.run(map[string]any{
			"skill": "factory-files",
			"prompt": "demo: run \"$PENSTOCK_CLI\" factory validate .penstock/skills/factory-files/example\ndemo: read_skill " +
				"factory-files",
		})
		want := &penstock.Skill{Name: "factory-files", BundledID: "factory-files"}
		if want.Description = run.Skill.Description; cmp.Diff(want, run.Skill) != "" || run.Config.Name != "factory-files" ||
			want.Description == "" {
			t.Errorf("the run %q came from %+v", run.Config.Name, run.Skill)
		}
		records := h.records(run)
		for _, want := range []string{
			"is valid: 9 files", `"bundled_skill_id":"factory-files"`, `"skill_path":".penstock/skills/factory-files/SKILL.md"`,
		} {
			if !strings.Contains(records, want) {
				t.Errorf("the records do not hold %s", want)
			}
		}
	})
}

// A worker on another machine gets skills and runner with its assignment, and runs in the runner's
// image. It reports the end of the sandbox of a cancelled run.
func TestRemoteWorkerGetsTheSettingsOfTheFactory(t *testing.T) {
	t.Parallel()
	h := &hooked{Server: testkit.Serve(t, testkit.ServeOptions{Args: []string{"--no-worker"}}), t: t}
	registry := testkit.NewTLSRegistry(t)
	authority := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(authority, registry.CA, 0o600); err != nil {
		t.Fatal(err)
	}
	startWorker(t, h.Server, "--host", "box", "--private-network", "127.0.0.0/8", "--ca-file", authority)
	registry.Username, registry.Password = "bot", "registry-password"
	h.ask(
		http.MethodPost, "/secrets", map[string]any{
			"name": "REGISTRY", "value": "bot:registry-password", "hosts": []string{registry.Host},
		},
		http.StatusCreated, nil,
	)
	digest := registry.Push(t, "tools", nil, testkit.HostImage(t, "sh", "cat", "sleep"), []testkit.ImageFile{
		{Header: tar.Header{Name: "opt/only-here"}, Content: "from the image"},
	})
	_, arch, _ := strings.Cut(worker.Platform(runtime.GOOS, runtime.GOARCH), "/")
	other := map[string]string{"x86_64": "aarch64", "aarch64": "x86_64"}[arch]
	runner := func(arch string) string {
		return "setupCommands: [echo prepared > state]\nplatform: {arch: " + arch + ", linux: {dockerImage: '" +
			registry.Host + "/tools', registryCredentialSecretName: REGISTRY}}\n"
	}
	var f penstock.Factory
	h.ask(http.MethodPost, "/factory", map[string]any{"files": map[string]string{
		"factory.yaml":         "schemaVersion: v1alpha1\nname: acme\nagentDefaults: {model: auto, runner: here}\n",
		"runners/here.yaml":    runner(arch),
		"runners/other.yaml":   runner(other),
		"agents/lead/agent.md": "---\nagentType: FOREMAN\n---\nLead.\n",
		"skills/tidy/SKILL.md": "---\nname: tidy\ndescription: d\n---\nTidy up.\n",
	}}, http.StatusCreated, &f)
	run := h.run(map[string]any{
		"prompt": "demo: run cat state /opt/only-here; \"$PENSTOCK_CLI\" factory validate " +
			".penstock/skills/factory-files/example\ndemo: read_skill tidy",
		"agent_identity_uid": f.ForemanUID,
		"config":             map[string]any{"skills": []string{"factory-files"}},
	})
	records := h.records(run)
	for _, want := range []string{
		"prepared", "from the image", "is valid: 9 files", "Tidy up.", `"event_type":"image_ready"`, digest,
	} {
		if !strings.Contains(records, want) {
			t.Errorf("the records do not hold %s", want)
		}
	}
	if strings.Contains(records, registry.Password) {
		t.Error("the records hold the password of the registry")
	}
	start := func(config map[string]any) string {
		var created struct {
			ID string `json:"run_id"`
		}
		h.ask(
			http.MethodPost, "/agent/runs",
			map[string]any{"prompt": "demo: run sleep 600", "agent_identity_uid": f.ForemanUID, "config": config}, http.StatusOK,
			&created,
		)
		return created.ID
	}
	h.ask(http.MethodGet, "/agent/runs/"+start(map[string]any{"runner_id": "other"}), nil, http.StatusOK, &run)
	if want := "Waiting: no connected worker has the platform linux/" + other +
		` of the runner "other".`; run.State != penstock.StateQueued || run.StatusMessage.Message != want {
		t.Errorf("a run for another machine is %s: %+v, want %s", run.State, run.StatusMessage, want)
	}
	id := start(nil)
	testkit.Eventually(t, timeout, func() error { return inState(t, client(h.Server), id, penstock.StateInProgress) })
	h.ask(http.MethodPost, "/agent/runs/"+id+"/cancel", nil, http.StatusOK, nil)
	testkit.Eventually(t, timeout, func() error {
		var timeline struct{ Events []penstock.TimelineEvent }
		h.ask(http.MethodGet, "/agent/runs/"+id+"/timeline", nil, http.StatusOK, &timeline)
		if last := timeline.Events[len(timeline.Events)-1]; last.Type != penstock.TimelineSandboxGone {
			return fmt.Errorf("the timeline ends with %s", last.Type)
		}
		return nil
	})
}

// The commands of svc-platform work unchanged in a run.
func TestCommandsOfThePlatformSkillWork(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("curl"); err != nil && os.Getenv("CI") == "" {
		t.Skip(err)
	}
	h := serveHooks(t, testkit.ServeOptions{Args: []string{"--allow-open-network"}})
	var key penstock.Key
	h.ask(
		http.MethodPost, "/keys", map[string]any{"name": "runs", "scopes": []string{"runs:read", "runs:write"}},
		http.StatusCreated, &key,
	)
	h.ask(http.MethodPost, "/secrets", map[string]string{"name": "TEAM_KEY", "value": key.Key}, http.StatusCreated, nil)
	blocks := regexp.MustCompile("(?ms)^```sh\n(.*?)^```$").FindAllStringSubmatch(
		skills.Files("svc-platform")["SKILL.md"], -1,
	)
	if len(blocks) < 6 {
		t.Fatalf("got %d blocks of commands", len(blocks))
	}
	var started penstock.Run
	for len(blocks) > 0 {
		some := blocks[:min(len(blocks), run.MaxAttachments)]
		blocks = blocks[len(some):]
		started = h.runCommands(some)
	}
	var page run.Page
	h.ask(http.MethodGet, "/agent/runs?ancestor_run_id="+started.ID, nil, http.StatusOK, &page)
	if len(page.Runs) != 1 || page.Runs[0].ParentID != started.ID {
		t.Errorf("got %d runs below the run, want the one that it has started", len(page.Runs))
	}
}

// runCommands runs shell blocks in a run and returns the run.
func (h *hooked) runCommands(blocks [][]string) penstock.Run {
	h.t.Helper()
	prompt, attachments := "demo: write report.md # Report", []penstock.Attachment{}
	for i, block := range blocks {
		name := fmt.Sprintf("%d.sh", i)
		attachments = append(
			attachments, penstock.Attachment{FileName: name, MimeType: "text/x-sh", Data: []byte("set -e\n" + block[1])},
		)
		prompt += "\ndemo: run sh .penstock/attachments/" + name
	}
	run := h.run(
		map[string]any{
			"prompt": prompt, "attachments": attachments, "config": map[string]any{"secrets": []string{"TEAM_KEY"}},
		},
	)
	var c penstock.Conversation
	h.ask(http.MethodGet, "/agent/runs/"+run.ID+"/conversation", nil, http.StatusOK, &c)
	done := 0
	for _, m := range c.Steps[0].Messages {
		for _, b := range m.Content {
			switch {
			case b.Type != penstock.BlockActionResult || b.Name != "run_command":
			case strings.Contains(string(b.Output), `"exit_code":0`):
				done++
			case b.State != penstock.ActionRunning:
				h.t.Errorf("a command failed: %s", b.Output)
			}
		}
	}
	if done != len(blocks) {
		h.t.Errorf("%d of %d blocks are done", done, len(blocks))
	}
	return run
}

// The API lists the skills of repositories, and lists what is wrong with them only on request.
func TestSkillsOfRepositoriesAreListed(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, database string) {
		h := serveHooks(t, testkit.ServeOptions{Database: database, Args: []string{"--allow-local-repositories"}})
		dir := filepath.Join(t.TempDir(), "acme", "app")
		for name, text := range map[string]string{
			".agents/skills/triage/SKILL.md": "---\nname: triage\ndescription: Sorts issues.\n---\nSort.\n",
			".claude/skills/broken/SKILL.md": "---\nname: broken\nSort.\n", // no end of the front matter
			".claude/skills/triage/SKILL.md": "---\nname: triage\ndescription: Another.\n---\nOtherwise.\n",
		} {
			if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		for _, args := range [][]string{
			{"init", "-q", "-b", "main"},
			{"add", "."},
			{"-c", "user.name=t", "-c", "user.email=t@example.com", "commit", "-qm", "all"},
		} {
			cmd := exec.CommandContext(t.Context(), "git", args...)
			cmd.Dir = dir
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("git %v: %v\n%s", args, err, out)
			}
		}
		var e penstock.Environment
		h.ask(
			http.MethodPost, "/agent/environments",
			map[string]any{"name": "app", "repos": []map[string]string{{"url": "file://" + dir}}}, http.StatusCreated, &e,
		)
		listed := func(query string) map[string][]string {
			var response struct{ Agents []run.AgentSkillItem }
			h.ask(http.MethodGet, "/agent?"+query, nil, http.StatusOK, &response)
			got := map[string][]string{}
			for _, item := range response.Agents {
				for _, v := range item.Variants {
					text := v.ID + " " + v.Description
					if v.Error != "" {
						text = v.ID + " !"
					}
					got[item.Name] = append(got[item.Name], text)
					if v.Error == "" && (v.BasePrompt == "" || v.Source.Owner != "acme" || v.Source.Name != "app" ||
						len(v.Environments) != 1 || v.Environments[0].UID != e.UID) {
						t.Errorf("got %+v", v)
					}
				}
			}
			return got
		}
		good := map[string][]string{
			"triage": {
				"acme/app:.agents/skills/triage/SKILL.md Sorts issues.", "acme/app:.claude/skills/triage/SKILL.md Another.",
			},
		}
		if diff := cmp.Diff(good, listed("")); diff != "" {
			t.Errorf("skills (-want +got):\n%s", diff)
		}
		all := map[string][]string{"triage": good["triage"], "broken": {"acme/app:.claude/skills/broken/SKILL.md !"}}
		if diff := cmp.Diff(
			all, listed("include_malformed_skills=true&refresh=true&repo=acme/app&sort_by=last_run"),
		); diff != "" {
			t.Errorf("with malformed ones (-want +got):\n%s", diff)
		}
		if got := listed("repo=acme/other&include_malformed_skills=true"); len(got) != 0 {
			t.Errorf("of another repository: got %v", got)
		}
		for _, bad := range []string{"repo=app", "sort_by=age", "include_malformed_skills=perhaps", "refresh=2"} {
			name, _, _ := strings.Cut(bad, "=")
			if got := send(t, h.Server, http.MethodGet, "/agent?"+bad, ""); got.status != http.StatusBadRequest ||
				!strings.Contains(string(got.body), name) {
				t.Errorf("%s: got %d %s", bad, got.status, got.body)
			}
		}
		run := h.run(
			map[string]any{
				"skill": "acme/app:.agents/skills/triage/SKILL.md", "config": map[string]any{"environment_id": e.UID},
			},
		)
		if diff := cmp.Diff(
			&penstock.Skill{Name: "triage", Description: "Sorts issues.", FullPath: ".agents/skills/triage/SKILL.md"}, run.Skill,
		); diff != "" || run.Config.Name != "triage" {
			t.Errorf("the run %q (-want +got):\n%s", run.Config.Name, diff)
		}
	})
}
