package penstock

import (
	"cmp"
	"time"
)

// UsageGroup is what usage is grouped by.
type UsageGroup string

// The groups.
const (
	UsageByDay        UsageGroup = "day"
	UsageByModel      UsageGroup = "model"
	UsageByProvider   UsageGroup = "provider"
	UsageByAutomation UsageGroup = "automation"
	UsageByAgent      UsageGroup = "agent"
	UsageByFactory    UsageGroup = "factory"
	UsageByKey        UsageGroup = "key"
)

// The limits of a [UsageQuery].
const (
	MaxUsageDays = 400

	maxHourlyDays = 31 // of a query with Hourly
)

// UsageQuery asks for the usage of a team.
type UsageQuery struct {
	From, To Time       // 0: 30 days before To; now
	GroupBy  UsageGroup // "": UsageByDay
	TimeZone string     // IANA, of the days; "": UTC
	Hourly   bool       // also the costs of each hour
}

// Resolve sets the defaults of q, and returns an error for a bad range or time zone.
func (q *UsageQuery) Resolve(now Time) (*time.Location, error) {
	const day = 24 * time.Hour
	if q.To == 0 {
		q.To = max(now, q.From) + 1
	}
	if q.From == 0 {
		q.From = max(1, q.To.Add(-30*day))
	}
	q.GroupBy = cmp.Or(q.GroupBy, UsageByDay)
	q.TimeZone = cmp.Or(q.TimeZone, "UTC")
	switch {
	case q.From >= q.To:
		return nil, Errorf(CodeInvalidRequest, "query parameter from: must be earlier than query parameter to")
	case q.To.Sub(q.From) > MaxUsageDays*day:
		return nil, Errorf(CodeInvalidRequest,
			"query parameter from: must be at most %d days before query parameter to", MaxUsageDays)
	}
	if q.Hourly && q.GroupBy == UsageByDay {
		return nil, Errorf(CodeInvalidRequest, "query parameter interval: is not allowed with group_by day")
	}
	if days := q.To.Sub(q.From); q.Hourly && days > maxHourlyDays*day {
		return nil, Errorf(CodeInvalidRequest,
			"query parameter from: must be at most %d days before query parameter to if interval is hour", maxHourlyDays)
	}
	zone, err := ParseZone(q.TimeZone)
	if err != nil {
		return nil, Errorf(CodeInvalidRequest, "query parameter time_zone: must be an IANA time zone, such as Europe/Berlin")
	}
	return zone, nil
}

// UsageRow is the usage of one group.
type UsageRow struct {
	Key  string `json:"key"`            // a day, a model, or a UID; "" for calls without one
	Name string `json:"name,omitempty"` // of the UID
	// FactoryName is the name of its factory; empty unless it is an agent or automation of one.
	FactoryName string `json:"factory_name,omitempty"`
	UsageSum
}

// UsageSum sums up calls to models.
type UsageSum struct {
	Calls int64 `json:"calls"` // that are settled
	TokenUsage
	Reasoning int64 `json:"reasoning_tokens"` // part of Output
	// CostUSD is nil if the cost of a call is not known. PricedCostUSD is the cost of the other calls.
	CostUSD        *float64 `json:"cost_usd"`
	PricedCostUSD  float64  `json:"priced_cost_usd"`
	UnpricedCalls  int64    `json:"unpriced_calls"`
	EstimatedCalls int64    `json:"estimated_calls"` // whose stream was cut
	UnknownCalls   int64    `json:"unknown_calls"`   // that count as reserved, because the usage never came
	UnsettledCalls int64    `json:"unsettled_calls"` // not part of Calls and of the sums above
	ReservedUSD    float64  `json:"reserved_usd"`    // for these
}
