package gateway

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// thinking is what a request says about a second limit of its output. Many compatible servers count the
// tokens of thinking beside max_tokens, not within it.
type thinking struct {
	on     bool
	budget int64
	bounds bool   // the budget stands beside the switch that a server reads with it
	field  string // the first that switches thinking on, or that has a budget
	odd    string // a budget that is not a number of tokens
}

// plainFields are the fields at the top that hold text or the client's own data, so that a word in
// them means nothing.
var plainFields = []string{
	"messages", "input", "system", "instructions", "contents", "tools", "tool_choice", "functions", "function_call",
	"response_format", "text", "metadata", "client_metadata", "logit_bias", "prediction", "stop", "user",
}

// quietFields say how thoughts are shown or kept, not whether there are any.
var quietFields = []string{
	"preservethinking", "clearthinking", "reasoningsplit", "separatereasoning", "streamreasoning", "summary",
	"generatesummary", "display", "includethoughts",
}

// offWords switch thinking off.
var offWords = []string{"disabled", "disable", "none", "off", "false", "no", "nothink", "0"}

// thinkingOf reads the fields of a request that switch thinking on or give it a budget, at any depth,
// by the words in their names: each server has its own.
func thinkingOf(root *node) thinking {
	var t thinking
	if root.member("prompt_mode").text() == "reasoning" {
		t.on, t.field = true, "/prompt_mode"
	}
	for i := range root.members {
		m := &root.members[i]
		if !slices.Contains(plainFields, m.name) {
			t.read(m.name, "/"+m.name, &m.value, false)
		}
	}
	t.bounds = paired(root) || paired(root.member("chat_template_kwargs")) ||
		number(root.member("reasoning").member2("max_tokens")) > 0
	return t
}

// paired reports whether an object has Qwen's switch together with its budget.
func paired(n *node) bool {
	return n.isObject() && n.member("enable_thinking") != nil && number(n.member("thinking_budget")) > 0
}

// number is a count of tokens, also as a text; 0 if n is none.
func number(n *node) int64 {
	v, _ := wholeNumber(n, true)
	return v
}

// read reads one field. inside means that a field around it is about thinking.
func (t *thinking) read(name, at string, n *node, inside bool) {
	folded := strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(name))
	inside = inside || strings.Contains(folded, "think") || strings.Contains(folded, "reason")
	switch {
	case !n.isSet() || slices.Contains(quietFields, folded):
	case n.isObject():
		for i := range n.members {
			t.read(n.members[i].name, at+"/"+n.members[i].name, &n.members[i].value, inside)
		}
	case n.isArray():
		for i := range n.items {
			t.read(name, at+"/"+strconv.Itoa(i), &n.items[i], inside)
		}
	case !inside && !strings.Contains(folded, "budget"):
	default:
		t.value(at, n)
	}
}

// value reads a budget or a switch.
func (t *thinking) value(at string, n *node) {
	v, isNumber := wholeNumber(n, true)
	switch {
	case isNumber && v == 0, slices.Contains(offWords, strings.ToLower(n.text())):
		return
	case isNumber && v > 0:
		t.budget = max(t.budget, min(v, maxCount))
	case isNumber, n.isString(), n.isTrue(): // -1 is no limit
		t.on = true
	default:
		t.odd = at
	}
	t.field = cmp.Or(t.field, at)
}

// addThinking adds the tokens of thinking that the limit of the output does not include. most is the
// greatest output of the model, 0 if unknown.
func (c *checker) addThinking(b *bound, root *node, most int64) {
	t := thinkingOf(root)
	// The other APIs define that the limit includes thinking, but for a switch of a server's own.
	defined := c.r.operation != ChatCompletions && !root.member("chat_template_kwargs").isSet() &&
		!root.member("enable_thinking").isSet()
	if defined {
		t.on = false
	}
	if t.odd != "" {
		b.deny(t.odd, "is not a number of tokens")
	}
	includes := c.u.LimitIncludesThinking
	switch {
	case includes != nil && *includes, includes == nil && isVendor(c.u):
		c.keepThinking(b, t)
		return
	case includes != nil:
		t.on = true
	case defined && t.budget < b.output:
		c.keepThinking(b, t)
		return
	}
	b.thinking = t.budget
	if !t.on || t.bounds && t.budget > 0 {
		return
	}
	most = cmp.Or(most, b.window)
	b.thinking = max(b.thinking, most)
	if most == 0 && !b.prices.Free(b.provider, b.model) {
		b.deny(t.name(), "makes the model think without a limit: give the model max_output in the price list, or set "+
			"limit_includes_thinking of the provider "+c.u.Name)
	}
}

// name is the field to name in a refusal.
func (t *thinking) name() string {
	if t.field == "" {
		return "/model"
	}
	return t.field
}

// isVendor reports whether a provider is at the address of the company that designed its API.
func isVendor(u *upstream) bool {
	switch u.API {
	case Anthropic:
		return isHost(u, "anthropic.com")
	case Gemini:
		return isHost(u, "googleapis.com")
	}
	return isHost(u, "openai.com") || isHost(u, "openai.azure.com")
}

// keepThinking keeps a limit that includes thinking above the budget of it.
func (c *checker) keepThinking(b *bound, t thinking) {
	if t.budget > 0 && t.budget < b.output {
		b.least = max(b.least, t.budget+1)
	}
}
