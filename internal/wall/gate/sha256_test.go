package gate_test

import (
	"os"
	"path/filepath"
	"testing"
)

func TestAPushToARepositoryOfSHA256(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if err := os.RemoveAll(w.shop.Dir); err != nil {
		t.Fatal(err)
	}
	w.must(w.home, "init", "-q", "--bare", "--object-format=sha256", "-b", "main", w.shop.Dir)
	w.must(w.shop.Dir, "config", "http.receivepack", "true")
	seed := filepath.Join(t.TempDir(), "seed")
	w.must(w.home, "init", "-q", "--object-format=sha256", "-b", "main", seed)
	w.must(seed, "commit", "-q", "--allow-empty", "-m", "first")
	w.must(seed, "push", "-q", w.shop.Dir, "HEAD:refs/heads/main")
	w.agent = w.clone("agent256")
	w.commit("penstock/fix", map[string]string{"a.txt": "one\n"})
	w.pushed("HEAD")
	w.refused([]string{"HEAD:main"}, "this run may push")
}
