package store_test

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/store"
	"github.com/penstock-dev/penstock/internal/testkit"
)

// After a panic of a handler, the caller gets a response, and the server and its writers continue.
func TestWriteThatPanicsDelaysNobody(t *testing.T) {
	t.Parallel()
	testkit.Stores(t, func(t *testing.T, s *store.Store) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		run := mustCreate(t, s, nil)
		for range 30 { // more than PostgreSQL's pool has connections
			func() {
				defer func() { _ = recover() }()
				_ = s.Write(ctx, func(tx *store.Tx) error {
					if err := tx.Runs().SetResumable(ctx, run.ID, true); err != nil {
						return err
					}
					panic("what must not happen")
				})
			}()
		}
		err := s.Write(ctx, func(tx *store.Tx) error {
			got, err := tx.Runs().Lock(ctx, run.ID)
			if err == nil && got.Resumable {
				t.Error("what was written before the panic stays")
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	})
}

// The driver closes the connection of a caller that is gone. That is not the database's failure.
func TestWriteOfADisconnectedCaller(t *testing.T) {
	t.Parallel()
	testkit.Stores(t, func(t *testing.T, s *store.Store) {
		ctx, cancel := context.WithCancel(t.Context())
		err := s.Write(ctx, func(*store.Tx) error {
			cancel()
			return fmt.Errorf("read a run: %w", driver.ErrBadConn)
		})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want %v", err, context.Canceled)
		}
	})
}

// pgx removes prepared statements that an error has made invalid before the next statement, and
// may find only then that the connection is closed.
func TestClosedConnectionIsUnavailable(t *testing.T) {
	t.Parallel()
	testkit.Stores(t, func(t *testing.T, s *store.Store) {
		err := s.Write(t.Context(), func(*store.Tx) error {
			return fmt.Errorf("failed to deallocate cached statement(s): %w", pgconn.ErrConnClosed)
		})
		if got, ok := errors.AsType[*penstock.Error](err); !ok || got.Code != penstock.CodeUnavailable {
			t.Errorf("got %v, want %s", err, penstock.CodeUnavailable)
		}
	})
}
