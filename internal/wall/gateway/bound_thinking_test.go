package gateway_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/penstock-dev/penstock/internal/wall/gateway"
)

// thinkingRig is a compatible server with a model that has a price and the limits of gpt-x, and one that has
// a price only.
func thinkingRig(t *testing.T, p *purse, includes *bool) *rig {
	t.Helper()
	r := &rig{provider: newProvider(t, counting(10))}
	var err error
	r.gateway, err = gateway.New(gateway.Options{Providers: []gateway.Provider{
		{Name: "openai", API: gateway.OpenAI, BaseURL: r.URL + "/v1", Key: realKey, LimitIncludesThinking: includes},
		{Name: "anthropic", API: gateway.Anthropic, BaseURL: r.URL, Key: realKey, LimitIncludesThinking: includes},
		{Name: "gemini", API: gateway.Gemini, BaseURL: r.URL, Key: realKey, LimitIncludesThinking: includes},
	}})
	if err != nil {
		t.Fatal(err)
	}
	r.session = r.gateway.Session(gateway.SessionOptions{Spend: p, Prices: table(t)})
	server := httptest.NewServer(r.session)
	t.Cleanup(func() {
		r.session.Close()
		server.Close()
	})
	r.relay = server.URL
	return r
}

// A second limit of the output is part of the bound, wherever it stands and whatever it is called, and the
// limit that is sent stays the request's.
func TestASecondLimitOfTheOutputIsPartOfTheBound(t *testing.T) {
	t.Parallel()
	const whole = 128_000 // of gpt-x
	for fields, want := range map[string]int64{
		``: 0,
		`"enable_thinking":true,"thinking_budget":60000,`:                                  60_000,
		`"thinking_budget":60000,`:                                                         60_000,
		`"thinking_budget":"60000",`:                                                       60_000,
		`"thinking_budget":6e4,`:                                                           60_000,
		`"chat_template_kwargs":{"enable_thinking":true,"thinking_budget":60000},`:         60_000,
		`"chat_template_kwargs":{"thinking_token_budget":60000},`:                          60_000,
		`"reasoning":{"max_tokens":60000},`:                                                60_000,
		`"thinking":{"budget_tokens":60000},`:                                              60_000,
		`"enable_thinking":true,`:                                                          whole,
		`"enable_thinking":"true",`:                                                        whole,
		`"chat_template_kwargs":{"enable_thinking":true},`:                                 whole,
		`"chat_template_kwargs":{"options":[{"thinking":true}]},`:                          whole,
		`"reasoning_effort":"high",`:                                                       whole,
		`"reasoning":{"effort":"low"},`:                                                    whole,
		`"thinking":{"type":"enabled"},`:                                                   whole,
		`"thinking_budget":-1,`:                                                            whole,
		`"enable_thinking":true,"chat_template_kwargs":{"thinking_budget":1},`:             whole,
		`"thinking":{"type":"enabled","budget_tokens":1},`:                                 whole,
		`"enable_thinking":false,`:                                                         0,
		`"thinking":{"type":"disabled"},`:                                                  0,
		`"reasoning_effort":"none",`:                                                       0,
		`"chat_template_kwargs":{"enable_thinking":false},`:                                0,
		`"preserve_thinking":true,"reasoning_split":true,`:                                 0,
		`"metadata":{"thinking_budget":"9"},"logit_bias":{"type":1,"thinking":1,"123":1},`: 0,
	} {
		t.Run(fields, func(t *testing.T) {
			t.Parallel()
			p := newPurse(1e12)
			r := thinkingRig(t, p, nil)
			res, body := r.send(t, http.MethodPost, chatPath, `{"model":"gpt-x",`+fields+`"max_tokens":10,"n":2,"messages":[]}`)
			r.settled()
			if res.StatusCode != http.StatusOK {
				t.Fatalf("got %d %s", res.StatusCode, body)
			}
			reservation, _ := p.one(t)
			if reservation.Output != 10+want || reservation.LeastOutput != 10+want {
				t.Errorf("reserved output of %d, at least %d, want %d", reservation.Output, reservation.LeastOutput, 10+want)
			}
			if sent := r.got()[0].Body; !strings.Contains(sent, `"max_tokens":10,`) {
				t.Errorf("sent %s", sent)
			}
		})
	}
}

