package main_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/run"
	"github.com/penstock-dev/penstock/internal/testkit"
)

// One MCP server that does not start is on the timeline of the run, and ends it only if it is required.
func TestAnMCPServerThatDoesNotStart(t *testing.T) {
	t.Parallel()
	s := testkit.Serve(t, testkit.ServeOptions{
		Args: []string{"--sandbox", "process", "--allow-open-network", "--demo-directives"},
	})
	for _, test := range []struct {
		name, required string
		want           penstock.State
	}{
		{"not required", "false", penstock.StateSucceeded},
		{"required", "true", penstock.StateFailed},
	} {
		var created run.Created
		body := send(t, s, http.MethodPost, "/agent/runs", `{"prompt": "demo: say hello", "config": {"mcp_servers": {
			"broken": {"command": "sh", "args": ["-c", "echo no database >&2; exit 3"], "required": `+test.required+`}
		}}}`).body
		if err := json.Unmarshal(body, &created); err != nil {
			t.Fatalf("%s: %v", body, err)
		}
		got := call(t, client(s), "run", "wait", created.ID)
		var run penstock.Run
		if err := json.Unmarshal(send(t, s, http.MethodGet, "/agent/runs/"+created.ID, "").body, &run); err != nil {
			t.Fatal(err)
		}
		if run.State != test.want {
			t.Errorf("%s: the run is %s: %s %s", test.name, run.State, got.out, got.err)
		}
		timeline := string(send(t, s, http.MethodGet, "/agent/runs/"+created.ID+"/timeline", "").body)
		for _, want := range []string{`"mcp_server_failed"`, `"broken"`, "exit status 3", "no database"} {
			if !strings.Contains(timeline, want) {
				t.Errorf("%s: the timeline does not have %s: %s", test.name, want, timeline)
			}
		}
		if test.want == penstock.StateFailed && !strings.Contains(run.StatusMessage.Message, "no database") {
			t.Errorf("the run ended with %+v", run.StatusMessage)
		}
	}
}
