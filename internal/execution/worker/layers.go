package worker

import (
	"context"
	"fmt"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/supply/layer"
)

// When the layers are reported: at the start, after changes, and from time to time, because a report may
// get lost, and other processes may use the same folder.
const (
	resendEvery = 10 * time.Minute
	reportRest  = 2 * time.Second // between two reports
	reportRetry = time.Minute     // after an error
)

// layersChanged makes the worker report its layers soon.
func (w *Worker) layersChanged() {
	select {
	case w.layers <- struct{}{}:
	default:
	}
}

// reportLayers reports the layers of this worker until ctx ends.
func (w *Worker) reportLayers(ctx context.Context) {
	if w.Layers == nil {
		return
	}
	for failed := false; ctx.Err() == nil; {
		next, changed := resendEvery, w.layers
		err := w.reportLayersOnce(ctx)
		if err != nil && ctx.Err() == nil {
			next, changed = reportRetry, nil
			if !failed {
				w.Log.WarnContext(ctx, "cannot report the prepared workspaces; trying again", "error", err)
			}
		}
		failed = err != nil
		select {
		case <-ctx.Done():
		case <-time.After(reportRest):
		}
		select {
		case <-ctx.Done():
		case <-changed:
		case <-time.After(next):
		}
	}
}

// reportLayersOnce reports all layers, and removes those that no run may use.
func (w *Worker) reportLayersOnce(ctx context.Context) error {
	folder, err := w.Layers.ID()
	if err != nil {
		return err
	}
	entries, err := w.Layers.Entries()
	if err != nil {
		return err
	}
	report := penstock.LayerReport{Folder: folder, Host: w.Host}
	for _, e := range entries {
		if e.Environment != "" && len(report.Layers) < penstock.MaxReportedLayers {
			report.Layers = append(report.Layers, reported(e))
		}
	}
	retired, err := w.Control.ReportLayers(ctx, report)
	if err != nil {
		return fmt.Errorf("report the layers in the folder %s: %w", folder, err)
	}
	if w.Layers.Forget(retired) {
		w.layersChanged()
	}
	return nil
}

// reported returns a layer for a report.
func reported(e layer.Entry) penstock.ReportedLayer {
	l := penstock.ReportedLayer{
		EnvironmentUID: e.Environment, Parents: e.Parents, PreparedWorkspace: penstock.PreparedWorkspace{
			UID: e.UID, State: e.State, Reason: e.Reason, Mode: penstock.PrebuildLazy, ImageDigest: e.ImageDigest,
			Bytes: e.Bytes, Files: int64(e.Files), DurationMS: e.Duration, BuiltAt: e.BuiltAt, Uses: e.Uses,
			Heads: []penstock.PreparedHead{},
		},
	}
	if !e.UsedAt.IsZero() {
		l.LastUsedAt = penstock.TimeOf(e.UsedAt)
	}
	for _, h := range e.Heads {
		l.Heads = append(l.Heads, penstock.PreparedHead{URL: h.URL, Commit: h.Commit})
	}
	return l
}
