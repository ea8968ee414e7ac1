package worker_test

import (
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/execution/worker"
	"github.com/penstock-dev/penstock/internal/testkit"
	"github.com/penstock-dev/penstock/internal/wall/sandbox"
)

// Each repository is cloned into the folder that git would make, or into a safe form of it.
func TestFoldersOfRepositories(t *testing.T) {
	w := newWorld(t)
	w.start(nil)
	root := t.TempDir()
	var repos []penstock.GitRepo
	add := func(folder, address string) {
		made := strings.TrimPrefix(repository(t, map[string]string{"a.txt": folder + "\n"}), "file://")
		if err := os.MkdirAll(filepath.Dir(filepath.Join(root, folder)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(made, filepath.Join(root, folder)); err != nil {
			t.Fatal(err)
		}
		repos = append(repos, penstock.GitRepo{URL: "file://" + root + "/" + address})
	}
	add("org/.github", "org/.github")
	add("org/C++ tools", "org/C++ tools")
	add("org/my app", "org/my%20app")
	add("org/größe-日本", "org/größe-日本")
	add("org/e-acute", url.PathEscape("org/e-acute"))
	add("one/app", "one/app")
	add("two/app", "two/app/")
	add("three/two/app", "three/two/app/.git")
	add("org/.penstock", "org/.penstock")
	add("org/event-payload.json", "org/event-payload.json")
	add("org/event-payload.raw", "org/event-payload.raw")
	add("org/-rf", "org/-rf")
	add("org/a\u202eb", "org/a%E2%80%AEb")
	repos = append(repos, penstock.GitRepo{URL: repos[5].URL, Ref: "main"})
	config := w.environment(penstock.EnvironmentConfig{Repos: repos})
	id := w.create(penstock.RunRequest{Config: config},
		"demo: run for d in */ .[a-z]*/; do printf new > \"$d/a.txt\"; done")
	w.becomes(id, penstock.StateSucceeded)
	found, err := w.Files.Changes(t.Context(), w.admin, id)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range found.Repositories {
		got = append(got, r.Name)
		patch, err := w.Files.Patch(t.Context(), w.admin, id, r.Name)
		if err != nil || !strings.Contains(string(patch), "+new\n") {
			t.Errorf("the patch of %q: %v\n%s", r.Name, err, patch)
		}
	}
	want := []string{
		".github", "C++ tools", "my%20app", "größe-日本", "org%2Fe-acute", "app", "two-app", "two-app-2", "org-.penstock",
		"org-event-payload.json", "org-event-payload.raw",
		"_-rf", "a%E2%80%AEb", "one-app",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("folders (-want +got):\n%s", diff)
	}
}

// An empty repository is an unborn branch, and one whose HEAD names a missing branch, too.
func TestRepositoriesWithoutCommits(t *testing.T) {
	w := newWorld(t)
	w.start(nil)
	empty, gone := t.TempDir(), strings.TrimPrefix(repository(t, map[string]string{"a.txt": "one\n"}), "file://")
	for dir, args := range map[string][]string{
		empty: {"init", "-q", "--bare", "-b", "trunk"}, gone: {"symbolic-ref", "HEAD", "refs/heads/gone"},
	} {
		cmd := exec.Command("git", args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	config := w.environment(penstock.EnvironmentConfig{
		Repos: []penstock.GitRepo{{URL: "file://" + empty}, {URL: "file://" + gone}},
	})
	name := filepath.Base(empty)
	id := w.create(penstock.RunRequest{Config: config},
		"demo: run cd "+name+" && echo hello > new.txt && git add . && git commit -qm first && git branch --show-current")
	w.becomes(id, penstock.StateSucceeded)
	if out := strings.Join(w.outputs(id, "run_command"), ""); !strings.Contains(out, "trunk") {
		t.Errorf("the agent finds %s", out)
	}
	events := w.payloads(id, "unborn_branch")
	if len(events) != 2 || events[0]["branch"] != "trunk" || events[0]["branches"] != nil ||
		!strings.Contains(fmt.Sprint(events[1]["message"]), "Set ref") ||
		fmt.Sprint(events[1]["branches"]) != "[main]" {
		t.Errorf("the timeline has %v", events)
	}
	found, err := w.Files.Changes(t.Context(), w.admin, id)
	if err != nil {
		t.Fatal(err)
	}
	if r := found.Repositories[0]; r.Error != "" || r.Base != "" || r.Branch != "trunk" || len(r.Files) != 1 {
		t.Errorf("the changes are %+v", r)
	}
}

// A run can commit in each kind of sandbox: in a repository of its environment and in one of its own.
// What a person has set wins, and so does what an earlier turn has set.
func TestCommitsHaveAnIdentity(t *testing.T) {
	eachKind(t, func(w *world, box sandbox.Sandbox) {
		w.start(func(o *worker.Options) { o.Sandbox, o.PublicURL = box, "https://penstock.test:8443" })
		_, config := w.ofApp(map[string]string{"a.txt": "one\n"})
		const show = `git log -1 --format='<%an|%ae|%cn>'`
		id := w.create(penstock.RunRequest{Config: config},
			"demo: run cd app && echo two > a.txt && git commit -qam two && "+show+
				" && git init -q ../own && cd ../own && git commit -q --allow-empty -m one && "+show,
			"demo: run cd app && GIT_AUTHOR_NAME=Ann git commit -q --allow-empty -m three && "+show+
				" && git config --global user.name Bob")
		w.becomes(id, penstock.StateSucceeded)
		w.followUp(id, "demo: run cd app && git commit -q --allow-empty -m four && "+show)
		testkit.Eventually(w.t, timeout, func() error {
			if run := w.get(id); run.ExecutionID != 2 || run.State != penstock.StateSucceeded {
				return fmt.Errorf("execution %d is %s", run.ExecutionID, run.State)
			}
			return nil
		})
		got := strings.Join(w.outputs(id, "run_command"), "")
		if strings.Count(got, "<Penstock agent|agent@penstock.test|Penstock agent>") != 2 ||
			!strings.Contains(got, "<Ann|agent@penstock.test|Penstock agent>") ||
			!strings.Contains(got, "<Bob|agent@penstock.test|Bob>") {
			w.t.Errorf("the agent finds %s", got)
		}
	})
}
