package harness_test

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/trial"
)

// testTurns is point 1: prompt, command, changed file, text, SUCCEEDED, and follow-ups.
func testTurns(t *testing.T, s *suite) {
	const made = "printf 'first line\\nsecond line\\n' > made.txt; cat made.txt"
	j := s.run(
		t, "Make the file.",
		s.command(made), trial.Turn{Text: "The file is made."},
		s.command("cat made.txt | tail -n 1; ls no-such-file"), trial.Turn{Text: "It is still there."},
	)
	j.reaches(penstock.StateSucceeded)
	want := []string{
		"user: Make the file.", "run_command: " + made, "completed: first line\nsecond line", "assistant: The file is made.",
	}
	if diff := cmp.Diff(want, j.lines()); diff != "" {
		t.Errorf("the conversation (-want +got):\n%s", diff)
	}
	j.isSealed()
	if s.installed {
		program, _ := filepath.EvalSymlinks(filepath.Join(s.server.Data, "harnesses", s.name, "current"))
		if version := `"version":"` + filepath.Base(program) + `"`; !strings.Contains(j.timeline(), version) {
			t.Errorf("the timeline does not have %s", version)
		}
	}
	j.followUp("Is it there?")
	j.reaches(penstock.StateSucceeded)
	lines := j.lines()[4:]
	said := strings.Join(lines, "\n")
	if len(lines) != 4 || !strings.Contains(said, "second line") || strings.Contains(said, "first line") {
		t.Errorf("the second turn is %q", lines)
	}
	if !strings.Contains(j.timeline(), `"session":"loaded"`) {
		t.Error("the agent did not load its session")
	}
}

// isSealed fails if the agent was not sealed, or tried to reach anything but its model.
func (j *job) isSealed() {
	j.t.Helper()
	var network penstock.RunNetwork
	j.call(http.MethodGet, "/agent/runs/"+j.id+"/network", nil, &network)
	if network.Sealed == nil || !*network.Sealed {
		j.t.Error("the run is not sealed")
	}
	for _, h := range network.Hosts {
		if h.Mode != penstock.TrafficModel {
			j.t.Errorf("the agent tried to reach %s: %+v", h.Host, h)
		}
	}
}
