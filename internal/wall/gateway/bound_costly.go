package gateway

import (
	"cmp"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// costReasons say why fields with the mark $ have no bound.
var costReasons = map[string]string{
	"audio": unpricedOutput, "audioTranscriptionConfig": unpricedOutput, "imageConfig": unpricedOutput,
	"speechConfig": unpricedOutput, "translationConfig": unpricedOutput,
	"compaction": moreCalls, "context_management": moreCalls, "moderation": moreCalls,
	"enable_code_interpreter": freeTools, "enable_search": freeTools, "mcp_servers": freeTools, "plugins": freeTools,
	"search_options": freeTools, "search_parameters": freeTools, "web_search_options": freeTools,
	"fallbacks": otherPrices, "models": otherPrices, "provider": otherPrices, "route": otherPrices,
	"prediction": "is billed beside the limit of the output",
}

const (
	unpricedOutput = "asks for output that has no price"
	moreCalls      = "may make the provider call a model"
	freeTools      = "lets the provider run tools without a limit of their uses"
	otherPrices    = "lets the provider choose what serves the call, at another price"
)

// costly denies the bound for a field of unknown cost, unless its value turns it off.
func (p *prompter) costly(holder string, m *member) {
	pointer := "/" + m.name
	if holder != "" {
		pointer = "/" + holder + pointer
	}
	why := cmp.Or(costReasons[m.name], "may cost more than the tokens of the call")
	on := m.value.isOn()
	if why == otherPrices {
		on = m.value.isSet() // preferences without any
	}
	if on && !p.c.fields.costless(holder, m.name) {
		p.b.deny(pointer, why+"; leave it out, or run without a budget")
	}
}

// documentOverhead is what a template of a chat adds to a document, in tokens.
const documentOverhead = 100

// samplers are the options of Ollama that change neither the prompt nor the limit of the output.
var samplers = []string{
	"frequency_penalty", "low_vram", "main_gpu", "min_p", "mirostat", "mirostat_eta", "mirostat_tau", "num_batch",
	"num_ctx", "num_gpu", "num_keep", "num_thread", "numa", "penalize_newline", "presence_penalty", "repeat_last_n",
	"repeat_penalty",
	"seed", "stop", "temperature", "tfs_z", "top_k", "top_p", "typical_p", "use_mlock", "use_mmap", "vocab_only",
}

// compatibleFields bounds what compatible servers read besides the fields of OpenAI.
func (p *prompter) compatibleFields(root *node) {
	b := p.b
	p.overhead += int64(len(root.member("documents").list())) * documentOverhead
	if root.member("prompt_mode").isSet() { // Mistral puts a prompt about reasoning before the conversation
		p.overhead += 2000
	}
	if n := root.member("priority"); n.isSet() && n.kind != jsontext.KindNumber { // a number orders the server's queue
		b.deny("/priority", "may name a tier that has no price")
	}
	if root.member("extra_body").member2("google").member2("cached_content").isSet() {
		b.opaque, b.remote = "/extra_body/google/cached_content", true
	}
	options := root.member("options")
	for i := range options.fields() {
		m := &options.members[i]
		if m.name != "num_predict" && !slices.Contains(samplers, m.name) {
			p.costly("options", m)
		}
	}
}

// compatibleLimits reads the limits under the names of servers that read them instead of OpenAI's.
func (c *checker) compatibleLimits(b *bound, root *node) {
	for name, parent := range map[string]*node{
		"n_predict": root, "num_predict": root.member("options"), "max_tokens": root,
	} {
		if !parent.member2(name).isSet() || name == "max_tokens" && c.r.operation != Responses {
			continue
		}
		other := *b
		other.limits = nil
		c.setLimit(&other, root, parent, name, "")
		b.unbounded, b.limits = other.unbounded, append(b.limits, other.limits...)
		b.output = min(b.output, other.output)
	}
	if n := c.count(b, root.member("best_of"), "/best_of"); c.r.operation == ChatCompletions {
		b.completions = max(b.completions, n)
	}
}
