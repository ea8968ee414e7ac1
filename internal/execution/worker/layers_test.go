package worker_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/execution/worker"
	"github.com/penstock-dev/penstock/internal/supply/layer"
	"github.com/penstock-dev/penstock/internal/testkit"
	"github.com/penstock-dev/penstock/internal/wall/sandbox"
)

// lists waits until the list of an environment has these states, the newest first, and returns it.
func (w *world) lists(environment string, states ...penstock.PreparedState) []penstock.PreparedWorkspace {
	w.t.Helper()
	var list []penstock.PreparedWorkspace
	testkit.Eventually(w.t, timeout, func() (err error) {
		list, err = w.Catalog.ListPrebuilds(w.t.Context(), w.admin, environment)
		got := []penstock.PreparedState{}
		for _, p := range list {
			got = append(got, p.State)
		}
		if err != nil || !slices.Equal(got, states) {
			return fmt.Errorf("the list is %+v, %w, not %v", list, err, states)
		}
		return nil
	})
	return list
}

func (w *world) deletePrebuild(environment, uid string) {
	w.t.Helper()
	if err := w.Catalog.DeletePrebuild(w.t.Context(), w.admin, environment, uid); err != nil {
		w.t.Fatal(err)
	}
}

// TestWorkersReportTheirLayers lists what runs leave, and deletes a layer: its worker removes it with what
// was made from it, and the next run is prepared anew.
func TestWorkersReportTheirLayers(t *testing.T) {
	eachWarm(t, func(w *world) {
		t := w.t
		app := repository(t, map[string]string{"main.txt": "v1"})
		config := w.environment(penstock.EnvironmentConfig{
			Repos: []penstock.GitRepo{{URL: app}}, SetupCommands: []string{"echo made >> made"},
		})
		uid := config.EnvironmentID
		_, ready := w.prepared(config, "true")
		first := w.lists(uid, penstock.PreparedReady)[0]
		if first.UID != ready["sealed_uid"] || first.WorkerHost != "here" || first.Bytes == 0 || first.Files == 0 ||
			first.DurationMS <= 0 || first.BuiltAt == 0 || first.LastUsedAt != 0 || first.Uses != 0 ||
			first.Mode != penstock.PrebuildLazy || len(first.Heads) != 1 || first.Heads[0].URL != app ||
			len(first.Heads[0].Commit) != 40 {
			t.Errorf("%+v", first)
		}
		w.prepared(config, "true")
		commit(t, app, "main.txt", "v2")
		w.prepared(config, "true")
		var list []penstock.PreparedWorkspace
		testkit.Eventually(t, timeout, func() error {
			if list = w.lists(uid, penstock.PreparedReady, penstock.PreparedReady); list[1].Uses != 2 {
				return fmt.Errorf("%+v", list)
			}
			return nil
		})
		if list[1].UID != first.UID || list[1].LastUsedAt == 0 || list[0].Heads[0].Commit == first.Heads[0].Commit {
			t.Errorf("%+v", list)
		}
		w.deletePrebuild(uid, first.UID)
		w.lists(uid, penstock.PreparedRetired, penstock.PreparedRetired)
		id, ready := w.prepared(config, "cat made")
		if ready["from"] != "cold" || ready["reason"] != "There is no layer yet." || w.printed(id) != `"made\n"}` {
			t.Errorf("the next run: %v, finds %s", ready, w.printed(id))
		}
		if last := w.lists(uid, penstock.PreparedReady); last[0].UID != ready["sealed_uid"] {
			t.Errorf("%+v", last)
		}
	})
}

// TestWhatAWorkerHasNotReportedIsDeletedToo deletes a layer while reports get lost: the server does not know
// what was made from it.
func TestWhatAWorkerHasNotReportedIsDeletedToo(t *testing.T) {
	w := newWorld(t)
	dir := t.TempDir()
	box := newSandbox(t, sandbox.Bubblewrap)
	warm := func(o *worker.Options) { o.Sandbox, o.Layers = box, layer.Open(dir, 1<<30) }
	_, stop := w.start(warm)
	app := repository(t, map[string]string{"main.txt": "v1"})
	config := w.environment(penstock.EnvironmentConfig{
		Repos: []penstock.GitRepo{{URL: app}}, SetupCommands: []string{"echo made >> made"},
	})
	w.prepared(config, "true")
	first := w.lists(config.EnvironmentID, penstock.PreparedReady)[0].UID
	w.plane.set(func(c *plane) {
		c.before = func(method string) error {
			if method == "ReportLayers" {
				return errAway
			}
			return nil
		}
	})
	commit(t, app, "main.txt", "v2")
	_, ready := w.prepared(config, "true")
	if ready["prebuild_uid"] != first || ready["sealed_uid"] == nil {
		t.Fatalf("%v", ready)
	}
	second := fmt.Sprint(ready["sealed_uid"])
	w.deletePrebuild(config.EnvironmentID, first)
	_, ready = w.prepared(config, "true")
	if ready["from"] != "cold" {
		t.Errorf("a run after the deletion: %v", ready)
	}
	for _, uid := range []string{first, second} {
		if left, _ := filepath.Glob(filepath.Join(dir, uid+"*")); len(left) > 0 {
			t.Errorf("the disk still has %s", left)
		}
	}
	stop()
	w.plane.set(func(c *plane) { c.before = nil })
	w.start(warm) // which reports all
	if list := w.lists(config.EnvironmentID, penstock.PreparedReady); list[0].UID != ready["sealed_uid"] {
		t.Errorf("%+v", list)
	}
}

