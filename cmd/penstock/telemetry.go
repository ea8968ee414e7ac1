package main

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/exporters/stdout/stdouttrace"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// newRegistry creates the registry with the metrics of this process and its build.
func newRegistry() *prometheus.Registry {
	registry := prometheus.NewRegistry()
	build := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "penstock_build_info", Help: "Always 1; the labels identify the build.",
		ConstLabels: prometheus.Labels{"version": buildVersion(), "commit": revision(), "go": runtime.Version()},
	})
	build.Set(1)
	registry.MustRegister(
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), build,
	)
	return registry
}

// batchMetrics measures the group commits of the store.
type batchMetrics struct {
	members  prometheus.Histogram
	duration prometheus.Histogram
}

func newBatchMetrics(r prometheus.Registerer) *batchMetrics {
	m := &batchMetrics{
		members: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "penstock_store_batch_members", Help: "Writes that were committed in one transaction.",
			Buckets: prometheus.ExponentialBuckets(1, 2, 10),
		}),
		duration: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "penstock_store_batch_duration_seconds", Help: "Time to commit a batch of writes.",
			Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5},
		}),
	}
	r.MustRegister(m.members, m.duration)
	return m
}

func (m *batchMetrics) observe(members int, took time.Duration) {
	m.members.Observe(float64(members))
	m.duration.Observe(took.Seconds())
}

// tracing creates the tracer for the standard OTEL_* variables, or returns nil without them. The
// caller flushes.
func tracing(ctx context.Context, log *slog.Logger) (tracer trace.TracerProvider, flush func(), err error) {
	asked := []string{"OTEL_TRACES_EXPORTER", "OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"}
	given := func(name string) bool { return os.Getenv(name) != "" }
	if !slices.ContainsFunc(asked, given) || os.Getenv("OTEL_SDK_DISABLED") == "true" {
		return nil, func() {}, nil
	}
	if os.Getenv("OTEL_TRACES_EXPORTER") == "none" {
		return nil, func() {}, nil
	}
	exporter, err := spanExporter(ctx)
	if err != nil {
		return nil, nil, exitf(exitConfig, "configure tracing from the OTEL_ variables: %w", err)
	}
	self, err := resource.New(ctx,
		resource.WithAttributes(
			attribute.String("service.name", "penstock"), attribute.String("service.version", buildVersion()),
		),
		resource.WithFromEnv(), // wins: OTEL_SERVICE_NAME, OTEL_RESOURCE_ATTRIBUTES
		resource.WithTelemetrySDK())
	if err != nil {
		return nil, nil, fmt.Errorf("describe this process for tracing: %w", err)
	}
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { log.Warn("tracing failed", "error", err) }))
	provider := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithResource(self))
	return provider, func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		if err := provider.Shutdown(ctx); err != nil {
			log.Warn("cannot send the last traces", "error", err)
		}
	}, nil
}

// spanExporter creates the exporter that the variables name (OpenTelemetry specification, environment
// variables). OpenTelemetry's own library for this also builds the exporters of logs and metrics.
func spanExporter(ctx context.Context) (sdktrace.SpanExporter, error) {
	switch name := cmp.Or(os.Getenv("OTEL_TRACES_EXPORTER"), "otlp"); name {
	case "console":
		return stdouttrace.New()
	case "otlp":
	default:
		return nil, fmt.Errorf("OTEL_TRACES_EXPORTER: %q is not otlp, console or none", name)
	}
	variable := "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"
	if os.Getenv(variable) == "" {
		variable = "OTEL_EXPORTER_OTLP_PROTOCOL"
	}
	protocol := os.Getenv(variable)
	switch cmp.Or(protocol, "http/protobuf") {
	case "http/protobuf":
		return otlptracehttp.New(ctx)
	case "grpc":
		return otlptracegrpc.New(ctx)
	}
	return nil, fmt.Errorf("%s: %q is not http/protobuf or grpc", variable, protocol)
}
