package gateway

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// checker examines one request.
type checker struct {
	s      *Session
	u      *upstream
	r      route
	fields fieldList

	model   string
	allowed string // the first field that only the operator's configuration allows, or ""
}

// edit replaces the bytes [start, end) of a body.
type edit struct {
	start, end int
	text       string
}

// checked is a request that may be sent.
type checked struct {
	model     string
	stream    bool
	tools     bool
	edits     []edit // in order; a budget's output limit is one more
	hideUsage bool   // the agent did not ask for the usage chunk
	bound     *bound // nil for calls that are not counted
	root      *node  // nil for calls that are not counted
}

// check examines a body. Outside of what the client itself defines (schemas, arguments of its tools), it
// accepts only fields that the list of the API has, and looks at each: a URL, an id, a model, tools.
func (s *Session) check(u *upstream, r route, body []byte, header http.Header) (checked, *Refusal) {
	root, err := parse(body, u.API == Gemini)
	if err != nil {
		return checked{}, invalid("", "The body is not JSON that can be checked: "+plainReason(err)+".")
	}
	if !root.isObject() {
		return checked{}, invalid("", "The body must be a JSON object.")
	}
	c := &checker{s: s, u: u, r: r, fields: schemaOf(u.API, r.operation)}
	tools := root.offersTools()
	if refusal := c.top(&root); refusal != nil {
		refusal.Model, refusal.Tools = c.model, tools
		return checked{}, refusal
	}
	out := checked{
		model: c.model, stream: root.member("stream").isTrue() || r.operation == StreamGenerate, tools: tools,
	}
	if r.operation == ChatCompletions && out.stream {
		out.edits, out.hideUsage = askForUsage(&root)
	}
	if s.opts.Spend != nil && r.operation.Generates() {
		out.bound, out.root = c.bound(&root, header, int64(len(body))), &root
	}
	return out, nil
}

// offersTools reports whether a body offers tools, also as an item of its input.
func (n *node) offersTools() bool {
	if n.member("tools").isSet() || n.member("functions").isSet() {
		return true
	}
	input := n.member("input")
	return input.isArray() && slices.ContainsFunc(input.items, func(item node) bool {
		return item.isObject() && item.member("type").text() == "additional_tools"
	})
}

// plainReason is an error of the JSON parser without text of the body.
func plainReason(err error) string {
	var syntactic interface{ Unwrap() error }
	if errors.As(err, &syntactic) && syntactic.Unwrap() != nil {
		err = syntactic.Unwrap()
	}
	return strings.TrimPrefix(err.Error(), "jsontext: ")
}

// top checks what stands at the top of a body.
func (c *checker) top(root *node) *Refusal {
	if refusal := c.topModel(root); refusal != nil {
		return refusal
	}
	for _, field := range providerFields {
		if n := root.member(field); n.isOn() {
			if refusal := c.tool(snakeCase(field), "/"+field); refusal != nil {
				return refusal
			}
		}
	}
	if root.member("background").isSet() {
		return refuse("/background", "The model gateway does not forward background responses: "+
			"they would go on after the run has ended.")
	}
	if fallbacks := root.member("fallbacks"); fallbacks.isString() && c.s.limitsModels() {
		return refuse("/fallbacks", "The models of this run are limited: name the fallback models.")
	}
	if refusal := c.items(root.member("input")); refusal != nil {
		return refusal
	}
	return c.object(root, place{})
}

func (c *checker) topModel(root *node) *Refusal {
	n := root.member("model")
	if c.r.model != "" {
		c.model = c.r.model
		if n.isSet() && strings.TrimPrefix(n.text(), "models/") != c.model {
			return invalid("/model", "The model of the body is not that of the path.")
		}
	} else {
		if !n.isString() || !n.isSet() {
			return invalid("/model", "The request names no model.")
		}
		c.model = n.text()
	}
	return c.allowModel(c.model, "/model")
}

// list returns the items of an array, none for any other node.
func (n *node) list() []node {
	if n == nil {
		return nil
	}
	return n.items
}

