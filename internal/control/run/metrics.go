package run

import (
	"context"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/store"
)

// metrics are the metrics of runs and workers. The zero value records nothing.
type metrics struct {
	claimTime, queueWait prometheus.Observer
	executions           *prometheus.CounterVec
	reserved, settled    prometheus.Counter
	overruns             prometheus.Counter
	refused              *prometheus.CounterVec
}

func newMetrics(s *Executions, to prometheus.Registerer) metrics {
	if to == nil {
		return metrics{}
	}
	claimTime := prometheus.NewHistogram(prometheus.HistogramOpts{
		Name: "penstock_claim_seconds", Help: "Time that giving a run to a worker took.",
		Buckets: prometheus.ExponentialBuckets(0.0005, 2, 12),
	})
	queueWait := prometheus.NewHistogram(prometheus.HistogramOpts{
		Name: "penstock_queue_wait_seconds", Help: "Time that runs waited for a worker.",
		Buckets: prometheus.ExponentialBuckets(0.005, 4, 10),
	})
	executions := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "penstock_executions_total", Help: "Executions that workers ended, by the state that they left the run in.",
	}, []string{"state"})
	m := metrics{
		claimTime: claimTime, queueWait: queueWait, executions: executions,
		reserved: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "penstock_calls_reserved_total", Help: "Calls to models that were counted before they were sent.",
		}),
		settled: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "penstock_calls_cost_usd_total", Help: "Cost of settled calls to models.",
		}),
		overruns: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "penstock_calls_over_bound_total", Help: "Settled calls that used more than was reserved.",
		}),
		refused: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "penstock_calls_refused_total", Help: "Calls to models that a budget refused, by the code of the error.",
		}, []string{"code"}),
	}
	to.MustRegister(claimTime, queueWait, executions, m.reserved, m.settled, m.overruns, m.refused, &runCounts{s: s})
	return m
}

func (m metrics) claimed(took, waited time.Duration) {
	if m.claimTime != nil {
		m.claimTime.Observe(took.Seconds())
		m.queueWait.Observe(waited.Seconds())
	}
}

func (m metrics) finished(state penstock.State) {
	if m.executions != nil {
		m.executions.WithLabelValues(string(state)).Inc()
	}
}

func (m metrics) reservedCall(r penstock.Reserved) {
	switch {
	case m.refused == nil || r.Wait:
	case r.Refusal != nil:
		m.refused.WithLabelValues(string(r.Refusal.Code)).Inc()
	default:
		m.reserved.Inc()
	}
}

func (m metrics) settledCall(reserved, c store.Call) {
	if m.settled == nil {
		return
	}
	m.settled.Add(penstock.USDOf(c.Cost))
	if c.Exceeds(reserved) {
		m.overruns.Inc()
	}
}

// countEvery limits how often the runs are counted, because each count reads an index of all
// runs.
const countEvery = 30 * time.Second

// runCounts collects how many runs are in each state.
type runCounts struct {
	s      *Executions
	mu     sync.Mutex
	at     time.Time
	counts map[penstock.State]int64
}

var runsDesc = prometheus.NewDesc(
	"penstock_runs", "Runs by state, counted at most every 30 seconds.", []string{"state"}, nil,
)

// Describe implements prometheus.Collector.
func (r *runCounts) Describe(ch chan<- *prometheus.Desc) { ch <- runsDesc }

// Collect implements prometheus.Collector. While the database is unavailable it reports
// nothing, rather than old values.
func (r *runCounts) Collect(ch chan<- prometheus.Metric) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if time.Since(r.at) > countEvery {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		counts, err := r.s.store.Runs.Count(ctx)
		if err != nil {
			return
		}
		r.counts, r.at = counts, time.Now()
	}
	for _, state := range penstock.States() {
		ch <- prometheus.MustNewConstMetric(runsDesc, prometheus.GaugeValue, float64(r.counts[state]), string(state))
	}
}
