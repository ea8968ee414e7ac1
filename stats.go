package penstock

// StatsHours is how many hours [Stats] look back, the present one included.
const StatsHours = 24

// Stats sum up what happened in a team lately, by the hour: what charts are
// drawn of.
type Stats struct {
	Since Time        `json:"since"` // when the first hour began
	Until Time        `json:"until"` // now
	Hours []HourStats `json:"hours"` // StatsHours of them, the earliest first
	// Factories are those whose runs of this time cost the most; one without a
	// uid stands for the runs of no factory.
	Factories []FactoryStats `json:"factories"`
	Capacity  Capacity       `json:"capacity"`
}

// HourStats sum up an hour.
type HourStats struct {
	Start Time            `json:"start"`
	Runs  map[State]int64 `json:"runs"` // those created in it, by the state that they have now
	Wait  QueueWait       `json:"queue_wait"`
	// Deliveries are nil for who may not see factories.
	Deliveries *DeliveryCounts `json:"deliveries,omitempty"`
}

// QueueWait is how long the runs that were created in an hour waited until a
// worker took them. Those that wait still do not count.
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

// Capacity is what the connected workers can execute at once, and do. Server is
// the part of the worker inside the server, of every replica that has one.
type Capacity struct {
	Slots       int   `json:"slots"`
	Busy        int   `json:"busy"`
	ServerSlots int   `json:"server_slots"`
	ServerBusy  int   `json:"server_busy"`
	Queued      int64 `json:"queued"`
}
