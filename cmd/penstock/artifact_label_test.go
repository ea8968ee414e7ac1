package main_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/testkit"
)

// People can tell a pull request that the proxy saw from one that the agent or a client reported, wherever the
// command line shows it.
func TestPullRequestsThatTheProxySawLookDifferent(t *testing.T) {
	t.Parallel()
	s := testkit.Serve(t, testkit.ServeOptions{Args: []string{"--no-worker"}})
	env, control := client(s), connected(t, s)
	id := startRun(t, env, "x")
	a, err := control.Claim(t.Context(), penstock.ClaimRequest{
		WorkerID: "one", Host: "here", Harnesses: []string{penstock.HarnessBuiltin}, Capacity: 1,
	})
	if err != nil || a.Lease.RunID != id {
		t.Fatalf("the worker got %q, %v", a.Lease.RunID, err)
	}
	const url = "https://github.test/a/b/pull/"
	seen := true
	_, err = control.Save(t.Context(), a.Lease, penstock.Upload{
		ID: penstock.NewID(), Type: penstock.ArtifactPullRequest,
		Artifact: &penstock.ArtifactData{Title: "Fix it", Branch: "fix", URL: url + "1", Observed: &seen},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	claimed := s.Key
	if a.APIKey != "" {
		claimed = a.APIKey // the agent's own
	}
	for key, n := range map[string]string{claimed: "2", s.Key: "3"} {
		got := ask(t, http.MethodPost, s, "/agent/runs/"+id+"/artifacts", testkit.Bearer(key),
			`{"artifact_type": "PULL_REQUEST", "data": {"title": "Fix it", "branch": "fix", "url": "`+url+n+`"}}`)
		if got.status != http.StatusCreated {
			t.Fatalf("got %d %s", got.status, got.body)
		}
	}
	call(t, env, "run", "cancel", id).want(t, 0) // so that run watch ends
	for _, args := range [][]string{{"run", "get", id}, {"run", "watch", id}} {
		got := call(t, env, args...)
		for n, want := range map[string]string{
			"1": "(seen by the proxy)", "2": "(reported by the agent or a client)", "3": "(reported by the agent or a client)",
		} {
			found := false
			for line := range strings.Lines(got.out) {
				if _, after, ok := strings.Cut(line, url+n+" "); ok {
					found = true
					if !strings.HasPrefix(after, want) {
						t.Errorf("%s: got %q, want %s", args, line, want)
					}
				}
			}
			if !found {
				t.Errorf("%s does not show the pull request %s: %s", args, n, got.out)
			}
		}
	}
}
