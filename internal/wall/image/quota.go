package image

import "fmt"

// fileOverhead is what an entry counts besides its content, so that the number of files is bounded.
const fileOverhead = 4 << 10

// quota bounds the size of an image while it is unpacked.
type quota struct {
	limit int64 // in bytes; 0: no limit
	used  int64
}

func (q *quota) take(n int64) error {
	q.used += n
	if q.limit > 0 && q.used > q.limit {
		return fmt.Errorf("the image is larger than the cache may be (%d bytes)", q.limit)
	}
	return nil
}
