package harness_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/run"
	"github.com/penstock-dev/penstock/internal/execution/harness"
	"github.com/penstock-dev/penstock/internal/testkit"
)

// testTurns is point 1: prompt, command, changed file, text, SUCCEEDED, a follow-up in the session
// and one after its end. It also kills the worker of a run, which another worker then continues.
func testTurns(t *testing.T, s *suite) {
	moved := s.beginMoved(t)
	s.worker.Kill9()
	testkit.Eventually(t, time.Minute, func() error { return leftOf(moved.id) })
	s.startWorker()
	testPlainTurns(t, s) // until the lease of the killed worker is over
	moved.endMoved()
	for i, name := range s.subject.models {
		t.Run(name, func(t *testing.T) {
			if i > 0 {
				testkit.TakesLong(t)
			}
			testNamedModel(t, s, name)
		})
	}
}

// testNamedModel does a turn with a model that the agent may know. Some agents offer such a model other
// tools, or the same ones in another way.
func testNamedModel(t *testing.T, s *suite, name string) {
	t.Helper()
	const shows = "printf 'as %d people do\\n' 42"
	model := &harness.ScriptedModel{Turns: []harness.ScriptedTurn{s.command(shows), {Text: "It is shown."}}}
	j := s.startNamed(t, s.models.add(name, model), map[string]any{"prompt": "Show it."})
	j.reaches(penstock.StateSucceeded)
	want := []string{
		"user: Show it.", "run_command: " + shows, "completed: as 42 people do", "assistant: It is shown.",
	}
	if diff := cmp.Diff(want, j.lines()); diff != "" {
		t.Errorf("the conversation with %s (-want +got):\n%s", name, diff)
	}
	if dialect := dialects[s.name+" "+name]; !strings.Contains(string(model.Calls()[0].Body), dialect) {
		t.Errorf("the agent speaks to %s without %s, as to any model: name one that it knows", name, dialect)
	}
}

// dialects show that an agent knows a model: a part of its first request that no other model gets.
var dialects = map[string]string{"codex gpt-6.1-sol": `"type":"additional_tools"`}

func testPlainTurns(t *testing.T, s *suite) {
	t.Helper()
	const made = "printf 'first line\\nsecond line\\n' > made.txt; cat made.txt"
	j := s.run(
		t, "Make the file.",
		s.command(made), harness.ScriptedTurn{Text: "The file is made."},
		s.command("cat made.txt | tail -n 1; ls no-such-file"), harness.ScriptedTurn{Text: "It is still there."},
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
		program, _ := filepath.EvalSymlinks(filepath.Join(s.worker.Data, "harnesses", s.name, "current"))
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

// moved is a run whose worker is killed in its second turn.
type moved struct {
	*job
	model *pausing
}

// The words of the run that moves.
const (
	movedFirst  = "printf 'on the first worker\\n'"
	movedSecond = "printf 'on the second worker\\n'"
)

// beginMoved starts a run. Its follow-up arrives during the first turn, so it belongs to the same
// session. beginMoved returns while the agent waits for the model in the second turn.
func (s *suite) beginMoved(t *testing.T) moved {
	t.Helper()
	m := moved{model: &pausing{
		model: harness.ScriptedModel{Turns: []harness.ScriptedTurn{
			s.command(movedFirst),
			{Text: "The first part is done."},
			s.command(movedSecond),
			{Text: "The second part is done."},
		}},
		pauses: map[int]*pause{1: newPause("Do the first part."), 2: newPause("Do the second part.")},
	}}
	first, second := m.model.pauses[1], m.model.pauses[2]
	m.job = s.start(t, m.model, map[string]any{"prompt": "Do the first part."})
	m.waitFor(first.begun)
	m.followUp("Do the second part.")
	close(first.release)
	m.waitFor(second.begun)
	if n := strings.Count(m.timeline(), `"agent_started"`); n != 1 {
		t.Errorf("the follow-up in the session started the agent %d times", n)
	}
	return m
}

// endMoved waits until the run has ended on another worker.
func (m moved) endMoved() {
	m.t.Helper()
	m.reaches(penstock.StateSucceeded)
	want := []string{
		"user: Do the first part.", "run_command: " + movedFirst, "completed: on the first worker",
		"assistant: The first part is done.",
		"user: Do the second part.", "run_command: " + movedSecond, "completed: on the second worker",
		"assistant: The second part is done.",
	}
	if diff := cmp.Diff(want, m.lines()); diff != "" {
		m.t.Errorf("the conversation over two workers (-want +got):\n%s", diff)
	}
	timeline := m.timeline()
	for text, times := range map[string]int{
		`"run_claimed"`: 2, `"run_requeued"`: 1, `"agent_started"`: 2, `"session":"loaded"`: 1,
	} {
		if n := strings.Count(timeline, text); n != times {
			m.t.Errorf("the timeline has %s %d times, want %d: %s", text, n, times, timeline)
		}
	}
	calls := m.model.model.Calls()
	last := string(calls[len(calls)-1].Body)
	for _, text := range []string{"Do the first part.", "on the first worker", "Do the second part."} {
		if !strings.Contains(last, text) {
			m.t.Errorf("the session on the second worker does not have %q: %s", text, last)
		}
	}
}

// waitFor waits until a channel is closed. It fails if the run ends before that.
func (j *job) waitFor(happened <-chan struct{}) {
	j.t.Helper()
	testkit.Eventually(j.t, 3*time.Minute, func() error {
		select {
		case <-happened:
			return nil
		default:
		}
		run := j.get()
		if run.State.Done() {
			j.t.Fatalf("the run is %s: %+v", run.State, run.StatusMessage)
		}
		return fmt.Errorf("the model was not called; the run is %s", run.State)
	})
}

// pausing is a model that pauses before some turns.
type pausing struct {
	model  harness.ScriptedModel
	mu     sync.Mutex
	pauses map[int]*pause // by turn, each for one call
}

// pause is for a request that has this prompt.
type pause struct {
	prompt         string
	begun, release chan struct{}
}

func newPause(prompt string) *pause { return &pause{prompt, make(chan struct{}), make(chan struct{})} }

// ServeHTTP implements http.Handler.
func (p *pausing) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	if generates(r.URL.Path) && !p.waits(r.Context(), body) {
		return
	}
	p.model.ServeHTTP(w, r)
}

// waits returns false if the agent hung up before the release.
func (p *pausing) waits(ctx context.Context, request []byte) bool {
	turn := harness.ReadModelCall("", request).Turn
	p.mu.Lock()
	pause := p.pauses[turn]
	if pause != nil && !bytes.Contains(request, []byte(pause.prompt)) {
		pause = nil // agents also call the model between two prompts, such as for suggestions
	}
	if pause != nil {
		delete(p.pauses, turn)
	}
	p.mu.Unlock()
	if pause == nil {
		return true
	}
	close(pause.begun)
	select {
	case <-pause.release:
		return true
	case <-ctx.Done():
		return false
	}
}

// isSealed fails if the agent was not sealed, or tried to reach anything but its model.
func (j *job) isSealed() {
	j.t.Helper()
	var network run.RunNetwork
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