// What cannot be bounded is refused by name.
func TestThinkingWithoutALimitIsRefused(t *testing.T) {
	t.Parallel()
	for fields, want := range map[string]string{
		`"enable_thinking":true`:                                "/enable_thinking makes the model think without a limit",
		`"chat_template_kwargs":{"enable_thinking":true}`:       "/chat_template_kwargs/enable_thinking",
		`"reasoning_effort":"high"`:                             "limit_includes_thinking of the provider openai",
		`"thinking_budget":1.5`:                                 "/thinking_budget is not a number of tokens",
		`"enable_thinking":true,"thinking_budget":999999999999`: "more than can be counted",
	} {
		t.Run(fields, func(t *testing.T) {
			t.Parallel()
			r := thinkingRig(t, newPurse(1e12), nil)
			res, body := r.send(t, http.MethodPost, chatPath, `{"model":"gpt-plain","max_tokens":10,`+fields+`,"messages":[]}`)
			if res.StatusCode != http.StatusForbidden || !strings.Contains(body, want) || len(r.got()) > 0 {
				t.Errorf("got %d %s", res.StatusCode, body)
			}
		})
	}
}

// The configuration of the provider says whether its limit includes thinking.
func TestTheProviderSaysWhetherItsLimitIncludesThinking(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		includes bool
		path     string
		body     string
		want     int64
	}{
		"it does": {true, chatPath, `{"model":"gpt-x","max_tokens":100,"enable_thinking":true,"messages":[]}`, 100},
		"it does, with a budget above": {
			true, chatPath, `{"model":"gpt-x","max_tokens":100,"thinking_budget":900,"messages":[]}`, 100,
		},
		"it does not":            {false, chatPath, `{"model":"gpt-x","max_tokens":100,"messages":[]}`, 128_100},
		"it does not, Messages":  {false, messages, `{"model":"claude-x","max_tokens":100,"messages":[]}`, 64_100},
		"it does not, Responses": {false, responsesPath, `{"model":"gpt-x","max_output_tokens":100,"input":"x"}`, 128_100},
		"it does not, Gemini":    {false, geminiPath, `{"generationConfig":{"maxOutputTokens":100},"contents":[]}`, 65_636},
		"it does not, a budget": {
			false, chatPath, `{"model":"gpt-x","max_tokens":100,"enable_thinking":true,"thinking_budget":50,"messages":[]}`, 150,
		},
		"it does not, off": {
			false, chatPath, `{"model":"gpt-x","max_tokens":100,"enable_thinking":false,"messages":[]}`, 128_100,
		},
		"it does not, two limits": {
			false, chatPath, `{"model":"gpt-x","max_tokens":100,"max_completion_tokens":200,"messages":[]}`, 128_100,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPurse(1e13)
			r := thinkingRig(t, p, &c.includes)
			r.send(t, http.MethodPost, c.path, c.body)
			r.settled()
			if reservation, _ := p.one(t); reservation.Output != c.want {
				t.Errorf("reserved output of %d, want %d", reservation.Output, c.want)
			}
		})
	}
}

