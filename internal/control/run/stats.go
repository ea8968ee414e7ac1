package run

import (
	"context"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/access"
	"github.com/penstock-dev/penstock/internal/control/store"
)

// statsFactories is the largest number of factories in Stats.
const statsFactories = 20

// Stats sums up the last hours of the caller's team: the runs that the caller can see and, with
// the right to read factories, deliveries.
func (s *Runs) Stats(ctx context.Context, p penstock.Principal, hours int) (penstock.Stats, error) {
	if err := access.Require(p, penstock.ScopeRunsRead); err != nil {
		return penstock.Stats{}, err
	}
	now := penstock.Now()
	hour := penstock.Time(time.Hour.Milliseconds())
	from := now - now%hour - penstock.Time(hours-1)*hour
	stats := penstock.Stats{Since: from, Until: now, Hours: make([]penstock.HourStats, hours)}
	for i := range stats.Hours {
		stats.Hours[i] = penstock.HourStats{Start: from + penstock.Time(i)*hour, Runs: map[penstock.State]int64{}}
	}
	runs, err := s.store.Runs.Sum(ctx, ViewerOf(p), from)
	if err != nil {
		return penstock.Stats{}, err
	}
	addRunSums(stats.Hours, runs)
	if p.May(penstock.ScopeFactoriesRead) {
		deliveries, err := s.store.Deliveries.Sum(ctx, p.Team, from)
		if err != nil {
			return penstock.Stats{}, err
		}
		addDeliverySums(stats.Hours, deliveries)
	}
	if stats.Factories, err = s.store.Runs.SumCosts(ctx, ViewerOf(p), from, statsFactories); err != nil {
		return penstock.Stats{}, err
	}
	stats.Capacity, err = s.capacity(ctx, p.Team)
	return stats, err
}

// addRunSums adds up the runs of each hour. It ignores runs that were created after the last
// hour.
func addRunSums(hours []penstock.HourStats, sums []store.RunSum) {
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

func addDeliverySums(hours []penstock.HourStats, sums []store.DeliverySum) {
	for i := range hours {
		hours[i].Deliveries = &penstock.DeliveryCounts{}
	}
	for _, sum := range sums {
		if sum.Hour >= len(hours) {
			continue
		}
		switch into := hours[sum.Hour].Deliveries; sum.Kind {
		case store.CountAccepted:
			into.Accepted = sum.N
		case store.CountDuplicate:
			into.Duplicate = sum.N
		case store.CountRejected:
			into.Rejected = sum.N
		case store.CountRateLimited:
			into.RateLimited = sum.N
		}
	}
}

func (s *Runs) capacity(ctx context.Context, team string) (penstock.Capacity, error) {
	var c penstock.Capacity
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
