package penstock

// Reservation asks to count a call to a model before it is sent. Its amounts are upper bounds:
// no response of the provider can cost more.
type Reservation struct {
	ID       string `json:"id"` // chosen by the worker once, so that a repeated request reserves nothing twice
	Provider string `json:"provider"`
	Model    string `json:"model"`
	// Unbounded says why there is no bound, such as a field of the request that is not known; ""
	// if there is one. Such a call is only sent if no cap applies.
	Unbounded string `json:"unbounded,omitempty"`
	// Unpriced means that the model or a part of the prompt has no price, so that the costs below are unknown. Such a call
	// is only sent if no cap on costs applies.
	Unpriced bool `json:"unpriced,omitzero"`
	// UnpricedPart is what has no price, such as audio. Empty means the model.
	UnpricedPart string `json:"unpriced_part,omitzero"`
	// InputTokens is the most tokens that the provider can count besides output.
	InputTokens int64 `json:"input_tokens"`
	// InputCost is the most that everything but output can cost, in nano-dollars.
	InputCost int64 `json:"input_cost"`
	// OutputPrice is the most that a token of output can cost, in pico-dollars.
	OutputPrice int64 `json:"output_price"`
	// Output is the limit of one completion's output, in tokens. The reservation may lower it, but
	// not below LeastOutput. If both are equal it is not lowered.
	Output      int64 `json:"output"`
	LeastOutput int64 `json:"least_output"`
	// Completions is how many completions the request asks for, each with its own output; at least 1.
	Completions int64 `json:"completions"`
}

// Reserved is the response to a [Reservation].
type Reserved struct {
	// Capped means that a cap applies to the call: its output must be limited to Output.
	Capped bool `json:"capped,omitzero"`
	// Output is the limit of one completion's output, in tokens.
	Output int64 `json:"output,omitzero"`
	// Wait means that the call must wait for other calls of the same execution that are in flight.
	// Nothing was reserved. The worker asks again once one of them has settled.
	Wait bool `json:"wait,omitzero"`
	// Refusal says why the call must not be sent; nil if it may be.
	Refusal *SpendRefusal `json:"refusal,omitempty"`
}

// SpendRefusal is why a call was not sent.
type SpendRefusal struct {
	Code   Code   `json:"code"` // CodeBudgetExceeded or CodeUnpricedModel
	Detail string `json:"detail"`
	// Pause means that the run is BLOCKED until the budget has room. Otherwise it is FAILED.
	Pause bool `json:"pause,omitzero"`
	// Budget is the budget that has no room; nil if another reason refuses the call.
	Budget *BudgetShortage `json:"budget,omitempty"`
}

// BudgetShortage says what a budget lacks. Exactly one of the pairs of costs and tokens is set.
type BudgetShortage struct {
	BudgetUID string `json:"budget_uid"` // of a budget, or the id of the run for its own
	// BudgetName is what people call it, such as "monthly budget of the team". Empty for a run's
	// own.
	BudgetName string `json:"budget_name,omitempty"`

	SpentUSD  float64 `json:"spent_usd,omitzero"` // with what is reserved for calls in flight
	CapUSD    float64 `json:"cap_usd,omitzero"`
	NeededUSD float64 `json:"needed_usd,omitzero"` // for the next call

	SpentTokens  int64 `json:"spent_tokens,omitzero"`
	CapTokens    int64 `json:"cap_tokens,omitzero"`
	NeededTokens int64 `json:"needed_tokens,omitzero"`
}

// Settlement replaces a reservation with what the call has used.
type Settlement struct {
	ID string `json:"id"` // of the reservation
	// Unsent means that no byte of the call reached the provider: it cost nothing.
	Unsent bool `json:"unsent,omitzero"`
	// Unknown means that the provider reported nothing: the reservation counts as spent.
	Unknown bool `json:"unknown,omitzero"`
	// Estimated means that the stream was interrupted: the amounts are the known usage plus an upper
	// bound for the rest.
	Estimated bool `json:"estimated,omitzero"`

	Tokens    TokenUsage `json:"tokens"`
	Reasoning int64      `json:"reasoning,omitzero"` // the part of Tokens.Output that is reasoning
	// Cost is in nano-dollars, rounded up; nil if the model has no price.
	Cost *CallCost `json:"cost,omitempty"`
}

// CallCost is the cost of a call by what it was for, in nano-dollars.
type CallCost struct {
	Input      int64 `json:"input"`
	CacheRead  int64 `json:"cache_read"`
	CacheWrite int64 `json:"cache_write"`
	Output     int64 `json:"output"`
	Tools      int64 `json:"tools"`
}

// Total is the cost of the call.
func (c CallCost) Total() int64 { return c.Input + c.CacheRead + c.CacheWrite + c.Output + c.Tools }

// Add returns the cost of both.
func (c CallCost) Add(other CallCost) CallCost {
	return CallCost{
		Input: c.Input + other.Input, CacheRead: c.CacheRead + other.CacheRead,
		CacheWrite: c.CacheWrite + other.CacheWrite, Output: c.Output + other.Output, Tools: c.Tools + other.Tools,
	}
}

// Breakdown is the cost of the tokens in US dollars.
func (c CallCost) Breakdown() CostBreakdown {
	return CostBreakdown{
		Input: USDOf(c.Input), CacheRead: USDOf(c.CacheRead), CacheWrite: USDOf(c.CacheWrite), Output: USDOf(c.Output),
	}
}
