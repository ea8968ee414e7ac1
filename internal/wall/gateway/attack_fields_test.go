package gateway_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/wall/gateway"
)

// The gateway forwards only fields that it knows, in the spelling that it knows.
func TestAttackUnknownFields(t *testing.T) {
	t.Parallel()
	const unknown = "does not know the field"
	r := newRig(t, replies(`{}`), gateway.SessionOptions{})
	tryEach(t, r, "a field that the gateway does not know", "fields are compared with a list, at each depth", []attempt{
		{messages, `{"model":"m","surprise":1}`, `add \"surprise\" to providers.anthropic.allow_fields`},
		{messages, `{"model":"m","surprise":null}`, unknown},
		{
			messages, `{"model":"m","messages":[{"role":"user","content":[{"type":"text","text":"x","surprise":{}}]}]}`,
			unknown,
		},
		{
			messages, `{"model":"m","tools":[{"name":"f","input_schema":{"surprise":1},"surprise":1}]}`,
			"/tools/0/surprise",
		},
		{messages, `{"model":"m","tools":[{"name":"f","input_schema":{"surprise":1},"input_examples":[{"x":1}]}]}`, ""},
		{
			messages, `{"model":"m","messages":[{"content":[{"type":"tool_use","input":{"surprise":[{"model":"x"}]}}]}]}`,
			"",
		},
		{messages + "/count_tokens", `{"model":"m","surprise":1}`, unknown},
		{chat, `{"model":"m","api_base":"http://evil.example"}`, unknown},
		{chat, `{"model":"m","preset":"x"}`, unknown},
		{chat, `{"model":"m","kv_transfer_params":{"remote_host":"evil.example"}}`, unknown},
		{chat, `{"model":"m","messages":[{"role":"user","surprise":"x"}]}`, `add \"messages.surprise\"`},
		{
			chat, `{"model":"m","messages":[{"content":[{"type":"image_url","image_url":{"url":"data:","x":1}}]}]}`,
			unknown,
		},
		{chat, `{"model":"m","chat_template_kwargs":{"surprise":true},"enable_thinking":false,"top_k":20}`, ""},
		{chat, `{"model":"m","messages":[{"role":"assistant","reasoning_content":"x","tool_calls":[{"index":0,"id":"c",` +
			`"type":"function","function":{"name":"f","arguments":"{}"}}]}]}`, ""},
		{response, `{"model":"m","input":[{"type":"message","surprise":1}]}`, unknown},
		{response, `{"model":"m","reasoning":{"effort":"low","surprise":1}}`, unknown},
		{response + "/compact", `{"model":"m","surprise":1}`, unknown},
		{generates, `{"contents":[{"parts":[{"text":"x","surprise":1}]}]}`, unknown},
		{generates, `{"generationConfig":{"routingConfig":{"manualMode":{"modelName":"x"}}}}`, unknown},
		{generates, `{"generation_config":{"top_p":1,"response_schema":{"surprise":1}}}`, ""},
	})
	r.session.Close()
	if first := r.refused[0]; first.Field != "/surprise" || first.Operation != gateway.Messages || first.Model != "m" {
		t.Errorf("the first refusal is %+v", first)
	}
}

// A name that a lenient parser takes for a known one is refused.
func TestAttackSecondSpellings(t *testing.T) {
	t.Parallel()
	const twice = "another spelling of"
	r := newRig(t, replies(`{}`), gateway.SessionOptions{})
	tryEach(t, r, "a second spelling of a field", "names are compared without case and underscores", []attempt{
		{chat, `{"model":"m","Model":"n"}`, twice},
		{chat, `{"model":"m","Tools":[{"type":"web_search"}]}`, twice},
		{chat, `{"model":"m","toolChoice":"auto"}`, twice},
		{chat, `{"model":"m","top_\u212a":1}`, twice},
		{chat, `{"model":"m","me\u017f\u017fages":[]}`, twice},
		{chat, `{"model":"m","messages":[{"Content":[{"type":"image_url"}]}]}`, twice},
		{response, `{"model":"m","Background":true}`, twice},
		{response, `{"model":"m","previousResponseId":"resp_1"}`, twice},
		{response, `{"model":"m","PREVIOUS-RESPONSE-ID":"resp_1"}`, twice},
		{response, `{"model":"m","input":[{"type":"message","role":"user","Tools":[{"type":"web_search"}]}]}`, twice},
		{messages, `{"model":"m","MaxTokens":1}`, twice},
		{messages, `{"model":"m","messages":[{"content":[{"type":"image","Source":{"type":"url"}}]}]}`, twice},
		{generates, `{"Contents":[]}`, twice},
		{generates, `{"contents":[{"parts":[{"FileData":{}}]}]}`, twice},
	})
}

