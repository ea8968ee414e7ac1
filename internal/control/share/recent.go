package share

import (
	"container/list"
	"sync"
)

// Recent is a cache of the most recently used values, limited in entries and in bytes. It holds
// at least one.
type Recent[K comparable, V any] struct {
	most  int
	bytes int64

	mu    sync.Mutex
	at    map[K]*list.Element
	order list.List // of entry[K, V], the one used last in front
	size  int64
}

type entry[K comparable, V any] struct {
	key   K
	value V
	size  int64
}

// NewRecent makes a cache of at most most values, with bytes bytes in all.
func NewRecent[K comparable, V any](most int, bytes int64) *Recent[K, V] {
	return &Recent[K, V]{most: most, bytes: bytes, at: map[K]*list.Element{}}
}

// Find returns the zero value for an unknown key.
func (r *Recent[K, V]) Find(key K) (value V) {
	r.mu.Lock()
	defer r.mu.Unlock()
	at := r.at[key]
	if at == nil {
		return value
	}
	r.order.MoveToFront(at)
	one, _ := at.Value.(entry[K, V])
	return one.value
}

// Keep stores a value of the given size, and evicts older values.
func (r *Recent[K, V]) Keep(key K, value V, size int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if at := r.at[key]; at != nil {
		r.drop(at)
	}
	r.at[key] = r.order.PushFront(entry[K, V]{key, value, size})
	r.size += size
	for r.order.Len() > r.most || r.size > r.bytes && r.order.Len() > 1 {
		r.drop(r.order.Back())
	}
}

func (r *Recent[K, V]) drop(at *list.Element) {
	one, _ := r.order.Remove(at).(entry[K, V])
	delete(r.at, one.key)
	r.size -= one.size
}
