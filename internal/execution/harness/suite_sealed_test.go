package harness_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/run"
	"github.com/penstock-dev/penstock/internal/execution/harness"
	"github.com/penstock-dev/penstock/internal/testkit"
)

// testSealed is point 6: a plain run does not try to leave, and what a command tries is refused and
// listed.
func testSealed(t *testing.T, s *suite) {
	t.Run("a plain run", func(t *testing.T) {
		j := s.run(t, "Work.", s.command("echo sealed"), harness.ScriptedTurn{Text: "It is sealed."})
		j.reaches(penstock.StateSucceeded)
		j.isSealed()
		if timeline := j.timeline(); strings.Contains(timeline, penstock.TimelineNetworkDenied) {
			t.Errorf("the agent tried to leave: %s", timeline)
		}
	})
	t.Run("attempts to leave", func(t *testing.T) {
		leave := "curl -s -m 5 http://elsewhere.example/; curl -s -m 5 --noproxy '*' http://192.0.2.1/ || echo closed"
		j := s.run(t, "Leave.", s.command(leave), harness.ScriptedTurn{Text: "I cannot."})
		j.reaches(penstock.StateSucceeded)
		if lines := strings.Join(j.lines(), "\n"); !strings.Contains(lines, "closed") {
			t.Errorf("the command said %s", lines)
		}
		testkit.Eventually(t, time.Minute, func() error {
			var network run.RunNetwork
			j.call(http.MethodGet, "/agent/runs/"+j.id+"/network", nil, &network)
			for _, h := range network.Hosts {
				if h.Host == "elsewhere.example" && h.Refused == 1 && h.Requests == 0 {
					return nil
				}
			}
			return errors.New("the refusal is not listed")
		})
	})
}