// Below a field that the operator allows, all other checks apply.
func TestAttackFieldsThatTheOperatorAllows(t *testing.T) {
	t.Parallel()
	r := newRig(t, replies(`{}`), gateway.SessionOptions{Models: []penstock.ModelPolicy{{Allow: []string{"m"}}}})
	tryEach(t, r, "more than a name below a field that the operator allows", "values are checked below such a field",
		[]attempt{
			{chat, `{"model":"m","operators":{"any":["thing",{"deep":1}]}}`, ""},
			{chat, `{"model":"m","messages":[{"operators":"x"}]}`, ""},
			{
				chat, `{"model":"m","tools":[{"type":"function","function":{"name":"f"},"operators":1}]}`,
				"does not know the field",
			},
			{chat, `{"model":"m","Operators":1}`, "does not know the field"},
			{chat, `{"model":"m","operators":{"x":["https://evil.example"]}}`, "may not fetch"},
			{chat, `{"model":"m","operators":{"tools":[{"type":"web_search"}]}}`, "network.provider_tools"},
			{chat, `{"model":"m","operators":{"context_window_fallbacks":["n"]}}`, "may not use the model"},
			{chat, `{"model":"m","operators":{"draftModel":"n"}}`, "may not use the model"},
			{chat, `{"model":"m","operators":{"file_id":"file-1"}}`, "has not received"},
			{chat, `{"model":"m","operators":{"url":"data:","URL":"data:"}}`, "another spelling of"},
			{messages, `{"model":"m","operators":{"image_url":"https://evil.example"}}`, "may not fetch"},
		})
	for _, field := range []string{"Model", "previousResponseId", "messages.Content", "a b", "modél", "a.b.c", ""} {
		_, err := gateway.New(gateway.Options{Providers: []gateway.Provider{
			{Name: "openai", API: gateway.OpenAI, AllowFields: []string{field}},
		}})
		if err == nil || !strings.Contains(err.Error(), "allow_fields") {
			t.Errorf("allow_fields with %q: %v", field, err)
		}
	}
}

