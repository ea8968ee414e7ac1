package store

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"sync"
	"syscall"
)

// The reserve is a file beside the SQLite database that holds room on the disk.
// When the disk is full, a cancel frees some of it for its own transaction.
const (
	// reserveSize is enough for at least 32 cancels, each with its events.
	reserveSize = 8 << 20
	// reserveStep is freed at a time: more than most transactions write.
	reserveStep = 256 << 10
	// reserveShare bounds the reserve on a small disk: this part of the free space.
	reserveShare = 8
)

// reserve is safe for concurrent use. A nil *reserve has no room.
type reserve struct {
	mu   sync.Mutex
	path string
	want int64 // bytes that the file should have
	held int64 // bytes that it has
}

// openReserve reserves the room beside the file of a database, or as much of it as the disk has. It
// keeps the reserve of an earlier process.
func openReserve(database string) (*reserve, error) {
	r := &reserve{path: database + "-reserve", want: reserveSize}
	info, err := os.Stat(r.path)
	if err == nil {
		r.held = info.Size()
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var disk syscall.Statfs_t
	if err := syscall.Statfs(database, &disk); err != nil {
		return nil, err
	}
	free := int64(disk.Bavail) * int64(disk.Bsize) //nolint:gosec,unconvert // both fit; their types depend on the system
	r.want = max(min(r.want, free/reserveShare), r.held)
	r.refill()
	return r, nil
}

// free releases some of the room. It returns false if none is left.
func (r *reserve) free() bool {
	if r == nil {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.held == 0 {
		return false
	}
	left := max(0, r.held-reserveStep)
	if err := os.Truncate(r.path, left); err != nil {
		return false
	}
	r.held = left
	return true
}

// refill fills the reserve up again, as far as the disk has free space.
func (r *reserve) refill() {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.held >= r.want {
		return
	}
	f, err := os.OpenFile(r.path, os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return
	}
	defer func() { _ = f.Close() }() // its content does not matter
	for r.held < r.want {
		n := min(reserveStep, r.want-r.held)
		if err := allocate(f, r.held, n); err != nil {
			_ = f.Truncate(r.held) // a part of the step may be there
			return
		}
		r.held += n
	}
}

// fill writes n random bytes, which no file system compresses.
func fill(f *os.File, from, n int64) error {
	random := rand.NewChaCha8([32]byte{})
	if _, err := io.Copy(io.NewOffsetWriter(f, from), io.LimitReader(random, n)); err != nil {
		return err
	}
	return f.Sync() // some file systems find out only now that they are full
}

// WriteReserved is [Store.Write] for changes that must be possible on a full disk. If the disk is
// full, it frees room from the reserve and runs fn again, while no other transaction writes. On
// PostgreSQL, and once the reserve is used up, it equals Write.
func (s *Store) WriteReserved(ctx context.Context, fn func(*Tx) error) error {
	err := s.Write(ctx, fn)
	if s.reserve == nil {
		return err
	}
	if !sqliteFull(err) {
		s.reserve.refill()
		return err
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-s.writer.turn:
	}
	defer func() { s.writer.turn <- struct{}{} }()
	defer s.reserve.refill() // before any other write
	for sqliteFull(err) && s.reserve.free() {
		err = s.writeOnce(ctx, &Tx{s: s, hasTurn: true}, fn)
	}
	return s.d.mapError(err)
}
