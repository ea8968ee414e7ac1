package gateway_test

import (
	"bufio"
	"compress/gzip"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/testkit"
	"github.com/penstock-dev/penstock/internal/wall/gateway"
)

// section is the part of docs/attacks.md that lists the attacks of this package.
const section = "The model gateway"

// raw sends bytes and returns the status of the response.
func (r *rig) raw(t *testing.T, request string) int {
	t.Helper()
	relay, err := url.Parse(r.relay)
	if err != nil {
		t.Fatal(err)
	}
	c, err := new(net.Dialer).DialContext(t.Context(), "tcp", relay.Host)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := io.WriteString(c, request); err != nil {
		t.Fatal(err)
	}
	res, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	return res.StatusCode
}

// The agent can reach no other path of a provider, in any spelling.
func TestAttackForeignPaths(t *testing.T) {
	t.Parallel()
	r := newRig(t, replies(`{}`), gateway.SessionOptions{})
	attacks := testkit.NewAttacks(t, section)
	for _, a := range []struct {
		name    string
		targets []string
	}{
		{"another path of a provider", []string{
			"POST /model/anthropic/v1/files", "POST /model/anthropic/v1/messages/batches",
			"GET /model/anthropic/v1/models/a/b", "GET /model/openai/v1/files",
			"POST /model/openai/v1/embeddings", "POST /model/openai/v1/responses/resp_1/cancel",
			"GET /model/openai/v1/responses/resp_1/input_items", "POST /model/openai/chat/completions",
			"POST /model/openai/v1/conversations", "GET /model/gemini/v1beta/models",
			"POST /model/gemini/v1beta/cachedContents", "POST /model/gemini/upload/v1beta/files",
			"POST /model/gemini/v1beta/models/m:embedContent",
			"POST /model/gemini/v1beta/models/m:generateContent:x",
			"POST /model/gemini/v1/models/m:generateContent",
			"POST /model/gemini/v1beta/tunedModels/m:generateContent", "POST /model/other/v1/messages",
			"POST /model/anthropic", "POST /v1/messages", "POST /penstock/model/anthropic/v1/messages",
		}},
		{"another method", []string{
			"GET /model/anthropic/v1/messages", "DELETE /model/openai/v1/responses/resp_1",
			"GET /model/openai/v1/chat/completions", "PUT /model/anthropic/v1/messages",
		}},
		{"another path or host behind unusual spellings", []string{
			"POST /model/anthropic/v1/messages/", "POST /model/anthropic//v1/messages",
			"POST /model//anthropic/v1/messages", "POST /model/anthropic/v1/./messages",
			"POST /model/anthropic/v1/x/../messages", "POST /model/anthropic/v1/%6dessages",
			"POST /model/anthropic/v1%2fmessages", "POST /model/anthropic/%2e%2e/v1/messages",
			"POST /model/anthropic/v1/messages%00", "POST /model/anthropic/v1/messages;x",
			"POST /model/anthropic/V1/messages", "POST /model/anthropic/v1/messages%3Fa",
			"GET /model/anthropic/v1/models/..", "GET /model/anthropic/v1/models/%2e%2e%2ffiles",
			"POST /model/gemini/v1beta/models/..:generateContent",
			"POST /model/gemini/v1beta/models/a%2fb:generateContent",
			"POST /model/anthropic@evil.example/v1/messages",
			"POST /model/anthropic/http://evil.example/v1/messages",
			"POST /model/evil.example:443/v1/messages", "POST http://evil.example/model/anthropic/v1/files",
			"POST /model/anthropic/\\v1\\messages",
		}},
	} {
		attacks.Run(a.name, "paths are compared as they are sent, with a list", func(t *testing.T) {
			for _, target := range a.targets {
				r.foreign(t, target)
			}
		})
	}
	attacks.Run("an upgrade to another protocol", "upgrades are refused", func(t *testing.T) {
		for _, header := range []string{"Upgrade: websocket\r\nConnection: Upgrade", "Connection: upgrade\r\nupgrade: h2c"} {
			status := r.raw(t, "GET /model/openai/v1/models HTTP/1.1\r\nHost: relay\r\n"+header+"\r\n\r\n")
			if status != http.StatusForbidden {
				t.Errorf("%q returned %d", header, status)
			}
		}
	})
	if got := r.got(); len(got) > 0 {
		t.Errorf("the provider got %+v", got)
	}
}

