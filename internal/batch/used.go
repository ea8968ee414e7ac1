package batch

import (
	"maps"
	"sync"

	"github.com/penstock-dev/penstock"
)

// Used gathers when things were used, so that a use does not write.
type Used[K comparable] struct {
	mu sync.Mutex
	at map[K]penstock.Time
}

// Mark notes that the keys were used now.
func (u *Used[K]) Mark(keys ...K) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.at == nil {
		u.at = map[K]penstock.Time{}
	}
	for _, key := range keys {
		u.at[key] = penstock.Now()
	}
}

// Flush hands on what was used since the last time; what could not be written
// is kept for the next.
func (u *Used[K]) Flush(write func(map[K]penstock.Time) error) error {
	u.mu.Lock()
	at := u.at
	u.at = nil
	u.mu.Unlock()
	if len(at) == 0 {
		return nil
	}
	err := write(at)
	if err != nil {
		u.mu.Lock()
		defer u.mu.Unlock()
		maps.Copy(at, u.at) // what was used since is later
		u.at = at
	}
	return err
}
