// Package penstock is the vocabulary of the control plane: runs and their states, events,
// configuration, principals, and the messages between a worker and the control plane. It has types
// and pure rules, and imports only the standard library. The JSON tags follow the public contract.
//
// The main terms are: A run is one piece of work for an agent. An execution is one attempt of a
// worker at a run, numbered from 1. A turn is one prompt to the agent with everything that follows
// from it. A lease is the right of one worker to write about one execution.
package penstock

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"strings"
	"sync"
	"time"
)

// Time is a timestamp in epoch milliseconds, UTC. Zero means absent: optional fields are tagged
// omitzero.
type Time int64

// TimeOf converts t and truncates it to milliseconds. The zero time.Time becomes the zero Time.
func TimeOf(t time.Time) Time {
	if t.IsZero() {
		return 0
	}
	return Time(t.UnixMilli())
}

// Now returns the current time.
func Now() Time { return Time(time.Now().UnixMilli()) }

// Std converts back; the zero Time becomes the zero time.Time.
func (t Time) Std() time.Time {
	if t == 0 {
		return time.Time{}
	}
	return time.UnixMilli(int64(t)).UTC()
}

// Add returns the time d after t.
func (t Time) Add(d time.Duration) Time { return t + Time(d.Milliseconds()) }

// Sub returns the duration from u to t.
func (t Time) Sub(u Time) time.Duration { return time.Duration(t-u) * time.Millisecond }

// timeLayout is RFC 3339 with exactly millisecond precision, so that times of
// one API sort as text.
const timeLayout = "2006-01-02T15:04:05.000Z"

func (t Time) String() string { return t.Std().Format(timeLayout) }

// MarshalText writes RFC 3339 in UTC with millisecond precision.
func (t Time) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// UnmarshalText reads any RFC 3339 time; its T and Z may be lower case (§5.6).
func (t *Time) UnmarshalText(b []byte) error {
	std, err := time.Parse(time.RFC3339Nano, strings.ToUpper(string(b)))
	if err != nil {
		return Invalid("", "must be a time in RFC 3339, such as 2026-01-31T12:00:00Z")
	}
	*t = TimeOf(std)
	return nil
}

var idClock struct {
	sync.Mutex
	last uint64 // milliseconds << 12 | sequence, of the last id
}

// NewID makes a UUID version 7 (RFC 9562 §5.7). The ids of one process strictly increase: the 12
// bits after the milliseconds are a counter (§6.2 method 1), and the time in them never goes back.
func NewID() string {
	var b [16]byte
	_, _ = rand.Read(b[6:]) // never fails: crypto/rand aborts the program instead
	idClock.Lock()
	next := uint64(time.Now().UnixMilli()) << 12
	if next <= idClock.last {
		next = idClock.last + 1
	}
	idClock.last = next
	idClock.Unlock()
	binary.BigEndian.PutUint64(b[:8], next>>12<<16|next&0xfff)
	b[6] |= 0x70
	b[8] = b[8]&0x3f | 0x80
	var out [36]byte
	hex.Encode(out[0:8], b[0:4])
	hex.Encode(out[9:13], b[4:6])
	hex.Encode(out[14:18], b[6:8])
	hex.Encode(out[19:23], b[8:10])
	hex.Encode(out[24:36], b[10:16])
	out[8], out[13], out[18], out[23] = '-', '-', '-', '-'
	return string(out[:])
}

// ValidID reports whether s has the form of a UUID in lower case.
func ValidID(s string) bool {
	if len(s) != 36 {
		return false
	}
	for i := range len(s) {
		switch c := s[i]; i {
		case 8, 13, 18, 23:
			if c != '-' {
				return false
			}
		default:
			if !strings.ContainsRune("0123456789abcdef", rune(c)) {
				return false
			}
		}
	}
	return true
}

const alphanumeric = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// NewUID makes 22 random characters of [A-Za-z0-9]: 131 bits.
func NewUID() string {
	out := make([]byte, 0, 22)
	var buf [32]byte
	for {
		_, _ = rand.Read(buf[:])
		for _, c := range buf {
			if c >= 248 { // 248 = 4 * 62: higher values would make the first characters more likely
				continue
			}
			if out = append(out, alphanumeric[c%62]); len(out) == cap(out) {
				return string(out)
			}
		}
	}
}
