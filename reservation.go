package penstock

import (
	"fmt"
	"math"
	"math/bits"
)

// The largest amounts of one call. They keep all sums finite.
const (
	maxCallCost    = 1_000_000_000_000_000 // a million dollars, in nano-dollars
	maxCallTokens  = 1_000_000_000_000
	maxTokenPrice  = 1_000_000_000_000 // a dollar, in pico-dollars
	maxCompletions = 1_000_000
	picosPerNano   = 1000
)

// maxCallID is the longest id of a call, in bytes.
const maxCallID = 64

// Check returns an error if the ledger cannot store the reservation.
func (r Reservation) Check() error {
	bad := func(pointer string) error { return Invalid(pointer, "is missing or out of range") }
	switch {
	case r.ID == "" || len(r.ID) > maxCallID:
		return bad("/id")
	case len(r.Provider) > maxModelID:
		return bad("/provider")
	case len(r.Model) > maxModelID:
		return bad("/model")
	case !within(r.InputTokens, maxCallTokens):
		return bad("/input_tokens")
	case !within(r.InputCost, maxCallCost):
		return bad("/input_cost")
	case !within(r.OutputPrice, maxTokenPrice):
		return bad("/output_price")
	case r.Completions < 1 || r.Completions > maxCompletions:
		return bad("/completions")
	case !within(r.Output, maxCallTokens/r.Completions):
		return bad("/output")
	case !within(r.LeastOutput, r.Output):
		return bad("/least_output")
	case r.Cost(r.Output) > maxCallCost:
		return bad("/output_price")
	}
	return nil
}

func within(n, most int64) bool { return n >= 0 && n <= most }

// Cost is the most that the call can cost with this limit of one completion's output, in nano-dollars. It is 0
// if the model has no price.
func (r Reservation) Cost(output int64) int64 {
	if r.Unpriced {
		return 0
	}
	return r.InputCost + r.outputCost(output)
}

// outputCost rounds up.
func (r Reservation) outputCost(output int64) int64 {
	hi, lo := bits.Mul64(unsigned(output*r.Completions), unsigned(r.OutputPrice))
	lo, carry := bits.Add64(lo, picosPerNano-1, 0)
	if hi += carry; hi >= picosPerNano {
		return math.MaxInt64 / 2
	}
	nanos, _ := bits.Div64(hi, lo, picosPerNano)
	return int64(min(nanos, math.MaxInt64/2))
}

func unsigned(n int64) uint64 { return uint64(max(0, n)) }

// Tokens is the most tokens of all kinds that the call can use with this limit of one completion's output.
func (r Reservation) Tokens(output int64) int64 { return r.InputTokens + output*r.Completions }

// OutputFor returns the largest limit of one completion's output, up to r.Output, with which the call costs at
// most cost. If the call costs more even without output, the result is -1.
func (r Reservation) OutputFor(cost int64) int64 {
	if r.Cost(r.Output) <= cost {
		return r.Output
	}
	left := cost - r.InputCost
	if left < 0 {
		return -1
	}
	hi, lo := bits.Mul64(unsigned(left), picosPerNano)
	perToken := unsigned(r.OutputPrice) * unsigned(r.Completions) // not 0: the output costs something
	if hi >= perToken {
		return r.Output
	}
	tokens, _ := bits.Div64(hi, lo, perToken)
	return min(r.Output, int64(min(tokens, math.MaxInt64)))
}

// OutputWithin is OutputFor for a number of tokens of all kinds.
func (r Reservation) OutputWithin(tokens int64) int64 {
	if left := tokens - r.InputTokens; left >= 0 {
		return min(r.Output, left/r.Completions)
	}
	return -1
}

// ExplainUnpriced says what has no price, and how to set it.
func (r Reservation) ExplainUnpriced() string {
	what := fmt.Sprintf("the model %q of the provider %q has no price", r.Model, r.Provider)
	if r.UnpricedPart != "" {
		what = fmt.Sprintf("%.40s in the prompt has no price for the model %q of the provider %q", r.UnpricedPart, r.Model,
			r.Provider)
	}
	return "A budget applies to this run, and " + what + ". Set one with prices of the provider in the server's " +
		"configuration, or with --prices. The command `penstock prices` shows the known prices."
}

// Check returns an error if no call can have the settlement's id.
func (s Settlement) Check() error {
	if s.ID == "" || len(s.ID) > maxCallID {
		return Invalid("/id", "is missing or out of range")
	}
	return nil
}

// Bounded returns the settlement within the limits of the ledger, because workers are not trusted.
func (s Settlement) Bounded() Settlement {
	for _, n := range []*int64{
		&s.Tokens.Input, &s.Tokens.Output, &s.Tokens.CacheRead, &s.Tokens.CacheWrite, &s.Reasoning,
	} {
		*n = min(max(*n, 0), maxCallTokens)
	}
	if s.Cost != nil {
		c := *s.Cost
		for _, n := range []*int64{&c.Input, &c.CacheRead, &c.CacheWrite, &c.Output, &c.Tools} {
			*n = min(max(*n, 0), maxCallCost)
		}
		s.Cost = &c
	}
	return s
}

// Subject begins a sentence about the budget with what people call it. own says that it is the run's own budget.
func (b BudgetShortage) Subject(own bool) string {
	switch {
	case own:
		return "The run's budget"
	case b.BudgetName != "":
		return "The " + b.BudgetName
	}
	return "The budget of a run above this one"
}

// Explain says what the budget lacks. own says that it is the run's own budget.
func (b BudgetShortage) Explain(own bool) string {
	name, next := b.Subject(own), ""
	if b.CapTokens > 0 {
		if b.NeededTokens > 0 {
			next = fmt.Sprintf(", and the next call needs up to %d", b.NeededTokens)
		}
		return fmt.Sprintf("%s has used %d of %d tokens%s.", name, b.SpentTokens, b.CapTokens, next)
	}
	if b.NeededUSD > 0 {
		next = fmt.Sprintf(", and the next call needs up to %s USD", dollars(b.NeededUSD))
	}
	return fmt.Sprintf("%s has spent %s of %s USD%s.", name, dollars(b.SpentUSD), dollars(b.CapUSD), next)
}

// dollars shows an amount without digits that mean nothing.
func dollars(usd float64) string { return fmt.Sprintf("%.4g", usd) }
