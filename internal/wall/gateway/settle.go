package gateway

import (
	"maps"
	"strings"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/supply/price"
)

// settlement is what a call that was counted has used.
func (c *activeCall) settlement() penstock.Settlement {
	s := penstock.Settlement{ID: c.reservation.ID}
	u, estimated := c.known()
	switch {
	case !c.Sent:
		s.Unsent = true
		return s
	case u == nil:
		s.Unknown = true
		return s
	}
	s.Estimated = estimated
	s.Tokens, s.Reasoning = u.TokenUsage, u.Reasoning
	for _, other := range u.Others {
		s.Tokens = s.Tokens.Add(other.TokenUsage)
	}
	cost, exact := c.cost(u)
	switch {
	case c.reservation.Unpriced && !exact:
	case exact || c.reserved.Capped:
		s.Cost, s.Estimated = &cost, s.Estimated || !exact
	case estimated:
		s.Cost = &cost
	}
	return s
}

// known is the usage of a call: the provider's, or an upper bound of it. It is nil if the reservation
// is all that is known.
func (c *activeCall) known() (u *Usage, estimated bool) {
	if c.rejected() {
		return &Usage{}, false
	}
	if c.Complete && c.Usage != nil {
		return c.Usage, false
	}
	if c.reservation.Unbounded != "" || c.cut && c.ResponseBytes == 0 {
		return nil, false
	}
	b := c.checked.bound
	u = &Usage{}
	if c.Usage != nil {
		*u = *c.Usage
	}
	if c.unread() { // it is unknown what came from the cache, so all tokens count at the highest price
		*u = Usage{TokenUsage: penstock.TokenUsage{Input: b.input(), Output: u.Output}, ServerTools: maps.Clone(b.tools)}
	}
	u.Output = max(u.Output, c.mostOutput())
	return u, true
}

// unread reports whether the input is unknown: the response did not report it, or a tool of the provider
// may have read more since. Some servers report 0 until the end.
func (c *activeCall) unread() bool {
	return c.Usage == nil || c.Usage.Total() == c.Usage.Output || c.checked.bound.uses > 0
}

// mostOutput returns the most that the model can have generated for a response that is not complete. Who
// cuts a response does not know what the provider has generated and not sent, such as the arguments of
// a tool. So the whole limit counts under a cap. Without one, the count is an estimate: a token has at
// least one byte.
func (c *activeCall) mostOutput() int64 {
	limit := c.reserved.Output
	if !c.reserved.Capped {
		limit = c.reservation.Output
	}
	limit = times(limit, max(1, c.reservation.Completions))
	switch {
	case c.cut && c.reserved.Capped:
		return limit
	case c.cut:
		return min(limit, c.OutputBytes)
	}
	return min(limit, max(c.possibleOutput(), c.OutputBytes))
}

// cost is the cost of usage. It is not exact if the provider used a tier, region or tool without a
// price, if it does not confirm the tier that was asked for, or if the usage is an estimate. Then it uses
// the highest prices of the request.
func (c *activeCall) cost(u *Usage) (cost penstock.CallCost, exact bool) {
	prices, b := c.s.opts.Prices, c.checked.bound
	at := price.Call{
		Provider: b.provider, Model: b.model, At: c.Started, Usage: c.priceUsage(u),
		Tier: c.tier(u.Tier), Speed: u.Speed, Region: c.region(u.Region),
	}
	parts, ok := prices.Parts(at)
	confirmed := b.tier == "" || u.Tier+u.Speed != ""
	if !ok || !c.rejected() && !(c.Complete && c.Usage != nil && confirmed) {
		return c.dearest(u), false
	}
	exact = true
	for _, other := range u.Others {
		at.Usage, at.Model = c.otherUsage(other), b.model
		if other.Model != "" {
			at.Model = other.Model
		}
		more, ok := prices.Parts(at)
		exact = exact && ok
		parts = parts.Add(more)
	}
	return parts, exact
}

// dearest prices usage at the highest prices that the request could cause.
func (c *activeCall) dearest(u *Usage) penstock.CallCost {
	b := c.checked.bound
	rates, _ := b.rates()
	read := rates.CacheRead
	if b.audio {
		read = max(read, rates.Audio)
	}
	cost := penstock.CallCost{
		Input: nano(u.Input, b.inputRate(rates)), CacheRead: nano(u.CacheRead, read),
		CacheWrite: nano(u.CacheWrite, b.inputRate(rates)), Output: nano(u.Output, rates.Output),
	}
	for name, n := range u.ServerTools {
		cost.Tools = plus(cost.Tools, nano(n, rates.Tools[name]))
	}
	for _, other := range u.Others {
		cost.Output = plus(cost.Output, nano(other.Total(), max(rates.Output, b.inputRate(rates))))
	}
	return cost
}

// tier returns the name in the price list for the tier of a response. Prepaid capacity counts like
// the standard tier.
func (c *activeCall) tier(said string) string {
	tier := strings.TrimPrefix(strings.ToLower(said), "service_tier_")
	switch tier {
	case "on_demand", "provisioned_throughput", "scale", "auto", "unspecified", "traffic_type_unspecified":
		return ""
	case "on_demand_priority":
		return "priority"
	case "on_demand_flex", "on_demand_offpeak":
		return "flex"
	case "priority":
		if c.API == Anthropic {
			return ""
		}
	}
	return tier
}

// region is where the call was computed, as the price list names it.
func (c *activeCall) region(said string) string {
	if c.API == OpenAI {
		return openaiRegion(c.u)
	}
	if said == "not_available" {
		return ""
	}
	return said
}

// priceUsage splits cache writes by how long they live.
func (c *activeCall) priceUsage(u *Usage) price.Usage {
	short, long := c.splitWrites(u.CacheWrite, u.CacheWriteTTL)
	return price.Usage{
		Input: u.Input, CacheRead: u.CacheRead, CacheWrite: short, CacheWriteLong: long, Output: u.Output,
		Reasoning: u.Reasoning, Audio: u.Audio, AudioCacheRead: u.AudioCacheRead, Tools: u.ServerTools,
	}
}

func (c *activeCall) otherUsage(u OtherUsage) price.Usage {
	short, long := c.splitWrites(u.CacheWrite, u.CacheWriteTTL)
	return price.Usage{
		Input: u.Input, CacheRead: u.CacheRead, CacheWrite: short, CacheWriteLong: long, Output: u.Output,
	}
}

// splitWrites splits a count by its lifetimes. Tokens without a known lifetime get the longest that
// the request asked for.
func (c *activeCall) splitWrites(total int64, byTime map[string]int64) (short, long int64) {
	for time, n := range byTime {
		if time == "5m" || time == "30m" {
			short += n
		} else {
			long += n
		}
	}
	rest := max(0, total-short-long)
	if c.checked.bound.long {
		return short, long + rest
	}
	return short + rest, long
}
