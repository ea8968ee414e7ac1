package harness_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// table is the table of docs/harnesses.md: what each agent did in this test. PENSTOCK_HARNESS_TABLE
// names the document to update; without it, nothing is written.
type table struct {
	mu    sync.Mutex
	cells map[string]string // by agent and point: "yes", "no" or "not run"
	notes []note
}

// note says what an agent cannot do.
type note struct{ agent, point, text string }

const (
	tableBegin = "<!-- make harness-test writes this table -->\n"
	tableEnd   = "<!-- end of the table -->\n"
)

// watch records how a point ends. A point with a part that did not run is not passed.
func (b *table) watch(t *testing.T, s *suite, point string) {
	t.Cleanup(func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		result := "yes"
		switch {
		case t.Failed():
			result = "no"
		case t.Skipped():
			result = "not run"
		}
		b.cells[s.name+" "+point] = result
		for _, text := range s.limits[point] {
			b.notes = append(b.notes, note{s.name, point, text})
		}
	})
}

// write replaces the table in the document.
func (b *table) write(t *testing.T) {
	file := os.Getenv("PENSTOCK_HARNESS_TABLE")
	if file == "" {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	document, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(document), tableBegin)
	_, after, ended := strings.Cut(rest, tableEnd)
	if !found || !ended {
		t.Fatalf("%s has no place for the table", file)
	}
	if err := os.WriteFile(file, []byte(before+tableBegin+b.text()+tableEnd+after), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Logf("\n%s", b.text())
}

// text is the table in Markdown, with its notes.
func (b *table) text() string {
	var text strings.Builder
	text.WriteString("\n| Agent | Version |")
	rule := "| --- | --- |"
	for _, p := range points {
		fmt.Fprintf(&text, " %s |", p.name)
		rule += " --- |"
	}
	text.WriteString("\n" + rule + "\n")
	slices.SortFunc(b.notes, func(x, y note) int {
		return strings.Compare(x.agent+x.point+x.text, y.agent+y.point+y.text)
	})
	for _, a := range subjects() {
		fmt.Fprintf(&text, "| `%s` | %s |", a.name, a.version())
		for _, p := range points {
			result := b.cells[a.name+" "+p.name]
			if result == "" {
				result = "not run"
			}
			for i, n := range b.notes {
				if n.agent == a.name && n.point == p.name {
					result += fmt.Sprintf(" (%d)", i+1)
				}
			}
			fmt.Fprintf(&text, " %s |", result)
		}
		text.WriteString("\n")
	}
	text.WriteString("\n")
	for i, n := range b.notes {
		text.WriteString(wrapped(fmt.Sprintf("%d. `%s`, %s: %s", i+1, n.agent, n.point, n.text)))
	}
	if len(b.notes) > 0 {
		text.WriteString("\n")
	}
	return text.String()
}

// wrapped breaks a line of a list as the documents are.
func wrapped(line string) string {
	const most = 100
	var text strings.Builder
	used := 0
	for i, word := range strings.Fields(line) {
		switch {
		case i > 0 && used+1+len(word) > most:
			text.WriteString("\n   ")
			used = 3
		case i > 0:
			text.WriteString(" ")
			used++
		}
		text.WriteString(word)
		used += len(word)
	}
	return text.String() + "\n"
}

// version returns the version of the installed package.
func (a subject) version() string {
	if !a.installed {
		return "of this release"
	}
	program, err := filepath.EvalSymlinks(filepath.Join(os.Getenv("PENSTOCK_TEST_HARNESSES"), a.name, "current"))
	if err != nil {
		return "not installed"
	}
	return filepath.Base(program)
}

// cannot records what the agent cannot do in a point, for the table, instead of a failure.
func (s *suite) cannot(t *testing.T, point, text string) {
	t.Helper()
	t.Log(text)
	if s.limits == nil {
		s.limits = map[string][]string{}
	}
	if !slices.Contains(s.limits[point], text) {
		s.limits[point] = append(s.limits[point], text)
	}
}
