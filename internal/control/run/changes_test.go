package run_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/run"
	"github.com/penstock-dev/penstock/internal/supply/git"
	"github.com/penstock-dev/penstock/internal/testkit"
)

// changed makes an upload with these patches, each of its own repository.
func changed(patches ...string) (penstock.Upload, string) {
	saved, all := penstock.SavedChanges{}, strings.Join(patches, "")
	for i, patch := range patches {
		saved.Repositories = append(saved.Repositories, penstock.SavedRepository{
			RepositoryChanges: penstock.RepositoryChanges{
				Name: fmt.Sprintf("r%d", i), URL: "https://example.com/r",
				Files: []penstock.FileChange{{Path: "a", Status: git.FileModified, Additions: 1, Deletions: 2}},
			},
			PatchBytes: int64(len(patch)),
		})
	}
	return penstock.Upload{ID: penstock.NewID(), Size: int64(len(all)), Changes: &saved}, all
}

func (w *world) saveChanges(l penstock.Lease, u penstock.Upload, content string) error {
	_, err := w.Executions.Control().Save(w.T.Context(), l, u, strings.NewReader(content))
	return err
}

func (w *world) patch(run, name string) string {
	w.T.Helper()
	patch, err := w.Files.Patch(w.T.Context(), w.Admin, run, name)
	if err != nil {
		return "error: " + err.Error()
	}
	return string(patch)
}

func (w *world) countEvents(run, kind string) (n int) {
	w.T.Helper()
	timeline, err := w.Runs.Timeline(w.T.Context(), w.Admin, run)
	if err != nil {
		w.T.Fatal(err)
	}
	for _, e := range timeline {
		if e.Type == kind {
			n++
		}
	}
	return n
}

// The changes of a turn replace those before, once, and only under the lease.
func TestChangesReplaceTheChangesOfTheTurnBefore(t *testing.T) {
	worlds(t, func(o *run.Deps) { o.KeepRunsFor = time.Hour }, func(w *world) {
		run := w.Create(penstock.RunRequest{Prompt: "p"}).ID
		a := w.Work()
		first, content := changed("one", "", "two")
		for range 2 { // the answer to the first call was lost
			if err := w.saveChanges(a.Lease, first, content); err != nil {
				w.T.Fatal(err)
			}
		}
		events := w.countEvents(run, penstock.TimelineChangesSaved)
		if w.patch(run, "r0") != "one" || w.patch(run, "r2") != "two" || events != 1 {
			w.T.Errorf("got %q and %q, and %d events", w.patch(run, "r0"), w.patch(run, "r2"), events)
		}
		for _, name := range []string{"r1", "r3", "", "../r0"} {
			if got := w.patch(run, name); !strings.Contains(got, "not found") {
				w.T.Errorf("the patch of %q is %q", name, got)
			}
		}
		got, err := w.Files.Changes(w.T.Context(), w.Admin, run)
		if err != nil || len(got.Repositories) != 3 || got.Repositories[1].PatchURL != "" ||
			!strings.HasSuffix(got.Repositories[2].PatchURL, "/api/v1/agent/runs/"+run+"/changes/r2/patch") {
			w.T.Errorf("got %+v, %v", got, err)
		}
		second, content := changed("the second turn")
		if err := w.saveChanges(a.Lease, second, content); err != nil {
			w.T.Fatal(err)
		}
		if w.patch(run, "r0") != "the second turn" || len(w.keys()) != 1 {
			w.T.Errorf("after the second turn: %q, files %v", w.patch(run, "r0"), w.keys())
		}
		stolen := a.Lease
		stolen.Token = "another"
		third, content := changed("of nobody")
		if err := w.saveChanges(stolen, third, content); !errors.Is(err, penstock.ErrLeaseLost) {
			w.T.Errorf("without the lease: %v", err)
		}
		if w.patch(run, "r0") != "the second turn" || len(w.keys()) != 1 {
			w.T.Errorf("without the lease: %q, files %v", w.patch(run, "r0"), w.keys())
		}
		w.refusesChanges(a.Lease)
		w.age(48*time.Hour, w.keys()...)
		testkit.Exec(w.T, w.URL, "UPDATE settings SET value = '0' WHERE name = 'files_since'")
		if err := w.Files.RemoveOrphans(w.T.Context()); err != nil || w.patch(run, "r0") != "the second turn" {
			w.T.Errorf("after a search for lost files: %q, %v", w.patch(run, "r0"), err)
		}
		w.Finish(a.Lease, penstock.Result{State: penstock.StateSucceeded})
		testkit.Exec(w.T, w.URL, "UPDATE runs SET updated_at = 1 WHERE id = '"+run+"'")
		if err := w.Upkeep.RemoveOldRuns(w.T.Context()); err != nil || len(w.keys()) != 0 {
			w.T.Errorf("files of a run that was removed: %v, %v", w.keys(), err)
		}
		if left, err := w.Deps.Store.Files.Changes(w.T.Context(), run); err != nil || left.Upload != "" {
			w.T.Errorf("left is %+v, %v", left, err)
		}
	})
}

func (w *world) refusesChanges(l penstock.Lease) {
	w.T.Helper()
	short, _ := changed("longer than sent")
	long, content := changed(strings.Repeat("x", penstock.MaxPatchBytes+1))
	negative, _ := changed("x")
	negative.Changes.Repositories[0].PatchBytes = -1
	unequal, _ := changed("x")
	unequal.Size = 2
	many, _ := changed(make([]string, 201)...)
	for name, try := range map[string]struct {
		upload  penstock.Upload
		content string
	}{
		"cut off": {short, "long"}, "too long": {long, content}, "negative": {negative, "x"}, "unequal": {unequal, "xx"},
		"too many": {many, ""},
	} {
		if err := w.saveChanges(l, try.upload, try.content); penstock.CodeOf(err) != penstock.CodeInvalidRequest {
			w.T.Errorf("%s: got %v", name, err)
		}
	}
}

// A caller who cannot read a run cannot read its changes.
func TestChangesNeedTheRightToReadRuns(t *testing.T) {
	worlds(t, nil, func(w *world) {
		run := w.Create(penstock.RunRequest{Prompt: "p"}).ID
		a := w.Work()
		upload, content := changed("one")
		if err := w.saveChanges(a.Lease, upload, content); err != nil {
			w.T.Fatal(err)
		}
		writer := w.As("writer", penstock.ScopeRunsWrite)
		if _, err := w.Files.Changes(w.T.Context(), writer, run); penstock.CodeOf(err) != penstock.CodeNotAuthorized {
			w.T.Errorf("without runs:read: %v", err)
		}
		if _, err := w.Files.Patch(w.T.Context(), writer, run, "r0"); penstock.CodeOf(err) != penstock.CodeNotAuthorized {
			w.T.Errorf("without runs:read: %v", err)
		}
		if _, err := w.Files.Patch(
			w.T.Context(), w.Admin, penstock.NewID(), "r0",
		); penstock.CodeOf(err) != penstock.CodeNotFound {
			w.T.Errorf("of another run: %v", err)
		}
	})
}
