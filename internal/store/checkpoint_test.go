package store_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/penstock-dev/penstock/internal/store"
)

// However much is written, the write-ahead log stays small beside it, and what has
// left it is there when the database is opened again.
func TestLogIsMovedIntoTheDatabase(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "penstock.db")
	open := func() *store.Store {
		s, err := store.Open(t.Context(), store.Options{URL: "sqlite://" + path})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	size := func(file string) int64 {
		info, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		return info.Size()
	}
	s := open()
	const runs, each = 300, 1 << 20
	var ids []string
	for range runs {
		r := mustCreate(t, s, func(r *store.NewRun) { r.Prompt = strings.Repeat("p", each) })
		ids = append(ids, r.ID)
	}
	if log := size(path + "-wal"); log > runs*each*2/3 { // it grows while it is moved, by more on a slow disk
		t.Errorf("after %d MB the log has %d MB", runs*each>>20, log>>20)
	}
	if database := size(path); database < runs*each/3 {
		t.Errorf("of %d MB only %d are in the database itself", runs*each>>20, database>>20)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open()
	defer s.Close()
	for _, id := range ids {
		if run, err := s.Run(t.Context(), store.DefaultTeam, id); err != nil || len(run.Prompt) != each {
			t.Fatalf("a run is not what was stored: %v", err)
		}
	}
}