// The other APIs define that their limit includes thinking. A budget above it shows a server that counts
// otherwise.
func TestABudgetAboveTheLimitIsAdded(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		path, body    string
		output, least int64
	}{
		"messages": {
			messages, `{"model":"claude-x","max_tokens":5000,"thinking":{"type":"enabled","budget_tokens":2000},"messages":[]}`,
			5000, 5000,
		},
		"messages, above": {
			messages, `{"model":"claude-x","max_tokens":10,"thinking":{"type":"enabled","budget_tokens":2000},"messages":[]}`,
			2010, 2010,
		},
		"gemini, above": {
			geminiPath, `{"contents":[],"generationConfig":{"maxOutputTokens":10,"thinkingConfig":{"thinkingBudget":2000}}}`,
			2010, 2010,
		},
		"responses": {
			responsesPath, `{"model":"gpt-x","max_output_tokens":100,"reasoning":{"effort":"high"},"input":"x"}`, 100, 100,
		},
		"responses, above": {
			responsesPath, `{"model":"gpt-x","max_output_tokens":100,"reasoning":{"max_tokens":2000},"input":"x"}`, 2100, 2100,
		},
		"responses, a switch of its server": {
			responsesPath, `{"model":"gpt-x","max_output_tokens":100,"enable_thinking":true,"input":"x"}`, 128_100, 128_100,
		},
		"responses, a switch in the template": {
			responsesPath,
			`{"model":"gpt-x","max_output_tokens":100,"chat_template_kwargs":{"enable_thinking":true},"input":"x"}`,
			128_100, 128_100,
		},
		"responses, a budget in the template": {
			responsesPath, `{"model":"gpt-x","max_output_tokens":100,"chat_template_kwargs":{"thinking_budget":90},"input":"x"}`,
			190, 190,
		},
		"responses, a switch of its server beside a budget": {
			responsesPath, `{"model":"gpt-x","max_output_tokens":100,"enable_thinking":"true",` +
				`"chat_template_kwargs":{"thinking_budget":90},"input":"x"}`, 128_100, 128_100,
		},
		"responses, a switch and its budget": {
			responsesPath, `{"model":"gpt-x","max_output_tokens":100,` +
				`"chat_template_kwargs":{"enable_thinking":true,"thinking_budget":90},"input":"x"}`, 190, 190,
		},
		"responses, switched off": {
			responsesPath, `{"model":"gpt-x","max_output_tokens":100,"enable_thinking":false,"input":"x"}`, 100, 100,
		},
		"zero elsewhere than at Anthropic": {messages, `{"model":"claude-x","max_tokens":0,"messages":[]}`, 64_000, 64_000},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPurse(1e12)
			r := thinkingRig(t, p, nil)
			r.send(t, http.MethodPost, c.path, c.body)
			r.settled()
			if reservation, _ := p.one(t); reservation.Output != c.output {
				t.Errorf("reserved output of %d, want %d", reservation.Output, c.output)
			}
		})
	}
}

// Forty calls at once whose provider counts thinking beside the limit stay within their budget.
func TestThinkingBesideTheLimitDoesNotCrossTheCap(t *testing.T) {
	t.Parallel()
	p := newPurse(100_000_000)
	r := thinkingRig(t, p, nil)
	done := make(chan int)
	for range 40 {
		go func() {
			res, _ := r.send(t, http.MethodPost, chatPath,
				`{"model":"gpt-x","max_tokens":10,"enable_thinking":true,"thinking_budget":60000,"messages":[]}`)
			done <- res.StatusCode
		}()
	}
	for range 40 {
		if code := <-done; code != http.StatusForbidden {
			t.Errorf("a call that can cost 1.20 USD got %d under a budget of 0.10", code)
		}
	}
}