// TestADeletionReachesAWorkerThatWasAway deletes a layer while its worker does not run. It removes the
// layer when it starts.
func TestADeletionReachesAWorkerThatWasAway(t *testing.T) {
	w := newWorld(t)
	dir := t.TempDir()
	box := newSandbox(t, sandbox.Bubblewrap)
	warm := func(o *worker.Options) { o.Sandbox, o.Layers = box, layer.Open(dir, 1<<30) }
	_, stop := w.start(warm)
	config := w.environment(penstock.EnvironmentConfig{SetupCommands: []string{"echo made >> made"}})
	w.prepared(config, "true")
	first := w.lists(config.EnvironmentID, penstock.PreparedReady)[0].UID
	stop()
	w.deletePrebuild(config.EnvironmentID, first)
	w.start(warm)
	testkit.Eventually(t, timeout, func() error {
		if left, _ := filepath.Glob(filepath.Join(dir, first+"*")); len(left) > 0 {
			return fmt.Errorf("the disk still has %s", left)
		}
		return nil
	})
	w.lists(config.EnvironmentID)
	if _, ready := w.prepared(config, "true"); ready["from"] != "cold" {
		t.Errorf("the next run: %v", ready)
	}
}

// TestFailuresAreReported lists why no layer was made, without secrets. After its deletion, the next run
// tries again at once.
func TestFailuresAreReported(t *testing.T) {
	w := newWorld(t)
	dir := t.TempDir()
	w.start(func(o *worker.Options) {
		o.Sandbox, o.Layers = newSandbox(t, sandbox.Bubblewrap), layer.Open(dir, 1<<30)
	})
	const value = "deploy-key-of-the-team"
	w.secret("NPM_TOKEN", "npm-token-of-the-team")
	w.secret("DEPLOY_KEY", value)
	config := w.environment(penstock.EnvironmentConfig{
		Prebuild:      &penstock.Prebuild{Secrets: []string{"NPM_TOKEN"}},
		SetupCommands: []string{`echo "$NPM_TOKEN" > ` + value},
	})
	config.Secrets = []string{"NPM_TOKEN", "DEPLOY_KEY"}
	w.prepared(config, "true")
	failed := w.lists(config.EnvironmentID, penstock.PreparedFailed)[0]
	if strings.Contains(failed.Reason, value) ||
		!strings.HasPrefix(failed.Reason, "The setup left the secret NPM_TOKEN in the file work/") || failed.BuiltAt == 0 {
		t.Errorf("%+v", failed)
	}
	files, _ := filepath.Glob(filepath.Join(dir, "*.failed"))
	for _, name := range files {
		if content, err := os.ReadFile(name); err != nil || strings.Contains(string(content), value) {
			t.Errorf("the worker keeps %s, %v", content, err)
		}
	}
	_, waits := w.prepared(config, "true")
	if !strings.Contains(fmt.Sprint(waits["reason"]), "The next try is at") {
		t.Errorf("%v", waits)
	}
	w.deletePrebuild(config.EnvironmentID, failed.UID)
	_, again := w.prepared(config, "true")
	if strings.Contains(fmt.Sprint(again["reason"]), "The next try is at") || again["not_kept"] == nil {
		t.Errorf("%v", again)
	}
	if last := w.lists(config.EnvironmentID, penstock.PreparedFailed)[0]; last.UID == failed.UID {
		t.Errorf("%+v", last)
	}
}

// TestARetiredLayerSaysWhy lists a layer on which the commands of a later commit have failed.
func TestARetiredLayerSaysWhy(t *testing.T) {
	w := newWorld(t)
	w.start(func(o *worker.Options) {
		o.Sandbox, o.Layers = newSandbox(t, sandbox.Bubblewrap), layer.Open(t.TempDir(), 1<<30)
	})
	app := repository(t, map[string]string{"main.txt": "v1"})
	config := w.environment(penstock.EnvironmentConfig{
		Repos: []penstock.GitRepo{{URL: app}}, SetupCommands: []string{"mkdir made"},
	})
	w.prepared(config, "true")
	commit(t, app, "main.txt", "v2")
	w.prepared(config, "true")
	var reasons []string
	for _, p := range w.lists(config.EnvironmentID, penstock.PreparedRetired) {
		reasons = append(reasons, p.Reason)
	}
	if diff := cmp.Diff([]string{"The commands of a later run failed on it."}, reasons); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