// foreign sends a request that must be refused.
func (r *rig) foreign(t *testing.T, target string) {
	t.Helper()
	body := ""
	if strings.HasPrefix(target, "P") {
		body = `{"model":"m"}`
	}
	status := r.raw(t, fmt.Sprintf("%s HTTP/1.1\r\nHost: relay\r\nContent-Type: application/json\r\n"+
		"Content-Length: %d\r\n\r\n%s", target, len(body), body))
	if status != http.StatusForbidden && status != http.StatusBadRequest {
		t.Errorf("%s returned %d", target, status)
	}
}

// attempt is a body and the text of its refusal; "" passes.
type attempt struct{ path, body, want string }

const (
	messages  = "/model/anthropic/v1/messages"
	chat      = "/model/openai/v1/chat/completions"
	response  = "/model/openai/v1/responses"
	generates = "/model/gemini/v1beta/models/m:generateContent"
)

func (a attempt) try(t *testing.T, r *rig) {
	t.Helper()
	before := len(r.got())
	res, body := r.send(t, http.MethodPost, a.path, a.body)
	sent := len(r.got()) - before
	switch {
	case a.want == "" && (res.StatusCode != http.StatusOK || sent != 1):
		t.Errorf("%s %s returned %d %s", a.path, a.body, res.StatusCode, body)
	case a.want != "" && (res.StatusCode == http.StatusOK || sent != 0 || !strings.Contains(body, a.want)):
		t.Errorf("%s %s returned %d %s, want %q", a.path, a.body, res.StatusCode, body, a.want)
	}
}

// tryEach tries the attempts of each API as one attack.
func tryEach(t *testing.T, r *rig, name, stoppedBy string, attempts []attempt) {
	t.Helper()
	attacks := testkit.NewAttacks(t, section)
	for _, api := range []struct{ name, path string }{
		{"Anthropic Messages", messages},
		{"OpenAI Chat", chat},
		{"OpenAI Responses", response},
		{"Gemini", strings.TrimSuffix(generates, "m:generateContent")},
	} {
		of := slices.DeleteFunc(slices.Clone(attempts), func(a attempt) bool { return !strings.HasPrefix(a.path, api.path) })
		if len(of) == 0 {
			continue
		}
		attacks.Run(fmt.Sprintf("%s through %s", name, api.name), stoppedBy, func(t *testing.T) {
			for _, a := range of {
				a.try(t, r)
			}
		})
	}
}

