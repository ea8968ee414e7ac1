package delivery

import (
	"container/list"
	"sync"
)

// recent keeps the values that were used last: so many, and about so many bytes
// of them. It holds at least one.
type recent[K comparable, V any] struct {
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

func newRecent[K comparable, V any](most int, bytes int64) *recent[K, V] {
	return &recent[K, V]{most: most, bytes: bytes, at: map[K]*list.Element{}}
}

// find is the zero value for an unknown key.
func (r *recent[K, V]) find(key K) (value V) {
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

// keep puts a value of so many bytes in the place of an older one.
func (r *recent[K, V]) keep(key K, value V, size int64) {
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

func (r *recent[K, V]) drop(at *list.Element) {
	one, _ := r.order.Remove(at).(entry[K, V])
	delete(r.at, one.key)
	r.size -= one.size
}
