package run_test

import (
	"testing"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/testkit/testworld"
)

// TestPrebuildsOfAnotherTeam lists and deletes what belongs to somebody else.
func TestPrebuildsOfAnotherTeam(t *testing.T) {
	worlds(t, nil, func(w *world) {
		ctx, e := w.T.Context(), w.CreateEnvironment(penstock.EnvironmentConfig{Name: "app"})
		if _, err := w.Executions.Control().ReportLayers(ctx, penstock.LayerReport{
			Folder: "folder", Host: "build-1", Layers: []penstock.ReportedLayer{{
				EnvironmentUID: e.UID, PreparedWorkspace: penstock.PreparedWorkspace{UID: "a", State: penstock.PreparedReady},
			}},
		}); err != nil {
			w.T.Fatal(err)
		}
		outsider := w.Admin
		outsider.Team = "another"
		_, err := w.Catalog.ListPrebuilds(ctx, outsider, e.UID)
		testworld.WantCode(w.T, err, penstock.CodeNotFound, e.UID)
		testworld.WantCode(w.T, w.Catalog.DeletePrebuild(ctx, outsider, e.UID, "a"), penstock.CodeNotFound, e.UID)
		list, err := w.Catalog.ListPrebuilds(ctx, w.Admin, e.UID)
		if err != nil || len(list) != 1 || list[0].State != penstock.PreparedReady {
			w.T.Errorf("%+v, %v", list, err)
		}
		testworld.WantCode(w.T, w.Catalog.DeletePrebuild(ctx, w.Admin, e.UID, "b"), penstock.CodeNotFound, "b")
	})
}
