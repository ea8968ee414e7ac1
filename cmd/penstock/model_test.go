package main_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/testkit"
)

// A server without keys works on what needs none, and the rest waits for a worker
// with the key.
func TestRunWaitsForAWorkerWithTheProvider(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, url string) {
		s := testkit.Serve(t, testkit.ServeOptions{Database: url, Args: []string{"--sandbox", "process"}})
		env := client(s)
		id := startRun(t, env, "Fix the login", "--model", "openai/gpt-test")
		testkit.Eventually(t, patience, func() error {
			if run := getRun(t, env, id); run.StatusMessage == nil || !strings.Contains(run.StatusMessage.Message, "OPENAI_API_KEY") {
				return fmt.Errorf("the run is %s, %+v", run.State, run.StatusMessage)
			}
			return nil
		})
		call(t, env, "run", "get", id).want(t, 0, "QUEUED", `no connected worker has a provider for the model "openai/gpt-test"`)
		call(t, env, "run", "create", "--wait", "Look around").want(t, 0, "SUCCEEDED") // nobody waits behind it
		if run := getRun(t, env, id); run.State != penstock.StateQueued {
			t.Errorf("the run is %s, %+v", run.State, run.StatusMessage)
		}
		startScripted(t, s, testkit.NewModel(t, testkit.Turn{Text: "It is fixed."}))
		testkit.Eventually(t, patience, func() error {
			run := getRun(t, env, id)
			if run.State.Done() && run.State != penstock.StateSucceeded {
				t.Fatalf("the run is %s, %+v", run.State, run.StatusMessage)
			}
			if run.State != penstock.StateSucceeded {
				return errors.New("the run is " + string(run.State))
			}
			return nil
		})
	})
}
