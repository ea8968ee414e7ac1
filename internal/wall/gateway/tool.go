package gateway

import (
	"fmt"
	"slices"
	"strings"

	"github.com/penstock-dev/penstock"
)

// A tool is the client's or the provider's. The client's are listed here. All others, including
// unknown ones, count as the provider's, and the policy must name them.
var clientTools = map[API][]string{
	// Anthropic's own that the client executes, without their dates. tool_search looks
	// through the request's own tools; advisor asks another model, which is checked.
	Anthropic: {
		"", "custom", "bash", "text_editor", "computer", "computer_toolset", "browser_toolset", "memory",
		"tool_search_tool_bm25", "tool_search_tool_regex", "advisor",
	},
	OpenAI: {
		"function", "custom", "local_shell", "apply_patch", "computer", "computer_use_preview", "tool_search", "namespace",
	},
	Gemini: {"functionDeclarations", "computerUse"},
}

// toolGroups are names that a policy can use instead of the provider's own.
var toolGroups = map[string]string{
	"web_search_preview": "web_search", "web_search_options": "web_search", "google_search": "web_search",
	"google_search_retrieval": "web_search", "enterprise_web_search": "web_search", "search_parameters": "web_search",
	"search_options": "web_search", "enable_search": "web_search",
	"url_context": "web_fetch",
	"mcp_toolset": "mcp", "mcp_servers": "mcp",
	"code_interpreter": "code_execution", "programmatic_tool_calling": "code_execution", "hosted_shell": "code_execution",
	"enable_code_interpreter": "code_execution",
}

// providerFields are fields at the top of a request that turn on a tool of the provider.
// Compatible servers read the last ones.
var providerFields = []string{
	"mcp_servers", "mcpServers", "web_search_options", "plugins", "search_parameters", "search_options", "enable_search",
	"enable_code_interpreter",
}

var (
	toolDate = penstock.LazyRegexp(`(_[0-9]{8}|_[0-9]{4}_[0-9]{2}_[0-9]{2})$`)
	// searchingModel matches models that search the web without a tool.
	searchingModel = penstock.LazyRegexp(`-search-(preview|api)|:online$`)
)

// allowsTool reports whether a policy names a tool of the provider: by its full name, by
// that without a date, or by its group.
func allowsTool(policy []string, tool string) bool {
	bare := toolDate().ReplaceAllString(tool, "")
	if slices.Contains(policy, tool) || slices.Contains(policy, bare) {
		return true
	}
	group := toolGroups[bare]
	return group != "" && slices.Contains(policy, group)
}

func (c *checker) tool(name, at string) *Refusal {
	if allowsTool(c.s.opts.ProviderTools, name) {
		return nil
	}
	return refuse(at, fmt.Sprintf("The tool %.60q of the provider is not allowed: it works outside of the sandbox. "+
		"Add it to network.provider_tools to allow it.", name))
}

// tools checks one or several definitions of tools.
func (c *checker) tools(n *node, at string) *Refusal {
	switch {
	case n.isArray():
		for i := range n.items {
			if refusal := c.oneTool(&n.items[i], fmt.Sprintf("%s/%d", at, i)); refusal != nil {
				return refusal
			}
		}
		return nil
	case n.isObject(): // Google's APIs take one object for a list of one
		return c.oneTool(n, at)
	case n.isSet():
		return invalid(at, "The tools must be a list.")
	}
	return nil
}

func (c *checker) oneTool(n *node, at string) *Refusal {
	if !n.isObject() {
		return invalid(at, "A tool must be an object.")
	}
	if c.u.API == Gemini {
		return c.geminiTools(n, at)
	}
	kind := n.member("type")
	if kind.isSet() && !kind.isString() {
		return invalid(at+"/type", "The type of a tool must be a string.")
	}
	name := kind.text()
	switch c.u.API {
	case Anthropic:
		if slices.Contains(clientTools[Anthropic], toolDate().ReplaceAllString(name, "")) {
			return nil
		}
	case OpenAI:
		if name == "" && n.member("function").isObject() {
			return nil // some clients of compatible servers leave the type out
		}
		if name == "shell" {
			environment := n.member("environment")
			if !environment.isSet() || environment.member("type").text() == "local" {
				return nil
			}
			name = "hosted_shell"
		}
		if slices.Contains(clientTools[OpenAI], name) {
			return nil
		}
	}
	return c.tool(name, at)
}

// geminiTools checks a tool of Gemini, whose members are tools.
func (c *checker) geminiTools(n *node, at string) *Refusal {
	for i := range n.members {
		name := n.members[i].name
		if slices.Contains(clientTools[Gemini], name) {
			continue
		}
		if refusal := c.tool(snakeCase(name), at+"/"+name); refusal != nil {
			return refusal
		}
	}
	return nil
}

// snakeCase turns googleSearch into google_search.
func snakeCase(name string) string {
	var b strings.Builder
	for _, r := range name {
		if r >= 'A' && r <= 'Z' {
			b.WriteByte('_')
			r += 'a' - 'A'
		}
		b.WriteRune(r)
	}
	return b.String()
}
