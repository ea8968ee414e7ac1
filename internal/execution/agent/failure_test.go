package agent

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/penstock-dev/penstock/internal/execution/acp"
)

func TestTransientFailuresAreTriedAgain(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		broken func(p provider) http.HandlerFunc
	}{
		{"too many requests", func(provider) http.HandlerFunc { return fails(429, `{"error":{"message":"slow down"}}`) }},
		{"an error of the server", func(provider) http.HandlerFunc { return fails(500, `{"error":{"message":"oops"}}`) }},
		{"overloaded", func(provider) http.HandlerFunc {
			return fails(529, `{"type":"error","error":{"type":"overloaded_error","message":"busy"}}`)
		}},
		{"a gateway's page", func(provider) http.HandlerFunc { return fails(502, `<html>Bad gateway</html>`) }},
		{"a connection that breaks before the response", func(provider) http.HandlerFunc {
			return func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }
		}},
		{"a connection that breaks in the middle", func(p provider) http.HandlerFunc {
			return thenBreaks(p.cut(said{text: "Half a", lines: 2})...)
		}},
		{"a response that ends too early", func(p provider) http.HandlerFunc {
			return stream(p.cut(said{text: "Half a", lines: 2})...)
		}},
		{"an empty response", func(provider) http.HandlerFunc { return stream() }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			each(t, func(t *testing.T, p provider) {
				h, fake := withModel(t, p, tt.broken(p), tt.broken(p), p.stream(said{text: "Here I am."}))
				h.say(h.open(), "hi", acp.StopEndTurn)
				if got := h.text(); !strings.HasSuffix(got, "Here I am.") {
					t.Errorf("said %q", got)
				}
				if n := len(fake.seen()); n != 3 {
					t.Errorf("%d requests, want 3", n)
				}
			})
		})
	}
}

func TestAnInterruptedResponseIsASeparateMessage(t *testing.T) {
	t.Parallel()
	p := providers[0]
	h, _ := withModel(t, p, thenBreaks(p.cut(said{text: "Half a", lines: 5})...), p.stream(said{text: "Whole."}))
	h.say(h.open(), "hi", acp.StopEndTurn)
	ids := map[string]string{}
	for _, u := range h.told(func(u acp.Update) bool { return u.Kind == acp.UpdateAgentMessage }) {
		ids[u.Chunk.MessageID] += u.Chunk.Content.Text
	}
	if len(ids) != 2 || ids[""] != "" {
		t.Errorf("messages = %v, want two with ids", ids)
	}
}

// The tokens of a broken response cost money and count against the budget.
func TestTheUsageOfInterruptedResponsesCounts(t *testing.T) {
	t.Parallel()
	for name, broken := range map[string]func(p provider) http.HandlerFunc{
		"a connection that breaks": func(p provider) http.HandlerFunc {
			return thenBreaks(
				p.cut(said{text: "Half a", lines: 4})...,
			)
		},
		"an end that is too early": func(p provider) http.HandlerFunc {
			return stream(
				p.cut(said{text: "Half a", lines: 2})...,
			)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			each(t, func(t *testing.T, p provider) {
				if p.name == "openai" {
					t.Skip("tells the usage at the end")
				}
				var responses []http.HandlerFunc
				for range maxAttempts {
					responses = append(responses, broken(p))
				}
				h, _ := withModel(t, p, responses...)
				if _, err := h.Prompt(h.ctx, h.open(), acp.Text("hi")); err == nil {
					t.Error("got no error")
				}
				updates := h.told(func(u acp.Update) bool { return u.Usage != nil })
				var usage acp.TurnUsage
				if len(updates) != maxAttempts || !updates[maxAttempts-1].Usage.Meta.Read(acp.MetaUsage, &usage) ||
					usage.Input != 100*maxAttempts {
					t.Errorf("%d updates, the last with %+v", len(updates), usage)
				}
			})
		})
	}
}

