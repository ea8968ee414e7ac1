// Package secret seals what must not be read from the database, and masks
// known secret values in what is recorded.
//
// The keys that seal are a Tink keyset in a file that all replicas of one
// database share. A change of the file is noticed while the server runs. A key
// management service may encrypt the file; it is asked when the file is read
// or written, never for a value.
package secret

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tink-crypto/tink-go/v2/aead"
	"github.com/tink-crypto/tink-go/v2/keyset"
	"github.com/tink-crypto/tink-go/v2/tink"
)

// Keyset seals and opens small values with AES-256-GCM. The context that a
// value is sealed with (which row it belongs to) must be given to open it, so
// that a sealed value is of no use in another place. It is safe for concurrent
// use.
type Keyset struct {
	file      KeysetFile
	keys      atomic.Pointer[keys]
	checkedAt atomic.Int64 // when the file was looked at last, in Unix nanoseconds

	reading          sync.Mutex  // of a file that was changed; guards what follows
	undecryptable    fs.FileInfo // that the KMS has not decrypted
	undecryptableAt  time.Time
	undecryptableErr error
}

// keys is what a keyset's file holds.
type keys struct {
	handle  *keyset.Handle
	primary uint32 // id of the key that seals
	aead    tink.AEAD
	file    fs.FileInfo
}

// RefreshInterval is how long a server may go on sealing with the key that was
// the newest before the file was changed.
const RefreshInterval = time.Second

// OpenKeyset reads the keyset in a file, making it (mode 0600) where there is
// none. All replicas of one database share one file's content. ErrPlain,
// ErrEncrypted: the file is of the other form; ErrKMS: the KMS has not
// decrypted it.
func OpenKeyset(ctx context.Context, file KeysetFile) (*Keyset, error) {
	k := &Keyset{file: file}
	found, err := file.read(ctx)
	if errors.Is(err, fs.ErrNotExist) {
		if err = file.create(ctx); err == nil {
			found, err = file.read(ctx)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("keyset %s: %w", file.Path, err)
	}
	k.keys.Store(found)
	k.checkedAt.Store(time.Now().UnixNano())
	return k, nil
}

func newKeys(handle *keyset.Handle, file fs.FileInfo) (*keys, error) {
	a, err := aead.New(handle)
	if err != nil {
		return nil, err
	}
	return &keys{handle, handle.KeysetInfo().GetPrimaryKeyId(), a, file}, nil
}

// refresh reads the file again if it was changed and nobody has looked for the
// given time. A file that cannot be read leaves the keys as they are.
func (k *Keyset) refresh(after time.Duration) (changed bool, err error) {
	now, looked := time.Now().UnixNano(), k.checkedAt.Load()
	if now-looked < int64(after) || !k.checkedAt.CompareAndSwap(looked, now) && after > 0 {
		return false, nil
	}
	have := k.keys.Load()
	file, err := os.Stat(k.file.Path)
	if err != nil {
		return false, err
	}
	if sameFile(file, have.file) {
		return false, nil
	}
	k.reading.Lock()
	defer k.reading.Unlock()
	if k.keys.Load() != have { // read while this call waited
		return true, nil
	}
	if k.undecryptable != nil && sameFile(file, k.undecryptable) && time.Since(k.undecryptableAt) < retryAfter {
		return false, k.undecryptableErr
	}
	return k.reread(file)
}

// reread reads the changed file. What a KMS refuses, or does not answer, is not
// asked again at once: every value that does not open leads here.
func (k *Keyset) reread(file fs.FileInfo) (changed bool, err error) {
	// For all callers, so none of them can end it.
	ctx, cancel := context.WithTimeout(context.Background(), rereadTimeout)
	defer cancel()
	found, err := k.file.read(ctx)
	if err != nil {
		if errors.Is(err, ErrKMS) {
			k.undecryptable, k.undecryptableAt, k.undecryptableErr = file, time.Now(), err
		}
		return false, err
	}
	k.keys.Store(found)
	return true, nil
}

// How long reading a changed file may take while values wait to be sealed and
// opened, and how long a KMS is left alone that could not decrypt it.
const (
	rereadTimeout = 3 * time.Second
	retryAfter    = 10 * time.Second
)

func sameFile(a, b fs.FileInfo) bool {
	return os.SameFile(a, b) && a.ModTime().Equal(b.ModTime()) && a.Size() == b.Size()
}

// Seal encrypts value for the given context.
func (k *Keyset) Seal(value []byte, context string) ([]byte, error) {
	_, _ = k.refresh(RefreshInterval) // the keys at hand are still good
	return k.keys.Load().aead.Encrypt(value, []byte(context))
}

// Open decrypts what Seal made with the same context.
func (k *Keyset) Open(sealed []byte, context string) ([]byte, error) {
	_, _ = k.refresh(RefreshInterval)
	value, err := k.keys.Load().aead.Decrypt(sealed, []byte(context))
	if err == nil {
		return value, nil
	}
	changed, unread := k.refresh(0) // sealed by a replica that knows a newer key
	if changed {
		if value, err = k.keys.Load().aead.Decrypt(sealed, []byte(context)); err == nil {
			return value, nil
		}
	}
	return nil, errors.Join(ErrSealed, unread)
}

// ErrSealed is a sealed value that cannot be opened.
var ErrSealed = errors.New("cannot decrypt a value: it was encrypted with another keyset or for another purpose")

// isCurrent reports whether a value was sealed with the key that seals now:
// Tink begins each with a byte 1 and the key's id.
func (k *keys) isCurrent(sealed []byte) bool {
	return len(sealed) > 5 && sealed[0] == 1 && binary.BigEndian.Uint32(sealed[1:5]) == k.primary
}

// newest is the id of the key that was added last.
func (k *keys) newest() uint32 {
	all := k.handle.KeysetInfo().GetKeyInfo()
	return all[len(all)-1].GetKeyId()
}
