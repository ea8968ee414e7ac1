package penstock_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// widest is how many columns a line of a document may have.
const widest = 100

// documents returns the Markdown files at the top of the repository and in docs.
func documents(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("*.md")
	if err != nil {
		t.Fatal(err)
	}
	err = filepath.WalkDir("docs", func(name string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && filepath.Ext(name) == ".md" {
			files = append(files, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func readDocument(t *testing.T, name string) string {
	t.Helper()
	content, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// sourcePath is the path of a file in the documents for contributors.
var sourcePath = regexp.MustCompile("`([a-z][\\w./-]*/[\\w.-]+\\.(?:go|json|md|py|ts|yaml))`")

// The files that the documents for contributors name exist, as a reader looks for them there.
func TestDocumentsNameFilesThatExist(t *testing.T) {
	t.Parallel()
	for _, document := range []string{"docs/architecture.md", "docs/which-file.md"} {
		paths := sourcePath.FindAllStringSubmatch(readDocument(t, document), -1)
		if len(paths) < 40 {
			t.Errorf("%s names %d files, want at least 40", document, len(paths))
		}
		for _, path := range paths {
			if _, err := os.Stat(path[1]); err != nil {
				t.Errorf("%s names a file that does not exist: %s", document, path[1])
			}
		}
	}
}

// Lines of documents are short enough to read beside each other. Rows of tables and lines that are
// one long word, such as a link, cannot be broken.
func TestDocumentsHaveShortLines(t *testing.T) {
	t.Parallel()
	for _, name := range documents(t) {
		n := 0
		for line := range strings.Lines(readDocument(t, name)) {
			n++
			line = strings.TrimSuffix(line, "\n")
			if width := utf8.RuneCountInString(line); width > widest && breaks(line) {
				t.Errorf("%s:%d has %d columns, want at most %d", name, n, width, widest)
			}
		}
	}
}

// breaks reports whether a line can be broken.
func breaks(line string) bool {
	return !strings.HasPrefix(line, "|") && len(strings.Fields(line)) > 2
}

// The links between documents lead to files that exist, and to headings in them.
func TestDocumentsLinkToWhatExists(t *testing.T) {
	t.Parallel()
	checked := 0
	for _, name := range documents(t) {
		for _, link := range links(readDocument(t, name)) {
			target, anchor, _ := strings.Cut(link, "#")
			if strings.Contains(target, "://") || strings.HasPrefix(target, "mailto:") {
				continue
			}
			checked++
			file := name
			if target != "" {
				file = filepath.Join(filepath.Dir(name), target)
			}
			if _, err := os.Stat(file); err != nil {
				t.Errorf("%s links to %s, which does not exist", name, link)
			} else if anchor != "" && !slices.Contains(anchors(readDocument(t, file)), anchor) {
				t.Errorf("%s links to %s, but %s has no such heading", name, link, file)
			}
		}
	}
	if checked < 30 {
		t.Errorf("%d links were found, want more", checked)
	}
}

var (
	linkForm    = regexp.MustCompile(`\]\(([^)\s]+)\)|(?:src|srcset|href)="([^"]+)"`)
	headingForm = regexp.MustCompile(`(?m)^#{1,6} (.+)$`)
)

func links(document string) []string {
	var found []string
	for _, match := range linkForm.FindAllStringSubmatch(withoutBlocks(document), -1) {
		found = append(found, match[1]+match[2])
	}
	return found
}

// anchors returns the anchors that GitHub gives to a document's headings.
func anchors(document string) []string {
	var found []string
	for _, match := range headingForm.FindAllStringSubmatch(withoutBlocks(document), -1) {
		anchor := strings.ToLower(strings.ReplaceAll(match[1], " ", "-"))
		found = append(found, regexp.MustCompile(`[^\pL\pN_-]`).ReplaceAllString(anchor, ""))
	}
	return found
}

func withoutBlocks(document string) string {
	return regexp.MustCompile("(?ms)^ *```.*?^ *```$").ReplaceAllString(document, "")
}

// Each threat in the table of docs/security.md names tests, and these tests exist.
func TestThreatsNameTheirTests(t *testing.T) {
	t.Parallel()
	_, table, found := strings.Cut(readDocument(t, "docs/security.md"), "| Threat | Defense | Test |\n")
	if !found {
		t.Fatal("docs/security.md has no table of threats")
	}
	declared := declaredTests(t)
	rows := 0
	for line := range strings.Lines(table) {
		if !strings.HasPrefix(line, "|") {
			break
		}
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if strings.HasPrefix(cells[0], " ---") {
			continue
		}
		rows++
		tests := regexp.MustCompile("`(Test[A-Za-z0-9_]+)`").FindAllStringSubmatch(cells[len(cells)-1], -1)
		if len(tests) == 0 {
			t.Errorf("no test is named for the threat%s", cells[0])
		}
		for _, test := range tests {
			if !declared[test[1]] {
				t.Errorf("%s does not exist, which is named for the threat%s", test[1], cells[0])
			}
		}
	}
	if rows < 20 {
		t.Errorf("the table has %d threats, want more", rows)
	}
}

// docs/attacks.md lists at least 80 attacks, and each names a test that exists. The tests
// themselves keep their rows current.
func TestAttacksNameTheirTests(t *testing.T) {
	t.Parallel()
	attacks := readDocument(t, "docs/attacks.md")
	declared := declaredTests(t)
	count := 0
	rows := regexp.MustCompile("(?m)^\\| (.*) \\| .* \\| `(Test\\w+)` \\|$")
	for _, row := range rows.FindAllStringSubmatch(attacks, -1) {
		count++
		if !declared[row[2]] {
			t.Errorf("%s does not exist, which is named for the attacks: %s", row[2], row[1])
		}
	}
	if count < 80 {
		t.Errorf("the tables have %d attacks, want at least 80", count)
	}
}

// declaredTests returns the names of all tests of the module.
func declaredTests(t *testing.T) map[string]bool {
	t.Helper()
	form := regexp.MustCompile(`(?m)^func (Test\w+)\(\w+ \*testing\.T\)`)
	declared := map[string]bool{}
	for _, source := range readSources(t) {
		if source.test {
			for _, match := range form.FindAllStringSubmatch(readDocument(t, source.path), -1) {
				declared[match[1]] = true
			}
		}
	}
	return declared
}

// docs/operations.md names every metric, and no other.
func TestOperationsNamesEveryMetric(t *testing.T) {
	t.Parallel()
	form := regexp.MustCompile(`(?:Name: *|NewDesc\(\s*)"(penstock_[a-z_]+)"`)
	declared := map[string]bool{}
	for _, source := range readSources(t) {
		if !source.test {
			for _, match := range form.FindAllStringSubmatch(readDocument(t, source.path), -1) {
				declared[match[1]] = true
			}
		}
	}
	named := map[string]bool{}
	for _, name := range regexp.MustCompile(`penstock_[a-z_]+`).FindAllString(readDocument(t, "docs/operations.md"), -1) {
		named[strings.TrimSuffix(name, "_bucket")] = true
	}
	if len(declared) < 12 {
		t.Errorf("%d metrics were found, want more", len(declared))
	}
	if diff := cmp.Diff(declared, named); diff != "" {
		t.Errorf("metrics of the code and of the document (-code +document):\n%s", diff)
	}
}