// allowModel checks a model against the policies of the run.
func (c *checker) allowModel(model, at string) *Refusal {
	if strings.Contains(model, "://") { // routers take it, also after the name of a provider, for an address
		return refuse(at, "The model is a URL. The model gateway forwards only names of models.")
	}
	if searchingModel().MatchString(model) && !allowsTool(c.s.opts.ProviderTools, "web_search") {
		return refuse(at, fmt.Sprintf(
			"The model %.80q searches the web. Add web_search to network.provider_tools to allow it.", model))
	}
	if c.s.allowsModel(c.u.ModelID(model)) {
		return nil
	}
	return refuse(at, fmt.Sprintf("This run may not use the model %.120q. Ask an administrator to add it to models.allow.",
		c.u.ModelID(model)))
}

// items checks the input of the Responses API: an item without its content is a reference
// to one that the provider keeps.
func (c *checker) items(input *node) *Refusal {
	if c.u.API != OpenAI || !input.isArray() {
		return nil
	}
	for i := range input.items {
		item := &input.items[i]
		id := item.member("id")
		if !item.isObject() || !id.isSet() || hasContent(item) {
			continue
		}
		if refusal := c.known(id.text(), fmt.Sprintf("/input/%d/id", i)); refusal != nil {
			return refusal
		}
	}
	return nil
}

// hasContent reports whether an item brings what its id stands for.
func hasContent(item *node) bool {
	kind := item.member("type").text()
	switch kind {
	case "item_reference":
		return false
	case "reasoning", "compaction", "context_compaction":
		return item.member("encrypted_content").isSet()
	case "additional_tools":
		return item.member("tools").isArray()
	case "message", "":
		return item.member("role").isSet() && item.member("content").isSet()
	case "function_call", "custom_tool_call", "local_shell_call", "shell_call", "apply_patch_call", "tool_search_call",
		"configuration_update", "compaction_trigger":
		return true
	}
	return strings.HasSuffix(kind, "_output")
}

// known checks an id that stands for something that the provider keeps.
func (c *checker) known(id, at string) *Refusal {
	if id == "" || c.s.ids.has(id) {
		return nil
	}
	return refuse(at, fmt.Sprintf(
		"The field %.200s names something that this run has not received from the provider.", at))
}

// checkRetrieve examines GET /v1/responses/{id}.
func (s *Session) checkRetrieve(id string) *Refusal {
	if s.ids.has(id) {
		return nil
	}
	return refuse("", "This run has not received a response with this id.")
}

// askForUsage changes the options of a streaming chat completion so that its last chunk
// has the usage, without touching any other byte.
func askForUsage(root *node) (edits []edit, added bool) {
	const option = `"include_usage":true`
	options := root.member("stream_options")
	switch {
	case options == nil:
		return []edit{{root.start + 1, root.start + 1, `"stream_options":{` + option + `},`}}, true
	case !options.isObject():
		return []edit{{options.start, options.end, `{` + option + `}`}}, true
	}
	switch asked := options.member("include_usage"); {
	case asked.isTrue():
		return nil, false
	case asked != nil:
		return []edit{{asked.start, asked.end, "true"}}, true
	case len(options.members) == 0:
		return []edit{{options.start + 1, options.start + 1, option}}, true
	}
	return []edit{{options.start + 1, options.start + 1, option + ","}}, true
}

// apply returns body with the edits made.
func apply(body []byte, edits []edit) []byte {
	if len(edits) == 0 {
		return body
	}
	var out []byte
	at := 0
	for _, e := range edits {
		out = append(append(out, body[at:e.start]...), e.text...)
		at = e.end
	}
	return append(out, body[at:]...)
}

// checkHeader refuses what would change how the body or the call is read.
func checkHeader(r *http.Request) *Refusal {
	if encoding := r.Header.Get("Content-Encoding"); encoding != "" && encoding != "identity" {
		return invalid("", "The model gateway does not read compressed requests. Send the body without Content-Encoding.")
	}
	kinds := r.Header.Values("Content-Type")
	if len(kinds) > 1 || len(kinds) == 1 && !jsonType(kinds[0]) {
		return invalid("", "The body of the request must be application/json in UTF-8.")
	}
	return nil
}

func jsonType(value string) bool {
	value = strings.ToLower(strings.ReplaceAll(strings.ReplaceAll(value, " ", ""), `"`, ""))
	return slices.Contains([]string{"application/json", "application/json;charset=utf-8"}, value)
}
