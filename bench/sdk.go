package main

import (
	"context"
	"time"

	"github.com/penstock-dev/penstock"
)

const (
	sdkEvents = 10_000
	sdkBatch  = 100 // events in one append
)

// longRun starts a server without a worker, and creates a run there with sdkEvents events in its
// log. The caller stops it.
func (b *bench) longRun(ctx context.Context) (p *process, runID string, stop func(), err error) {
	url, drop, err := b.freshSQLite(ctx)
	if err != nil {
		return nil, "", nil, err
	}
	p, err = b.serve(ctx, url, "--worker=false")
	if err != nil {
		drop()
		return nil, "", nil, err
	}
	stop = func() { p.stop(); drop() }
	source, err := newRunSource(ctx, p)
	for n := 0; n < sdkEvents && err == nil; n += sdkBatch {
		drafts := make([]penstock.Draft, sdkBatch)
		for i := range drafts {
			drafts[i] = penstock.NewDraft(penstock.EventMessageDelta, penstock.Now(), delta(n+i))
		}
		err = source.worker.Append(ctx, source.lease, drafts)
	}
	if err != nil {
		stop()
		return nil, "", nil, err
	}
	return p, source.lease.RunID, stop, nil
}

func seconds(s float64) string { return millis(time.Duration(s * float64(time.Second))) }
