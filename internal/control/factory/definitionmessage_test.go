package factory_test

import (
	"fmt"
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/announce"
	"github.com/penstock-dev/penstock/internal/control/factory"
	"github.com/penstock-dev/penstock/internal/control/run"
	"github.com/penstock-dev/penstock/internal/control/store"
	"github.com/penstock-dev/penstock/internal/supply/git"
	"github.com/penstock-dev/penstock/internal/testkit"
)

// aboutFiles is a message about the files of a factory.
func aboutFiles(event penstock.EndpointEvent, uid, commit string, revision int64) penstock.EndpointMessage {
	path := "/api/v1/factory/" + uid
	if event == store.EventDefinitionApplied {
		path += fmt.Sprintf("/definition/history/%d", revision)
	}
	return penstock.EndpointMessage{
		Type: event, Data: penstock.EndpointData{FactoryUID: uid, Commit: commit, Revision: revision, URL: path},
	}
}

// A repository is polled again and again: what has not changed since is no news.
func TestEndpointsHearOfCommitsOnce(t *testing.T) {
	worlds(t, func(d *run.Deps) {
		cache, err := git.Open(t.Context(), git.Options{Dir: t.TempDir(), AllowLocal: true})
		if err != nil {
			t.Fatal(err)
		}
		d.Definitions = cache
	}, func(w *world) {
		e := w.Listen(announce.EndpointRequest{}, store.EventDefinitionApplied, store.EventDefinitionRejected)
		repository := testkit.NewRepository(w.T, w.T.TempDir(), "acme")
		files := func(more ...string) map[string]string {
			all := map[string]string{
				"factory.yaml":         "schemaVersion: v1alpha1\nname: tracked\nagentDefaults:\n  model: demo/offline\n",
				"agents/lead/agent.md": "---\nagentType: FOREMAN\n---\n\nLead.\n",
			}
			for i := 0; i < len(more); i += 2 {
				all[more[i]] = more[i+1]
			}
			return all
		}
		first := repository.Commit("Begin", files())
		f, err := w.Factories.Create(w.T.Context(), w.Admin, factory.FactoryRequest{
			Repository: &penstock.Repository{URL: repository.URL()},
		})
		if err != nil {
			w.T.Fatal(err)
		}
		want := []penstock.EndpointMessage{aboutFiles(store.EventDefinitionApplied, f.UID, first, 1)}
		sync := func(what string) {
			w.T.Helper()
			for range 3 {
				if _, err := w.Repositories.Sync(w.T.Context(), w.Admin, f.UID); err != nil {
					w.T.Fatal(err)
				}
			}
			if diff := cmp.Diff(want, w.Heard(e)); diff != "" {
				w.T.Fatalf("after %s: %s", what, diff)
			}
		}
		sync("the first commit")

		broken := repository.Commit("Break it", files("webhooks/ci.yaml", "secretName: CI_TOKEN\n"))
		want = append(want, aboutFiles(store.EventDefinitionRejected, f.UID, broken, 1))
		sync("a commit with an error")
		w.CreateSecret("OTHER_TOKEN", "the-value-of-another-secret") // the server checks the commit again
		sync("a change that does not help")
		w.CreateSecret("CI_TOKEN", "the-value-of-the-token")
		want = append(want, aboutFiles(store.EventDefinitionApplied, f.UID, broken, 2))
		sync("a change that helps")

		repository.Commit("Say more", files("webhooks/ci.yaml", "secretName: CI_TOKEN\n", "README.md", "# More\n"))
		sync("a commit that changes no file of the factory")
		again := repository.Commit("Break it again", files("webhooks/ci.yaml", "secretName: CI_TOKN\n"))
		want = append(want, aboutFiles(store.EventDefinitionRejected, f.UID, again, 2))
		sync("another commit with an error")
		repository.Commit("Repent", files("webhooks/ci.yaml", "secretName: CI_TOKEN\n"))
		sync("a commit with the active files")
	})
}

func TestEndpointsHearOfNewFiles(t *testing.T) {
	withTeam(t, func(h *hooks) {
		e := h.Listen(
			announce.EndpointRequest{FactoryUIDs: &[]string{h.factory}}, store.EventDefinitionApplied,
			store.EventDefinitionRejected,
		)
		revision := h.files().Revision
		files := team()
		h.apply(files) // equal files
		changed := maps.Clone(files)
		changed["agents/lead/agent.md"] = "---\nagentType: FOREMAN\n---\n\nLead well.\n"
		for _, req := range []factory.ApplyRequest{
			{Files: changed, DryRun: true}, {Files: map[string]string{"factory.yaml": "no: thing\n"}},
		} {
			if _, err := h.Factories.Apply(h.T.Context(), h.Admin, h.factory, req); (err == nil) != req.DryRun {
				h.T.Error(err)
			}
		}
		if got := h.Heard(e); len(got) != 0 {
			h.T.Errorf("without a change, endpoints heard of %+v", got)
		}
		h.apply(changed)
		h.NewFactory("other")
		h.hook(named("second", penstock.AuthToken))
		want := []penstock.EndpointMessage{
			aboutFiles(store.EventDefinitionApplied, h.factory, "", revision+1),
			aboutFiles(store.EventDefinitionApplied, h.factory, "", revision+2),
		}
		if diff := cmp.Diff(want, h.Heard(e)); diff != "" {
			h.T.Error(diff)
		}
	})
}
