package httpapi_test

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/penstock-dev/penstock/internal/control"
	"github.com/penstock-dev/penstock/internal/control/httpapi"
	"github.com/penstock-dev/penstock/internal/control/run"
	"github.com/penstock-dev/penstock/internal/control/store"
	"github.com/penstock-dev/penstock/internal/supply/blob"
	"github.com/penstock-dev/penstock/internal/supply/secret"
)

// The cost of a request without the network: a parallel client without sockets.
func BenchmarkRequests(b *testing.B) {
	dir := b.TempDir()
	db, err := store.Open(b.Context(), store.Options{URL: "sqlite://" + filepath.Join(dir, "penstock.db")})
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	keyset, err := secret.OpenKeyset(b.Context(), secret.KeysetFile{Path: filepath.Join(dir, "keyset.json")})
	if err != nil {
		b.Fatal(err)
	}
	blobs, err := blob.Open(filepath.Join(dir, "blobs"))
	if err != nil {
		b.Fatal(err)
	}
	log := slog.New(slog.NewJSONHandler(io.Discard, nil)) //nolint:sloglint // includes the cost of the log line
	svc := control.New(run.Deps{Store: db, Blobs: blobs, Keyset: keyset, Log: log, PublicURL: "http://127.0.0.1"})
	if _, _, err := svc.Keys.Bootstrap(b.Context(), adminKey); err != nil {
		b.Fatal(err)
	}
	api := httpapi.New(
		httpapi.Options{
			Rules: svc, Log: log, PublicURL: "http://127.0.0.1", RequestsPerMinute: 1 << 30,
			Registerer: prometheus.NewRegistry(),
		},
	)
	body := `{"prompt": "` + strings.Repeat("fix the login test ", 90) +
		`", "config": {"name": "bench", "model_id": "demo/offline"}, "metadata": {"ticket": "OPS-1"}}`
	for _, bench := range []struct{ name, method, path, body string }{
		{"who am I", "GET", "/api/v1/me", ""},
		{"create a run", "POST", "/api/v1/agent/runs", body},
		{"list runs", "GET", "/api/v1/agent/runs?limit=20&state=QUEUED", ""},
		{"not found", "GET", "/api/v1/nothing", ""},
	} {
		b.Run(bench.name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetParallelism(32)
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					r := httptest.NewRequestWithContext(
						arrivedAt(b.Context(), "127.0.0.1:80"), bench.method, bench.path, strings.NewReader(bench.body),
					)
					r.RemoteAddr = "127.0.0.1:1"
					r.Header.Set("Authorization", "Bearer "+adminKey)
					rec := httptest.NewRecorder()
					api.ServeHTTP(rec, r)
					if rec.Code >= http.StatusInternalServerError {
						b.Fatal(rec.Body)
					}
				}
			})
		})
	}
}