// A source is found by its value, whatever its field is called.
func TestAttackSourcesInOtherFields(t *testing.T) {
	t.Parallel()
	const no, malformed = "may not fetch from evil.example", "must be a data: URL"
	r := newRig(t, replies(`{}`), gateway.SessionOptions{})
	content := func(part string) string { return `{"model":"m","messages":[{"role":"user","content":[` + part + `]}]}` }
	file := func(data string) string { return content(`{"type":"file","file":{"file_data":"` + data + `"}}`) }
	tryEach(t, r, "a source in a field that is not named like one", "strings that begin like a URL are sources", []attempt{
		{chat, file("https://evil.example/p?d=X"), no},
		{chat, file("HTTP://evil.example"), no},
		{chat, file(`\u0068ttps://evil.example`), no},
		{chat, file(`\n https://evil.example`), malformed},
		{chat, file(`\u200bhttps://evil.example`), malformed},
		{chat, file(`ht\ttps://evil.example`), malformed},
		{chat, file("http:evil.example"), malformed},
		{chat, file(`https:\\\\evil.example`), malformed},
		{chat, file("s3://bucket/x"), malformed},
		{chat, file("file:///etc/passwd"), malformed},
		{chat, file("JVBERi0xLjQK"), ""},
		{chat, file("data:application/pdf;base64,JVBERi0xLjQK"), ""},
		{chat, content(`{"type":"video","video":["data:image/png;base64,AAAA","https://evil.example"]}`), no},
		{chat, content(`{"type":"input_audio","input_audio":{"data":"https://evil.example","format":"wav"}}`), no},
		{chat, content(`{"type":"image","image":"https://evil.example"}`), no},
		{chat, content(`{"type":"text","text":"https://evil.example"}`), ""},
		{chat, `{"model":"m","user":"https://example.com/people/1","stop":["https://"]}`, ""},
		{chat, `{"model":"m","reasoning_effort":"https://evil.example"}`, no},
		{
			messages, content(`{"type":"image","source":{"type":"base64","data":"https://evil.example"}}`),
			no,
		},
		{messages, content(`{"type":"image","source":"https://evil.example"}`), no},
		{
			messages, content(`{"type":"document","source":{"type":"text","data":"https://a.example"}}`),
			"",
		},
		{messages, content(`{"type":"search_result","source":"https://a.example","title":"x","content":[]}`), ""},
		{
			response, `{"model":"m","input":[{"content":[{"type":"input_file","file_data":"https://evil.example"}]}]}`,
			no,
		},
		{response, `{"model":"m","input":[{"type":"image_generation_call","result":"https://evil.example"}]}`, no},
		{response, `{"model":"m","input":"https://a.example"}`, ""},
		{
			generates, `{"contents":[{"parts":[{"inlineData":{"mimeType":"image/png","data":"https://evil.example"}}]}]}`,
			no,
		},
		{generates, `{"contents":[{"parts":[{"inline_data":{"data":"gs://bucket/x"}}]}]}`, malformed},
	})
}

// Tools are checked wherever a request can bring them.
func TestAttackToolsInOtherPlaces(t *testing.T) {
	t.Parallel()
	const tool = "network.provider_tools"
	r := newRig(t, replies(`{}`), gateway.SessionOptions{Models: []penstock.ModelPolicy{{Allow: []string{"m"}}}})
	more := func(item string) string { return `{"model":"m","input":[{"type":"additional_tools",` + item + `}]}` }
	tryEach(t, r, "a provider's tool in another place", "tools are checked wherever they stand", []attempt{
		{response, more(`"id":"at_1","role":"developer","tools":[{"type":"custom","name":"exec"}]`), ""},
		{response, more(`"id":"at_1","tools":[{"type":"web_search"}]`), tool},
		{
			response, more(`"tools":[{"type":"namespace","tools":[{"type":"namespace","tools":[{"type":"mcp"}]}]}]`),
			tool,
		},
		{response, more(`"id":"at_1"`), "has not received"},
		{response, more(`"id":"at_1","tools":null`), "has not received"},
		{response, `{"model":"m","tool_choice":{"type":"allowed_tools","tools":[{"type":"web_search"}]}}`, tool},
		{messages, `{"model":"m","messages":[{"content":[{"type":"tool_changes","tool_changes":[{"type":"add","tool":` +
			`{"type":"definition","definition":{"type":"web_search_20250305","name":"web_search"}}}]}]}]}`, tool},
		{
			messages, `{"model":"m","messages":[{"content":[{"type":"tool_changes","tool":{"definition":{"name":"f"}}}]}]}`,
			"",
		},
		{chat, `{"model":"m","enable_code_interpreter":true}`, tool},
		{chat, `{"model":"m","tool_choice":{"type":"allowed_tools","allowed_tools":{"tools":[{"type":"mcp"}]}}}`, tool},
	})
}

// Each string of a field that names models is a model.
func TestAttackModelsInOtherPlaces(t *testing.T) {
	t.Parallel()
	const model = "may not use the model"
	r := newRig(t, replies(`{}`), gateway.SessionOptions{Models: []penstock.ModelPolicy{{Allow: []string{"m"}}}})
	tryEach(t, r, "a model in another place", "each string of such a field is a model", []attempt{
		{messages, `{"model":"m","fallbacks":["n"]}`, model},
		{messages, `{"model":"m","fallbacks":[{"model":"m","max_tokens":1},{"model":"n"}]}`, model},
		{messages, `{"model":"m","fallbacks":[{"n":["m"]}]}`, "does not know the field"},
		{chat, `{"model":"m","models":["m",["n"]]}`, model},
		{chat, `{"model":"m","draft_model":"n"}`, model},
		{chat, `{"model":"https://evil.example/m"}`, "The model is a URL"},
		{chat, `{"model":"huggingface/https://evil.example/m"}`, "The model is a URL"},
		{chat, `{"model":"m","models":["huggingface/https://evil.example/m"]}`, "The model is a URL"},
	})
}

