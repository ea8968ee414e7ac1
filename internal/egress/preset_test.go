package egress

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// TestDocumentShowsPresets keeps the presets in docs/network.md current. With UPDATE=1 it
// writes them.
func TestDocumentShowsPresets(t *testing.T) {
	t.Parallel()
	const file, begin, end = "../../docs/network.md", "<!-- presets -->\n", "<!-- /presets -->"
	document, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(document), begin)
	got, after, closed := strings.Cut(rest, end)
	if !ok || !closed {
		t.Fatal("the markers are missing")
	}
	want := "\nAll hosts of presets are inspected.\n\n```text\n"
	for _, p := range Presets() {
		want += fmt.Sprintln(p)
	}
	want = strings.TrimSuffix(want, "\n") + "```\n\n"
	if got == want {
		return
	}
	if os.Getenv("UPDATE") == "" {
		t.Fatal("docs/network.md does not show the presets as they are: run UPDATE=1 go test ./internal/egress -run Document")
	}
	if err := os.WriteFile(file, []byte(before+begin+want+end+after), 0o600); err != nil {
		t.Fatal(err)
	}
}
