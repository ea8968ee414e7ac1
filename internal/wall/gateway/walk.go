package gateway

import (
	"slices"
	"strconv"
	"strings"
)

// place is where a value stands.
type place struct {
	pointer string // JSON pointer; "" is the top
	key     string // by which its parent, or its parent's list, has it
	mark    mark   // of its field
	scope   scope
}

// scope says which fields an object may have.
type scope uint8

const (
	scopeListed scope = iota // the fields on the list
	scopeNames               // names of the client's choice, each with what the list says
	scopeOpen                // any, below a field that the operator allows
)

// labels are fields that end like ids and name nothing that a provider keeps.
var labels = []string{
	"call_id", "tool_call_id", "tool_use_id", "parent_tool_use_id", "caller_id", "user_id", "request_id", "session_id",
	"trace_id", "client_request_id", "tab_id", "download_id",
}

// object checks the fields of an object and everything below it.
func (c *checker) object(n *node, at place) *Refusal {
	kind := n.member("type").text()
	for i := range n.members {
		m := &n.members[i]
		inside, refusal := c.enter(n, i, at)
		switch {
		case refusal != nil:
			return refusal
		case inside.mark&markOpaque != 0, c.cites(at, kind, m):
			continue
		}
		if refusal := c.field(m, at, inside, kind); refusal != nil {
			return refusal
		}
		if refusal := c.below(&m.value, inside); refusal != nil {
			return refusal
		}
	}
	return nil
}

func (c *checker) below(n *node, at place) *Refusal {
	switch {
	case n.isObject():
		return c.object(n, at)
	case n.isString() && at.mark&(markText|markModel) == 0 && beginsLikeURL(n):
		return c.source(n, at.pointer)
	}
	for i := range n.items {
		inside := at
		inside.pointer += "/" + strconv.Itoa(i)
		if refusal := c.below(&n.items[i], inside); refusal != nil {
			return refusal
		}
	}
	return nil
}

// field checks one field by its name.
func (c *checker) field(m *member, at, inside place, kind string) *Refusal {
	folded := fold(m.name)
	switch {
	case c.definesTools(at.key, m.name):
		return c.tools(&m.value, inside.pointer)
	case inside.mark&markModel != 0, inside.scope == scopeOpen && namesModels(folded):
		if inside.pointer == "/model" {
			return nil // topModel has checked it
		}
		return c.models(&m.value, inside.pointer)
	case inside.mark&markText != 0:
		return nil
	case strings.HasSuffix(folded, "url"), strings.HasSuffix(folded, "uri"), strings.HasSuffix(folded, "urls"),
		strings.HasSuffix(folded, "uris"):
		return c.source(&m.value, inside.pointer)
	case c.namesState(m, at, kind):
		return c.ids(&m.value, inside.pointer)
	}
	return nil
}

// definesTools reports whether a field defines tools. In the results of tools, it has their names.
func (c *checker) definesTools(holder, name string) bool {
	return name == "tools" && !strings.HasSuffix(holder, "_results") ||
		c.u.API == Anthropic && name == "definition" && holder == "tool"
}

// namesModels reports whether a field that is not listed names models: fallbacks, models and their kin.
func namesModels(folded string) bool {
	return strings.HasSuffix(strings.TrimSuffix(folded, "s"), "model") || strings.Contains(folded, "fallback")
}

// models checks a field in which each string is a model. Objects are walked like any other.
func (c *checker) models(n *node, at string) *Refusal {
	for i := range n.items {
		if refusal := c.models(&n.items[i], at+"/"+strconv.Itoa(i)); refusal != nil {
			return refusal
		}
	}
	if !n.isString() || !n.isSet() {
		return nil
	}
	return c.allowModel(n.text(), at)
}

// citing are objects, by type, in which a URL says where something came from: they are the provider's
// own results, which the agent sends back, and results of searches that the client made.
var citing = map[API][]string{
	Anthropic: {
		"web_search_result", "web_search_result_location", "web_fetch_result", "search_result", "search_result_location",
	},
	OpenAI: {"url_citation", "open_page", "find_in_page"},
}

// cites reports whether a field holds text by the type of its object: where something came from, or a
// document that is plain text.
func (c *checker) cites(at place, kind string, m *member) bool {
	if !m.value.isString() {
		return false
	}
	switch m.name {
	case "url", "source":
		return at.key == "url_citation" || slices.Contains(citing[c.u.API], kind) ||
			c.u.API == OpenAI && at.key == "sources" && kind == "url"
	case "data":
		return c.u.API == Anthropic && at.key == "source" && kind == "text"
	}
	return false
}

// namesState reports whether a field holds the id of something that the provider keeps.
func (c *checker) namesState(m *member, at place, kind string) bool {
	switch m.name {
	case "cachedContent", "cached_content", "conversation", "container", "fileSearchStoreNames", "vector_store_ids":
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

// opaque reports whether a field holds data of the client that the provider passes on to the model
// as it is: schemas, arguments and results of the client's tools. pointer leads to its object.
func (c *checker) opaque(pointer, name string) bool {
	return c.fields.at(holderOf(pointer))[name]&markOpaque != 0
}

// holderOf returns the field that holds the value at a pointer, "" for the top.
func holderOf(pointer string) string {
	for _, part := range slices.Backward(strings.Split(pointer, "/")) {
		if _, err := strconv.Atoi(part); err != nil {
			return part
		}
	}
	return ""
}