func TestAttackToolsOfTheProvider(t *testing.T) {
	t.Parallel()
	const no = "network.provider_tools"
	attempts := []attempt{
		{messages, `{"model":"m","tools":[{"name":"run","input_schema":{"properties":{"url":{"type":"string"}}}}]}`, ""},
		{messages, `{"model":"m","tools":[{"type":"custom","name":"run"},{"type":"bash_20250124","name":"bash"}]}`, ""},
		{messages, `{"model":"m","tools":[{"type":"web_search_20250305","name":"web_search"}]}`, no},
		{messages, `{"model":"m","tools":[{"type":"web_fetch_20260318","name":"web_fetch"}]}`, no},
		{messages, `{"model":"m","tools":[{"type":"code_execution_20260521","name":"x"}]}`, no},
		{messages, `{"model":"m","tools":[{"type":"mcp_toolset","mcp_server_name":"x"}]}`, no},
		{messages, `{"model":"m","tools":[{"t\u0079pe":"web_search_20250305","name":"bash"}]}`, no},
		{messages, `{"model":"m","tools":[{"type":"teleport_20300101","name":"x"}]}`, no},
		{messages, `{"model":"m","mcp_servers":[{"type":"url","name":"x","url":"https://evil.example/mcp"}]}`, no},
		{messages + "/count_tokens", `{"model":"m","tools":[{"type":"web_fetch_20260318","name":"web_fetch"}]}`, no},
		{chat, `{"model":"m","tools":[{"type":"function","function":{"name":"f","parameters":{"image_url":"x"}}}]}`, ""},
		{chat, `{"model":"m","web_search_options":{"search_context_size":"low"}}`, no},
		{chat, `{"model":"gpt-4o-search-preview"}`, no},
		{chat, `{"model":"vendor/model:online"}`, no},
		{chat, `{"model":"m","plugins":[{"id":"web"}]}`, no},
		{chat, `{"model":"m","tools":[{"type":"builtin_function","function":{"name":"$web_search"}}]}`, no},
		{response, `{"model":"m","tools":[{"type":"function","name":"f","parameters":{}},{"type":"custom","name":"g"}]}`, ""},
		{response, `{"model":"m","tools":[{"type":"web_search"}]}`, no},
		{response, `{"model":"m","tools":[{"type":"web_search_preview_2025_03_11"}]}`, no},
		{response, `{"model":"m","tools":[{"type":"WEB_SEARCH"}]}`, no},
		{response, `{"model":"m","tools":[{"type":"mcp","server_label":"x","server_url":"https://evil.example"}]}`, no},
		{response, `{"model":"m","tools":[{"type":"code_interpreter","container":{"type":"auto"}}]}`, no},
		{response, `{"model":"m","tools":[{"type":"image_generation"}]}`, no},
		{response, `{"model":"m","tools":[{"type":"file_search","vector_store_ids":["vs_1"]}]}`, no},
		{response, `{"model":"m","tools":[{"type":"shell","environment":{"type":"container_auto"}}]}`, no},
		{response, `{"model":"m","tools":[{"type":"shell","environment":{"type":"local"}}]}`, ""},
		{response, `{"model":"m","tools":[{"type":"namespace","name":"n","tools":[{"type":"web_search"}]}]}`, no},
		{response, `{"model":"m","input":[{"type":"additional_tools","tools":[{"type":"web_search"}]}]}`, no},
		{response, `{"model":"m","input":[{"type":"tool_search_output","tools":[{"type":"mcp","server_label":"x"}]}]}`, no},
		{generates, `{"tools":[{"functionDeclarations":[{"name":"f","parameters":{"properties":{"uri":{}}}}]}]}`, ""},
		{generates, `{"tools":[{"googleSearch":{}}]}`, no},
		{generates, `{"tools":{"google_search":{}}}`, no},
		{generates, `{"tools":[{"url_context":{}}]}`, no},
		{generates, `{"tools":[{"functionDeclarations":[],"codeExecution":{}}]}`, no},
		{generates, `{"tools":[{"somethingNew":{}}]}`, no},
		{
			strings.Replace(generates, "generate", "count", 1)[:len(generates)-len("generateContent")] + "countTokens",
			`{"generateContentRequest":{"tools":[{"googleSearch":{}}]}}`, no,
		},
	}
	r := newRig(t, replies(`{}`), gateway.SessionOptions{})
	tryEach(t, r, "a provider's own tool that reaches the network",
		"the policy must name tools of the provider", attempts)
	all := newRig(t, replies(`{}`), gateway.SessionOptions{
		ProviderTools: []string{
			"web_search", "web_fetch", "code_execution", "mcp", "teleport", "plugins", "builtin_function", "image_generation",
			"something_new", "file_search", "WEB_SEARCH",
		},
		AllowSource: func(string, int) string { return "" },
	})
	all.session.Restore([]string{"vs_1"})
	for _, a := range attempts {
		a.want = ""
		a.try(t, all)
	}
}

