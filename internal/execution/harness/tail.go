package harness

import (
	"fmt"
	"strings"
	"sync"
	"unicode/utf8"
)

// TailSize limits how many bytes of a program's last output are shown.
const TailSize = 4 << 10

// Tail is a writer that keeps the last output of a program. It keeps twice as much as is shown, so
// that a secret at the cut is complete when it is masked. Its zero value is ready for use. It is
// safe for concurrent use.
type Tail struct {
	mu  sync.Mutex
	buf []byte
}

// Write never fails.
func (t *Tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, p[max(0, len(p)-2*TailSize):]...)
	if over := len(t.buf) - 2*TailSize; over > 0 {
		t.buf = append(t.buf[:0], t.buf[over:]...)
	}
	return len(p), nil
}

// Text returns the last TailSize bytes, masked, as valid text.
func (t *Tail) Text(mask func(string) string) string {
	t.mu.Lock()
	text := strings.ToValidUTF8(string(t.buf), "\uFFFD")
	t.mu.Unlock()
	text = mask(strings.TrimSpace(text))
	if over := len(text) - TailSize; over > 0 {
		for !utf8.RuneStart(text[over]) {
			over++
		}
		text = text[over:]
	}
	return text
}

// bounded keeps the beginning and the end of a text of any length.
type bounded struct {
	head, tail []byte
	left       int // removed bytes between them
}

// keep is the size of each part. Recorded texts are shorter, so the cut in the middle is never
// visible.
const keep = 512 << 10

func (b *bounded) add(s string) {
	if room := keep - len(b.head); room > 0 {
		n := min(room, len(s))
		b.head = append(b.head, s[:n]...)
		s = s[n:]
	}
	b.tail = append(b.tail, s...)
	if over := len(b.tail) - keep; over > keep { // seldom, as it moves all of it
		b.tail = append(b.tail[:0], b.tail[over:]...)
		b.left += over
	}
}

// whole reports whether the text fits into the first part.
func (b *bounded) whole() bool { return len(b.tail) == 0 }

func (b *bounded) String() string {
	if b.left == 0 {
		return string(b.head) + string(b.tail)
	}
	return fmt.Sprintf("%s\n[… %d bytes left out …]\n%s", b.head, b.left, b.tail)
}
