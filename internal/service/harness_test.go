package service_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/catalog"
	"github.com/penstock-dev/penstock/internal/service"
)

func TestVariablesOfAPresetAreRefused(t *testing.T) {
	configure := func(o *service.Options) {
		o.Programs = map[string]catalog.Program{"claude": {API: "anthropic", Variables: []string{"ANTHROPIC_BASE_URL"}}}
	}
	worlds(t, configure, func(w *world) {
		request := func(harness string, env map[string]string) penstock.RunRequest {
			return penstock.RunRequest{Prompt: "p", Config: &penstock.Config{
				Env: env, Harness: &penstock.Harness{Type: harness},
			}}
		}
		owned := map[string]string{"ANTHROPIC_BASE_URL": "http://elsewhere", "MINE": "1"}
		_, err := w.Runs.Create(w.t.Context(), w.admin, request("claude", owned), penstock.SourceAPI)
		var invalid *penstock.Error
		if !errors.As(err, &invalid) || len(invalid.Fields) != 1 ||
			invalid.Fields[0].Pointer != "/config/env/ANTHROPIC_BASE_URL" ||
			!strings.Contains(invalid.Fields[0].Detail, "the harness claude") {
			w.t.Errorf("got %+v, want an error about the variable", err)
		}
		w.create(request("claude", map[string]string{"MINE": "1"}))
		w.create(request("gemini", owned))
	})
}

func TestHarnessesListTheirModels(t *testing.T) {
	configure := func(o *service.Options) {
		o.Programs = map[string]catalog.Program{
			"builtin": {AnyModel: true}, "claude": {API: "anthropic"}, "qwen": {API: "openai"}, "mine": {Provider: "local/"},
		}
		o.Providers = map[string]string{"anthropic/": "anthropic", "openai/": "openai", "local/": "openai"}
		o.Models = []penstock.ModelInfo{
			{ID: "anthropic/a"}, {ID: "openai/o", DisableReason: penstock.DisabledByAdmin}, {ID: "local/m"},
		}
	}
	worlds(t, configure, func(w *world) {
		list, err := w.Catalog.Harnesses(w.t.Context(), w.admin)
		if err != nil {
			w.t.Fatal(err)
		}
		got := map[string][]string{}
		for _, h := range list {
			if len(h.Models) > 0 {
				got[h.Name] = h.Models
			}
		}
		want := map[string][]string{
			"builtin": {"anthropic/a", "local/m"}, "claude": {"anthropic/a"}, "qwen": {"local/m"}, "mine": {"local/m"},
		}
		if diff := cmp.Diff(want, got); diff != "" {
			w.t.Errorf("the models by harness (-want +got):\n%s", diff)
		}
		if !slices.ContainsFunc(list, func(h penstock.HarnessInfo) bool { return h.Name == "mine" }) {
			w.t.Error("the harness of the configuration is not listed")
		}
	})
}
