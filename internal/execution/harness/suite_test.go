package harness_test

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/penstock-dev/penstock/internal/execution/harness"
	"github.com/penstock-dev/penstock/internal/testkit"
)

// points are what an agent owes, in the order of docs/harnesses.md.
var points = []struct {
	name string
	test func(t *testing.T, s *suite)
}{
	{"turns", testTurns},
	{"transcript", testTranscript},
	{"settings", testSettings},
	{"failures", testFailures},
	{"money", testMoney},
	{"sealed", testSealed},
}

// TestAgents runs each agent as a user does: the real program, in the real sandbox, through the
// gateway, against a scripted model. PENSTOCK_TEST_HARNESSES is the folder with the agents of
// scripts/harness-packages. Without it, only the agents that need no package are tested.
func TestAgents(t *testing.T) {
	t.Parallel()
	results := &table{cells: map[string]string{}}
	t.Cleanup(func() { results.write(t) })
	for _, a := range subjects() {
		t.Run(a.name, func(t *testing.T) {
			t.Parallel()
			s := newSuite(t, a)
			for _, p := range points { // one after the other, since an agent needs much of a machine
				t.Run(p.name, func(t *testing.T) {
					results.watch(t, s, p.name)
					p.test(t, s)
				})
			}
		})
	}
}

// subject is an agent of the suite.
type subject struct {
	name string // of its harness
	// api is the API of its provider.
	api string
	// shell is the model's tool for commands, and argument its parameter for the command.
	shell, argument string
	// models are names that people use.
	models []string
	// installed means that it is a package of scripts/harness-packages.
	installed bool
}

// reference is the harness of playReference.
const reference = "reference"

func subjects() []subject {
	list := []subject{
		{name: "builtin", api: "openai", shell: "run_command", argument: "command"},
		{name: reference, api: "openai", shell: "run", argument: "command"},
	}
	for _, p := range harness.Presets() {
		list = append(list, subject{
			name: p.Name, api: p.API, shell: p.Shell, argument: p.Argument, models: p.Models(), installed: true,
		})
	}
	return list
}

// command is a turn of the model that runs a command.
func (a subject) command(line string) harness.ScriptedTurn {
	return harness.ScriptedTurn{Tool: a.shell, Input: map[string]any{a.argument: line, "description": "Do it"}}
}

// suite is a server and a worker with one agent, and the provider of its models.
type suite struct {
	subject
	t      *testing.T
	server *testkit.Server
	worker *testkit.Worker // it executes the runs
	config string          // file with the provider
	models *models
	// tracker is an MCP server that the runs of the worker can reach.
	tracker *tracker
	limits  map[string][]string // what the agent cannot do, by point
}

// newSuite starts a server and a worker with an agent. It is skipped if the agents are not
// installed.
func newSuite(t *testing.T, a subject) *suite {
	t.Helper()
	if a.installed && os.Getenv("PENSTOCK_TEST_HARNESSES") == "" {
		t.Skip("make test and make harness-test install the agents, and run this test by itself")
	}
	s := &suite{subject: a, t: t, models: &models{named: map[string]http.Handler{}}, tracker: newTracker(t)}
	s.config = s.models.configuration(t, a.api)
	s.server = testkit.Serve(t, testkit.ServeOptions{Args: []string{
		"--no-worker", "--config", s.config,
	}})
	s.startWorker()
	return s
}

// startWorker starts a worker with a data folder of its own.
func (s *suite) startWorker() {
	s.t.Helper()
	s.worker = s.server.Worker(s.t, testkit.WorkerOptions{
		Args: []string{"--config", s.config, "--upstream-proxy", s.tracker.proxy.URL, "--ca-file", s.tracker.ca},
		// It finds the agent like one that is installed while it runs. It checks only this one.
		Prepare: func(data string) {
			if s.installed {
				linkAgent(s.t, s.name, os.Getenv("PENSTOCK_TEST_HARNESSES"), data)
			}
		},
	})
}

// linkAgent shows an agent and its Node.js in a data folder.
func linkAgent(t *testing.T, name, folder, data string) {
	t.Helper()
	data = filepath.Join(data, "harnesses")
	err := os.Mkdir(data, 0o700)
	for _, name := range []string{name, "node"} {
		from := filepath.Join(folder, name)
		if _, missing := os.Stat(filepath.Join(from, "current")); missing != nil {
			t.Fatalf("%s is not installed in %s", name, folder)
		}
		err = errors.Join(err, os.Symlink(from, filepath.Join(data, name)))
	}
	if err != nil {
		t.Fatal(err)
	}
}

// models is a model provider with a model for each run. Each model is a handler, such as
// *harness.ScriptedModel.
type models struct {
	mu     sync.Mutex
	named  map[string]http.Handler
	strays []string // requests for other models
}

// configuration starts the provider, and returns the configuration file of a server that has it.
func (m *models) configuration(t *testing.T, api string) (file string) {
	t.Helper()
	provider := httptest.NewServer(m)
	t.Cleanup(provider.Close)
	base := provider.URL
	if api == "openai" {
		base += "/v1"
	}
	file = filepath.Join(t.TempDir(), "penstock.yaml")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprintf(`
providers:
  scripted: {api: %s, base_url: %q}
harnesses:
  %s:
    command: [%q, reference]
    read_only: [%q]
    provider: scripted
    state: [.reference]
`, api, base, reference, self, filepath.Dir(self))
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// others lists the requests for models that no run has.
func (m *models) others() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.strays)
}

// add adds a model, and returns its name: a new one if it has none.
func (m *models) add(name string, model http.Handler) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	name = cmp.Or(name, fmt.Sprintf("model-%d", len(m.named)+1))
	m.named[name] = model
	return name
}

// ServeHTTP passes a request on to its model.
func (m *models) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	name := harness.ReadModelCall(r.URL.Path, body).Model
	m.mu.Lock()
	model := m.named[name]
	if model == nil {
		m.strays = append(m.strays, r.Method+" "+r.URL.Path+" for "+name)
	}
	m.mu.Unlock()
	if model == nil {
		http.Error(w, "there is no model "+name, http.StatusNotFound)
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	model.ServeHTTP(w, r)
}