// Headers and query parameters that the gateway does not know choose nothing at a provider.
func TestAttackHeadersAndQueries(t *testing.T) {
	t.Parallel()
	r := newRig(t, replies(`{}`), gateway.SessionOptions{})
	attacks := []string{
		"Cookie", "Openai-Organization", "Anthropic-Workspace-Id", "X-Goog-User-Project", "X-Openai-Actor-Authorization",
		"X-Openai-Account-Routing-Override", "X-Litellm-Model", "X-Portkey-Config", "Helicone-Target-Url", "X-Api-Base",
		"X-Dashscope-Ossresourceresolve", "X-Http-Method-Override", "X-Original-Url", "Forwarded", "Traceparent",
	}
	kept := []string{
		"Anthropic-Beta", "Openai-Beta", "Originator", "session_id", "X-Stainless-Arch", "X-Codex-Turn-Metadata",
		"User-Agent",
	}
	for _, path := range []string{messages, chat, response, generates} {
		var header []string
		for _, name := range append(attacks, kept...) {
			header = append(header, name, "sent")
		}
		if res, body := r.send(t, http.MethodPost, path, `{"model":"m"}`, header...); res.StatusCode != http.StatusOK {
			t.Fatalf("%s returned %d %s", path, res.StatusCode, body)
		}
		all := r.got()
		got := all[len(all)-1].Header
		for _, name := range attacks {
			if got.Get(name) != "" {
				t.Errorf("%s: the provider gets %s", path, name)
			}
		}
		for _, name := range kept {
			if got.Get(name) != "sent" {
				t.Errorf("%s: the provider does not get %s", path, name)
			}
		}
	}
	for path, queries := range map[string][]string{
		messages: {"model=n", "Beta=true", "beta=true&model=n"},
		chat:     {"model=n", "api-version=x", "api_base=http://evil.example", "stream=true;x"},
		response: {"background=true", "model=n"},
	} {
		for _, query := range queries {
			if res, body := r.send(t, http.MethodPost, path+"?"+query, `{"model":"m"}`); res.StatusCode < 400 {
				t.Errorf("%s?%s returned %d %s", path, query, res.StatusCode, body)
			}
		}
	}
	for path, want := range map[string]string{
		messages + "?beta=true":                                  "beta=true",
		"/model/openai/v1/models?client_version=1":               "client_version=1",
		"/model/anthropic/v1/models?limit=1000&after_id=model_1": "after_id=model_1&limit=1000",
	} {
		method := http.MethodGet
		if strings.HasPrefix(path, messages) {
			method = http.MethodPost
		}
		body := map[string]string{http.MethodPost: `{"model":"m"}`}[method]
		if res, said := r.send(t, method, path, body); res.StatusCode != http.StatusOK {
			t.Errorf("%s returned %d %s", path, res.StatusCode, said)
			continue
		}
		all := r.got()
		if got, _ := url.ParseQuery(all[len(all)-1].Query); got.Encode() != want {
			t.Errorf("%s: the provider gets the query %q", path, got.Encode())
		}
	}
}

