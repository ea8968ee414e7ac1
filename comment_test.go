package penstock_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// unspoken matches words that AGENTS.md replaces. A phrase may begin on one line and end on the next.
var unspoken = regexp.MustCompile(`(?i)\b(?:(?:those|that)\s+of|in\s+force|by\s+the\s+clock|whoever|mend(?:s|ed)?|` +
	`(?:there|it)\s+is\s+none|it\s+may\s+go\s+on|tidings|verdicts?|inlets?|crosswise|doorkeeper|reseal(?:s|ed)?)\b`)

func checkWords(t *testing.T, file string, line int, text string) {
	t.Helper()
	for _, at := range unspoken.FindAllStringIndex(text, -1) {
		t.Errorf("%s:%d: say %q in other words", file, line+strings.Count(text[:at[0]], "\n"), text[at[0]:at[1]])
	}
}

// Comments and the names of tests use plain words.
func TestCommentsUsePlainWords(t *testing.T) {
	t.Parallel()
	for _, source := range readSources(t) {
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, source.path, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, group := range file.Comments {
			text := ""
			for _, comment := range group.List {
				text += strings.TrimPrefix(comment.Text, "//") + "\n"
			}
			checkWords(t, source.path, set.Position(group.Pos()).Line, text)
		}
		for _, decl := range file.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok && source.test && strings.HasPrefix(f.Name.Name, "Test") {
				words := regexp.MustCompile(`[A-Z]`).ReplaceAllString(f.Name.Name, " $0")
				checkWords(t, source.path, set.Position(f.Pos()).Line, words)
			}
		}
	}
	comment := regexp.MustCompile(`//.*|/\*.*|^\s*\*.*`)
	err := filepath.WalkDir("web/src", func(name string, _ fs.DirEntry, err error) error {
		if ext := filepath.Ext(name); err != nil || ext != ".ts" && ext != ".tsx" {
			return err
		}
		for i, line := range strings.Split(readDocument(t, name), "\n") {
			if !strings.Contains(name, ".test.") { // where titles count too
				line = comment.FindString(line)
			}
			checkWords(t, name, i+1, line)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
