package worker_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/access"
	"github.com/penstock-dev/penstock/internal/execution/worker"
	"github.com/penstock-dev/penstock/internal/supply/layer"
	"github.com/penstock-dev/penstock/internal/testkit"
	"github.com/penstock-dev/penstock/internal/wall/image"
	"github.com/penstock-dev/penstock/internal/wall/sandbox"
)

// eachWarm runs a test with a worker that keeps prepared workspaces, in each sandbox that can use them.
func eachWarm(t *testing.T, test func(w *world)) {
	t.Parallel()
	for _, kind := range []string{sandbox.Bubblewrap, ownUsers} {
		t.Run(kind, func(t *testing.T) {
			w := newWorld(t)
			box := newSandbox(t, kind)
			w.start(func(o *worker.Options) {
				o.Sandbox, o.Layers = box, layer.Open(filepath.Join(t.TempDir(), "layers"), 1<<30)
			})
			test(w)
		})
	}
}

// prepared runs an agent with a configuration, and returns the run with how its workspace was prepared.
func (w *world) prepared(config *penstock.Config, command string) (id string, ready map[string]any) {
	w.t.Helper()
	id = w.create(penstock.RunRequest{Config: config}, "demo: run "+command)
	w.becomes(id, penstock.StateSucceeded)
	list := w.payloads(id, "workspace_ready")
	if len(list) != 1 {
		w.t.Fatalf("workspace_ready: %v", list)
	}
	return id, list[0]
}

// printed is what the commands of the agent printed.
func (w *world) printed(id string) string {
	_, output, _ := strings.Cut(strings.Join(w.outputs(id, "run_command"), "\n"), `"output":`)
	return output
}

