package main_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/testkit"
)

// A worker prepares a workspace, and the server is killed. Then the layer is still listed and used, until it
// is deleted, and the server is killed again.
func TestPreparedWorkspacesFromTheirListToTheirDeletion(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, database string) {
		testkit.TakesLongOnPostgres(t, database)
		s := testkit.Serve(t, testkit.ServeOptions{Database: database})
		env := client(s)
		call(t, env, "environment", "create", "app", "--setup", "echo made > made").want(t, 0)
		start := func(want string) {
			t.Helper()
			id := startRun(t, env, "demo: run cat made", "--environment", "app", "--wait")
			timeline := string(send(t, s, http.MethodGet, "/agent/runs/"+id+"/timeline", "").body)
			if !strings.Contains(timeline, want) {
				t.Errorf("the run is not prepared as %s: %s", want, timeline)
			}
		}
		list := func(states ...penstock.PreparedState) (found []penstock.PreparedWorkspace) {
			t.Helper()
			testkit.Eventually(t, timeout, func() error {
				var answer struct {
					Prebuilds []penstock.PreparedWorkspace `json:"prebuilds"`
				}
				out := call(t, env, "environment", "prebuilds", "app", "-o", "json").out
				if err := json.Unmarshal([]byte(out), &answer); err != nil {
					return err
				}
				if found = answer.Prebuilds; len(found) != len(states) || len(states) > 0 && found[0].State != states[0] {
					return fmt.Errorf("the list is %s", out)
				}
				return nil
			})
			return found
		}
		list()
		call(t, env, "environment", "prebuilds", "app").want(t, 0, "PREBUILD", "REASON")
		start(`"from":"cold"`)
		uid := list(penstock.PreparedReady)[0].UID
		s.Kill9()
		s.Restart()
		call(t, env, "environment", "prebuilds", "app").want(t, 0, uid, "ready", "KiB")
		start(`"from":"layer"`)
		call(t, env, "environment", "delete-prebuild", "app", "unknown").want(t, 65, "unknown")
		call(t, env, "environment", "delete-prebuild", "app", "").want(t, 64)
		call(t, env, "environment", "delete-prebuild", "app", uid).want(t, 0)
		s.Kill9()
		s.Restart()
		call(t, env, "environment", "delete-prebuild", "app", uid).want(t, 0)
		start(`"from":"cold"`)
		if last := list(penstock.PreparedReady); last[0].UID == uid {
			t.Errorf("%+v", last)
		}
	})
}
