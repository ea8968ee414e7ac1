package worker_test

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/factory"
	"github.com/penstock-dev/penstock/internal/execution/worker"
	"github.com/penstock-dev/penstock/internal/testkit"
	"github.com/penstock-dev/penstock/internal/wall/sandbox"
)

func skill(name, body string) string {
	return "---\nname: " + name + "\ndescription: About " + name + ".\n---\n" + body + "\n"
}

// factory creates a factory from files, and returns the uids of its agents by name.
func (w *world) factory(files map[string]string) map[string]string {
	w.t.Helper()
	f, err := w.Factories.Create(w.t.Context(), w.admin, factory.FactoryRequest{Files: files})
	if err != nil {
		w.t.Fatal(err)
	}
	uids := map[string]string{}
	for _, a := range f.Agents {
		uids[a.Name] = a.UID
	}
	return uids
}

// acme is a factory with secrets, a runner and skills.
func acme() map[string]string {
	return map[string]string{
		"factory.yaml": "schemaVersion: v1alpha1\nname: acme\nsecrets: [EVERY]\nagentDefaults: {model: demo/offline, " +
			"runner: box, secrets: [SHARED]}\n",
		"runners/box.yaml": "setupCommands: ['echo runner >> order']\ninstanceShape: {vcpus: 2, memoryGb: 4}\n" +
			"platform: {arch: " + strings.TrimPrefix(here(), "linux/") + ", linux: {dockerImage: 'debian:13'}}\n",
		"agents/lead/agent.md":                "---\nagentType: FOREMAN\n---\nLead.\n",
		"agents/strict/agent.md":              "---\nsecrets: []\n---\nTrust nobody.\n",
		"agents/lead/skills/release/SKILL.md": skill("release", "The lead's way."),
		"agents/lead/skills/release/run.sh":   "#!/bin/sh\necho released by $0\n",
		"skills/release/SKILL.md":             skill("release", "The factory's way."),
		"skills/tidy/SKILL.md":                skill("tidy", "Tidy up."),
	}
}

func here() string { return worker.Platform(runtime.GOOS, runtime.GOARCH) }

// Every agent gets its own and its factory's configuration: secrets as masked environment
// variables, the runner's setup before the environment's, skills by precedence.
func TestAgentGetsTheSettingsOfItsFactory(t *testing.T) {
	eachKind(t, func(w *world, box sandbox.Sandbox) {
		t := w.t
		for _, name := range []string{"EVERY", "SHARED", "OTHER"} {
			w.secret(name, "value-of-"+strings.ToLower(name))
		}
		agents := w.factory(acme())
		w.start(in(box))
		app := repository(t, map[string]string{".agents/skills/release/SKILL.md": skill("release", "The app's way.")})
		config := w.environment(
			penstock.EnvironmentConfig{
				Repos: []penstock.GitRepo{{URL: app}}, SetupCommands: []string{"echo environment >> order"}, DockerImage: "alpine",
			},
		)
		config.Skills = []string{"app:release", "create-skill"}
		lead := w.create(penstock.RunRequest{AgentIdentityUID: agents["lead"], Config: config},
			"demo: run cat order; echo ${#EVERY} ${#SHARED} ${OTHER:-none}; env",
			"demo: run cd .penstock/skills; ls; release/run.sh",
			"demo: read_skill release", "demo: read_skill tidy", "demo: read_skill app-release", "demo: read_skill create-skill")
		strict := w.create(penstock.RunRequest{AgentIdentityUID: agents["strict"]},
			"demo: run echo ${#EVERY} ${SHARED:-none} ${OTHER:-none}; ls .penstock/skills; $PENSTOCK_CLI supervise "+
				"</dev/null; echo ended $?",
			"demo: read_skill release")
		w.becomes(lead, penstock.StateSucceeded)
		w.becomes(strict, penstock.StateSucceeded)

		out := strings.Join(w.outputs(lead, "run_command"), "\n")
		for _, want := range []string{
			`runner\nenvironment\n14 15 none\n`, `app-release\ncreate-skill\nrelease\ntidy\nreleased by release/run.sh`,
		} {
			if !strings.Contains(out, want) {
				t.Errorf("the lead sees %s, want %s", out, want)
			}
		}
		out = strings.Join(w.outputs(strict, "run_command"), "\n")
		if !strings.Contains(out, `14 none none\nrelease\ntidy\n`) || strings.Contains(out, "ended 127") {
			t.Errorf("the other agent sees %s", out)
		}
		for _, id := range []string{lead, strict} {
			for _, e := range w.events(id) {
				if strings.Contains(string(e.Data), "value-of-") {
					t.Errorf("a secret is recorded: %s", e.Data)
				}
			}
		}
		for id, want := range map[string]string{
			lead: "The lead's way.|Tidy up.|The app's way.|# Writing a skill", strict: "The factory's way.",
		} {
			read := w.outputs(id, "read_skill")
			for i, text := range strings.Split(want, "|") {
				if i >= len(read) || !strings.Contains(read[i], text) {
					t.Errorf("skill %d reads %v, want %q", i, read, text)
				}
			}
		}
		want := []map[string]any{
			{
				"image": "debian:13", "instance_shape": "2 vCPUs, 4 GB", "runner": "box", "sandbox": box.Kind(),
				"reason": "The sandbox " + box.Kind() + " of this worker uses the programs of its machine.",
			},
		}
		if diff := cmp.Diff(want, w.payloads(lead, "image_not_used")); diff != "" {
			t.Errorf("image_not_used (-want +got):\n%s", diff)
		}
	})
}

