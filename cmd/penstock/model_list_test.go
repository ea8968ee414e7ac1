package main

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/wall/gateway"
)

// A local model server may start after Penstock, change its model, and be unreachable for a while.
func TestModelsOfALocalServerAreListedAnew(t *testing.T) {
	t.Parallel()
	var model atomic.Value
	model.Store("")
	local := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		name := model.Load()
		if name == "" {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintf(w, `{"object":"list","data":[{"id":%q}]}`, name)
	}))
	t.Cleanup(local.Close)
	var log strings.Builder
	p := providers{{Name: "openai", API: gateway.OpenAI, BaseURL: local.URL + "/v1"}}
	g, err := gateway.New(gateway.Options{Providers: p})
	if err != nil {
		t.Fatal(err)
	}
	list := &modelList{p, g, slog.New(slog.NewTextHandler(&log, nil)), map[string][]string{}, map[string]bool{}}
	if _, first := list.read(t.Context()); first != penstock.ModelOffline {
		t.Errorf("without the server, the default is %s", first)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defaults, ended := make(chan string), make(chan struct{})
	go func() {
		defer close(ended)
		list.keep(ctx, time.Millisecond, func(_ []penstock.ModelInfo, first string) {
			select {
			case defaults <- first:
			case <-ctx.Done():
			}
		})
	}()
	for _, step := range []struct{ listed, want string }{
		{"", penstock.ModelOffline}, {"qwen3", "openai/qwen3"}, {"", "openai/qwen3"}, {"llama4", "openai/llama4"},
	} {
		model.Store(step.listed)
		for range 2 { // the server may have requested the first list before
			<-defaults
		}
		if got := <-defaults; got != step.want {
			t.Errorf("with %q, the default is %s, not %s", step.listed, got, step.want)
		}
	}
	cancel()
	<-ended
	if n := strings.Count(log.String(), "cannot list the models"); n != 2 {
		t.Errorf("%d warnings for 2 failures:\n%s", n, log.String())
	}
}