func TestAnErrorInTheMiddleOfAStream(t *testing.T) {
	t.Parallel()
	broken := map[string]string{
		"anthropic": "event: error\ndata: " +
			"{\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}",
		"openai": `data: {"error":{"message":"The server had an error","type":"server_error"}}`,
		"google": `data: {"error":{"code":503,"message":"The model is overloaded","status":"UNAVAILABLE"}}`,
	}
	each(t, func(t *testing.T, p provider) {
		h, _ := withModel(
			t, p, stream(append(p.cut(said{text: "Half", lines: 2}), broken[p.name])...), p.stream(said{text: "Whole."}),
		)
		h.say(h.open(), "hi", acp.StopEndTurn)
	})
}

func TestAttemptsAreBounded(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, p provider) {
		var responses []http.HandlerFunc
		for range maxAttempts {
			responses = append(responses, fails(503, `{"error":{"message":"come back later"}}`))
		}
		h, fake := withModel(t, p, responses...)
		_, err := h.Prompt(h.ctx, h.open(), acp.Text("hi"))
		var failed *acp.Error
		if !errors.As(err, &failed) || !strings.Contains(failed.Message, "come back later") ||
			!strings.Contains(failed.Message, p.model) {
			t.Errorf("got %v", err)
		}
		var data struct {
			Status    int  `json:"status"`
			Attempts  int  `json:"attempts"`
			Transient bool `json:"transient"`
		}
		if err := json.Unmarshal(failed.Data, &data); err != nil || data.Status != 503 || data.Attempts != maxAttempts ||
			!data.Transient {
			t.Errorf("data = %s", failed.Data)
		}
		if n := len(fake.seen()); n != maxAttempts {
			t.Errorf("%d requests, want %d", n, maxAttempts)
		}
	})
}

func TestOtherFailuresAreNotTriedAgain(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name     string
		only     string
		response http.HandlerFunc
		want     string
	}{
		{"a wrong key", "", fails(401, `{"error":{"message":"invalid key"}}`), "invalid key"},
		{"a bad request", "", fails(400, `{"error":{"message":"no such tool schema"}}`), "no such tool schema"},
		{"no such model", "", fails(404, `{"error":{"message":"model not found"}}`), "model not found"},
		{"no money left", "openai", fails(429, `{"error":{"message":"pay first","code":"insufficient_quota"}}`), "pay first"},
		{"a redirect", "", fails(307, ``, "Location: http://127.0.0.1:1/"), "redirects to 127.0.0.1:1"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			each(t, func(t *testing.T, p provider) {
				if tt.only != "" && tt.only != p.name {
					t.Skip("of another provider")
				}
				h, fake := withModel(t, p, tt.response)
				_, err := h.Prompt(h.ctx, h.open(), acp.Text("hi"))
				var failed *acp.Error
				if !errors.As(err, &failed) || !strings.Contains(failed.Message, tt.want) {
					t.Errorf("got %v, want %q", err, tt.want)
				}
				if failed != nil && strings.Contains(failed.Error(), "the-key") {
					t.Errorf("the key is in the error: %v", failed)
				}
				if n := len(fake.seen()); n != 1 {
					t.Errorf("%d requests, want 1", n)
				}
			})
		})
	}
}

func TestTheRetryAfterOfAProvider(t *testing.T) {
	t.Parallel()
	p := providers[0]
	h, _ := withModel(t, p, fails(429, `{}`, "Retry-After: 1"), p.stream(said{text: "Now."}))
	began := time.Now()
	h.say(h.open(), "hi", acp.StopEndTurn)
	if took := time.Since(began); took < time.Second {
		t.Errorf("tried again after %s, want at least a second", took)
	}
}

func TestAStalledResponse(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, p provider) {
		fake := newFakeModel(t, thenHangs(p.cut(said{text: "On it", lines: 2})...), p.stream(said{text: "There."}))
		h := start(t, func(c *Config) {
			c.Model, c.Stall = p.model, 3*time.Second // a busy machine does not stall for as long
			p.config(c, fake.URL)
		})
		h.say(h.open(), "hi", acp.StopEndTurn)
	})
}
