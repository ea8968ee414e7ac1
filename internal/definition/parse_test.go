package definition_test

import (
	"os"
	"testing"

	"github.com/penstock-dev/penstock/internal/definition"
)

func tree(t *testing.T, folder string) map[string][]byte {
	t.Helper()
	files, found, err := definition.ReadTree(os.DirFS(folder))
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range found {
		t.Errorf("%s", d)
	}
	return files
}

func TestValid(t *testing.T) {
	t.Parallel()
	got, found := definition.Parse(tree(t, "testdata/valid"), definition.Known{})
	for _, d := range found {
		t.Errorf("%s", d)
	}
	if got == nil {
		t.Fatal("no definition")
	}
}
