package worker

import (
	"context"
	"log/slog"

	"github.com/penstock-dev/penstock/internal/supply/secret"
)

// maskedLog masks known secrets in the log of an execution, because errors contain texts of agents
// and remotes.
type maskedLog struct {
	slog.Handler
	mask *secret.Masker
}

// Handle implements slog.Handler.
func (l maskedLog) Handle(ctx context.Context, r slog.Record) error {
	masked := slog.NewRecord(r.Time, r.Level, r.Message, r.PC) // the message is a constant
	r.Attrs(func(a slog.Attr) bool {
		masked.AddAttrs(l.attr(a))
		return true
	})
	return l.Handler.Handle(ctx, masked)
}

// WithAttrs implements slog.Handler.
func (l maskedLog) WithAttrs(attrs []slog.Attr) slog.Handler {
	masked := make([]slog.Attr, len(attrs))
	for i, a := range attrs {
		masked[i] = l.attr(a)
	}
	return maskedLog{l.Handler.WithAttrs(masked), l.mask}
}

// WithGroup implements slog.Handler.
func (l maskedLog) WithGroup(name string) slog.Handler {
	return maskedLog{l.Handler.WithGroup(name), l.mask}
}

func (l maskedLog) attr(a slog.Attr) slog.Attr {
	switch v := a.Value.Resolve(); v.Kind() {
	case slog.KindString, slog.KindAny:
		return slog.String(a.Key, l.mask.String(v.String()))
	}
	return a
}
