package harness_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/run"
	"github.com/penstock-dev/penstock/internal/execution/harness"
	"github.com/penstock-dev/penstock/internal/testkit"
)

// testMoney is point 5: usage equals what the provider billed, a budget pauses the run, and a raise
// continues it.
func testMoney(t *testing.T, s *suite) {
	turns := []harness.ScriptedTurn{s.command("echo paid > paid.txt"), {Text: "It is paid."}}
	t.Run("usage", func(t *testing.T) {
		j := s.run(t, "Work.", turns...)
		j.reaches(penstock.StateSucceeded)
		j.isBilled()
	})
	t.Run("budget", func(t *testing.T) {
		model := &harness.ScriptedModel{Turns: turns}
		j := s.start(t, model, map[string]any{
			"prompt": "Work.", "config": map[string]any{"budget": map[string]any{"max_total_tokens": harness.ScriptedInput}},
		})
		j.model = model
		j.reaches(penstock.StateBlocked)
		if m := j.get().StatusMessage; m == nil || m.ErrorCode != penstock.CodeBudgetExceeded || m.Budget == nil {
			t.Errorf("the run is blocked by %+v", m)
		}
		if calls := len(model.Calls()); calls != 0 {
			t.Errorf("%d calls passed a budget without room", calls)
		}
		j.call(http.MethodPatch, "/agent/runs/"+j.id, map[string]any{
			"config": map[string]any{"budget": map[string]any{"max_total_tokens": 100_000_000}},
		}, nil)
		j.reaches(penstock.StateSucceeded)
		j.isBilled()
	})
}

// isBilled fails unless the usage of the run becomes what its model has billed.
func (j *job) isBilled() {
	j.t.Helper()
	testkit.Eventually(j.t, 10*time.Second, func() error {
		calls := int64(len(j.model.Calls()))
		var usage run.RunUsage
		j.call(http.MethodGet, "/agent/runs/"+j.id+"/usage", nil, &usage)
		got := usage.Total
		if calls < 2 || got.Calls != calls || got.Input != calls*harness.ScriptedInput ||
			got.Output != calls*harness.ScriptedOutput || got.CacheRead+got.CacheWrite != 0 {
			return fmt.Errorf("the provider has billed %d calls, the usage is %+v; requests for other models: %q",
				calls, got, j.suite.models.others())
		}
		return nil
	})
}
