package penstock

// The hours that [Stats] cover, including the current one.
const (
	StatsHours    = 24
	MaxStatsHours = 30*24 + 24 // 30 days of any time zone
)

// Stats holds the recent figures of a team by the hour, for charts.
type Stats struct {
	Since Time        `json:"since"` // when the first hour began
	Until Time        `json:"until"` // now
	Hours []HourStats `json:"hours"` // the earliest first
	// Factories are the factories with the highest costs in this time. An entry without a UID
	// stands for runs without a factory.
	Factories []FactoryStats `json:"factories"`
	Capacity  Capacity       `json:"capacity"`
}

// HourStats holds the figures of one hour.
type HourStats struct {
	Start Time            `json:"start"`
	Runs  map[State]int64 `json:"runs"` // the runs created in it, by their current state
	Wait  QueueWait       `json:"queue_wait"`
	// Deliveries is nil for callers who may not see factories.
	Deliveries *DeliveryCounts `json:"deliveries,omitempty"`
}

// QueueWait is how long the runs of an hour waited until a worker claimed them. Runs that still
// wait do not count.
type QueueWait struct {
	Runs        int64   `json:"runs"`
	MeanSeconds float64 `json:"mean_seconds"`
	MaxSeconds  float64 `json:"max_seconds"`
}

// FactoryStats are the runs of a factory and their known costs.
type FactoryStats struct {
	UID     string  `json:"factory_uid,omitempty"`
	Name    string  `json:"factory_name,omitempty"`
	Runs    int64   `json:"runs"`
	CostUSD float64 `json:"cost_usd"`
}

// Capacity is how many runs the connected workers can execute at once, and how many they
// execute now. Server is the share of the workers inside the server replicas.
type Capacity struct {
	Slots       int   `json:"slots"`
	Busy        int   `json:"busy"`
	ServerSlots int   `json:"server_slots"`
	ServerBusy  int   `json:"server_busy"`
	Queued      int64 `json:"queued"`
}