func TestAttackSourcesByURL(t *testing.T) {
	t.Parallel()
	const no, malformed = "may not fetch from", "must be a data: URL"
	image := func(u string) string {
		return fmt.Sprintf(
			`{"model":"m","messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":%q}}]}]}`, u)
	}
	r := newRig(t, replies(`{}`), gateway.SessionOptions{AllowSource: func(host string, port int) string {
		if host == "allowed.example" && port == 443 {
			return ""
		}
		return "no rule allows it"
	}})
	tryEach(t, r, "a picture or file by the URL of another host",
		"a source needs a host that the policy allows", []attempt{
			{chat, image("https://allowed.example/a.png"), ""},
			{chat, image("HTTPS://Allowed.Example./a.png"), ""},
			{chat, image("data:image/png;base64,AAAA"), ""},
			{chat, image("https://evil.example/?leak=1"), no},
			{chat, image("http://allowed.example/"), no},
			{chat, image("https://allowed.example:8443/"), no},
			{chat, image("https://allowed.example@evil.example/"), malformed},
			{chat, image(`https://evil.example\@allowed.example/`), malformed},
			{chat, image("https://allowed.example%2eevil.example/"), malformed},
			{chat, image("https://allowed.example\t.evil.example/"), malformed},
			{chat, image("//evil.example/a"), malformed},
			{chat, image("ftp://allowed.example/a"), malformed},
			{chat, image(" https://evil.example/"), malformed},
			{chat, image("https://evil.example#.allowed.example/"), no},
			{chat, image("https://allowed.example.evil.example/"), no},
			{chat, image("https://аllowed.example/"), malformed},
			{
				chat, `{"model":"m","messages":[{"role":"user","content":[{"type":"image_url","image_url":"https:` +
					`//evil.example"}]}]}`, no,
			},
			{chat, `{"model":"m","messages":[{"role":"user","content":"see https://evil.example"}]}`, ""},
			{
				chat, `{"model":"m","messages":[{"role":"user","content":[{"type":"video_url",` +
					`"video_url":{"u\u0072l":"https://evil.example"}}]}]}`,
				no,
			},
			{
				messages, `{"model":"m","messages":[{"content":[{"type":"image","source":{"type":"url","url":"https:/` +
					`/evil.example"}}]}]}`, no,
			},
			{
				messages, `{"model":"m","messages":[{"content":[{"type":"tool_result","content":[{"type":"document","source":` +
					`{"type":"url","url":"https://evil.example"}}]}]}]}`, no,
			},
			{
				messages, `{"model":"m","messages":[{"content":[{"type":"tool_use","input":{"url":"https://evil.example"}}]}]}`,
				"",
			},
			{messages, `{"model":"m","messages":[{"content":[{"type":"web_search_result","url":"https://evil.example"}]}]}`, ""},
			{
				response, `{"model":"m","input":[{"role":"user","content":[{"type":"input_file","file_url":"https://e` +
					`vil.example"}]}]}`, no,
			},
			{
				response, `{"model":"m","input":[{"type":"function_call_output","output":[{"type":"input_image","image_url":` +
					`"https://evil.example"}]}]}`, no,
			},
			{generates, `{"contents":[{"parts":[{"fileData":{"fileUri":"https://evil.example"}}]}]}`, no},
			{generates, `{"contents":{"parts":{"file_data":{"file_uri":"https://evil.example"}}}}`, no},
			{generates, `{"contents":[{"parts":[{"fileData":{"fileUri":"gs://bucket/x"}}]}]}`, malformed},
			{generates, `{"contents":[{"parts":[{"functionCall":{"args":{"fileUri":"https://evil.example"}}}]}]}`, ""},
		})
	r.session.Close()
	if len(r.refused) == 0 || r.refused[0].Host != "evil.example" || r.refused[0].Port != 443 {
		t.Errorf("the first refusal is %+v", r.refused[0])
	}
}

