package penstock_test

import (
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/penstock-dev/penstock/internal/testkit"
)

// TestReadmeRunInFiveLines types the README's five lines into a shell.
func TestReadmeRunInFiveLines(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)\n```sh\n(.*?)```\n").FindAllStringSubmatch(string(readme), -1)
	if len(blocks) != 1 || strings.Count(blocks[0][1], "\n") != 5 {
		t.Fatalf("got %q, want one block of five lines", blocks)
	}
	server := testkit.Serve(t, testkit.ServeOptions{})
	address, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "data"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "data", "admin.key"), []byte(server.Key+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}

	shell := exec.CommandContext(
		t.Context(), "bash", "-euo", "pipefail", "-c", strings.ReplaceAll(blocks[0][1], "127.0.0.1:8080", address.Host),
	)
	shell.Dir = dir
	out, err := shell.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	// In this order: the events to their end, what became of the follow-up, the conversation.
	at := 0
	for _, want := range []string{
		"event: state\n", `"SUCCEEDED"`, "event: done\n", `"handoff_execution"`, `"conversation_id"`,
		"Look around and write down what you find.",
	} {
		found := strings.Index(string(out[at:]), want)
		if found < 0 {
			t.Fatalf("%q is missing after the first %d bytes of\n%s", want, at, out)
		}
		at += found + len(want)
	}
}