// A prompt of which the provider fetches or keeps a part can be another one when it is counted.
func TestAPromptThatCanChangeIsNotCounted(t *testing.T) {
	t.Parallel()
	words := strings.Repeat("word ", 20_000)
	for name, c := range map[string]struct{ path, body string }{
		"an image by URL": {
			messages, `{"model":"claude-x","max_tokens":10,"messages":[{"role":"user","content":[{"type":"image","source":` +
				`{"type":"url","url":"https://a.example/x.png"}}]}]}`,
		},
		"a document by URL in a result": {
			messages, `{"model":"claude-x","max_tokens":10,"messages":[{"role":"user","content":[{"type":"tool_result",` +
				`"tool_use_id":"t","content":[{"type":"document","source":{"type":"url","url":"https:\/\/a.example/x"}}]}]}]}`,
		},
		"a file by URL": {
			responsesPath, `{"model":"gpt-x","max_output_tokens":16,"input":[{"role":"user","content":[{"type":"input_file",` +
				`"file_url":"https://a.example/x.pdf"}]}]}`,
		},
		"a file by URI": {
			geminiPath, `{"generationConfig":{"maxOutputTokens":10},"contents":[{"parts":[{"fileData":{"mimeType":` +
				`"image/png","fileUri":"https://a.example/x"}}]}]}`,
		},
		"a URL in the data of an image": {
			geminiPath, `{"generationConfig":{"maxOutputTokens":10},"contents":[{"parts":[{"inlineData":{"mimeType":` +
				`"image/png","data":" GS://a/x"}}]}]}`,
		},
		"documents of the template": {
			responsesPath, `{"model":"gpt-x","max_output_tokens":16,"input":"x","chat_template_kwargs":{"documents":["` +
				words + `"]}}`,
		},
		"a name of the template": {
			responsesPath, `{"model":"gpt-x","max_output_tokens":16,"input":"x","chat_template_kwargs":{"` + words + `":1}}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPurse(20_000_000)
			r := newRig(t, counting(2000), optionsWithSources(t, p))
			res, body := r.send(t, http.MethodPost, c.path, c.body)
			if res.StatusCode != http.StatusForbidden || len(r.got()) > 0 {
				t.Errorf("got %d %.300s, with %d requests at the provider", res.StatusCode, body, len(r.got()))
			}
		})
	}
	t.Run("an image in the request", func(t *testing.T) {
		t.Parallel()
		p := newPurse(20_000_000)
		r := newRig(t, counting(2000), optionsWithSources(t, p))
		res, body := r.send(t, http.MethodPost, messages, fmt.Sprintf(`{"model":"claude-x","max_tokens":10,"system":%q,`+
			`"messages":[{"role":"user","content":[{"type":"image","source":{"type":"base64","data":"AAAA"}}]}]}`, words))
		if res.StatusCode != http.StatusOK {
			t.Errorf("got %d %s", res.StatusCode, body)
		}
	})
}

func optionsWithSources(t *testing.T, p *purse) gateway.SessionOptions {
	t.Helper()
	opts := spending(t, p)
	opts.AllowSource = func(string, int) string { return "" }
	return opts
}

// Audio without a price of its own is unpriced, also the audio of a video. Other parts are not
// audio.
func TestAudioWithoutAPriceIsRefused(t *testing.T) {
	t.Parallel()
	part := func(part string) string {
		return `{"model":"gpt-x","max_tokens":5,"messages":[{"role":"user","content":[` + part + `]}]}`
	}
	for name, c := range map[string]struct {
		path, body string
		refused    bool
	}{
		"audio":           {chatPath, part(`{"type":"input_audio","input_audio":{"data":"AAAA","format":"wav"}}`), true},
		"a video":         {chatPath, part(`{"type":"video_url","video_url":{"url":"data:video/mp4;base64,AAAA"}}`), true},
		"audio as a file": {chatPath, part(`{"type":"file","file":{"file_data":"data:AUDIO/wav;base64,AAAA"}}`), true},
		"untyped audio":   {chatPath, part(`{"audio_url":{"url":"data:,AAAA"}}`), true},
		"untyped video":   {chatPath, part(`{"type":"text","text":"x","video":["data:,AAAA"]}`), true},
		"an unknown part": {chatPath, part(`{"type":"sound","data":"AAAA"}`), true},
		"an audio answer": {
			chatPath, `{"model":"gpt-x","max_tokens":5,"messages":[{"role":"assistant","audio":{"data":"a"}}]}`, true,
		},
		"an image":   {chatPath, part(`{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA"}}`), false},
		"a document": {chatPath, part(`{"type":"file","file":{"file_data":"data:application/pdf;base64,AAAA"}}`), false},
		"audio in a call": {
			responsesPath, `{"model":"gpt-x","input":[{"type":"x_search_call","content":[{"type":"input_audio"}]}]}`, true,
		},
		"Gemini has one": {
			geminiPath, `{"contents":[{"parts":[{"inlineData":{"mimeType":"audio/wav","data":"AAAA"}}]}]}`, false,
		},
		"Gemini's document": {
			geminiPath, `{"contents":[{"parts":[{"inlineData":{"mimeType":"application/pdf","data":"AAAA"}}]}]}`, false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPurse(1e12)
			r := newRig(t, counting(2000), spending(t, p))
			res, body := r.send(t, http.MethodPost, c.path, c.body)
			if refused := res.StatusCode == http.StatusForbidden; refused != c.refused || refused != (len(r.got()) == 0) {
				t.Errorf("got %d %s, with %d requests at the provider", res.StatusCode, body, len(r.got()))
			}
		})
	}
}

// Parts of ordinary histories are not audio, at models whose audio has no price.
func TestOrdinaryPartsAreNotAudio(t *testing.T) {
	t.Parallel()
	chat := func(message string) string {
		return `{"model":"gpt-x","max_tokens":5,"messages":[{"role":"assistant","content":"x",` + message + `}]}`
	}
	input := func(item string) string { return `{"model":"gpt-x","max_output_tokens":50,"input":[` + item + `]}` }
	for name, c := range map[string]struct{ path, body string }{
		"a mark of the cache": {
			chatPath, `{"model":"gpt-x","messages":[{"role":"user","content":[{"type":"text","text":"x",` +
				`"cache_control":{"type":"ephemeral"}}]}]}`,
		},
		"reasoning": {chatPath, chat(`"reasoning_details":[{"type":"reasoning.text","text":"x"},` +
			`{"type":"reasoning.summary","summary":"x"},{"type":"reasoning.encrypted","data":"x"}]`)},
		"thinking": {chatPath, chat(`"thinking_blocks":[{"type":"thinking","thinking":"x"},` +
			`{"type":"redacted_thinking","data":"x"}]`)},
		"a compaction":        {responsesPath, input(`{"type":"compaction","encrypted_content":"x"}`)},
		"another compaction":  {responsesPath, input(`{"type":"context_compaction","encrypted_content":"x"}`)},
		"a trigger":           {responsesPath, input(`{"type":"compaction_trigger"}`)},
		"an update":           {responsesPath, input(`{"type":"configuration_update","reasoning":{"effort":"low"}}`)},
		"a call of a search":  {responsesPath, input(`{"type":"web_search_call","status":"completed"}`)},
		"a reference":         {responsesPath, input(`{"type":"item_reference","id":"item_1"}`)},
		"a shorter reference": {responsesPath, input(`{"id":"item_1"}`)},
		"reasoning by its id": {responsesPath, input(`{"type":"reasoning","id":"item_1","summary":[]}`)},
		"a citation of a file": {responsesPath, input(`{"role":"assistant","content":[{"type":"output_text","text":"x",` +
			`"annotations":[{"type":"file_citation","filename":"a.txt","index":1}]}]}`)},
		"a reference to a tool": {
			messages, `{"model":"claude-x","max_tokens":5,"messages":[{"role":"user","content":[{"type":"tool_result",` +
				`"tool_use_id":"t","content":[{"type":"tool_reference","tool_name":"f"}]}]}]}`,
		},
		"a resolution": {
			geminiPath, `{"contents":[{"parts":[{"text":"x","mediaResolution":{"level":"MEDIA_RESOLUTION_LOW"}}]}]}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPurse(1e12)
			r := newRig(t, replies(`{"output":[{"type":"message","id":"item_1"}]}`), gateway.SessionOptions{
				Spend: p, Prices: priceTable(t, silentPrices),
			})
			r.send(t, http.MethodPost, responsesPath, input(`{"role":"user","content":"x"}`))
			if res, body := r.send(t, http.MethodPost, c.path, c.body); res.StatusCode != http.StatusOK {
				t.Errorf("got %d %s", res.StatusCode, body)
			}
		})
	}
}

// silentPrices lists a model of each API without a price of audio.
const silentPrices = `
models:
  anthropic/claude-x: {window: 200000, max_output: 64000, input: 3, output: 15}
  openai/gpt-x: {window: 400000, max_output: 128000, input: 1.25, output: 10}
  openai/m: {window: 400000, max_output: 128000, input: 1.25, output: 10}
  google/gemini-x: {window: 1000000, max_output: 65536, input: 0.3, output: 2.5}
`

// A free model costs nothing, however long its prompt is and however long it thinks.
func TestAFreeModelNeedsNoWindow(t *testing.T) {
	t.Parallel()
	p := newPurse(1)
	r := newRig(t, counting(10), gateway.SessionOptions{Spend: p, Prices: priceTable(t, "models: {openai/*: free}")})
	for _, body := range []string{
		image("local"), `{"model":"local","enable_thinking":true,"messages":[]}`,
		`{"model":"local","reasoning_effort":"high","messages":[]}`,
	} {
		if res, text := r.send(t, http.MethodPost, chatPath, body); res.StatusCode != http.StatusOK {
			t.Errorf("%.80s got %d %s", body, res.StatusCode, text)
		}
	}
}
