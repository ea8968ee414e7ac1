package run_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/factory"
	"github.com/penstock-dev/penstock/internal/control/run"
	"github.com/penstock-dev/penstock/internal/control/store"
	"github.com/penstock-dev/penstock/internal/testkit/testworld"
)

func TestConfigurationsAreBounded(t *testing.T) {
	worlds(t, nil, func(w *world) {
		many := func(n, size int) map[string]string {
			env := map[string]string{}
			for i := range n {
				env[fmt.Sprintf("V%d", i)] = strings.Repeat("x", size)
			}
			return env
		}
		servers := func(n, size int) map[string]penstock.MCPServer {
			list := map[string]penstock.MCPServer{}
			for i := range n {
				list[fmt.Sprintf("s%d", i)] = penstock.MCPServer{Command: strings.Repeat("x", size)}
			}
			return list
		}
		for pointer, config := range map[string]penstock.Config{
			"/config/env":           {Env: many(300, 1000)},
			"/config/env/V0":        {Env: many(1, 131_069)},
			"/config/mcp_servers":   {MCPServers: servers(51, 1)},
			"/config/mcp_servers#2": {MCPServers: servers(3, 100_000)},
			"/config/mcp_servers/x/env/V0": {
				MCPServers: map[string]penstock.MCPServer{"x": {Command: "c", Env: many(1, 131_069)}},
			},
			"/config/base_prompt":             {BasePrompt: strings.Repeat("x", 300_000)},
			"/config/skills":                  {Skills: slices.Repeat([]string{"a"}, 101)},
			"/config/model_id":                {ModelID: strings.Repeat("x", 201)},
			"/config/worker_host":             {LayerKeys: penstock.LayerKeys{WorkerHost: strings.Repeat("x", 201)}},
			"/config/harness/reasoning_level": {Harness: &penstock.Harness{ReasoningLevel: strings.Repeat("x", 201)}},
		} {
			pointer, _, _ = strings.Cut(pointer, "#")
			_, err := w.Runs.Create(
				w.T.Context(), w.Admin, penstock.RunRequest{Prompt: "p", Config: &config}, run.SourceAPI,
			)
			testworld.WantField(w.T, err, pointer)
			schedule := factory.ScheduleRequest{Name: "s", Cron: "@daily", Prompt: "p", Config: &config}
			_, err = w.Schedules.Create(w.T.Context(), w.Admin, schedule)
			testworld.WantField(w.T, err, strings.Replace(pointer, "/config", "/agent_config", 1))
		}
		w.Create(penstock.RunRequest{Prompt: "p", Config: &penstock.Config{Env: many(2, 131_000)}})
		_, err := w.Resources.CreateIdentity(
			w.T.Context(), w.Admin, factory.IdentityRequest{Name: new("a"), MCPServers: new(servers(3, 100_000))},
		)
		testworld.WantField(w.T, err, "/mcp_servers")
		_, err = w.Resources.CreateIdentity(
			w.T.Context(), w.Admin, factory.IdentityRequest{Name: new("a"), Prompt: new(strings.Repeat("\n", 200_000))},
		)
		testworld.WantField(w.T, err, "/prompt")
		_, err = w.Catalog.CreateEnvironment(
			w.T.Context(), w.Admin,
			penstock.EnvironmentConfig{SetupCommands: slices.Repeat([]string{strings.Repeat("x", 16_000)}, 20)},
		)
		testworld.WantField(w.T, err, "")

		// Each layer is small enough, but their combination is not.
		agent := w.CreateAgent(factory.IdentityRequest{Name: new("big"), Prompt: new(strings.Repeat("x", 200_000))})
		request := penstock.RunRequest{
			Prompt: "p", AgentIdentityUID: agent.UID, Config: &penstock.Config{Env: many(100, 1000)},
		}
		_, err = w.Runs.Create(w.T.Context(), w.Admin, request, run.SourceAPI)
		testworld.WantField(w.T, err, "/config/base_prompt")
		request.Config = nil
		w.Create(request)
	})
}

// Pages stay small however large runs are, and together the pages have all runs.
func TestPagesOfRunsAreBounded(t *testing.T) {
	worlds(t, nil, func(w *world) {
		prompt := strings.Repeat("p", store.MaxListedPrompt-1) + "é" + strings.Repeat("q", 50_000)
		var want []string
		for range 25 { // a control character is six bytes of JSON and one byte in the database
			created := w.Create(
				penstock.RunRequest{
					Prompt: prompt, Title: strings.Repeat("\x01", 500),
					Config: &penstock.Config{BasePrompt: strings.Repeat("<", 80_000)},
				},
			)
			want = append(want, created.ID)
		}
		var got []string
		q := penstock.RunQuery{Limit: 500, SortBy: "created_at", Ascending: true}
		for pages := 1; ; pages++ {
			page, err := w.Runs.List(w.T.Context(), w.Admin, q)
			if err != nil || len(page.Runs) == 0 {
				w.T.Fatalf("page %d: %d runs, %v", pages, len(page.Runs), err)
			}
			text, err := json.Marshal(page)
			if err != nil || len(text) > store.MaxPageBytes {
				w.T.Errorf("page %d: %d runs are %d bytes: %v", pages, len(page.Runs), len(text), err)
			}
			for _, r := range page.Runs {
				got = append(got, r.ID)
				if r.Prompt != prompt[:store.MaxListedPrompt-1] || !r.PromptCut {
					w.T.Errorf("the prompt in a list has %d bytes, cut %v", len(r.Prompt), r.PromptCut)
				}
			}
			if !page.PageInfo.HasNext {
				if pages < 3 {
					w.T.Errorf("%d pages", pages)
				}
				break
			}
			q.Cursor = page.PageInfo.NextCursor
		}
		if diff := cmp.Diff(want, got); diff != "" {
			w.T.Errorf("runs (-want +got):\n%s", diff)
		}
		if run := w.Get(want[0]); run.Prompt != prompt || run.PromptCut {
			w.T.Errorf("the prompt of the run has %d bytes, cut %v", len(run.Prompt), run.PromptCut)
		}
	})
}
