package gateway

import (
	"cmp"
	"math"
	"math/bits"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/supply/price"
)

// bound is the most that a call can use, and so the most that it can cost. It is read from the
// request before that is sent. docs/budgets.md explains its numbers.
type bound struct {
	provider string // of the price list
	model    string
	at       time.Time
	prices   *price.Table

	unbounded string // why there is no bound; "" if there is one

	// Input. A provider that runs tools reads the whole conversation again after each use.
	prompt  int64 // tokens of the request itself
	window  int64 // of the model; 0 is unknown
	uses    int64 // of all tools that the provider runs
	tools   map[string]int64
	opaque  string // what makes the length of the prompt unknown, such as an image; "" if nothing does
	remote  bool   // the counting endpoint cannot see all of the prompt, or a part can change until it is read
	audio   bool
	writes  bool // the provider may write to its cache
	long    bool // …for the longer time
	tiers   []string
	regions []string
	tier    string // that the request names; "" is the account's

	// Output of one completion.
	output      int64
	least       int64
	completions int64
	limits      []limit // the edits that set it
	fixed       bool    // it cannot be lowered
	thinking    int64   // of one completion, beside output
}

// limit is an edit that puts a number of tokens into the body.
type limit struct {
	start, end    int
	before, after string
}

// bound reads the bound of a request that was checked.
func (c *checker) bound(root *node, header http.Header, size int64) *bound {
	b := &bound{
		provider: strings.TrimSuffix(c.u.ModelID(""), "/"), model: c.model, at: time.Now(), prices: c.s.opts.Prices,
		completions: 1, least: 1, tools: map[string]int64{}, regions: []string{""}, tiers: []string{""},
	}
	var most int64
	b.window, most = b.prices.Limits(b.provider, b.model)
	if b.window == 0 && b.prices.Free(b.provider, b.model) {
		b.window = freeWindow
	}
	if c.u.API == Anthropic && strings.Contains(c.u.betas(header), "context-1m") {
		b.window = max(b.window, 1_000_000)
	}
	p := &prompter{b: b, c: c, rules: promptRules[c.u.API], overhead: promptRules[c.u.API].overhead}
	p.fields(root)
	if c.allowed != "" {
		b.deny(c.allowed, "is not known to the model gateway")
	}
	p.request(root)
	b.prompt = size + p.overhead
	if b.window > 0 && (b.opaque != "" || b.prompt > b.window) {
		b.prompt = b.window
	}
	switch {
	case b.opaque != "" && b.window == 0:
		b.deny(b.opaque, "has an unknown number of tokens, and the price list has no window for this model")
	case b.uses > 0 && b.window == 0:
		b.deny("/tools", "has a tool of the provider, and the price list has no window for this model")
	}
	c.outputLimit(b, root, most)
	if ambiguousModel().MatchString(b.model) {
		b.deny("/model", "is a model that makes further calls by itself")
	}
	return b
}

// freeWindow is the window of a model that is free and does not name one. It is longer than the
// window of any model that people run themselves, and costs nothing.
const freeWindow = 10_000_000

// deny says why there is no bound. The first reason stays.
func (b *bound) deny(field, why string) {
	if b.unbounded == "" {
		b.unbounded = "the field " + field + " " + why
	}
}

// maxCount bounds each count of tokens, so that sums and costs of them fit.
const maxCount = 1_000_000_000_000

// input is the most tokens that the provider can count besides output.
func (b *bound) input() int64 {
	more := int64(0)
	if b.uses > 0 {
		more = times(min(b.uses, maxCount), b.window)
	}
	return min(min(b.prompt, maxCount)+more, maxCount)
}

