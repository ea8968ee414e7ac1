package httpapi_test

import (
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/testkit"
)

func TestPrebuilds(t *testing.T) {
	t.Parallel()
	onControls(t, map[string]func(*testing.T, *world, penstock.Control){
		"from a report to its deletion":  prebuildLife,
		"reports of a hostile worker":    prebuildHostile,
		"a deletion that meets claims":   prebuildRace,
		"a failure that is deleted":      prebuildFailure,
		"a run of a deleted environment": prebuildEnvironment,
	})
}

// layerOf is a layer with every field.
func layerOf(environment, uid string, parents ...string) penstock.ReportedLayer {
	return penstock.ReportedLayer{
		EnvironmentUID: environment, Parents: parents, PreparedWorkspace: penstock.PreparedWorkspace{
			UID: uid, State: penstock.PreparedReady, Mode: penstock.PrebuildLazy, ImageDigest: "sha256:12",
			WorkerHost: "forged", Bytes: 5_000_000_000, Files: 7, DurationMS: 90_000, BuiltAt: 1_700_000_000_000,
			LastUsedAt: 1_700_000_001_000, Uses: 3,
			Heads: []penstock.PreparedHead{{URL: "https://example.com/acme/app.git", Commit: strings.Repeat("1", 40)}},
		},
	}
}

func reportAll(t *testing.T, c penstock.Control, layers ...penstock.ReportedLayer) (retired []string) {
	t.Helper()
	retired, err := c.ReportLayers(t.Context(), penstock.LayerReport{Folder: "folder", Host: "build-1", Layers: layers})
	if err != nil {
		t.Fatal(err)
	}
	return retired
}

func (w *world) newEnvironment(name string) (uid, prebuilds string) {
	w.t.Helper()
	uid = w.must(http.StatusCreated, "POST", "/api/v1/agent/environments", map[string]any{"name": name}).field("uid")
	return uid, "/api/v1/agent/environments/" + uid + "/prebuilds"
}

func (w *world) prebuilds(path string) []penstock.PreparedWorkspace {
	w.t.Helper()
	var list struct{ Prebuilds []penstock.PreparedWorkspace }
	w.must(http.StatusOK, "GET", path, nil).into(w.t, &list)
	return list.Prebuilds
}

// runIn creates a run in an environment, claims it, and returns the layers that it must not get.
func (w *world) runIn(c penstock.Control, environment string) []string {
	w.t.Helper()
	w.must(http.StatusOK, "POST", "/api/v1/agent/runs", map[string]any{
		"prompt": "x", "config": map[string]any{"environment_id": environment, "model_id": "demo/offline"},
	})
	return w.work(c).a.RetiredLayers
}

func prebuildLife(t *testing.T, w *world, c penstock.Control) {
	uid, path := w.newEnvironment("app")
	if list := w.prebuilds(path); list == nil || len(list) > 0 {
		t.Errorf("a new environment has %+v", list)
	}
	first, second := layerOf(uid, "first"), layerOf(uid, "second", "first")
	second.BuiltAt++
	reportAll(t, c, first, second)
	want := []penstock.PreparedWorkspace{second.PreparedWorkspace, first.PreparedWorkspace}
	for i := range want {
		want[i].WorkerHost = "build-1"
	}
	if diff := cmp.Diff(want, w.prebuilds(path)); diff != "" {
		t.Errorf("the list (-want +got):\n%s", diff)
	}
	if retired := w.runIn(c, uid); len(retired) > 0 {
		t.Errorf("before a deletion, a run must not get %v", retired)
	}
	_, reader := w.newKey(penstock.ScopeRunsRead)
	w.must(http.StatusForbidden, "DELETE", path+"/first", nil, "Authorization", "Bearer "+reader)
	w.must(http.StatusNotFound, "DELETE", path+"/unknown", nil)
	w.must(http.StatusNotFound, "DELETE", path+"/%25", nil)
	_, elsewhere := w.newEnvironment("other")
	w.must(http.StatusNotFound, "DELETE", elsewhere+"/first", nil)
	for range 2 {
		w.must(http.StatusNoContent, "DELETE", path+"/first", nil)
	}
	if retired := w.runIn(c, uid); !slices.Equal(retired, []string{"first", "second"}) {
		t.Errorf("after a deletion, a run must not get %v", retired)
	}
	list := w.prebuilds(path)
	if len(list) != 2 || list[0].Reason != "It was made from first, which was deleted." ||
		list[1].Reason != "It was deleted." {
		t.Errorf("the list has %+v", list)
	}
	// The launcher of a worker and the process that adopts the run have it, too.
	w.must(http.StatusOK, "POST", "/api/v1/agent/runs", map[string]any{
		"prompt": "x", "config": map[string]any{"environment_id": uid, "model_id": "demo/offline"},
	})
	launched := launch(t, c)
	if adopted := adopt(t, c, launched.Lease); len(launched.RetiredLayers) != 2 || len(adopted.RetiredLayers) != 2 {
		t.Errorf("launched with %v, adopted with %v", launched.RetiredLayers, adopted.RetiredLayers)
	}
	if retired := reportAll(t, c, first, second); !slices.Equal(retired, []string{"first", "second"}) {
		t.Errorf("a worker that was away removes %v", retired)
	}
	reportAll(t, c)
	if list := w.prebuilds(path); len(list) > 0 {
		t.Errorf("after the worker has removed them: %+v", list)
	}
	if retired := w.runIn(c, uid); len(retired) != 2 {
		t.Errorf("a later run must not get %v", retired)
	}
}

