package gateway

import (
	"slices"
	"strconv"
	"strings"
)

// place is where an object stands.
type place struct {
	pointer string // JSON pointer; "" is the top
	key     string // by which its parent, or its parent's list, has it
}

// labels are fields that end like ids and name nothing that a provider keeps.
var labels = []string{
	"call_id", "tool_call_id", "tool_use_id", "parent_tool_use_id", "caller_id", "user_id", "request_id", "session_id",
	"trace_id", "client_request_id",
}

// results are objects, by type, in which a URL says where something came from: they
// are the provider's own results, which the agent sends back.
var results = map[API][]string{
	Anthropic: {"web_search_result", "web_search_result_location", "web_fetch_result"},
	OpenAI:    {"url_citation", "open_page", "find_in_page"},
}

// object checks the fields of an object and everything below it.
func (c *checker) object(n *node, at place) *Refusal {
	kind := n.member("type").text()
	for i := range n.members {
		m := &n.members[i]
		if c.opaque(at, kind, m.name) {
			continue
		}
		if refusal := c.field(m, at, kind); refusal != nil {
			return refusal
		}
		if refusal := c.below(&m.value, place{at.pointer + "/" + m.name, m.name}); refusal != nil {
			return refusal
		}
	}
	return nil
}

func (c *checker) below(n *node, at place) *Refusal {
	if n.isObject() {
		return c.object(n, at)
	}
	for i := range n.items {
		if refusal := c.below(&n.items[i], place{at.pointer + "/" + strconv.Itoa(i), at.key}); refusal != nil {
			return refusal
		}
	}
	return nil
}

// field checks one field by its name.
func (c *checker) field(m *member, at place, kind string) *Refusal {
	pointer := at.pointer + "/" + m.name
	folded := strings.ToLower(strings.ReplaceAll(m.name, "_", ""))
	switch {
	case m.name == "tools":
		return c.tools(&m.value, pointer)
	case m.name == "model" && at.pointer != "" && at.key != "moderation" && m.value.isString():
		return c.allowModel(m.value.text(), pointer)
	case strings.HasSuffix(folded, "url"), strings.HasSuffix(folded, "uri"), strings.HasSuffix(folded, "urls"),
		strings.HasSuffix(folded, "uris"):
		if at.key == "url_citation" || slices.Contains(results[c.u.API], kind) ||
			c.u.API == OpenAI && at.key == "sources" && kind == "url" {
			return nil
		}
		return c.source(&m.value, pointer)
	case c.namesState(m, at, kind):
		return c.ids(&m.value, pointer)
	}
	return nil
}

// namesState reports whether a field holds the id of something that the provider keeps.
func (c *checker) namesState(m *member, at place, kind string) bool {
	switch m.name {
	case "cachedContent", "conversation", "container", "fileSearchStoreNames", "vector_store_ids":
		return true
	case "id":
		return slices.Contains([]string{"conversation", "container", "prompt", "audio", "voice"}, at.key)
	case "skill_id":
		return kind != "anthropic"
	}
	if c.u.API == Gemini {
		return strings.HasSuffix(m.name, "Id") || strings.HasSuffix(m.name, "Ids")
	}
	return (strings.HasSuffix(m.name, "_id") || strings.HasSuffix(m.name, "_ids")) && !slices.Contains(labels, m.name)
}

// ids checks a field that holds one id or several. Objects are walked like any other.
func (c *checker) ids(n *node, at string) *Refusal {
	switch {
	case n.isArray():
		for i := range n.items {
			if refusal := c.ids(&n.items[i], at); refusal != nil {
				return refusal
			}
		}
	case n.isString():
		return c.known(n.text(), at)
	}
	return nil
}

// opaque reports whether a field holds data of the client that the provider passes on to
// the model as it is: schemas, arguments and results of the client's tools.
func (c *checker) opaque(at place, kind, name string) bool {
	if name == "schema" {
		return kind == "json_schema" || at.key == "json_schema"
	}
	top := at.pointer == ""
	switch c.u.API {
	case Anthropic:
		switch name {
		case "input":
			return kind == "tool_use" || kind == "server_tool_use" || kind == "mcp_tool_use"
		case "input_schema", "input_examples":
			return at.key == "tools"
		case "metadata":
			return top
		}
	case OpenAI:
		switch name {
		case "parameters":
			return at.key == "function" || at.key == "functions" || kind == "function" || kind == "tool_search"
		case "arguments":
			return kind == "tool_search_call"
		case "metadata", "client_metadata", "logit_bias":
			return top
		}
	case Gemini:
		switch name {
		case "args":
			return at.key == "functionCall" || at.key == "toolCall"
		case "response":
			return at.key == "functionResponse" || at.key == "toolResponse" || at.key == "functionDeclarations"
		case "parameters", "parametersJsonSchema", "responseJsonSchema", "responseSchema":
			return at.key == "functionDeclarations" || at.key == "generationConfig"
		case "partMetadata":
			return at.key == "parts"
		case "labels":
			return top
		}
	}
	return false
}
