package penstock_test

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestStoreFollowsItsTable compares the table of subjects in docs/architecture.md with internal/control/store
// and the packages that call it: the files of each subject, and who uses it.
func TestStoreFollowsItsTable(t *testing.T) {
	t.Parallel()
	const header = "| Subject | Files | Used by |\n| --- | --- | --- |\n"
	_, table, _ := strings.Cut(readDocument(t, "docs/architecture.md"), header)
	want := map[string][2]string{}
	for line := range strings.Lines(table) {
		cells := strings.Split(line, "|")
		if len(cells) != 5 {
			break
		}
		want[strings.Trim(cells[1], " `")] = [2]string{strings.TrimSpace(cells[2]), strings.TrimSpace(cells[3])}
	}
	if diff := cmp.Diff(want, storeSubjects(t)); diff != "" {
		t.Errorf("files and users of subjects (-table +code):\n%s", diff)
	}
}

func storeSubjects(t *testing.T) map[string][2]string {
	t.Helper()
	const folder = "internal/control/store"
	subject := map[string]string{} // by the name of a type
	form := regexp.MustCompile(`(?m)^\ts\.(\w+) = \w+\{(\w*?)(?:\{|s\})`)
	for _, m := range form.FindAllStringSubmatch(readDocument(t, folder+"/subject.go"), -1) {
		subject[m[1]], subject[m[1]+"Tx"], subject[m[2]] = m[1], m[1], m[1]
	}
	delete(subject, "")
	files, users := map[string][]string{}, map[string][]string{}
	call := regexp.MustCompile(`\b(?:store|db)\.(\w+)\.[A-Z]|\btx\.(\w+)\(\)`)
	for _, s := range readSources(t) {
		switch {
		case s.test, strings.HasPrefix(s.path, "internal/testkit/"):
		case path.Dir(s.path) == folder:
			for name := range s.methods {
				if of := subject[name]; of != "" {
					files[of] = append(files[of], strings.TrimSuffix(path.Base(s.path), ".go"))
				}
			}
		case slices.Contains(s.imports, module+"/"+folder) || strings.HasPrefix(s.path, "internal/"):
			for _, m := range call.FindAllStringSubmatch(readDocument(t, s.path), -1) {
				if of := subject[m[1]+m[2]]; of != "" {
					users[of] = append(users[of], path.Base(path.Dir(s.path)))
				}
			}
		}
	}
	all := map[string][2]string{}
	for _, name := range subject {
		all[name] = [2]string{sorted(files[name]), sorted(users[name])}
	}
	return all
}

// sorted joins the different words of a list.
func sorted(list []string) string {
	return strings.Join(slices.Compact(slices.Sorted(slices.Values(list))), " ")
}
