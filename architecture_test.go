package penstock_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	module = "github.com/penstock-dev/penstock"
	kit    = "internal/testkit"
	kits   = kit + "/testworld"
)

// TestImportsFollowTheTable checks every import between our packages against the table in
// docs/architecture.md, in all files and under all build constraints.
func TestImportsFollowTheTable(t *testing.T) {
	t.Parallel()
	document, err := os.ReadFile("docs/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	table, err := readTable(string(document))
	if err != nil {
		t.Fatal(err)
	}
	for _, violation := range violations(table, readSources(t)) {
		t.Error(violation)
	}
}

// Outside of synctest, a test that sleeps is slow, flaky or both.
func TestTestsSleepInSynctestOnly(t *testing.T) {
	t.Parallel()
	for _, source := range readSources(t) {
		if source.test && source.sleeps && !slices.Contains(source.imports, "testing/synctest") {
			t.Errorf("%s calls time.Sleep: use testkit.Eventually or testing/synctest", source.path)
		}
	}
}

// TestViolationsAreFound shows that the check above can fail.
func TestViolationsAreFound(t *testing.T) {
	t.Parallel()
	const document = "# Packages\n\n" +
		"| Package | Owns | May import |\n" +
		"| --- | --- | --- |\n" +
		"| `.` | the words | |\n" +
		"| `internal/store` | the rows | `.` |\n" +
		"| `internal/service` | the rules | `.` store |\n" +
		"| `internal/mcp` | (planned) an endpoint | `.` service |\n" +
		"| `internal/agent` | an agent | `.` |\n" +
		"| `internal/httpapi` | the routes | `.` service |\n" +
		"| `internal/testkit` | for tests | `.` store |\n" +
		"| `cmd/penstock` | the program | everything |\n" +
		"\nNot a row.\n"
	whole := []source{
		{path: "run.go"},
		{path: "internal/store/run.go", imports: []string{module, "database/sql"}},
		{
			path: "internal/store/run_test.go", test: true,
			imports: []string{module + "/internal/store", module + "/internal/testkit"},
		},
		{path: "internal/service/run.go", imports: []string{module + "/internal/store"}},
		{path: "internal/agent/agent.go", imports: []string{module}},
		{path: "internal/httpapi/run_test.go", test: true, imports: []string{module + "/internal/store"}},
		{path: "internal/testkit/store.go", imports: []string{module + "/internal/store"}},
		{path: "cmd/penstock/main.go", imports: []string{module + "/internal/service", module + "/internal/store"}},
	}
	tests := []struct {
		name string
		add  source
		want []string
	}{
		{
			"a test that imports what lies beside its package",
			source{path: "internal/agent/world_test.go", test: true, imports: []string{module + "/internal/service"}},
			nil,
		},
		{"nothing wrong", source{path: "internal/service/key.go", imports: []string{module}}, nil},
		{
			"an import that the table does not allow",
			source{path: "internal/store/key.go", imports: []string{module + "/internal/service"}},
			[]string{"internal/store/key.go imports internal/service, which the table does not allow"},
		},
		{
			"production code that imports what only its tests may",
			source{path: "internal/httpapi/key.go", imports: []string{module + "/internal/store"}},
			[]string{"internal/httpapi/key.go imports internal/store, which the table does not allow"},
		},
		{
			"a test that imports what lies above its package",
			source{path: "internal/store/key_test.go", test: true, imports: []string{module + "/internal/service"}},
			[]string{"internal/store/key_test.go imports internal/service, which the table does not allow"},
		},
		{
			"production code that imports testkit",
			source{path: "cmd/penstock/run.go", imports: []string{module + "/internal/testkit"}},
			[]string{"cmd/penstock/run.go imports internal/testkit, which only tests may"},
		},
		{
			"a vocabulary that needs a library",
			source{path: "key.go", imports: []string{"github.com/google/uuid"}},
			[]string{"key.go imports github.com/google/uuid; the vocabulary needs only the standard library"},
		},
		{
			"a package without a row",
			source{path: "internal/util/util.go"},
			[]string{"internal/util has no row in the table"},
		},
		{
			"a planned package that is there",
			source{path: "internal/mcp/mcp.go"},
			[]string{"internal/mcp is there: its row must not say (planned)"},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			table, err := readTable(document)
			if err != nil {
				t.Fatal(err)
			}
			got := violations(table, append(slices.Clone(whole), test.add))
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("violations (-want +got):\n%s", diff)
			}
		})
	}
	t.Run("a row without a package", func(t *testing.T) {
		t.Parallel()
		table, err := readTable(document)
		if err != nil {
			t.Fatal(err)
		}
		want := []string{"internal/service is in the table and not there: remove its row or mark it (planned)"}
		got := violations(table, slices.Delete(slices.Clone(whole), 3, 4))
		want = append([]string{"cmd/penstock/main.go imports internal/service, which is not there"}, want...)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("violations (-want +got):\n%s", diff)
		}
	})
}

// row is one package of the table.
type row struct {
	imports    []string // folders
	everything bool
	planned    bool
}

