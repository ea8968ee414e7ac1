package worker_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/run"
	"github.com/penstock-dev/penstock/internal/execution/worker"
	"github.com/penstock-dev/penstock/internal/supply/git"
	"github.com/penstock-dev/penstock/internal/testkit"
	"github.com/penstock-dev/penstock/internal/wall/sandbox"
)

// changes returns the changes of a run, and the patch of its repository app.
func (w *world) changes(id string) (run.Changes, string) {
	w.t.Helper()
	found, err := w.Files.Changes(w.t.Context(), w.admin, id)
	if err != nil {
		w.t.Fatal(err)
	}
	patch, err := w.Files.Patch(w.t.Context(), w.admin, id, "app")
	if err != nil && penstock.CodeOf(err) != penstock.CodeNotFound {
		w.t.Fatal(err)
	}
	return found, string(patch)
}

func (w *world) ofApp(files map[string]string) (url string, config *penstock.Config) {
	w.t.Helper()
	url = repository(w.t, files)
	return url, w.environment(penstock.EnvironmentConfig{Repos: []penstock.GitRepo{{URL: url}}})
}

// The changes cover all turns so far, in each kind of sandbox, and each turn replaces them.
func TestChangesOfEachTurn(t *testing.T) {
	eachKind(t, func(w *world, box sandbox.Sandbox) {
		w.start(in(box))
		url, config := w.ofApp(map[string]string{"a.txt": "one\n", ".gitignore": "*.log\n"})
		id := w.create(
			penstock.RunRequest{Config: config},
			`demo: write app/a.txt two\n`, `demo: write app/x.log ignored`, `demo: say done`,
		)
		run := w.becomes(id, penstock.StateSucceeded)
		got, patch := w.changes(id)
		want := []penstock.RepositoryChanges{{
			Name: "app", URL: url, Branch: "main",
			Files:    []penstock.FileChange{{Path: "a.txt", Status: git.FileModified, Additions: 1, Deletions: 1}},
			PatchURL: "https://penstock.test/api/v1/agent/runs/" + run.ID + "/changes/app/patch",
		}}
		if len(got.Repositories) == 1 {
			want[0].Base = got.Repositories[0].Base
		}
		if diff := cmp.Diff(want, got.Repositories); diff != "" || len(want[0].Base) != 40 {
			t.Fatalf("%s\n%+v", diff, got)
		}
		if !strings.Contains(patch, "-one\n+two\n") {
			t.Errorf("the patch is\n%s", patch)
		}
		w.followUp(id, `demo: run cd app && git checkout -q -b fix && git -c user.name=a -c user.email=a@b commit -qam fix`,
			`demo: write app/new.txt new\n`)
		testkit.Eventually(t, timeout, func() error {
			if run := w.get(id); run.ExecutionID != 2 || run.State != penstock.StateSucceeded {
				return fmt.Errorf("execution %d is %s", run.ExecutionID, run.State)
			}
			return nil
		})
		later, patch := w.changes(id)
		if r := later.Repositories[0]; len(r.Files) != 2 || r.Branch != "fix" || r.Base != got.Repositories[0].Base ||
			!strings.Contains(patch, "-one\n+two\n") || !strings.Contains(patch, "+new\n") {
			t.Errorf("after the second turn: %+v\n%s", later, patch)
		}
		if later.UpdatedAt <= got.UpdatedAt {
			t.Errorf("updated at %v, then at %v", got.UpdatedAt, later.UpdatedAt)
		}
	})
}

// The changes are in the log before the run is reported as done.
func TestChangesComeBeforeTheEndOfTheTurn(t *testing.T) {
	w := newWorld(t)
	w.start(nil)
	_, config := w.ofApp(map[string]string{"a.txt": "one\n"})
	id := w.create(
		penstock.RunRequest{Config: config}, `demo: write app/a.txt two\n`,
	)
	w.becomes(id, penstock.StateSucceeded)
	saved, done := -1, -1
	for i, e := range w.events(id) {
		switch {
		case strings.Contains(string(e.Data), penstock.TimelineChangesSaved):
			saved = i
			if !strings.Contains(string(e.Data), `"additions":1`) {
				t.Errorf("the event is %s", e.Data)
			}
		case strings.Contains(string(e.Data), run.TimelineDone):
			done = i
		}
	}
	if saved < 0 || done < saved {
		t.Errorf("changes at %d, done at %d", saved, done)
	}
}

// A run says why its changes are unknown.
func TestChangesThatCannotBeComputedSayWhy(t *testing.T) {
	w := newWorld(t)
	w.start(nil)
	_, config := w.ofApp(map[string]string{"a.txt": "one\n"})
	id := w.create(
		penstock.RunRequest{Config: config}, `demo: run rm -rf app`,
	)
	w.becomes(id, penstock.StateSucceeded)
	got, patch := w.changes(id)
	if len(got.Repositories) != 1 || !strings.Contains(got.Repositories[0].Error, "no longer exists") || patch != "" {
		t.Errorf("got %+v\n%s", got, patch)
	}
	if got.Repositories[0].Files == nil {
		t.Error("files are null")
	}
	id = w.create(penstock.RunRequest{}, `demo: say no repository`)
	w.becomes(id, penstock.StateSucceeded)
	if got, _ := w.changes(id); got.Repositories == nil || len(got.Repositories) > 0 || got.UpdatedAt != 0 {
		t.Errorf("without a repository: %+v", got)
	}
}

// A secret of the run is masked in a patch, also one of several lines.
func TestSecretsInAPatchAreMasked(t *testing.T) {
	w := newWorld(t)
	w.start(nil)
	const key = "-----BEGIN KEY-----\nc2VjcmV0LWxpbmUtb25l\nc2VjcmV0LWxpbmUtdHdv\n-----END KEY-----"
	w.secret("DEPLOY_KEY", key)
	_, config := w.ofApp(map[string]string{"a.txt": "one\n"})
	config.Secrets = penstock.SecretNames{"DEPLOY_KEY"}
	id := w.create(
		penstock.RunRequest{Config: config},
		`demo: run printf '%s\nafter\n' "$DEPLOY_KEY" > app/key.pem; sed 's/^/    /' app/key.pem > app/key.yaml`,
	)
	w.becomes(id, penstock.StateSucceeded)
	_, patch := w.changes(id)
	if strings.Contains(patch, "c2VjcmV0") || !strings.Contains(patch, "+after\n") || !strings.Contains(patch, "***") {
		t.Errorf("the patch is\n%s", patch)
	}
}

// The worker removes what it needs for a comparison.
func TestAComparisonLeavesNothingBehind(t *testing.T) {
	w := newWorld(t)
	dir := t.TempDir()
	w.start(func(o *worker.Options) { o.Dir = dir })
	_, config := w.ofApp(map[string]string{"a.txt": "one\n"})
	id := w.create(
		penstock.RunRequest{Config: config}, `demo: write app/a.txt two\n`,
	)
	w.becomes(id, penstock.StateSucceeded)
	if _, err := os.Stat(filepath.Join(dir, "runs", id, "scratch")); err == nil {
		t.Error("the scratch folder is left")
	}
}