func prebuildHostile(t *testing.T, w *world, c penstock.Control) {
	uid, path := w.newEnvironment("app")
	good, foreign, odd := layerOf(uid, "good"), layerOf("7Qm2ZrX0bN4kLw9TcYvE1a", "foreign"), layerOf(uid, "odd")
	odd.State, odd.Mode = penstock.PreparedFailed, "eager"
	odd.Reason = "a\x01b\x1b[31m\n\u202ec" + strings.Repeat("€", 10_000)
	odd.Bytes, odd.Files, odd.DurationMS, odd.Uses = -1, -1, -1, -1
	odd.BuiltAt, odd.LastUsedAt = -5, penstock.Now()+1_000_000_000
	odd.ImageDigest = strings.Repeat("d", 10_000)
	odd.Heads = []penstock.PreparedHead{
		{URL: "https://user:password@example.com/a.git", Commit: "c\n"},
		{URL: "javascript:alert(1)"},
		{URL: strings.Repeat("https://example.com/", 1000)},
	}
	for range 100 {
		odd.Heads = append(odd.Heads, penstock.PreparedHead{})
	}
	layers := []penstock.ReportedLayer{good, foreign, odd, good}
	for _, change := range []func(*penstock.ReportedLayer){
		func(l *penstock.ReportedLayer) { l.UID = "a%" },
		func(l *penstock.ReportedLayer) { l.UID = "" },
		func(l *penstock.ReportedLayer) { l.UID = strings.Repeat("a", 65) },
		func(l *penstock.ReportedLayer) { l.UID, l.State = "state", "building" },
		func(l *penstock.ReportedLayer) { l.UID, l.Parents = "parents", []string{"x,good"} },
	} {
		bad := layerOf(uid, "bad")
		change(&bad)
		layers = append(layers, bad)
	}
	reportAll(t, c, layers...)
	list := w.prebuilds(path)
	if len(list) != 2 {
		t.Fatalf("the list has %+v", list)
	}
	slices.SortFunc(list, func(a, b penstock.PreparedWorkspace) int { return strings.Compare(a.UID, b.UID) })
	got := list[1]
	if !strings.HasPrefix(got.Reason, "a b [31m c€€€") || len(got.Reason) > 1000 || len(got.ImageDigest) != 500 ||
		got.Mode != "" || got.Bytes != 0 || got.Files != 0 || got.DurationMS != 0 || got.Uses != 0 || got.BuiltAt != 0 ||
		got.LastUsedAt > penstock.Now() || len(got.Heads) != 20 {
		t.Errorf("%+v", got)
	}
	want := []penstock.PreparedHead{{URL: "https://example.com/a.git", Commit: "c"}, {}, {}}
	if diff := cmp.Diff(want, got.Heads[:3]); diff != "" {
		t.Errorf("the heads (-want +got):\n%s", diff)
	}
	layers = nil
	for range penstock.MaxReportedLayers + 10 {
		layers = append(layers, layerOf(uid, penstock.NewID()))
	}
	reportAll(t, c, layers...)
	if list := w.prebuilds(path); len(list) != penstock.MaxReportedLayers {
		t.Errorf("%d layers are known", len(list))
	}
	other, elsewhere := w.newEnvironment("other")
	spread := slices.Clone(layers[:600])
	for range 600 {
		spread = append(spread, layerOf(other, penstock.NewID()))
	}
	reportAll(t, c, spread...)
	if here, there := len(w.prebuilds(path)), len(w.prebuilds(elsewhere)); here != 600 || there != 400 {
		t.Errorf("%d and %d layers of one worker are known", here, there)
	}
	reportAll(t, c, layers...)
	for range 4 { // about sixteen thousand
		layers = append(layers, layers...)
	}
	_, err := c.ReportLayers(t.Context(), penstock.LayerReport{Folder: "folder", Host: "build-1", Layers: layers})
	if list := w.prebuilds(path); len(list) != penstock.MaxReportedLayers {
		t.Errorf("%d layers are known, %v", len(list), err)
	}
	for _, bad := range []penstock.LayerReport{
		{Host: "h"}, {Folder: "a b", Host: "h"}, {Folder: "f"}, {Folder: "f", Host: "\x00"},
	} {
		if _, err := c.ReportLayers(t.Context(), bad); penstock.CodeOf(err) != penstock.CodeInvalidRequest {
			t.Errorf("report %+v: %v", bad, err)
		}
	}
	_, reader := w.newKey(penstock.ScopeRunsRead)
	w.must(http.StatusForbidden, "POST", "/api/v1/worker/layers", `{"folder": "f", "worker_host": "h"}`,
		"Authorization", "Bearer "+reader)
}

