package definition_test

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock/internal/control/definition"
)

var update = flag.Bool("update", false, "write the findings of the trees in testdata/bad into them")

// validTree returns a tree with every kind of document.
func validTree(t testing.TB) map[string][]byte {
	t.Helper()
	files, found, err := definition.ReadTree(os.DirFS("testdata/valid"))
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range found {
		t.Errorf("%s", d)
	}
	return files
}

// archive reads a tree from one file: the expected findings, then each file below a line of the
// form -- PATH --. A tree without factory.yaml or foreman gets the smallest one, unless it opts
// out.
func archive(text string) (want string, files map[string][]byte) {
	files = map[string][]byte{}
	var b strings.Builder
	name := ""
	flush := func() {
		if name == "" {
			want = b.String()
		} else {
			files[name] = []byte(b.String())
		}
		b.Reset()
	}
	for line := range strings.Lines(text) {
		if path, ok := strings.CutPrefix(line, "-- "); ok && strings.HasSuffix(path, " --\n") {
			flush()
			name = strings.TrimSuffix(path, " --\n")
			continue
		}
		b.WriteString(line)
	}
	flush()
	const none = "factory.yaml: none"
	if _, without := files[none]; without {
		delete(files, none)
	} else if files["factory.yaml"] == nil {
		files["factory.yaml"] = []byte(smallFactory)
	}
	if files["agents/foreman/agent.md"] == nil {
		files["agents/foreman/agent.md"] = []byte(smallForeman)
	}
	return want, files
}

const (
	smallFactory = "schemaVersion: v1alpha1\nname: Example\nagentDefaults:\n  model: demo/offline\n"
	smallForeman = "---\nagentType: FOREMAN\n---\n\nLead.\n"
)

func checkCron(expression string) error {
	if strings.HasPrefix(expression, "@") || len(strings.Fields(expression)) == 5 {
		return nil
	}
	return errors.New("must be five fields")
}

func lines(found []definition.Diagnostic) string {
	var b strings.Builder
	for _, d := range found {
		b.WriteString(d.String() + "\n")
	}
	return b.String()
}

// TestFindings compares all findings of a tree for every code. go test -update writes them; review
// the result.
func TestFindings(t *testing.T) {
	t.Parallel()
	names, err := filepath.Glob("testdata/bad/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, code := range definition.Codes() {
		if !slices.Contains(names, "testdata/bad/"+string(code)+".txt") {
			t.Errorf("no tree shows %s", code)
		}
	}
	for _, name := range names {
		t.Run(filepath.Base(name), func(t *testing.T) {
			t.Parallel()
			content, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			want, files := archive(string(content))
			result, found := definition.Parse(files, definition.Known{CheckCron: checkCron})
			got := lines(found)
			if *update {
				_, rest, _ := strings.Cut("\n"+string(content), "\n-- ")
				if err := os.WriteFile(name, []byte(got+"-- "+rest), 0o600); err != nil {
					t.Fatal(err)
				}
				return
			}
			if want == "" || !strings.Contains(want, strings.TrimSuffix(filepath.Base(name), ".txt")) {
				t.Error("the tree is to show its code")
			}
			if result != nil {
				t.Error("a tree with errors has no definition")
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
		})
	}
}

func TestValid(t *testing.T) {
	t.Parallel()
	got, found := definition.Parse(validTree(t), definition.Known{CheckCron: checkCron})
	for _, d := range found {
		t.Errorf("%s", d)
	}
	if got == nil {
		t.Fatal("no definition")
	}
}

func sorted(names []string) []string {
	slices.Sort(names)
	return names
}