// readTable reads the table whose header is Package, Owns, May import. Keys and
// imports are folders of the module; a bare name stands for the folder of that
// name below internal, unless the module has a folder of that name.
func readTable(document string) (map[string]row, error) {
	_, after, found := strings.Cut(document, "| Package | Owns | May import |\n")
	if !found {
		return nil, fmt.Errorf("there is no table of packages")
	}
	table := map[string]row{}
	for line := range strings.Lines(after) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if !strings.HasPrefix(line, "|") {
			break
		}
		if len(cells) != 3 {
			return nil, fmt.Errorf("a row needs three cells: %s", line)
		}
		folder := strings.Trim(cells[0], " `")
		if strings.HasPrefix(folder, "---") {
			continue
		}
		r := row{planned: strings.HasPrefix(strings.TrimSpace(cells[1]), "(planned)")}
		for name := range strings.FieldsSeq(strings.ReplaceAll(cells[2], "`", "")) {
			if name == "everything" {
				r.everything = true
				continue
			}
			r.imports = append(r.imports, name)
		}
		table[folder] = r
	}
	byName := map[string]string{}
	for folder := range table {
		if strings.HasPrefix(folder, "internal/") {
			if other := byName[path.Base(folder)]; other != "" {
				return nil, fmt.Errorf("%s and %s have one name", other, folder)
			}
			byName[path.Base(folder)] = folder
		}
	}
	for folder, r := range table {
		for i, name := range r.imports {
			if _, ok := table[name]; !ok {
				name = byName[name]
			}
			if name == "" {
				return nil, fmt.Errorf("the row of %s names %s, which has none", folder, r.imports[i])
			}
			r.imports[i] = name
		}
	}
	return table, nil
}

// source holds the facts about a file that the rules need.
type source struct {
	path    string
	test    bool
	sleeps  bool // mentions time.Sleep
	imports []string

	methods  map[string]int      // by the name of their type
	embedded map[string][]string // types of the package, by the name of the struct
}

// violations compares the sources with the table, in a stable order.
func violations(table map[string]row, sources []source) []string {
	var found []string
	there := map[string]bool{}
	for _, file := range sources {
		there[path.Dir(file.path)] = true
	}
	for _, file := range sources {
		for _, imported := range file.imports {
			if problem := violation(table, there, file, imported); problem != "" {
				found = append(found, file.path+" imports "+problem)
			}
		}
	}
	for _, folder := range slices.Sorted(maps.Keys(there)) {
		switch r, ok := table[folder]; {
		case !ok:
			found = append(found, folder+" has no row in the table")
		case r.planned:
			found = append(found, folder+" is there: its row must not say (planned)")
		}
	}
	for _, folder := range slices.Sorted(maps.Keys(table)) {
		if !there[folder] && !table[folder].planned {
			found = append(found, folder+" is in the table and not there: remove its row or mark it (planned)")
		}
	}
	return found
}

// violation describes what is wrong with one import. It returns "" for a valid one.
func violation(table map[string]row, there map[string]bool, file source, imported string) string {
	own := path.Dir(file.path)
	target, ours := strings.CutPrefix(imported, module)
	if !ours || target != "" && target[0] != '/' {
		if domain, _, _ := strings.Cut(imported, "/"); own == "." && !file.test && strings.Contains(domain, ".") {
			return imported + "; the vocabulary needs only the standard library"
		}
		return ""
	}
	if target = strings.TrimPrefix(target, "/"); target == "" {
		target = "."
	}
	r := table[own]
	switch {
	case (target == kit || target == kits) && file.test, target == own && file.test:
		return ""
	case target == kit && own == kits:
		return ""
	case target == kit, target == kits:
		return target + ", which only tests may"
	case !there[target]:
		return target + ", which is not there"
	case r.everything, slices.Contains(r.imports, target), file.test && !above(table, target, own),
		file.test && strings.HasPrefix(own, "internal/control/") && slices.Contains(table[kits].imports, target):
		return ""
	default:
		return target + ", which the table does not allow"
	}
}

// above reports whether a package may reach folder, directly or through others. A test may import
// packages at or below the level of its own, such as real stores, or real rules for a worker, and
// beside the rules what testworld has.
func above(table map[string]row, upper, folder string) bool {
	seen := map[string]bool{}
	for next := []string{upper}; len(next) > 0; next = next[1:] {
		r := table[next[0]]
		if r.everything || slices.Contains(r.imports, folder) {
			return true
		}
		if !seen[next[0]] {
			seen[next[0]] = true
			next = append(next, r.imports...)
		}
	}
	return false
}

// readSources parses every Go file of the module.
func readSources(t *testing.T) []source {
	t.Helper()
	var sources []source
	err := filepath.WalkDir(".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && name != "." && notOurs(name, entry.Name()):
			return filepath.SkipDir
		case entry.IsDir() || filepath.Ext(name) != ".go":
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		sources = append(sources, describe(filepath.ToSlash(name), file))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return sources
}

// notOurs reports whether the go tool ignores a folder, or sees another module in it.
func notOurs(name, base string) bool {
	_, err := os.Stat(filepath.Join(name, "go.mod"))
	return err == nil || base == "testdata" || base == "node_modules" || base[0] == '.' || base[0] == '_'
}

func describe(name string, file *ast.File) source {
	s := source{path: name, test: strings.HasSuffix(name, "_test.go")}
	for _, spec := range file.Imports {
		if imported, err := strconv.Unquote(spec.Path.Value); err == nil {
			s.imports = append(s.imports, imported)
		}
	}
	s.methods, s.embedded = describeTypes(file)
	ast.Inspect(file, func(node ast.Node) bool {
		if selector, ok := node.(*ast.SelectorExpr); ok && selector.Sel.Name == "Sleep" {
			if pkg, ok := selector.X.(*ast.Ident); ok && pkg.Name == "time" {
				s.sleeps = true
			}
		}
		return true
	})
	return s
}
