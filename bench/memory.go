package main

import (
	"context"
	"time"
)

// settled is the time after which a started server counts as idle.
const settled = 5 * time.Second

// memory measures the memory of an idle server, including its worker.
func (b *bench) memory(ctx context.Context) error {
	url, drop, err := b.freshSQLite(ctx)
	if err != nil {
		return err
	}
	defer drop()
	p, err := b.serve(ctx, url)
	if err != nil {
		return err
	}
	defer p.stop()
	if err := sleep(ctx, settled); err != nil {
		return err
	}
	resident, err := p.resident()
	if err != nil {
		return err
	}
	b.out.row(row{what: "sqlite  idle", penstock: megabytes(resident), aim: below(float64(resident), 80e6, "< 80 MB")})
	return nil
}
