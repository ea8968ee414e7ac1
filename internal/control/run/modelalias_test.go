package run_test

import (
	"testing"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/run"
)

func TestModelsHaveAliases(t *testing.T) {
	worlds(t, func(o *run.Deps) {
		o.Defaults.ModelID = "anthropic/claude-sonnet-5-5"
		o.ModelAliases = map[string]string{
			"auto-genius": "openai/gpt-6", "small": "google/gemini-flash", "auto-cheap": "auto",
		}
	}, func(w *world) {
		for asked, want := range map[string]struct{ model, source string }{
			"auto":            {"anthropic/claude-sonnet-5-5", "server"},
			"auto-efficient":  {"anthropic/claude-sonnet-5-5", "server"}, // of the family, without an alias
			"auto-cheap":      {"anthropic/claude-sonnet-5-5", "server"},
			"auto-genius":     {"openai/gpt-6", "server"},
			"small":           {"google/gemini-flash", "server"},
			"automatic":       {"automatic", "request"},
			"google/gemini-1": {"google/gemini-1", "request"},
		} {
			run := w.Get(w.Create(penstock.RunRequest{Prompt: "p", Config: &penstock.Config{ModelID: asked}}).ID)
			if run.Config.ModelID != want.model || run.ConfigSources["model_id"] != want.source {
				w.T.Errorf("%s: got %s from %s, want %+v", asked, run.Config.ModelID, run.ConfigSources["model_id"], want)
			}
		}
		for asked, want := range map[string]string{"auto-efficient": "", "auto-genius": "openai/gpt-6", "sonnet": "sonnet"} {
			run := w.Get(
				w.Create(penstock.RunRequest{Prompt: "p", Config: &penstock.Config{Harness: &penstock.Harness{ModelID: asked}}}).ID,
			)
			if got := run.Config.Harness.ModelID; got != want {
				w.T.Errorf("harness, %s: got %q, want %q", asked, got, want)
			}
		}
	})
}
