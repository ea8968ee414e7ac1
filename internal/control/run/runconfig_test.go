package run_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/store"
)

// notes returns the timeline events of a run between its creation and its claim.
func (w *world) notes(id string) []penstock.TimelineEvent {
	w.T.Helper()
	events, err := w.Runs.Timeline(w.T.Context(), w.Admin, id)
	if err != nil {
		w.T.Fatal(err)
	}
	var list []penstock.TimelineEvent
	for _, e := range events {
		if e.Type != store.TimelineCreated && e.Type != penstock.TimelineClaimed {
			list = append(list, penstock.TimelineEvent{Type: e.Type, Payload: e.Payload})
		}
	}
	return list
}

// Settings of the hosted service that this API comes from apply as far as possible, and the
// timeline notes the differences.
func TestHostedExecutionAndManagedServers(t *testing.T) {
	worlds(t, nil, func(w *world) {
		f := w.DefineFactory(map[string]string{
			"factory.yaml": "schemaVersion: v1alpha1\nname: f\nagentDefaults:\n  model: auto\n  workerHost: warp\n  " +
				"mcpServers: {jira: {warpId: j}}\n",
			"agents/lead/agent.md": "---\nagentType: FOREMAN\n---\nWork.\n",
		})
		inherited := w.Create(penstock.RunRequest{Prompt: "p", AgentIdentityUID: f.ForemanUID})
		asked := w.Create(penstock.RunRequest{Prompt: "p", Config: &penstock.Config{
			LayerKeys:  penstock.LayerKeys{WorkerHost: "warp"},
			MCPServers: map[string]penstock.MCPServer{"linear": {WarpID: "linear"}, "docs": {URL: "https://docs.example/mcp"}},
		}})
		anyWorker := penstock.TimelineEvent{Type: "any_worker", Payload: map[string]any{"worker_host": "warp"}}
		unused := func(name, id string) penstock.TimelineEvent {
			return penstock.TimelineEvent{Type: "mcp_server_not_used", Payload: map[string]any{"name": name, "id": id}}
		}
		for id, want := range map[string][]penstock.TimelineEvent{
			inherited.ID: {anyWorker, unused("jira", "j")}, asked.ID: {anyWorker, unused("linear", "linear")},
		} {
			if diff := cmp.Diff(want, w.notes(id)); diff != "" {
				w.T.Errorf("timeline (-want +got):\n%s", diff)
			}
		}
		a, b := w.Claim(), w.Claim()
		if a.Run.ID != inherited.ID || b.Run.ID != asked.ID {
			w.T.Errorf("the worker was given %s and %s", a.Run.ID, b.Run.ID)
		}
		run := w.Get(asked.ID)
		want := map[string]penstock.MCPServer{"linear": {ID: "linear"}, "docs": {URL: "https://docs.example/mcp"}}
		if diff := cmp.Diff(want, run.Config.MCPServers); diff != "" || run.Config.WorkerHost != "warp" {
			w.T.Errorf("agent_config: worker_host %q, mcp_servers (-want +got):\n%s", run.Config.WorkerHost, diff)
		}
		if run.Location != "REMOTE" {
			w.T.Errorf("execution_location: got %s", run.Location)
		}
	})
}
