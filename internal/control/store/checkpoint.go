package store

import (
	"context"
	"database/sql"
	"fmt"
	"sync"

	"modernc.org/sqlite"
)

// walPages is the length of SQLite's write-ahead log, in pages of 4 KB, at which a checkpoint
// begins. A page that is in the log many times is copied into the database once.
const walPages = 16000

// fullPages is the length at which all writes wait until the checkpoint has copied everything,
// however slow the disk is. The transaction that reaches it may exceed it.
const fullPages = 3 * walPages

// A checkpoint copies pages while commits continue, until at most fewPages are left or it has done so
// moves times.
const (
	fewPages = 200
	moves    = 5
)

// checkpointer copies the log into the database while commits continue. By default, SQLite does this
// within a commit, for which all others wait.
type checkpointer struct {
	s          *Store
	db         *sql.DB
	path       string
	long, full int // pages in the log
	due        chan struct{}
	turn       chan struct{} // holds the writer's token once the log is full
	halt       chan struct{}
	running    sync.WaitGroup
}

func (s *Store) startCheckpoints(path string) error {
	db, err := sql.Open("sqlite", sqliteDSN(path, ""))
	if err != nil {
		return err
	}
	c := &checkpointer{
		s: s, db: db, path: path, long: walPages, full: fullPages,
		due: make(chan struct{}, 1), turn: make(chan struct{}, 1), halt: make(chan struct{}),
	}
	s.checkpoints = c
	s.close = append(s.close, db.Close, c.stop)
	c.running.Go(c.loop)
	return nil
}

func (c *checkpointer) stop() error {
	close(c.halt)
	c.running.Wait()
	c.giveBack()
	return nil
}

// committed is called after a commit. It returns the channel to which the writer's token goes.
func (c *checkpointer) committed() chan<- struct{} {
	n, err := c.written(false)
	if err == nil && n < c.long {
		return c.s.writer.turn
	}
	select {
	case c.due <- struct{}{}:
	default:
	}
	if n >= c.full {
		return c.turn
	}
	return c.s.writer.turn
}

// giveBack lets others write although the checkpoint failed.
func (c *checkpointer) giveBack() {
	select {
	case <-c.turn:
		c.s.writer.turn <- struct{}{}
	default:
	}
}

// written counts the pages that were added to the log since the last reset.
func (c *checkpointer) written(reset bool) (n int, err error) {
	err = c.s.writer.conn.Raw(func(conn any) (err error) {
		counters, ok := conn.(sqlite.DBStatus)
		if !ok {
			return fmt.Errorf("%T has no counters", conn)
		}
		n, _, err = counters.Status(sqlite.DBStatusCacheWrite, reset)
		return err
	})
	return n, err
}

func (c *checkpointer) loop() {
	for {
		select {
		case <-c.halt:
			return
		case <-c.due:
		case token := <-c.turn: // of a commit whose signal was taken before it returned the token
			c.turn <- token
		}
		if err := c.checkpoint(); err != nil {
			c.s.log.Warn("cannot checkpoint SQLite's write-ahead log; it keeps growing", "error", err)
			c.giveBack() // after a success, the token is of a later commit that filled the log again
		}
	}
}

// checkpoint copies the log and flushes the database while commits continue, until few new pages are
// left or the log is full. Then it copies the rest while no commit runs: SQLite reuses a log only if
// all of it was copied. PASSIVE does not wait for readers.
func (c *checkpointer) checkpoint() error {
	ctx := context.Background()
	const move = "PRAGMA wal_checkpoint(PASSIVE)"
	for range moves {
		before, err := c.written(false)
		if err != nil {
			return err
		}
		if _, err := c.db.ExecContext(ctx, move); err != nil {
			return err
		}
		flushFile(c.path)
		if after, err := c.written(false); err != nil || after-before <= fewPages || after >= c.full {
			break
		}
	}
	select {
	case <-c.halt:
		return nil
	case <-c.s.writer.turn:
	case <-c.turn:
	}
	defer func() { c.s.writer.turn <- struct{}{} }()
	if _, err := c.db.ExecContext(ctx, move); err != nil {
		return err
	}
	select {
	case <-c.due: // of a commit during the checkpoint
	default:
	}
	_, err := c.written(true)
	return err
}
