package worker_test

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/access"
)

// TestALayerIsOfItsCredentials rotates a credential that the proxy sends for the setup commands: what
// they have fetched with the old one is not for later runs.
func TestALayerIsOfItsCredentials(t *testing.T) {
	eachWarm(t, func(w *world) {
		t := w.t
		w.secret("REGISTRY_KEY", "key-of-the-registry")
		change := func(c access.SecretChange) {
			t.Helper()
			if _, err := w.Secrets.Set(t.Context(), w.admin, "REGISTRY_KEY", c); err != nil {
				t.Fatal(err)
			}
		}
		change(access.SecretChange{Hosts: &[]string{"registry.example.com"}})
		config := w.environment(penstock.EnvironmentConfig{
			SetupCommands: []string{"true"},
			Network: &penstock.Network{Allow: []penstock.NetworkRule{{
				Host:       "registry.example.com",
				Credential: &penstock.NetworkCredential{Secret: "REGISTRY_KEY", As: penstock.CredentialBearer},
			}}},
		})
		for i, want := range []string{"cold", "layer"} {
			if _, ready := w.prepared(config, "true"); ready["from"] != want {
				t.Errorf("run %d: %v", i, ready)
			}
		}
		value := "rotated-key-of-the-registry"
		change(access.SecretChange{Value: &value})
		if _, ready := w.prepared(config, "true"); ready["from"] != "cold" {
			t.Errorf("after a rotation: %v", ready)
		}
		// A host may answer with what it got.
		echo := *w.environment(penstock.EnvironmentConfig{
			Name: "echo", SetupCommands: []string{"printf %s 'Bearer ' " + value[:7] + " " + value[7:] + " > answer"},
			Network: &penstock.Network{Allow: []penstock.NetworkRule{{
				Host:       "registry.example.com",
				Credential: &penstock.NetworkCredential{Secret: "REGISTRY_KEY", As: penstock.CredentialBearer},
			}}},
		})
		_, ready := w.prepared(&echo, "true")
		left := map[string]any{"file": "work/answer", "secret": "REGISTRY_KEY"}
		if diff := cmp.Diff(left, ready["secret_in_layer"]); diff != "" {
			t.Errorf("a credential that was left: %v", ready)
		}
	})
}

// TestOtherBranchesAreCurrent changes branches and tags of a repository whose head stays: a run on a
// layer sees them as they are now.
func TestOtherBranchesAreCurrent(t *testing.T) {
	eachWarm(t, func(w *world) {
		t := w.t
		app := repository(t, map[string]string{"main.txt": "v1", ".gitignore": "modules\n"})
		git := func(args ...string) {
			t.Helper()
			cmd := exec.Command("git", append([]string{"-c", "user.name=t", "-c", "user.email=t@example.com"}, args...)...)
			cmd.Dir = strings.TrimPrefix(app, "file://")
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("git %v: %v\n%s", args, err, out)
			}
		}
		git("branch", "gone")
		git("branch", "other")
		config := w.environment(penstock.EnvironmentConfig{
			Repos: []penstock.GitRepo{{URL: app}}, SetupCommands: []string{
				"cd app; echo changed > main.txt; git add main.txt; mkdir modules; git tag mine; git config my.setting kept",
			},
		})
		const look = "cd app; git branch -a; git tag; git log --format=%s origin/other; git status --short; " +
			"git config my.setting; git fsck; git stash list; ls"
		w.prepared(config, look)
		git("branch", "-D", "gone")
		git("branch", "new")
		git("tag", "v1")
		git("checkout", "-q", "other")
		git("commit", "-q", "--allow-empty", "-m", "later")
		git("checkout", "-q", "-")
		id, ready := w.prepared(config, look)
		if ready["from"] != "layer" || ready["commands"] != "skipped" {
			t.Errorf("%v", ready)
		}
		got := w.printed(id)
		if !strings.Contains(got, "origin/new") || strings.Contains(got, "origin/gone") ||
			!strings.Contains(got, `mine\nv1\nlater\nall\nM  main.txt\nkept\nmain.txt\nmodules`) {
			t.Errorf("the run finds %s", got)
		}
	})
}

