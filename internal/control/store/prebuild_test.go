package store_test

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/store"
	"github.com/penstock-dev/penstock/internal/testkit"
)

// kept is a ready layer of an environment.
func kept(environment, uid string, parents ...string) penstock.ReportedLayer {
	return penstock.ReportedLayer{
		EnvironmentUID: environment, Parents: parents, PreparedWorkspace: penstock.PreparedWorkspace{
			UID: uid, State: penstock.PreparedReady, BuiltAt: penstock.Now(), Uses: 3, LastUsedAt: 5, Bytes: 7,
			Heads: []penstock.PreparedHead{{URL: "https://example.com/app.git", Commit: "c"}},
		},
	}
}

// reportLayers reports all layers in the folder of a host.
func reportLayers(t *testing.T, s *store.Store, host string, layers ...penstock.ReportedLayer) (retired []string) {
	t.Helper()
	write(t, s, func(tx *store.Tx) (err error) {
		retired, err = tx.Prebuilds().Report(
			t.Context(), penstock.LayerReport{Folder: "folder", Host: host, Layers: layers},
		)
		return err
	})
	return retired
}

func retireLayer(t *testing.T, s *store.Store, environment, uid string) error {
	t.Helper()
	return s.Write(t.Context(), func(tx *store.Tx) error {
		err := tx.Environments().Use(t.Context(), store.DefaultTeam, environment)
		return errors.Join(err, tx.Prebuilds().Retire(t.Context(), environment, uid))
	})
}

// wantLayers compares the list of an environment: uid and state in turns.
func wantLayers(t *testing.T, s *store.Store, environment string, want ...string) {
	t.Helper()
	list, err := s.Prebuilds.List(t.Context(), environment)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, p := range list {
		got = append(got, p.UID+" "+string(p.State))
	}
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the list (-want +got):\n%s", diff)
	}
}

func wantRetired(t *testing.T, s *store.Store, environment string, want ...string) {
	t.Helper()
	got, err := s.Prebuilds.Retired(t.Context(), environment)
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%v are retired, %v, not %v", got, err, want)
	}
}

// TestADeletedLayerStaysDeleted lets a worker go on reporting what was deleted: as one that was away does,
// with what was made of it meanwhile, and from a copy of its disk.
func TestADeletedLayerStaysDeleted(t *testing.T) {
	t.Parallel()
	testkit.Stores(t, func(t *testing.T, s *store.Store) {
		e, other := addEnvironment(t, s, "app").UID, addEnvironment(t, s, "other").UID
		all := []penstock.ReportedLayer{
			kept(e, "a"), kept(e, "b", "a"), kept(e, "c", "a", "b"), kept(e, "d"), kept(other, "a"),
		}
		if retired := reportLayers(t, s, "one", all...); len(retired) > 0 {
			t.Errorf("nothing was deleted, but %v is retired", retired)
		}
		before, _ := s.Prebuilds.List(t.Context(), e)
		if err := retireLayer(t, s, e, "b"); err != nil {
			t.Fatal(err)
		}
		wantLayers(t, s, e, "a ready", "b retired", "c retired", "d ready")
		wantRetired(t, s, e, "b", "c")
		after, _ := s.Prebuilds.List(t.Context(), e)
		for i := range after {
			after[i].State, after[i].Reason = penstock.PreparedReady, ""
		}
		if diff := cmp.Diff(before, after); diff != "" {
			t.Errorf("a deletion changes more (-before +after):\n%s", diff)
		}
		if err := retireLayer(t, s, e, "b"); err != nil {
			t.Errorf("again: %v", err)
		}
		if got := reportLayers(t, s, "one", all...); !slices.Equal(got, []string{"b", "c"}) {
			t.Errorf("the worker that still has them hears of %v", got)
		}
		wantLayers(t, s, e, "a ready", "b retired", "c retired", "d ready")
		if got := reportLayers(t, s, "copy", kept(e, "a"), kept(e, "b", "a")); !slices.Equal(got, []string{"b"}) {
			t.Errorf("a copy of the worker hears of %v", got)
		}
		// The worker has removed them, but a preparation on top of one was still going on.
		got := reportLayers(t, s, "one", kept(e, "a"), kept(e, "d"), kept(e, "e", "a", "b"))
		if !slices.Equal(got, []string{"e"}) {
			t.Errorf("with a new one it hears of %v", got)
		}
		wantLayers(t, s, e, "a ready", "a ready", "b retired", "d ready", "e retired")
		wantRetired(t, s, e, "b", "c", "e")
		reportLayers(t, s, "one", all...) // its disk was restored from a backup
		wantLayers(t, s, e, "a ready", "a ready", "b retired", "b retired", "c retired", "d ready")
		wantLayers(t, s, other, "a ready")
		wantRetired(t, s, other)
	})
}

// TestOnlyLayersOfTheEnvironmentAreDeleted deletes what does not exist, and what belongs to another
// environment.
func TestOnlyLayersOfTheEnvironmentAreDeleted(t *testing.T) {
	t.Parallel()
	testkit.Stores(t, func(t *testing.T, s *store.Store) {
		e, other := addEnvironment(t, s, "app").UID, addEnvironment(t, s, "other").UID
		reportLayers(t, s, "one", kept(e, "a"), kept(e, "b", "gone"), kept("unknown", "c"))
		for _, uid := range []string{"c", "gone", "%", "_", ""} {
			if err := retireLayer(t, s, e, uid); penstock.CodeOf(err) != penstock.CodeNotFound {
				t.Errorf("delete %q: %v", uid, err)
			}
		}
		if err := retireLayer(t, s, other, "a"); penstock.CodeOf(err) != penstock.CodeNotFound {
			t.Errorf("delete a layer of another environment: %v", err)
		}
		wantLayers(t, s, e, "a ready", "b ready")
		wantLayers(t, s, "unknown")
	})
}

