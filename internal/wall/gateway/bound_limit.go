package gateway

import (
	"math"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// unknownOutput is the limit for a request that names none to a model whose greatest output is
// not in the price list.
const unknownOutput = 32_000

// leastResponses is the least max_output_tokens that the Responses API takes.
const leastResponses = 16

// outputLimit reads the limit of the output, and where the body has it. most is the greatest
// output of the model, 0 if unknown.
func (c *checker) outputLimit(b *bound, root *node, most int64) {
	b.output = most
	if most == 0 {
		b.output = unknownOutput
		if b.window > 0 {
			b.output = min(b.output, b.window)
		}
	}
	switch c.r.operation {
	case Messages:
		c.setLimit(b, root, root, "max_tokens", "")
	case ChatCompletions:
		c.chatLimit(b, root)
		c.compatibleLimits(b, root)
	case Responses:
		b.least = leastResponses
		c.setLimit(b, root, root, "max_output_tokens", "")
		c.compatibleLimits(b, root)
	case GenerateContent, StreamGenerate:
		c.geminiLimit(b, root)
	case CompactResponse:
		b.fixed = true // it has no such field
		if most == 0 {
			b.deny("/model", "is a model whose greatest output is not in the price list")
		}
	}
	b.output = min(b.output, maxCount)
	c.addThinking(b, root, most)
}

func (c *checker) chatLimit(b *bound, root *node) {
	b.completions = c.count(b, root.member("n"), "/n")
	if root.member("prediction").isSet() {
		b.fixed = true
	}
	old, current := root.member("max_tokens"), root.member("max_completion_tokens")
	switch {
	case isVendor(c.u) && !old.isSet():
		c.setLimit(b, root, root, "max_completion_tokens", "")
	case !current.isSet():
		c.setLimit(b, root, root, "max_tokens", "")
	default: // a compatible server may read either of them
		c.setLimit(b, root, root, "max_completion_tokens", "")
		other := *b
		other.limits = nil
		c.setLimit(&other, root, root, "max_tokens", "")
		if old.isSet() {
			b.output = min(b.output, other.output)
		}
		b.unbounded, b.limits = other.unbounded, append(b.limits, other.limits...)
	}
}

func (c *checker) geminiLimit(b *bound, root *node) {
	config := root.member("generationConfig")
	if !config.isObject() {
		c.setLimit(b, root, config, "maxOutputTokens", "generationConfig")
	} else {
		c.setLimit(b, root, config, "maxOutputTokens", "")
	}
	b.completions = c.count(b, config.member2("candidateCount"), "/generationConfig/candidateCount")
}

// count reads how many completions a request asks for.
func (c *checker) count(b *bound, n *node, at string) int64 {
	if !n.isSet() {
		return 1
	}
	v, ok := wholeNumber(n, c.u.API == Gemini)
	if !ok || v > math.MaxInt32 {
		b.deny(at, "is not a whole number")
	}
	return max(1, min(v, math.MaxInt32))
}

// setLimit reads the limit that parent has under name, and notes how to replace or to add it. If
// parent is not there, it is added to root as the object wrap.
func (c *checker) setLimit(b *bound, root, parent *node, name, wrap string) {
	quoted := `"` + name + `":`
	if wrap != "" {
		before, after := `"`+wrap+`":{`+quoted, `}`
		if parent != nil { // null
			b.limits = append(b.limits, limit{parent.start, parent.end, `{` + quoted, after})
			return
		}
		b.limits = append(b.limits, limit{root.start + 1, root.start + 1, before, after + comma(root)})
		return
	}
	n := parent.member(name)
	if n == nil {
		b.limits = append(b.limits, limit{parent.start + 1, parent.start + 1, quoted, comma(parent)})
		return
	}
	b.limits = append(b.limits, limit{n.start, n.end, "", ""})
	if !n.isSet() {
		return
	}
	v, ok := wholeNumber(n, c.u.API == Gemini)
	switch {
	case !ok:
		b.deny("/"+name, "is not a whole number")
	case v > 0, v == 0 && c.u.API == Anthropic && isVendor(c.u): // 0 fills Anthropic's cache; elsewhere it is no limit
		b.output = v
	}
}

// comma separates a new first member from those that an object has.
func comma(object *node) string {
	if len(object.members) == 0 {
		return ""
	}
	return ","
}

// wholeNumber reads an integer that is written as a number, or as a string for Google's APIs.
func wholeNumber(n *node, quoted bool) (int64, bool) {
	if n == nil {
		return 0, false
	}
	text := string(n.raw)
	switch {
	case n.kind == jsontext.KindNumber:
	case quoted && n.isString():
		text = n.text()
	default:
		return 0, false
	}
	if v, err := strconv.ParseInt(text, 10, 64); err == nil {
		return v, true
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || f != math.Trunc(f) || math.Abs(f) > maxCount {
		return 0, false
	}
	return int64(f), true
}

func itoa(n int64) string { return strconv.FormatInt(n, 10) }