// TestARepositoryThatTheSetupMoves replaces the folder of a repository, or its .git, by a link or a file. Later
// runs find what the first one found.
func TestARepositoryThatTheSetupMoves(t *testing.T) {
	eachWarm(t, func(w *world) {
		t := w.t
		app := repository(t, map[string]string{"main.txt": "v1"})
		for i, command := range []string{
			"mv app real; ln -s real app", "cd app; mv .git ../real; ln -s ../real .git",
			"cd app; mv .git ../real; echo 'gitdir: ../real' > .git", "rm -rf app", "rm -rf app; echo file > app",
		} {
			config := w.environment(penstock.EnvironmentConfig{
				Name: fmt.Sprint("moves-", i), Repos: []penstock.GitRepo{{URL: app}}, SetupCommands: []string{command},
			})
			const look = "ls -F; cd app && git status --short && git log --format=%s && git fsck"
			first, _ := w.prepared(config, look)
			id, ready := w.prepared(config, look)
			if ready["from"] != "layer" {
				t.Errorf("%s: %v", command, ready)
			}
			if diff := cmp.Diff(w.printed(first), w.printed(id)); diff != "" {
				t.Errorf("%s: the run finds (-first +later):\n%s", command, diff)
			}
		}
	})
}

// TestSettingsOfARepositoryStay moves the head: what the setup has set in .git stays, as other files that
// git does not track.
func TestSettingsOfARepositoryStay(t *testing.T) {
	eachWarm(t, func(w *world) {
		t := w.t
		app := repository(t, map[string]string{"main.txt": "v1"})
		config := w.environment(penstock.EnvironmentConfig{
			Repos: []penstock.GitRepo{{URL: app}}, Prebuild: &penstock.Prebuild{Inputs: []string{"lock"}},
			SetupCommands: []string{
				"cd app; git config core.hooksPath .husky; mkdir -p .git/hooks .git/info; echo hook > .git/hooks/pre-commit; " +
					"echo made >> .git/info/exclude; touch made",
			},
		})
		const look = "cd app; git config core.hooksPath; cat .git/hooks/pre-commit; git status --short; " +
			"git config remote.origin.url; git rev-parse --abbrev-ref '@{u}'; ls; git log --format=%s"
		first, _ := w.prepared(config, look)
		commit(t, app, "main.txt", "v2")
		id, ready := w.prepared(config, look)
		if ready["from"] != "layer" || ready["commands"] != "skipped" {
			t.Errorf("%v", ready)
		}
		want := strings.Replace(w.printed(first), `\nall`, `\nmore\nall`, 1)
		if diff := cmp.Diff(want, w.printed(id)); diff != "" {
			t.Errorf("the run finds (-first +later):\n%s", diff)
		}
	})
}

// TestALayerIsInTheWayOfFiles leaves a file where the attachments of a run belong.
func TestALayerIsInTheWayOfFiles(t *testing.T) {
	eachWarm(t, func(w *world) {
		t := w.t
		config := w.environment(penstock.EnvironmentConfig{
			Prebuild: &penstock.Prebuild{}, SetupCommands: []string{"[ -e .penstock ] || echo here > .penstock"},
		})
		w.prepared(config, "true")
		id := w.create(penstock.RunRequest{
			Config: config, Attachments: []penstock.Attachment{
				{FileName: "attached.txt", MimeType: "text/plain", Data: []byte("of the run")},
			},
		}, `demo: run cat .penstock/attachments/attached.txt`)
		w.becomes(id, penstock.StateSucceeded)
		list := w.payloads(id, "workspace_ready")
		if len(list) != 1 || list[0]["from"] != "cold" || !strings.Contains(w.printed(id), "of the run") {
			t.Errorf("%v, the run finds %s", list, w.printed(id))
		}
	})
}

// TestALayerThatStopsRunsIsRetired reverts a commit whose setup has left something in the way of skills: the
// layer has it still. The first run that fails is the last one.
func TestALayerThatStopsRunsIsRetired(t *testing.T) {
	eachWarm(t, func(w *world) {
		t := w.t
		app := repository(t, map[string]string{
			"setup.sh":                    "echo here > .penstock",
			".agents/skills/fix/SKILL.md": "---\nname: fix\ndescription: Fixes.\n---\nFix it.\n",
		})
		config := w.environment(penstock.EnvironmentConfig{
			Repos: []penstock.GitRepo{{URL: app}}, SetupCommands: []string{"sh app/setup.sh"},
		})
		w.prepared(config, "true")
		commit(t, app, "setup.sh", "true")
		skilled := *config
		skilled.Skills = []string{"fix"}
		request := penstock.RunRequest{Config: &skilled}
		w.becomes(w.create(request, "demo: run true"), penstock.StateFailed)
		if _, ready := w.prepared(&skilled, "true"); ready["from"] != "cold" {
			t.Errorf("the next run: %v", ready)
		}
		if _, ready := w.prepared(&skilled, "true"); ready["from"] != "layer" {
			t.Errorf("the run after it: %v", ready)
		}
	})
}
