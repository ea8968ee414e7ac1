package run

import (
	"context"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/access"
	"github.com/penstock-dev/penstock/internal/control/store"
)

// StatsHours is how many hours [Stats] cover by default, including the current one.
const StatsHours = 24

// Stats holds the recent figures of a team by the hour, for charts.
type Stats struct {
	Since penstock.Time `json:"since"` // when the first hour began
	Until penstock.Time `json:"until"` // now
	Hours []HourStats   `json:"hours"` // the earliest first
	// Factories are the factories with the highest costs in this time. An entry without a UID
	// stands for runs without a factory.
	Factories []store.FactoryStats `json:"factories"`
	Capacity  Capacity             `json:"capacity"`
}

// HourStats holds the figures of one hour.
type HourStats struct {
	Start penstock.Time            `json:"start"`
	Runs  map[penstock.State]int64 `json:"runs"` // the runs created in it, by their current state
	Wait  QueueWait                `json:"queue_wait"`
	// Deliveries is nil for callers who may not see factories.
	Deliveries *penstock.DeliveryCounts `json:"deliveries,omitempty"`
}

// QueueWait is how long the runs of an hour waited until a worker claimed them. Runs that still
// wait do not count.
type QueueWait struct {
	Runs        int64   `json:"runs"`
	MeanSeconds float64 `json:"mean_seconds"`
	MaxSeconds  float64 `json:"max_seconds"`
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

// statsFactories is the largest number of factories in Stats.
const statsFactories = 20

// Stats sums up the last hours of the caller's team: the runs that the caller can see and, with
// the right to read factories, deliveries.
func (s *Runs) Stats(ctx context.Context, p penstock.Principal, hours int) (Stats, error) {
	if err := access.Require(p, penstock.ScopeRunsRead); err != nil {
		return Stats{}, err
	}
	now := penstock.Now()
	hour := penstock.Time(time.Hour.Milliseconds())
	from := now - now%hour - penstock.Time(hours-1)*hour
	stats := Stats{Since: from, Until: now, Hours: make([]HourStats, hours)}
	for i := range stats.Hours {
		stats.Hours[i] = HourStats{Start: from + penstock.Time(i)*hour, Runs: map[penstock.State]int64{}}
	}
	runs, err := s.store.Runs.Sum(ctx, ViewerOf(p), from)
	if err != nil {
		return Stats{}, err
	}
	addRunSums(stats.Hours, runs)
	if p.May(penstock.ScopeFactoriesRead) {
		deliveries, err := s.store.Deliveries.Sum(ctx, p.Team, from)
		if err != nil {
			return Stats{}, err
		}
		addDeliverySums(stats.Hours, deliveries)
	}
	if stats.Factories, err = s.store.Runs.SumCosts(ctx, ViewerOf(p), from, statsFactories); err != nil {
		return Stats{}, err
	}
	stats.Capacity, err = s.capacity(ctx, p.Team)
	return stats, err
}

// addRunSums adds up the runs of each hour. It ignores runs that were created after the last
// hour.
func addRunSums(hours []HourStats, sums []store.RunSum) {
	waits := make([]int64, len(hours))
	for _, sum := range sums {
		if sum.Hour >= len(hours) {
			continue
		}
		hour := &hours[sum.Hour]
		hour.Runs[sum.State] = sum.Runs
		hour.Wait.Runs += sum.Started
		hour.Wait.MaxSeconds = max(hour.Wait.MaxSeconds, float64(sum.MaxMS)/1000)
		waits[sum.Hour] += sum.WaitMS
	}
	for i := range hours {
		if n := hours[i].Wait.Runs; n > 0 {
			hours[i].Wait.MeanSeconds = float64(waits[i]) / 1000 / float64(n)
		}
	}
}

func addDeliverySums(hours []HourStats, sums []store.DeliverySum) {
	for i := range hours {
		hours[i].Deliveries = &penstock.DeliveryCounts{}
	}
	for _, sum := range sums {
		if sum.Hour < len(hours) {
			store.SetCount(hours[sum.Hour].Deliveries, sum.Kind, sum.N)
		}
	}
}

func (s *Runs) capacity(ctx context.Context, team string) (Capacity, error) {
	var c Capacity
	workers, err := s.store.Queue.Workers(ctx)
	if err != nil {
		return c, err
	}
	for _, w := range workers {
		c.Slots += w.Capacity
		c.Busy += w.Busy
		if w.Local {
			c.ServerSlots += w.Capacity
			c.ServerBusy += w.Busy
		}
	}
	c.Queued, err = s.store.Queue.Length(ctx, team)
	return c, err
}
