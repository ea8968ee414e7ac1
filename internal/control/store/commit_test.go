package store

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/penstock-dev/penstock"
)

// While the database cannot be written, a batch fails as a whole. Later callers do not wait once
// for each of its members.
func TestBatchFailsImmediatelyWhileTheDatabaseIsUnavailable(t *testing.T) {
	t.Parallel()
	s, err := Open(t.Context(), Options{URL: "sqlite://" + filepath.Join(t.TempDir(), "penstock.db")})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := s.writer.conn.ExecContext(t.Context(), "PRAGMA query_only = 1"); err != nil {
		t.Fatal(err)
	}
	begin, transactions := s.d.begin, 0
	s.d.begin = func(ctx context.Context, s *Store, tx *Tx) (func(bool) error, error) {
		transactions++
		return begin(ctx, s, tx)
	}
	batch := make([]queued, 64)
	for i := range batch {
		run := penstock.Run{ID: penstock.NewID(), Config: &penstock.Config{}}
		batch[i] = queued{newCreateRun(&NewRun{RunRow: RunRow{Run: run}}), make(chan error, 1)}
	}
	s.commits.commit(0, batch)
	for _, q := range batch {
		if err := <-q.done; penstock.CodeOf(err) != penstock.CodeUnavailable {
			t.Fatalf("got %v, want %s", err, penstock.CodeUnavailable)
		}
	}
	if transactions != 1 {
		t.Errorf("%d transactions were tried for one batch", transactions)
	}
}