// TestLayersOfOneEnvironmentAreBounded reports more layers than anybody can look at, from many workers.
func TestLayersOfOneEnvironmentAreBounded(t *testing.T) {
	t.Parallel()
	testkit.Stores(t, func(t *testing.T, s *store.Store) {
		e := addEnvironment(t, s, "app").UID
		for host := range 4 {
			var layers []penstock.ReportedLayer
			for range penstock.MaxReportedLayers * 2 / 5 {
				layers = append(layers, kept(e, penstock.NewID()))
			}
			for range 2 { // the same twice replaces it
				reportLayers(t, s, fmt.Sprint(host), layers...)
			}
		}
		list, err := s.Prebuilds.List(t.Context(), e)
		if err != nil || len(list) != penstock.MaxReportedLayers {
			t.Errorf("%d layers are known, %v", len(list), err)
		}
	})
}

// TestRowsOfWorkersThatDisappeared removes them after days. A deleted layer is known longer than a worker
// could use it.
func TestRowsOfWorkersThatDisappeared(t *testing.T) {
	t.Parallel()
	testkit.Stores(t, func(t *testing.T, s *store.Store) {
		e := addEnvironment(t, s, "app").UID
		reportLayers(t, s, "one", kept(e, "a"), kept(e, "b"), kept(e, "c"))
		if err := errors.Join(retireLayer(t, s, e, "b"), retireLayer(t, s, e, "c")); err != nil {
			t.Fatal(err)
		}
		reportLayers(t, s, "one", kept(e, "a"), kept(e, "b"))
		const day = 24 * time.Hour
		for _, step := range []struct {
			after   time.Duration
			retired []string
		}{
			{6 * day, []string{"b", "c"}},
			{8 * day, []string{"b"}}, // its worker does not have c, but may still have b
			{364 * day, []string{"b"}},
			{366 * day, nil},
		} {
			if err := s.Prebuilds.Clear(t.Context(), penstock.Now().Add(step.after)); err != nil {
				t.Fatal(err)
			}
			wantRetired(t, s, e, step.retired...)
			if list, _ := s.Prebuilds.List(t.Context(), e); (len(list) == 2) != (step.after == 6*day) {
				t.Errorf("after %s: %v", step.after, list)
			}
		}
	})
}

// TestADeletionMeetsReports deletes a layer while its worker reports what it has made from it. Whatever is
// first, both are deleted.
func TestADeletionMeetsReports(t *testing.T) {
	t.Parallel()
	testkit.Stores(t, func(t *testing.T, s *store.Store) {
		e := addEnvironment(t, s, "app").UID
		for i := range 20 {
			first, second := fmt.Sprint("first", i), fmt.Sprint("second", i)
			reportLayers(t, s, "one", kept(e, first))
			var all sync.WaitGroup
			all.Go(func() { reportLayers(t, s, "one", kept(e, first), kept(e, second, first)) })
			all.Go(func() {
				if err := retireLayer(t, s, e, first); err != nil {
					t.Error(err)
				}
				if got, err := s.Prebuilds.Retired(t.Context(), e); err != nil || !slices.Contains(got, first) {
					t.Errorf("after the deletion, %v are retired, %v", got, err)
				}
			})
			all.Wait()
			wantLayers(t, s, e, first+" retired", second+" retired")
		}
	})
}

// TestAServerThatIsKilledDeletesAllOrNothing fails each statement of a deletion and of a report.
func TestAServerThatIsKilledDeletesAllOrNothing(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, url string) {
		killed := errors.New("killed")
		left := -1
		s, err := store.Open(t.Context(), store.Options{URL: url, Fault: func(string) error {
			if left--; left == 0 {
				return killed
			}
			return nil
		}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		e := addEnvironment(t, s, "app").UID
		reportLayers(t, s, "one", kept(e, "a"), kept(e, "b", "a"))
		for n := 1; ; n++ {
			left = n
			err := retireLayer(t, s, e, "a")
			left = -1
			if err == nil {
				break
			}
			if got, _ := s.Prebuilds.Retired(t.Context(), e); len(got) == 1 || n > 20 {
				t.Errorf("killed at statement %d (%v), %v are retired", n, err, got)
			}
		}
		wantRetired(t, s, e, "a", "b")
		for n := 1; ; n++ {
			left = n
			err := s.Write(t.Context(), func(tx *store.Tx) error {
				_, err := tx.Prebuilds().Report(t.Context(), penstock.LayerReport{
					Folder: "folder", Host: "one", Layers: []penstock.ReportedLayer{kept(e, "c", "a")},
				})
				return err
			})
			left = -1
			wantRetired := []string{"a", "b"}
			if got, _ := s.Prebuilds.Retired(t.Context(), e); len(got) > 2 {
				wantRetired = []string{"a", "b", "c"}
			}
			if got, _ := s.Prebuilds.Retired(t.Context(), e); !slices.Equal(got, wantRetired) || n > 20 {
				t.Errorf("killed at statement %d (%v), %v are retired", n, err, got)
			}
			if err == nil {
				break
			}
		}
		wantLayers(t, s, e, "c retired")
	})
}
