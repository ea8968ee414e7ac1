package main_test

import (
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/penstock-dev/penstock/internal/testkit"
)

// By default, a run may use a quarter of the machine's memory.
func TestRunMayUseAQuarterOfTheMemory(t *testing.T) {
	t.Parallel()
	content, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		t.Skip(err)
	}
	var kilobytes int
	if _, err := fmt.Sscanf(string(content), "MemTotal: %d kB", &kilobytes); err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf("%d MiB of memory", kilobytes/1024/4)
	s := testkit.Serve(t, testkit.ServeOptions{})
	id := startRun(t, client(s), "look around")
	testkit.Eventually(t, timeout, func() error { return inState(t, client(s), id, "SUCCEEDED") })
	timeline := string(send(t, s, http.MethodGet, "/agent/runs/"+id+"/timeline", "").body)
	if !strings.Contains(timeline, want) {
		t.Errorf("the timeline does not say %q: %s", want, timeline)
	}
	for _, name := range []string{"--limit-memory", "--limit-disk", "--limit-tmp", "--limit-shm"} {
		call(t, nil, "serve", name+"=-1").want(t, 64, name)
	}
}
