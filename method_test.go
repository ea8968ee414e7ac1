package penstock_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// mostMethods bounds a type: a reader cannot hold more of them, and a type with forty wants to be
// three.
const mostMethods = 45

// TestTypesHaveFewMethods counts the methods of each type and of the types that it embeds. Tests
// and bench have no product code, so their types may be larger.
func TestTypesHaveFewMethods(t *testing.T) {
	t.Parallel()
	product := slices.DeleteFunc(readSources(t), func(s source) bool { return s.test || path.Dir(s.path) == "bench" })
	for _, large := range largeTypes(product, mostMethods) {
		t.Error(large)
	}
}

// TestLargeTypesAreFound shows that the check above can fail.
func TestLargeTypesAreFound(t *testing.T) {
	t.Parallel()
	const one = `package store
		type DB struct { *conn; other.Pool; name string }
		type conn struct{}
		type List[T any] struct{}
		func (*DB) Close() {}
		func (db *DB) Open() {}
		func (c conn) query() {}`
	const other = `package store
		func (l *List[T]) Add(T) {}
		func (l List[T]) Len() int { return 0 }
		func (c conn) exec() {}
		func free() {}`
	sources := []source{
		parsed(t, "internal/store/db.go", one), parsed(t, "internal/store/list.go", other),
		parsed(t, "internal/run/db.go", strings.Replace(one, "*conn; ", "", 1)),
	}
	want := []string{"internal/store.DB has 4 methods, at most 3 are allowed: take it apart"}
	if diff := cmp.Diff(want, largeTypes(sources, 3)); diff != "" {
		t.Errorf("large types (-want +got):\n%s", diff)
	}
	if got := largeTypes(sources, 1); len(got) != 4 {
		t.Errorf("types with two methods or more: got %q, want four", got)
	}
}

func parsed(t *testing.T, name, text string) source {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), name, text, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	return describe(name, file)
}

// largeTypes lists the types with more methods than most.
func largeTypes(sources []source, most int) []string {
	methods, embedded := map[string]int{}, map[string][]string{}
	for _, s := range sources {
		for name, n := range s.methods {
			methods[path.Dir(s.path)+"."+name] += n
		}
		for name, parts := range s.embedded {
			for _, part := range parts {
				whole := path.Dir(s.path) + "." + name
				embedded[whole] = append(embedded[whole], path.Dir(s.path)+"."+part)
			}
		}
	}
	var count func(name string) int
	count = func(name string) int {
		n := methods[name]
		for _, part := range embedded[name] {
			n += count(part)
		}
		return n
	}
	names := maps.Clone(methods)
	for name := range embedded {
		names[name] = 0
	}
	var large []string
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if n := count(name); n > most {
			large = append(large, fmt.Sprintf("%s has %d methods, at most %d are allowed: take it apart", name, n, most))
		}
	}
	return large
}

// describeTypes counts the methods in a file by their type, and finds which types of its package the
// structs of the file embed.
func describeTypes(file *ast.File) (methods map[string]int, embedded map[string][]string) {
	methods, embedded = map[string]int{}, map[string][]string{}
	ast.Inspect(file, func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.FuncDecl:
			if node.Recv != nil {
				methods[typeName(node.Recv.List[0].Type)]++
			}
			return false
		case *ast.TypeSpec:
			whole, ok := node.Type.(*ast.StructType)
			if !ok {
				return false
			}
			for _, field := range whole.Fields.List {
				if name := typeName(field.Type); len(field.Names) == 0 && name != "" {
					embedded[node.Name.Name] = append(embedded[node.Name.Name], name)
				}
			}
		}
		return true
	})
	return methods, embedded
}

// typeName returns the name of a type of the package itself, or "".
func typeName(expression ast.Expr) string {
	switch e := expression.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.StarExpr:
		return typeName(e.X)
	case *ast.IndexExpr:
		return typeName(e.X)
	case *ast.IndexListExpr:
		return typeName(e.X)
	default:
		return ""
	}
}
