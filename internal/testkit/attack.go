package testkit

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// attacksFile is the document that lists all attacks, relative to the root of the repository.
const attacksFile = "docs/attacks.md"

// updating keeps two tests from writing the document at the same time.
var updating sync.Mutex

// Attacks are the attacks that one test tries. `make attack` shows each with its result, and
// docs/attacks.md lists them.
type Attacks struct {
	t       *testing.T
	section string
	tried   []attack
}

type attack struct{ name, stoppedBy string }

// NewAttacks collects attacks for the section "## section" of docs/attacks.md. At its end,
// the test fails if the document does not list them as they are. With UPDATE=1 it writes them.
func NewAttacks(t *testing.T, section string) *Attacks {
	t.Helper()
	a := &Attacks{t: t, section: section}
	t.Cleanup(a.document)
	return a
}

// Run tries an attack as a subtest, which fails if the attack succeeds.
func (a *Attacks) Run(name, stoppedBy string, try func(t *testing.T)) {
	a.tried = append(a.tried, attack{name, stoppedBy})
	a.t.Run(name, func(t *testing.T) {
		t.Attr("attack", name)
		t.Attr("stopped-by", stoppedBy)
		try(t)
	})
}

// rows returns the lines of the document's table for this test, one for each attack. Attacks that
// the same defense stops are next to each other.
func (a *Attacks) rows() []string {
	var defenses []string
	names := map[string][]string{}
	for _, tried := range a.tried {
		if names[tried.stoppedBy] == nil {
			defenses = append(defenses, tried.stoppedBy)
		}
		names[tried.stoppedBy] = append(names[tried.stoppedBy], strings.ReplaceAll(tried.name, "|", `\|`))
	}
	rows := make([]string, 0, len(a.tried))
	for _, by := range defenses {
		for _, name := range names[by] {
			rows = append(rows, fmt.Sprintf("| %s | %s | `%s` |", name, by, a.t.Name()))
		}
	}
	return rows
}

func (a *Attacks) document() {
	a.t.Helper()
	updating.Lock()
	defer updating.Unlock()
	root, err := moduleRoot()
	if err != nil {
		a.t.Fatal(err)
	}
	file := filepath.Join(root, attacksFile)
	text, err := os.ReadFile(file)
	if err != nil {
		a.t.Fatal(err)
	}
	want, err := replaceRows(string(text), a.section, a.t.Name(), a.rows())
	switch {
	case err != nil:
		a.t.Error(err)
	case want == string(text):
	case os.Getenv("UPDATE") == "":
		a.t.Errorf("%s does not list these attacks as they are: run UPDATE=1 make attack", attacksFile)
	default:
		if err := os.WriteFile(file, []byte(want), 0o600); err != nil {
			a.t.Error(err)
		}
	}
}

// replaceRows replaces the rows of a test, or adds them at the end of the section's table.
func replaceRows(text, section, test string, rows []string) (string, error) {
	lines := strings.Split(text, "\n")
	from := slices.Index(lines, "## "+section)
	if from < 0 {
		return "", fmt.Errorf("%s has no section %q", attacksFile, section)
	}
	isRow := func(line string) bool { return strings.HasPrefix(line, "| ") }
	table := slices.IndexFunc(lines[from:], isRow)
	if table < 0 {
		return "", fmt.Errorf("section %q of %s has no table", section, attacksFile)
	}
	from += table
	to := from + slices.IndexFunc(lines[from:], func(line string) bool { return !strings.HasPrefix(line, "|") })
	var kept []string
	at := -1
	for _, line := range lines[from:to] {
		if !strings.HasSuffix(line, "| `"+test+"` |") {
			kept = append(kept, line)
		} else if at < 0 {
			at = len(kept)
		}
	}
	if at < 0 {
		at = len(kept)
	}
	return strings.Join(slices.Replace(lines, from, to, slices.Insert(kept, at, rows...)...), "\n"), nil
}
