package main_test

import (
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/penstock-dev/penstock/internal/testkit"
)

// docs/limits.md lists every limit of a run with its default, and its example works.
func TestDocumentOfLimits(t *testing.T) {
	t.Parallel()
	document, err := os.ReadFile("../../docs/limits.md")
	if err != nil {
		t.Fatal(err)
	}
	help := strings.Join(strings.Fields(call(t, nil, "worker", "--help").out), " ")
	flags := regexp.MustCompile(`--(limit-[a-z]+)=(\S+)`).FindAllStringSubmatch(help, -1)
	if len(flags) < 6 {
		t.Fatalf("the help has the limits %q", flags)
	}
	example := string(document)
	for _, flag := range flags {
		row := "| `--" + flag[1] + "` | "
		if !slices.Contains([]string{"limit-memory", "limit-cpus", "limit-checkpoint"}, flag[1]) {
			row += flag[2] + " "
		}
		if !strings.Contains(example, row) {
			t.Errorf("the table has no row %q", row)
		}
		if !strings.Contains(example, "\n"+flag[1]+": ") {
			t.Errorf("the example has no %s", flag[1])
		}
	}
	block := regexp.MustCompile("(?s)\n```yaml\n(.*?)```\n").FindStringSubmatch(example)
	if block == nil {
		t.Fatal("there is no example")
	}
	file := filepath.Join(t.TempDir(), "penstock.yaml")
	if err := os.WriteFile(file, []byte(block[1]), 0o600); err != nil {
		t.Fatal(err)
	}
	s := testkit.Serve(t, testkit.ServeOptions{Args: []string{"--config", file}})
	if limits := string(
		send(t, s, http.MethodGet, "/limits", "").body,
	); !strings.Contains(limits, `"run_artifact_bytes":4294967296`) {
		t.Errorf("got %s", limits)
	}
	id := startRun(t, client(s), "look around")
	testkit.Eventually(t, timeout, func() error { return inState(t, client(s), id, "SUCCEEDED") })
	timeline := string(send(t, s, http.MethodGet, "/agent/runs/"+id+"/timeline", "").body)
	for _, want := range []string{"3072 MiB of memory", "20480 MiB of disk"} {
		if !strings.Contains(timeline, want) {
			t.Errorf("the timeline does not say %q: %s", want, timeline)
		}
	}
}
