package share

import (
	"maps"
	"sync"

	"github.com/penstock-dev/penstock"
)

// Used collects last-use times, so that a use does not write.
type Used[K comparable] struct {
	mu sync.Mutex
	at map[K]penstock.Time
}

// Mark records that the keys were used now.
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

// Flush writes the uses since the last call. It keeps them if the write fails.
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
		maps.Copy(at, u.at) // uses since then are later
		u.at = at
	}
	return err
}
