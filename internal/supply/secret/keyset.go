// Package secret encrypts values that nobody may read from the database, and masks known secret
// values in recorded data.
//
// The keys are a Tink keyset in a file that all replicas of one database share. A running
// server notices a change of the file. A key management service may encrypt the file. It is
// called only to read or write the file, never for a value.
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

// Keyset encrypts and decrypts small values with AES-256-GCM. Each value is bound to a context
// (its row), which is needed to decrypt it, so an encrypted value cannot be used elsewhere. It
// is safe for concurrent use.
type Keyset struct {
	file      KeysetFile
	keys      atomic.Pointer[keys]
	checkedAt atomic.Int64 // when the file was last checked, in Unix nanoseconds

	reading          sync.Mutex  // for reading a changed file; guards the fields below
	undecryptable    fs.FileInfo // the file that the KMS did not decrypt
	undecryptableAt  time.Time
	undecryptableErr error
}

// keys is the content of a keyset file.
type keys struct {
	handle  *keyset.Handle
	primary uint32 // id of the key that seals
	aead    tink.AEAD
	file    fs.FileInfo
}

// RefreshInterval is how long a server may still encrypt with the old key after the file has
// changed.
const RefreshInterval = time.Second

// OpenKeyset reads the keyset file, or creates it (mode 0600). All replicas of one database
// need the same file content. It returns ErrPlain or ErrEncrypted if the file has the wrong
// form, and ErrKMS if the KMS did not decrypt it.
func OpenKeyset(ctx context.Context, file KeysetFile) (*Keyset, error) {
	k := &Keyset{file: file}
	found, err := file.read(ctx)
	if errors.Is(err, fs.ErrNotExist) {
		// If two processes start at once, one creates the file, and both use it.
		if err = file.Create(ctx); err == nil || errors.Is(err, fs.ErrExist) {
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

// refresh reads the file again if it has changed, at most once in the given time. If the file
// cannot be read, the keys stay unchanged.
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

// reread reads the changed file. After a failed KMS call it waits before the next one, because
// every value that cannot be decrypted leads here.
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

// How long reading a changed file may take, and how long to wait after a failed KMS call.
const (
	rereadTimeout = 3 * time.Second
	retryAfter    = 10 * time.Second
)

func sameFile(a, b fs.FileInfo) bool {
	return os.SameFile(a, b) && a.ModTime().Equal(b.ModTime()) && a.Size() == b.Size()
}

// Seal encrypts value for the given context.
func (k *Keyset) Seal(value []byte, context string) ([]byte, error) {
	_, _ = k.refresh(RefreshInterval) // the current keys still work
	return k.keys.Load().aead.Encrypt(value, []byte(context))
}

// Open decrypts a value that Seal encrypted with the same context.
func (k *Keyset) Open(sealed []byte, context string) ([]byte, error) {
	_, _ = k.refresh(RefreshInterval)
	value, err := k.keys.Load().aead.Decrypt(sealed, []byte(context))
	if err == nil {
		return value, nil
	}
	changed, unread := k.refresh(0) // a replica with a newer key may have encrypted it
	if changed {
		if value, err = k.keys.Load().aead.Decrypt(sealed, []byte(context)); err == nil {
			return value, nil
		}
	}
	return nil, errors.Join(ErrSealed, unread)
}

// ErrSealed is returned if a value cannot be decrypted.
var ErrSealed = errors.New("cannot decrypt a value: it was encrypted with another keyset or for another purpose")

// isCurrent reports whether the primary key encrypted a value: Tink's output begins with a byte
// 1 and the key's id.
func (k *keys) isCurrent(sealed []byte) bool {
	return len(sealed) > 5 && sealed[0] == 1 && binary.BigEndian.Uint32(sealed[1:5]) == k.primary
}

// newest returns the id of the newest key.
func (k *keys) newest() uint32 {
	all := k.handle.KeysetInfo().GetKeyInfo()
	return all[len(all)-1].GetKeyId()
}
