package store_test

import (
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/store"
)

// BenchmarkCreateRun profiles the group commit alone: many callers create a run each, on SQLite. It
// also reports CPU time, which other work on the machine changes less.
func BenchmarkCreateRun(b *testing.B) {
	s, err := store.Open(b.Context(), store.Options{URL: "sqlite://" + filepath.Join(b.TempDir(), "penstock.db")})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	b.SetParallelism(32)
	before := processorTime(b)
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			run := newRun(func(r *store.NewRun) {
				r.Metadata = map[string]string{
					"repository": "github.com/acme/shop", "branch": "main", "ci.job": "4711", "ci.url": "https://ci.example.com/4711",
				}
			})
			if _, err := s.Runs.Create(b.Context(), run); err != nil {
				b.Error(err)
			}
		}
	})
	b.ReportMetric(float64(processorTime(b)-before)/float64(b.N), "cpu-ns/op")
}

// BenchmarkDeliver profiles the group commit of deliveries to a thousand webhooks that start no
// run, on SQLite, while their counts are added up as in a server.
func BenchmarkDeliver(b *testing.B) {
	s, err := store.Open(b.Context(), store.Options{URL: "sqlite://" + filepath.Join(b.TempDir(), "penstock.db")})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	uids := make([]string, 1000)
	err = s.Write(b.Context(), func(tx *store.Tx) error {
		for i := range uids {
			uids[i] = penstock.NewUID()
			w := store.WebhookRow{Team: store.DefaultTeam, Webhook: penstock.Webhook{UID: uids[i], Name: uids[i]}}
			if err := tx.Webhooks().Add(b.Context(), w); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
	var next atomic.Int64
	b.SetParallelism(32)
	before := processorTime(b)
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			d := newDelivery(func(d *store.NewDelivery) {
				i := next.Add(1) * 7919 % int64(len(uids))
				d.WebhookUID, d.WebhookNumber = uids[i], i+1
			})
			if _, err := s.Deliveries.Deliver(b.Context(), d); err != nil {
				b.Error(err)
			}
		}
	})
	b.ReportMetric(float64(processorTime(b)-before)/float64(b.N), "cpu-ns/op")
}

func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
