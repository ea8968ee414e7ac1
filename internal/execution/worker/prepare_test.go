package worker_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/execution/worker"
	"github.com/penstock-dev/penstock/internal/testkit"
	"github.com/penstock-dev/penstock/internal/wall/sandbox"
	"github.com/penstock-dev/penstock/skills"
)

// environment creates an environment and a configuration that names it.
func (w *world) environment(config penstock.EnvironmentConfig) *penstock.Config {
	w.t.Helper()
	if config.Name == "" {
		config.Name = "env"
	}
	made, err := w.Catalog.CreateEnvironment(w.t.Context(), w.admin, config)
	if err != nil {
		w.t.Fatal(err)
	}
	return &penstock.Config{EnvironmentID: made.UID}
}

// repository creates a Git repository with files and returns its URL.
func repository(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "app")
	for name, content := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if target, link := strings.CutPrefix(content, "→ "); link {
			if err := os.Symlink(target, path); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{
		{"init", "-q", "-b", "main"},
		{"add", "."},
		{"-c", "user.name=t", "-c", "user.email=t@example.com", "commit", "-qm", "all"},
	} {
		cmd := exec.Command("git", args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	return "file://" + dir
}

func TestSetupCommandsRunInOrderBeforeTheAgent(t *testing.T) {
	eachKind(t, func(w *world, box sandbox.Sandbox) {
		t := w.t
		w.start(in(box))
		config := w.environment(penstock.EnvironmentConfig{SetupCommands: []string{
			`echo one > order; echo "$GREETING from $PWD"`,
			`echo two >> order; mkdir -p "$HOME/.tool"; echo kept > "$HOME/.tool/x"; echo warning >&2`,
		}})
		config.Env = map[string]string{"GREETING": "hello"}
		id := w.create(penstock.RunRequest{Prompt: "demo: run cat order \"$HOME/.tool/x\"; touch new", Config: config})
		w.becomes(id, penstock.StateSucceeded)
		steps := w.payloads(id, "setup_step")
		if len(steps) != 2 || steps[0]["exit_code"] != 0.0 ||
			!strings.HasPrefix(fmt.Sprint(steps[0]["output"]), "hello from /") || steps[1]["output"] != "warning" {
			t.Errorf("steps: %v", steps)
		}
		if out := strings.Join(w.outputs(id, "run_command"), ""); !strings.Contains(out, `one\ntwo\nkept`) {
			t.Errorf("the agent finds %s", out)
		}
		want := []string{
			"sandbox_verified", "worker_container_ready", "shared_session_started", "setup_step", "setup_step",
			"agent_started", "vm_shutdown",
			"run_done",
		}
		if box.Kind() == sandbox.Process {
			want = want[1:]
		}
		if diff := cmp.Diff(want, w.timelineTypes(id)[2:]); diff != "" {
			t.Errorf("timeline (-want +got):\n%s", diff)
		}
		w.followUp(id, "demo: run ls")
		testkit.Eventually(t, timeout, func() error {
			if run := w.get(id); run.ExecutionID != 2 || run.State != penstock.StateSucceeded {
				return fmt.Errorf("%s", run.State)
			}
			return nil
		})
		if n := count(w.timelineTypes(id), "setup_step"); n != 2 {
			t.Errorf("%d setup steps in all: they ran again in a workspace that was set up", n)
		}
	})
}

// A process that a setup command leaves behind keeps its output open. It is killed with the
// command, so nothing waits for it.
func TestSetupCommandLeavesAProgramRunning(t *testing.T) {
	eachKind(t, func(w *world, box sandbox.Sandbox) {
		w.start(in(box))
		config := w.environment(penstock.EnvironmentConfig{SetupCommands: []string{
			"sleep 600 & echo one", "nohup setsid sh -c 'sleep 600; sleep 600' & echo two",
		}})
		id := w.create(penstock.RunRequest{Prompt: "demo: run true", Config: config})
		w.becomes(id, penstock.StateSucceeded)
		steps := w.payloads(id, "setup_step")
		if len(steps) != 2 || steps[0]["output"] != "one" || !strings.HasSuffix(fmt.Sprint(steps[1]["output"]), "two") {
			w.t.Errorf("steps: %v", steps)
		}
	})
}

func TestFailedSetupFailsTheRun(t *testing.T) {
	app := map[string]string{
		"README.md": "x", ".agents/skills/huge/SKILL.md": strings.Repeat("x", 300<<10),
		".agents/skills/nameless/SKILL.md": "---\nname: x\n", ".agents/skills/odd/SKILL.md": "→ /etc/passwd",
	}
	for name, test := range map[string]struct {
		environment penstock.EnvironmentConfig
		change      func(*penstock.Config)
		claimed     func(*penstock.Assignment)
		want        string
	}{
		"a command fails": {
			environment: penstock.EnvironmentConfig{
				SetupCommands: []string{"true", "echo working; echo broken >&2; exit 5", "touch never"},
			},
			want: "The setup command \"echo working; echo broken >&2; exit 5\" failed: exit code 5\n\nworking\nbroken",
		},
		"a command is not there": {
			environment: penstock.EnvironmentConfig{SetupCommands: []string{"no-such-program"}},
			want:        `The setup command "no-such-program" failed: exit code 127`,
		},
		"a repository is not there": {
			environment: penstock.EnvironmentConfig{Repos: []penstock.GitRepo{{URL: "file:///nonexistent/app"}}},
			want:        "The worker cannot clone the repository app: ",
		},
		"a branch is not there": {
			environment: penstock.EnvironmentConfig{Repos: []penstock.GitRepo{{URL: "APP", Ref: "nope"}}},
			want:        "The worker cannot clone the repository app: ",
		},
		"a skill is not there": {
			environment: penstock.EnvironmentConfig{Repos: []penstock.GitRepo{{URL: "APP"}}},
			change:      func(c *penstock.Config) { c.SkillSpec = "release" },
			want:        `.warp/skills, skills.`,
		},
		"a skill's file is not there": {
			environment: penstock.EnvironmentConfig{Repos: []penstock.GitRepo{{URL: "APP"}}},
			change:      func(c *penstock.Config) { c.SkillSpec = "app:docs/release/SKILL.md" },
			want:        `does not have the file docs/release/SKILL.md.`,
		},
		"a skill's repository is not there": {
			environment: penstock.EnvironmentConfig{Repos: []penstock.GitRepo{{URL: "APP"}}},
			change:      func(c *penstock.Config) { c.SkillSpec = "acme/tools:release" },
			want:        `The skill "acme/tools:release" was not found: the environment does not have its repository.`,
		},
		"a skill without an environment": {
			change: func(c *penstock.Config) { c.EnvironmentID, c.Skills = "", []string{"release"} },
			want:   `The skill "release" was not found: the run has no repository with skills.`,
		},
		"a skill is too large": {
			environment: penstock.EnvironmentConfig{Repos: []penstock.GitRepo{{URL: "APP"}}},
			change:      func(c *penstock.Config) { c.SkillSpec = "huge" },
			want:        `The skill "huge" is not valid: the file has 307200 bytes`,
		},
		"a skill is malformed": {
			environment: penstock.EnvironmentConfig{Repos: []penstock.GitRepo{{URL: "APP"}}},
			change:      func(c *penstock.Config) { c.Skills = []string{"nameless"} },
			want:        `The skill "nameless" is not valid: the front matter does not end`,
		},
		"a skill is a link to the machine": {
			environment: penstock.EnvironmentConfig{Repos: []penstock.GitRepo{{URL: "APP"}}},
			change:      func(c *penstock.Config) { c.SkillSpec = "odd" },
			want:        `The skill "odd" was not found in `,
		},
		"a required MCP server needs a secret that is not there": {
			claimed: func(a *penstock.Assignment) {
				a.Run.Config.MCPServers = map[string]penstock.MCPServer{
					"tracker": {Command: "x", Env: map[string]string{"T": "${{ secrets.TOKEN }}"}, Required: true},
				}
			},
			want: "The MCP server tracker needs the secret TOKEN, which the run does not have.",
		},
		"the environment is gone": {
			claimed: func(a *penstock.Assignment) { a.Environment = nil },
			want:    "no longer exists",
		},
		"a file is outside the workspace": {
			claimed: func(a *penstock.Assignment) { a.Files[0].Path = "../evil" },
			want:    `The worker cannot write the file ../evil to the workspace`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			url := repository(t, app)
			for i, r := range test.environment.Repos {
				if r.URL == "APP" {
					test.environment.Repos[i].URL = url
				}
			}
			config := w.environment(test.environment)
			if test.change != nil {
				test.change(config)
			}
			w.plane.set(func(c *plane) { c.claimed = test.claimed })
			var dir string
			w.start(func(o *worker.Options) { dir = o.Dir })
			id := w.create(penstock.RunRequest{
				Prompt: "hello", Config: config,
				Attachments: []penstock.Attachment{{FileName: "a", MimeType: "text/plain", Data: []byte("x")}},
			})
			m := w.becomes(id, penstock.StateFailed).StatusMessage
			if m.ErrorCode != penstock.CodeEnvironmentSetupFailed || !strings.Contains(m.Message, test.want) {
				t.Errorf("got %+v, want %q", m, test.want)
			}
			if n := count(w.timelineTypes(id), "agent_started"); n != 0 {
				t.Error("the agent was started")
			}
			if !strings.HasPrefix(name, "a command") {
				return
			}
			testkit.Eventually(t, timeout, func() error {
				if left, _ := filepath.Glob(dir + "/runs/*"); len(left) > 0 {
					return fmt.Errorf("a workspace that is not complete is kept: %v", left)
				}
				return nil
			})
		})
	}
}

// An MCP server that lacks a secret does not end the run. The timeline and the agent are told.
func TestRunContinuesWithoutAnMCPServerThatLacksASecret(t *testing.T) {
	for name, server := range map[string]penstock.MCPServer{
		"a variable": {Command: "true", Env: map[string]string{"A": "a", "T": "x ${{ secrets.TOKEN }}"}},
		"a header": {
			URL: "https://example.com/mcp", Headers: map[string]string{"Authorization": "Bearer ${{ secrets.TOKEN }}"},
		},
		"one of two secrets": {Command: "true", Env: map[string]string{"A": "${{ secrets.HAS }}${{ secrets.TOKEN }}"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.plane.set(func(c *plane) {
				c.claimed = func(a *penstock.Assignment) {
					a.Secrets = map[string]string{"HAS": "something"}
					a.Run.Config.MCPServers = map[string]penstock.MCPServer{"tracker": server}
				}
			})
			w.start(nil)
			id := w.create(penstock.RunRequest{ // the shell also gets the notice, which is no command
				Prompt: `cat "$PENSTOCK_PROMPT_FILE"; exit 0`,
				Config: &penstock.Config{Harness: &penstock.Harness{Type: penstock.HarnessCommand}},
			})
			w.becomes(id, penstock.StateSucceeded)
			const reason = "It needs the secret TOKEN, which the run does not have."
			failed := w.payloads(id, penstock.TimelineMCPFailed)
			if len(failed) != 1 || failed[0]["name"] != "tracker" || failed[0]["reason"] != reason {
				t.Errorf("the timeline has %v", failed)
			}
			if said := strings.Join(w.texts(id, "assistant"), ""); !strings.Contains(said, "tracker is not available. "+reason) {
				t.Errorf("the agent got %q", said)
			}
		})
	}
}

func TestRepositoriesFilesAndSkillsAreInTheWorkspace(t *testing.T) {
	eachKind(t, func(w *world, box sandbox.Sandbox) {
		t := w.t
		url := repository(t, map[string]string{
			"README.md":                        "the app",
			".claude/skills/release/SKILL.md":  "---\nname: release\ndescription: Makes\n  a release.\n---\nTag, then push.\n",
			".claude/skills/release/run.sh":    "echo releasing",
			".claude/skills/release/key":       "→ /etc/passwd",
			"docs/skills/review/SKILL.md":      "---\nname: review\ndescription: Reviews.\n---\nLook twice.",
			".agents/skills/release2/SKILL.md": "other",
			".agents/skills/release/SKILL.md":  "---\nname: publish\ndescription: Publishes.\n---\nPublish it.",
			".agents/skills/plain/SKILL.md":    "---\ndescription: Has no name.\n---\nPlain.",
		})
		config := w.environment(penstock.EnvironmentConfig{Repos: []penstock.GitRepo{{URL: url}}, DockerImage: "debian:12"})
		config.Skills = []string{"release", "app:docs/skills/review/SKILL.md", "app:publish", "app:plain"}
		w.start(in(box))
		id := w.create(penstock.RunRequest{
			Prompt: "demo: run cat app/README.md; git -C app log --oneline | wc -l; find .penstock/skills -type f -o " +
				"-type l | sort; cat .penstock/attachments/*\ndemo: read_skill release",
			Config:      config,
			Attachments: []penstock.Attachment{{FileName: "note.txt", MimeType: "text/plain", Data: []byte("attached")}},
		})
		w.becomes(id, penstock.StateSucceeded)
		out := strings.Join(w.outputs(id, "run_command"), "")
		want := `the app1\n` +
			`.penstock/skills/plain/SKILL.md\n.penstock/skills/publish/SKILL.md\n.penstock/skills/release/SKILL.md\n` +
			`.penstock/skills/release/run.sh\n.penstock/skills/review/SKILL.md\nattached`
		if !strings.Contains(out, want) {
			t.Errorf("the workspace holds %s", out)
		}
		if out := strings.Join(w.outputs(id, "read_skill"), ""); !strings.Contains(out, "Tag, then push.") {
			t.Errorf("the skill reads %s", out)
		}
		if image := w.payloads(id, "image_not_used"); len(image) != 1 || image[0]["image"] != "debian:12" ||
			image[0]["sandbox"] != box.Kind() {
			t.Errorf("image_not_used: %v", image)
		}
	})
}

// Skills are found in every customary folder, and run as people write them, with a note.
func TestSkillsAsFoundInTheWild(t *testing.T) {
	w := newWorld(t)
	files := map[string]string{
		"skills/pdf/SKILL.md":          "<!-- ours -->\n---\nname: Make PDFs\ndescription: For: print\n---\nPrint it.",
		"skills/bare/SKILL.md":         "Just do it.",
		".factory/skills/cut/SKILL.md": "---\nname: cut\n",
		// Some repositories sort their skills. What is below a skill is a file of it.
		"skills/office/sheet/SKILL.md":        skill("sheet", "Count it."),
		"skills/.beta/slides/SKILL.md":        skill("slides", "Show it."),
		"skills/pdf/assets/sheet/SKILL.md":    "A template.",
		"skills/pdf/sheet/SKILL.md":           skill("sheet", "A template."),
		".claude/skills/office/bare/SKILL.md": "A skill in a folder without others comes first.",
	}
	want := []string{"App:sheet", "App:slides"}
	for _, folder := range skills.Folders {
		name := "in-" + strings.Trim(strings.ReplaceAll(folder, "/", "-"), ".")
		files[folder+"/"+name+"/SKILL.md"] = skill(name, "Look.")
		want = append(want, "App:"+name)
	}
	w.start(nil)
	_, config := w.ofApp(files)
	config.Skills = slices.Concat(want, []string{"app:make-pdfs", "app:bare"})
	id := w.create(penstock.RunRequest{Config: config},
		"demo: read_skill make-pdfs", "demo: read_skill sheet", "demo: read_skill bare",
		"demo: run ls .penstock/skills | wc -l")
	w.becomes(id, penstock.StateSucceeded)
	out := strings.Join(w.outputs(id, "read_skill"), "")
	for _, text := range []string{"Print it.", "Count it.", "Just do it."} {
		if !strings.Contains(out, text) {
			t.Errorf("the skills read %s, want %q", out, text)
		}
	}
	if out := strings.Join(w.outputs(id, "run_command"), ""); !strings.Contains(out, "15") {
		t.Errorf("the workspace has %s skills", out)
	}
	notes := w.payloads(id, "skill_note")
	if len(notes) != 2 || notes[0]["skill"] != "make-pdfs" || notes[1]["skill"] != "bare" {
		t.Errorf("the notes are %v", notes)
	}
}

// One skill that cannot be read does not keep the factory from being applied, nor its runs from
// working. A run that needs it is refused with the reason.
func TestOneSkillDoesNotBlockAFactory(t *testing.T) {
	w := newWorld(t)
	files := acme()
	delete(files, "runners/box.yaml")
	files["factory.yaml"] = "schemaVersion: v1alpha1\nname: acme\nagentDefaults: {model: demo/offline}\n"
	files["skills/cut/SKILL.md"] = "---\nname: cut\n"
	files["skills/My Skill/SKILL.md"] = skill("x", "Look.")
	files["skills/odd/SKILL.md"] = "---\nname: The Odd One\ndescription: Use when: odd\n---\nBe odd."
	agents := w.factory(files)
	w.start(nil)
	id := w.create(penstock.RunRequest{AgentIdentityUID: agents["lead"]}, "demo: read_skill odd")
	w.becomes(id, penstock.StateSucceeded)
	if out := strings.Join(w.outputs(id, "read_skill"), ""); !strings.Contains(out, "Be odd.") {
		t.Errorf("the skill reads %s", out)
	}
	notes := w.payloads(id, "skill_note")
	if len(notes) != 2 || notes[0]["skill"] != "cut" || !strings.Contains(fmt.Sprint(notes[0]["notes"]), "does not end") ||
		notes[1]["skill"] != "odd" {
		t.Errorf("the notes are %v", notes)
	}
	_, err := w.Runs.Create(t.Context(), w.admin, penstock.RunRequest{
		AgentIdentityUID: agents["lead"], Config: &penstock.Config{SkillSpec: "cut"},
	}, "API")
	if penstock.CodeOf(err) != penstock.CodeInvalidRequest || !strings.Contains(err.Error(), "does not end") {
		t.Errorf("a run of the skill that cannot be read: %v", err)
	}
}

func TestRunFromASkillAlone(t *testing.T) {
	w := newWorld(t)
	url := repository(
		t,
		map[string]string{
			".agents/skills/greet/SKILL.md": "---\nname: greet\ndescription: Greets.\n---\ndemo: say good morning\n",
		},
	)
	config := w.environment(penstock.EnvironmentConfig{Repos: []penstock.GitRepo{{URL: url}}})
	config.SkillSpec = "app:greet"
	w.start(nil)
	created, err := w.Runs.Create(t.Context(), w.admin, penstock.RunRequest{Config: config}, "API")
	if err != nil {
		t.Fatal(err)
	}
	w.becomes(created.ID, penstock.StateSucceeded)
	if texts := strings.Join(w.texts(created.ID, "assistant"), "\n"); !strings.Contains(texts, "good morning") {
		t.Errorf("the agent says %s", texts)
	}
}

func TestAgentFindsItsOwnKeyAndRun(t *testing.T) {
	w := newWorld(t)
	w.secret("DEPLOY_TOKEN", "deploy-me-42")
	w.start(nil)
	id := w.create(penstock.RunRequest{
		Prompt: `demo: run echo "$PENSTOCK_RUN_ID $PENSTOCK_BASE_URL ${#PENSTOCK_API_KEY} ${#DEPLOY_TOKEN} ` +
			`${OPENAI_API_KEY:-none} $OTHER"`,
		Config: &penstock.Config{
			Env:     map[string]string{"OTHER": "x", "PENSTOCK_RUN_ID": "forged", "DEPLOY_TOKEN": "x"},
			Secrets: []string{"DEPLOY_TOKEN"},
		},
	})
	w.becomes(id, penstock.StateSucceeded)
	out := strings.Join(w.outputs(id, "run_command"), "")
	if !strings.Contains(out, id+" http://") || !strings.Contains(out, "/penstock 20 12 none x") ||
		strings.Contains(out, "forged") {
		t.Errorf("the agent sees %s", out)
	}
}

// Without a sandbox, only the demonstration agent runs. It executes no code of others.
func TestWithoutASandboxOnlyTheDemonstrationRuns(t *testing.T) {
	w := newWorld(t)
	demo := newSandbox(t, sandbox.Process)
	w.start(func(o *worker.Options) { o.Sandbox, o.Demo, o.NoSandbox = nil, demo, "no user namespaces" })
	id := w.create(penstock.RunRequest{Prompt: "Look around"})
	w.becomes(id, penstock.StateSucceeded)
	setup := w.environment(penstock.EnvironmentConfig{SetupCommands: []string{"true"}})
	w.secret("EVERY", "value-of-every")
	w.secret("SHARED", "value-of-shared")
	prepared := w.create(penstock.RunRequest{Prompt: "Look around", AgentIdentityUID: w.factory(acme())["lead"]})
	if m := w.becomes(prepared, penstock.StateFailed).StatusMessage; !strings.Contains(m.Message, "no setup commands") {
		t.Errorf("a runner's setup commands: got %+v", m)
	}
	for name, config := range map[string]*penstock.Config{
		"another model":   {ModelID: "openai/gpt-6-luna"},
		"another harness": {Harness: &penstock.Harness{Type: "misbehaving"}},
		"a command":       {Harness: &penstock.Harness{Type: penstock.HarnessCommand}},
		"setup commands":  setup,
		"MCP servers":     {MCPServers: map[string]penstock.MCPServer{"x": {Command: "true"}}},
	} {
		id := w.create(penstock.RunRequest{Prompt: "Look around", Config: config})
		m := w.becomes(id, penstock.StateFailed).StatusMessage
		if m.ErrorCode != penstock.CodeEnvironmentSetupFailed ||
			!strings.Contains(m.Message, "no sandbox (no user namespaces)") {
			t.Errorf("%s: got %+v", name, m)
		}
	}
}

// A newer server may send a network that this worker does not know.
func TestUnknownNetworkFailsTheRun(t *testing.T) {
	eachKind(t, func(w *world, box sandbox.Sandbox) {
		w.plane.set(func(c *plane) {
			c.claimed = func(a *penstock.Assignment) {
				a.Network = &penstock.NetworkPolicy{Layers: []penstock.NetworkLayer{
					{Source: "environment", Network: penstock.Network{Allow: []penstock.NetworkRule{{Preset: "of-tomorrow"}}}},
				}}
			}
		})
		id := w.create(penstock.RunRequest{Prompt: "Look around"})
		w.start(in(box))
		run := w.becomes(id, penstock.StateFailed)
		if m := run.StatusMessage; m == nil || m.ErrorCode != penstock.CodeEnvironmentSetupFailed ||
			!strings.Contains(m.Message, "of-tomorrow") {
			w.t.Errorf("the status message is %+v", m)
		}
	})
}
