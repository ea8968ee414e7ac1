// Package price says what a call to a model costs. A price depends on the model, the day, the
// length of the prompt, the lifetime of cache writes, the tier or speed, the region and the tools
// that the provider ran.
//
// All arithmetic is in integers: prices are pico-dollars per token, costs are nano-dollars, rounded
// up once per call. The built-in prices are generated from public price lists (prices.yaml). A
// model without a price has no known cost; it is never free.
package price

import (
	"math"
	"math/big"
	"time"

	"github.com/penstock-dev/penstock"
)

// Call is a call to a model, with everything that its cost depends on.
type Call struct {
	// Provider is the provider's name, such as anthropic, openai or google; gemini is google. Where it
	// is empty, Model begins with it.
	Provider string
	Model    string // as the provider names it
	At       time.Time
	Usage    Usage
	// Prompt is the number of tokens of the prompt, which chooses the price band. 0 is the sum of the
	// input, cache reads and cache writes of Usage.
	Prompt int64
	// Tier and Speed are what the provider says it used, such as batch, flex, priority or fast. Empty,
	// default and standard are the standard tier. At most one of them may differ from that.
	Tier, Speed string
	Region      string // where the provider computes, such as us; empty and global cost nothing more
}

// Usage counts what a call used. Input, CacheRead, CacheWrite and CacheWriteLong are disjoint.
type Usage struct {
	Input          int64 // not from the cache, and not written to it
	CacheRead      int64
	CacheWrite     int64 // for the shorter lifetime: five minutes for Anthropic
	CacheWriteLong int64 // for the longer lifetime: an hour for Anthropic, a day for OpenAI
	Output         int64
	Reasoning      int64            // the part of Output that is reasoning; it costs what output costs
	Audio          int64            // the part of Input that is audio
	AudioCacheRead int64            // the part of CacheRead that is audio
	Tools          map[string]int64 // uses of tools that the provider ran, such as web_search
}

// Cost returns what a call costs in nano-dollars, rounded up; more than an int64 holds is
// [math.MaxInt64]. It is false if the model, tier, region, audio or a tool has no known price, or if a
// count is negative.
func (t *Table) Cost(c Call) (nano int64, ok bool) {
	parts, ok := t.Parts(c)
	return parts.Total(), ok
}

// Parts splits Cost by its purpose. The parts add up to it exactly: each is within a nano-dollar of
// its share.
func (t *Table) Parts(c Call) (penstock.CallCost, bool) {
	m, ok := t.find(c.Provider, c.Model)
	if !ok || !c.Usage.valid() {
		return penstock.CallCost{}, false
	}
	if m.free {
		return penstock.CallCost{}, true
	}
	u := c.Usage
	rate, ok := m.rate(c)
	uplift, known := m.uplift(c.Region)
	silent := u.Audio > 0 && rate[audio] == unpriced || u.AudioCacheRead > 0 && rate[audioCacheRead] == unpriced
	if !ok || !known || silent {
		return penstock.CallCost{}, false
	}
	tools := new(big.Int)
	for name, n := range u.Tools {
		pico, known := m.tools[name]
		if !known && n > 0 {
			return penstock.CallCost{}, false
		}
		tools.Add(tools, product(n, pico, wholeUplift))
	}
	return roundUp(
		sum(uplift, u.Input-u.Audio, rate[input], u.Audio, rate[audio]),
		sum(uplift, u.CacheRead-u.AudioCacheRead, rate[cacheRead], u.AudioCacheRead, rate[audioCacheRead]),
		sum(uplift, u.CacheWrite, rate[cacheWrite], u.CacheWriteLong, rate[cacheWriteLong]),
		sum(uplift, u.Output, rate[output], 0, 0),
		tools,
	), true
}

// Turn returns what a turn of an agent costs at a time. Agents report the sum of several calls,
// which says neither how long each prompt was nor which tier it used: each call is taken to have the
// standard tier and a prompt below the first band.
func (t *Table) Turn(modelID string, u penstock.TokenUsage, at time.Time) (penstock.CallCost, bool) {
	return t.Parts(Call{
		Model: modelID, At: at, Prompt: 1,
		Usage: Usage{Input: u.Input, Output: u.Output, CacheRead: u.CacheRead, CacheWrite: u.CacheWrite},
	})
}

func (u Usage) valid() bool {
	least := min(
		u.Input, u.CacheRead, u.CacheWrite, u.CacheWriteLong, u.Output, u.Audio, u.AudioCacheRead,
		u.Input-u.Audio, u.CacheRead-u.AudioCacheRead,
	)
	for _, n := range u.Tools {
		least = min(least, n)
	}
	return least >= 0
}

// prompt is the length of the prompt that usage of one call shows.
func (u Usage) prompt() int64 {
	var total int64
	for _, n := range []int64{u.Input, u.CacheRead, u.CacheWrite, u.CacheWriteLong} {
		if n > math.MaxInt64-total {
			return math.MaxInt64
		}
		total += n
	}
	return total
}

// wholeUplift is an uplift of 1: uplifts are in millionths.
const wholeUplift = 1_000_000

// picoPerNano converts what product returns to nano-dollars.
var picoPerNano = big.NewInt(1000 * wholeUplift)

// product is n × pico × uplift.
func product(n, pico, uplift int64) *big.Int {
	p := new(big.Int).Mul(big.NewInt(n), big.NewInt(pico))
	return p.Mul(p, big.NewInt(uplift))
}

func sum(uplift, n1, pico1, n2, pico2 int64) *big.Int {
	first := product(n1, pico1, uplift)
	return first.Add(first, product(n2, pico2, uplift))
}

// roundUp converts exact amounts to nano-dollars. It rounds the running total, so that the parts add
// up to the total, which is rounded once.
func roundUp(exact ...*big.Int) penstock.CallCost {
	var parts [5]int64
	running, before := new(big.Int), int64(0)
	for i, amount := range exact {
		running.Add(running, amount)
		nano, rest := new(big.Int).QuoRem(running, picoPerNano, new(big.Int))
		if rest.Sign() > 0 {
			nano.Add(nano, big.NewInt(1))
		}
		after := int64(math.MaxInt64)
		if nano.IsInt64() {
			after = nano.Int64()
		}
		parts[i], before = after-before, after
	}
	return penstock.CallCost{Input: parts[0], CacheRead: parts[1], CacheWrite: parts[2], Output: parts[3], Tools: parts[4]}
}
