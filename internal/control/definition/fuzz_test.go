package definition_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/penstock-dev/penstock/internal/control/definition"
)

// FuzzParse reads any tree. It returns a definition or findings with at least one error, each at a
// place of a file.
func FuzzParse(f *testing.F) {
	names, err := filepath.Glob("testdata/bad/*.txt")
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range names {
		content, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(content))
	}
	var all strings.Builder
	for path, content := range validTree(f) {
		all.WriteString("-- " + path + " --\n" + string(content))
	}
	f.Add(all.String())
	f.Fuzz(func(t *testing.T, text string) {
		_, files := archive(text)
		got, found := definition.Parse(files, definition.Known{CheckCron: checkCron})
		if (got == nil) != definition.HasErrors(found) {
			t.Fatalf("definition %v, findings:\n%s", got, lines(found))
		}
		for _, d := range found {
			if d.Line < 1 || d.Column < 1 || d.Line > strings.Count(string(files[d.Path]), "\n")+2 {
				t.Errorf("no place of the file: %s", d)
			}
		}
		if got == nil {
			return
		}
		if plan := definition.Compare(got, got, nil); !plan.Empty() {
			t.Errorf("plan of the same tree: %+v", plan)
		}
		for _, a := range got.Automations {
			content, err := definition.WriteAutomation(nil, a)
			if err != nil {
				t.Fatalf("write %s: %v", a.Name, err)
			}
			delete(files, "automations/"+a.Name+".md")
			files["automations/"+a.Name+"/automation.md"] = content
		}
		again, found := definition.Parse(files, definition.Known{CheckCron: checkCron})
		if again == nil {
			t.Fatalf("written and read again:\n%s", lines(found))
		}
		if plan := definition.Compare(got, again, nil); !plan.Empty() {
			t.Errorf("written and read again, it differs: %+v", plan)
		}
	})
}

// FuzzSetKeys changes any document, or refuses it.
func FuzzSetKeys(f *testing.F) {
	for _, text := range []string{
		"a: 1\n", "a:\n  - b: x # c\n    d: |\n      e\n", "{a: [1, {b: c}]}", "a: 'x\n  y'\nb: \"z\" # d\n", "? a\n: b\n",
		"a: b\n  c\n\n# d\n",
	} {
		f.Add(text, "a", "value\nof lines")
		f.Add(text, "z", "x")
	}
	f.Fuzz(func(t *testing.T, text, key, value string) {
		got, err := definition.SetKeys(
			[]byte(text), false, []definition.KeyChange{{Key: key, Value: map[string]any{"x": []string{value}}}},
		)
		if err != nil {
			return
		}
		again, err := definition.SetKeys(
			got, false, []definition.KeyChange{{Key: key, Value: map[string]any{"x": []string{value}}}},
		)
		if err != nil || string(again) != string(got) {
			t.Errorf("a second time (%v): got %q, want %q", err, again, got)
		}
		if gone, err := definition.SetKeys(got, false, []definition.KeyChange{{Key: key, Remove: true}}); err != nil {
			t.Errorf("remove it from %q: %v (%q)", got, err, gone)
		}
	})
}