// reservation asks for the bound. If whole is set, the limit of the output is not lowered.
func (b *bound) reservation(id string, whole bool) penstock.Reservation {
	r := b.amounts(id, whole)
	if err := r.Check(); err == nil {
		return r
	}
	// A request for a billion completions, or for a model with a very long name.
	return penstock.Reservation{
		ID: id, Provider: shorten(r.Provider), Model: shorten(r.Model), Completions: 1,
		Unpriced: r.Unpriced, UnpricedPart: r.UnpricedPart,
		Unbounded: cmp.Or(r.Unbounded, "it asks for more than can be counted"),
	}
}

// shorten cuts a name to the length that the ledger stores.
func shorten(name string) string { return name[:min(len(name), 200)] }

func (b *bound) amounts(id string, whole bool) penstock.Reservation {
	r := penstock.Reservation{
		ID: id, Provider: b.provider, Model: b.model, Unbounded: b.unbounded,
		InputTokens: b.input(), Output: min(b.output+b.thinking, maxCount),
		LeastOutput: min(b.least, b.output) + b.thinking, Completions: b.completions,
	}
	if whole || b.fixed {
		r.LeastOutput = r.Output
	}
	if !b.prices.Known(b.provider, b.model) {
		r.Unpriced = true
		return r
	}
	rates, ok := b.rates()
	if !ok {
		r.Unbounded = cmp.Or(r.Unbounded, "the price list has no price for the service tier, speed or region of this request")
		return r
	}
	if b.audio && rates.NoAudio {
		r.Unpriced, r.UnpricedPart = true, "audio"
		return r
	}
	r.OutputPrice = rates.Output
	r.InputCost = nano(r.InputTokens, b.inputRate(rates))
	for name, n := range b.tools {
		price, known := rates.Tools[name]
		if !known && !rates.Free && r.Unbounded == "" {
			r.Unbounded = "the price list has no price for the tool " + name + " of this model"
		}
		r.InputCost = plus(r.InputCost, nano(n, price))
	}
	return r
}

// rates are the highest rates that the request can cause.
func (b *bound) rates() (price.Rates, bool) {
	return b.prices.Dearest(price.Query{
		Provider: b.provider, Model: b.model, At: b.at, Prompt: max(1, b.input()),
		Tiers: b.tiers, Regions: b.regions,
	})
}

// inputRate is the most that a token of the prompt can cost.
func (b *bound) inputRate(r price.Rates) int64 {
	rate := max(r.Input, r.CacheRead)
	if b.audio {
		rate = max(rate, r.Audio)
	}
	switch {
	case b.long:
		rate = max(rate, r.CacheWrite, r.CacheWriteLong)
	case b.writes:
		rate = max(rate, r.CacheWrite)
	}
	return rate
}

// nano is the cost of n tokens in nano-dollars, rounded up; more than an int64 holds is its
// maximum.
func nano(n, pico int64) int64 {
	high, low := bits.Mul64(uint64(max(0, n)), uint64(max(0, pico)))
	low, carry := bits.Add64(low, 999, 0)
	high += carry
	if high >= 1000 {
		return math.MaxInt64
	}
	quotient, _ := bits.Div64(high, low, 1000)
	return int64(min(quotient, math.MaxInt64))
}

func plus(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// times multiplies two counts of up to maxCount.
func times(a, b int64) int64 {
	high, low := bits.Mul64(uint64(a), uint64(b)) //nolint:gosec // neither is negative
	if high > 0 || low > maxCount {
		return maxCount
	}
	return int64(low)
}

// limitEdits put the limit of the output into the body, which is what was granted but for the thinking
// beside it. A request that has this limit already is not changed.
func (b *bound) limitEdits(body []byte, granted int64) []edit {
	var edits []edit
	n := granted - b.thinking
	for _, l := range b.limits {
		text := l.before + itoa(n) + l.after
		if string(body[l.start:l.end]) != text {
			edits = append(edits, edit{l.start, l.end, text})
		}
	}
	return edits
}

// merge returns edits in the order of their places.
func merge(a, b []edit) []edit {
	all := slices.Concat(a, b)
	slices.SortStableFunc(all, func(x, y edit) int { return cmp.Compare(x.start, y.start) })
	return all
}
