package main_test

import (
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/run"
	"github.com/penstock-dev/penstock/internal/testkit"
)

// A call that is in flight when a person ends the turn counts with what the provider bills for it, which the provider
// says after the agent has gone. It does not count with its whole reservation.
func TestACallOfAnEndedTurnCountsAsBilled(t *testing.T) {
	t.Parallel()
	for _, action := range []string{"interrupt", "cancel"} {
		t.Run(action, func(t *testing.T) {
			t.Parallel()
			list := writeFile(t, "prices.yaml", "models:\n  openai/gpt-test: {input: 2.5, output: 10}\n")
			s := testkit.Serve(t, testkit.ServeOptions{Args: []string{"--no-worker", "--prices", list}})
			hold := make(chan struct{})
			finish := sync.OnceFunc(func() { close(hold) })
			model := testkit.NewModel(t, testkit.Turn{Text: "Never seen.", Hold: hold, InputTokens: 1000, OutputTokens: 7})
			defer finish()
			startPriced(t, s, model, list)
			env := client(s)
			id := startWithBudget(t, s, "openai/gpt-test", "5")
			testkit.Eventually(t, time.Minute, func() error {
				if n := len(model.Requests()); n != 1 {
					return fmt.Errorf("%d calls were sent", n)
				}
				return nil
			})
			call(t, env, "run", action, id).want(t, 0)
			if action == "interrupt" {
				happens(t, s, id, penstock.TimelineInterrupted, 1) // the agent has gone
			}
			finish()
			testkit.Eventually(t, time.Minute, func() error {
				const want = 0.00257 // 1000 × 2.5 and 7 × 10 millionths
				var usage run.RunUsage
				fromJSON(t, string(send(t, s, http.MethodGet, "/agent/runs/"+id+"/usage", "").body), &usage)
				if sum := usage.Total; sum.Calls != 1 || sum.EstimatedCalls+sum.UnknownCalls+sum.UnsettledCalls > 0 ||
					sum.PricedCostUSD != want {
					return fmt.Errorf("the ledger has %+v, want %v US dollars", sum, want)
				}
				return nil
			})
		})
	}
}