// An action's skill is the one that the worker has installed, not the one that the agent names.
func TestOnlyBundledSkillsAreReportedAsBundled(t *testing.T) {
	t.Parallel()
	files := acme()
	files["skills/vendor-api/SKILL.md"] = skill("vendor-api", "Looks like one.")
	delete(files, "runners/box.yaml")
	files["factory.yaml"] = "schemaVersion: v1alpha1\nname: acme\nagentDefaults: {model: demo/offline}\n"
	named := func(id, name string) string {
		in := map[string]string{"name": name, "skill_path": ".penstock/skills/" + name + "/SKILL.md"}
		if id != "" {
			in["bundled_skill_id"] = id
		}
		text, _ := json.Marshal(in)
		return string(text)
	}
	t.Run("the built-in agent", func(t *testing.T) {
		w := newWorld(t)
		agents := w.factory(files)
		w.start(nil)
		id := w.create(penstock.RunRequest{
			AgentIdentityUID: agents["lead"], Config: &penstock.Config{Skills: []string{"create-skill", "vendor-api"}},
		},
			"demo: read_skill create-skill", "demo: read_skill .penstock/skills/create-skill/SKILL.md",
			"demo: read_skill vendor-api", "demo: read .penstock/skills/create-skill/SKILL.md")
		// The worker checks a skill when it hears of the action, and the agent does not wait. When
		// the run has ended, all actions of the turn are recorded.
		w.becomes(id, penstock.StateSucceeded)
		w.followUp(id,
			"demo: run cp .penstock/skills/vendor-api/SKILL.md .penstock/skills/create-skill/SKILL.md",
			"demo: read_skill create-skill",
			"demo: run mkdir -p .penstock/skills/svc-platform; cp .penstock/skills/vendor-api/SKILL.md "+
				".penstock/skills/svc-platform/SKILL.md",
			"demo: read_skill .penstock/skills/svc-platform")
		w.becomes(id, penstock.StateSucceeded)
		bundled := named("create-skill", "create-skill")
		want := []string{
			bundled, bundled, named("", "vendor-api"), bundled, named("", "create-skill"),
			`{"skill_path":".penstock/skills/svc-platform/SKILL.md"}`,
		}
		if diff := cmp.Diff(want, w.inputs(id, "read_skill")); diff != "" {
			t.Errorf("read_skill (-want +got):\n%s", diff)
		}
	})
	t.Run("an agent of others", func(t *testing.T) {
		w := newWorld(t)
		agents := w.factory(files)
		w.start(nil)
		id := w.create(penstock.RunRequest{
			Prompt: "reads its skills", AgentIdentityUID: agents["strict"],
			Config: &penstock.Config{
				Harness: &penstock.Harness{Type: "misbehaving"}, Skills: []string{"create-skill", "vendor-api"},
			},
		})
		w.becomes(id, penstock.StateSucceeded)
		var want []string
		for _, name := range []string{"create-skill", "release", "tidy", "vendor-api"} {
			one := named(map[string]string{"create-skill": "create-skill"}[name], name)
			want = append(want, one, one) // by its file, and by the agent's claim
		}
		if diff := cmp.Diff(want, w.inputs(id, "read_skill")); diff != "" {
			t.Errorf("read_skill (-want +got):\n%s", diff)
		}
		told := w.create(
			penstock.RunRequest{
				Prompt: "hello", AgentIdentityUID: agents["strict"],
				Config: &penstock.Config{Harness: &penstock.Harness{Type: "misbehaving"}},
			},
		)
		w.becomes(told, penstock.StateSucceeded)
		if said := strings.Join(w.texts(told, "assistant"), "\n"); !strings.Contains(
			said, "Skill tidy (.penstock/skills/tidy/SKILL.md): About tidy.",
		) {
			t.Errorf("the agent was told %s", said)
		}
	})
}

// The lease ends when a run is cancelled, and its sandbox a moment later.
func TestCancelledRunReportsItsSandboxGone(t *testing.T) {
	eachKind(t, func(w *world, box sandbox.Sandbox) {
		t := w.t
		w.start(in(box))
		mark := marker()
		id := w.create(penstock.RunRequest{}, "demo: run sleep 600; : "+mark)
		testkit.Eventually(t, timeout, func() error {
			if len(processes(mark)) == 0 {
				return fmt.Errorf("the run is %s", w.get(id).State)
			}
			return nil
		})
		if _, err := w.Runs.Cancel(t.Context(), w.admin, id, false); err != nil {
			t.Fatal(err)
		}
		testkit.Eventually(t, timeout, func() error {
			timeline := w.timelineTypes(id)
			if diff := cmp.Diff([]string{"run_cancelled", "vm_shutdown"}, timeline[len(timeline)-2:]); diff != "" {
				return fmt.Errorf("timeline (-want +got):\n%s", diff)
			}
			return nil
		})
		if got := w.payloads(id, "vm_shutdown")[0]["sandbox"]; got != box.Kind() {
			t.Errorf("got the sandbox %v, want %s", got, box.Kind())
		}
		waiting := w.create(penstock.RunRequest{Prompt: "demo: say again", ConversationID: w.get(id).ConversationID})
		w.becomes(waiting, penstock.StateSucceeded)
		if n := count(w.timelineTypes(id), "vm_shutdown"); n != 1 {
			t.Errorf("it is told %d times", n)
		}
	})
}