// A run cannot read what another run keeps at the provider. It can read what it received itself.
func TestAttackIDsOfOtherRuns(t *testing.T) {
	t.Parallel()
	const no = "has not received"
	attempts := func(want string) []attempt {
		return []attempt{
			{response, `{"model":"m","previous_response_id":"resp_1"}`, want},
			{response, `{"model":"m","conversation":"conv_1"}`, want},
			{response, `{"model":"m","conversation":{"id":"conv_1"}}`, want},
			{response, `{"model":"m","input":[{"type":"item_reference","id":"msg_2"}]}`, want},
			{response, `{"model":"m","input":[{"id":"msg_2"}]}`, want},
			{response, `{"model":"m","input":[{"type":"reasoning","id":"msg_2","summary":[]}]}`, want},
			{response, `{"model":"m","input":[{"role":"user","content":[{"type":"input_file","file_id":"cfile_1"}]}]}`, want},
			{response, `{"model":"m","tools":[{"type":"code_interpreter","container":"cntr_1"}]}`, want},
			{
				response, `{"model":"m","tools":[{"type":"code_interpreter","container":{"type":"auto","file_ids":["c` +
					`file_1"]}}]}`, want,
			},
			{response + "/compact", `{"model":"m","previous_response_id":"resp_1"}`, want},
			{response + "/input_tokens", `{"model":"m","previous_response_id":"resp_1"}`, want},
		}
	}
	all := gateway.SessionOptions{ProviderTools: []string{"code_execution"}}
	other := newRig(t, replies(`{"id":"resp_1","conversation":{"id":"conv_1"},"output":[{"id":"msg_2",
		"type":"message","content":[{"annotations":[{"file_id":"cfile_1","container_id":"cntr_1"}]}]}]}`), all)
	r := newRig(t, replies(`{}`), all)
	for _, a := range attempts(no) {
		a.try(t, other)
		a.try(t, r)
	}
	attempt{response, `{"model":"m","input":"hi"}`, ""}.try(t, other)
	tryEach(t, r, "what another run keeps", "only ids that this run received are sent", append(attempts(no),
		attempt{response, `{"model":"m","prompt":{"id":"pmpt_1"}}`, no},
		attempt{response, `{"model":"m","background":true}`, "background"},
		attempt{response, `{"model":"m","input":[{"type":"message","role":"assistant","id":"x","content":"y"}]}`, ""},
		attempt{response, `{"model":"m","input":[{"type":"reasoning","id":"x","encrypted_content":"y","summary":[]}]}`, ""},
		attempt{chat, `{"model":"m","messages":[{"role":"assistant","audio":{"id":"audio_1"}}]}`, no},
		attempt{chat, `{"model":"m","messages":[{"role":"tool","tool_call_id":"call_1","content":"x"}]}`, ""},
		attempt{chat, `{"model":"m","messages":[{"content":[{"type":"file","file":{"file_id":"file-1"}}]}]}`, no},
		attempt{messages, `{"model":"m","container":"container_1"}`, no},
		attempt{messages, `{"model":"m","container":{"id":"container_1"}}`, no},
		attempt{
			messages, `{"model":"m","messages":[{"content":[{"type":"document","source":{"type":"file","file_id":"f"}}]}]}`, no,
		},
		attempt{messages, `{"model":"m","messages":[{"content":[{"type":"tool_result","tool_use_id":"toolu_1"}]}]}`, ""},
		attempt{messages, `{"model":"m","metadata":{"user_id":"u"}}`, ""},
		attempt{messages, `{"model":"m","diagnostics":{"previous_message_id":"x"}}`, no},
		attempt{generates, `{"cachedContent":"cachedContents/1"}`, no},
		attempt{generates, `{"cached_content":"cachedContents/1"}`, no},
		attempt{generates, `{"contents":[{"parts":[{"fileData":{"fileUri":"files/1"}}]}]}`, no},
	))
	for _, a := range attempts("") { // it has received them
		a.try(t, other)
	}
	for id, want := range map[string]int{"resp_1": http.StatusOK, "resp_2": http.StatusForbidden} {
		if res, body := other.send(t, http.MethodGet, response+"/"+id, ""); res.StatusCode != want {
			t.Errorf("GET %s returned %d %s", id, res.StatusCode, body)
		}
	}
	later := newRig(t, replies(`{}`), all)
	later.session.Restore(other.session.Received())
	for _, a := range attempts("") {
		a.try(t, later)
	}
}

