package gateway_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/penstock-dev/penstock/internal/wall/gateway"
)

// A server that reads the limit of the output under another name gets no more than what was reserved.
func TestEachNameOfTheLimitIsLowered(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		path, body string
		want       string // in the body that is sent
		output     int64  // that is reserved
		n          int64
	}{
		"llama.cpp": {
			chatPath, `{"model":"gpt-x","max_tokens":10,"n_predict":9000,"messages":[]}`, `"n_predict":10`, 10, 1,
		},
		"llama.cpp, without a limit": {
			chatPath, `{"model":"gpt-x","max_tokens":10,"n_predict":-1,"messages":[]}`, `"n_predict":10`, 10, 1,
		},
		"Ollama": {
			chatPath, `{"model":"gpt-x","options":{"num_predict":70,"num_ctx":9},"messages":[]}`, `"max_tokens":70`, 70, 1,
		},
		"Ollama, less elsewhere": {
			chatPath, `{"model":"gpt-x","max_tokens":10,"options":{"num_predict":70}}`, `"num_predict":10`, 10, 1,
		},
		"Responses": {
			responsesPath, `{"model":"gpt-x","input":"x","max_tokens":9000,"max_output_tokens":50}`, `"max_tokens":50`, 50, 1,
		},
		"vLLM, the best of three": {
			chatPath, `{"model":"gpt-x","max_tokens":10,"best_of":3,"n":2,"messages":[]}`, `"best_of":3`, 10, 3,
		},
		"vLLM, beams": {
			chatPath, `{"model":"gpt-x","max_tokens":10,"use_beam_search":true,"n":4}`, `"use_beam_search":true`, 10, 4,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPurse(1e15)
			r := newRig(t, replies(`{}`), gateway.SessionOptions{Spend: p, Prices: table(t)})
			if res, body := r.send(t, http.MethodPost, c.path, c.body); res.StatusCode != http.StatusOK {
				t.Fatalf("got %d %s", res.StatusCode, body)
			}
			if got := r.got()[0].Body; !strings.Contains(got, c.want) {
				t.Errorf("sent %s, want %s", got, c.want)
			}
			r.settled()
			if reserved, _ := p.one(t); reserved.Output != c.output || reserved.Completions != c.n {
				t.Errorf("reserved %d completions of %d, want %d of %d", reserved.Completions, reserved.Output, c.n, c.output)
			}
		})
	}
}

// A mark of the cache costs what its lifetime costs, also at a router with OpenAI's API, and wherever it stands.
func TestCacheMarksOfCompatibleServersCountTheirLifetime(t *testing.T) {
	t.Parallel()
	const mark = `"cache_control":{"type":"ephemeral","ttl":"1h"}`
	point := func(ttl string) string {
		return `{"model":"m","messages":[{"role":"user","content":[{"type":"text","text":"x","prompt_cache_breakpoint":` +
			`{"mode":"explicit","ttl":"` + ttl + `"}}]}]}`
	}
	input := func(body string) int64 {
		p := newPurse(1e15)
		r := newRig(t, replies(`{}`), gateway.SessionOptions{Spend: p, Prices: priceTable(t, `
models:
  openai/m: {window: 1000, max_output: 10, input: 1, cache_write: 1.25, cache_write_long: 2, output: 1}
`)})
		if res, said := r.send(t, http.MethodPost, chatPath, body); res.StatusCode != http.StatusOK {
			t.Fatalf("%s got %d %s", body, res.StatusCode, said)
		}
		r.settled()
		reserved, _ := p.one(t)
		return reserved.InputCost
	}
	short := input(`{"model":"m","messages":[]}`)
	if usual := input(point("30m")); usual != short {
		t.Errorf("a breakpoint with the usual lifetime reserved %d, without one %d", usual, short)
	}
	for name, body := range map[string]string{
		"at the top":   `{"model":"m","messages":[],` + mark + `}`,
		"in a message": `{"model":"m","messages":[{"role":"user","content":[{"type":"text","text":"x",` + mark + `}]}]}`,
		"in a tool":    `{"model":"m","messages":[],"tools":[{"type":"function","function":{"name":"f"},` + mark + `}]}`,
		"a breakpoint": point("24h"),
		"the options":  `{"model":"m","messages":[],"prompt_cache_options":{"ttl":"24h"}}`,
		"a retention":  `{"model":"m","messages":[],"prompt_cache_retention":"24h"}`,
		"another one":  `{"model":"m","messages":[],"prompt_cache_retention":"48h"}`,
	} {
		if long := input(body); long != short/5*8 { // the window at 2 instead of 1.25
			t.Errorf("%s: reserved %d, without a mark %d", name, long, short)
		}
	}
}

// A field that may cost more is refused under a cap: the refusal says which and why. A value that turns it off costs
// nothing.
func TestAFieldThatMayCostMoreIsExplained(t *testing.T) {
	t.Parallel()
	r := newRig(t, replies(`{}`), gateway.SessionOptions{
		Spend: newPurse(1e15), Prices: table(t), ProviderTools: []string{"web_search", "plugins"},
	})
	for fields, why := range map[string]string{
		`"models":["gpt-x"]`:             `/models lets the provider choose`,
		`"provider":{"order":["a"]}`:     `/provider lets the provider choose`,
		`"enable_search":true`:           `/enable_search lets the provider run tools`,
		`"plugins":[{"id":"web"}]`:       `/plugins lets the provider run tools`,
		`"moderation":{"model":"gpt-x"}`: `/moderation may make the provider call a model`,
		`"prediction":{"content":"x"}`:   `/prediction is billed beside the limit`,
		`"enable_search":false`:          "",
		`"plugins":[]`:                   "",
		`"models":null`:                  "",
		`"provider":{}`:                  "",
		`"operators":1`:                  `/operators may cost more`, // not even if an administrator allows it
		`"models":["m"]`:                 `at another price; leave it out, or run without a budget`,
		`"operators":{}`:                 `/operators may cost more`,
		`"operators":false`:              "",
		`"moderation":{}`:                `/moderation may make the provider call a model`,
	} {
		res, body := r.send(t, http.MethodPost, chatPath, `{"model":"gpt-x",`+fields+`}`)
		if why == "" && res.StatusCode == http.StatusOK {
			continue
		}
		if why == "" || res.StatusCode != http.StatusForbidden || !strings.Contains(body, why) {
			t.Errorf("%s got %d %s", fields, res.StatusCode, body)
		}
	}
}
