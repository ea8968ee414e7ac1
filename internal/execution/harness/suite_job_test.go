package harness_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/execution/harness"
	"github.com/penstock-dev/penstock/internal/testkit"
)

// job is a run of an agent.
type job struct {
	t     *testing.T
	suite *suite
	id    string
	// model is its model, if it follows a script.
	model *harness.ScriptedModel
}

// run starts a run with a model that follows a script.
func (s *suite) run(t *testing.T, prompt string, turns ...harness.ScriptedTurn) *job {
	t.Helper()
	model := &harness.ScriptedModel{Turns: turns}
	j := s.start(t, model, map[string]any{"prompt": prompt})
	j.model = model
	return j
}

// start starts a run with any model. The request names the model, unless it has a config.harness
// that does.
func (s *suite) start(t *testing.T, model http.Handler, request map[string]any) *job {
	t.Helper()
	return s.startNamed(t, s.models.add("", model), request)
}

// startNamed is start for a model that has a name already.
func (s *suite) startNamed(t *testing.T, model string, request map[string]any) *job {
	t.Helper()
	settings := map[string]any{"type": s.name, "model_id": "scripted/" + model}
	config, _ := request["config"].(map[string]any)
	config = maps.Clone(config)
	if config == nil {
		config = map[string]any{}
	}
	if more, ok := config["harness"].(map[string]any); ok {
		maps.Copy(settings, more)
	}
	config["harness"] = settings
	request = maps.Clone(request)
	request["config"] = config
	j := &job{t: t, suite: s}
	var run penstock.Run
	j.call(http.MethodPost, "/agent/runs", request, &run)
	j.id = run.ID
	return j
}

// call calls the API and decodes the response. It fails if that is an error.
func (j *job) call(method, path string, body, into any) {
	j.t.Helper()
	sent, err := json.Marshal(body)
	if err != nil {
		j.t.Fatal(err)
	}
	url := j.suite.server.URL + "/api/v1" + path
	r, err := http.NewRequestWithContext(j.t.Context(), method, url, bytes.NewReader(sent))
	if err != nil {
		j.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+j.suite.server.Key)
	r.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		j.t.Fatal(err)
	}
	defer res.Body.Close()
	got, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode/100 != 2 {
		err = fmt.Errorf("status %d: %s", res.StatusCode, got)
	}
	if err == nil && into != nil {
		err = json.Unmarshal(got, into)
	}
	if err != nil {
		j.t.Fatalf("%s %s: %v", method, path, err)
	}
}

// get reads the run.
func (j *job) get() penstock.Run {
	j.t.Helper()
	var run penstock.Run
	j.call(http.MethodGet, "/agent/runs/"+j.id, nil, &run)
	return run
}

// reaches waits until the run is in a state. It fails if the run ends in another one.
func (j *job) reaches(state penstock.State) {
	j.t.Helper()
	testkit.Eventually(j.t, 3*time.Minute, func() error {
		run := j.get()
		if run.State != state && run.State.Done() {
			j.t.Fatalf("the run is %s: %+v\n%s", run.State, run.StatusMessage, strings.Join(j.lines(), "\n"))
		}
		if run.State != state {
			return fmt.Errorf("the run is %s", run.State)
		}
		return nil
	})
}

// followUp sends another message to the run.
func (j *job) followUp(message string) {
	j.t.Helper()
	j.call(http.MethodPost, "/agent/runs/"+j.id+"/followups", map[string]any{"message": message}, nil)
}

// messages are the messages of the conversation, without deltas.
func (j *job) messages() []penstock.Message {
	j.t.Helper()
	var conversation penstock.Conversation
	j.call(http.MethodGet, "/agent/runs/"+j.id+"/conversation", nil, &conversation)
	var list []penstock.Message
	for _, step := range conversation.Steps {
		list = slices.Concat(list, step.Messages)
	}
	return list
}

// lines are the blocks of the conversation, each in a line: a text with its role, an action with
// its input, and a result with its state and output.
func (j *job) lines() []string {
	j.t.Helper()
	var lines []string
	for _, m := range j.messages() {
		for _, b := range m.Content {
			switch b.Type {
			case penstock.BlockText:
				lines = append(lines, m.Role+": "+strings.TrimSpace(b.Text))
			case penstock.BlockAction:
				lines = append(lines, b.Name+": "+short(b.Input, "command"))
			case penstock.BlockActionResult:
				lines = append(lines, b.State+": "+strings.TrimSpace(short(b.Output, "output")))
			default:
				lines = append(lines, b.Type+" "+b.Name+": "+string(b.Data))
			}
		}
	}
	return lines
}

// short returns the named text of an object if that has it, and otherwise the object.
func short(data json.RawMessage, name string) string {
	var in map[string]json.RawMessage
	var text string
	if json.Unmarshal(data, &in) == nil && json.Unmarshal(in[name], &text) == nil {
		return text
	}
	return string(data)
}

// timeline is the timeline as compact JSON.
func (j *job) timeline() string {
	j.t.Helper()
	var timeline json.RawMessage
	j.call(http.MethodGet, "/agent/runs/"+j.id+"/timeline", nil, &timeline)
	var compact bytes.Buffer
	_ = json.Compact(&compact, timeline) // it was decoded
	return compact.String()
}