func TestAttackModels(t *testing.T) {
	t.Parallel()
	const no = "may not use the model"
	r := newRig(t, replies(`{}`), gateway.SessionOptions{Models: []penstock.ModelPolicy{
		{},
		{Allow: []string{"openai/gpt-*", "anthropic/claude-a", "google/gemini-*"}},
		{Allow: []string{"gpt-6*", "anthropic/*", "gemini-x"}}, // two by name, at any provider
	}})
	tryEach(t, r, "a model that is not allowed", "the model is checked before a call is sent", []attempt{
		{chat, `{"model":"gpt-6-mini"}`, ""},
		{chat, `{"model":"gpt-5"}`, no},
		{chat, `{"model":"claude-a"}`, no},
		{chat, `{"model":"GPT-6"}`, no},
		{chat, `{"model":"gpt-6","models":["gpt-6","gpt-5"]}`, no},
		{chat, `{"messages":[]}`, "names no model"},
		{chat, `{"model":null}`, "names no model"},
		{chat, `{"model":["gpt-6"]}`, "names no model"},
		{chat, `{"Model":"gpt-6"}`, "names no model"},
		{messages, `{"model":"claude-a"}`, ""},
		{messages, `{"model":"claude-b"}`, no},
		{messages, `{"model":"claude-a","fallbacks":[{"model":"claude-b"}]}`, no},
		{messages, `{"model":"claude-a","fallbacks":"default"}`, "fallback models"},
		{messages, `{"model":"claude-a","tools":[{"type":"advisor_20260301","name":"advisor","model":"claude-b"}]}`, no},
		{strings.Replace(generates, "/m:", "/gemini-x:", 1), `{}`, ""},
		{strings.Replace(generates, "/m:", "/gemini-x:", 1), `{"model":"models/gemini-y"}`, "not that of the path"},
		{strings.Replace(generates, "/m:", "/gemini-y:", 1), `{}`, no},
	})
}

