package harness_test

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/execution/harness"
	"github.com/penstock-dev/penstock/internal/testkit"
)

// spoken is what the model says in the tests of failures.
const spoken = "These are the words of the model."

// failing is a model whose first calls fail.
type failing struct {
	model harness.ScriptedModel
	// times is how many calls of the agent fail; 0: all.
	times int64
	fail  func(w http.ResponseWriter, r *http.Request, answer http.Handler)
	calls atomic.Int64
}

// ServeHTTP implements http.Handler.
func (f *failing) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !generates(r.URL.Path) {
		f.model.ServeHTTP(w, r)
		return
	}
	if n := f.calls.Add(1); f.times == 0 || n <= f.times {
		f.fail(w, r, &f.model)
		return
	}
	f.model.ServeHTTP(w, r)
}

// generates reports whether a call is for an answer of the model.
func generates(path string) bool {
	for _, end := range []string{"/chat/completions", "/responses", "/messages", "enerateContent"} {
		if strings.HasSuffix(path, end) {
			return true
		}
	}
	return false
}

// status fails with an error in the words of the provider's API.
func status(code int, kind, message string, header ...string) func(http.ResponseWriter, *http.Request, http.Handler) {
	return func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
		w.Header().Set("Content-Type", "application/json")
		for i := 0; i < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(code)
		switch {
		case strings.HasSuffix(r.URL.Path, "enerateContent"):
			fmt.Fprintf(w, `{"error":{"code":%d,"message":%q,"status":%q}}`, code, message, strings.ToUpper(kind))
		case strings.HasSuffix(r.URL.Path, "/messages"):
			fmt.Fprintf(w, `{"type":"error","error":{"type":%q,"message":%q}}`, kind, message)
		default:
			fmt.Fprintf(w, `{"error":{"message":%q,"type":%q,"param":null,"code":%q}}`, message, kind, kind)
		}
	}
}

// halfway sends an answer up to the middle of its words, and then does what follows.
func halfway(then func(r *http.Request)) func(http.ResponseWriter, *http.Request, http.Handler) {
	return func(w http.ResponseWriter, r *http.Request, answer http.Handler) {
		answer.ServeHTTP(&cutWriter{w, func() { then(r) }}, r)
	}
}

// cutWriter stops in the middle of the words.
type cutWriter struct {
	http.ResponseWriter

	then func()
}

// Unwrap is for http.ResponseController.
func (c *cutWriter) Unwrap() http.ResponseWriter { return c.ResponseWriter }

// Write implements io.Writer.
func (c *cutWriter) Write(p []byte) (int, error) {
	at := bytes.Index(p, []byte(spoken))
	if at < 0 {
		return c.ResponseWriter.Write(p)
	}
	n, err := c.ResponseWriter.Write(p[:at+len(spoken)/2])
	_ = http.NewResponseController(c.ResponseWriter).Flush()
	c.then()
	return n, err
}

func hangUp(*http.Request) { panic(http.ErrAbortHandler) }

// failures are what providers do, and how a run ends then. Agents that may give up where others try
// again are named: if they try again, the run must succeed, too.
var failures = []struct {
	name    string
	times   int64
	fail    func(http.ResponseWriter, *http.Request, http.Handler)
	code    penstock.Code // "": the run succeeds
	says    string
	givesUp map[string]string // which agents may end the run instead of trying again
}{
	{name: "429 with Retry-After", times: 1, fail: status(429, "rate_limit_error", "Slow down.", "Retry-After", "1")},
	{name: "529", times: 1, fail: status(529, "overloaded_error", "Overloaded.")},
	{name: "500", times: 1, fail: status(500, "api_error", "Something broke.")},
	{
		name: "a stream that is cut", times: 1, fail: halfway(hangUp), code: penstock.CodeUnavailable,
		says:    "ended its response too early",
		givesUp: map[string]string{"gemini": "it may give up after a stream that was cut, and the run then ends in ERROR"},
	},
	{
		name: "401", fail: status(401, "authentication_error", "Invalid key."), code: penstock.CodeExternalAuthRequired,
		says: "rejected the key of the server (status 401): Invalid key",
	},
	{
		name: "an unknown model", fail: status(404, "not_found_error", "No such model."), code: penstock.CodeInvalidRequest,
		says: "does not have the model \"model-",
	},
	{
		name: "context overflow", fail: status(400, "invalid_request_error", overflow), code: penstock.CodeInvalidRequest,
		says: overflow,
	},
	{
		name: "429 for ever", fail: status(429, "rate_limit_error", "Slow down."), code: penstock.CodeRateLimited,
		says: "received too many requests (status 429)",
	},
	{
		name: "503 for ever", fail: status(503, "api_error", "Down."), code: penstock.CodeUnavailable,
		says: "is not available (status 503): Down.",
	},
}

const overflow = "prompt is too long: 300000 tokens > 200000 maximum"

// testRefusal is a run whose requests the gateway does not forward.
func testRefusal(t *testing.T, s *suite) {
	t.Helper()
	name := s.models.add("scripted-search-preview", &harness.ScriptedModel{Turns: []harness.ScriptedTurn{{Text: spoken}}})
	j := s.startNamed(t, name, map[string]any{"prompt": "Say something."})
	j.reaches(penstock.StateFailed)
	if m := j.get().StatusMessage; m == nil || m.ErrorCode != penstock.CodeInvalidRequest ||
		!strings.HasPrefix(m.Message, "The model gateway refused ") || !strings.Contains(m.Message, "searches the web") {
		t.Errorf("the run says %+v\n%s", m, strings.Join(j.lines(), "\n"))
	}
}

// testFailures is point 4: what the provider can do to a run, and cancelling it in each phase.
func testFailures(t *testing.T, s *suite) {
	t.Run("cancel", func(t *testing.T) { testCancels(t, s) })
	t.Run("a refusal of the gateway", func(t *testing.T) { testRefusal(t, s) })
	for _, f := range failures {
		t.Run(f.name, func(t *testing.T) {
			model := &failing{times: f.times, fail: f.fail, model: harness.ScriptedModel{
				Turns: []harness.ScriptedTurn{{Text: spoken}},
			}}
			j := s.start(t, model, map[string]any{"prompt": "Say something."})
			var run penstock.Run
			testkit.Eventually(t, 5*time.Minute, func() error {
				if run = j.get(); !run.State.Done() {
					return fmt.Errorf("the run is %s after %d calls", run.State, model.calls.Load())
				}
				return nil
			})
			why := f.givesUp[s.name]
			if why != "" {
				s.cannot(t, "failures", why)
			}
			if f.times > 0 && (why == "" || model.calls.Load() > 1) {
				if lines := j.lines(); run.State != penstock.StateSucceeded || lines[len(lines)-1] != "assistant: "+spoken {
					t.Errorf("the run is %s: %+v\n%s", run.State, run.StatusMessage, strings.Join(lines, "\n"))
				}
				return
			}
			m := run.StatusMessage
			if run.State == penstock.StateSucceeded || m == nil || m.ErrorCode != f.code ||
				!strings.HasPrefix(m.Message, "The model provider scripted ") || !strings.Contains(m.Message, f.says) {
				t.Errorf("the run is %s: %+v, want %s, %q\n%s", run.State, m, f.code, f.says, strings.Join(j.lines(), "\n"))
			}
			t.Logf("%d calls", model.calls.Load())
		})
	}
}
