package gateway

import (
	"bytes"
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// promptRule says how much of a prompt the body of a request does not show.
type promptRule struct {
	// overhead is added to the bytes of each body, in tokens: for the provider's own
	// instructions, among them those about tools.
	overhead int64
	// tools are tools of the provider's design that the client executes. Each brings
	// instructions of this many tokens.
	tools map[string]int64
	// text are the types of parts that have no more tokens than bytes. Every other part, such
	// as an image, may have any number.
	text []string
}

var promptRules = map[API]promptRule{
	Anthropic: {
		overhead: 2000,
		tools: map[string]int64{
			"bash": 2000, "text_editor": 2000, "memory": 4000, "computer": 4000, "computer_toolset": 16_000,
			"browser_toolset": 16_000,
		},
		text: []string{
			"text", "tool_use", "tool_result", "thinking", "redacted_thinking", "server_tool_use", "mcp_tool_use",
			"search_result", "web_search_tool_result", "web_search_result", "web_search_tool_result_error",
			"char_location", "content_block_location", "search_result_location", "web_search_result_location",
			"ephemeral", "direct",
		},
	},
	OpenAI: {
		overhead: 1000,
		tools: map[string]int64{
			"local_shell": 2000, "shell": 2000, "apply_patch": 2000, "tool_search": 2000, "namespace": 2000, "computer": 4000,
			"computer_use_preview": 4000,
		},
		text: []string{
			"text", "refusal", "function", "custom", "message", "input_text", "output_text", "summary_text", "reasoning_text",
			"reasoning", "function_call", "function_call_output", "custom_tool_call", "custom_tool_call_output",
			"local_shell_call", "local_shell_call_output", "shell_call", "shell_call_output", "apply_patch_call",
			"apply_patch_call_output", "tool_search_call", "tool_search_output", "additional_tools", "namespace",
			"url_citation", "exec", "exit", "timeout", "create_file", "update_file", "delete_file", "local", "grammar",
			"ephemeral", "thinking", "reasoning.text", "reasoning.summary",
		},
	},
	Gemini: {
		overhead: 1000,
		tools:    map[string]int64{"computerUse": 8000},
		text: []string{
			"text", "thought", "thoughtSignature", "functionCall", "functionResponse", "toolCall", "toolResponse",
			"executableCode", "codeExecutionResult", "partMetadata",
		},
	},
}

// request reads the prompt and the tools.
func (p *prompter) request(root *node) {
	switch p.c.u.API {
	case Anthropic:
		p.parts(root.member("system"), "/system")
		p.parts(root.member("messages"), "/messages")
	case OpenAI:
		p.parts(root.member("messages"), "/messages")
		if input := root.member("input"); input.isArray() {
			p.items(input)
		}
	case Gemini:
		p.geminiParts(root.member("systemInstruction"), "/systemInstruction")
		for i, content := range root.member("contents").all() {
			p.geminiParts(content, "/contents/"+strconv.Itoa(i))
		}
	}
	p.tools(root, root, "", "")
}

// tools counts tools wherever they are checked: of the request, of a namespace, and those that a message
// brings.
func (p *prompter) tools(root, n *node, at, holder string) {
	for i := range n.items {
		p.tools(root, &n.items[i], at+"/"+strconv.Itoa(i), holder)
	}
	for i := range n.members {
		m := &n.members[i]
		inside := at + "/" + m.name
		if p.c.opaque(at, m.name) {
			continue
		}
		if p.c.definesTools(holder, m.name) && m.value.isSet() {
			for j, tool := range m.value.all() {
				p.tool(root, tool, inside+"/"+strconv.Itoa(j))
			}
		}
		p.tools(root, &m.value, inside, m.name)
	}
}

// all returns the items of an array, or the node itself: Google's APIs take one value for a
// list of one.
func (n *node) all() []*node {
	switch {
	case !n.isOn():
		return nil
	case !n.isArray():
		return []*node{n}
	}
	list := make([]*node, len(n.items))
	for i := range n.items {
		list[i] = &n.items[i]
	}
	return list
}

// unclear notes a part whose number of tokens the body does not show.
func (p *prompter) unclear(at, kind string, part *node) {
	p.b.opaque = cmp.Or(p.b.opaque, at)
	p.b.audio = p.b.audio || p.mayBeAudio(kind, part)
	p.b.remote = p.b.remote || fetched(part)
}

// silentParts are parts without audio: their types, the beginnings of their media types, and the end of the
// types of calls of a provider's tools.
var silentParts = []string{
	"image", "image_url", "images", "input_image", "file", "input_file", "document", "image/", "application/pdf",
	"text/", "computer_screenshot", "computer_call_output", "_call", "mcp_list_tools", "mcp_approval_request",
	"mcp_approval_response", "item_reference", "compaction", "context_compaction", "compaction_trigger",
	"configuration_update", "reasoning.encrypted", "tool_reference", "file_citation", "container_file_citation",
	"file_path", "reference", "document_url", "redacted_thinking", "mediaResolution",
}

// mayBeAudio reports whether a part can be audio, also the audio of a video. Anthropic's API has
// none.
func (p *prompter) mayBeAudio(kind string, part *node) bool {
	if p.c.u.API == Anthropic && isVendor(p.c.u) {
		return false
	}
	silent := slices.ContainsFunc(silentParts, func(s string) bool {
		return kind == s || strings.HasSuffix(s, "/") && strings.HasPrefix(kind, s) ||
			s[0] == '_' && strings.HasSuffix(kind, s)
	})
	frames := kind == "video" && part.member("video").isArray() // a list of pictures
	return !silent && !frames || hears(part)
}

// hears reports whether a part names a media type of audio or video, or holds a part with one.
func hears(n *node) bool {
	return holds(n, func(text string) bool {
		text = strings.ToLower(strings.TrimPrefix(text, "data:"))
		return strings.HasPrefix(text, "audio/") || strings.HasPrefix(text, "video/") || slices.Contains(soundParts, text)
	})
}

// soundParts are types of parts with audio, at OpenAI and at compatible servers.
var soundParts = []string{"input_audio", "audio_url", "input_video", "video_url"}

// fetched reports whether a part names a source outside of the request. The provider may get something
// else there than when it counted.
func fetched(n *node) bool {
	return holds(n, func(text string) bool {
		text = strings.ToLower(strings.TrimSpace(text))
		return strings.Contains(text, "://") && !strings.HasPrefix(text, "data:")
	})
}

// holds reports whether match accepts a text in n. Of data, it sees only the first bytes.
func holds(n *node, match func(string) bool) bool {
	const most = 4 << 10
	switch {
	case n == nil:
		return false
	case n.isString() && len(n.raw) > most && !bytes.ContainsAny(n.raw[:most], "\\ "):
		return match(string(n.raw[1:most]))
	case n.isString():
		return match(n.text())
	}
	return slices.ContainsFunc(n.items, func(item node) bool { return holds(&item, match) }) ||
		slices.ContainsFunc(n.members, func(m member) bool { return holds(&m.value, match) })
}

// parts looks for parts by their types, in messages and in results of tools.
func (p *prompter) parts(n *node, at string) {
	if n == nil {
		return
	}
	for i := range n.items {
		p.parts(&n.items[i], at+"/"+strconv.Itoa(i))
	}
	kind := n.member("type")
	if kind.isSet() && !slices.Contains(p.rules.text, kind.text()) {
		p.unclear(at, kind.text(), n)
		return
	}
	for i := range n.members {
		m := &n.members[i]
		switch {
		case p.c.opaque(at, m.name), m.name == "tools":
		case slices.Contains(mediaFields, m.name) && m.value.isSet():
			p.unclear(at+"/"+m.name, m.name, &m.value)
		default:
			p.parts(&m.value, at+"/"+m.name)
		}
	}
}

// mediaFields hold pictures, sound or files. Some compatible servers read them in a part without a type.
var mediaFields = []string{
	"audio", "audio_url", "input_audio", "image", "image_url", "images", "image_embeds", "input_image", "video",
	"video_url", "file", "file_data", "file_id", "file_url", "input_file", "document_url",
}

// items reads the input of the Responses API. An item may stand for one that the provider keeps.
func (p *prompter) items(input *node) {
	for i := range input.items {
		item, at := &input.items[i], "/input/"+strconv.Itoa(i)
		if item.member("id").isSet() && !hasContent(item) {
			kind := item.member("type").text()
			if kind == "" || slices.Contains(p.rules.text, kind) {
				kind = "item_reference"
			}
			p.unclear(at, kind, item)
			continue
		}
		p.parts(item, at)
	}
}

// geminiParts looks for parts that are not text in one content, also within the results of
// functions.
func (p *prompter) geminiParts(content *node, at string) {
	for i, part := range content.member2("parts").all() {
		at := at + "/parts/" + strconv.Itoa(i)
		for j := range part.members {
			m := &part.members[j]
			if !slices.Contains(p.rules.text, m.name) {
				p.unclear(at+"/"+m.name, cmp.Or(strings.ToLower(m.value.member("mimeType").text()), m.name), &m.value)
			}
			p.geminiParts(&m.value, at+"/"+m.name)
		}
	}
}

// tool counts the instructions of a tool, or the uses of one that the provider runs.
func (p *prompter) tool(root, tool *node, at string) {
	switch p.c.u.API {
	case Anthropic:
		p.anthropicTool(tool, at)
	case OpenAI:
		p.openaiTool(root, tool, at)
	case Gemini:
		for i := range tool.members {
			name := tool.members[i].name
			if name != "functionDeclarations" {
				p.clientTool(name, at+"/"+name)
			}
		}
	}
}

// clientTool counts a tool of the provider's design, or denies the bound.
func (p *prompter) clientTool(name, at string) {
	tokens, known := p.rules.tools[name]
	p.overhead += tokens
	if !known {
		p.b.deny(at, "is a tool of the provider ("+snakeCase(name)+") without a limit of its uses")
	}
}

func (p *prompter) anthropicTool(tool *node, at string) {
	kind := tool.member("type").text()
	name := toolDate().ReplaceAllString(kind, "")
	if name == "" || name == "custom" {
		return
	}
	uses, ok := wholeNumber(tool.member("max_uses"), false)
	if _, client := p.rules.tools[name]; client || !ok || uses < 0 || name == "advisor" || name == "code_execution" {
		p.clientTool(name, at)
		return
	}
	p.b.uses += min(uses, maxCount)
	p.b.tools[name] += min(uses, maxCount)
	p.b.completions = 1 + p.b.uses // each continuation has its own limit
}

func (p *prompter) openaiTool(root, tool *node, at string) {
	name := tool.member("type").text()
	switch {
	case name == "function", name == "custom", name == "" && tool.member("function").isObject():
		return
	case name == "shell" && tool.member("environment").isSet() &&
		tool.member("environment").member("type").text() != "local":
		name = "hosted_shell"
	case name == "tool_search" && tool.member("execution").text() != "client":
		name = "hosted_tool_search"
	}
	uses, ok := wholeNumber(root.member("max_tool_calls"), false)
	if _, client := p.rules.tools[name]; client || !ok || uses < 0 {
		p.clientTool(name, at)
		return
	}
	if group := toolGroups[name]; group != "" {
		name = group
	}
	p.b.uses = min(uses, maxCount)
	p.b.tools[name] = min(uses, maxCount)
}
