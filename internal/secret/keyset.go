// Package secret seals what must not be read from the database, and masks
// known secret values in what is recorded.
//
// The keys that seal are a Tink keyset in a file that all replicas of one
// database share. A change of the file is noticed while the server runs.
package secret

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/tink-crypto/tink-go/v2/aead"
	"github.com/tink-crypto/tink-go/v2/insecurecleartextkeyset"
	"github.com/tink-crypto/tink-go/v2/keyset"
	"github.com/tink-crypto/tink-go/v2/tink"
)

// Keyset seals and opens small values with AES-256-GCM. The context that a
// value is sealed with (which row it belongs to) must be given to open it, so
// that a sealed value is of no use in another place. It is safe for concurrent
// use.
type Keyset struct {
	path   string
	keys   atomic.Pointer[keys]
	looked atomic.Int64 // when the file was looked at last, in Unix nanoseconds
}

// keys is what a keyset's file holds.
type keys struct {
	handle  *keyset.Handle
	primary uint32 // id of the key that seals
	aead    tink.AEAD
	file    fs.FileInfo
}

// NoticedAfter is how long a server may go on sealing with the key that was
// the newest before the file was changed.
const NoticedAfter = time.Second

// OpenKeyset reads the keyset in a file, making it (mode 0600) where there is
// none. All replicas of one database share one file's content.
func OpenKeyset(path string) (*Keyset, error) {
	k := &Keyset{path: path}
	found, err := readKeys(path)
	if errors.Is(err, fs.ErrNotExist) {
		if err = makeKeyset(path); err == nil {
			found, err = readKeys(path)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("keyset %s: %w", path, err)
	}
	k.keys.Store(found)
	k.looked.Store(time.Now().UnixNano())
	return k, nil
}

func readKeys(path string) (*keys, error) {
	file, err := os.Stat(path) // before the content: what changes in between is read again
	if err != nil {
		return nil, err
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	handle, err := insecurecleartextkeyset.Read(keyset.NewJSONReader(bytes.NewReader(content)))
	if err != nil {
		return nil, err
	}
	return newKeys(handle, file)
}

func newKeys(handle *keyset.Handle, file fs.FileInfo) (*keys, error) {
	a, err := aead.New(handle)
	if err != nil {
		return nil, err
	}
	return &keys{handle, handle.KeysetInfo().GetPrimaryKeyId(), a, file}, nil
}

func makeKeyset(path string) error {
	handle, err := keyset.NewHandle(aead.AES256GCMKeyTemplate())
	if err != nil {
		return err
	}
	// Link, not rename: of two processes that start at once one wins, and both
	// use what it wrote.
	err = place(path, handle, os.Link)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}

// place writes a keyset to a new file beside path and puts it there. A keyset
// that is lost with the power makes everything sealed unreadable: it is on the
// disk before anything is sealed with it.
func place(path string, handle *keyset.Handle, put func(from, to string) error) error {
	var content bytes.Buffer
	if err := insecurecleartextkeyset.Write(handle, keyset.NewJSONWriter(&content)); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".keyset-*") // mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(content.Bytes())
	if err := errors.Join(err, keepOwner(f, path), f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := put(f.Name(), path); err != nil {
		return err
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// refresh reads the file again if it was changed and nobody has looked for the
// given time. A file that cannot be read leaves the keys as they are.
func (k *Keyset) refresh(after time.Duration) (changed bool, err error) {
	now, looked := time.Now().UnixNano(), k.looked.Load()
	if now-looked < int64(after) || !k.looked.CompareAndSwap(looked, now) && after > 0 {
		return false, nil
	}
	have := k.keys.Load()
	file, err := os.Stat(k.path)
	if err != nil {
		return false, err
	}
	if os.SameFile(file, have.file) && file.ModTime().Equal(have.file.ModTime()) && file.Size() == have.file.Size() {
		return false, nil
	}
	found, err := readKeys(k.path)
	if err != nil {
		return false, err
	}
	k.keys.Store(found)
	return true, nil
}

// Seal encrypts value for the given context.
func (k *Keyset) Seal(value []byte, context string) ([]byte, error) {
	_, _ = k.refresh(NoticedAfter) // the keys at hand are still good
	return k.keys.Load().aead.Encrypt(value, []byte(context))
}

// Open decrypts what Seal made with the same context.
func (k *Keyset) Open(sealed []byte, context string) ([]byte, error) {
	_, _ = k.refresh(NoticedAfter)
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
var ErrSealed = errors.New("a sealed value cannot be opened: it was sealed with another keyset or for another place")

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