func prebuildRace(t *testing.T, w *world, c penstock.Control) {
	uid, path := w.newEnvironment("app")
	const runs = 12
	for range runs {
		w.must(http.StatusOK, "POST", "/api/v1/agent/runs", map[string]any{
			"prompt": "x", "config": map[string]any{"environment_id": uid, "model_id": "demo/offline"},
		})
	}
	reportAll(t, c, layerOf(uid, "bad"))
	var deleted atomic.Bool
	var all sync.WaitGroup
	all.Go(func() {
		w.must(http.StatusNoContent, "DELETE", path+"/bad", nil)
		deleted.Store(true)
	})
	for range 4 {
		all.Go(func() {
			for range runs / 4 {
				before := deleted.Load()
				if a := w.work(c).a; before && len(a.RetiredLayers) != 1 {
					t.Errorf("a run that was claimed after the deletion may get it: %v", a.RetiredLayers)
				}
				if _, err := c.ReportLayers(t.Context(), penstock.LayerReport{
					Folder: "folder", Host: "build-1", Layers: []penstock.ReportedLayer{layerOf(uid, "bad")},
				}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if list := w.prebuilds(path); len(list) != 1 || list[0].State != penstock.PreparedRetired {
		t.Errorf("the list has %+v", list)
	}
}

// TestADeletionOnAnotherServer deletes a layer on one server. The next claim on another one hears of it.
func TestADeletionOnAnotherServer(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, url string) {
		here := start(t, func(s *settings) { s.storeURL = url })
		there := start(t, func(s *settings) { s.storeURL = url })
		uid, path := here.newEnvironment("app")
		c := remote(t, here)
		reportAll(t, c, layerOf(uid, "bad"))
		there.must(http.StatusNoContent, "DELETE", path+"/bad", nil)
		if retired := here.runIn(c, uid); !slices.Equal(retired, []string{"bad"}) {
			t.Errorf("a run of the other server must not get %v", retired)
		}
		if list := here.prebuilds(path); len(list) != 1 || list[0].State != penstock.PreparedRetired {
			t.Errorf("the other server lists %+v", list)
		}
	})
}

func prebuildFailure(t *testing.T, w *world, c penstock.Control) {
	uid, path := w.newEnvironment("app")
	failed := layerOf(uid, "failed")
	failed.State, failed.Reason = penstock.PreparedFailed, "The setup left the secret NPM_TOKEN in the file work/.npmrc."
	reportAll(t, c, failed)
	if list := w.prebuilds(path); len(list) != 1 || list[0].State != penstock.PreparedFailed ||
		list[0].Reason != failed.Reason {
		t.Errorf("the list has %+v", list)
	}
	w.must(http.StatusNoContent, "DELETE", path+"/failed", nil)
	if retired := reportAll(t, c, failed); !slices.Equal(retired, []string{"failed"}) {
		t.Errorf("the worker forgets %v", retired)
	}
}

func prebuildEnvironment(t *testing.T, w *world, c penstock.Control) {
	uid, path := w.newEnvironment("app")
	reportAll(t, c, layerOf(uid, "bad"))
	w.must(http.StatusOK, "POST", "/api/v1/agent/runs", map[string]any{
		"prompt": "x", "config": map[string]any{"environment_id": uid, "model_id": "demo/offline"},
	})
	w.must(http.StatusNoContent, "DELETE", path+"/bad", nil)
	w.must(http.StatusNoContent, "DELETE", strings.TrimSuffix(path, "/prebuilds"), nil)
	for _, method := range []string{"GET " + path, "DELETE " + path + "/bad"} {
		verb, path, _ := strings.Cut(method, " ")
		w.must(http.StatusNotFound, verb, path, nil)
	}
	if a := w.work(c).a; !slices.Equal(a.RetiredLayers, []string{"bad"}) {
		t.Errorf("the run must not get %v", a.RetiredLayers)
	}
}