// The gateway forwards nothing that a provider could read differently.
func TestAttackAmbiguousBodies(t *testing.T) {
	t.Parallel()
	const no = "not JSON that can be checked"
	r := newRig(t, replies(`{}`), gateway.SessionOptions{})
	tryEach(t, r, "a body with two readings", "only strict JSON is sent", []attempt{
		{chat, `{"model":"m","model":"n"}`, no},
		{chat, `{"model":"m","mod\u0065l":"n"}`, no},
		{messages, `{"model":"m","tools":[],"tools":[{"type":"web_search_20250305"}]}`, no},
		{messages, `{"model":"m","messages":[{"content":[{"type":"text","type":"image"}]}]}`, no},
		{generates, `{"cachedContent":null,"cached_content":"x"}`, no},
		{chat, `{"model":"m"} {"model":"n"}`, no},
		{chat, `{"model":"m",}`, no},
		{chat, `{"model":"m"/**/}`, no},
		{chat, `{'model':'m'}`, no},
		{chat, "\ufeff" + `{"model":"m"}`, no},
		{chat, `{"model":"m","x":NaN}`, no},
		{chat, `{"model":"m","x\u0000":1}`, no},
		{chat, `{"model":"m","` + "\xff" + `":1}`, no},
		{chat, `{"model":"m","x":` + strings.Repeat("[", 600) + strings.Repeat("]", 600) + `}`, no},
		{chat, `[{"model":"m"}]`, "must be a JSON object"},
		{chat, `{"model":"m","messages":[{"content":"a lone surrogate \ud83d"}]}`, ""},
		{chat, `{"model":"m","x":"` + strings.Repeat("x", 1<<20) + `"}`, "larger than the model gateway forwards (1 MB)"},
	})
	for _, header := range [][2]string{
		{"Content-Encoding", "gzip"},
		{"Content-Type", "application/json; charset=utf-16"},
		{"Content-Type", "application/x-www-form-urlencoded"},
		{"Content-Type", "multipart/form-data; boundary=x"},
	} {
		res, body := r.send(t, http.MethodPost, chat, `{"model":"m"}`, header[0], header[1])
		if res.StatusCode != http.StatusBadRequest {
			t.Errorf("%v returned %d %s", header, res.StatusCode, body)
		}
	}
	for _, query := range []string{
		"$alt=proto", "alt=proto", "fields=candidates", "$httpMethod=GET", "callback=x", "alt=sse&alt=x", "a=%zz",
	} {
		if res, body := r.send(t, http.MethodPost, generates+"?"+query, `{}`); res.StatusCode < 400 {
			t.Errorf("?%s returned %d %s", query, res.StatusCode, body)
		}
	}
	// With two lengths, the provider gets one request with the checked body, whichever length it
	// uses.
	before := len(r.got())
	r.raw(t, "POST "+chat+" HTTP/1.1\r\nHost: relay\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n"+
		"Content-Type: application/json\r\nConnection: close\r\n\r\nd\r\n{\"model\":\"m\"}\r\n0\r\nX-Trailer: x\r\n\r\n"+
		"GET /x HTTP/1.1\r\n\r\n")
	for _, got := range r.got()[before:] {
		if got.Body != `{"model":"m"}` || got.Header.Get("Content-Length") != "13" || got.Header.Get("X-Trailer") != "" {
			t.Errorf("the provider got %+v", got)
		}
	}
	if n := len(r.got()) - before; n > 1 {
		t.Errorf("the provider got %d requests", n)
	}
}

// Redirects are neither followed nor passed on.
func TestAttackRedirectsOfAProvider(t *testing.T) {
	t.Parallel()
	testkit.NewAttacks(t, section).Run("a provider that redirects",
		"redirects are neither followed nor passed on", redirect)
}

func redirect(t *testing.T) {
	r := newRig(t, func(w http.ResponseWriter, req *http.Request) {
		http.Redirect(w, req, "/elsewhere", http.StatusTemporaryRedirect)
	}, gateway.SessionOptions{})
	res, body := r.send(t, http.MethodPost, chat, `{"model":"m"}`)
	if res.StatusCode != http.StatusBadGateway || res.Header.Get("Location") != "" ||
		!strings.Contains(body, "redirects") ||
		len(r.got()) != 1 {
		t.Errorf("returned %d %s after %d requests", res.StatusCode, body, len(r.got()))
	}
}

// If a provider compresses although it was not asked to, the response passes as it is, and its usage is
// read.
func TestTheUsageOfACompressedResponseIsRead(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		_, _ = io.WriteString(z, chatWhole)
		_ = z.Close()
	}, gateway.SessionOptions{})
	res, body := r.send(t, http.MethodPost, chat, `{"model":"m"}`, "Accept-Encoding", "gzip")
	z, err := gzip.NewReader(strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if plain, _ := io.ReadAll(z); string(plain) != chatWhole || res.Header.Get("Content-Encoding") != "gzip" {
		t.Errorf("got %s", plain)
	}
	if calls := r.settled(); calls[0].Usage == nil || calls[0].Usage.Output == 0 || !calls[0].Complete {
		t.Errorf("settled as %+v", calls[0])
	}
}