// commit changes a repository: file and content in turns; an empty content removes the file.
func commit(t *testing.T, url string, files ...string) {
	t.Helper()
	dir := strings.TrimPrefix(url, "file://")
	for i := 0; i < len(files); i += 2 {
		name := filepath.Join(dir, files[i])
		err := os.MkdirAll(filepath.Dir(name), 0o755)
		if err == nil && files[i+1] == "" {
			err = os.Remove(name)
		} else if err == nil {
			err = errors.Join(os.RemoveAll(name), os.WriteFile(name, []byte(files[i+1]), 0o644))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{
		{"add", "-A"}, {"-c", "user.name=t", "-c", "user.email=t@example.com", "commit", "-qm", "more"},
	} {
		cmd := exec.Command("git", args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
}

// TestALaterRunFindsTheSetupDone prepares a workspace once. Later runs find it as the commands have
// left it, and nothing of other runs.
func TestALaterRunFindsTheSetupDone(t *testing.T) {
	eachWarm(t, func(w *world) {
		t := w.t
		app := repository(t, map[string]string{"main.txt": "v1\n", "lock": "1\n", ".gitignore": "modules\n"})
		config := w.environment(penstock.EnvironmentConfig{
			Repos: []penstock.GitRepo{{URL: app}},
			SetupCommands: []string{
				`cd app; mkdir -p modules/.bin; echo module > modules/x; ln modules/x modules/same; ln -s ../x modules/.bin/x; ` +
					`echo generated >> lock; git config core.hooksPath hooks`,
				`mkdir -p "$HOME/.cache/tool"; echo cached > "$HOME/.cache/tool/x"; env | cut -d= -f1 | sort > "$HOME/setup-env"`,
			},
		})
		look := `cd app; cat main.txt lock modules/.bin/x modules/same "$HOME/.cache/tool/x"; git status --short; ` +
			`git config core.hooksPath; git log --format=%s; git config user.name; ls -A "$HOME" ..; ` +
			`echo changed >> modules/x; echo changed >> main.txt; echo mine > "$HOME/.cache/tool/x"; touch new`
		first, ready := w.prepared(config, look)
		if ready["from"] != "cold" || ready["reason"] != "There is no layer yet." || ready["commands"] != "all" ||
			ready["sealed_uid"] == nil {
			t.Errorf("the first run: %v", ready)
		}
		want := w.printed(first)
		if !strings.Contains(want, `v1\n1\ngenerated\nmodule\nmodule\ncached\n M lock\nhooks\nall\nPenstock agent`) {
			t.Fatalf("the first run finds %s", want)
		}
		for range 2 {
			id, ready := w.prepared(config, look)
			if ready["from"] != "layer" || ready["commands"] != "skipped" || ready["commits_behind"] != 0.0 ||
				ready["prebuild_uid"] == nil || ready["sealed_uid"] != nil {
				t.Errorf("a later run: %v", ready)
			}
			if diff := cmp.Diff(want, w.printed(id)); diff != "" {
				t.Errorf("a later run finds (-first +later):\n%s", diff)
			}
			if steps := w.payloads(id, "setup_step"); len(steps) > 0 {
				t.Errorf("a later run has set up: %v", steps)
			}
		}
	})
}

// together starts three attempts in a new environment, and returns how many were prepared in which way.
func (w *world) together(setup string, want penstock.State) map[string]int {
	w.t.Helper()
	created, err := w.Runs.Create(w.t.Context(), w.admin, penstock.RunRequest{
		Prompt: "demo: say hello", Attempts: new(3),
		Config: w.environment(penstock.EnvironmentConfig{SetupCommands: []string{setup}}),
	}, "API")
	if err != nil {
		w.t.Fatal(err)
	}
	ways := map[string]int{}
	for _, r := range created.Runs {
		w.becomes(r.ID, want)
		for _, payload := range w.payloads(r.ID, "workspace_ready") {
			ways[fmt.Sprint(payload["from"])]++
		}
	}
	return ways
}

func TestRunsThatStartTogetherArePreparedOnce(t *testing.T) {
	eachWarm(t, func(w *world) {
		want := map[string]int{"cold": 1, "layer": 2}
		if diff := cmp.Diff(want, w.together("sleep 1; echo done > set-up", penstock.StateSucceeded)); diff != "" {
			w.t.Errorf("-want +got:\n%s", diff)
		}
	})
}

// TestRunsDoNotWaitForALayerThatIsNotMade has a setup that fails for each run.
func TestRunsDoNotWaitForALayerThatIsNotMade(t *testing.T) {
	eachWarm(t, func(w *world) { w.together("sleep 1; exit 3", penstock.StateFailed) })
}

// TestTheSetupHasNothingOfTheRun gives the commands of a layer neither variables nor secrets nor files
// of the run that happens to come first, and no way to its models and its API.
func TestTheSetupHasNothingOfTheRun(t *testing.T) {
	eachWarm(t, func(w *world) {
		t := w.t
		w.secret("RUN_TOKEN", "value-of-the-run")
		config := w.environment(penstock.EnvironmentConfig{
			Prebuild: &penstock.Prebuild{},
			SetupCommands: []string{
				`{ env; ls -A; for path in penstock/api/v1/me model/openai/v1/models; do bash -c ` +
					`'exec 3<>/dev/tcp/127.0.0.1/3128; printf "GET /'$path' HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n" >&3; ` +
					`cat <&3'; done; } > found`,
			},
		})
		config.Env, config.Secrets = map[string]string{"GREETING": "hello-from-the-run"}, []string{"RUN_TOKEN"}
		id := w.create(penstock.RunRequest{
			Config: config, Attachments: []penstock.Attachment{
				{FileName: "attached.txt", MimeType: "text/plain", Data: []byte("of the run")},
			},
		}, `demo: run cat found; echo "$GREETING"; find . -name attached.txt`)
		w.becomes(id, penstock.StateSucceeded)
		found, ready := w.printed(id), w.payloads(id, "workspace_ready")
		if len(ready) != 1 || ready[0]["sealed_uid"] == nil {
			t.Fatalf("%v", ready)
		}
		setup, agent, _ := strings.Cut(found, "hello-from-the-run")
		for _, part := range []string{"GREETING", "RUN_TOKEN", "value-of-the-run", "attached", "PENSTOCK_", id} {
			if strings.Contains(setup, part) {
				t.Errorf("the setup found %s: %s", part, setup)
			}
		}
		if n := strings.Count(setup, "The preparation of an environment reaches no models and no API."); n != 2 {
			t.Errorf("%d of 2 requests were refused: %s", n, setup)
		}
		if !strings.Contains(agent, "attached.txt") {
			t.Errorf("the run lacks its variable or its file: %s", found)
		}
	})
}

// TestALayerFollowsTheRepository moves the head: by default the commands run again on the layer; with
// inputs only if one of them has changed, and then those for an update.
func TestALayerFollowsTheRepository(t *testing.T) {
	eachWarm(t, func(w *world) {
		t := w.t
		app := repository(t, map[string]string{
			"main.txt": "v1", "deps/lock": "1", "old/only/file": "x", "kept/file": "x", ".gitignore": "modules\n",
		})
		setup := []string{`cd app; if [ -e modules/x ]; then echo again >> modules/x; else mkdir modules; ` +
			`echo first > modules/x; fi; mkdir -p kept; echo made > kept/made; echo note > old/only/note`}
		every := w.environment(penstock.EnvironmentConfig{
			Name: "every", Repos: []penstock.GitRepo{{URL: app}}, SetupCommands: setup,
		})
		inputs := w.environment(penstock.EnvironmentConfig{
			Name: "inputs", Repos: []penstock.GitRepo{{URL: app}}, SetupCommands: setup, Prebuild: &penstock.Prebuild{
				Inputs: []string{"**/lock", "go.sum"}, UpdateCommands: []string{`cd app; echo updated >> modules/x`},
			},
		})
		look := `cd app; cat modules/x main.txt; ls old/* kept; git status --short; git log --format=%s`
		for _, config := range []*penstock.Config{every, inputs} {
			if _, ready := w.prepared(config, look); ready["from"] != "cold" {
				t.Fatalf("%v", ready)
			}
		}
		// A file is changed, one is removed with its folders, and one is new.
		commit(t, app, "main.txt", "v2", "old/only/file", "", "new.txt", "new")
		id, ready := w.prepared(every, look)
		if ready["from"] != "layer" || ready["commands"] != "all" || ready["commits_behind"] != 1.0 ||
			ready["sealed_uid"] == nil {
			t.Errorf("a moved head: %v", ready)
		}
		if got := w.printed(id); !strings.Contains(got, `first\nagain\nv2`) {
			t.Errorf("a moved head: %s", got)
		}
		if _, ready := w.prepared(every, look); ready["commands"] != "skipped" {
			t.Errorf("the new head again: %v", ready)
		}
		id, ready = w.prepared(inputs, look)
		if ready["commands"] != "skipped" || ready["changed_inputs"] != nil || len(w.payloads(id, "setup_step")) > 0 {
			t.Errorf("a moved head that changes no input: %v", ready)
		}
		const skipped = `first\nv2kept:\nfile\nmade\n\nold/only:\nnote\n?? kept/made\n?? old/\nmore\nall`
		if got := w.printed(id); !strings.Contains(got, skipped) {
			t.Errorf("a moved head that changes no input: %s", got)
		}
		commit(t, app, "deps/lock", "2", "old/only", "a file where a folder was")
		id, ready = w.prepared(inputs, look)
		if ready["commands"] != "updated" || fmt.Sprint(ready["changed_inputs"]) != "[app/deps/lock]" {
			t.Errorf("a changed input: %v", ready)
		}
		if got := w.printed(id); !strings.Contains(got, `first\nupdated\nv2`) {
			t.Errorf("a changed input: %s", got)
		}
	})
}

// TestASetupThatNeedsTheRun prepares the workspace cold if its commands fail without the variables of
// the run, and does not try that each time. Commands that fail anyway run once.
func TestASetupThatNeedsTheRun(t *testing.T) {
	eachWarm(t, func(w *world) {
		t := w.t
		app := repository(t, map[string]string{"main.txt": "v1"})
		needs := penstock.EnvironmentConfig{
			Name: "needs", Repos: []penstock.GitRepo{{URL: app}}, Prebuild: &penstock.Prebuild{},
			SetupCommands: []string{
				`echo left > left.txt; echo changed > app/main.txt; echo left > "$HOME/left"; [ -n "$GREETING" ]`,
			},
		}
		config := w.environment(needs)
		config.Env = map[string]string{"GREETING": "hello"}
		for i, want := range []string{
			"The setup commands failed without the variables and files of the run.",
			"The setup commands failed without the variables and files of the run. The next try is at ",
		} {
			id, ready := w.prepared(config, `cat left.txt "$HOME/left"; cd app; git status --short`)
			if reason := fmt.Sprint(ready["reason"]); ready["from"] != "cold" || !strings.HasPrefix(reason, want) {
				t.Errorf("run %d: %v", i, ready)
			}
			if n := len(w.payloads(id, "setup_step")); n != 2-i {
				t.Errorf("run %d has %d steps", i, n)
			}
			if got := w.printed(id); !strings.Contains(got, `left\nleft\n M main.txt`) {
				t.Errorf("run %d finds %s", i, got)
			}
		}
		// Unless the environment says so, a run with variables is prepared with them.
		needs.Name, needs.Prebuild = "silent", nil
		config = w.environment(needs)
		config.Env = map[string]string{"GREETING": "hello"}
		id, ready := w.prepared(config, "true")
		if !strings.HasPrefix(fmt.Sprint(ready["reason"]), "The run has variables") ||
			len(w.payloads(id, "setup_step")) != 1 {
			t.Errorf("without prebuild: %v", ready)
		}
		// The API of a run is something that it may need, too.
		asks := w.environment(penstock.EnvironmentConfig{Name: "asks", SetupCommands: []string{
			`! bash -c 'exec 3<>/dev/tcp/127.0.0.1/3128; printf "GET /penstock/api/v1/me HTTP/1.1\r\nHost: x\r\n` +
				`Connection: close\r\n\r\n" >&3; cat <&3' | grep "preparation of an environment"`,
		}})
		if id, ready := w.prepared(asks, "true"); ready["from"] != "cold" || len(w.payloads(id, "setup_step")) != 2 {
			t.Errorf("a setup that asks the API: %v", ready)
		}
		fails := w.environment(penstock.EnvironmentConfig{Name: "fails", SetupCommands: []string{"exit 5"}})
		id = w.create(penstock.RunRequest{Prompt: "hello", Config: fails})
		run := w.becomes(id, penstock.StateFailed)
		if n := len(w.payloads(id, "setup_step")); n != 1 || !strings.Contains(run.StatusMessage.Message, "exit code 5") {
			t.Errorf("commands that fail anyway ran %d times: %v", n, run.StatusMessage)
		}
	})
}

// TestALayerThatFailsIsNotUsedAgain moves the head so that the commands fail on the layer: the run is
// prepared cold, and the next ones get a new layer.
func TestALayerThatFailsIsNotUsedAgain(t *testing.T) {
	eachWarm(t, func(w *world) {
		t := w.t
		app := repository(t, map[string]string{"main.txt": "v1", ".gitignore": "modules\n"})
		config := w.environment(penstock.EnvironmentConfig{
			Repos: []penstock.GitRepo{{URL: app}}, SetupCommands: []string{"mkdir app/modules"},
		})
		w.prepared(config, "true")
		commit(t, app, "main.txt", "v2")
		id, ready := w.prepared(config, "cat app/main.txt; ls app")
		if ready["from"] != "cold" || !strings.HasPrefix(fmt.Sprint(ready["reason"]), "The commands failed on the layer") {
			t.Errorf("%v", ready)
		}
		if got := w.printed(id); !strings.Contains(got, `v2main.txt\nmodules`) {
			t.Errorf("the run finds %s", got)
		}
		if _, ready := w.prepared(config, "true"); ready["reason"] != "There is no layer yet." || ready["sealed_uid"] == nil {
			t.Errorf("the next run: %v", ready)
		}
		if _, ready := w.prepared(config, "true"); ready["from"] != "layer" {
			t.Errorf("the run after it: %v", ready)
		}
	})
}

// TestSecretsOfALayer gives the commands the secrets that the environment names. A layer has none of
// their values, and serves only runs that have all of them, with the same values.
func TestSecretsOfALayer(t *testing.T) {
	eachWarm(t, func(w *world) {
		t := w.t
		w.secret("NPM_TOKEN", "npm-token-of-the-team")
		environment := func(name, command string) *penstock.Config {
			config := w.environment(penstock.EnvironmentConfig{
				Name: name, SetupCommands: []string{command}, Prebuild: &penstock.Prebuild{Secrets: []string{"NPM_TOKEN"}},
			})
			config.Secrets = []string{"NPM_TOKEN"}
			return config
		}
		leaves := environment("leaves", `printf %s "user:$NPM_TOKEN" | base64 > "$HOME/.npmrc"`)
		_, ready := w.prepared(leaves, `cat "$HOME/.npmrc"`)
		left := map[string]any{"file": "home/.npmrc", "secret": "NPM_TOKEN"}
		if diff := cmp.Diff(left, ready["secret_in_layer"]); diff != "" {
			t.Errorf("a secret that was left: %v", ready)
		}
		const why = "The setup left the secret NPM_TOKEN in the file home/.npmrc. The next try is at "
		if _, ready := w.prepared(leaves, "true"); ready["from"] != "cold" ||
			!strings.HasPrefix(fmt.Sprint(ready["reason"]), why) {
			t.Errorf("the next run: %v", ready)
		}

		uses := environment("uses", `[ "$NPM_TOKEN" ] && echo done > done.txt`)
		if _, ready := w.prepared(uses, "true"); ready["sealed_uid"] == nil {
			t.Errorf("a secret that was used: %v", ready)
		}
		if _, ready := w.prepared(uses, "true"); ready["from"] != "layer" {
			t.Errorf("a run with the secret: %v", ready)
		}
		without := *uses
		without.Secrets = nil
		id := w.create(penstock.RunRequest{Prompt: "hello", Config: &without})
		w.becomes(id, penstock.StateFailed) // its own setup lacks the secret
		if steps := w.payloads(id, "setup_step"); len(steps) != 1 {
			t.Errorf("a run without the secret: %v", steps)
		}
		value := "npm-token-after-rotation"
		if _, err := w.Secrets.Set(t.Context(), w.admin, "NPM_TOKEN", access.SecretChange{Value: &value}); err != nil {
			t.Fatal(err)
		}
		if _, ready := w.prepared(uses, "true"); ready["from"] != "cold" {
			t.Errorf("after a rotation: %v", ready)
		}
	})
}

// TestNoLayerIsUsed prepares the workspace cold if the environment or the run says so.
func TestNoLayerIsUsed(t *testing.T) {
	w := newWorld(t)
	w.start(func(o *worker.Options) {
		o.Sandbox, o.Layers = newSandbox(t, sandbox.Bubblewrap), layer.Open(t.TempDir(), 1<<30)
	})
	off := w.environment(penstock.EnvironmentConfig{
		Name: "off", SetupCommands: []string{"true"}, Prebuild: &penstock.Prebuild{Mode: penstock.PrebuildOff},
	})
	config := w.environment(penstock.EnvironmentConfig{Name: "lazy", SetupCommands: []string{"true"}})
	w.prepared(config, "true")
	cold := *config
	cold.Prebuild = new(bool)
	for want, config := range map[string]*penstock.Config{
		"The environment has prebuild.mode off.": off, "The run has prebuild false.": &cold,
	} {
		for range 2 {
			if _, ready := w.prepared(config, "true"); ready["from"] != "cold" || ready["reason"] != want {
				t.Errorf("%v", ready)
			}
		}
	}
}

// TestALayerHasTheChangesOfTheImage installs something in the container image. Later runs find it,
// also what was removed, and not with another image.
func TestALayerHasTheChangesOfTheImage(t *testing.T) {
	w := newWorld(t)
	registry := testkit.NewRegistry(t)
	files := []testkit.ImageFile{imageText("opt/old/one", "1"), imageText("opt/old/two", "2"), imageText("opt/gone", "3")}
	push := func(version string) {
		registry.Push(t, "team/app:1", []string{"PATH=/bin"}, testkit.HostImage(t, "sh", "cat", "ls", "rm", "mkdir"),
			append(files, imageText("opt/version", version)))
	}
	push("first")
	name := registry.Host + "/team/app:1"
	images := inImages(newSandbox(t, sandbox.Bubblewrap), image.Open(t.TempDir(), image.Options{}))
	w.start(func(o *worker.Options) {
		images(o)
		o.Layers = layer.Open(t.TempDir(), 1<<30)
	})
	config := w.environment(penstock.EnvironmentConfig{
		DockerImage: name, SetupCommands: []string{
			"cat /opt/version > /opt/made; rm -r /opt/old /opt/gone; mkdir /opt/old; echo new > /opt/old/three",
		},
	})
	const look = "cat /opt/made; ls /opt /opt/old; echo changed >> /opt/made"
	first, ready := w.prepared(config, look)
	if ready["sealed_uid"] == nil {
		t.Fatalf("%v", ready)
	}
	want := w.printed(first)
	if !strings.Contains(want, `first/opt:\nmade\nold\npenstock\nversion\n\n/opt/old:\nthree\n`) {
		t.Fatalf("the first run finds %s", want)
	}
	for range 2 {
		id, ready := w.prepared(config, look)
		if ready["from"] != "layer" || w.printed(id) != want {
			t.Errorf("a later run: %v, finds %s", ready, w.printed(id))
		}
	}
	push("second")
	id, ready := w.prepared(config, look)
	if ready["from"] != "cold" || !strings.HasPrefix(w.printed(id), `"second`) {
		t.Errorf("in another image: %v, finds %s", ready, w.printed(id))
	}
}
