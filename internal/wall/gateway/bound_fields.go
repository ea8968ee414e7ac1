package gateway

import (
	"slices"
	"strings"

	"github.com/penstock-dev/penstock"
)

// ambiguousModel matches models that search, or call other models, without a tool in the request.
var ambiguousModel = penstock.LazyRegexp(`-search-(preview|api)|:online$|deep-research|multi-agent`)

// prompter reads what a request can make the provider read.
type prompter struct {
	b        *bound
	c        *checker
	rules    promptRule
	overhead int64
}

// fields checks the fields at the top, and what they say about tier, region and cache.
func (p *prompter) fields(root *node) {
	for i := range root.members {
		p.costly("", &root.members[i])
	}
	switch p.c.u.API {
	case Anthropic:
		p.anthropicFields(root)
	case OpenAI:
		p.openaiFields(root)
	case Gemini:
		p.geminiFields(root)
	}
}

func (p *prompter) anthropicFields(root *node) {
	b := p.b
	p.oneOf(root, "service_tier", "auto", "standard_only")
	p.oneOf(root, "speed", "standard", "fast")
	if root.member("speed").text() == "fast" {
		b.tier, b.tiers = "fast", append(b.tiers, "fast")
	}
	b.regions = nil // a workspace has a default
	if region := root.member("inference_geo"); region.isSet() {
		b.regions = []string{region.text()}
	}
	if c := root.member("container"); c.isSet() {
		b.opaque, b.remote = "/container", true
	}
	management := root.member("context_management")
	for i := range management.fields() {
		m := &management.members[i]
		if m.name != "edits" && m.value.isSet() {
			b.deny("/context_management/"+m.name, "is not known to the model gateway")
		}
	}
	for i, edit := range management.member2("edits").all() {
		if !strings.HasPrefix(edit.member("type").text(), "clear_") {
			b.deny("/context_management/edits/"+itoa(int64(i)), "may make the provider call a model")
		}
	}
	// Without a mark of the client, Anthropic writes nothing. Other servers may.
	b.writes = !isHost(p.c.u, "anthropic.com")
	p.cacheMarks(root)
}

// usualLifetimes are the lifetimes, by the field that controls a cache, at which a write costs what it usually costs.
var usualLifetimes = map[string]string{
	"cache_control": "5m", "caching": "5m", "prompt_cache_breakpoint": "30m", "prompt_cache_options": "30m",
}

// cacheMarks looks for marks of the cache anywhere.
func (p *prompter) cacheMarks(n *node) {
	for i := range n.members {
		m := &n.members[i]
		if usual := usualLifetimes[m.name]; usual != "" && m.value.isSet() {
			p.b.writes = true
			ttl := m.value.member("ttl")
			p.b.long = p.b.long || ttl.isSet() && ttl.text() != usual
		}
		p.cacheMarks(&m.value)
	}
	for i := range n.items {
		p.cacheMarks(&n.items[i])
	}
}

func (p *prompter) openaiFields(root *node) {
	b := p.b
	p.cacheMarks(root)
	p.compatibleFields(root)
	p.oneOf(root, "service_tier", "auto", "default", "standard", "flex", "scale", "priority", "fast", "ultrafast")
	switch tier := root.member("service_tier").text(); tier {
	case "", "auto": // what the project's settings say
		b.tiers = p.priced(append(b.tiers, "flex", "priority", "fast"))
	case "default", "standard", "scale":
	case "priority", "fast":
		b.tier = tier
		if b.tiers = p.priced(append(b.tiers, "priority", "fast")); len(b.tiers) == 1 {
			b.deny("/service_tier", "names a tier that has no price")
		}
	default:
		b.tier, b.tiers = tier, append(b.tiers, tier)
	}
	b.regions = []string{openaiRegion(p.c.u)}
	if root.member("chat_template_kwargs").isSet() {
		b.remote = true // a template can put it into the prompt, and the counting endpoint does not take it
	}
	b.writes = true
	retention := root.member("prompt_cache_retention")
	b.long = b.long || retention.isSet() && !slices.Contains([]string{"in_memory", "in-memory"}, retention.text())
	if mode := root.member("reasoning").member2("mode"); mode.isSet() && mode.text() != "standard" {
		b.deny("/reasoning/mode", "may make the provider think several times")
	}
	p.textOnly(root.member("modalities"), "/modalities")
	for _, state := range []string{"previous_response_id", "conversation", "prompt"} {
		if root.member(state).isSet() {
			b.opaque = "/" + state
			b.remote = b.remote || state != "previous_response_id" // others can change, or are not counted
		}
	}
	if p.c.r.operation == CompactResponse {
		b.opaque = "/input" // how the provider asks for a summary is unknown
	}
}

// priced leaves out tiers that the model does not have.
func (p *prompter) priced(tiers []string) []string {
	b := *p.b
	return slices.DeleteFunc(tiers, func(tier string) bool {
		b.tiers, b.regions = []string{tier}, []string{""}
		_, ok := b.rates()
		return tier != "" && !ok
	})
}

func (p *prompter) geminiFields(root *node) {
	b := p.b
	p.oneOf(root, "serviceTier", "unspecified", "standard", "flex", "priority",
		"SERVICE_TIER_UNSPECIFIED", "SERVICE_TIER_STANDARD", "SERVICE_TIER_FLEX", "SERVICE_TIER_PRIORITY")
	tier := strings.TrimPrefix(strings.ToLower(root.member("serviceTier").text()), "service_tier_")
	if tier == "flex" || tier == "priority" {
		b.tier, b.tiers = tier, append(b.tiers, tier)
	}
	if root.member("cachedContent").isSet() {
		b.opaque, b.remote = "/cachedContent", true
	}
	config := root.member("generationConfig")
	for i := range config.fields() {
		p.costly("generationConfig", &config.members[i])
	}
	for _, format := range config.member2("responseFormat").all() {
		for i := range format.fields() {
			if m := &format.members[i]; m.name != "text" && m.value.isOn() {
				b.deny("/generationConfig/responseFormat/"+m.name, unpricedOutput)
			}
		}
	}
	p.textOnly(config.member2("responseModalities"), "/generationConfig/responseModalities")
}

// textOnly denies a bound if modalities of the output, or the one in place of a list, are not text.
func (p *prompter) textOnly(modalities *node, at string) {
	for _, modality := range modalities.all() {
		if !strings.EqualFold(modality.text(), "text") {
			p.b.deny(at, unpricedOutput)
		}
	}
}

// oneOf denies a bound if a field has another value.
func (p *prompter) oneOf(root *node, field string, values ...string) {
	if n := root.member(field); n.isSet() && !slices.Contains(values, n.text()) {
		p.b.deny("/"+field, "has a value that is not known to the model gateway")
	}
}

// fields returns the members of an object, none for any other node.
func (n *node) fields() []member {
	if n == nil {
		return nil
	}
	return n.members
}

// member2 is member for a node that may not be there.
func (n *node) member2(name string) *node {
	if n == nil {
		return nil
	}
	return n.member(name)
}

// isHost reports whether a provider is at a domain or below it.
func isHost(u *upstream, domain string) bool {
	host := strings.ToLower(u.base.Hostname())
	return host == domain || strings.HasSuffix(host, "."+domain)
}

// openaiRegion is the region of OpenAI's regional hosts.
func openaiRegion(u *upstream) string {
	region, found := strings.CutSuffix(strings.ToLower(u.base.Hostname()), ".api.openai.com")
	if !found {
		return ""
	}
	return region
}
