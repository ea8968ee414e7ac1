package run_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/run"
	"github.com/penstock-dev/penstock/internal/testkit/testworld"
)

func TestModels(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		models []penstock.ModelInfo
		def    string
		want   string
		ids    []string
		last   penstock.ModelProvider
	}{
		"nothing configured": {nil, "", penstock.ModelOffline, []string{penstock.ModelOffline}, penstock.ProviderUnknown},
		"a provider": {
			[]penstock.ModelInfo{{ID: "openai/x"}},
			"openai/x", "openai/x",
			[]string{"openai/x", penstock.ModelOffline},
			penstock.ProviderUnknown,
		},
		"a default that is newer than the catalog": {
			[]penstock.ModelInfo{{ID: penstock.ModelOffline}},
			"claude-new", "claude-new",
			[]string{penstock.ModelOffline, "claude-new"},
			penstock.ProviderAnthropic,
		},
	} {
		t.Run(name, func(t *testing.T) {
			worlds(t, func(o *run.Deps) { o.Models, o.Defaults.ModelID = test.models, test.def }, func(w *world) {
				list, err := w.Catalog.Models(w.T.Context(), w.Admin)
				if err != nil {
					w.T.Fatal(err)
				}
				var ids []string
				for _, m := range list.Models {
					ids = append(ids, m.ID)
				}
				if diff := cmp.Diff(test.ids, ids); diff != "" || list.Default != test.want {
					w.T.Errorf("default %q, want %q; models -want +got:\n%s", list.Default, test.want, diff)
				}
				if got := list.Models[len(list.Models)-1].Provider; got != test.last {
					w.T.Errorf("the last one's provider is %s, want %s", got, test.last)
				}
			})
		})
	}
}

// The models of a local server may change while this server runs.
func TestModelsAreReplaced(t *testing.T) {
	worlds(t, nil, func(w *world) {
		w.Catalog.SetModels([]penstock.ModelInfo{{ID: "local/new"}}, "local/new")
		list, err := w.Catalog.Models(w.T.Context(), w.Admin)
		if err != nil || list.Default != "local/new" {
			w.T.Errorf("got %+v, %v", list, err)
		}
		created := w.Get(w.Create(penstock.RunRequest{Prompt: "go"}).ID)
		if created.Config.ModelID != "local/new" || created.ConfigSources["model_id"] != run.LayerServer {
			w.T.Errorf("the run has the model %q of %v", created.Config.ModelID, created.ConfigSources)
		}
	})
}

func TestLimitsAreActive(t *testing.T) {
	worlds(t, func(o *run.Deps) {
		o.MaxRunArtifactBytes = 3 << 30
		o.QueueTimeout, o.KeepRunsFor, o.MaxSecrets, o.Webhooks = time.Hour, 90*24*time.Hour+
			time.Millisecond, 7, testworld.DefaultWebhookLimits()
	}, func(w *world) {
		want := map[string]any{
			"secrets_per_team": 7, "run_artifact_bytes": int64(3 << 30), "secret_value_bytes": 65536,
			"configuration_bytes": int64(256 << 10), "page_bytes": int64(4 << 20), "listed_prompt_bytes": int64(16 << 10),
			"request_body_bytes": int64(10 << 20), "attachments_per_run": 5, "attachment_bytes": int64(25 << 20), "run_depth": 8,
			"metadata_keys": 20,
			"page_size":     500, "idempotency_seconds": int64(86400), "signed_link_seconds": int64(900),
			"queue_timeout_seconds": int64(3600),
			"run_retention_seconds": int64(7776001), "webhooks_per_factory": 20, "delivery_bytes": int64(256 << 10),
			"deliveries_per_minute": 60, "auth_failures_per_address": 30, "auth_failures_per_webhook": 300,
			"logged_rejections": 60, "kept_deliveries": 50, "delivery_retention_seconds": int64(604800),
			"dedup_body_seconds": int64(604800),
		}
		if diff := cmp.Diff(want, w.Limits(w.T.Context(), w.Admin)); diff != "" {
			w.T.Errorf("-want +got:\n%s", diff)
		}
	})
}

// The first run does not report that no worker can execute it, because the server is ready only
// after its worker.
func TestServiceIsReadyWithItsWorker(t *testing.T) {
	worlds(t, func(o *run.Deps) { o.LocalWorker = true }, func(w *world) {
		hello := func(local bool) {
			w.T.Helper()
			c := testworld.AnyWorker
			c.WorkerID, c.Local, c.Wait = penstock.NewID(), local, 0
			if _, err := w.Executions.Control().Claim(w.T.Context(), c); !errors.Is(err, penstock.ErrNoWork) {
				w.T.Fatal(err)
			}
		}
		hello(false)
		testworld.WantCode(w.T, w.Ready(w.T.Context()), penstock.CodeUnavailable, "worker of this server is starting")
		hello(true)
		if err := w.Ready(w.T.Context()); err != nil {
			w.T.Error(err)
		}
		if w.Create(penstock.RunRequest{Prompt: "p"}).AtCapacity {
			w.T.Error("the first run is told that nobody can take it")
		}
	})
}
