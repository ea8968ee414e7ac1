package git

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/penstock-dev/penstock/internal/supply/filelock"
)

// Unused is the time after which an unused mirror is removed.
const Unused = 14 * 24 * time.Hour

// Evict removes mirrors that were not used for this time, and returns their number. A removed
// mirror is fetched again when it is needed.
func (c *Cache) Evict(ctx context.Context, unused time.Duration) (n int, err error) {
	locks, err := filepath.Glob(filepath.Join(c.dir, "*.git.lock"))
	if err != nil {
		return 0, fmt.Errorf("look for mirrors: %w", err)
	}
	for _, path := range locks {
		gone, one := c.evictMirror(path, unused)
		if err = errors.Join(err, one); gone {
			n++
		}
		if ctx.Err() != nil {
			break
		}
	}
	return n, err
}

// evictMirror removes the mirror of a lock, unless it is in use. The lock file stays, because others may
// be waiting for it.
func (c *Cache) evictMirror(lock string, unused time.Duration) (gone bool, err error) {
	f, err := os.OpenFile(lock, os.O_RDWR, 0o600)
	if err != nil {
		return false, fmt.Errorf("evict a mirror: %w", err)
	}
	defer f.Close()
	mirror := strings.TrimSuffix(lock, ".lock")
	if _, err := os.Stat(mirror); err != nil || filelock.Try(f, filelock.Exclusive) != nil {
		return false, nil // it is gone, or in use
	}
	if info, err := f.Stat(); err != nil || time.Since(info.ModTime()) < unused {
		return false, err
	}
	if err := os.RemoveAll(mirror); err != nil {
		return false, fmt.Errorf("evict a mirror: %w", err)
	}
	return true, nil
}