// What compatible servers read beside the vendors' fields passes, under a cap but for what may cost more.
func TestFieldsOfCompatibleServersPass(t *testing.T) {
	t.Parallel()
	r := newRig(t, replies(`{}`), gateway.SessionOptions{})
	capped := newRig(t, replies(`{}`), gateway.SessionOptions{
		Spend: newPurse(1e15), Prices: priceTable(t, silentPrices),
	})
	costly := map[string]string{ // what the gateway refuses under a cap
		"OpenRouter": "/models", "DashScope, a film": "no price", // it may have sound
	}
	for name, fields := range map[string]string{
		"vLLM": `"top_k":20,"min_p":0,"repetition_penalty":1.05,"chat_template_kwargs":{"enable_thinking":false},` +
			`"guided_json":{"type":"object"},"structured_outputs":{"json":{}},"include_reasoning":true,"min_tokens":1,` +
			`"skip_special_tokens":false,"thinking_token_budget":100`,
		"SGLang": `"separate_reasoning":true,"regex":"https?://.*","continue_final_message":false,"stop_token_ids":[1]`,
		"llama.cpp": `"cache_prompt":true,"id_slot":0,"grammar":"root ::= x","timings_per_token":true,` +
			`"reasoning_format":"auto"`,
		"Ollama":    `"keep_alive":"5m","options":{"num_ctx":32768},"think":true,"reasoning_effort":"none"`,
		"LM Studio": `"ttl":300,"draft_model":"small","repeat_penalty":1.1`,
		"DashScope": `"enable_thinking":true,"thinking_budget":1000,"vl_high_resolution_images":true,` +
			`"metadata":{"sessionId":` +
			`"s"},"preserve_thinking":true,"messages":[{"role":"user","content":[{"type":"text","text":"x","cache_control":` +
			`{"type":"ephemeral"}},{"type":"video","video":["data:image/png;base64,AA"],"fps":2,"max_pixels":9}]}]`,
		"DashScope, a film": `"messages":[{"role":"user","content":[{"type":"video_url","video_url":{"url":` +
			`"data:video/mp4;base64,AA"}}]}]`,
		"DeepSeek": `"thinking":{"type":"enabled"},"messages":[{"role":"assistant","reasoning_content":"https://x",` +
			`"content":` +
			`"y","prefix":true}]`,
		"Mistral": `"random_seed":1,"safe_prompt":false,"prompt_mode":"reasoning","messages":[{"role":"assistant",` +
			`"content":[` +
			`{"type":"thinking","thinking":[{"type":"text","text":"x"}]},{"type":"text","text":"y"}]}]`,
		"Z.ai": `"thinking":{"type":"enabled","clear_thinking":false},"do_sample":true,"tool_stream":true,` +
			`"request_id":"r"`,
		"Moonshot": `"messages":[{"role":"assistant","content":"","partial":true}],"prompt_cache_key":"k"`,
		"MiniMax": `"reasoning_split":true,"messages":[{"role":"assistant",` +
			`"reasoning_details":[{"type":"reasoning.text",` +
			`"id":"r","format":"x","index":0,"text":"https://x"}]}]`,
		"OpenRouter": `"models":["m"],"route":"fallback","provider":{"order":["a"],"allow_fallbacks":false,` +
			`"sort":"price"},` +
			`"reasoning":{"effort":"high","exclude":false},"usage":{"include":true},"transforms":["middle-out"]`,
		"Groq": `"reasoning_format":"parsed","service_tier":"auto"`,
		"Google": `"extra_body":{"google":{"thinking_config":{"include_thoughts":true,"thinking_budget":9}}},` +
			`"messages":[` +
			`{"role":"assistant","tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"},` +
			`"extra_content":{"google":{"thought_signature":"s"}}}]}]`,
	} {
		body := `{"model":"m",` + fields + `}`
		if res, said := r.send(t, http.MethodPost, chat, body); res.StatusCode != http.StatusOK {
			t.Errorf("%s: %s returned %d %s", name, body, res.StatusCode, said)
		}
		res, said := capped.send(t, http.MethodPost, chat, body)
		if why := costly[name]; (res.StatusCode == http.StatusOK) != (why == "") || !strings.Contains(said, why) {
			t.Errorf("%s: under a cap, %s returned %d %s", name, body, res.StatusCode, said)
		}
	}
}

// Claude Code gives its marks of the cache a scope.
func TestAMarkOfTheCacheHasAScope(t *testing.T) {
	t.Parallel()
	r := newRig(t, replies(`{}`), gateway.SessionOptions{})
	res, body := r.send(t, http.MethodPost, messages, `{"model":"m","system":[{"type":"text","text":"x","cache_control":`+
		`{"type":"ephemeral","scope":"global"}}]}`)
	if res.StatusCode != http.StatusOK {
		t.Errorf("got %d %s", res.StatusCode, body)
	}
}
