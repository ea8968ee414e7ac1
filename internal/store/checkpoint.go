package store

import (
	"context"
	"database/sql"
	"fmt"
	"sync"

	"modernc.org/sqlite"
)

// walPages is how long SQLite's write-ahead log may become, in pages of 4 KB,
// before they are moved into the database. One that is written again and again
// goes there once for all the times that it stands in the log.
const walPages = 16000

// fullPages is how long it becomes, but for what one transaction writes: then nobody
// writes until all of it has been moved, however slow the disk is.
const fullPages = 3 * walPages

// Commits do not wait for what is moved while they go on: that is done until no
// more than so many pages are left, or so many times.
const (
	fewPages = 200
	moves    = 5
)

// checkpointer moves the log into the database while commits go on. SQLite by
// itself has a commit do it, and all others wait.
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

// committed is called after a commit, and answers where the writer's token goes.
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

// giveBack lets others write though the log could not be moved.
func (c *checkpointer) giveBack() {
	select {
	case <-c.turn:
		c.s.writer.turn <- struct{}{}
	default:
	}
}

// written counts the pages that were added to the log since it was reset last.
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
		case token := <-c.turn: // by a commit whose due was met before it was over
			c.turn <- token
		}
		if err := c.checkpoint(); err != nil {
			c.s.log.Warn("cannot checkpoint SQLite's write-ahead log; it keeps growing", "error", err)
		}
		c.giveBack()
	}
}

// checkpoint moves the log while commits go on, and brings it to the disk, until
// little is left of what came meanwhile, or the log is full. What is left is moved
// while none does: only a log of which nothing is left begins anew. PASSIVE: nobody
// who reads is waited for.
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
	case <-c.due: // of a commit that came while this went on
	default:
	}
	_, err := c.written(true)
	return err
}
